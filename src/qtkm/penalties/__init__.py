"""Penalties: what a column's feature map says of its functions in, prior variances out."""

from .base import Penalty
from .family import Family
from .matern import Matern
from .rbf import RBF
from .ridge import Ridge

#: shorthand in the estimators -> class; a new penalty is one file and one line here
REGISTRY: dict[str, type[Penalty]] = {"ridge": Ridge, "matern": Matern, "rbf": RBF}

__all__ = ["RBF", "REGISTRY", "Family", "Matern", "Penalty", "Ridge"]
