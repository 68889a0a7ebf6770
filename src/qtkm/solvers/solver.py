"""Interface between solvers and the shared loop.

    loop                                  solver
    solve(solver, …) ──────────────────►  start, then step(objective, state, report) every epoch
                     ◄── report(cores, values) ──   after every update

A solver with its own steps implements `start` and `step`; one from another library implements
`run`, and calls `end_epoch` from that library's callback.
"""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field, fields
from typing import ClassVar, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..networks import Cores, Iterate, Network, flatten, unflatten
from ..objective import Objective
from ..protocols import Kept

Vector = NDArray[np.float64]
Report = Callable[[Cores, list[float]], None]
EndEpoch = Callable[["State"], None]
Own = TypeVar("Own", bound="State")


class Stop(Exception):
    """End of a fit, raised by the loop or by a solver that cannot continue.

    `status` is one of `Result`, `message` the same in a sentence.
    """

    def __init__(self, status: str, message: str):
        super().__init__(message)
        self.status, self.message = status, message


@dataclass
class State:
    """State of a solver between epochs; solvers add what they need."""

    #: current cores, from which the validation score is computed
    iterate: Iterate
    #: numbers of this epoch for `History.records`, by name; the same names every epoch
    record: Kept = field(default_factory=dict, kw_only=True)
    #: why another epoch cannot be better, in a sentence; empty while one may be
    finished: str = field(default="", kw_only=True)

    def keep(self) -> Kept:
        """Return the state for a checkpoint: the cores, and the solver's own attributes."""
        own = [part.name for part in fields(self)[len(fields(State)) :]]
        kept = {"cores": self.iterate.snapshot(), "precisions": list(self.iterate.precisions)}
        return kept | {name: getattr(self, name) for name in own}

    @classmethod
    def regain(cls: type[Own], objective: Objective, kept: Kept) -> Own:
        """Return the state from the result of `keep`, or from a file.

        Arrays are copied: their address may change the last bit of results.
        """
        kept = deepcopy(kept)
        iterate = objective.at(kept.pop("cores"), kept.pop("precisions", None))
        return cls(iterate, **kept)


class Solver(BaseEstimator, Generic[Own]):
    """Interface of a solver; parameters are those of the constructor."""

    #: whether the objective never rises from one epoch to the next (but for rounding)
    is_monotone: ClassVar[bool] = True
    #: number of epochs over which progress is compared with `tol`; at least 10 if not monotone
    window: ClassVar[int] = 1
    #: whether it looks at rows itself, which must then be in this process's memory
    needs_rows: ClassVar[bool] = False
    #: classes of the networks that it can fit
    fits: ClassVar[tuple[type[Network], ...]] = (Network,)
    #: whether it takes penalties other than the squared norm of the weights
    takes_priors: ClassVar[bool] = True
    #: class of the states, which a checkpoint holds; None if checkpoints are not supported
    state: ClassVar[type[State] | None] = None

    def check(self) -> None:
        """Raise a ValueError for invalid parameters."""

    def start(self, objective: Objective, cores: Cores) -> Own:
        """Return the state before the first epoch."""
        raise NotImplementedError(f"{type(self).__name__} implements neither start nor run.")

    def step(self, objective: Objective, state: Own, report: Report) -> Own:
        """Run one epoch; call `report(cores, objectives)` after every update, at least once."""
        raise NotImplementedError(f"{type(self).__name__} implements neither step nor run.")

    def run(self, objective: Objective, cores: Cores, report: Report, end_epoch: EndEpoch) -> None:
        """Run epochs from `cores` until a `Stop`, in place of `start` and `step`.

        Call `report(cores, objectives)` after every update of the cores, and `end_epoch(state)`
        after every epoch, which raises the `Stop` in most cases.
        """
        raise NotImplementedError


def smooth(objective: Objective, cores: Cores) -> Cores:
    """Make cores whose penalty is above all there is to explain smoother, if that serves.

    Weights of a function whose prior variance is 1e-13 for each of some columns cost more than a
    gradient method can find its way out of.
    """
    iterate = objective.at(cores)
    if objective.penalty(iterate) <= objective.constant:
        return cores
    smoothed = objective.smoothed(cores)
    # the objective of the cores may be NaN
    is_worse = objective.value(objective.at(smoothed)) >= objective.value(iterate)
    return cores if is_worse else smoothed


def shrink(objective: Objective, cores: Cores) -> Cores:
    """Scale cores so that responses are no larger than targets, if that lowers the objective.

    The first steps of a gradient method overshoot if responses are far too large.  With this, Adam
    reached about half the objective in as many epochs on 1000 and 20,000 rows.
    """
    cores = smooth(objective, cores)
    iterate, flat = objective.at(cores), flatten(cores)
    square = objective.mean_size(iterate)
    if not objective.constant < square < float("inf") or objective.constant == 0:
        return cores
    scale = (objective.constant / square) ** (0.5 / len(flat))
    shrunk = unflatten(cores, [scale * core for core in flat])
    return shrunk if objective.value(objective.at(shrunk)) < objective.value(iterate) else cores


@dataclass
class History:
    """Course of a fit."""

    #: objective after every update that a solver reports: of a core (ALS), an iteration (L-BFGS),
    #: a step (Gauss-Newton) or an epoch (Adam)
    objective_updates: list[float] = field(default_factory=list)
    #: objective after every epoch
    objective: list[float] = field(default_factory=list)
    #: seconds from the start of the first epoch to the end of each
    seconds: list[float] = field(default_factory=list)
    #: score on the validation rows after every epoch; empty without them
    validation_score: list[float] = field(default_factory=list)
    #: other numbers that a solver records for every epoch, by name, such as "damping"
    records: Kept = field(default_factory=dict)


@dataclass
class Result:
    """Outcome of a solver."""

    #: cores with the best validation score or, without validation rows, the lowest objective
    cores: Cores
    #: number of finished epochs
    n_iter: int
    #: "converged", "stopped early", "max_iter", "interrupted", or "failed" if the objective became
    #: infinite or NaN, or stayed far above that of a model that is 0 everywhere
    status: str
    #: the status in a sentence, with what to try
    message: str
    history: History
    #: factors of the squared weights in the penalty, as learned along with the cores; None if there
    #: was no epoch
    precisions: list[NDArray | None] | None = None
