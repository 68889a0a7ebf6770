"""The objective: value, column statistics and local problems of a fit."""

from .column import Column
from .objective import Objective

__all__ = ["Column", "Objective"]
