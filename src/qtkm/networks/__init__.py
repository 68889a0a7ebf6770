"""Networks: tables, environments, norms and local systems from cores."""

from ..structure import Edge, Structure
from .additive import Additive
from .cpd import CPD
from .evaluate import Evaluator
from .graph import MERA, BlockTerm, Graph, Grid2D, HierarchicalTucker, Tucker
from .network import Cores, Iterate, Network, flatten, unflatten
from .problem import LocalSystem
from .train import TensorRing, TensorTrain

#: shorthand in the estimators -> class; a new network is one file and one line here
REGISTRY: dict[str, type[Network]] = {
    "cpd": CPD,
    "train": TensorTrain,
    "ring": TensorRing,
    "tucker": Tucker,
    "hierarchical_tucker": HierarchicalTucker,
    "block_term": BlockTerm,
    "grid": Grid2D,
    "mera": MERA,
    "graph": Graph,
}

__all__ = ["REGISTRY", "Additive", "Cores", "Edge", "Evaluator", "Iterate", "LocalSystem"]
__all__ += ["Network", "Structure", "flatten", "unflatten"]
__all__ += [network.__name__ for network in REGISTRY.values()]
