"""One candidate on one fold: a fit that can pause after some epochs and go on later.

A fit that was paused ends with the same cores, bit for bit, as one that was not, so that epochs
spent on a first look are not lost on those candidates that are looked at again.
"""

from collections.abc import Callable
from time import perf_counter
from typing import Any

from .. import solvers
from ..engines import Engine
from ..estimators import parts
from .posed import Posed


class _Memory(solvers.Checkpoint):
    """A checkpoint that is kept in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] | None = None

    def load(self) -> dict[str, Any] | None:
        """Return the stored state."""
        return self.kept

    def save(self, epoch: int, kept: dict[str, Any], *, force: bool = False) -> None:
        """Keep what the loop holds after an epoch."""
        self.kept = kept


class _Pausing(solvers.Solver):
    """A solver that goes on from the state in which it was left."""

    state = solvers.State

    def __init__(self, solver: Any):
        self.solver = solver
        self.left: Any = None

    @property
    def is_monotone(self) -> bool:  # type: ignore[override]
        """As of the solver itself."""
        return self.solver.is_monotone

    def start(self, objective: Any, cores: Any) -> Any:
        """State before the first epoch."""
        return self.solver.start(objective, cores)

    def step(self, objective: Any, state: Any, report: Any) -> Any:
        """One epoch."""
        self.left = self.solver.step(objective, state, report)
        return self.left

    def run_with_checkpoints(
        self, objective: Any, cores: Any, report: Any, end_epoch: Any, kept: Any
    ) -> None:
        """Run from the state that was left, not from a copy of it."""
        state = self.start(objective, cores) if self.left is None else self.left
        while True:
            state = self._epoch_of(objective, state, report, end_epoch)


class Course:
    """Fit of one candidate to the training rows of one fold.

    Parameters
    ----------
    posed : Posed
        Training rows.
    parameters : dict
        Of the candidate.
    stop : callable
        stop() tells whether the search is to end; asked after every epoch.

    Attributes
    ----------
    model : estimator
        Ready to predict after the first `advance`.
    n_epochs : int
    finished : bool
        Whether the fit has come to its end.
    seconds : float
        Spent so far.
    """

    def __init__(self, posed: Posed, parameters: dict[str, Any], stop: Callable[[], bool]):
        self.model, self._posed, self._stop = posed.model(parameters), posed, stop
        self.n_epochs, self.finished, self.seconds = 0, False, 0.0
        solver = parts.make_solver(self.model)
        # L-BFGS runs inside of SciPy and cannot pause
        can_pause = solver.state is not None and type(solver).run is solvers.Solver.run
        self._solver = _Pausing(solver) if can_pause else solver
        self._memory = _Memory() if can_pause else None

    @property
    def _goes_on(self) -> bool:
        return self._memory is not None and self._memory.kept is not None

    def advance(self, n_epochs: int, engine: Engine, start: Any = None) -> None:
        """Go on until so many epochs are done in all, or to the end if it comes before.

        Parameters
        ----------
        n_epochs : int
        engine : Engine
        start : callable, optional
            start(prepared): cores to start from, instead of those of the fit itself.
        """
        begin = perf_counter()
        model, most = self.model, self.model.max_iter
        prepared = self._posed.prepared(model, engine)
        cores: Any = None  # of a fit that goes on, which has its own
        if not self._goes_on:
            cores = prepared.start(model.init) if start is None else start(prepared)
        limit = min(n_epochs, most)
        result = prepared.solve(
            model, cores, solver=self._solver, max_iter=limit,
            stop=lambda progress: self._stop(), checkpoint=self._memory,
        )  # fmt: skip
        if result.status == "interrupted":
            raise KeyboardInterrupt
        objective = prepared.objective
        model._place(result.cores, objective.network.fitted_to(result.cores), objective.loss)
        model._reading, model.n_iter_ = prepared.reading, result.n_iter
        self.n_epochs = result.n_iter
        self.finished = limit == most or result.status != "max_iter"
        self.seconds += perf_counter() - begin
        if self.finished:
            self._memory, self._solver = None, None  # their tables are not needed any more
