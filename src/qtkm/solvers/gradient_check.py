"""Check of derivatives against finite differences, for authors of networks and losses."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from ..networks import Cores, Iterate, flatten, unflatten
from ..objective import Objective
from .solver import Vector

#: largest relative error that finite differences in double precision explain
TOLERANCE = 1e-5


@dataclass(repr=False)
class GradientCheck:
    """Relative errors of derivatives against central differences, one per direction."""

    #: errors of the gradient: change of the objective along random directions of all cores
    gradient: Vector
    #: errors of the tangent: change of the responses along the same directions
    tangent: Vector
    #: errors of the Gauss-Newton product: change of the gradient of one core along a random
    #: direction of that core, in which responses are linear, so that the product is exact; None if
    #: the loss has no `curvature_product`
    curvature: Vector | None

    @property
    def ok(self) -> bool:
        """Whether all errors are as small as rounding errors."""
        found = (errors for errors in vars(self).values() if errors is not None)
        return all(bool(np.all(errors <= TOLERANCE)) for errors in found)

    def __repr__(self) -> str:
        lines = [f"GradientCheck: {'ok' if self.ok else 'not ok'}"]
        for name, errors in vars(self).items():
            if errors is None:
                lines.append(f"  {name} not implemented by the loss")
                continue
            verdict = "ok" if np.all(errors <= TOLERANCE) else f"wrong, > {TOLERANCE:g}"
            lines.append(f"  {name:9s} largest relative error {np.max(errors):.1e} ({verdict})")
        return "\n".join(lines)


def check_gradient(
    objective: Objective | BaseEstimator,
    *cores_or_rows: Cores,
    n_directions: int = 5,
    step: float = 1e-6,
    random_state: int | np.random.Generator = 0,
) -> GradientCheck:
    """Compare the derivatives of an objective with finite differences.

    Called as ``check_gradient(model, X, y)`` or as ``check_gradient(objective, cores)``.

    Parameters
    ----------
    objective : estimator or Objective
        For an estimator, which need not be fitted, the objective is checked at the cores where
        its fit would start. Tables are always computed in double precision.
    *cores_or_rows : X and y (and weights), or cores
        Where to check; random cores are better than a minimum, where gradients vanish.
    n_directions, random_state : int
        Number of random directions, and the seed for them.
    step : float
        Step of the differences, relative to the norm of the cores it changes.

    Notes
    -----
    If a loss has a kink (the exact hinge), rows within a step of it distort the differences; try
    other cores or a smaller step first.

    Examples
    --------
    >>> import numpy as np
    >>> from qtkm import QTKMRegressor, check_gradient
    >>> X = np.random.default_rng(0).uniform(size=(50, 2))
    >>> check_gradient(QTKMRegressor(n_basis=4, rank=2, random_state=0), X, X[:, 0] * X[:, 1]).ok
    True
    """
    if not isinstance(objective, Objective):
        changes = {"solver": "als", "checkpoint": None, "warm_start": False, "init": "random"}
        with clone(objective).set_params(**changes)._prepare(*cores_or_rows) as prepared:
            return check_gradient(
                prepared.objective, prepared.start("random"),
                n_directions=n_directions, step=step, random_state=random_state,
            )  # fmt: skip
    (cores,) = cores_or_rows
    rng, norm = np.random.default_rng(random_state), np.linalg.norm
    objective = objective.with_parts()
    objective.dtype = np.float64
    vector, here = objective.to_vector(cores), objective.at(cores)

    def slopes(iterate: Iterate) -> Vector:
        return objective.to_vector(objective.gradient(iterate)[1])

    def responses(iterate: Iterate) -> NDArray:
        return np.concatenate([iterate.responses(shard) for shard in objective.shards])

    def draw(part: NDArray | bool = True) -> Vector:
        """Return a direction of some of the numbers, as long as these are."""
        direction = rng.normal(size=len(vector)) * part
        return direction * ((norm(vector * part) or 1.0) / norm(direction))

    def compare(
        function: Callable[[Iterate], NDArray | float], direction: Vector, given: NDArray,
        least: float = 0.0,
    ) -> float:  # fmt: skip
        """Return the relative error of a derivative, of which less than `least` is rounding."""
        ends = (vector + sign * step * direction for sign in (1, -1))
        ahead, behind = (function(objective.at(objective.from_vector(end))) for end in ends)
        found = (np.asarray(ahead) - behind) / (2 * step)
        scale = max(float(norm(found)), float(norm(given)), least)
        return float(norm(found - given)) / (scale or 1.0)

    def tangent_error(direction: Vector) -> float:
        tangent = here.tangent(objective.from_vector(direction))
        moved = [tangent(shard, run=objective.engine.run) for shard in objective.shards]
        return compare(responses, direction, np.concatenate(moved))

    def curvature_error(part: NDArray, direction: Vector) -> float:
        product = objective.curvature(here)(objective.from_vector(direction))
        given, least = objective.to_vector(product)[part], 1e-4 * float(norm(slope[part]))
        return compare(lambda at: slopes(at)[part], direction, given, least)

    # for every real number, which core it belongs to
    units = [(1 + 1j if np.iscomplexobj(core) else 1) + 0 * core for core in flatten(cores)]
    owners = objective.to_vector(unflatten(cores, [k * unit for k, unit in enumerate(units)]))
    directions = [draw() for _ in range(n_directions)]
    parts = [owners == core for core in rng.integers(len(units), size=n_directions)]
    own = [(part, draw(part)) for part in parts]
    # a derivative far below the objective itself drowns in its rounding
    slope = slopes(here)
    typical = float(norm(slope) * (norm(vector) or 1.0)) / np.sqrt(len(vector))
    least = max(typical, 1e-4 * abs(objective.value(here)))
    gradient = [compare(objective.value, d, slope @ d, least) for d in directions]
    tangent = [tangent_error(d) for d in directions]
    try:
        curvature = np.array([curvature_error(*each) for each in own])
    except NotImplementedError:
        curvature = None
    return GradientCheck(np.array(gradient), np.array(tangent), curvature)
