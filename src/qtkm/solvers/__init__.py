"""Solvers: from cores to better cores, seeing only the objective."""

from .als import ALS
from .loop import Progress, Stopping, solve
from .result import History, Result

#: shorthand in the estimators -> class; a new solver is one file and one line here
REGISTRY: dict[str, type[ALS]] = {"als": ALS}

__all__ = ["ALS", "REGISTRY", "History", "Progress", "Result", "Stopping", "solve"]
