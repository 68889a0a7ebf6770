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

__version__ = "0.2.0.dev0"

#: where the public names live; they are imported when they are first asked for, so that the
#: command line answers at once
_PLACES = {
    "comparison": ("compare",),
    "estimators": ("QTKMClassifier", "QTKMRegressor", "load"),
    "features": ("Categorical", "Fourier", "Power"),
    "losses": (
        "Gamma", "Hinge", "Huber", "Logistic", "Poisson", "Quantile", "Softmax", "Squared",
        "SquaredHinge", "Tweedie",
    ),
    "networks": (
        "CPD", "MERA", "BlockTerm", "Graph", "Grid2D", "HierarchicalTucker", "TensorRing",
        "TensorTrain", "Tucker",
    ),
    "selection": ("QTKMClassifierCV", "QTKMRegressorCV"),
    "solvers": ("ALS", "DMRG", "LBFGS", "Adam", "GaussNewton", "Riemannian", "check_gradient"),
}  # fmt: skip
#: other packages that may be named without being imported
_PACKAGES = {
    "baselines", "data", "datasets", "engines", "export", "inspection", "objective", "penalties",
    "report", "storage", *_PLACES,
}  # fmt: skip

__all__ = sorted(name for names in _PLACES.values() for name in names)


def __getattr__(name: str) -> _Any:
    if name in _PACKAGES:
        return _import_module(f".{name}", __name__)
    for package, names in _PLACES.items():
        if name in names:
            value = globals()[name] = getattr(_import_module(f".{package}", __name__), name)
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
