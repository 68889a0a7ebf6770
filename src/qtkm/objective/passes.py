"""Passes of the objective over a shard: sums of losses, squares and slopes.

Each carries tables and the loss, no rows and no threads, so that it can be sent to where the rows
are.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..data import Shard
from ..losses import Loss
from ..protocols import Given, Pass, Run, Span


def totals(shard: Shard, run: Run) -> tuple[NDArray, NDArray, NDArray]:
    """Total weight, weighted sums of the squared targets, and number of rows."""
    target = shard.scaled[1]
    squares = np.array([float(np.vdot(column, column)) for column in target.T])
    return np.array([weight_of(shard)]), squares, np.array([len(shard)])


def weight_of(shard: Shard) -> float:
    """Total weight of a shard's rows."""
    return float(len(shard) if shard.weight is None else shard.weight.sum())


def weighed(shard: Shard, values: NDArray, rows: Span = slice(None)) -> float:
    """Weighted sum of numbers of some rows."""
    return float(values.sum() if shard.weight is None else shard.weight[rows] @ values)


def losses(shard: Shard, response: NDArray, run: Run, loss: Loss) -> NDArray:
    """Weighted sum of the losses of rows with known responses, and total weight."""

    def part(bounds: tuple[int, int]) -> float:
        rows = slice(*bounds)
        return weighed(shard, loss.value(response[rows], shard.target[rows]), rows)

    return np.array([sum(run(part, shard.blocks())), weight_of(shard)])


def square_errors(shard: Shard, run: Run, respond: Pass) -> NDArray:
    """Weighted sum of the squared errors of Re f, and total weight."""
    error = ((respond(shard, run=run).real - shard.target) ** 2).sum(axis=1)
    return np.array([weighed(shard, error), weight_of(shard)])


def square_sizes(shard: Shard, run: Run, respond: Pass) -> NDArray:
    """Sum of |f|²."""
    response = respond(shard, run=run)
    return np.array([float(np.vdot(response, response).real)])


def slopes(
    shard: Shard, run: Run, respond: Pass, gradient: Pass, loss: Loss, total_weight: float
) -> tuple[Given, ...]:
    """Mean loss of the rows and what its gradient needs."""
    response = respond(shard, run=run)
    total = weighed(shard, loss.value(response, shard.target))
    found = loss.gradient(response, shard.target)
    found *= scale_of(shard, total_weight)
    return np.array([total / total_weight]), *gradient(shard, found, run=run)


def curvatures(
    shard: Shard, response: NDArray, run: Run, tangent: Pass, gradient: Pass, loss: Loss,
    total_weight: float,
) -> tuple[Given, ...]:  # fmt: skip
    """Sum what the product of a direction with the Gauss-Newton matrix needs of the rows."""
    change = loss.curvature_product(response, shard.target, tangent(shard, run=run))
    return gradient(shard, change * scale_of(shard, total_weight), run=run)


def after_responses(shard: Shard, run: Run, respond: Pass, then: Pass, real: bool) -> Given:
    """Run a pass that also wants the responses, where those are not kept."""
    response = respond(shard, run=run)
    return then(shard, np.ascontiguousarray(response.real) if real else response, run=run)


def scale_of(shard: Shard, total_weight: float) -> Given:
    """Weights of the rows over the total one."""
    return 1 / total_weight if shard.weight is None else shard.weight[:, None] / total_weight


def are_here(shards: Sequence[Shard]) -> bool:
    """Whether the rows are in this process's memory, as those of a plain list are."""
    return getattr(shards, "are_here", True)
