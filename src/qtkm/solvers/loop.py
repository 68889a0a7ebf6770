"""The loop that all solvers share: epochs, stopping, history, progress, interruption."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .result import History, Result


@dataclass
class Stopping:
    """When to stop.

    Attributes
    ----------
    max_iter : int
        Largest number of epochs.
    tol : float
        Stop when an epoch lowers the objective by less than this fraction of it.
    patience : int
        Stop after this many epochs without a better validation score.
    """

    max_iter: int
    tol: float
    patience: int = 10


@dataclass
class Progress:
    """What callbacks are told.

    Attributes
    ----------
    event : {"block", "epoch"}
        After a block of cores (a column's, or the output core), or after an epoch.
    epoch : int
        Number of epochs begun, from 1.
    cores : list
        Copies of the cores as they stand.
    history : History
        So far.
    """

    event: str
    epoch: int
    cores: Any
    history: History


@dataclass
class _Run:
    stopping: Stopping
    score: Callable[[Any], float] | None
    callbacks: Sequence[Callable[[Progress], Any]]
    history: History = field(default_factory=History)
    latest: Any = None
    best: Any = None
    best_score: float = float("-inf")
    best_epoch: int = 0
    stop_requested: bool = False

    @property
    def n_iter(self) -> int:
        return len(self.history.objective)

    def record_block(self, cores: Any, values: list[float]) -> None:
        self.history.objective_updates.extend(values)
        self.latest = cores
        self._call("block", self.n_iter + 1)

    def record_epoch(self, seconds: float, state: Any) -> None:
        # the score first: an interruption leaves the lists of the history equally long
        score = None if self.score is None else self.score(state)
        self.history.objective.append(self.history.objective_updates[-1])
        self.history.seconds.append(seconds)
        if score is not None:
            self.history.validation_score.append(score)
            if score > self.best_score:
                self.best, self.best_score, self.best_epoch = self.latest, score, self.n_iter
        self._call("epoch", self.n_iter)

    def _call(self, event: str, epoch: int) -> None:
        for callback in self.callbacks:
            answer = callback(Progress(event, epoch, self.latest, self.history))
            if isinstance(answer, bool | np.bool_) and answer:
                self.stop_requested = True

    def converged(self) -> bool:
        values = self.history.objective
        return len(values) > 1 and values[-2] - values[-1] <= self.stopping.tol * abs(values[-2])

    def verdict(self) -> tuple[str, str] | None:
        if self.stop_requested:
            return "stopped early", "A callback asked to stop."
        if self.score is not None and self.n_iter - self.best_epoch >= self.stopping.patience:
            return "stopped early", (
                f"The validation score was best after epoch {self.best_epoch}; the cores of that "
                "epoch are kept."
            )
        if self.stopping.tol > 0 and self.converged():
            return "converged", (
                f"The last epoch lowered the objective by less than tol={self.stopping.tol:g} "
                "of it."
            )
        return None

    def result(self, status: str, message: str) -> Result:
        cores = self.latest if self.best is None else self.best
        return Result(cores, self.n_iter, status, message, self.history)


def solve(
    solver: Any,
    objective: Any,
    cores: Any,
    stopping: Stopping,
    score: Callable[[Any], float] | None = None,
    callbacks: Sequence[Callable[[Progress], Any]] = (),
    verbose: int = 0,
) -> Result:
    """Run a solver to its end, or to an interruption.

    Parameters
    ----------
    solver : object
        With `start(objective, cores) -> state` and `step(objective, state, report) -> state`.
    objective : Objective
    cores : list
        Where to start.
    stopping : Stopping
    score : callable or None
        score(state): validation score, higher is better.
    callbacks : sequence of callables
        Called with a `Progress`; returning True stops after the epoch.
    verbose : int
        0 is silent, 1 shows a progress bar.

    Returns
    -------
    Result
        With status "interrupted" after a KeyboardInterrupt: the best cores so far are kept.
    """
    run = _Run(stopping, score, callbacks, latest=cores)
    bar = tqdm(total=stopping.max_iter, desc="fit", unit="epoch", disable=not verbose)
    try:
        with bar:
            return _epochs(solver, objective, cores, run, bar)
    except KeyboardInterrupt:
        return run.result(
            "interrupted",
            f"Interrupted in epoch {run.n_iter + 1}; the best cores so far are kept. Fit again "
            "with warm_start=True to go on from them.",
        )


def _epochs(solver: Any, objective: Any, cores: Any, run: _Run, bar: Any) -> Result:
    begin = time.perf_counter()
    state = solver.start(objective, cores)
    for _ in range(run.stopping.max_iter):
        state = solver.step(objective, state, run.record_block)
        run.record_epoch(time.perf_counter() - begin, state)
        bar.set_postfix_str(_describe(run.history), refresh=False)
        bar.update()
        verdict = run.verdict()
        if verdict is not None:
            return run.result(*verdict)
    return run.result(
        "max_iter",
        f"Stopped after max_iter={run.stopping.max_iter} epochs; a larger max_iter, or "
        "warm_start=True, may lower the objective further.",
    )


def _describe(history: History) -> str:
    text = f"objective {history.objective[-1]:.6g}"
    if history.validation_score:
        text += f", validation {history.validation_score[-1]:.4f}"
    return text
