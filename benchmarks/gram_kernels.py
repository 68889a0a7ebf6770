"""Gram matrices of narrow blocks: the library's loops against the rank-k product of BLAS."""

from time import perf_counter

import numpy as np
from scipy.linalg import blas
from threadpoolctl import threadpool_limits

from benchmarks.report import row

RANKS, BLOCKS = (10, 20, 40), (64, 256)


def run(threads, quick=False):
    """Useful operations a nanosecond on one thread, the best of many calls."""
    rng = np.random.default_rng(0)
    calls = 5 if quick else 200
    with threadpool_limits(1):
        return [_compare(rng, rank, n, calls) for rank in RANKS for n in BLOCKS]


def _compare(rng, rank, n_rows, calls):
    from qtkm.kernels import grams

    half = int(grams.padded(rank))
    block = rng.standard_normal((n_rows, 3 * half))
    squares = np.zeros((2, rank + -rank % grams.ENTRIES, half))
    columns = np.asfortranarray(rng.standard_normal((2 * rank, n_rows)))
    gram = np.zeros((2 * rank, 2 * rank), order="F")
    operations = 4 * rank**2 * n_rows
    ours = _rate(lambda: grams.add_gram(block, n_rows, rank, squares, (0, 0)), operations, calls)
    theirs = _rate(
        lambda: blas.dsyrk(1.0, columns, beta=1.0, c=gram, overwrite_c=1), operations, calls
    )
    return row(
        f"Gram of {n_rows} rows, R={rank}, one thread",
        f"{ours:.1f} Gop/s",
        f"dsyrk {theirs:.1f} Gop/s",
        ratio=ours / theirs,
    )


def _rate(call, operations, calls):
    call()
    best = np.inf
    for _ in range(calls):
        start = perf_counter()
        for _ in range(20):
            call()
        best = min(best, (perf_counter() - start) / 20)
    return operations / best / 1e9
