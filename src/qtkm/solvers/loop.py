"""Loop shared by all solvers: epochs, stopping, history, checkpoints, interruption."""

import copy
import logging
import os
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tqdm.auto import tqdm

from .. import interruption, storage
from ..networks import Cores
from ..objective import Objective
from ..protocols import Given, Kept
from .solver import History, Result, Solver, State, Stop

#: least `window` of a solver that is not monotone: enough epochs for a learning rate that was
#: halved on the way to take effect
WINDOW = 10

KIND = "checkpoint"
#: how many files are kept
KEPT = 2

logger = logging.getLogger(__name__)


@dataclass
class Stopping:
    """Stopping criteria."""

    #: maximum number of epochs
    max_iter: int
    #: stop when epochs lower the objective by less than this fraction, on average over one epoch
    #: for most solvers, five for L-BFGS and ten for those that are not monotone
    tol: float
    #: stop after this many epochs without a better validation score
    patience: int = 10


@dataclass
class Progress:
    """Argument of callbacks."""

    #: "block" after an update (of a column's cores or the output core, an iteration, a step),
    #: "epoch" after an epoch
    event: str
    #: number of the current epoch, from 1
    epoch: int
    #: copies of the current cores
    cores: Cores
    #: history so far
    history: History


class Checkpoint:
    """Checkpoints of one fit in a folder: state of loop and solver after an epoch.

    Each is one file, written atomically at least `seconds` after the one before. The last two are
    kept, in case the newest is damaged. `fingerprint` has facts that a resumed fit must share with
    the interrupted one.
    """

    def __init__(self, folder: str | os.PathLike[str], fingerprint: Kept, seconds: float = 0.0):
        self.folder, self.fingerprint, self.seconds = Path(folder), fingerprint, seconds
        self._last = -float("inf")

    def files(self) -> list[Path]:
        """Return the files of the folder, newest first."""
        found = self.folder.glob("epoch-[0-9]*.qtkm")
        return sorted(found, key=lambda path: (len(path.name), path.name), reverse=True)

    def save(self, epoch: int, kept: Kept, *, force: bool = False) -> None:
        """Write a checkpoint after an epoch, if it is due."""
        now = time.monotonic()
        if not force and now - self._last < self.seconds:
            return
        self._write(f"epoch-{epoch:06}", {"epoch": epoch, **kept})
        self._last = now
        for old in self.files()[KEPT:]:
            old.unlink(missing_ok=True)

    def load(self) -> Kept | None:
        """Load the newest complete file; None if there is no file.

        Raises a ValueError if a file belongs to another fit, or all files are damaged.
        """
        damage: list[str] = []
        for path in self.files():
            # another process may have written a newer file, and removed this one
            with suppress(FileNotFoundError):
                try:
                    tree = self._read(path)
                except storage.DamagedFileError as error:
                    damage.append(str(error))
                    continue
                for text in damage:
                    warnings.warn(f"{text} The fit resumes from {path.name} instead.", stacklevel=2)
                return tree
        if damage:
            raise ValueError(
                f"No checkpoint in {self.folder} can be read. {damage[0]} Remove the folder to "
                "start over."
            )
        return None

    def recalled(self, name: str, make: Callable[[], Kept]) -> Kept:
        """Return the contents of a file; if it is missing or damaged, make and write them.

        A deterministic computation can thus skip what it has done before.
        """
        with suppress(FileNotFoundError, storage.DamagedFileError):
            return self._read(self.folder / f"{name}.qtkm")
        kept = make()
        self._write(name, kept)
        return kept

    def _write(self, name: str, kept: Kept) -> None:
        tree = {"fingerprint": self.fingerprint, **kept}
        storage.write(self.folder / f"{name}.qtkm", KIND, tree)

    def _read(self, path: Path) -> Kept:
        """Return the contents of a file, if it belongs to this fit."""
        tree = storage.read(path, KIND)
        found = tree.get("fingerprint") if isinstance(tree, dict) else None
        if found == self.fingerprint:
            return tree
        found = found if isinstance(found, dict) else {}
        names = found.keys() | self.fingerprint.keys()
        differ = sorted(n for n in names if found.get(n) != self.fingerprint.get(n))
        raise ValueError(
            f"{path} is a checkpoint of another fit: {', '.join(differ)} differ. Use another "
            "folder for this fit, or remove this one to start over."
        )


Score = Callable[[State], float]
Callback = Callable[[Progress], object]
#: what a checkpoint holds of the loop, beside history and the solver's state
_KEPT = ("latest", "best", "best_score", "best_epoch")


class _Run:
    def __init__(
        self, solver: Solver, stopping: Stopping, score: Score | None,
        callbacks: Sequence[Callback], bar: tqdm, checkpoint: Checkpoint | None, cores: Cores,
    ):  # fmt: skip
        self.solver, self.stopping, self.score, self.callbacks = solver, stopping, score, callbacks
        self.bar, self.checkpoint = bar, checkpoint
        self.history, self.begin = History(), time.perf_counter()
        #: cores, and their precisions after an epoch
        self.latest: list[Given] = [cores, None]
        self.best: list[Given] | None = None
        self.best_score, self.best_epoch, self.stop_requested = float("-inf"), 0, False

    @property
    def n_iter(self) -> int:
        return len(self.history.objective)

    def regain(self, kept: Kept) -> None:
        """Continue from the contents of a checkpoint."""
        for name in _KEPT:
            setattr(self, name, kept[name])
        self.history = History(**kept["history"])
        self.begin -= self.history.seconds[-1]
        self.bar.update(self.n_iter)
        logger.info("the fit continues after epoch %d", self.n_iter)

    def report(self, cores: Cores, values: list[float]) -> None:
        """Record updated cores."""
        if not np.isfinite(values).all():
            raise Stop(
                "failed",
                f"The objective became infinite or NaN in epoch {self.n_iter + 1}; the best cores "
                "before are kept. Try a larger alpha, init='smooth', another solver or, if the "
                "solver has one, a smaller learning_rate.",
            )
        self.history.objective_updates.extend(map(float, values))
        self.latest[0] = cores
        self._call("block", self.n_iter + 1)
        interruption.check()

    def end_epoch(self, state: State) -> None:
        """Record an epoch, and stop if it was the last."""
        history, seconds = self.history, time.perf_counter() - self.begin
        # the score first: an interruption leaves the lists of the history equally long
        score = None if self.score is None else self.score(state)
        self.latest[1] = copy.copy(getattr(state.iterate, "precisions", None))
        history.objective.append(history.objective_updates[-1])
        history.seconds.append(seconds)
        for name, value in state.record.items():
            history.records.setdefault(name, []).append(value)
        text = f"objective {history.objective[-1]:.6g}"
        if score is not None:
            text += f", validation {score:.4f}"
            history.validation_score.append(score)
            self.consider(score)
        elif not self.solver.is_monotone:
            self.consider(-history.objective[-1])
        self._call("epoch", self.n_iter)
        logger.debug("epoch %d after %.1f s: %s", self.n_iter, seconds, text)
        self.bar.set_postfix_str(text, refresh=False)
        self.bar.update()
        stop = self.stop or (Stop("converged", state.finished) if state.finished else None)
        if self.checkpoint is not None:
            kept = {name: getattr(self, name) for name in _KEPT}
            kept |= {"history": vars(history), "state": state.keep()}
            self.checkpoint.save(self.n_iter, kept, force=stop is not None)
        if stop is not None:
            raise stop
        interruption.check()

    def consider(self, score: float) -> None:
        """Keep the cores if they are the best so far."""
        if score > self.best_score:
            self.best_score, self.best_epoch, self.best = score, self.n_iter, list(self.latest)

    def _call(self, event: str, epoch: int) -> None:
        for callback in self.callbacks:
            answer = callback(Progress(event, epoch, self.latest[0], self.history))
            self.stop_requested |= isinstance(answer, bool | np.bool_) and bool(answer)

    @property
    def stop(self) -> Stop | None:
        """Reason to stop the fit, or None."""
        tol, values = self.stopping.tol, self.history.objective
        if self.stop_requested:
            return Stop("stopped early", "A callback stopped the fit.")
        if self.score is not None and self.n_iter - self.best_epoch >= self.stopping.patience:
            best = f"The validation score was best after epoch {self.best_epoch}"
            return Stop("stopped early", f"{best}; the cores of that epoch are kept.")
        window = max(self.solver.window, 1 if self.solver.is_monotone else WINDOW)
        if self.n_iter > window and tol > 0:
            before, after = min(values[:-window]), min(values[-window:])
            if before - after <= window * tol * abs(before):
                lowered = f"lowered the objective by less than tol={tol:g} of it"
                if window == 1:
                    return Stop("converged", f"The last epoch {lowered}.")
                return Stop("converged", f"Each of the last {window} epochs {lowered} on average.")
        if self.n_iter >= self.stopping.max_iter:
            return Stop(
                "max_iter",
                f"Stopped after max_iter={self.stopping.max_iter} epochs; a larger max_iter, or "
                "warm_start=True, may lower the objective further.",
            )
        return None

    def epochs(self, objective: Objective, kept: Kept | None) -> None:
        """Run the steps of the solver until a `Stop`.

        With checkpoints, every epoch begins from the contents of one, so that interrupted and
        uninterrupted fits are bit-identical.
        """
        solver, state = self.solver, None
        while True:
            if kept is not None and solver.state is not None:
                state = solver.state.regain(objective, kept)
            elif state is None:
                state = solver.start(objective, self.latest[0])
            state = solver.step(objective, state, self.report)
            self.end_epoch(state)
            if self.checkpoint is not None:
                kept = storage.join(*storage.split(state.keep()))

    def result(self, status: str, message: str) -> Result:
        cores, precisions = self.best or self.latest
        logger.info("%s after %d epochs: %s", status, self.n_iter, message)
        return Result(cores, self.n_iter, status, message, self.history, precisions)


def solve(
    solver: Solver,
    objective: Objective,
    cores: Cores,
    stopping: Stopping,
    score: Score | None = None,
    callbacks: Sequence[Callback] = (),
    verbose: int = 0,
    checkpoint: Checkpoint | None = None,
) -> Result:
    """Run a solver from `cores` until it stops or is interrupted, and keep the best cores.

    Parameters
    ----------
    score : callable or None
        score(state): validation score, higher is better.
    callbacks : sequence of callables
        Called with a `Progress`; returning True stops after the epoch.
    verbose : int
        0 is silent, 1 shows a progress bar.
    checkpoint : Checkpoint, optional
        Where to write checkpoints, and from which to resume if there is one.
    """
    for d, penalty in enumerate(() if solver.takes_priors else objective.penalties or ()):
        if objective.precisions[d] is not None:
            raise ValueError(
                f"{solver!r} only supports the penalty Ridge(), but column "
                f"{objective.columns[d].name!r} has {penalty!r}; use Ridge(), or another solver "
                "such as ALS() or GaussNewton()."
            )
    if checkpoint is not None and solver.state is None:
        raise ValueError(
            f"{type(solver).__name__} cannot write checkpoints, because its class has no `state`; "
            "use another solver, or warm_start=True to continue from cores."
        )
    bar = tqdm(total=stopping.max_iter, desc="fit", unit="epoch", disable=not verbose)
    run = _Run(solver, stopping, score, callbacks, bar, checkpoint, cores)
    kept = None if checkpoint is None else checkpoint.load()
    try:
        # overflow shows in the objective that follows from it
        with bar, np.errstate(over="ignore", invalid="ignore"):
            if kept is not None:
                run.regain(kept)
            if run.stop is not None:
                raise run.stop
            if kept is None and not solver.is_monotone and score is None:
                run.consider(-objective.value(objective.at(cores)))
            state = None if kept is None else kept["state"]
            if type(solver).run is Solver.run:
                run.epochs(objective, state)
            else:  # which knows nothing of epochs before
                start = cores if state is None else state["cores"]
                solver.run(objective, start, run.report, run.end_epoch)
            raise RuntimeError(f"{solver!r} ended without raising a Stop.")
    except Stop as stop:
        return run.result(stop.status, stop.message)
    except KeyboardInterrupt:
        return run.result(
            "interrupted",
            f"Interrupted in epoch {run.n_iter + 1}; the best cores so far are kept. Fit again "
            "with warm_start=True to continue from them.",
        )
