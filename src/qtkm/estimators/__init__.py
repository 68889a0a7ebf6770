"""Estimators: scikit-learn's face of the library."""

from .classifier import QTKMClassifier
from .loading import load
from .regressor import QTKMRegressor

__all__ = ["QTKMClassifier", "QTKMRegressor", "load"]
