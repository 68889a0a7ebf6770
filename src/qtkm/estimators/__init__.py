"""Estimators: scikit-learn's face of the library."""

from .regressor import QTKMRegressor

__all__ = ["QTKMRegressor"]
