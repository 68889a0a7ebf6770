"""Losses that are not quadratic under alternating least squares.

All levels of a column are updated on a quadratic model of the loss at the responses f₀,

    ℓ(f) ≈ ℓ(f₀) + ℓ'(f - f₀) + ½c(f - f₀)²  =  ½c(f - z)² + const,   z = f₀ - ℓ'/c,

which is the squared loss of Re f with weights ½ωc and targets z, so that every network's local
problems serve it as they are.  The model is first made with the loss's own curvature, but
nowhere with less than a small share of the curvature that bounds the loss from above.  Where
the loss itself turns out to have risen, the update is taken back and made once more with that
bound, which cannot rise but for rounding.

No curvature bounds the losses of a logarithmic link everywhere.  Their updates are taken back and
made once more with several times the curvature: the larger it is, the closer z is to f₀, and the
nearer to f₀ the model has to lie above the loss.

A loss that sees complex f is taken for |f - z|² instead.  Its z must be real, as it is where
the part of the loss that reads Im f is ½c(Im f)².
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..data import Shard
from ..engines import add_in_order
from ..networks import Iterate
from ..protocols import AnyShard, Given, Pass, Run, Setting

#: least share of the bound in the curvature of the first try: rows that a hinge leaves without
#: any would be free to move anywhere.  Without it, six in ten updates of the hinges on spambase
#: were taken back; with it 2 to 4 (hinge) and 0.3 (squared), and the objective fell no slower
SHARE = 0.05
#: multiples of the curvature of a loss without a bound, one after the other until one serves
DAMPINGS = (1.0, 4.0, 16.0, 64.0)


def minimize(problem: Given, sweeps: int) -> list[float]:
    """Bring the cores of a local problem to their minimum; objectives after every core."""
    values = problem.sweep()
    for _ in range(sweeps - 1 if problem.n_levels > 1 else 0):
        problem.restart()
        values += problem.sweep()
    problem.finish()
    return values


def update(
    objective: Given, iterate: Iterate, make_problem: Callable[[Setting], Given], sweeps: int,
    is_main: bool,
) -> list[float]:  # fmt: skip
    """Update the cores of a block; the objective after it, which is never above the one before.

    Main effects are made with the bound at once where it is the same for all rows: what they keep
    of the rows then serves all epochs.
    """
    before, start = objective.value(iterate), iterate.snapshot()
    mean_loss = objective.mean_loss(iterate)
    responses = objective.kept_responses(iterate) if objective.rows_are_here else None
    shares: tuple[float, ...] = (SHARE, 1.0) if objective.loss.has_bound else DAMPINGS
    is_same = is_main and objective.loss.has_constant_bound
    for share in (1.0,) if is_same else shares:
        setting = _model(objective, iterate, responses, mean_loss, share)
        if is_same:
            setting.kept, setting.has_constant_weights = objective.setting.kept, True
        minimize(make_problem(setting), sweeps)
        after = objective.value(iterate)
        if after <= before:
            return [after]
        iterate.restore(start)
    return [before]


def _model(
    objective: Given, iterate: Iterate, responses: list[NDArray] | None, mean_loss: float,
    share: float,
) -> Setting:  # fmt: skip
    """Least squares whose objective is the quadratic model of the loss.

    Its curvature is nowhere less than this share of the bound; without a bound, it is this
    multiple of the loss's own.  Where the rows are not in memory, weights and targets are made
    anew in each pass, at the cores of now: the passes must be over before a core changes, as
    they are where a block is updated from sums.
    """
    exact = objective.setting
    work = partial(_work, loss=objective.loss, share=share)
    if responses is None:
        both = objective.after_responses(work, iterate)
        view, rest = (partial(_part_of, both=both, place=place) for place in (0, 1))
        constant = objective.engine.sum(rest, objective.shards)
        model = replace(exact, view=view)
    else:
        pairs = [
            work(shard, response, run=objective.engine.run)
            for shard, response in zip(objective.shards, responses, strict=True)
        ]
        constant = add_in_order(value for _, value in pairs)
        model = replace(exact, shards=[shard for shard, _ in pairs])
    value = mean_loss + float(constant[0]) / exact.total_weight
    return replace(model, constant=value, is_exact=False)


def _work(
    shard: Shard, response: NDArray, run: Run, loss: Given, share: float
) -> tuple[Shard, NDArray]:
    """Shard with weights ½ωc and targets z of the model, and Σ ω(½c|f₀|² - Re(conj(ℓ')f₀))."""
    weight, target = np.empty(len(shard)), np.empty(response.shape)

    def part(bounds: tuple[int, int]) -> float:
        rows = slice(*bounds)
        here, wanted = response[rows], shard.target[rows]
        slope = loss.gradient(here, wanted)
        if not loss.has_bound:
            curvature = share * loss.curvature(here, wanted)
            # a row whose exponentials vanish has no slope either
            np.maximum(curvature, np.finfo(curvature.dtype).tiny, out=curvature)
        else:
            curvature = share * loss.bound(here, wanted)
            if share < 1:
                np.maximum(curvature, loss.curvature(here, wanted), out=curvature)
        weight[rows], curvature = 0.5 * curvature, curvature[:, None]
        target[rows] = (here - slope / curvature).real
        value = ((0.5 * curvature * here - slope).conj() * here).real
        if shard.weight is not None:
            weight[rows] *= shard.weight[rows]
            value *= shard.weight[rows, None]
        return float(value.sum())

    value = sum(run(part, shard.blocks()))
    return shard.reweighted(weight, target), np.array([value])


def _part_of(shard: AnyShard, run: Run, both: Pass, place: int) -> Given:
    """Return one of what a pass gives: the view of a shard, or its constant."""
    return both(shard, run=run)[place]
