"""Baselines: models to compare with, of the same or of random features.

Kernel ridge regression with the kernel of the library's own features is the model without a
tensor network: the least value of the objective that any rank can reach.  Ridge regression on
random Fourier features is the usual way to a model of bounded size.
"""

from .kernel_ridge import ProductKernelRidge, ProductKernelRidgeCV
from .random_fourier import RandomFourierRidge

__all__ = ["ProductKernelRidge", "ProductKernelRidgeCV", "RandomFourierRidge"]
