"""What every solver offers to the shared loop, and how either side ends a fit.

    loop                                  solver
    solve(solver, …) ──────────────────►  run(objective, cores, report, end_epoch)
                     ◄── report(cores, values) ──   after every update
                     ◄── end_epoch(state) ───────   after every epoch; raises Stop at the end

A solver with steps of its own fills in `start` and `step`; one that lives in another library
fills in `run`, and calls `end_epoch` from that library's callback.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from ..networks import Cores, Network, flatten, unflatten
from ..objective import Objective

#: fields of every state that a checkpoint does not hold
_SHARED = ("iterate", "record", "finished")

Report = Callable[[Any, list[float]], None]
EndEpoch = Callable[["State"], None]


class Stop(Exception):
    """The end of a fit, raised by the loop or by a solver that cannot go on.

    Parameters
    ----------
    status : str
        One of those of `Result`.
    message : str
        The status in a sentence.
    """

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status, self.message = status, message


@dataclass
class State:
    """Where a solver stands after an epoch; solvers add what they need.

    Attributes
    ----------
    iterate : Iterate
        The cores as they stand, from which the validation score is taken.
    record : dict
        Numbers of this epoch for `History.records`, by name; the same names every epoch.
    finished : str
        Why no further epoch can be better, in a sentence; empty while one may be.
    """

    iterate: Any
    record: dict[str, Any] = field(default_factory=dict, kw_only=True)
    finished: str = field(default="", kw_only=True)

    def keep(self) -> dict[str, Any]:
        """Return the state for a checkpoint: the cores, and the solver's own attributes."""
        own = [part.name for part in fields(self) if part.name not in _SHARED]
        held = {"cores": self.iterate.snapshot(), "precisions": list(self.iterate.precisions)}
        return held | {name: getattr(self, name) for name in own}

    @classmethod
    def regain(cls, objective: Objective, kept: dict[str, Any]) -> "State":
        """State from what `keep` gave, or from what a file held of it.

        All arrays are copied: where they stand in memory, and in which order, may change the
        last bit of what is computed from them.
        """
        kept = _copy(kept)
        own = {name: value for name, value in kept.items() if name not in ("cores", "precisions")}
        return cls(objective.at(kept["cores"], kept.get("precisions")), **own)


class Solver(BaseEstimator):
    """Interface of a solver; parameters are those of the constructor."""

    #: the objective never rises from one epoch to the next (but for rounding)
    is_monotone: ClassVar[bool] = True
    #: whether it looks at rows itself, which must then be in this process's memory
    needs_rows: ClassVar[bool] = False
    #: classes of the networks that it fits to
    fits: ClassVar[tuple[type[Network], ...]] = (Network,)
    #: whether it takes penalties that weigh functions apart, or only the norm of the weights
    takes_priors: ClassVar[bool] = True
    #: class of the states, which says what a checkpoint holds; None if there can be none
    state: ClassVar[type[State] | None] = None

    def check(self) -> None:
        """Raise a ValueError for parameters that make no sense."""

    def start(self, objective: Objective, cores: Cores) -> Any:
        """State before the first epoch."""
        raise NotImplementedError(f"{type(self).__name__} implements neither start nor run.")

    def step(self, objective: Objective, state: Any, report: Report) -> Any:
        """One epoch; `report(cores, objectives)` after every update, at least once."""
        raise NotImplementedError(f"{type(self).__name__} implements neither step nor run.")

    def run(self, objective: Objective, cores: Cores, report: Report, end_epoch: EndEpoch) -> None:
        """Epochs without end: what ends them is a `Stop`, mostly raised by `end_epoch`.

        Parameters
        ----------
        objective : Objective
        cores : list
            Where to start.
        report : callable
            report(cores, objectives), after every update of the cores.
        end_epoch : callable
            end_epoch(state), after every epoch.
        """
        state = self.start(objective, cores)
        while True:
            state = self._epoch_of(objective, state, report, end_epoch)

    def run_with_checkpoints(
        self,
        objective: Objective,
        cores: Cores,
        report: Report,
        end_epoch: EndEpoch,
        kept: dict[str, Any] | None,
    ) -> None:
        """Run, where checkpoints are written, from the start or from what one held.

        Every epoch begins with what a checkpoint would hold, so that a fit that was not
        interrupted has the same bits as one that was.
        """
        assert self.state is not None
        if kept is None:
            state = self.start(objective, cores)
        else:
            state = self.state.regain(objective, kept)
        while True:
            state = self._epoch_of(objective, state, report, end_epoch)
            state = self.state.regain(objective, state.keep())

    def _epoch_of(
        self, objective: Objective, state: Any, report: Report, end_epoch: EndEpoch
    ) -> Any:
        state = self.step(objective, state, report)
        end_epoch(state)
        if state.finished:
            raise Stop("converged", state.finished)
        return state


def _copy(tree: Any) -> Any:
    """Copy the arrays of nested dicts and lists to memory of their own, in C order."""
    if isinstance(tree, dict):
        return {key: _copy(value) for key, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_copy(value) for value in tree]
    return np.array(tree, order="C") if isinstance(tree, np.ndarray) else tree


def shrink(objective: Objective, cores: Cores) -> Any:
    """Cores with responses no larger than the targets, where that lowers the objective.

    A start whose responses are far too large has steep gradients, which turn the first steps
    of a gradient method into one overshoot that leaves some cores tiny and others large.  All
    cores share the factor, so that none does.  Fits on 1000 and 20,000 rows came about twice
    as low in as many epochs of Adam, and started faster under Gauss-Newton; L-BFGS, whose line
    search takes care of it, gained nothing.
    """
    iterate, flat = objective.at(cores), flatten(cores)
    square = objective.mean_size(iterate)
    if not objective.constant < square < float("inf") or objective.constant == 0:
        return cores
    scale = (objective.constant / square) ** (0.5 / len(flat))
    shrunk = unflatten(cores, [scale * core for core in flat])
    return shrunk if objective.value(objective.at(shrunk)) < objective.value(iterate) else cores


@dataclass
class History:
    """Course of a fit.

    Attributes
    ----------
    objective_updates : list of float
        Objective after every update that a solver reports: of a core (ALS), an iteration
        (L-BFGS), a step (Gauss-Newton) or an epoch (Adam).
    objective : list of float
        Objective after every epoch.
    seconds : list of float
        Seconds from the first epoch's start to every epoch's end.
    validation_score : list of float
        Score on the validation rows after every epoch; empty without them.
    records : dict of lists
        What else a solver notes after every epoch, by name, such as "damping".
    """

    objective_updates: list[float] = field(default_factory=list)
    objective: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    validation_score: list[float] = field(default_factory=list)
    records: dict[str, list[Any]] = field(default_factory=dict)


@dataclass
class Result:
    """Outcome of a solver.

    Attributes
    ----------
    cores : list
        The best cores: those of the best validation score; without validation rows those of
        the lowest objective, which are the last ones where a solver never raises it.
    n_iter : int
        Number of finished epochs.
    status : {"converged", "stopped early", "max_iter", "interrupted", "failed"}
        "failed": the objective became infinite or not a number.
    message : str
        The status in a sentence, with what to try.
    history : History
    precisions : list or None
        What the penalty multiplies squared weights by, as it was learned along with the cores;
        None if there was no epoch.
    """

    cores: Cores
    n_iter: int
    status: str
    message: str
    history: History
    precisions: Any = None
