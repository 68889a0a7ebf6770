"""Objectives made from arrays, for benchmarks that look below the estimators."""

from time import perf_counter

import numpy as np

from qtkm.data import Box
from qtkm.engines import Threads
from qtkm.features import Fourier
from qtkm.objective import Column, Objective
from tests.coded import build, encode

__all__ = ["epoch", "make", "seconds_of", "start"]


def make(
    X, y, network, loss, *, n_basis, period, alpha, threads, quantization=2, max_bins=None
):  # fmt: skip
    """Objective over rows with inputs in the unit box, Fourier features in every column.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
    max_bins : int or None
        Grid values of a column; None keeps all distinct ones.
    """
    columns, codes = [], []
    for d, x in enumerate(np.asarray(X).T):
        low, high = float(x.min()), float(x.max())
        grid, code = encode(x, low, high, max_bins)
        feature_map = Fourier(n_basis, period, quantization)
        columns.append(Column(str(d), feature_map, Box(low, high, "clip", str(d)), grid))
        codes.append(code)
    n_codes = tuple(len(column) for column in columns)
    kind = np.uint16 if max(n_codes) <= 1 << 16 else np.uint32
    codes = np.column_stack(codes).astype(kind)
    shards = build(codes, np.asarray(y, dtype=float).reshape(len(y), -1), None, n_codes)
    return Objective(columns, shards, network, loss, Threads(threads), alpha)


def start(objective, kind="smooth", seed=0):
    """Cores to start from."""
    constants = [column.feature_map.constant() for column in objective.columns]
    rng = np.random.RandomState(seed)
    return objective.network.start(constants, objective.n_outputs, objective.is_complex, kind, rng)


def epoch(objective, iterate):
    """One epoch of alternating least squares; seconds."""
    begin = perf_counter()
    for block in objective.blocks:
        objective.update(iterate, block)
    return perf_counter() - begin


def seconds_of(function):
    """Seconds of a call."""
    begin = perf_counter()
    function()
    return perf_counter() - begin
