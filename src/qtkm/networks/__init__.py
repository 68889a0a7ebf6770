"""Networks: cores in, tables, environments, norms and local systems out."""

from .cpd import CPD
from .evaluate import Evaluator
from .local import LocalSystem
from .network import Cores, Iterate, Network, flatten, like
from .ring import TensorRing
from .structure import Edge, Structure
from .train import TensorTrain

#: shorthand in the estimators -> class; a new network is one file and one line here
REGISTRY: dict[str, type[Network]] = {
    "cpd": CPD,
    "train": TensorTrain,
    "ring": TensorRing,
}

__all__ = [
    "CPD",
    "REGISTRY",
    "Cores",
    "Edge",
    "Evaluator",
    "Iterate",
    "LocalSystem",
    "Network",
    "Structure",
    "TensorRing",
    "TensorTrain",
    "flatten",
    "like",
]
