"""Dask's workers against threads of one process: seconds an epoch.

Two workers of one thread each against one of them, and against two threads of this process, all
of them taking turns on the same rows, which lie on the workers as partitions of a collection.
"""

import warnings
from contextlib import ExitStack, contextmanager
from functools import partial

import numpy as np

from benchmarks.from_disk import SETTINGS
from benchmarks.report import row
from qtkm.limits import LIMITS

#: partitions are the shards of a fit in memory, so that all cores have the same bits
SIZES, EPOCHS, ROUNDS = [LIMITS.shard_rows] * 4, 3, 4


def run(threads, quick=False):
    """Measure epochs on threads and on clusters of one and of two workers."""
    sizes = [100_000] if quick else SIZES
    settings = SETTINGS | {"max_iter": 2 if quick else EPOCHS}
    X, y = map(np.concatenate, zip(*map(make_rows, range(len(sizes)), sizes), strict=True))
    with ExitStack() as stack:
        ways = {
            f"{n} thread{'s' * (n > 1)}": lambda n=n: fit(X, y, settings | {"n_jobs": n})
            for n in (1, 2)
        }
        for n in (1, 2):
            client = stack.enter_context(cluster(n))
            parts = on_workers(client, sizes)
            ways[f"{n} worker{'s' * (n > 1)}"] = partial(fit_there, client, parts, settings)
        found = {name: [] for name in ways}
        for _ in range(1 if quick else ROUNDS):
            for name, way in ways.items():
                found[name].append(way())
    best = {name: min(seconds for seconds, _ in results) for name, results in found.items()}
    cores = [results[0][1] for results in found.values()]
    same = all(np.array_equal(cores[0], other) for other in cores[1:])
    return _lines(best, len(y), "" if same else "the cores differ")


def make_rows(seed, n_rows):
    """Rows of eight columns of a hundred values each, and a smooth function of them."""
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((n_rows, 8)), 2)
    signal = np.sin(6 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2 * X[:, 3]
    return X, signal + 0.1 * rng.normal(size=n_rows)


@contextmanager
def cluster(n_workers):
    """A client of so many workers, each a process with one thread."""
    from distributed import Client, LocalCluster

    settings = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        LocalCluster(n_workers=n_workers, silence_logs=50, **settings) as workers,
        Client(workers, set_as_default=False) as client,
    ):
        yield client


def on_workers(client, sizes):
    """Dask arrays X and y, whose partitions are made on the workers and stay there."""
    import dask.array as da
    from dask import delayed

    parts = [delayed(make_rows, nout=2)(seed, size) for seed, size in enumerate(sizes)]
    X = [da.from_delayed(X, (size, 8), float) for (X, _), size in zip(parts, sizes, strict=True)]
    y = [da.from_delayed(y, (size,), float) for (_, y), size in zip(parts, sizes, strict=True)]
    return client.persist([da.concatenate(X), da.concatenate(y)])


def fit_there(client, parts, settings):
    """Fit on the workers of a client."""
    from qtkm.engines import Dask

    return fit(*parts, settings | {"engine": Dask(client, n_jobs=1)})


def fit(X, y, settings):
    """Seconds of the best epoch but the first, and all cores in one vector."""
    from qtkm import QTKMRegressor

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = QTKMRegressor(**settings).fit(X, y)
    seconds = np.diff(model.history_["seconds"])
    return float(seconds.min()), np.concatenate([np.ravel(core) for core in model.cores_])


def _lines(best, n_rows, note):
    what = f"{n_rows:,} rows, D=8, M=64, R=20"
    return [
        row(
            f"epoch of two one-thread Dask workers against one of them, {what}",
            f"{best['2 workers']:.3g} s",
            f"{best['1 worker']:.3g} s",
            ratio=best["1 worker"] / best["2 workers"],
            bar=1.6,
            note=note,
        ),
        row(
            "epoch of two one-thread Dask workers in epochs of two threads",
            f"{best['2 workers']:.3g} s",
            f"{best['2 threads']:.3g} s",
            ratio=best["2 workers"] / best["2 threads"],
            unit="times",
            bar=1.25,
        ),
        row(
            "  epoch of one such worker in epochs of one thread",
            f"{best['1 worker']:.3g} s",
            f"{best['1 thread']:.3g} s",
            ratio=best["1 worker"] / best["1 thread"],
            unit="times",
        ),
    ]
