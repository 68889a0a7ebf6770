"""The objective: value, derivatives, column statistics and local problems of a fit."""

from ..protocols import Setting
from .column import Column
from .objective import Objective

__all__ = ["Column", "Objective", "Setting"]
