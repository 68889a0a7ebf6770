"""Alternating linear scheme: one core at a time, each to its exact minimum."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from sklearn.base import BaseEstimator


@dataclass
class State:
    """Where the scheme stands: the iterate, and how each column's problem meets the rows."""

    iterate: Any
    paths: list[str]


class ALS(BaseEstimator):
    """Alternating linear scheme.

    An epoch visits the columns in order and a column's levels from the lowest digit up; each
    core becomes the minimiser of the objective with all others fixed, so the objective never
    rises.  One pass over the rows serves all levels of a column.

    Parameters
    ----------
    inner_sweeps : int
        Sweeps over a column's levels in one pass over the rows.
    """

    def __init__(self, inner_sweeps=1):
        self.inner_sweeps = inner_sweeps

    def check(self) -> None:
        """Raise a ValueError for parameters that make no sense."""
        whole = isinstance(self.inner_sweeps, Integral) and not isinstance(self.inner_sweeps, bool)
        if not whole or self.inner_sweeps < 1:
            raise ValueError(f"inner_sweeps={self.inner_sweeps!r} must be a whole number >= 1.")

    def start(self, objective: Any, cores: Any) -> Any:
        """State before the first epoch: the iterate, and how each column meets the rows."""
        iterate = objective.at(cores)
        return State(iterate, objective.paths(iterate))

    def step(self, objective: Any, state: Any, report: Callable[[Any, list[float]], None]) -> Any:
        """One epoch; `report(cores, objectives)` after every block of cores."""
        for block, path in enumerate(state.paths):
            values = objective.update(state.iterate, block, path, self.inner_sweeps)
            report(state.iterate.snapshot(), values)
        return state
