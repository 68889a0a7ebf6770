"""Matrix-free damped Gauss-Newton (Levenberg-Marquardt) on all cores at once."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from ..networks import Cores
from ..objective import Objective
from ..parameters import check_number, keep_parameters
from .solver import Report, Solver, State, Vector, shrink

#: steps tried along one set of directions before the fit is taken to be at its end
TRIES = 12
#: least damping in units of the curvature along the gradient: keeps small systems regular
LEAST_DAMPING = 1e-12


@dataclass
class NewtonState(State):
    """All cores as real numbers, their objective, and the damping of the next step."""

    vector: Vector
    value: float
    damping: float | None = None


class GaussNewton(Solver[NewtonState]):
    """Damped Gauss-Newton steps on all cores together.

    Parameters
    ----------
    cg_iterations : int
        Maximum number of conjugate-gradient iterations per step.
    cg_tol : float
        Stop the iterations of a step when the residual is this fraction of the gradient.
    damping : float
        Damping of the first step, in units of the curvature along the gradient.

    Notes
    -----
    An epoch is one step δ that solves (G + μI)δ = -g, with the gradient g and products of the
    Gauss-Newton matrix G.  The conjugate gradients are written as a Lanczos process, whose
    directions do not depend on μ: a step that did not lower the objective is repeated with a larger
    μ at the cost of one evaluation.  μ depends on the ratio of actual and predicted gain [1]_;
    ``history.records`` has it in ``"damping"``, and the number of products in ``"products"``.

    A product takes about twice as long as the gradient.  Use it for fits that should end at a
    minimum: on tiny problems it usually reached a gradient of zero within 100 epochs.

    References
    ----------
    .. [1] Nielsen, "Damping parameter in Marquardt's method", IMM-REP-1999-05, 1999.
    """

    state: ClassVar[type[State] | None] = NewtonState

    def __init__(self, cg_iterations=30, cg_tol=0.1, damping=0.01):
        keep_parameters(self, locals())

    def check(self) -> None:
        hint = "; 20 to 50 is usual"
        check_number("cg_iterations", self.cg_iterations, Integral, 1, hint=hint)
        check_number("cg_tol", self.cg_tol, Real, above=0, below=1, hint="; 0.1 is usual")
        check_number("damping", self.damping, Real, above=0, hint="; 0.01 is usual")

    def start(self, objective: Objective, cores: Cores) -> NewtonState:
        cores = shrink(objective, cores)
        iterate = objective.at(cores)
        return NewtonState(iterate, objective.to_vector(cores), objective.value(iterate))

    def step(self, objective: Objective, state: NewtonState, report: Report) -> NewtonState:
        gradient = objective.to_vector(objective.gradient(state.iterate)[1])
        if not np.isfinite(state.value) or not np.isfinite(gradient).all():
            report(state.iterate.snapshot(), [np.nan])
        directions, damping = self._directions(objective, state, gradient)
        growth = 2.0
        for _ in range(TRIES):
            change, promise = directions.minimum(damping)
            vector = state.vector + change
            iterate = objective.at(objective.from_vector(vector))
            value = objective.value(iterate)
            if value < state.value:
                gain = (state.value - value) / promise
                damping *= max(1 / 3, 1 - (2 * gain - 1) ** 3)
                state = NewtonState(iterate, vector, value, damping)
                break
            damping *= growth
            growth *= 2  # the next time by more
        else:
            state.finished = (
                "No step lowers the objective: it is a minimum up to rounding. If it should be "
                "lower, check the derivatives with qtkm.solvers.check_gradient."
            )
        state.record = {"damping": damping, "products": len(directions.matrix)}
        report(state.iterate.snapshot(), [state.value])
        return state

    def _directions(
        self, objective: Objective, state: NewtonState, gradient: Vector
    ) -> tuple["Directions", float]:
        """Return Lanczos directions of the Gauss-Newton matrix, and the damping to start with."""
        product = objective.curvature(state.iterate)
        directions = Directions(
            lambda vector: objective.to_vector(product(objective.from_vector(vector))), gradient
        )
        # a hinge may have no curvature here; then a step is measured by the cores themselves
        size = float(np.linalg.norm(state.vector)) or 1.0
        unit = max(float(directions.matrix[0, 0]), directions.norm / size) or 1.0
        damping = self.damping * unit if state.damping is None else state.damping
        damping = max(damping, LEAST_DAMPING * unit)
        directions.extend(damping, self.cg_iterations, self.cg_tol)
        return directions, damping


class Directions:
    """Orthonormal directions q₁ = -g/‖g‖, q₂, … in which a symmetric matrix is tridiagonal."""

    def __init__(self, multiply: Callable[[Vector], Vector], gradient: Vector):
        self.multiply, self.norm = multiply, float(np.linalg.norm(gradient))
        self.basis = -gradient[None] / (self.norm or 1.0)
        self.matrix = np.zeros((0, 0))
        self._advance()

    def extend(self, damping: float, count: int, tol: float) -> None:
        """Add directions until the damped system is solved to `tol`, or there are `count`."""
        while len(self.matrix) < count:
            if self.beside * abs(self._solve(damping)[-1]) <= tol * self.norm:
                break
            self._advance()

    def minimum(self, damping: float) -> tuple[Vector, float]:
        """Return the minimum of the damped quadratic model, and the undamped model's gain there."""
        y = self._solve(damping)
        return y @ self.basis[:-1], float(self.norm * y[0] - 0.5 * y @ self.matrix @ y)

    def _advance(self) -> None:
        """Compute one product, and the next direction."""
        image = self.multiply(self.basis[-1])
        self.matrix = np.pad(self.matrix, (0, 1))
        self.matrix[-1] = self.matrix[:, -1] = self.basis @ image
        for _ in range(2):  # once more, for what rounding leaves of the earlier directions
            image = image - (self.basis @ image) @ self.basis
        self.beside = float(np.linalg.norm(image))
        self.basis = np.vstack([self.basis, image / (self.beside or 1.0)])

    def _solve(self, damping: float) -> Vector:
        size = len(self.matrix)
        return np.linalg.solve(self.matrix + damping * np.eye(size), self.norm * np.eye(size)[0])
