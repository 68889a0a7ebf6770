"""Passes of the objective over a shard: sums of losses, squares and slopes.

Each carries tables and the loss, no rows and no threads, so that it can be sent to where the rows
are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Shard
from ..losses import Loss
from ..protocols import Run

Pass = Callable[..., Any]


def totals(shard: Shard, run: Run) -> tuple[NDArray, NDArray, NDArray]:
    """Total weight, weighted sums of the squared targets, and number of rows."""
    target = shard.scaled[1]
    squares = np.array([float(np.vdot(column, column)) for column in target.T])
    return np.array([weight_of(shard)]), squares, np.array([len(shard)])


def weight_of(shard: Shard) -> float:
    """Total weight of a shard's rows."""
    return float(len(shard) if shard.weight is None else shard.weight.sum())


@dataclass
class LossPass:
    """Weighted sum of the losses of rows with known responses, and total weight."""

    loss: Loss

    def __call__(self, shard: Shard, response: NDArray, run: Run) -> NDArray:
        def part(bounds: tuple[int, int]) -> float:
            rows = slice(*bounds)
            values = self.loss.value(response[rows], shard.target[rows])
            return float(values.sum() if shard.weight is None else shard.weight[rows] @ values)

        return np.array([sum(run(part, shard.blocks())), weight_of(shard)])


@dataclass
class SquarePass:
    """Weighted sum of the squared errors of Re f, and total weight."""

    respond: Pass

    def __call__(self, shard: Shard, run: Run) -> NDArray:
        error = ((self.respond(shard, run=run).real - shard.target) ** 2).sum(axis=1)
        total = float(error.sum() if shard.weight is None else shard.weight @ error)
        return np.array([total, weight_of(shard)])


@dataclass
class SizePass:
    """Sum of |f|²."""

    respond: Pass

    def __call__(self, shard: Shard, run: Run) -> NDArray:
        response = self.respond(shard, run=run)
        return np.array([float(np.vdot(response, response).real)])


@dataclass
class SlopePass:
    """Mean loss of the rows and what its gradient needs."""

    respond: Pass
    gradient: Pass
    loss: Loss
    total_weight: float

    def __call__(self, shard: Shard, run: Run) -> tuple[Any, ...]:
        response = self.respond(shard, run=run)
        value = self.loss.value(response, shard.target)
        slopes = self.loss.gradient(response, shard.target)
        slopes *= scale_of(shard, self.total_weight)
        total = value.sum() if shard.weight is None else shard.weight @ value
        mean = np.array([float(total) / self.total_weight])
        return mean, *self.gradient(shard, slopes, run=run)


@dataclass
class CurvaturePass:
    """What the product of a direction with the Gauss-Newton matrix needs of the rows."""

    tangent: Pass
    gradient: Pass
    loss: Loss
    total_weight: float

    def __call__(self, shard: Shard, response: NDArray, run: Run) -> tuple[Any, ...]:
        change = self.tangent(shard, run=run)
        slopes = self.loss.curvature_product(response, shard.target, change)
        slopes = slopes * scale_of(shard, self.total_weight)
        return self.gradient(shard, slopes, run=run)


@dataclass
class AfterResponses:
    """A pass that also wants the responses, where those are not kept."""

    respond: Pass
    then: Pass
    real: bool

    def __call__(self, shard: Shard, run: Run) -> Any:
        response = self.respond(shard, run=run)
        if self.real:
            response = np.ascontiguousarray(response.real)
        return self.then(shard, response, run=run)


def scale_of(shard: Shard, total_weight: float) -> Any:
    """Weights of the rows over the total one."""
    return 1 / total_weight if shard.weight is None else shard.weight[:, None] / total_weight


def are_here(shards: Sequence[Shard]) -> bool:
    """Whether the rows are in this process's memory, not on disk or elsewhere.

    Parameters
    ----------
    shards : Shards
        A plain list is in memory.
    """
    return getattr(shards, "are_here", True)
