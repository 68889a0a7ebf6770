"""Tensor trains and rings."""

from .matrix_product import TensorRing, TensorTrain

__all__ = ["TensorRing", "TensorTrain"]
