"""The objective: value, derivatives, column statistics and local problems of a fit."""

from .column import Column
from .objective import Objective
from .passes import are_here
from .setting import Setting

__all__ = ["Column", "Objective", "Setting", "are_here"]
