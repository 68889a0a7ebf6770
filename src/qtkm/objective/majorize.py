"""Losses that are not quadratic under alternating least squares.

All levels of a column are updated on a quadratic model of the loss at the responses f₀,

    ℓ(f) ≈ ℓ(f₀) + ℓ'(f - f₀) + ½c(f - f₀)²  =  ½c(f - z)² + const,   z = f₀ - ℓ'/c,

which is the squared loss of Re f with weights ½ωc and targets z, so that every network's local
problems serve it as they are.  The model is first made with the loss's own curvature.  Where
the loss itself turns out to have risen, the update is taken back and made once more with a
curvature that bounds the loss from above, which cannot rise but for rounding.
"""

from typing import Any

import numpy as np

from .setting import Setting


def update(objective: Any, iterate: Any, block: int, path: str, sweeps: int) -> list[float]:
    """Update the cores of a block; the objective after it, which is never above the one before."""
    before, start = objective.value(iterate), iterate.snapshot()
    responses = objective.kept_responses(iterate)
    for kind in ("curvature", "bound"):
        problem = iterate.problem(block, _model(objective, responses, kind), path)
        problem.sweep()
        for _ in range(sweeps - 1):
            problem.restart()
            problem.sweep()
        problem.finish()
        after = objective.value(iterate)
        if after <= before:
            return [after]
        iterate.restore(start)
    objective.keep_responses(iterate, responses)
    return [before]


def _model(objective: Any, responses: list[Any], kind: str) -> Setting:
    """Least squares whose objective is the quadratic model of the loss."""
    loss, shards, constant = objective.loss, [], 0.0
    for shard, response in zip(objective.shards, responses, strict=True):
        slope = loss.gradient(response, shard.target)
        curvature = getattr(loss, kind)(response, shard.target)
        value = loss.value(response, shard.target)
        steep = np.where(curvature > 0, curvature, 1)[:, None]
        target = response - slope / steep
        value -= np.einsum("nk,nk->n", slope, response)
        value += 0.5 * curvature * np.einsum("nk,nk->n", response, response)
        weight = 0.5 * curvature
        if shard.weight is not None:
            weight *= shard.weight
            value *= shard.weight
        constant += float(value.sum())
        shards.append(shard.reweighted(weight, target))
    exact = objective.setting
    return Setting(
        shards=shards,
        engine=exact.engine,
        alpha=exact.alpha,
        total_weight=exact.total_weight,
        constant=constant / exact.total_weight,
        real_part=True,
        n_outputs=exact.n_outputs,
        n_rows=exact.n_rows,
        is_exact=False,
        path=exact.path,
    )
