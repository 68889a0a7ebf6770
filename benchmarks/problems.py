"""The problems the benchmarks run on: real flights, and continuous random inputs.

Inputs are scaled to the unit box and targets standardized here, once, so that both sides
of a comparison work on exactly the same numbers.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.yardstick import radices

__all__ = ["Problem", "continuous", "data_home", "flights", "random_cores", "repeat_rows"]

FLIGHTS_FILE = "flights/flights_nyc2013_8feat.parquet"


class Problem(NamedTuple):
    """Training and held-out rows, inputs in the unit box, targets standardized."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def data_home():
    """Folder named by the environment variable QTKM_DATA_HOME, or None."""
    home = os.environ.get("QTKM_DATA_HOME")
    return Path(home).expanduser() if home else None


def flights(n_rows=None, seed=0):
    """NYC flights of 2013, two thirds of the rows for training.

    Parameters
    ----------
    n_rows : int or None
        Training rows to keep; None keeps all 182,568.
    seed : int
        Of the shuffle before the split.

    Returns
    -------
    Problem
    """
    X, y = _read_flights()
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = np.split(order, [2 * len(y) // 3])
    train = train[:n_rows]
    low, high = X[train].min(axis=0), X[train].max(axis=0)
    X = np.clip((X - low) / (high - low), 0.0, 1.0)
    y = (y - y[train].mean()) / y[train].std(ddof=1)
    return Problem(X[train], y[train], X[test], y[test])


def _read_flights():
    home = data_home()
    if home is not None and (home / FLIGHTS_FILE).exists():
        import pandas as pd  # here, so that a process that measures its memory has none of it

        table = pd.read_parquet(home / FLIGHTS_FILE).to_numpy(dtype=float)
        return table[:, :-1], table[:, -1]
    from qtkm.datasets import load_nyc_flights

    bunch = load_nyc_flights()
    return np.asarray(bunch.data, dtype=float), np.asarray(bunch.target, dtype=float)


def continuous(n_rows, n_columns=8, seed=0):
    """Uniform inputs and a smooth noisy target; no two values of a column are equal.

    Returns
    -------
    Problem
        With 1,000 held-out rows.
    """
    rng = np.random.default_rng(seed)
    X = rng.random((n_rows + 1000, n_columns))
    y = np.sin(4 * X[:, 0] * X[:, 1]) + (X[:, 2:] ** 2).sum(axis=1) * X[:, 0]
    y += 0.1 * rng.standard_normal(len(y))
    y = (y - y[:n_rows].mean()) / y[:n_rows].std(ddof=1)
    return Problem(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def repeat_rows(problem, n_rows):
    """The training rows of a problem over and over until there are ``n_rows``."""
    index = np.arange(n_rows) % len(problem.y)
    return problem._replace(X=problem.X[index], y=problem.y[index])


def random_cores(n_columns, n_basis, rank, quantization=2, seed=0):
    """The paper's start: complex Gaussian cores, each rank-column of unit norm.

    Returns
    -------
    list of list of ndarray of shape (radix, rank)
        One list per column, lowest digit first.
    """
    rng = np.random.default_rng(seed)

    def core(radix):
        entries = rng.standard_normal((2, radix, rank))
        core = entries[0] + 1j * entries[1]
        return core / np.linalg.norm(core, axis=0)

    levels = radices(n_basis, quantization)
    return [[core(radix) for radix in levels] for _ in range(n_columns)]
