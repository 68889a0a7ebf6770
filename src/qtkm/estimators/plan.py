"""What a fit has decided before it meets the rows."""

from dataclasses import dataclass
from typing import Any

from ..data import Box
from .inputs import Inputs
from .reading import Reading


@dataclass
class Plan:
    """Parts of a fit, made from the estimator's parameters and the ranges of the columns.

    Attributes
    ----------
    inputs : Inputs
        Names and categories of the columns.
    maps : list of FeatureMap
    boxes : list of Box or None
        None for categorical columns.
    network, loss, solver : the parts
    alpha : float
    known : Reading or None
        Of the fit that this one goes on from.
    """

    inputs: Inputs
    maps: list[Any]
    boxes: list[Box | None]
    network: Any
    loss: Any
    alpha: float
    solver: Any
    known: Reading | None
