"""Losses: pointwise functions of response and target."""

from .hinge import Hinge
from .logistic import Logistic
from .loss import Loss
from .residual import ResidualLoss
from .softmax import Softmax
from .squared import Squared
from .squared_hinge import SquaredHinge

#: shorthand in the estimators -> class; a new loss is one file and one line here
REGISTRY: dict[str, type[Loss]] = {
    "squared": Squared,
    "logistic": Logistic,
    "softmax": Softmax,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
}

__all__ = [
    "REGISTRY",
    "Hinge",
    "Logistic",
    "Loss",
    "ResidualLoss",
    "Softmax",
    "Squared",
    "SquaredHinge",
]
