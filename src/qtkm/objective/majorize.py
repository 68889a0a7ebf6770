"""Losses that are not quadratic under alternating least squares.

All levels of a column are updated on a quadratic model of the loss at the responses f₀,

    ℓ(f) ≈ ℓ(f₀) + ℓ'(f - f₀) + ½c(f - f₀)²  =  ½c(f - z)² + const,   z = f₀ - ℓ'/c,

which is the squared loss of Re f with weights ½ωc and targets z, so that every network's local
problems serve it as they are.  The model is first made with the loss's own curvature, but
nowhere with less than a small share of the curvature that bounds the loss from above.  Where
the loss itself turns out to have risen, the update is taken back and made once more with that
bound, which cannot rise but for rounding.

A loss that sees complex f is taken for |f - z|² instead.  Its z must be real, as it is where
the part of the loss that reads Im f is ½c(Im f)².
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .setting import Setting

#: least share of the bound in the curvature of the first try: rows that a hinge leaves without
#: any would be free to move anywhere.  Without it, six in ten updates of the hinges on spambase
#: were taken back; with it 2 to 4 (hinge) and 0.3 (squared), and the objective fell no slower
SHARE = 0.05


def update(
    objective: Any, iterate: Any, make_problem: Callable[[Setting], Any], sweeps: int
) -> list[float]:
    """Update the cores of a block; the objective after it, which is never above the one before."""
    before, start = objective.value(iterate), iterate.snapshot()
    responses, mean_loss = objective.kept_responses(iterate), objective.mean_loss(iterate)
    for share in (SHARE, 1.0):
        setting = _model(objective, responses, mean_loss, share)
        problem = make_problem(setting)
        problem.sweep()
        for _ in range(sweeps - 1):
            problem.restart()
            problem.sweep()
        problem.finish()
        after = objective.value(iterate)
        if after <= before:
            return [after]
        iterate.restore(start)
    objective.keep_responses(iterate, responses, mean_loss)
    return [before]


def _model(objective: Any, responses: list[NDArray], mean_loss: float, share: float) -> Setting:
    """Least squares whose objective is the quadratic model of the loss.

    Its curvature is nowhere less than this share of the bound.
    """
    exact, shards, constant = objective.setting, [], 0.0
    for shard, response in zip(objective.shards, responses, strict=True):
        weight, target = np.empty(len(shard)), np.empty(response.shape)

        def part(
            bounds: tuple[int, int],
            shard: Any = shard,
            response: NDArray = response,
            weight: NDArray = weight,
            target: NDArray = target,
        ) -> float:
            rows = slice(*bounds)
            omega = None if shard.weight is None else shard.weight[rows]
            weight[rows], target[rows], value = _working(
                objective.loss, response[rows], shard.target[rows], omega, share
            )
            return value

        constant += sum(objective.engine.run(part, shard.blocks()))
        shards.append(shard.reweighted(weight, target))
    return replace(
        exact,
        shards=shards,
        constant=mean_loss + constant / exact.total_weight,
        is_exact=False,
    )


def _working(
    loss: Any, response: NDArray, target: NDArray, weight: NDArray | None, share: float
) -> tuple[NDArray, NDArray, float]:
    """Weights ½ωc and targets z of the model, and Σ ω(½c|f₀|² - Re(conj(ℓ')f₀))."""
    slope = loss.gradient(response, target)
    curvature = share * loss.bound(response, target)
    if share < 1:
        np.maximum(curvature, loss.curvature(response, target), out=curvature)
    working = (response - slope / curvature[:, None]).real
    value = 0.5 * curvature[:, None] * response
    value -= slope
    value = (value.conj() * response).real
    half = 0.5 * curvature
    if weight is not None:
        half *= weight
        value *= weight[:, None]
    return half, working, float(value.sum())
