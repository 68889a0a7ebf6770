r"""The general tensor network: any vertices, joined by any edges.

     s₀₀ ─[a]───[b]─ s₀₁          vertices a, b, c, d; c has two legs and d has none
             \ /                  edges a-b, a-d, b-d, d-c and the four legs
             [d]──[c]═ s₁₀, s₁₁    f = Σ over all indices of Π cores · Π features

A vertex is a core and an edge an index that its vertices share: an edge of two vertices is a
bond, one of more (a CPD's rank) a hyperedge, one of a single vertex a leg to a site's feature.
Cores are a flat list, one array a vertex; their axes are the legs in the order of the sites,
then the bonds in the order of the edges, then the outputs.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral

import numpy as np
from numpy.random import RandomState
from numpy.typing import DTypeLike, NDArray
from scipy.sparse.csgraph import connected_components

from ...parameters import check_number
from ...protocols import Arrays, Columns, Cores, Given, Levels, Map, Precisions, Radices, Run
from ...structure import Edge, Structure
from ..chain import SMOOTH_NOISE
from ..design import Tree
from ..network import Network
from .vertices import GraphIterate, NetworkRows, sizes_of

Site = tuple[int, int]
Shape = tuple[int, ...]

#: what the leg of the outputs is called
OUTPUTS = "outputs"
#: entries of the largest core
LARGEST_CORE = 10_000_000
#: axes of a core; NumPy 1 has 32, and rows and outputs need one each
MOST_EDGES = 30


class GraphNetwork(Network):
    """What all graphs share; a kind of graph says in `build` what it is made of."""

    def build(self, radices: Radices, n_outputs: int) -> Structure:
        """Return vertices and edges, not checked: legs by site, bonds, then the outputs' leg."""
        raise NotImplementedError

    def default_rank(self, n_rows: int, n_columns: int) -> int:
        # a core of three bonds, as in trees and most graphs, is about as large as one of a CPD
        return max(2, round(super().default_rank(n_rows, n_columns) ** (1 / 3)))

    def structure(self, radices: Radices, n_outputs: int) -> Structure:
        self.check()
        structure = self.build(radices, n_outputs)
        if not isinstance(structure, Structure):
            raise TypeError(
                f"build of {type(self).__name__} returns a {type(structure).__name__}, where a "
                "Structure is expected, such as Drawing.finish returns; does it end with return?"
            )
        check_structure(structure)
        return structure

    def shapes(self, radices: Radices, n_outputs: int) -> list[Shape]:
        return self.structure(radices, n_outputs).shapes

    def start(
        self, constants: Levels, n_outputs: int, is_complex: bool, kind: str, rng: RandomState
    ) -> Cores:
        # "random": scaled so that the expected ‖w‖² is that of the constant function 1; "smooth":
        # that function, carried by the first entry of every bond and by all entries of a hyperedge,
        # plus 0.1 times a random start. Outputs begin as random multiples of one another.
        structure = self.structure([[len(c) for c in levels] for levels in constants], n_outputs)
        mixing = rng.standard_normal(n_outputs)
        mixing *= np.sqrt(n_outputs) / np.linalg.norm(mixing)
        weights = {(d, k): c for d, levels in enumerate(constants) for k, c in enumerate(levels)}
        weights[len(constants), 0] = mixing
        owned = ([structure.edges[e] for e in edges] for edges in structure.edges_of)
        return [_start(edges, weights, is_complex, kind, rng) for edges in owned]

    def iterate(
        self, columns: Columns, cores: Cores, dtype: DTypeLike, run: Run, precisions: Precisions
    ) -> GraphIterate:
        structure = self.structure_of([column.radices for column in columns], cores)
        return GraphIterate(structure, columns, cores, dtype, run, precisions)

    def structure_of(self, radices: Radices, cores: Cores) -> Structure:
        """Return the structure that cores belong to, which have the number of outputs."""
        trial = self.build(radices, 2)
        (vertex,) = trial.edges[-1].vertices
        has_outputs = cores[vertex].ndim == len(trial.edges_of[vertex])
        return self.structure(radices, cores[vertex].shape[-1] if has_outputs else 1)

    def evaluator(self, cores: Cores, frequencies: Precisions) -> "GraphEvaluator":
        return GraphEvaluator(self, cores, frequencies)

    def dense(self, cores: Cores, radices: Radices) -> NDArray:
        structure = self.structure_of(radices, cores)
        order = [structure.legs[d, k] for d, c in enumerate(radices) for k in range(len(c))[::-1]]
        order.extend([] if structure.outputs is None else [structure.outputs])
        tree = Tree(structure.edges_of, set(order), sizes_of(structure))
        tensor = tree.up(cores)[-1].transpose([tree.terms[-1].index(e) for e in order])
        return tensor.reshape(math.prod(math.prod(column) for column in radices), -1)


class Drawing:
    """Wires, and vertices that are put on them one by one.

    Parameters
    ----------
    radices : sequence of sequence of int
        Radices of every column: each site is a wire to begin with.

    Attributes
    ----------
    sites : list of list of int
        Numbers of the wires of the sites, by column and level.
    """

    def __init__(self, radices: Radices):
        self.vertices: list[str] = []
        self.wires: list[Edge] = []
        self.sites = [
            [self.wire(f"column {d}, level {k}", q, (d, k)) for k, q in enumerate(column)]
            for d, column in enumerate(radices)
        ]

    def wire(self, name: str, size: int, site: Site | None = None) -> int:
        """Begin a wire for an index of this size; returns its number, for `vertex`."""
        self.wires.append(Edge(name, int(size), (), site))
        return len(self.wires) - 1

    def vertex(self, name: str, wires: Sequence[int]) -> int:
        """Put a vertex on some wires, its core having an axis for each; returns its number."""
        number = len(self.vertices)
        self.vertices.append(name)
        for w in wires:
            edge = self.wires[w]
            self.wires[w] = replace(edge, vertices=(*edge.vertices, number))
        return number

    def as_drawn(self, n_outputs: int, vertex: int) -> Structure:
        """Return the structure as it is, with the leg of several outputs at a vertex."""
        for site in (self.wires[w] for column in self.sites for w in column):
            if len(site.vertices) != 1:
                names = ", ".join(repr(self.vertices[v]) for v in site.vertices) or "none"
                raise ValueError(
                    f"The site {site.name!r} has {len(site.vertices)} vertices ({names}); put "
                    "exactly one on every site."
                )
        outputs = Edge(OUTPUTS, n_outputs, (vertex,), (len(self.sites), 0))
        return Structure(tuple(self.vertices), (*self.wires, *([outputs] * (n_outputs > 1))))

    def finish(self, n_outputs: int, vertex: int) -> Structure:
        """Return the structure, with the leg of several outputs at a vertex.

        The vertex is given by its number.  Bonds are cut to what the cores at their ends can use.
        """
        found, structure = None, self.as_drawn(n_outputs, vertex)
        while found != structure:
            found, edges = structure, list(structure.edges)
            for e in found.bonds:
                size = min(edges[e].size, largest_size(found, e))
                edges[e] = replace(edges[e], size=size)
            structure = replace(found, edges=tuple(edges))
        return structure


class Graph(GraphNetwork):
    """A network of given vertices and edges.

    Parameters
    ----------
    vertices : mapping from names to lists of legs
        A leg is a site (column, level), both counted from 0 and the lowest digit being level 0;
        or "outputs" at the vertex that tells several outputs apart.  Every site needs one leg,
        of the size of its radix; a vertex may have none.  If no vertex has the outputs, the last
        one gets them where there are several.
    edges : sequence of (name, vertices, size)
        A bond between two vertices, or a hyperedge that more of them share.

    Examples
    --------
    A tensor ring of three sites, the first two of which are the levels of one column:

    >>> ring = Graph(
    ...     vertices={"a": [(0, 0)], "b": [(0, 1)], "c": [(1, 0)]},
    ...     edges=[("one", ("a", "b"), 2), ("two", ("b", "c"), 3), ("three", ("c", "a"), 2)],
    ... )
    >>> ring.shapes(radices=[[2, 2], [5]], n_outputs=1)
    [(2, 2, 2), (2, 2, 3), (5, 3, 2)]
    """

    def __init__(self, vertices=None, edges=()):
        self.vertices = vertices
        self.edges = edges

    @classmethod
    def from_networkx(cls, graph: Given) -> "Graph":
        """Convert a networkx graph: attribute `legs` of a node (if any), `size` of an edge."""
        vertices = {node: list(data.get("legs", ())) for node, data in graph.nodes(data=True)}
        edges, count = [], Counter[str]()
        for a, b, data in graph.edges(data=True):
            if "size" not in data:
                raise ValueError(f"Edge {a}-{b} has no attribute 'size', the size of the bond.")
            count[f"{a}-{b}"] += 1
            again = f" ({n})" if (n := count[f"{a}-{b}"]) > 1 else ""
            edges.append((f"{a}-{b}{again}", (a, b), data["size"]))
        return cls(vertices, edges)

    def check(self) -> None:
        if not isinstance(self.vertices, Mapping) or not self.vertices:
            raise ValueError(
                f"vertices={self.vertices!r} must be a mapping from the name of every vertex to "
                "its legs, such as {'a': [(0, 0)], 'b': []}."
            )
        for name, leg in ((name, leg) for name, legs in self.vertices.items() for leg in legs):
            is_site = isinstance(leg, tuple | list) and len(leg) == 2
            is_site = is_site and all(isinstance(i, Integral) and int(i) >= 0 for i in leg)
            if leg != OUTPUTS and not is_site:
                raise ValueError(
                    f"Leg {leg!r} of vertex {name!r} must be a site (column, level) of two "
                    "integers >= 0, or 'outputs'."
                )
        edges = list(map(_read, self.edges))
        names = Counter(name for name, _, _ in edges)
        for name, members, size in edges:
            if names[name] > 1:
                raise ValueError(
                    f"{names[name]} edges are called {name!r}; give each its own name."
                )
            check_number(f"The size of edge {name!r}", size, Integral, 1)
            for vertex in members:
                if vertex not in self.vertices:
                    raise ValueError(
                        f"Edge {name!r} joins {vertex!r}, which is none of the vertices "
                        f"{', '.join(map(repr, self.vertices))}."
                    )
            if len(members) < 2 or len(set(members)) < len(members):
                raise ValueError(
                    f"Edge {name!r} must join two or more different vertices, but joins "
                    f"{', '.join(map(repr, members)) or 'none'}; legs are given with their vertex."
                )

    def build(self, radices: Radices, n_outputs: int) -> Structure:
        drawing = Drawing(radices)
        edges = map(_read, self.edges)
        bonds = [(drawing.wire(str(name), size), members) for name, members, size in edges]
        outputs = [v for v, legs in enumerate(self.vertices.values()) if OUTPUTS in legs]
        if len(outputs) > 1:
            names = " and ".join(repr(list(self.vertices)[v]) for v in outputs)
            raise ValueError(f"The outputs are a leg of {names}; keep one of them.")
        for name, legs in self.vertices.items():
            own = []
            for d, k in (map(int, leg) for leg in legs if leg != OUTPUTS):
                if d >= len(drawing.sites) or k >= len(drawing.sites[d]):
                    raise ValueError(
                        f"Vertex {name!r} has a leg to level {k} of column {d}, but the columns "
                        f"have {', '.join(str(len(column)) for column in radices)} levels; remove "
                        "it, or change the quantization."
                    )
                own.append(drawing.sites[d][k])
            drawing.vertex(str(name), sorted(own) + [w for w, ends in bonds if name in ends])
        return drawing.as_drawn(n_outputs, *outputs or [len(self.vertices) - 1])


class GraphEvaluator:
    """Responses of a graph at values that lie on no grid, see `Network.evaluator`."""

    def __init__(self, network: GraphNetwork, cores: Cores, frequencies: Precisions):
        self.network, self.cores, self.frequencies = network, cores, frequencies

    def responses(self, maps: Sequence[Map], values: Arrays) -> NDArray:
        """Return the responses (n, n_outputs) of rows given as one array of values per column."""
        structure = self.network.structure_of([m.radices for m in maps], self.cores)
        rows = NetworkRows(structure, self.cores, maps, np.float64)
        rows.tables = []
        for feature_map, share, column in zip(maps, self.frequencies, values, strict=True):
            factors = feature_map.factors(column)
            if feature_map.is_categorical:
                factors[np.asarray(column) < 0] = feature_map.collect(share)
            rows.tables.append(factors)
        codes = np.broadcast_to(np.arange(len(values[0]))[:, None], (len(values[0]), len(maps)))
        parts = [rows.responses(rows.factors(codes[part])) for part in rows.pieces(0, len(codes))]
        return np.concatenate([np.empty((0, rows.n_outputs), self.cores[0].dtype), *parts])


def largest_size(structure: Structure, bond: int) -> int:
    """Return the size of a bond beyond which the cores at its ends have entries to spare.

    Seen as a matrix, a core has no more columns that matter than rows; indices that both ends
    share do not count, as each of their values has a matrix of its own.
    """
    a, b = (set(structure.edges_of[v]) for v in structure.edges[bond].vertices)
    return min(math.prod(structure.edges[e].size for e in own) for own in (a - b, b - a))


def check_structure(structure: Structure) -> None:
    """Raise a ValueError for a structure that falls apart, is too large or has spare entries."""
    edges = range(len(structure.edges))
    meets = np.array([[e in own for e in edges] for own in structure.edges_of], dtype=int)
    apart = np.flatnonzero(connected_components(meets @ meets.T)[1])
    if apart.size:
        raise ValueError(
            f"Nothing joins vertex {structure.vertices[apart[0]]!r} to vertex "
            f"{structure.vertices[0]!r}; add a bond, of size 1 if they are to be independent "
            "factors."
        )
    for name, shape in zip(structure.vertices, structure.shapes, strict=True):
        if math.prod(shape) > LARGEST_CORE or len(shape) > MOST_EDGES:
            raise ValueError(
                f"The core of vertex {name!r} has {len(shape)} axes and about "
                f"10^{math.log10(math.prod(shape)):.1f} entries, more than {MOST_EDGES} axes or "
                f"{LARGEST_CORE:,} entries. Lower the rank, split columns into fewer levels, or "
                "use a network of small cores such as HierarchicalTucker or a tensor train."
            )
    for e, edge in enumerate(structure.edges):
        if edge.site is None and len(edge.vertices) < 2:
            raise ValueError(
                f"The wire {edge.name!r} has {len(edge.vertices)} vertices, and joins two or more; "
                "put another vertex on it, or leave it out."
            )
        if edge.is_bond and edge.size > largest_size(structure, e):
            raise ValueError(
                f"Bond {edge.name!r} has the size {edge.size}, but the other edges of a vertex "
                f"that it joins leave use for no more than {largest_size(structure, e)}; give it "
                "that size or a smaller one."
            )


def _start(
    edges: list[Edge], weights: dict[Site, NDArray], is_complex: bool, kind: str, rng: RandomState
) -> NDArray:
    noise = rng.standard_normal([edge.size for edge in edges])
    if is_complex and kind == "smooth":
        noise = noise + 1j * rng.standard_normal(noise.shape)
    square, constant = 1.0, np.ones(())
    for edge in edges:
        share = edge.size ** (-1 / len(edge.vertices))
        along = np.eye(edge.size)[0] if edge.is_bond else np.full(edge.size, share)
        if edge.site is not None:
            along = weights[edge.site]
        square *= edge.size * share if edge.site is None else float(np.sum(along**2))
        constant = np.multiply.outer(constant, along)
    core = noise * (np.sqrt(square) / np.linalg.norm(noise))
    if kind == "smooth":
        core = constant + SMOOTH_NOISE * core
    return core.astype(np.complex128 if is_complex else np.float64)


def _read(edge: Given) -> tuple[Given, tuple[Given, ...], Given]:
    try:
        name, members, size = edge
        return name, tuple(members), size
    except (TypeError, ValueError):
        raise ValueError(f"Edge {edge!r} must be a tuple (name, vertices, size).") from None
