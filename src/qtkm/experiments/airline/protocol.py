"""The six models of Table 1, as the authors' program fits them, and how a fit is measured.

Everything follows the paper: M = 64, L = 10, λ = 1e-10, 25 epochs of plain alternating least
squares from a random start, all distinct values exactly, and no row set aside.  A model that is
not quantized begins at the Kronecker product of a quantized start of the same seed.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.metrics import mean_squared_error
from threadpoolctl import threadpool_limits

from ...estimators import QTKMRegressor
from ...solvers import ALS
from ..starts import PAPER, quantized_start, unquantized
from .data import Halves

N_BASIS, PERIOD, ALPHA, EPOCHS = 64, 10.0, 1e-10, 25
QUICK_EPOCHS = 5
RADICES = (2, 2, 2, 2, 2, 2)
TKM_RANKS, QTKM_RANKS = (4, 6, 8), (20, 30, 40)
VALUES = ("train_rows", "test_rows", "cores", "parameters", "epochs", "seconds", "test_mse")


@dataclass(frozen=True)
class Setting:
    """What a model is made for.

    Attributes
    ----------
    n_columns : int
        Number of columns of X.
    seed : int
        Seed of the split and of the model.
    cores : int
        Number of threads.
    quick : bool
        A small model of its kind.
    """

    n_columns: int
    seed: int
    cores: int
    quick: bool = False


@dataclass(frozen=True)
class Candidate:
    """A model of the experiment.

    Attributes
    ----------
    name : str
        As in tables and records.
    make : callable
        Gives the model for a Setting.
    count : callable
        Gives the number of parameters of a fitted model.
    cost : float
        Expected work of a fit on a row; QTKM of rank 20 has 1.
    family : str
        What is drawn in one colour.
    most_splits : int or None
        Run on no more than so many splits; None means on all.
    left_out : tuple of str
        Data sets that it is not run on.
    """

    name: str
    make: Callable[[Setting], Any]
    count: Callable[[Any], int]
    cost: float
    family: str
    most_splits: int | None = None
    left_out: tuple[str, ...] = ()


def table_one() -> list[Candidate]:
    """List the six models of the paper.

    Returns
    -------
    list of Candidate
    """
    # an epoch of a small rank is bound by reading the rows, a large one by rank squared
    plain = [_paper("TKM", rank, None, cost=0.5) for rank in TKM_RANKS]
    quantized = [_paper("QTKM", rank, 2, cost=(rank / 20) ** 1.5) for rank in QTKM_RANKS]
    return plain + quantized


def _paper(kind: str, rank: int, quantization: int | None, cost: float) -> Candidate:
    def make(setting: Setting) -> QTKMRegressor:
        start = quantized_start([RADICES] * setting.n_columns, rank, setting.seed)
        return QTKMRegressor(
            n_basis=N_BASIS,
            period=PERIOD,
            quantization=quantization,
            rank=rank,
            alpha=ALPHA,
            solver=ALS(momentum=False),
            max_iter=QUICK_EPOCHS if setting.quick else EPOCHS,
            tol=0,
            init=start if quantization else unquantized(start),
            max_bins=None,
            extrapolation="continue",
            normalize_y=False,
            early_stopping=False,
            random_state=setting.seed,
            n_jobs=setting.cores,
            **PAPER,
        )

    return Candidate(f"{kind} R={rank}", make, count_weights, cost, kind)


def count_weights(model: Any) -> int:
    """Count the weights P, a complex number once as in the paper."""
    return int(model.n_parameters_)


def measure(candidate: Candidate, halves: Halves, setting: Setting) -> dict[str, Any]:
    """Fit a model on the training rows and test it.

    Parameters
    ----------
    candidate : Candidate
    halves : Halves
    setting : Setting

    Returns
    -------
    dict
        The columns `VALUES`.
    """
    model = candidate.make(setting)
    with threadpool_limits(setting.cores):
        start = perf_counter()
        model.fit(halves.X_train, halves.y_train)
        seconds = perf_counter() - start
        if getattr(model, "status_", "") == "interrupted":
            raise KeyboardInterrupt  # a fit that was cut short is not a result
        prediction = model.predict(halves.X_test)
    return {
        "train_rows": len(halves.y_train),
        "test_rows": len(halves.y_test),
        "cores": setting.cores,
        "parameters": candidate.count(model),
        "epochs": model.n_iter_ if isinstance(model, QTKMRegressor) else None,
        "seconds": seconds,
        "test_mse": float(mean_squared_error(halves.y_test, prediction)),
    }


def fit_one(
    dataset: str,
    model: str,
    split: int,
    *,
    flights: Mapping[str, Any],
    candidates: Mapping[str, Candidate],
    cores: int,
    quick: bool,
) -> dict[str, Any]:
    """Run a fit that is named as in the records; see `measure`."""
    halves = flights[dataset].split(split)
    setting = Setting(halves.X_train.shape[1], split, cores, quick)
    return measure(candidates[model], halves, setting)


def compile_loops(candidates: list[Candidate], halves: Halves, setting: Setting) -> None:
    """Fit briefly, so that no time that is measured contains compilation."""
    rows = slice(0, 20_000)
    target = np.ascontiguousarray(halves.y_train[rows])
    for candidate in candidates:
        model = candidate.make(setting)
        if isinstance(model, QTKMRegressor):
            X = halves.X_train[rows]
            model.set_params(max_iter=1).fit(X, target).predict(X[:100])
