"""Where a plot of a network puts its cores, legs and labels."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import shortest_path

from ..structure import Edge, Structure

#: sites that a plot puts in a row; more of them go around a circle
LONGEST_ROW = 16


@dataclass
class Layout:
    """Where things are, in units of the distance between neighbours."""

    kind: str  # row, circle, grid or free
    points: NDArray  # (n_vertices, 2)
    down: NDArray  # angles in degrees that the legs point at; nan for where there is room
    shared: dict[int, NDArray]  # from the position of an index that many cores share to its point


def lay_out(structure: Structure) -> Layout:
    """Choose where to put the cores of a network."""
    layout = _chain(structure) or _grid(structure) or _layered(structure) or _free(structure)
    if layout.kind == "row":  # the name of a column is a little wider than the distance of cores
        for point in (*layout.points, *layout.shared.values()):
            point[0] *= 1.25
    return layout


def _chain(structure: Structure) -> Layout | None:
    """Lay out a chain as a row or, as a ring, a circle; None for other networks."""
    chain = find_chain(structure)
    if chain is None:
        return None
    order, path = chain
    is_open = path[0] is None
    flat = np.zeros((len(order), 2))
    flat[order, 0] = np.arange(len(order)) + is_open
    if is_open and len(flat) <= LONGEST_ROW:
        return Layout("row", flat, np.full(len(flat), -90.0), {})
    return _around(flat, len(flat) + 2 * is_open, [])


def _grid(structure: Structure) -> Layout | None:
    """Put columns side by side, if all bonds join neighbours."""
    sites = [structure.sites_at(v) for v in range(len(structure.vertices))]
    if structure.shared or any(len(own) != 1 for own in sites):
        return None
    points = np.array([own[0] for own in sites])
    for e in structure.bonds:
        a, b = structure.edges[e].vertices
        if np.abs(points[a] - points[b]).sum() != 1:
            return None
    return Layout("grid", points * [1.2, -1.0], np.full(len(points), -135.0), {})


def _layered(structure: Structure) -> Layout | None:
    """Put cores above those that come before them, and the sites in a row at the bottom."""
    count, tree = len(structure.vertices), find_tree(structure)
    bonds, shared = set(structure.bonds), structure.shared
    sites = [structure.sites_at(v) for v in range(count)]
    number = {site: i for i, site in enumerate(sorted(itertools.chain(*sites)))}
    width = len(number)
    points: dict[int, tuple[float, int]] = {}
    for v in range(count) if tree is None else [v for v, _ in reversed(tree)]:
        near = (structure.edges[e].other_end(v) for e in structure.edges_of[v] if e in bonds)
        below = [points[u] for u in near if u in points]
        at = [number[site] for site in sites[v]] + [x for x, _ in below]
        if not at:  # an output core that is a leaf
            at, width = [width], width + 1
        points[v] = float(np.mean(at)), 1 + max((y for _, y in below), default=-1)
    flat = np.array([points[v] for v in range(count)], dtype=float)
    top = flat[:, 1].max()
    if bonds and tree is None and (all(sites) or top > 2 * math.log2(count) + 2):
        return None
    if top == 0 and len(shared) == 1 and width <= LONGEST_ROW:
        # high enough above the row that no line to its ends runs through another core
        hub = np.array([(width - 1) / 2, max(1.2, 0.25 * width)])
        return Layout("row", flat, np.full(count, -90.0), {shared[0]: hub})
    if top <= 1 or width > LONGEST_ROW:
        return _around(flat, width, shared)
    if shared or not _is_clear(structure, flat):
        return None
    return Layout("row", flat, np.where(flat[:, 1] == 0, -90.0, np.nan), {})


def _around(flat: NDArray, count: float, shared: Sequence[int]) -> Layout:
    """Bend a row to a circle, clockwise from the top; what is high is near the centre."""
    at, height = flat.T
    has_center = np.sum(height == height.max()) == 1 < len(at)
    top = height.max() + (not has_center)
    smallest = max(0.8 * top, 1.8 if has_center else 1.1 if len(at) > 2 else 0.6)
    radius = max(count / (2 * np.pi), smallest)
    angle = 90 - 360 * (at + 0.5) / count
    pairs = zip(radius * (1 - height / top), angle, strict=True)
    points = np.array([polar(*pair) for pair in pairs])
    inner = 0.7 * radius * (has_center or len(shared) > 1)
    start = 90 - 90 / len(at) * (len(at) % 2 == 0)  # no line runs through the centre
    hubs = {e: polar(inner, start - 360 * i / len(shared)) for i, e in enumerate(shared)}
    return Layout("circle", points, np.where(height == 0, angle, np.nan), hubs)


def polar(length: float, angle: float) -> NDArray:
    """Return the vector of a length in a direction in degrees."""
    return length * np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])


def _is_clear(structure: Structure, points: NDArray) -> bool:
    """Whether vertices are apart from one another and from the bonds of others."""
    for e in structure.bonds:
        a, b = structure.edges[e].vertices
        along = points[b] - points[a]
        others = np.delete(points, [a, b], axis=0) - points[a]
        share = np.clip(others @ along / max(along @ along, 1e-9), 0, 1)
        if np.linalg.norm(others - share[:, None] * along, axis=1).min(initial=1) < 0.4:
            return False
    return True


def _free(structure: Structure) -> Layout:
    """Put cores at about their distances in the graph, by majorizing the stress."""
    from sklearn.manifold import smacof

    n, shared = len(structure.vertices), structure.shared
    size = n + len(shared)
    length = size * (1 - np.eye(size))
    for e in structure.bonds:
        a, b = structure.edges[e].vertices
        length[a, b] = length[b, a] = 1.3
    for i, e in enumerate(shared):
        members = list(structure.edges[e].vertices)
        length[n + i, members] = length[members, n + i] = 1.0
    points, _ = smacof(shortest_path(length), n_init=8, random_state=0)
    return Layout(
        "free", points[:n], np.full(n, np.nan), dict(zip(shared, points[n:], strict=True))
    )


@dataclass
class Label:
    """A text at a point, turned by an angle in degrees."""

    text: str
    point: NDArray
    angle: float = 0.0
    side: str = "center"

    @property
    def end(self) -> NDArray:
        """About where the text ends, for small letters."""
        return self.point + polar(0.13 * len(self.text), self.angle)


def place_legs(structure: Structure, layout: Layout) -> list[tuple[Edge, int, NDArray]]:
    """Return the legs, with their vertices and the points where they end."""
    options, legs = -90 + 15.0 * np.arange(24), []
    edges, sites = structure.edges, set(structure.legs.values())
    for v, point in enumerate(layout.points):
        own, inner = structure.legs_at(v), [e for e in structure.edges_of[v] if e not in sites]
        ends = [
            layout.shared[e] if e in layout.shared else layout.points[edges[e].other_end(v)]
            for e in inner
        ]
        taken = np.array([_angle(end - point) for end in ends])
        for i, edge in enumerate(own):
            angle = layout.down[v] + 50 * (i - (len(own) - 1) / 2)
            if layout.kind == "grid":
                angle = -45.0 if edge.is_outputs else -135.0
            if np.isnan(angle):  # where there is most room
                gaps = np.abs((options[:, None] - taken + 180) % 360 - 180)
                angle = options[np.argmax(np.round(gaps.min(axis=1, initial=180)))]
            taken = np.append(taken, angle)
            legs.append((edge, v, point + polar(0.6, angle)))
    return legs


def _angle(vector: NDArray) -> float:
    """Return the direction of a vector in degrees."""
    return math.degrees(math.atan2(vector[1], vector[0]))


def name_columns(
    layout: Layout, legs: Sequence[tuple[Edge, int, NDArray]], names: Sequence[str] | None
) -> list[Label]:
    """Return the names of the columns, each at its legs."""
    ends: dict[int, list[NDArray]] = {}
    for edge, _, end in legs:
        if edge.site is not None and not edge.is_outputs:
            ends.setdefault(edge.site[0], []).append(end)
    if layout.kind == "free" or not ends:
        return []
    texts = [f"column {d}" if names is None else str(names[d]) for d in ends]
    middles = np.array([np.mean(own, axis=0) for own in ends.values()])
    if layout.kind == "circle":
        radius = max(math.hypot(*end) for _, _, end in legs) + 0.25
        pairs = zip(texts, map(_angle, middles), strict=True)
        return [Label(text, polar(radius, angle), angle, "left") for text, angle in pairs]
    is_grid = layout.kind == "grid"
    y = layout.points[:, 1].max() + 0.4 if is_grid else min(end[1] for _, _, end in legs) - 0.3
    x = middles[:, 0] - (polar(0.6, -135)[0] if is_grid else 0)
    turned = 90.0 if is_grid else -90.0, "left"
    if max(map(len, texts)) * 0.14 < min(np.diff(np.sort(x)), default=np.inf):
        turned = 0.0, "center"
    return [Label(text, np.array([a, y]), *turned) for text, a in zip(texts, x, strict=True)]


def find_chain(structure: Structure) -> tuple[list[int], list[int | None]] | None:
    """Return vertices of a chain or ring, and the bonds before, between and after them."""
    edges = structure.edges
    bonds = [[e for e in own if edges[e].site is None] for own in structure.edges_of]
    if structure.shared or max(map(len, bonds)) > 2:
        return None
    start = next((v for v, own in enumerate(bonds) if len(own) < 2), 0)
    # of a ring, the bond before the first is the one to the later vertex
    before = sorted(bonds[start], key=lambda e: edges[e].other_end(start))[1:]
    order, path = [start], [before[0] if before else None]
    while True:
        onwards = [e for e in bonds[order[-1]] if e != path[-1]]
        path.append(onwards[0] if onwards else None)
        vertex = edges[onwards[0]].other_end(order[-1]) if onwards else start
        if vertex == start:
            path[0] = path[-1]
            return (order, path) if len(order) == len(bonds) else None
        order.append(vertex)


def find_tree(structure: Structure) -> list[tuple[int, int | None]] | None:
    """Return the vertices of a tree, each after its parent, with the bonds to the parents."""
    edges, bonds = structure.edges, set(structure.bonds)
    count = len(structure.vertices)
    if len(bonds) != count - 1:
        return None
    root = next((v for v in range(count)[::-1] if not structure.sites_at(v)), 0)
    found: dict[int, int | None] = {root: None}
    queue = [root]
    for vertex in queue:
        for e in structure.edges_of[vertex]:
            if e in bonds and (child := edges[e].other_end(vertex)) not in found:
                found[child] = e
                queue.append(child)
    return list(found.items()) if len(found) == count else None
