"""Quantized tensor-network kernel machines.

Regression with f(x) = ⟨φ(x), w⟩, where φ is a tensor product of polynomial or Fourier
features and the exponentially many weights w are a tensor network.
"""

from .estimators import QTKMRegressor
from .features import Categorical, Fourier, Power
from .losses import Squared
from .networks import CPD
from .solvers import ALS

__version__ = "0.1.0"

__all__ = ["ALS", "CPD", "Categorical", "Fourier", "Power", "QTKMRegressor", "Squared"]
