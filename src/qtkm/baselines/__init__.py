"""Baselines to compare with, based on the same or on random features.

Kernel ridge regression with the kernel of the library's own features is the model without a
tensor network: its objective is the minimum over all ranks.  Ridge regression on random Fourier
features is the usual model of bounded size.
"""

from .kernel_ridge import ProductKernelRidge, ProductKernelRidgeCV
from .random_fourier import RandomFourierRidge

__all__ = ["ProductKernelRidge", "ProductKernelRidgeCV", "RandomFourierRidge"]
