"""The structure of a tensor network: vertices, and edges that join any number of them.

An edge of one vertex is a *leg*: the index of a site's feature, or of the outputs.  An edge of
two vertices is a bond, and one of more (a CPD's rank) an index that all of them share.  The core
of a vertex has one axis for each of its edges, so it has Π dim(e) entries [1]_.

References
----------
.. [1] Wesel, Batselier, "Quantized Fourier and Polynomial Features for more Expressive Tensor
   Network Models", AISTATS 2024, Section 2.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Edge:
    """An index of the network."""

    name: str
    size: int
    #: positions of the vertices that have it
    vertices: tuple[int, ...]
    #: site (column, level) whose feature a leg meets; the column after the last one is the outputs
    site: tuple[int, int] | None = None

    @property
    def is_outputs(self) -> bool:
        """Whether this is the leg of the outputs."""
        return self.site is not None and self.name.endswith("outputs")

    @property
    def is_bond(self) -> bool:
        """Whether this joins two vertices."""
        return self.site is None and len(self.vertices) == 2

    def other_end(self, vertex: int) -> int:
        """Return the vertex at the other end of a bond."""
        return self.vertices[self.vertices[0] == vertex]


@dataclass(frozen=True)
class Structure:
    """Vertices and edges of a network."""

    #: what the cores are called
    vertices: tuple[str, ...]
    #: in the order of the axes of the cores
    edges: tuple[Edge, ...]

    @cached_property
    def edges_of(self) -> tuple[tuple[int, ...], ...]:
        """For every vertex the positions of its edges, in the order of its core's axes."""
        own: list[list[int]] = [[] for _ in self.vertices]
        for e, edge in enumerate(self.edges):
            for v in dict.fromkeys(edge.vertices):
                own[v].append(e)
        return tuple(map(tuple, own))

    @cached_property
    def legs_of(self) -> tuple[tuple[int, ...], ...]:
        """For every vertex the positions of its legs to sites."""
        sites = {e for e, edge in enumerate(self.edges) if edge.site and not edge.is_outputs}
        return tuple(tuple(e for e in own if e in sites) for own in self.edges_of)

    @cached_property
    def bonds(self) -> tuple[int, ...]:
        """Positions of the edges that join two vertices."""
        return tuple(e for e, edge in enumerate(self.edges) if edge.is_bond)

    @cached_property
    def shared(self) -> tuple[int, ...]:
        """Positions of the edges that join any other number of vertices."""
        edges = enumerate(self.edges)
        return tuple(e for e, edge in edges if edge.site is None and not edge.is_bond)

    def sites_at(self, vertex: int) -> list[tuple[int, int]]:
        """Return the sites that a vertex has legs to."""
        return [edge.site for e in self.legs_of[vertex] if (edge := self.edges[e]).site]

    def legs_at(self, vertex: int) -> list[Edge]:
        """Return the legs of a vertex, that of the outputs included."""
        return [self.edges[e] for e in self.edges_of[vertex] if self.edges[e].site]

    @cached_property
    def outputs(self) -> int | None:
        """Position of the leg of the outputs, the last edge, if there is one."""
        return len(self.edges) - 1 if self.edges[-1].is_outputs else None

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        """Shape of every vertex's core."""
        return [tuple(self.edges[e].size for e in edges) for edges in self.edges_of]

    @property
    def n_parameters(self) -> int:
        """Number of entries of all cores."""
        return sum(math.prod(shape) for shape in self.shapes)

    @property
    def vc_bound(self) -> float:
        """Upper bound 2·P·log₂(12·|V|) on the VC dimension.

        The theorem is one for real networks.  For complex cores this is the paper's count, with
        a complex number counted once.
        """
        return float(2 * self.n_parameters * np.log2(12 * len(self.vertices)))

    @cached_property
    def legs(self) -> dict[tuple[int, int], int]:
        """From a site to the position of its leg."""
        return {edge.site: e for e, edge in enumerate(self.edges) if edge.site is not None}
