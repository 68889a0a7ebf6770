"""Solvers: improve cores, using only the objective."""

from .adam import Adam
from .als import ALS
from .dmrg import DMRG
from .gauss_newton import GaussNewton
from .gradient_check import GradientCheck, check_gradient
from .lbfgs import LBFGS
from .loop import Checkpoint, Progress, Stopping, solve
from .riemannian import Riemannian
from .solver import History, Result, Solver, State, Stop

#: shorthand in the estimators -> class; a new solver is one file and one line here
REGISTRY: dict[str, type[Solver]] = {
    "als": ALS,
    "adam": Adam,
    "lbfgs": LBFGS,
    "gauss_newton": GaussNewton,
    "dmrg": DMRG,
    "riemannian": Riemannian,
}

__all__ = ["REGISTRY", "Checkpoint", "GradientCheck", "History", "Progress", "Result", "Solver"]
__all__ += ["State", "Stop", "Stopping", "check_gradient", "solve"]
__all__ += [solver.__name__ for solver in REGISTRY.values()]
