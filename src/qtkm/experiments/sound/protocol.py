"""How a model of the sound is fitted and measured, and what is kept of it.

Everything follows the paper: L = 1, no penalty, Gaussian cores to start from, all distinct values
exactly, no row set aside.  Fits run to convergence, by momentum in a fraction of the paper's
sweeps; some are repeated without it, to show that the end is the same.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from ...estimators import QTKMRegressor
from ...networks import CPD
from ...solvers import ALS, Progress
from ..starts import PAPER
from .data import Sound
from .unconstrained import respond

KEYS = ("solver", "rank", "start")
VALUES = (
    "parameters", "compression", "weight_error", "smae", "train_smae", "objective", "epochs",
    "status", "seconds",
)  # fmt: skip
MOMENTUM, PLAIN = "momentum", "plain"
TRACE = ("epoch", "objective", "weight_error", "smae")


@dataclass(frozen=True)
class Protocol:
    """Sizes of the experiment.

    Attributes
    ----------
    n_basis : int
        Number M of functions, a power of 2.
    epochs : mapping of int to int
        Rank → largest number of epochs with momentum.
    plain_epochs : mapping of int to int
        The same without it, for the ranks whose first start is repeated so.
    tol : float
        Least relative progress of an epoch.
    """

    n_basis: int
    epochs: Mapping[int, int]
    plain_epochs: Mapping[int, int]
    tol: float

    @property
    def ranks(self) -> tuple[int, ...]:
        """Ranks of the table."""
        return tuple(self.epochs)

    @property
    def radices(self) -> tuple[int, ...]:
        """Radices of the digits."""
        return (2,) * (self.n_basis.bit_length() - 1)

    def cost(self, solver: str, rank: int) -> float:
        """Estimate the work of a fit: epochs of 14, 45, 109 and 358 ms at the paper's ranks."""
        epochs = self.epochs if solver == MOMENTUM else self.plain_epochs
        return epochs[rank] * rank**1.4

    def settings(self) -> dict[str, Any]:
        """Return the settings that distinguish rows of the records."""
        return {
            "n_basis": self.n_basis,
            "tol": self.tol,
            "epochs": [list(pair) for pair in self.epochs.items()],
            "plain_epochs": [list(pair) for pair in self.plain_epochs.items()],
        }


#: A start of rank 10 crept at 1.1e-6 an epoch for sixty epochs before it fell by another 2 %, so a
#: tolerance of 1e-6 ends too early.
FULL = Protocol(
    n_basis=2**13,
    epochs={10: 2000, 25: 2000, 50: 1000, 100: 600},
    plain_epochs={10: 5000, 25: 5000, 50: 1500},
    tol=1e-8,
)
QUICK = Protocol(n_basis=2**9, epochs={5: 60, 10: 60}, plain_epochs={5: 60}, tol=1e-8)


def make_model(protocol: Protocol, solver: str, rank: int, start: int) -> QTKMRegressor:
    """Make the model of a fit.

    Parameters
    ----------
    protocol : Protocol
    solver : {"momentum", "plain"}
    rank : int
    start : int
        Seed of the cores.

    Returns
    -------
    QTKMRegressor
    """
    epochs = protocol.epochs if solver == MOMENTUM else protocol.plain_epochs
    return QTKMRegressor(
        n_basis=protocol.n_basis,
        period=1,
        quantization=2,
        rank=rank,
        alpha=0,
        solver=ALS(momentum=solver == MOMENTUM),
        max_iter=epochs[rank],
        tol=protocol.tol,
        init="random",
        max_bins=None,
        extrapolation="continue",
        normalize_y=False,
        early_stopping=False,
        random_state=start,
        n_jobs=1,
        **PAPER,
    )


def fit_one(
    solver: str,
    rank: int,
    start: int,
    *,
    sound: Sound,
    free: NDArray,
    protocol: Protocol,
    folder: Path,
) -> dict[str, Any]:
    """Fit a model on one thread, measure it, and keep its cores and its course.

    Parameters
    ----------
    solver, rank, start
        Name of the fit, see `make_model`.
    sound : Sound
    free : ndarray of shape (n_basis,)
        The unconstrained weights.
    protocol : Protocol
    folder : pathlib.Path
        Where to keep the model.

    Returns
    -------
    dict
        The columns `VALUES`.
    """
    trace = Trace(sound, free, protocol)
    model = make_model(protocol, solver, rank, start).set_params(callbacks=trace)
    with threadpool_limits(1):
        begin = perf_counter()
        model.fit(sound.X_train, sound.y_train)
        seconds = perf_counter() - begin
        if model.status_ == "interrupted":
            raise KeyboardInterrupt  # a fit that was cut short is not a result
        predictions = model.predict(sound.X_train), model.predict(sound.X_test)
    cores, objective = model.cores_[0], model.history_["objective"][-1]
    trace.note(model.n_iter_, objective, model.cores_)
    _keep(kept_file(folder, solver, rank, start), cores, trace.rows)
    return {
        "parameters": model.n_parameters_,
        "compression": protocol.n_basis / model.n_parameters_,
        "weight_error": weight_error(weights_of(cores), free),
        "smae": mean_error(sound.y_test, predictions[1]),
        "train_smae": mean_error(sound.y_train, predictions[0]),
        "objective": objective,
        "epochs": model.n_iter_,
        "status": model.status_,
        "seconds": seconds,
    }


class Trace:
    """Callback that measures a fit on its way, at epochs of about equal ratios.

    Parameters
    ----------
    sound : Sound
    free : ndarray of shape (n_basis,)
        The unconstrained weights.
    protocol : Protocol

    Attributes
    ----------
    rows : list of tuples
        The columns `TRACE`.
    """

    def __init__(self, sound: Sound, free: NDArray, protocol: Protocol):
        self.free, self.target = free, sound.y_test
        self.turns = sound.turns(sound.X_test)
        last = max([*protocol.epochs.values(), *protocol.plain_epochs.values()])
        self.epochs = trace_epochs(last)
        self.rows: list[tuple[float, ...]] = []

    def __call__(self, progress: Progress) -> None:
        """Measure, if it is the end of an epoch whose turn it is."""
        if progress.event == "epoch" and progress.epoch in self.epochs:
            self.note(progress.epoch, progress.history.objective[-1], progress.cores)

    def note(self, epoch: int, objective: float, cores: Any) -> None:
        """Measure cores as they stand, unless that epoch was measured."""
        if self.rows and self.rows[-1][0] == epoch:
            return
        weights = weights_of(cores[0])
        smae = mean_error(self.target, respond(weights, self.turns).real)
        self.rows.append((epoch, objective, weight_error(weights, self.free), smae))


def trace_epochs(last: int) -> set[int]:
    """Epochs 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, … up to the last."""
    decades = range(len(str(last)))
    return {epoch for d in decades for f in (1, 2, 3, 4, 5, 6, 8) if (epoch := f * 10**d) <= last}


def weights_of(cores: list[NDArray]) -> NDArray:
    """All M weights of the cores of one column."""
    radices = [len(core) for core in cores]
    return CPD(cores[0].shape[1]).dense([cores], [radices])[:, 0]


def weight_error(weights: NDArray, free: NDArray) -> float:
    """Distance to the unconstrained weights, relative to their norm."""
    return float(np.linalg.norm(weights - free) / np.linalg.norm(free))


def mean_error(target: NDArray, prediction: NDArray) -> float:
    """Mean absolute error; targets are standardized, hence the paper's SMAE."""
    return float(np.abs(target - prediction).mean())


# -- what is kept of a fit ------------------------------------------------------------------------


def kept_file(folder: Path, solver: str, rank: int, start: int) -> Path:
    """File of a fit's cores and course."""
    return folder / f"{solver}_rank{rank}_start{start}.npz"


def _keep(file: Path, cores: list[NDArray], trace: list[tuple[float, ...]]) -> None:
    """Write in one step: a file that is there is whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial.npz")
    np.savez(partial, cores=np.stack(cores), trace=np.array(trace))
    os.replace(partial, file)


def read_kept(folder: Path, row: Mapping[str, Any]) -> tuple[NDArray, NDArray]:
    """Weights (M,) and course (n_epochs, 4) of a recorded fit; columns as in `TRACE`."""
    file = kept_file(folder, *(row[name] for name in KEYS))
    if not file.exists():
        raise FileNotFoundError(
            f"{file} is missing, although its fit is recorded; put it back, or choose another "
            "output folder to fit again"
        )
    with np.load(file) as kept:
        return weights_of(list(kept["cores"])), kept["trace"]
