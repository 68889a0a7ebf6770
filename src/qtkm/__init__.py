"""Quantized tensor-network kernel machines.

Regression and classification with f(x) = ⟨φ(x), w⟩, where φ is a tensor product of polynomial
or Fourier features and the exponentially many weights w are a tensor network.
"""

from .estimators import QTKMClassifier, QTKMRegressor
from .features import Categorical, Fourier, Power
from .losses import Hinge, Logistic, Softmax, Squared, SquaredHinge
from .networks import CPD
from .solvers import ALS

__version__ = "0.1.0"

__all__ = [
    "ALS",
    "CPD",
    "Categorical",
    "Fourier",
    "Hinge",
    "Logistic",
    "Power",
    "QTKMClassifier",
    "QTKMRegressor",
    "Softmax",
    "Squared",
    "SquaredHinge",
]
