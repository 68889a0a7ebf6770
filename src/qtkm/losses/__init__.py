"""Losses: pointwise functions of response and target."""

from .hinge import Hinge
from .huber import Huber
from .logistic import Logistic
from .loss import Loss
from .quantile import Quantile
from .regression_loss import RegressionLoss
from .residual import ResidualLoss
from .softmax import Softmax
from .squared import Squared
from .squared_hinge import SquaredHinge
from .tweedie import Gamma, Poisson, Tweedie

#: shorthand in the estimators -> class; a new loss is one file and one line here
REGISTRY: dict[str, type[Loss]] = {
    "squared": Squared,
    "huber": Huber,
    "quantile": Quantile,
    "poisson": Poisson,
    "gamma": Gamma,
    "tweedie": Tweedie,
    "logistic": Logistic,
    "softmax": Softmax,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
}

__all__ = [
    "REGISTRY",
    "Gamma",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "Poisson",
    "Quantile",
    "RegressionLoss",
    "ResidualLoss",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "Tweedie",
]
