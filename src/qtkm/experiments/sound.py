"""The paper's experiment on natural sound, its Figure 3 and Table 2: what a low rank recovers.

    sound → unconstrained weights → fits from several starts → records → page and figures

Everything follows the paper: L = 1, no penalty, Gaussian cores to start from, all distinct values
exactly, no row set aside.  Fits run to convergence, by momentum in a fraction of the paper's
sweeps; some are repeated without it, to show that the end is the same.  Fits run several at a
time, each in a process of one thread, the longest first; cores are kept, so that figures are
drawn again without fitting.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, matmul_toeplitz, solve_toeplitz
from threadpoolctl import threadpool_limits

from ..datasets import load_sound
from ..estimators import QTKMRegressor
from ..networks import CPD
from ..solvers import ALS, Progress
from .runs import Fit, Options, Records, Split, paper_model, run_fits

#: a quick run takes the samples up to this position, and so many starts
QUICK_SAMPLES, QUICK_STARTS = 6000, 2
KEYS = ("solver", "rank", "start")
VALUES = (
    "parameters", "compression", "weight_error", "smae", "train_smae", "objective", "epochs",
    "status", "seconds",
)  # fmt: skip
MOMENTUM, PLAIN = "momentum", "plain"
TRACE = ("epoch", "objective", "weight_error", "smae")
#: largest residual of the normal equations, relative to their right side; 5e-15 on the sound
ACCURACY = 1e-6
#: values that are evaluated at a time
BLOCK = 4096


@dataclass(frozen=True)
class Protocol:
    """Sizes of the experiment.

    Attributes
    ----------
    n_basis : int
        Number M of functions, a power of 2.
    epochs, plain_epochs : mapping of int to int
        Rank → largest number of epochs, with momentum and, for the ranks whose first start is
        repeated so, without.
    tol : float
        Least relative progress of an epoch.
    """

    n_basis: int
    epochs: Mapping[int, int]
    plain_epochs: Mapping[int, int]
    tol: float

    def limit(self, solver: str, rank: int) -> int:
        """Return the largest number of epochs of a fit."""
        return (self.epochs if solver == MOMENTUM else self.plain_epochs)[rank]

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


def run(options: Options, *, starts: int = 5) -> Path:
    """Run the experiment, or what is left of it, and write its page.

    Parameters
    ----------
    options : Options
        Where results go, where the data are, how many cores; ``quick`` takes the first 6000
        samples, M = 512, ranks 5 and 10, and at most two starts.
    starts : int, default=5
        Number of starts of every rank, with seeds 0, 1, …

    Returns
    -------
    pathlib.Path
        The page ``sound.md``; beside it are ``sound.csv``, the figures ``sound`` and
        ``sound_errors`` as PNG and PDF, and the folder ``sound_fits`` with the cores.
    """
    from . import sound_page

    if starts < 1:
        raise ValueError(f"starts={starts} must be at least 1")
    chosen = QUICK if options.quick else FULL
    starts = min(starts, QUICK_STARTS) if options.quick else starts
    sound = load(options)
    free = solve_free(turns(sound, sound.X_train), sound.y_train, chosen.n_basis)
    records = Records(options.output / "sound.csv", KEYS, VALUES, chosen.settings())
    folder = options.output / "sound_fits"
    fits = make_fits(chosen, starts, sound, free, folder)
    run_fits(fits, records, title="sound", n_jobs=options.cores, progress=options.progress)
    results = sound_page.Results.collect(
        records.rows, [fit.name for fit in fits], sound, free, folder
    )
    return sound_page.write(options, results, chosen, has_new=records.n_new > 0)


def make_fits(
    chosen: Protocol, starts: int, sound: Split, free: NDArray, folder: Path
) -> list[Fit]:
    """List all fits, the longest first; an epoch takes 14, 45, 109, 358 ms at the paper's ranks."""
    arguments = {"sound": sound, "free": free, "protocol": chosen, "folder": folder}
    names: list[dict[str, Any]] = [
        {"solver": MOMENTUM, "rank": rank, "start": start}
        for rank in chosen.epochs
        for start in range(starts)
    ]
    names += [{"solver": PLAIN, "rank": rank, "start": 0} for rank in chosen.plain_epochs]

    def cost(name: dict[str, Any]) -> float:
        return chosen.limit(name["solver"], name["rank"]) * name["rank"] ** 1.4

    fits = [Fit(name, fit_one, arguments, cost(name)) for name in names]
    return sorted(fits, key=lambda fit: -fit.cost)


# -- data -----------------------------------------------------------------------------------------


def load(options: Options) -> Split:
    """Read and standardize the sound; a quick run takes the beginning of it."""
    parts: list[NDArray] = []
    for subset in ("train", "test"):
        X, y = load_sound(
            subset=subset, return_X_y=True, as_frame=False, data_home=options.data_home
        )
        rows = X[:, 0] <= (QUICK_SAMPLES if options.quick else np.inf)
        parts += [X[rows], y[rows]]
    X_train, y_train, X_test, y_test = parts
    if len(y_test) == 0:
        raise ValueError(
            f"the sound has no test row among its first {QUICK_SAMPLES} samples, so a quick run "
            "has nothing to test; run it without the quick option"
        )
    return Split.standardize(X_train, X_test, y_train, y_test)


def turns(sound: Split, X: NDArray) -> NDArray:
    """Scale positions to [0, 1] by the least and the greatest of the training rows."""
    low, high = sound.X_train.min(), sound.X_train.max()
    return (X[:, 0] - low) / (high - low)


def find_gaps(sound: Split) -> list[int]:
    """Return the lengths of runs of test rows without a training row between."""
    between = np.searchsorted(np.sort(sound.X_train[:, 0]), np.sort(sound.X_test[:, 0]))
    return np.unique(between, return_counts=True)[1].tolist()


# -- all M weights free, by least squares ---------------------------------------------------------


def solve_free(turns: NDArray, target: NDArray, n_basis: int) -> NDArray:
    """Find the weights of all functions exp(2πi·turns·(m - ⌊M/2⌋)) by least squares.

    Raises
    ------
    ValueError
        If the rows do not determine the weights.

    Notes
    -----
    Σ_m' c(m' - m) w(m') = Σ_n y_n exp(-2πi·t_n·(m - ⌊M/2⌋)) with c(l) = Σ_n exp(2πi·l·t_n): a
    Toeplitz system, as many numbers as functions, whatever the number of rows.
    """
    lags, targets = _sums(turns, target, n_basis)
    half = n_basis // 2
    right = np.concatenate([targets[half:0:-1], targets[: n_basis - half].conj()])
    matrix = lags.conj(), lags  # first column and first row
    try:
        weights = solve_toeplitz(matrix, right)
        residual = float(np.linalg.norm(matmul_toeplitz(matrix, weights) - right))
    except LinAlgError:
        residual = np.inf
    # a singular system may look solved, by luck of rounding: fewer points than weights never are
    is_singular = len(np.unique(turns % 1)) < n_basis
    if is_singular or not residual <= ACCURACY * np.linalg.norm(right):
        raise ValueError(
            f"{len(turns)} rows do not determine {n_basis} weights: the normal equations are "
            "singular; use fewer functions, or rows without wide gaps"
        )
    return weights


def _sums(turns: NDArray, target: NDArray, n_basis: int) -> tuple[NDArray, NDArray]:
    """Return Σ exp(2πi·l·turns) and Σ target·exp(2πi·l·turns) for l = 0 … n_basis-1.

    A lag is a·step + b, so the sums over the values are one product of two short lists.
    """
    step = isqrt(n_basis - 1) + 1
    coarse, fine = step * np.arange(-(-n_basis // step)), np.arange(step)
    sums: Any = 0.0
    for first in range(0, len(turns), BLOCK):
        part, own = turns[first : first + BLOCK], target[first : first + BLOCK]
        high = _powers(part, coarse)
        sums = sums + np.stack([high.T, (own[:, None] * high).T]) @ _powers(part, fine)
    lags, targets = sums.reshape(2, -1)[:, :n_basis]
    return lags, targets


def respond(weights: NDArray, turns: NDArray) -> NDArray:
    """Evaluate Σ_m w(m) exp(2πi·turns·(m - ⌊M/2⌋)), by the same products of short lists."""
    n_basis = len(weights)
    step = isqrt(n_basis - 1) + 1
    n_coarse = -(-n_basis // step)
    table = np.zeros((n_coarse, step), dtype=np.complex128)
    table.ravel()[:n_basis] = weights
    coarse, fine = step * np.arange(n_coarse) - n_basis // 2, np.arange(step)
    out = np.empty(len(turns), dtype=np.complex128)
    for first in range(0, len(turns), BLOCK):
        part = turns[first : first + BLOCK]
        sums = _powers(part, fine) @ table.T  # (n, n_coarse)
        out[first : first + BLOCK] = (sums * _powers(part, coarse)).sum(axis=1)
    return out


def _powers(turns: NDArray, frequencies: NDArray) -> NDArray:
    return np.exp(2j * np.pi * np.multiply.outer(turns, frequencies))


# -- fits of low rank -----------------------------------------------------------------------------


def make_model(protocol: Protocol, solver: str, rank: int, start: int) -> QTKMRegressor:
    """Make the model of a fit; `start` is the seed of its cores."""
    return paper_model(
        n_basis=protocol.n_basis,
        period=1,
        quantization=2,
        rank=rank,
        alpha=0,
        solver=ALS(momentum=solver == MOMENTUM),
        max_iter=protocol.limit(solver, rank),
        tol=protocol.tol,
        init="random",
        normalize_y=False,
        random_state=start,
        n_jobs=1,
    )


def fit_one(
    solver: str,
    rank: int,
    start: int,
    *,
    sound: Split,
    free: NDArray,
    protocol: Protocol,
    folder: Path,
) -> dict[str, Any]:
    """Fit a model on one thread, measure it, and keep its cores and its course."""
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
    """Callback that measures a fit on its way: `rows` with the columns `TRACE`."""

    def __init__(self, sound: Split, free: NDArray, protocol: Protocol):
        self.free, self.target = free, sound.y_test
        self.turns = turns(sound, sound.X_test)
        last = max([*protocol.epochs.values(), *protocol.plain_epochs.values()])
        # epochs 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, … up to the last
        every = (f * 10**d for d in range(len(str(last))) for f in (1, 2, 3, 4, 5, 6, 8))
        self.epochs = {epoch for epoch in every if epoch <= last}
        self.rows: list[tuple[float, ...]] = []

    def __call__(self, progress: Progress) -> None:
        """Measure at the end of some epochs, of about equal ratios."""
        if progress.event == "epoch" and progress.epoch in self.epochs:
            self.note(progress.epoch, progress.history.objective[-1], progress.cores)

    def note(self, epoch: int, objective: float, cores: Any) -> None:
        """Measure cores as they stand, unless that epoch was measured."""
        if self.rows and self.rows[-1][0] == epoch:
            return
        weights = weights_of(cores[0])
        smae = mean_error(self.target, respond(weights, self.turns).real)
        self.rows.append((epoch, objective, weight_error(weights, self.free), smae))


def weights_of(cores: list[NDArray]) -> NDArray:
    """Return all M weights of the cores of one column."""
    radices = [len(core) for core in cores]
    return CPD(cores[0].shape[1]).dense([cores], [radices])[:, 0]


def weight_error(weights: NDArray, free: NDArray) -> float:
    """Return the distance to the unconstrained weights, relative to their norm."""
    return float(np.linalg.norm(weights - free) / np.linalg.norm(free))


def mean_error(target: NDArray, prediction: NDArray) -> float:
    """Return the mean absolute error; targets are standardized, hence the paper's SMAE."""
    return float(np.abs(target - prediction).mean())


def kept_file(folder: Path, solver: str, rank: int, start: int) -> Path:
    """Return the file of a fit's cores and course."""
    return folder / f"{solver}_rank{rank}_start{start}.npz"


def _keep(file: Path, cores: list[NDArray], trace: list[tuple[float, ...]]) -> None:
    """Write in one step: a file that is there is whole."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial.npz")
    np.savez(partial, cores=np.stack(cores), trace=np.array(trace))
    os.replace(partial, file)


def read_kept(folder: Path, row: Mapping[str, Any]) -> tuple[NDArray, NDArray]:
    """Return weights (M,) and course (n_epochs, 4) of a recorded fit; columns as in `TRACE`."""
    file = kept_file(folder, *(row[name] for name in KEYS))
    if not file.exists():
        raise FileNotFoundError(
            f"{file} is missing, although its fit is recorded; put it back, or choose another "
            "output folder to fit again"
        )
    with np.load(file) as kept:
        return weights_of(list(kept["cores"])), kept["trace"]
