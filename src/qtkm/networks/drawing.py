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
