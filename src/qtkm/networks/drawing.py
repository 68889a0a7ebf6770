"""Drawings of a network with its dimensions: as text, and as a plot with matplotlib.

Both see a `Structure` and nothing else, so they draw networks to come as well.
"""

import itertools
import math
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    note = _cut(f"{edge.name} = {edge.size}, shared by all cores", WIDTH // 2)
    cells = [f"{_box(structure, v)} " for v in order]
    lines = _by_column(structure, order, cells, WIDTH - len(note) - 8, [""] * count)
    width = max(map(len, lines))
    ends = ["┬─ " + note, *"┤" * (len(lines) - 2), "┘"][: len(lines)]
    drawn = [f"{line:<{width}}─{end}" for line, end in zip(lines, ends, strict=True)]
    return [*drawn, f"[leg], a core of the shape (leg × {edge.size})"]


def _box(structure: Structure, vertex: int) -> str:
    return f"[{'·'.join(str(leg.size) for leg in _legs(structure, vertex)) or ' '}]"


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"


def _by_column(
    structure: Structure,
    order: Sequence[int],
    cells: Sequence[str],
    width: int,
    starts: Sequence[str],
) -> list[str]:
    """Cells of neighbours in one column on a line, or on several if it is too short."""

    def label(i: int) -> str:
        columns = sorted({column for column, _ in _sites(structure, order[i])})
        text = f"column{'s' * (len(columns) > 1)} {', '.join(map(str, columns))}"
        return _cut(text if columns else structure.vertices[order[i]], 20)

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


# -- plot: where things are ------------------------------------------------------------------


@dataclass
class Layout:
    """Where things are, in units of the distance between neighbours.

    Attributes
    ----------
    kind : {"row", "circle", "grid", "free"}
    points : (n_vertices, 2) array
    down : (n_vertices,) array
        Angles in degrees that the legs of the vertices point at; nan for where there is room.
    shared : dict
        From the position of an index that many cores share to its point.
    """

    kind: str
    points: NDArray
    down: NDArray
    shared: dict[int, NDArray]


def _layout(structure: Structure) -> Layout:
    chain = _chain(structure)
    if chain is not None:
        order, path = chain
        is_open = path[0] is None
        flat = np.zeros((len(order), 2))
        flat[order, 0] = np.arange(len(order)) + is_open
        if is_open and len(flat) <= LONGEST_ROW:
            return Layout("row", flat, np.full(len(flat), -90.0), {})
        snake = _snake(structure, order) if is_open else None
        return snake or _around(flat, len(flat) + 2 * is_open, [])
    return _grid(structure) or _layered(structure) or _free(structure)


def _snake(structure: Structure, order: Sequence[int]) -> Layout | None:
    """A long chain, its columns side by side, down and up in turn; None if that is no smaller."""
    points, height = np.empty((len(order), 2)), np.zeros(1)
    columns = itertools.groupby(order, lambda v: [d for d, _ in _sites(structure, v)])
    for x, (_, group) in enumerate(columns):
        own = list(group)
        is_low = height[-1] < (height.min() + height.max()) / 2
        steps = height[-1] + np.arange(len(own)) * (1 if is_low else -1)
        points[own] = np.stack([np.full(len(own), 1.2 * x), steps], axis=1)
        height = np.append(height, steps)
    is_smaller = np.ptp(points, axis=0).max() < len(order) / np.pi
    return Layout("grid", points, np.full(len(order), -135.0), {}) if is_smaller else None


def _grid(structure: Structure) -> Layout | None:
    """Columns side by side, if all bonds join neighbours."""
    sites = [_sites(structure, v) for v in range(len(structure.vertices))]
    if _joins(structure, shared=True) or any(len(own) != 1 for own in sites):
        return None
    points = np.array([own[0] for own in sites])
    for e in _joins(structure, shared=False):
        a, b = structure.edges[e].vertices
        if np.abs(points[a] - points[b]).sum() != 1:
            return None
    return Layout("grid", points * [1.2, -1.0], np.full(len(points), -135.0), {})


def _layered(structure: Structure) -> Layout | None:
    """Cores above those that come before them, and the sites in a row at the bottom."""
    count, tree = len(structure.vertices), _tree(structure)
    bonds, shared = (_joins(structure, shared) for shared in (False, True))
    sites = [_sites(structure, v) for v in range(count)]
    number = {site: i for i, site in enumerate(sorted(itertools.chain(*sites)))}
    width = len(number)
    points: dict[int, tuple[float, int]] = {}
    for v in range(count) if tree is None else [v for v, _ in reversed(tree)]:
        near = (_other(structure.edges[e], v) for e in structure.edges_of[v] if e in bonds)
        below = [points[u] for u in near if u in points]
        at = [number[site] for site in sites[v]] + [x for x, _ in below]
        if not at:  # an output core that is a leaf
            at, width = [width], width + 1
        points[v] = float(np.mean(at)), 1 + max((y for _, y in below), default=-1)
    flat = np.array([points[v] for v in range(count)], dtype=float)
    top = flat[:, 1].max()
    if bonds and tree is None and (all(sites) or top > 2 * math.log2(count) + 2):
        return None
    if top <= 1 or width > LONGEST_ROW:
        return _around(flat, width, shared)
    if not _is_clear(structure, flat):
        return None
    hubs = {e: np.array([flat[:, 0].mean(), top + 1 + i]) for i, e in enumerate(shared)}
    return Layout("row", flat, np.where(flat[:, 1] == 0, -90.0, np.nan), hubs)


def _around(flat: NDArray, count: float, shared: Sequence[int]) -> Layout:
    """Points of a row around a circle, clockwise from the top; what is high is near the centre."""
    at, height = flat.T
    has_center = np.sum(height == height.max()) == 1 < len(at)
    top = height.max() + (not has_center)
    smallest = max(0.8 * top, 1.8 if has_center else 1.1 if len(at) > 2 else 0.6)
    radius = max(count / (2 * np.pi), smallest)
    angle = 90 - 360 * (at + 0.5) / count
    pairs = zip(radius * (1 - height / top), angle, strict=True)
    points = np.array([_polar(*pair) for pair in pairs])
    inner = 0.7 * radius * (has_center or len(shared) > 1)
    start = 90 - 90 / len(at) * (len(at) % 2 == 0)  # no line runs through the centre
    hubs = {e: _polar(inner, start - 360 * i / len(shared)) for i, e in enumerate(shared)}
    return Layout("circle", points, np.where(height == 0, angle, np.nan), hubs)


def _polar(length: float, angle: float) -> NDArray:
    """Vector of a length in a direction in degrees."""
    return length * np.array([math.cos(math.radians(angle)), math.sin(math.radians(angle))])


def _is_clear(structure: Structure, points: NDArray) -> bool:
    """Whether vertices are apart from one another and from the bonds of others."""
    for e in _joins(structure, shared=False):
        a, b = structure.edges[e].vertices
        along = points[b] - points[a]
        others = np.delete(points, [a, b], axis=0) - points[a]
        share = np.clip(others @ along / max(along @ along, 1e-9), 0, 1)
        if np.linalg.norm(others - share[:, None] * along, axis=1).min(initial=1) < 0.25:
            return False
    return True


def _free(structure: Structure) -> Layout:
    """Points whose distances are near those in the graph, by majorizing the stress [1]_.

    References
    ----------
    .. [1] Gansner, Koren, North, "Graph Drawing by Stress Majorization", Graph Drawing 2004.
    """
    n, shared = len(structure.vertices), _joins(structure, shared=True)
    size = n + len(shared)
    eye = np.eye(size)
    distance = size * (1 - eye)
    for e in _joins(structure, shared=False):
        a, b = structure.edges[e].vertices
        distance[a, b] = distance[b, a] = 1.3
    for i, e in enumerate(shared):
        members = list(structure.edges[e].vertices)
        distance[n + i, members] = distance[members, n + i] = 1.0
    for k in range(size):
        distance = np.minimum(distance, distance[:, k, None] + distance[k])
    center = eye - 1 / size
    values, vectors = np.linalg.eigh(-center @ distance**2 @ center / 2)
    points = vectors[:, -2:] * np.sqrt(np.abs(values[-2:]))
    weight = (1 - eye) / (distance + eye) ** 2
    inverse = np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight)
    for _ in range(200):
        now = np.linalg.norm(points[:, None] - points, axis=2)
        pull = weight * distance / np.maximum(now, 1e-9)
        points = inverse @ ((np.diag(pull.sum(axis=1)) - pull) @ points)
    hubs = dict(zip(shared, points[n:], strict=True))
    return Layout("free", points[:n], np.full(n, np.nan), hubs)


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
        return self.point + _polar(0.13 * len(self.text), self.angle)


def _legs_of(structure: Structure, layout: Layout) -> list[tuple[Edge, int, NDArray]]:
    """Legs, with their vertices and the points where they end."""
    options = -90 + 15.0 * np.arange(24)
    legs = []
    for v, point in enumerate(layout.points):
        own = _legs(structure, v)
        taken = _directions(structure, layout, v)
        for i, edge in enumerate(own):
            angle = layout.down[v] + 50 * (i - (len(own) - 1) / 2)
            if layout.kind == "grid":
                angle = 45.0 if _is_outputs(edge) else -135.0
            if np.isnan(angle):
                gaps = np.abs((options[:, None] - taken + 180) % 360 - 180)
                angle = options[np.argmax(np.round(gaps.min(axis=1, initial=180)))]
            taken = np.append(taken, angle)
            legs.append((edge, v, point + _polar(0.6, angle)))
    return legs


def _directions(structure: Structure, layout: Layout, vertex: int) -> NDArray:
    """Angles in degrees at which bonds and shared indices leave a vertex."""
    angles = []
    for e in structure.edges_of[vertex]:
        if structure.edges[e].site is None:
            end = layout.shared.get(e)
            end = layout.points[_other(structure.edges[e], vertex)] if end is None else end
            x, y = end - layout.points[vertex]
            angles.append(math.degrees(math.atan2(y, x)))
    return np.array(angles)


def _column_labels(
    layout: Layout, legs: Sequence[tuple[Edge, int, NDArray]], names: Sequence[str] | None
) -> list[Label]:
    """Names of the columns, each at its legs."""
    ends: dict[int, list[NDArray]] = {}
    for edge, _, end in legs:
        if edge.site is not None and not _is_outputs(edge):
            ends.setdefault(edge.site[0], []).append(end)
    if layout.kind == "free" or not ends:
        return []
    texts = [f"column {d}" if names is None else str(names[d]) for d in ends]
    middles = np.array([np.mean(own, axis=0) for own in ends.values()])
    if layout.kind == "circle":
        radius = max(math.hypot(*end) for _, _, end in legs) + 0.25
        angles = [math.degrees(math.atan2(y, x)) for x, y in middles]
        pairs = zip(texts, angles, strict=True)
        return [Label(text, _polar(radius, angle), angle, "left") for text, angle in pairs]
    is_grid = layout.kind == "grid"
    y = layout.points[:, 1].max() + 0.4 if is_grid else min(end[1] for _, _, end in legs) - 0.3
    x = middles[:, 0] - (_polar(0.6, -135)[0] if is_grid else 0)
    if max(map(len, texts)) * 0.12 < min(np.diff(np.sort(x)), default=np.inf):
        return [Label(text, np.array([a, y])) for text, a in zip(texts, x, strict=True)]
    angle = 90.0 if is_grid else -90.0
    return [Label(t, np.array([a, y]), angle, "left") for t, a in zip(texts, x, strict=True)]


# -- plot: the drawing ----------------------------------------------------------------------


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
        Blue cores have a leg to a site, green ones to the outputs and orange ones none; level
        k of column d is written d.k.  A square is an index that all cores around it share.
        The larger an index is, the wider is its line.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots of networks need matplotlib: pip install qtkm[plot]") from error
    layout = _layout(structure)
    legs = _legs_of(structure, layout)
    labels = [_leg_label(layout, *leg) for leg in legs]
    columns = _column_labels(layout, legs, column_names)
    reach = [label.end for label in columns + labels] + [label.point for label in columns + labels]
    reach += [2 * label.point - label.end for label in columns + labels if label.side == "center"]
    reach += [*layout.points, *layout.shared.values()]
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
    for label in labels:
        pen.text(label, color=LINE_COLOUR)
    for label in columns:
        pen.text(label, weight="bold", color=LINE_COLOUR)
    return ax


def _leg_label(layout: Layout, edge: Edge, vertex: int, end: NDArray) -> Label:
    text = str(edge.size)
    if _is_outputs(edge):
        text = f"out {text}"
    elif layout.kind == "free" and edge.site is not None:  # no column is written nearby
        text = f"{edge.site[0]}.{edge.site[1]} = {text}"
    across = (end - layout.points[vertex])[0]
    if len(text) < 3 or abs(across) < 0.3:
        return Label(text, end)
    # a text to the left begins where it would end
    return Label(text, end, 0.0, "left") if across > 0 else Label(text, end, 180.0, "left")


def _draw_lines(
    pen: "_Pen", structure: Structure, layout: Layout, legs: Sequence[tuple[Edge, int, NDArray]]
) -> None:
    parallel: dict[tuple[int, ...], list[Edge]] = {}
    for e in _joins(structure, shared=False):
        edge = structure.edges[e]
        parallel.setdefault(edge.vertices, []).append(edge)
    for (a, b), edges in parallel.items():
        for i, edge in enumerate(edges):
            line = _curve(layout.points[a], layout.points[b], 0.6 * (i - (len(edges) - 1) / 2))
            pen.line(line, edge.size)
            pen.text(Label(str(edge.size), line[len(line) // 2]), background="white")
    for e, hub in layout.shared.items():
        for v in structure.edges[e].vertices:
            pen.line([layout.points[v], hub], structure.edges[e].size, SHARED_COLOUR, alpha=0.6)
    for edge, v, end in legs:
        start = layout.points[v]
        pen.line([start, start + 0.75 * (end - start)], edge.size)


def _curve(a: NDArray, b: NDArray, bend: float) -> NDArray:
    """Points of a line that bends to one side, or of a loop from a point to itself."""
    t = np.linspace(0, 1, 21)[:, None]
    if np.array_equal(a, b):
        return a + 0.35 * np.hstack([np.sin(2 * np.pi * t), 1 - np.cos(2 * np.pi * t)])
    across = np.array([a[1] - b[1], b[0] - a[0]]) / np.linalg.norm(b - a)
    return a + t * (b - a) + 4 * t * (1 - t) * bend * across


def _draw_vertices(pen: "_Pen", structure: Structure, layout: Layout) -> None:
    colours = []
    for v, point in enumerate(layout.points):
        sites, legs = _sites(structure, v), _legs(structure, v)
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
    """What fits into the circle of a core."""
    name, sites = structure.vertices[vertex], _sites(structure, vertex)
    if sites and name == "column {}, level {}".format(*sites[0]):
        return "{}.{}".format(*sites[0])
    words = ["out" if word == "outputs" else word for word in name.split()[:2]]
    return "\n".join(_cut(word, 4) for word in words)


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
