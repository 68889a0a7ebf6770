"""Selection: parameters of a model chosen by cross-validation."""

from .display import SearchDisplay
from .tuned import QTKMClassifierCV, QTKMRegressorCV

__all__ = ["QTKMClassifierCV", "QTKMRegressorCV", "SearchDisplay"]
