"""Estimators: scikit-learn's face of the library."""

from .classifier import QTKMClassifier
from .regressor import QTKMRegressor
from .saving import load

__all__ = ["QTKMClassifier", "QTKMRegressor", "load"]
