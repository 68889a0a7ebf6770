"""Penalties: prior variances of the weights of a column's basis functions."""

from .priors import RBF, Family, Matern, Penalty, Ridge

#: shorthand in the estimators -> class; a new penalty is one class and one line here
REGISTRY: dict[str, type[Penalty]] = {"ridge": Ridge, "matern": Matern, "rbf": RBF}

__all__ = ["RBF", "REGISTRY", "Family", "Matern", "Penalty", "Ridge"]
