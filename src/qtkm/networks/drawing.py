"""Drawings of a network with its dimensions: as text, and as a plot with matplotlib.

Both see a `Structure` and nothing else, so they draw networks to come as well.
"""

import itertools
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .structure import Edge, Structure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: characters of a line of text, and lines of a text
WIDTH, MOST_LINES = 100, 100
#: sites that a plot puts in a row; more of them go around a circle
LONGEST_ROW = 16
#: inches of a plot: of a unit of its coordinates, and of the whole at most
UNIT, LARGEST = 0.62, 12.0
COLUMN_COLOURS = ("#9cc9ec", "#d3e6f5")  # of the sites of even and odd columns
CORE_COLOUR, OUTPUT_COLOUR, LINE_COLOUR, SHARED_COLOUR = "#f2c590", "#bfe0c4", "#4a5a6a", "#c8641b"


# -- what kind of structure it is -----------------------------------------------------------


def _joins(structure: Structure, shared: bool) -> list[int]:
    """Positions of the bonds, or of the indices that any other number of cores share."""
    edges = enumerate(structure.edges)
    return [e for e, edge in edges if edge.site is None and (len(edge.vertices) != 2) == shared]


def _other(edge: Edge, vertex: int) -> int:
    return edge.vertices[edge.vertices[0] == vertex]


def _is_outputs(edge: Edge) -> bool:
    return edge.site is not None and edge.name.endswith("outputs")


def _legs(structure: Structure, vertex: int) -> list[Edge]:
    own = [structure.edges[e] for e in structure.edges_of[vertex]]
    return [edge for edge in own if edge.site is not None]


def _sites(structure: Structure, vertex: int) -> list[tuple[int, int]]:
    legs = _legs(structure, vertex)
    return [edge.site for edge in legs if edge.site is not None and not _is_outputs(edge)]


def _chain(structure: Structure) -> tuple[list[int], list[int | None]] | None:
    """Vertices of a chain or ring, and the bonds before, between and after them (if any)."""
    edges = structure.edges
    bonds = [[e for e in own if edges[e].site is None] for own in structure.edges_of]
    if _joins(structure, shared=True) or max(map(len, bonds)) > 2:
        return None
    start = next((v for v, own in enumerate(bonds) if len(own) < 2), 0)
    closing = max(bonds[start], key=lambda e: _other(edges[e], start), default=None)
    order, path = [start], [closing if len(bonds[start]) == 2 else None]
    while True:
        onwards = [e for e in bonds[order[-1]] if e != path[-1]]
        path.append(onwards[0] if onwards else None)
        vertex = _other(edges[onwards[0]], order[-1]) if onwards else start
        if vertex == start:
            path[0] = path[-1]
            return (order, path) if len(order) == len(bonds) else None
        order.append(vertex)


def _tree(structure: Structure) -> list[tuple[int, int | None]] | None:
    """Vertices of a tree of bonds, every one after its parent, with the bonds to the parents."""
    edges, bonds = structure.edges, _joins(structure, shared=False)
    count = len(structure.vertices)
    if len(bonds) != count - 1:
        return None
    root = next((v for v in range(count)[::-1] if not _sites(structure, v)), 0)
    found: dict[int, int | None] = {root: None}
    queue = [root]
    for vertex in queue:
        for e in structure.edges_of[vertex]:
            if e in bonds and (child := _other(edges[e], vertex)) not in found:
                found[child] = e
                queue.append(child)
    return list(found.items()) if len(found) == count else None


# -- text -----------------------------------------------------------------------------------


def describe(structure: Structure, name: str) -> str:
    """A network as text: its size, then a drawing with the sizes of all bonds and legs.

    Parameters
    ----------
    structure : Structure
    name : str
        What the network is called.

    Returns
    -------
    str
        No more than 101 lines of 100 characters: a line or two a column for a train, a ring
        and a CPD, an indented line a core for a tree, and a list of the cores and their
        neighbours for all others.  What is longer is cut in the middle.
    """
    count = len(structure.vertices)
    head = (
        f"{name}: {count} core{'s' * (count > 1)}, P = {structure.n_parameters:,} parameters, "
        f"VC bound {structure.vc_bound:,.0f}"
    )
    lines = (
        _chain_lines(structure) or _star_lines(structure) or _tree_lines(structure)
        or list(_list_lines(structure))
    )  # fmt: skip
    if len(lines) > MOST_LINES:
        tail = MOST_LINES // 4
        left_out = len(lines) - MOST_LINES + 1
        lines = [*lines[: -left_out - tail], f"… {left_out} more lines …", *lines[-tail:]]
    return "\n".join([head, *lines])


def _chain_lines(structure: Structure) -> list[str]:
    chain = _chain(structure)
    if chain is None:
        return []
    order, path = chain
    sizes = ["1" if e is None else str(structure.edges[e].size) for e in path]
    cells = [f"─{_box(structure, v)}─{sizes[i + 1]}" for i, v in enumerate(order)]
    lines = _by_column(structure, order, cells, WIDTH, sizes)
    note = "[leg]─bond─[leg]"
    if path[0] is not None:
        note += f"; the bond after the last core is the one before the first, {sizes[0]}"
    return [*lines, note]


def _star_lines(structure: Structure) -> list[str]:
    shared = _joins(structure, shared=True)
    count = len(structure.vertices)
    if len(shared) != 1 or _joins(structure, shared=False):
        return []
    edge = structure.edges[shared[0]]
    order = list(range(count))
    note = f"{edge.name} = {edge.size}, shared by all {count} cores"[: WIDTH // 2]
    cells = [f"{_box(structure, v)} " for v in order]
    lines = _by_column(structure, order, cells, WIDTH - len(note) - 8, [""] * count)
    width = max(map(len, lines))
    ends = ["┬─ " + note, *"┤" * (len(lines) - 2), "┘"][: len(lines)]
    drawn = [f"{line:<{width}}─{end}" for line, end in zip(lines, ends, strict=True)]
    return [*drawn, "[leg]"]


def _box(structure: Structure, vertex: int) -> str:
    return f"[{'·'.join(str(leg.size) for leg in _legs(structure, vertex))}]"


def _by_column(
    structure: Structure,
    order: Sequence[int],
    cells: Sequence[str],
    width: int,
    starts: Sequence[str],
) -> list[str]:
    """Cells of neighbours in one column on a line, or on several if it is too short."""

    def label(i: int) -> str:
        legs = _legs(structure, order[i])
        if not legs or legs[0].site is None:
            return textwrap.shorten(structure.vertices[order[i]], 20, placeholder="…")
        return "outputs" if _is_outputs(legs[0]) else f"column {legs[0].site[0]}"

    groups = [(text, list(group)) for text, group in itertools.groupby(range(len(order)), label)]
    indent = max(len(text) for text, _ in groups) + 2
    lines = []
    for text, group in groups:
        line = f"{text:<{indent}}{starts[group[0]]}"
        for i in group:
            if len(line) + len(cells[i]) > width:
                lines.append(line)
                line = " " * indent + starts[i]
            line += cells[i]
        lines.append(line)
    return lines


def _core(structure: Structure, vertex: int, skip: Sequence[int] = ()) -> str:
    """Name and shape of a core, and where its axes go."""
    name, parts, bonds = structure.vertices[vertex], [], []
    for e in structure.edges_of[vertex]:
        edge = structure.edges[e]
        if _is_outputs(edge):
            parts.append(f"outputs {edge.size}")
        elif edge.site is not None:
            site = "column {}, level {}".format(*edge.site)
            parts.append(f"leg {edge.size}" + (f" to {site}" if site != name else ""))
        elif len(edge.vertices) != 2:
            parts.append(f"{edge.name} = {edge.size} of {len(edge.vertices)} cores")
        elif e not in skip:
            other = structure.vertices[_other(edge, vertex)]
            # a bond that is called after its ends needs no name here
            label = "" if name in edge.name or other in edge.name else f"{edge.name} = "
            bonds.append(f"{label}{edge.size} to {other}")
    if bonds:
        parts.append(f"bond{'s' * (len(bonds) > 1)} {', '.join(bonds)}")
    shape = " × ".join(map(str, structure.shapes[vertex]))
    return f"{name}  ({shape})  {'; '.join(parts)}".rstrip()


def _tree_lines(structure: Structure) -> list[str]:
    tree = _tree(structure)
    if tree is None:
        return []
    bonds = _joins(structure, shared=False)
    children: dict[int, list[tuple[int, int]]] = {}
    for vertex, e in tree:
        if e is not None:
            children.setdefault(_other(structure.edges[e], vertex), []).append((vertex, e))

    lines, stack = [], [(tree[0][0], "", "")]
    while stack:
        vertex, first, rest = stack.pop()
        lines.append(first + _core(structure, vertex, bonds))
        own = children.get(vertex, [])
        for i, (child, e) in reversed(list(enumerate(own))):
            corner, rail = ("└", " ") if i == len(own) - 1 else ("├", "│")
            bond = f"─{structure.edges[e].size}─ "
            stack.append((child, rest + corner + bond, rest + rail + " " * len(bond)))
    return lines if max(map(len, lines)) <= WIDTH else []


def _list_lines(structure: Structure) -> Iterator[str]:
    for vertex in range(len(structure.vertices)):
        yield from textwrap.wrap(
            _core(structure, vertex), WIDTH, subsequent_indent=" " * 4, break_on_hyphens=False
        )


# -- plot -----------------------------------------------------------------------------------


@dataclass
class Layout:
    """Where things are, in units of the distance between neighbours.

    Attributes
    ----------
    kind : {"row", "circle", "grid", "free"}
        Legs point down, outwards, down to the left, or where there is room.
    points : (n_vertices, 2) array
    shared : dict
        From the position of an index that many cores share to its point.
    """

    kind: str
    points: NDArray
    shared: dict[int, NDArray] = field(default_factory=dict)


def plot(
    structure: Structure, ax: "Axes | None" = None, column_names: Sequence[str] | None = None
) -> "Axes":
    """Plot a network: circles are cores, lines bonds and stubs legs, with their sizes.

    Parameters
    ----------
    structure : Structure
    ax : matplotlib Axes, optional
        Where to plot; a figure of its own by default.
    column_names : sequence of str, optional
        What to write instead of "column 0", "column 1" and so on.

    Returns
    -------
    matplotlib Axes
        With circles for the cores, blue where they have the leg of a site; a square is an
        index that many cores share.  Lines are the wider the larger a bond is.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Plotting a network needs matplotlib: pip install qtkm[plot]"
        ) from error
    layout = _layout(structure)
    legs = _stubs(structure, layout)
    labels = _column_labels(structure, layout, legs, column_names)
    corners = [*layout.points, *layout.shared.values(), *(end for _, _, end in legs)]
    corners += [point + _turned(0.13 * len(text), turn) for text, point, turn in labels]
    low, high = np.min(corners, axis=0) - 0.4, np.max(corners, axis=0) + 0.4
    if ax is None:
        inches = (high - low) * min(UNIT, LARGEST / max(high - low))
        figure = plt.figure(figsize=(max(inches[0], 2.5), inches[1] + 0.4))
        ax = figure.add_axes((0, 0, 1, inches[1] / (inches[1] + 0.4)))  # a title has room above
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), aspect="equal")
    ax.axis("off")
    box = ax.get_window_extent()
    pixels = min(np.array([box.width, box.height]) / (high - low))
    _Pen(ax, pixels * 72 / ax.get_figure().dpi).draw(structure, layout, legs, labels)
    return ax


def _layout(structure: Structure) -> Layout:
    count, chain = len(structure.vertices), _chain(structure)
    if chain is not None:
        order, path = chain
        at, closed = np.argsort(order).astype(float), path[0] is not None
        if closed or count > LONGEST_ROW:
            return Layout("circle", _around(at, np.zeros(count), count + 2 * (not closed)))
        return Layout("row", np.stack([at, np.zeros(count)], axis=1))
    bonds = [structure.edges[e].vertices for e in _joins(structure, shared=False)]
    sites = [_sites(structure, v) for v in range(count)]
    if bonds and all(len(own) == 1 for own in sites) and not _joins(structure, shared=True):
        points = np.array([own[0] for own in sites]) * [1.0, -1.0]
        if all(np.abs(points[a] - points[b]).sum() == 1 for a, b in bonds):
            return Layout("grid", points)
    return _layered(structure, sites) or _free(structure)


def _around(at: NDArray, height: NDArray, count: float) -> NDArray:
    """Points around a circle, clockwise from the top; what is high is near the centre."""
    top = height.max() if np.sum(height == height.max()) == 1 < len(at) else height.max() + 1
    radius = max(count / (2 * np.pi), 0.8 * top, 1.1 if len(at) > 2 else 0.6) * (1 - height / top)
    angle = np.pi / 2 - 2 * np.pi * (at + 0.5) / count
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1)


def _layered(structure: Structure, sites: Sequence[Sequence[Any]]) -> Layout | None:
    """Cores above those that come before them, with the sites in a row at the bottom."""
    tree, bonds = _tree(structure), _joins(structure, shared=False)
    order = range(len(sites)) if tree is None else [v for v, _ in reversed(tree)]
    number = {site: i for i, site in enumerate(sorted(itertools.chain(*sites)))}
    points: dict[int, tuple[float, int]] = {}
    width = len(number)
    for v in order:
        near = (_other(structure.edges[e], v) for e in structure.edges_of[v] if e in bonds)
        below = [points[u] for u in near if u in points]
        at = [number[site] for site in sites[v]] + [x for x, _ in below]
        if not at:  # an output core of its own
            at, width = [width], width + 1
        points[v] = float(np.mean(at)), 1 + max((y for _, y in below), default=-1)
    flat = np.array([points[v] for v in range(len(sites))], dtype=float)
    top = flat[:, 1].max()
    deep = tree is None and bonds and (all(sites) or top > 2 * math.log2(len(sites)) + 2)
    if deep or _closest(flat) < 0.5:
        return None
    shared = _joins(structure, shared=True)
    if top <= 1 or width > LONGEST_ROW:
        flat = _around(flat[:, 0], flat[:, 1], width)
        taken = len(shared) > 1 or np.linalg.norm(flat, axis=1).min() < 0.3
        radius = 0.45 * np.linalg.norm(flat, axis=1).max() * taken
        angles = np.pi / 2 + 2 * np.pi * np.arange(len(shared)) / max(len(shared), 1)
        hubs = radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
        return Layout("circle", flat, dict(zip(shared, hubs, strict=True)))
    hubs = np.array([(flat[:, 0].mean(), top + 1 + i) for i in range(len(shared))])
    return Layout("row", flat, dict(zip(shared, hubs, strict=True)))


def _free(structure: Structure) -> Layout:
    """Points whose distances are near those in the graph, by majorizing the stress."""
    n, shared = len(structure.vertices), _joins(structure, shared=True)
    size = n + len(shared)
    distance = np.where(np.eye(size) > 0, 0.0, size)
    for e in _joins(structure, shared=False):
        a, b = structure.edges[e].vertices
        distance[a, b] = distance[b, a] = 1.3
    for i, e in enumerate(shared):
        members = list(structure.edges[e].vertices)
        distance[n + i, members] = distance[members, n + i] = 1.0
    for k in range(size):
        distance = np.minimum(distance, distance[:, k, None] + distance[k])
    center = np.eye(size) - 1 / size
    values, vectors = np.linalg.eigh(-center @ distance**2 @ center / 2)
    points = vectors[:, -2:] * np.sqrt(np.abs(values[-2:]))
    weight = 1 / (distance + np.eye(size)) ** 2 * (1 - np.eye(size))
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(300):
        now = np.linalg.norm(points[:, None] - points, axis=2)
        pull = weight * distance / np.maximum(now, 1e-9)
        points = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ points)
    points = points / min(1.0, _closest(points) / 0.6) if _closest(points) > 0.1 else points
    return Layout("free", points[:n], dict(zip(shared, points[n:], strict=True)))


def _closest(points: NDArray) -> float:
    distance = np.linalg.norm(points[:, None] - points, axis=2)
    return float((distance + np.where(np.eye(len(points)) > 0, np.inf, 0)).min())


def _stubs(structure: Structure, layout: Layout) -> list[tuple[Edge, int, NDArray]]:
    """Legs, with their vertices and the points where they end."""
    stubs = []
    radius = np.linalg.norm(layout.points, axis=1)
    for v, point in enumerate(layout.points):
        legs = _legs(structure, v)
        down = {"row": -90.0, "grid": -135.0, "free": None,
                "circle": math.degrees(math.atan2(point[1], point[0]))}[layout.kind]  # fmt: skip
        if layout.kind == "row" and point[1] > 0:
            down = None
        if layout.kind == "circle" and radius[v] < 0.95 * radius.max():
            down = None
        taken = _directions(structure, layout, v)
        plain = [edge for edge in legs if not (layout.kind == "grid" and _is_outputs(edge))]
        for i, edge in enumerate(legs):
            if down is None or edge not in plain:
                options = -90 + 15.0 * np.arange(24)
                gaps = np.abs((options[:, None] - taken + 180) % 360 - 180).min(axis=1, initial=180)
                angle = options[np.argmax(np.round(gaps))]
            else:
                angle = down + 50 * (i - (len(plain) - 1) / 2)
            taken = np.append(taken, angle)
            stubs.append((edge, v, point + _turned(0.6, angle)))
    return stubs


def _directions(structure: Structure, layout: Layout, vertex: int) -> NDArray:
    """Angles, in degrees, at which bonds and shared indices leave a vertex."""
    ends = []
    for e in structure.edges_of[vertex]:
        edge = structure.edges[e]
        if edge.site is None:
            hub = layout.shared.get(e)
            ends.append(layout.points[_other(edge, vertex)] if hub is None else hub)
    x, y = (np.reshape(ends, (-1, 2)) - layout.points[vertex]).T
    return np.degrees(np.arctan2(y, x))


def _turned(length: float, angle: float) -> NDArray:
    """Vector of a length in a direction in degrees."""
    return length * np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])


def _column_labels(
    structure: Structure,
    layout: Layout,
    stubs: Sequence[tuple[Edge, int, NDArray]],
    names: Sequence[str] | None,
) -> list[tuple[str, NDArray, float]]:
    """Texts at the legs of every column, with their points and angles."""
    if layout.kind == "free":
        return []
    ends: dict[int, list[NDArray]] = {}
    for edge, _, end in stubs:
        if edge.site is not None and not _is_outputs(edge):
            ends.setdefault(edge.site[0], []).append(end)
    texts = [_column_name(d, names) for d in ends]
    middles = np.array([np.mean(own, axis=0) for own in ends.values()])
    if layout.kind == "circle":
        angles = np.degrees(np.arctan2(middles[:, 1], middles[:, 0]))
        radius = max(np.linalg.norm(end) for _, _, end in stubs) + 0.25
        return [(t, _turned(radius, a), a) for t, a in zip(texts, angles, strict=True)]
    if layout.kind == "grid":
        y, angle = 0.4, 90.0
        middles = np.array([(d, 0.0) for d in ends])
    else:
        y, angle = min(end[1] for _, _, end in stubs) - 0.3, -90.0
    room = min(np.diff(np.sort(middles[:, 0])), default=np.inf)
    if max(map(len, texts)) * 0.13 < room:
        angle = 0.0
    return [(t, np.array([x, y]), angle) for t, x in zip(texts, middles[:, 0], strict=True)]


def _column_name(column: int, names: Sequence[str] | None) -> str:
    return f"column {column}" if names is None else str(names[column])


class _Pen:
    """What draws on Axes whose unit of length has so many points."""

    def __init__(self, ax: "Axes", unit: float):
        self.ax, self.unit = ax, unit

    def draw(self, structure: Structure, layout: Layout, stubs: Any, labels: Any) -> None:
        self.bonds(structure, layout)
        for edge, v, end in stubs:
            start = layout.points[v]
            self.line([start, start + 0.75 * (end - start)], edge.size)
            site = "{}.{} = ".format(*edge.site) if layout.kind == "free" else ""
            if _is_outputs(edge):
                site = "outputs "
            self.text(end, f"{site}{edge.size}", color=LINE_COLOUR)
        colours = [self.colour(structure, v) for v in range(len(layout.points))]
        self.ax.scatter(
            *layout.points.T, s=(0.44 * self.unit) ** 2, c=colours, edgecolors=LINE_COLOUR, zorder=3,
            linewidths=0.02 * self.unit, label="cores",
        )  # fmt: skip
        for v, point in enumerate(layout.points):
            self.text(point, _short(structure, v), 0.15)
        for text, point, angle in labels:
            flipped = abs(angle) > 90
            side = "center" if angle == 0 and layout.kind != "circle" else "left"
            self.text(
                point, text, 0.22, rotation=angle + 180 * flipped, rotation_mode="anchor",
                ha="right" if flipped else side, weight="bold", color=LINE_COLOUR,
            )  # fmt: skip

    def bonds(self, structure: Structure, layout: Layout) -> None:
        groups: dict[Any, list[Edge]] = {}
        for e in _joins(structure, shared=False):
            groups.setdefault(structure.edges[e].vertices, []).append(structure.edges[e])
        for (a, b), edges in groups.items():
            for i, edge in enumerate(edges):
                bend = 0.5 * (i - (len(edges) - 1) / 2) + 0.6 * (a == b)
                line = _curve(layout.points[a], layout.points[b], bend)
                self.line(line, edge.size)
                self.text(line[len(line) // 2], str(edge.size), background="white")
        for e, hub in layout.shared.items():
            edge = structure.edges[e]
            for v in edge.vertices:
                self.line([layout.points[v], hub], edge.size, SHARED_COLOUR, alpha=0.6)
        if layout.shared:
            self.ax.scatter(
                *np.array(list(layout.shared.values())).T, s=(0.34 * self.unit) ** 2, marker="s",
                c=SHARED_COLOUR, zorder=3, label="shared indices",
            )  # fmt: skip
        for e, hub in layout.shared.items():
            self.text(hub, str(structure.edges[e].size), color="white", weight="bold")

    def line(self, points: Any, size: int, colour: str = LINE_COLOUR, **style: Any) -> None:
        width = min(0.015 + 0.01 * math.log2(size), 0.1) * self.unit
        self.ax.plot(*np.array(points).T, color=colour, linewidth=width, zorder=1, **style)

    def text(
        self, point: Any, text: str, height: float = 0.19, background: str | None = None,
        **style: Any,
    ) -> None:  # fmt: skip
        style = {"ha": "center", "color": "black"} | style
        if background is not None:
            style["bbox"] = {"facecolor": background, "edgecolor": "none", "pad": 0.02 * self.unit}
        size = min(height * self.unit, 60 * height)
        self.ax.text(*point, text, fontsize=size, va="center", zorder=4, linespacing=0.9, **style)

    @staticmethod
    def colour(structure: Structure, vertex: int) -> str:
        sites = _sites(structure, vertex)
        if sites:
            return COLUMN_COLOURS[sites[0][0] % 2]
        return OUTPUT_COLOUR if _legs(structure, vertex) else CORE_COLOUR


def _curve(a: NDArray, b: NDArray, bend: float) -> NDArray:
    """Points of a line that bends to one side, (3, 2) or more; a loop from a point to itself."""
    t = np.linspace(0, 1, 21)[:, None]
    if np.array_equal(a, b):
        turn = 2 * np.pi * t
        return a + bend * np.hstack([np.sin(turn) / 2, (1 - np.cos(turn)) / 2])
    across = np.array([a[1] - b[1], b[0] - a[0]]) / np.linalg.norm(b - a)
    return a + t * (b - a) + 4 * t * (1 - t) * bend * across


def _short(structure: Structure, vertex: int) -> str:
    """What fits into the circle of a core."""
    name, sites = structure.vertices[vertex], _sites(structure, vertex)
    if len(sites) == 1 and name == "column {}, level {}".format(*sites[0]):
        return "{}.{}".format(*sites[0])
    words = ["out" if word == "outputs" else word for word in name.split()[:2]]
    return "\n".join(word if len(word) <= 4 else word[:3] + "…" for word in words)
