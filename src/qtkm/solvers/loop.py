"""The loop that all solvers share: epochs, stopping, history, progress, interruption."""

import copy
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from .. import interruption
from ..networks import Cores
from ..objective import Objective
from .checkpoint import Checkpoint
from .solver import History, Result, Stop

#: epochs over which the progress of a solver that is not monotone is judged: enough for a
#: learning rate that was halved on the way to show what it does
WINDOW = 10

logger = logging.getLogger(__name__)


@dataclass
class Stopping:
    """When to stop.

    Attributes
    ----------
    max_iter : int
        Largest number of epochs.
    tol : float
        Stop when an epoch lowers the objective by less than this fraction of it.  For a solver
        whose objective may rise, one epoch says little: it stops when the lowest objective of
        the last ten epochs is below the lowest before them by less than ten times this
        fraction.
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
        After an update (of a column's cores or the output core, an iteration, a step), or
        after an epoch.
    epoch : int
        Number of epochs begun, from 1.
    cores : list
        Copies of the cores as they stand.
    history : History
        So far.
    """

    event: str
    epoch: int
    cores: Cores
    history: History


#: what a checkpoint holds of the loop, beside history and the solver's state
_KEPT = ("latest", "best", "best_score", "best_epoch", "lowest", "precisions", "best_precisions")


@dataclass
class _Run:
    stopping: Stopping
    score: Callable[[Any], float] | None
    callbacks: Sequence[Callable[[Progress], Any]]
    bar: Any
    is_monotone: bool = True
    history: History = field(default_factory=History)
    begin: float = field(default_factory=time.perf_counter)
    latest: Any = None
    best: Any = None
    best_score: float = float("-inf")
    best_epoch: int = 0
    lowest: float = float("inf")
    precisions: Any = None
    best_precisions: Any = None
    stop_requested: bool = False
    checkpoint: Checkpoint | None = None

    def keep(self, state: Any, force: bool = False) -> None:
        """Write a checkpoint, if there are any and it is time."""
        if self.checkpoint is None:
            return
        kept = {name: getattr(self, name) for name in _KEPT}
        kept |= {"history": vars(self.history), "state": state.keep()}
        self.checkpoint.save(self.n_iter, kept, force=force)

    def regain(self, kept: dict[str, Any]) -> None:
        """Take up what a checkpoint holds."""
        for name in _KEPT:
            setattr(self, name, kept[name])
        self.history = History(**kept["history"])
        self.begin -= self.history.seconds[-1]
        self.bar.update(self.n_iter)
        logger.info("the fit goes on after epoch %d", self.n_iter)

    @property
    def n_iter(self) -> int:
        return len(self.history.objective)

    def report(self, cores: Cores, values: list[float]) -> None:
        """Take note of updated cores."""
        if not np.isfinite(values).all():
            raise Stop("failed", self.failure())
        self.history.objective_updates.extend(values)
        self.latest = cores
        self._call("block", self.n_iter + 1)
        interruption.check()

    def end_epoch(self, state: Any) -> None:
        """Take note of an epoch, and stop if it was the last."""
        seconds = time.perf_counter() - self.begin
        # the score first: an interruption leaves the lists of the history equally long
        score = None if self.score is None else self.score(state)
        self.precisions = copy.copy(getattr(state.iterate, "precisions", None))
        self.history.objective.append(self.history.objective_updates[-1])
        self.history.seconds.append(seconds)
        for name, value in state.record.items():
            self.history.records.setdefault(name, []).append(value)
        if score is not None:
            self.history.validation_score.append(score)
            if score > self.best_score:
                self.best, self.best_score, self.best_epoch = self.latest, score, self.n_iter
                self.best_precisions = self.precisions
        else:
            self.consider(self.latest, self.history.objective[-1])
        self._call("epoch", self.n_iter)
        text = _describe(self.history)
        logger.debug("epoch %d after %.1f s: %s", self.n_iter, seconds, text)
        self.bar.set_postfix_str(text, refresh=False)
        self.bar.update()
        self.keep(state, force=bool(state.finished) or self.verdict() is not None)
        self.stop_if_due()
        interruption.check()

    def stop_if_due(self) -> None:
        """Raise what ends the fit, if anything does."""
        verdict = self.verdict()
        if verdict is not None:
            raise Stop(*verdict)

    def consider(self, cores: Cores, value: float) -> None:
        """Keep cores of the lowest objective, where it is not the last one by itself."""
        if not self.is_monotone and value < self.lowest:
            self.best, self.lowest = cores, value
            self.best_precisions = self.precisions

    def _call(self, event: str, epoch: int) -> None:
        for callback in self.callbacks:
            answer = callback(Progress(event, epoch, self.latest, self.history))
            if isinstance(answer, bool | np.bool_) and answer:
                self.stop_requested = True

    def converged(self) -> bool:
        values, tol = self.history.objective, self.stopping.tol
        if self.is_monotone:
            return len(values) > 1 and values[-2] - values[-1] <= tol * abs(values[-2])
        if len(values) <= WINDOW:
            return False
        before, after = min(values[:-WINDOW]), min(values[-WINDOW:])
        return before - after <= WINDOW * tol * abs(before)

    def verdict(self) -> tuple[str, str] | None:
        if self.stop_requested:
            return "stopped early", "A callback asked to stop."
        if self.score is not None and self.n_iter - self.best_epoch >= self.stopping.patience:
            return "stopped early", (
                f"The validation score was best after epoch {self.best_epoch}; the cores of that "
                "epoch are kept."
            )
        if self.stopping.tol > 0 and self.converged():
            epochs = "The last epoch" if self.is_monotone else f"Each of the last {WINDOW} epochs"
            mean = "" if self.is_monotone else " on average"
            return "converged", (
                f"{epochs} lowered the objective by less than tol={self.stopping.tol:g} "
                f"of it{mean}."
            )
        if self.n_iter >= self.stopping.max_iter:
            return "max_iter", (
                f"Stopped after max_iter={self.stopping.max_iter} epochs; a larger max_iter, or "
                "warm_start=True, may lower the objective further."
            )
        return None

    def failure(self) -> str:
        return (
            f"The objective became infinite or not a number in epoch {self.n_iter + 1}; the best "
            "cores before are kept. Try a larger alpha, init='smooth', another solver or, where "
            "the solver has one, a smaller learning_rate."
        )

    def result(self, status: str, message: str) -> Result:
        is_last = self.best is None
        cores = self.latest if is_last else self.best
        precisions = self.precisions if is_last else self.best_precisions
        logger.info("%s after %d epochs: %s", status, self.n_iter, message)
        return Result(cores, self.n_iter, status, message, self.history, precisions)


def solve(
    solver: Any,
    objective: Objective,
    cores: Cores,
    stopping: Stopping,
    score: Callable[[Any], float] | None = None,
    callbacks: Sequence[Callable[[Progress], Any]] = (),
    verbose: int = 0,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Run a solver to its end, or to an interruption.

    Parameters
    ----------
    solver : Solver
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
    checkpoint : Checkpoint, optional
        Where what a fit holds is written after its epochs; one that is there is taken up.

    Returns
    -------
    Result
        With status "interrupted" after a KeyboardInterrupt, and "failed" where the objective
        became infinite or not a number: the best cores so far are kept.
    """
    if not solver.takes_priors:
        _refuse_priors(solver, objective)
    bar = tqdm(total=stopping.max_iter, desc="fit", unit="epoch", disable=not verbose)
    run = _Run(
        stopping, score, callbacks, bar, solver.is_monotone, latest=cores, checkpoint=checkpoint
    )
    kept = None
    if checkpoint is not None:
        if solver.state is None:
            raise ValueError(
                f"{type(solver).__name__} cannot write checkpoints, because its class names no "
                "`state` that could be kept (that of L-BFGS is in another library); use another "
                "solver, or warm_start=True to continue from cores."
            )
        kept = checkpoint.load()
    try:
        # overflow is judged by the objective that follows from it
        with bar, np.errstate(over="ignore", invalid="ignore"):
            if kept is not None:
                run.regain(kept)
            run.stop_if_due()
            if kept is None and not solver.is_monotone and score is None:
                run.consider(cores, objective.value(objective.at(cores)))
            if checkpoint is None:
                solver.run(objective, cores, run.report, run.end_epoch)
            else:
                state = None if kept is None else kept["state"]
                solver.run_with_checkpoints(objective, cores, run.report, run.end_epoch, state)
            raise RuntimeError(f"{solver!r} came to an end without saying why.")
    except Stop as stop:
        return run.result(stop.status, stop.message)
    except KeyboardInterrupt:
        return run.result(
            "interrupted",
            f"Interrupted in epoch {run.n_iter + 1}; the best cores so far are kept. Fit again "
            "with warm_start=True to go on from them.",
        )


def _refuse_priors(solver: Any, objective: Objective) -> None:
    for d, penalty in enumerate(objective.penalties or ()):
        if objective.precisions[d] is not None:
            raise ValueError(
                f"{solver!r} takes the squared norm of the weights as penalty, and column "
                f"{objective.columns[d].name!r} has {penalty!r}; use the penalty "
                "Ridge(), or another solver such as ALS() or GaussNewton()."
            )


def _describe(history: History) -> str:
    text = f"objective {history.objective[-1]:.6g}"
    if history.validation_score:
        text += f", validation {history.validation_score[-1]:.4f}"
    return text
