"""Quantized tensor-network kernel machines.

Regression and classification with f(x) = ⟨φ(x), w⟩, where φ is a tensor product of polynomial
or Fourier features and the exponentially many weights w are a tensor network.
"""

from .estimators import QTKMClassifier, QTKMRegressor
from .features import Categorical, Fourier, Power
from .losses import Hinge, Logistic, Softmax, Squared, SquaredHinge
from .networks import (
    CPD,
    MERA,
    BlockTerm,
    Graph,
    Grid2D,
    HierarchicalTucker,
    TensorRing,
    TensorTrain,
    Tucker,
)
from .solvers import ALS, DMRG, LBFGS, Adam, GaussNewton, Riemannian, check_gradient

__version__ = "0.1.0"

__all__ = [
    "ALS",
    "CPD",
    "DMRG",
    "LBFGS",
    "MERA",
    "Adam",
    "BlockTerm",
    "Categorical",
    "Fourier",
    "GaussNewton",
    "Graph",
    "Grid2D",
    "HierarchicalTucker",
    "Hinge",
    "Logistic",
    "Power",
    "QTKMClassifier",
    "QTKMRegressor",
    "Riemannian",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "TensorRing",
    "TensorTrain",
    "Tucker",
    "check_gradient",
]
