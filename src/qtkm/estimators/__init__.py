"""Estimators: scikit-learn's face of the library."""

from .classifier import QTKMClassifier
from .regressor import QTKMRegressor

__all__ = ["QTKMClassifier", "QTKMRegressor"]
