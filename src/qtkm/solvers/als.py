"""Alternating linear scheme: exact minimization over one core at a time."""

from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar

from ..networks import Cores, Iterate, flatten, unflatten
from ..objective import Objective
from ..parameters import check_flag, check_number, keep_parameters
from .solver import Report, Solver, State

#: momentum waits while an epoch lowers the objective by more than this fraction of it
FAST = 0.01


@dataclass
class ALSState(State):
    """Objective, and the state of momentum."""

    value: float = float("inf")
    #: cores one epoch ago; None before the second epoch, and after a restart
    previous: Cores | None = None
    #: epochs since momentum began to grow; 0 while the fit is fast
    count: int = 0


class ALS(Solver[ALSState]):
    """Alternating linear scheme.

    An epoch visits the columns in order, and the levels of a column from the lowest digit up; each
    core becomes the minimizer of the objective with all others fixed, so the objective never
    rises.  One pass over the rows is enough for all levels of a column.

    Parameters
    ----------
    inner_sweeps : int
        Sweeps over a column's levels per pass over the rows.
    momentum : bool
        Start every epoch beyond the current cores, in the direction of the last epoch. Fits that
        take thousands of epochs then take hundreds.

    Notes
    -----
    An epoch takes one pass over the rows per column.  It has no step size and, if the loss is
    quadratic, gains more per epoch than any other solver: the one to start with.

    With momentum an epoch begins at x + β·(x - x') [1]_, where x' are the cores one epoch before
    x, β = (k-1)/(k+2), and k counts the epochs since one last lowered the objective by more than
    1 %. An epoch that raises the objective is repeated from x, and k restarts at 1.  As the
    objective may rise within an epoch, callbacks are only called after epochs.  See
    docs/decisions/0010-momentum.md for measurements.

    References
    ----------
    .. [1] Mitchell, Ye, De Sterck, "Nesterov acceleration of alternating least squares for
       canonical tensor decomposition", 2020.
    """

    state: ClassVar[type[State] | None] = ALSState

    def __init__(self, inner_sweeps=1, momentum=False):
        keep_parameters(self, locals())

    def check(self) -> None:
        check_number("inner_sweeps", self.inner_sweeps, Integral, 1)
        check_flag("momentum", self.momentum)

    def start(self, objective: Objective, cores: Cores) -> ALSState:
        return ALSState(objective.at(cores))

    def step(self, objective: Objective, state: ALSState, report: Report) -> ALSState:
        if self.momentum:
            return self._accelerated(objective, state, report)
        self._epoch(objective, state.iterate, report)
        return state

    def _accelerated(self, objective: Objective, state: ALSState, report: Report) -> ALSState:
        before, beyond = state.iterate.snapshot(), None
        if state.previous is not None and state.count > 1:
            beta = (state.count - 1) / (state.count + 2)
            pairs = zip(flatten(before), flatten(state.previous), strict=True)
            cores = unflatten(before, [core + beta * (core - old) for core, old in pairs])
            beyond = objective.at(cores, state.iterate.precisions)
            value = self._epoch(objective, beyond)
        if beyond is not None and value <= state.value:
            state.iterate = beyond
        else:
            state.count = 0 if beyond is not None else state.count
            value = self._epoch(objective, state.iterate)
        is_fast = state.value - value > FAST * value
        state.previous, state.value = before, value
        state.count = 0 if is_fast else state.count + 1
        report(state.iterate.snapshot(), [value])
        return state

    def _epoch(self, objective: Objective, iterate: Iterate, report: Report | None = None) -> float:
        """Update every block; return the objective afterwards."""
        for block in range(iterate.n_blocks):
            values = objective.update(iterate, block, self.inner_sweeps)
            if report is not None:
                report(iterate.snapshot(), values)
        return values[-1]
