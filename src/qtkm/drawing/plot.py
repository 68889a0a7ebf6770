"""Plots of networks with matplotlib, and where they put cores, legs and labels."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import breadth_first_order, shortest_path

from ..escaping import shorten
from ..extras import need
from ..structure import Edge, Structure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: sites that a plot puts in a row; more of them go around a circle
LONGEST_ROW = 16
#: inches of a plot: of a unit of its coordinates, and of the whole at most
UNIT, LARGEST = 0.62, 12.0
COLUMN_COLOURS = ("#9cc9ec", "#d3e6f5")  # of the sites of even and odd columns
CORE_COLOUR, OUTPUT_COLOUR, LINE_COLOUR, SHARED_COLOUR = "#f2c590", "#bfe0c4", "#4a5a6a", "#c8641b"


@dataclass
class Layout:
    """Where things are, in units of the distance between neighbours."""

    kind: str  # row, circle, grid or free
    points: NDArray  # (n_vertices, 2)
    down: NDArray  # angles in degrees that the legs point at; nan for where there is room
    shared: dict[int, NDArray]  # from the position of an index that many cores share to its point


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


def plot(
    structure: Structure, ax: "Axes | None" = None, column_names: Sequence[str] | None = None
) -> "Axes":
    """Plot a network: circles are cores, lines bonds and stubs legs, with their sizes.

    Blue cores have a leg to a site, green ones to the outputs and orange ones none; level k of
    column d is written d.k. A square is an index that all cores around it share. The larger an
    index is, the wider is its line.
    """
    plt = need("matplotlib.pyplot", "networks are plotted", "plot")
    layout = lay_out(structure)
    legs = place_legs(structure, layout)
    sizes = [_leg_label(layout, *leg) for leg in legs]
    columns = name_columns(layout, legs, column_names)
    reach = [*layout.points, *layout.shared.values()]
    for label in columns + sizes:
        back = 2 * label.point - label.end if label.side == "center" else label.point
        reach += [label.end, back]
    low, high = np.min(reach, axis=0) - 0.4, np.max(reach, axis=0) + 0.4
    if ax is None:
        width, height = (high - low) * min(UNIT, LARGEST / max(high - low))
        figure = plt.figure(figsize=(max(width, 2.5), height + 0.4))
        ax = figure.add_axes((0, 0, 1, height / (height + 0.4)))  # leaves room for a title
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.axis("off")
    box = ax.get_window_extent()
    pixels = min(box.width / (high[0] - low[0]), box.height / (high[1] - low[1]))
    pen = _Pen(ax, pixels * 72 / ax.figure.dpi)
    _draw_lines(pen, structure, layout, legs)
    _draw_vertices(pen, structure, layout)
    for labels, weight in ((sizes, "normal"), (columns, "bold")):
        for label in labels:
            pen.text(label, weight=weight, color=LINE_COLOUR)
    return ax


def _leg_label(layout: Layout, edge: Edge, vertex: int, end: NDArray) -> Label:
    text = str(edge.size)
    if edge.is_outputs:
        text = f"out {text}"
    elif layout.kind == "free" and edge.site is not None:  # no column is written nearby
        text = f"{edge.site[0]}.{edge.site[1]} = {text}"
    across = (end - layout.points[vertex])[0]
    if len(text) < 3 or abs(across) < 0.3:
        return Label(text, end)
    # a text to the left begins where it would end
    return Label(text, end, 0.0 if across > 0 else 180.0, "left")


def _draw_lines(
    pen: "_Pen", structure: Structure, layout: Layout, legs: Sequence[tuple[Edge, int, NDArray]]
) -> None:
    parallel: dict[tuple[int, ...], list[int]] = {}
    for e in structure.bonds:
        parallel.setdefault(structure.edges[e].vertices, []).append(structure.edges[e].size)
    for (a, b), sizes in parallel.items():
        for i, size in enumerate(sizes):
            line = _curve(layout.points[a], layout.points[b], 0.6 * (i - (len(sizes) - 1) / 2))
            pen.line(line, size)
            pen.text(Label(str(size), line[len(line) // 2]), background="white")
    for e, hub in layout.shared.items():
        for v in structure.edges[e].vertices:
            pen.line([layout.points[v], hub], structure.edges[e].size, SHARED_COLOUR, alpha=0.6)
    for edge, v, end in legs:
        start = layout.points[v]
        pen.line([start, start + 0.75 * (end - start)], edge.size)


def _curve(a: NDArray, b: NDArray, bend: float) -> NDArray:
    """Return a line that bends to one side."""
    t = np.linspace(0, 1, 21)[:, None]
    across = np.array([a[1] - b[1], b[0] - a[0]]) / np.linalg.norm(b - a)
    return a + t * (b - a) + 4 * t * (1 - t) * bend * across


def _draw_vertices(pen: "_Pen", structure: Structure, layout: Layout) -> None:
    colours = []
    for v, point in enumerate(layout.points):
        sites, legs = structure.sites_at(v), structure.legs_at(v)
        site_colour = COLUMN_COLOURS[sites[0][0] % 2] if sites else ""
        colours.append(site_colour or (OUTPUT_COLOUR if legs else CORE_COLOUR))
        pen.text(Label(_short_name(structure, v), point), 0.15)
    pen.markers(layout.points, 0.44, color=colours, edgecolors=LINE_COLOUR, label="cores")
    if layout.shared:
        hubs = np.array(list(layout.shared.values()))
        pen.markers(hubs, 0.34, marker="s", color=SHARED_COLOUR, label="shared indices")
    for e, hub in layout.shared.items():
        pen.text(Label(str(structure.edges[e].size), hub), color="white", weight="bold")


def _short_name(structure: Structure, vertex: int) -> str:
    """Return a name that fits into the circle of a core."""
    name, sites = structure.vertices[vertex], structure.sites_at(vertex)
    if sites and name == "column {}, level {}".format(*sites[0]):
        return "{}.{}".format(*sites[0])
    words = ["out" if word == "outputs" else word for word in name.split()[:2]]
    return "\n".join(shorten(word, 4) for word in words)


class _Pen:
    """Draws on Axes whose unit of length has so many points."""

    def __init__(self, ax: "Axes", unit: float):
        self.ax, self.unit = ax, unit

    def line(self, points: Any, size: int, colour: str = LINE_COLOUR, **style: Any) -> None:
        width = min(0.015 + 0.01 * math.log2(size), 0.1) * self.unit
        self.ax.plot(*np.array(points).T, color=colour, linewidth=width, zorder=1, **style)

    def markers(self, points: NDArray, width: float, **style: Any) -> None:
        x, y = points.T
        area = (width * self.unit) ** 2
        self.ax.scatter(x, y, s=area, linewidths=0.02 * self.unit, zorder=3, **style)

    def text(self, label: Label, height: float = 0.19, background: str = "", **style: Any) -> None:
        if background:
            style["bbox"] = {"facecolor": background, "edgecolor": "none", "pad": 0.02 * self.unit}
        flipped = abs(label.angle) > 90
        style |= {"ha": "right" if flipped else label.side, "va": "center", "linespacing": 0.9}
        style |= {"rotation": label.angle + 180 * flipped, "rotation_mode": "anchor"}
        x, y = label.point
        size, order = height * self.unit, 2 if background else 4
        self.ax.text(x, y, label.text, fontsize=size, zorder=order, **style)


def lay_out(structure: Structure) -> Layout:
    """Choose where to put the cores of a network."""
    layout = _chain(structure) or _grid(structure) or _layered(structure) or _free(structure)
    if layout.kind == "row":  # the name of a column is a little wider than the distance of cores
        for point in (*layout.points, *layout.shared.values()):
            point[0] *= 1.25
    return layout


def _chain(structure: Structure) -> Layout | None:
    """Lay out a chain as a row or, as a ring, a circle; None for other networks."""
    order, path = find_chain(structure) or ([], [])
    if not order:
        return None
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
    bonds = [structure.edges[e].vertices for e in structure.bonds]
    ends = np.array(bonds, dtype=int).reshape(-1, 2).T
    if (np.abs(points[ends[0]] - points[ends[1]]).sum(axis=1) != 1).any():
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
    bonds, count = structure.bonds, len(structure.vertices)
    root = next((v for v in range(count)[::-1] if not structure.sites_at(v)), 0)
    found = np.zeros((count, count), dtype=int)  # bonds counted from 1
    for e in bonds:
        a, b = structure.edges[e].vertices
        found[a, b] = found[b, a] = e + 1
    order, parents = breadth_first_order(found, root)
    if len(order) < count or len(bonds) >= count:
        return None
    return [(root, None), *((v, int(found[v, parents[v]]) - 1) for v in order[1:].tolist())]
