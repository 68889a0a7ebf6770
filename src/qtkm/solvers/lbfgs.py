"""Limited-memory BFGS on all cores at once, by SciPy."""

from numbers import Integral
from typing import ClassVar

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from ..networks import Cores
from ..objective import Objective
from ..parameters import check_number, keep_parameters
from .solver import EndEpoch, Report, Solver, State, Stop, Vector, smooth

#: the loop counts epochs, so SciPy must not stop by itself
_WITHOUT_END = {"maxiter": 2**31 - 1, "maxfun": 2**31 - 1, "ftol": 0.0, "gtol": 0.0}
#: largest slope, relative to the objective, at which a failing line search is convergence
FLAT = 1e-6


class LBFGS(Solver[State]):
    """Limited-memory BFGS on all cores together, by ``scipy.optimize.minimize``.

    Parameters
    ----------
    memory : int
        Number of past steps for the estimate of the curvature; each keeps two vectors.
    iterations : int
        Iterations per epoch; the memory is kept from one epoch to the next.

    Notes
    -----
    An iteration usually evaluates value and gradient once: one pass over the rows of O(N·D·R)
    for a CPD, independent of the number of basis functions.  Use it for ranks and networks whose
    local problems are too large for ALS.

    The gain of iterations varies widely, so `tol` is compared with the mean of the last five
    epochs.  A fit that resumes from a checkpoint begins a new estimate of the curvature, so it may
    end at slightly different cores than one without interruption.

    References
    ----------
    Byrd, Lu, Nocedal, Zhu, "A limited memory algorithm for bound constrained optimization",
    SIAM Journal on Scientific Computing 16, 1995.
    """

    window: ClassVar[int] = 5
    state: ClassVar[type[State] | None] = State

    def __init__(self, memory=50, iterations=10):
        keep_parameters(self, locals())

    def check(self) -> None:
        check_number("memory", self.memory, Integral, 1, hint="; 10 to 100 is usual")
        hint = "; with 1, every iteration is an epoch"
        check_number("iterations", self.iterations, Integral, 1, hint=hint)

    def run(self, objective: Objective, cores: Cores, report: Report, end_epoch: EndEpoch) -> None:
        cores = smooth(objective, cores)
        iterate, last, n_iterations = objective.at(cores), np.nan, 0
        at: Vector | None = None

        def move(vector: Vector) -> None:
            nonlocal iterate, at
            if at is None or not np.array_equal(vector, at):
                at = vector.copy()  # SciPy continues to write to its own
                iterate = objective.at(objective.from_vector(at))

        def evaluate(vector: Vector) -> tuple[float, Vector]:
            nonlocal last
            move(vector)
            value, gradient = objective.gradient(iterate)
            slopes = objective.to_vector(gradient)
            if np.isfinite(value) and np.isfinite(slopes).all():
                last = value if np.isnan(last) else last
                return value, slopes
            if np.isnan(last):
                report(iterate.snapshot(), [np.nan])
            # a wall that the line search can interpolate: it comes back with a shorter step
            return last + 10 * abs(last), np.zeros_like(slopes)

        def follow(intermediate_result: OptimizeResult) -> None:
            nonlocal last, n_iterations
            move(intermediate_result.x)
            last, n_iterations = float(intermediate_result.fun), n_iterations + 1
            report(iterate.snapshot(), [last])
            if n_iterations % self.iterations == 0:
                end_epoch(State(iterate))

        outcome = minimize(
            evaluate, objective.to_vector(cores), jac=True, method="L-BFGS-B", callback=follow,
            options={"maxcor": self.memory, **_WITHOUT_END},
        )  # fmt: skip
        if n_iterations == 0:  # one that did nothing, so that there is an epoch
            move(outcome.x)
            report(iterate.snapshot(), [float(outcome.fun)])
        if n_iterations == 0 or n_iterations % self.iterations:
            end_epoch(State(iterate))
        slope = float(np.abs(outcome.jac).max(initial=0.0))
        if slope == 0:
            message = "The gradient is zero; if this is the start, use another init."
            raise Stop("converged", message)
        raise Stop(
            "converged" if slope <= FLAT * abs(float(outcome.fun)) else "stopped early",
            "The line search of L-BFGS found no lower objective: it is a minimum up to rounding. "
            "If it should be lower, check the gradient with qtkm.solvers.check_gradient.",
        )
