"""Quantized tensor-network kernel machines.

Regression and classification with f(x) = ⟨φ(x), w⟩, where φ is a tensor product of polynomial
or Fourier features and the exponentially many weights w are a tensor network.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

if _TYPE_CHECKING:
    from .estimators import QTKMClassifier, QTKMRegressor, load
    from .features import Categorical, Fourier, Power
    from .losses import (
        Gamma,
        Hinge,
        Huber,
        Logistic,
        Poisson,
        Quantile,
        Softmax,
        Squared,
        SquaredHinge,
        Tweedie,
    )
    from .networks import (
        CPD,
        MERA,
        BlockTerm,
        Graph,
        Grid2D,
        HierarchicalTucker,
        TensorRing,
        TensorTrain,
        Tucker,
    )
    from .selection import QTKMClassifierCV, QTKMRegressorCV
    from .solvers import ALS, DMRG, LBFGS, Adam, GaussNewton, Riemannian, check_gradient

__version__ = "0.1.0"

__all__ = [
    "ALS",
    "CPD",
    "DMRG",
    "LBFGS",
    "MERA",
    "Adam",
    "BlockTerm",
    "Categorical",
    "Fourier",
    "Gamma",
    "GaussNewton",
    "Graph",
    "Grid2D",
    "HierarchicalTucker",
    "Hinge",
    "Huber",
    "Logistic",
    "Poisson",
    "Power",
    "QTKMClassifier",
    "QTKMClassifierCV",
    "QTKMRegressor",
    "QTKMRegressorCV",
    "Quantile",
    "Riemannian",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "TensorRing",
    "TensorTrain",
    "Tucker",
    "Tweedie",
    "check_gradient",
    "compare",
    "load",
]

#: where the public names live; they are imported when they are first asked for, so that the
#: command line answers at once
_PLACES = {
    "QTKMClassifier": "estimators",
    "QTKMRegressor": "estimators",
    "load": "estimators",
    "Categorical": "features",
    "Fourier": "features",
    "Power": "features",
    "Gamma": "losses",
    "Hinge": "losses",
    "Huber": "losses",
    "Logistic": "losses",
    "Poisson": "losses",
    "Quantile": "losses",
    "Softmax": "losses",
    "Squared": "losses",
    "SquaredHinge": "losses",
    "Tweedie": "losses",
    "CPD": "networks",
    "MERA": "networks",
    "BlockTerm": "networks",
    "Graph": "networks",
    "Grid2D": "networks",
    "HierarchicalTucker": "networks",
    "TensorRing": "networks",
    "TensorTrain": "networks",
    "Tucker": "networks",
    "QTKMClassifierCV": "selection",
    "QTKMRegressorCV": "selection",
    "ALS": "solvers",
    "DMRG": "solvers",
    "LBFGS": "solvers",
    "Adam": "solvers",
    "GaussNewton": "solvers",
    "Riemannian": "solvers",
    "check_gradient": "solvers",
    "compare": "comparison",
}
#: packages that may be named without being imported
_PACKAGES = {
    "baselines", "comparison", "data", "datasets", "engines", "estimators", "export", "features",
    "inspection", "losses", "networks", "objective", "penalties", "report", "selection", "solvers",
    "storage",
}  # fmt: skip


def __getattr__(name: str) -> _Any:
    if name in _PACKAGES:
        return _import_module(f".{name}", __name__)
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(_import_module(f".{_PLACES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(globals().keys() | _PLACES.keys() | _PACKAGES)
