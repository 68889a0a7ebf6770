"""Losses: pointwise functions of response and target."""

from .squared import Squared

#: shorthand in the estimators -> class; a new loss is one file and one line here
REGISTRY: dict[str, type[Squared]] = {"squared": Squared}

__all__ = ["REGISTRY", "Squared"]
