"""Plots of networks with matplotlib."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..escaping import shorten
from ..structure import Edge, Structure
from .layout import Label, Layout, lay_out, name_columns, place_legs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: inches of a plot: of a unit of its coordinates, and of the whole at most
UNIT, LARGEST = 0.62, 12.0
COLUMN_COLOURS = ("#9cc9ec", "#d3e6f5")  # of the sites of even and odd columns
CORE_COLOUR, OUTPUT_COLOUR, LINE_COLOUR, SHARED_COLOUR = "#f2c590", "#bfe0c4", "#4a5a6a", "#c8641b"


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
    layout = lay_out(structure)
    legs = place_legs(structure, layout)
    labels = [_leg_label(layout, *leg) for leg in legs]
    columns = name_columns(layout, legs, column_names)
    reach = [*layout.points, *layout.shared.values()]
    for label in columns + labels:
        back = 2 * label.point - label.end if label.side == "center" else label.point
        reach += [label.end, label.point, back]
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
    """Return a line that bends to one side, or a loop from a point to itself."""
    t = np.linspace(0, 1, 21)[:, None]
    if np.array_equal(a, b):
        return a + 0.35 * np.hstack([np.sin(2 * np.pi * t), 1 - np.cos(2 * np.pi * t)])
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
