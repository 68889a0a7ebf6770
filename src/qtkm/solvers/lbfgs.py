"""Limited-memory BFGS: all cores at once, by SciPy."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from ..networks import Cores
from ..objective import Objective
from ..parameters import check_number
from .solver import EndEpoch, Report, Solver, State, Stop

#: iterations, evaluations: the loop counts epochs, so SciPy shall not
_WITHOUT_END = 2**31 - 1


class LBFGS(Solver):
    """Limited-memory BFGS on all cores together, by ``scipy.optimize.minimize``.

    Parameters
    ----------
    memory : int
        Number of past steps from which the curvature is estimated; two vectors are kept for
        each.  50 mostly took a half to two thirds of the iterations of 20 on tiny problems, and
        about as many on 20,000 rows.
    iterations : int
        Iterations in an epoch; the memory is kept from one epoch to the next.

    Notes
    -----
    An iteration evaluates value and gradient, mostly once: one pass over the rows of
    O(N·D·R) for a CPD, whatever the number of basis functions.  The objective never rises.
    It needs no learning rate, and is meant for ranks and networks whose local problems would
    be too large for ALS; where they are not, ALS came lower in equal time on all data that we
    have measured, 1000 and 20,000 synthetic rows under squared and logistic loss.

    References
    ----------
    Byrd, Lu, Nocedal, Zhu, "A limited memory algorithm for bound constrained optimization",
    SIAM Journal on Scientific Computing 16, 1995.
    """

    def __init__(self, memory=50, iterations=10):
        self.memory = memory
        self.iterations = iterations

    def check(self) -> None:
        """Raise a ValueError for parameters that make no sense."""
        check_number("memory", self.memory, Integral, 1, hint="; 10 to 100 is usual")
        check_number(
            "iterations", self.iterations, Integral, 1, hint="; with 1, every iteration is an epoch"
        )

    def run(self, objective: Objective, cores: Cores, report: Report, end_epoch: EndEpoch) -> None:
        """All epochs, in one call of SciPy so that its memory is kept: no checkpoint has that."""
        path = _Path(objective, self.iterations, report, end_epoch)
        options = {
            "maxcor": self.memory,
            "maxiter": _WITHOUT_END,
            "maxfun": _WITHOUT_END,
            "ftol": 0.0,
            "gtol": 0.0,
        }
        outcome = minimize(
            path.evaluate, objective.to_vector(cores), jac=True, method="L-BFGS-B",
            callback=path.follow, options=options,
        )  # fmt: skip
        path.finish(outcome.x, float(outcome.fun))
        slope = float(np.abs(outcome.jac).max(initial=0.0))
        is_flat = slope <= FLAT * max(abs(float(outcome.fun)), np.finfo(float).tiny)
        raise Stop("converged" if is_flat else "stopped early", _explain(outcome))


class _Path:
    """What SciPy calls: the objective at a point, and the point after every iteration."""

    def __init__(self, objective: Objective, iterations: int, report: Report, end_epoch: EndEpoch):
        self.objective, self.iterations = objective, iterations
        self.report, self.end_epoch = report, end_epoch
        self.n_iterations = 0
        self.vector: NDArray = np.empty(0)
        self.iterate: Any = None
        self.last = np.nan

    def evaluate(self, vector: NDArray) -> tuple[float, NDArray]:
        """Value and gradient."""
        self._move(vector)
        value, gradient = self.objective.gradient(self.iterate)
        slopes = self.objective.to_vector(gradient)
        is_first = np.isnan(self.last)
        if np.isfinite(value) and np.isfinite(slopes).all():
            self.last = value if is_first else self.last
            return value, slopes
        if is_first:
            self.report(self.iterate.snapshot(), [np.nan])
        # a wall that the line search can interpolate: it comes back with a shorter step
        return self.last + 10 * abs(self.last), np.zeros_like(slopes)

    def follow(self, intermediate_result: Any) -> None:
        """Take note of an iteration."""
        self._report(intermediate_result.x, float(intermediate_result.fun))
        self.n_iterations += 1
        if self.n_iterations % self.iterations == 0:
            self.end_epoch(State(self.iterate))

    def finish(self, vector: NDArray, value: float) -> None:
        """Close the epoch that SciPy left open, or an only one that did nothing."""
        if self.n_iterations == 0:
            self._report(vector, value)
        if self.n_iterations == 0 or self.n_iterations % self.iterations:
            self.end_epoch(State(self.iterate))

    def _report(self, vector: NDArray, value: float) -> None:
        self._move(vector)
        self.last = value
        self.report(self.iterate.snapshot(), [value])

    def _move(self, vector: NDArray) -> None:
        if self.iterate is None or not np.array_equal(vector, self.vector):
            self.vector = vector.copy()  # SciPy goes on writing in its own
            self.iterate = self.objective.at(self.objective.from_vector(self.vector))


#: largest slope, as a part of the objective, at which an end of the line search is convergence
FLAT = 1e-6


def _explain(outcome: Any) -> str:
    """Why SciPy stopped, in plain words."""
    if not np.any(outcome.jac):
        return "The gradient is zero; if these are the first cores, start from others."
    return (
        "The line search of L-BFGS finds no lower objective: it is as low as rounding allows. "
        "Where it should not be, qtkm.solvers.check_gradient tells whether the gradient is right."
    )
