"""Losses: pointwise functions of response and target."""

from .loss import Loss, ResidualLoss
from .margins import Logistic, Softmax, SquaredHinge
from .residuals import Hinge, Huber, Quantile, Squared
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

__all__ = ["REGISTRY", "Loss", "ResidualLoss"]
__all__ += sorted(loss.__name__ for loss in REGISTRY.values())
