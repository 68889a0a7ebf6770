"""Arbitrary networks: contracted row by row in a planned order, and builders of known ones."""

from .builders import MERA, BlockTerm, Grid2D, HierarchicalTucker, Tucker
from .graph import Drawing, Graph, GraphNetwork

__all__ = ["MERA", "BlockTerm", "Drawing", "Graph", "GraphNetwork", "Grid2D"]
__all__ += ["HierarchicalTucker", "Tucker"]
