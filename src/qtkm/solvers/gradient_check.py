"""Are the derivatives right?  For whoever writes a network or a loss."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from ..networks import Cores, Iterate, flatten
from ..objective import Objective
from .solver import Vector

#: largest relative error that finite differences in double precision explain
TOLERANCE = 1e-5


@dataclass(repr=False)
class GradientCheck:
    """Relative errors of derivatives against central differences, one per direction.

    Attributes
    ----------
    gradient : (n_directions,) array
        Of the gradient: change of the objective along random directions of all cores.
    tangent : (n_directions,) array
        Of the tangent: change of the responses along the same directions.
    curvature : (n_directions,) array or None
        Of the Gauss-Newton product: change of the gradient of one core along a random
        direction of that core, in which responses are linear, so that nothing is left out.
        None where the loss has no `curvature_product`.
    """

    gradient: Vector
    tangent: Vector
    curvature: Vector | None

    @property
    def ok(self) -> bool:
        """Whether no error is larger than rounding explains."""
        found = (errors for errors in vars(self).values() if errors is not None)
        return all(bool(np.all(errors <= TOLERANCE)) for errors in found)

    def __repr__(self) -> str:
        lines = [f"GradientCheck: {'ok' if self.ok else 'not ok'}"]
        for name, errors in vars(self).items():
            if errors is None:
                lines.append(f"  {name} not offered by the loss")
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
        Of an estimator, which need not be fitted, the objective and the cores with which its fit
        would begin are checked. Tables are computed in double precision in either case.
    *cores_or_rows : X and y (and weights), or cores
        Where to check; random cores are better than a minimum, where all gradients vanish.
    n_directions : int
        Number of random directions.
    step : float
        Length of a difference, in units of the norm of what it changes.
    random_state : int or Generator
        Seed of the directions.

    Returns
    -------
    GradientCheck
        With `ok`, the errors, and a printed form.

    Notes
    -----
    Where a loss has a kink (the exact hinge), rows that happen to lie within a step of it
    spoil the differences; try other cores or a smaller step before doubting the gradient.

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
    rng = np.random.default_rng(random_state)
    precisions = objective.precisions
    objective = replace(objective, dtype=np.dtype(np.float64))
    objective.precisions = precisions
    probe = _Probe(objective, objective.to_vector(cores), step)
    count, owners = len(probe.vector), _owners(objective)
    directions = [probe.scaled(rng.normal(size=count)) for _ in range(n_directions)]
    parts = [owners == core for core in rng.integers(owners.max() + 1, size=n_directions)]
    within = [(probe.scaled(rng.normal(size=count), part), part) for part in parts]
    try:
        curvature = np.array([probe.curvature_error(*direction) for direction in within])
    except NotImplementedError:
        curvature = None
    return GradientCheck(
        np.array([probe.gradient_error(direction) for direction in directions]),
        np.array([probe.tangent_error(direction) for direction in directions]),
        curvature,
    )


class _Probe:
    """Derivatives at a point, and the differences they are compared with."""

    def __init__(self, objective: Objective, vector: Vector, step: float):
        self.objective, self.vector, self.step = objective, vector, step
        self.value, self.gradient = self._gradient(vector)

    def scaled(self, direction: Vector, part: NDArray | bool = True) -> Vector:
        """Restrict a direction to some of the numbers, and scale it to their norm."""
        direction = direction * part
        length = np.linalg.norm(self.vector * part) or 1.0
        return direction * (length / np.linalg.norm(direction))

    def gradient_error(self, direction: Vector) -> float:
        """Return the relative error of the gradient along a direction.

        A derivative far below the objective itself drowns in its rounding, and is compared with
        the objective.
        """
        found = self._difference(lambda v: np.array(self.objective.value(self._at(v))), direction)
        typical = np.linalg.norm(self.gradient) * np.linalg.norm(direction)
        least = max(float(typical) / np.sqrt(len(direction)), 1e-4 * abs(self.value))
        return _relative(found, self.gradient @ direction, least)

    def tangent_error(self, direction: Vector) -> float:
        """Return the relative error of the change of the responses along a direction."""
        run = self.objective.engine.run
        tangent = self._at(self.vector).tangent(self.objective.from_vector(direction))
        given = np.concatenate([tangent(shard, run=run) for shard in self.objective.shards])
        return _relative(self._difference(self._responses, direction), given)

    def curvature_error(self, direction: Vector, part: NDArray) -> float:
        """Return the relative error of the change of a core's gradient when that core changes."""
        product = self.objective.curvature(self._at(self.vector))
        given = self.objective.to_vector(product(self.objective.from_vector(direction)))
        found = self._difference(lambda v: self._gradient(v)[1][part], direction)
        typical = 1e-4 * np.linalg.norm(self.gradient[part])
        return _relative(found, given[part], float(typical))

    def _difference(self, function: Callable[[Vector], NDArray], direction: Vector) -> NDArray:
        change = self.step * direction
        return (function(self.vector + change) - function(self.vector - change)) / (2 * self.step)

    def _at(self, vector: Vector) -> Iterate:
        return self.objective.at(self.objective.from_vector(vector))

    def _responses(self, vector: Vector) -> NDArray:
        iterate = self._at(vector)
        return np.concatenate([iterate.responses(shard) for shard in self.objective.shards])

    def _gradient(self, vector: Vector) -> tuple[float, Vector]:
        value, gradient = self.objective.gradient(self._at(vector))
        return value, self.objective.to_vector(gradient)


def _relative(found: NDArray, given: NDArray, least: float = 0.0) -> float:
    scale = max(float(np.linalg.norm(found)), float(np.linalg.norm(given)), least)
    return float(np.linalg.norm(found - given)) / (scale or 1.0)


def _owners(objective: Objective) -> NDArray[np.int64]:
    """Return for every real number of the vector of all cores which core it belongs to."""
    width = 2 if objective.is_complex else 1
    sizes = [width * int(np.prod(shape)) for shape in flatten(objective.shapes)]
    for core in range(len(sizes) - objective.network.n_real, len(sizes)):
        sizes[core] //= width
    return np.repeat(np.arange(len(sizes)), sizes)
