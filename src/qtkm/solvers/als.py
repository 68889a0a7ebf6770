"""Alternating linear scheme: one core at a time, each to its exact minimum."""

from dataclasses import dataclass
from typing import Any

from . import solver
from .solver import Report, Solver, check_whole


@dataclass
class State(solver.State):
    """Where the scheme stands: the iterate, and how each block's problem meets the rows."""

    paths: list[str]


class ALS(Solver):
    """Alternating linear scheme.

    An epoch visits the columns in order and a column's levels from the lowest digit up; each
    core becomes the minimiser of the objective with all others fixed, so the objective never
    rises.  One pass over the rows serves all levels of a column.

    Parameters
    ----------
    inner_sweeps : int
        Sweeps over a column's levels in one pass over the rows.

    Notes
    -----
    An epoch is one pass over the rows a column.  It has no step size and, where the loss is
    quadratic, makes more of an epoch than any other solver: the one to begin with.
    """

    def __init__(self, inner_sweeps=1):
        self.inner_sweeps = inner_sweeps

    def check(self) -> None:
        """Raise a ValueError for parameters that make no sense."""
        check_whole("inner_sweeps", self.inner_sweeps, 1)

    def start(self, objective: Any, cores: Any) -> State:
        """State before the first epoch: the iterate, and how each block meets the rows."""
        iterate = objective.at(cores)
        return State(iterate, objective.paths(iterate))

    def step(self, objective: Any, state: State, report: Report) -> State:
        """One epoch; `report(cores, objectives)` after every block of cores."""
        for block, path in enumerate(state.paths):
            values = objective.update(state.iterate, block, path, self.inner_sweeps)
            report(state.iterate.snapshot(), values)
        return state
