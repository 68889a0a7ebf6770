"""A network as text, with the sizes of its bonds and legs."""

import itertools
import textwrap
from collections.abc import Sequence

from ..escaping import shorten
from ..structure import Structure
from .plot import find_chain, find_tree

#: characters of a line of text, and lines of a text
WIDTH, MOST_LINES = 100, 100


def describe(structure: Structure, name: str) -> str:
    """Describe a network: its size, then a drawing with the sizes of all bonds and legs.

    At most 101 lines of 100 characters: a line or two for each column of a train, a ring or a CPD,
    an indented line for each core of a tree, and a list of the cores and their neighbours for all
    others. What is longer is cut in the middle.
    """
    count = len(structure.vertices)
    head = (
        f"{name}: {count} core{'s' * (count > 1)}, P = {structure.n_parameters:,} parameters, "
        f"VC bound {structure.vc_bound:,.0f}"
    )
    drawings = (draw(structure) for draw in (_chain_lines, _star_lines, _tree_lines, _list_lines))
    lines = next(filter(None, drawings))
    if len(lines) > MOST_LINES:
        tail, left_out = MOST_LINES // 4, len(lines) - MOST_LINES + 1
        lines[-left_out - tail : -tail] = [f"… {left_out} more lines …"]
    return "\n".join([head, *lines])


def _chain_lines(structure: Structure) -> list[str]:
    order, path = find_chain(structure) or ([], [])
    sizes = ["1" if e is None else str(structure.edges[e].size) for e in path]
    cells = [f"─{_box(structure, v)}─{sizes[i + 1]}" for i, v in enumerate(order)]
    if not cells:
        return []
    note = "[leg]─bond─[leg]"
    if path[0] is not None:
        note += f"; the bond after the last core is the one before the first, {sizes[0]}"
    return [*_by_column(structure, order, cells, WIDTH, sizes), note]


def _star_lines(structure: Structure) -> list[str]:
    if len(structure.shared) != 1 or structure.bonds:
        return []
    edge, order = structure.edges[structure.shared[0]], range(len(structure.vertices))
    note = shorten(f"{edge.name} = {edge.size}, shared by all cores", WIDTH // 2)
    cells = [f"{_box(structure, v)} " for v in order]
    lines = _by_column(structure, order, cells, WIDTH - len(note) - 8, [""] * len(order))
    width = max(map(len, lines))
    ends = ["┬─ " + note, *"┤" * (len(lines) - 2), "┘"][: len(lines)]
    drawn = [f"{line:<{width}}─{end}" for line, end in zip(lines, ends, strict=True)]
    return [*drawn, f"[leg], a core of the shape (leg × {edge.size})"]


def _box(structure: Structure, vertex: int) -> str:
    return f"[{'·'.join(str(leg.size) for leg in structure.legs_at(vertex)) or ' '}]"


def _by_column(
    structure: Structure, order: Sequence[int], cells: list[str], width: int, starts: list[str]
) -> list[str]:
    """Put cells of one column on a line, or on several if it is too short."""

    def label(i: int) -> str:
        columns = sorted({column for column, _ in structure.sites_at(order[i])})
        text = f"column{'s' * (len(columns) > 1)} {', '.join(map(str, columns))}"
        return shorten(text if columns else structure.vertices[order[i]], 20)

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
        if edge.is_outputs:
            parts.append(f"outputs {edge.size}")
        elif edge.site is not None:
            site = "column {}, level {}".format(*edge.site)
            parts.append(f"leg {edge.size}" + (f" to {site}" if site != name else ""))
        elif len(edge.vertices) != 2:
            parts.append(f"{edge.name} = {edge.size} of {len(edge.vertices)} cores")
        elif e not in skip:
            other = structure.vertices[edge.other_end(vertex)]
            # a bond that is called after its ends needs no name here
            label = "" if name in edge.name or other in edge.name else f"{edge.name} = "
            bonds.append(f"{label}{edge.size} to {other}")
    if bonds:
        parts.append(f"bond{'s' * (len(bonds) > 1)} {', '.join(bonds)}")
    shape = " × ".join(map(str, structure.shapes[vertex]))
    return f"{name}  ({shape})  {'; '.join(parts)}".rstrip()


def _tree_lines(structure: Structure) -> list[str]:
    tree = find_tree(structure)
    if tree is None:
        return []
    children: dict[int, list[tuple[int, int]]] = {}
    for vertex, e in tree:
        if e is not None:
            children.setdefault(structure.edges[e].other_end(vertex), []).append((vertex, e))
    lines, stack = [], [(tree[0][0], "", "")]
    while stack:
        vertex, first, rest = stack.pop()
        lines.append(first + _core(structure, vertex, structure.bonds))
        own = children.get(vertex, [])
        for i, (child, e) in reversed(list(enumerate(own))):
            corner, rail = ("└", " ") if i == len(own) - 1 else ("├", "│")
            bond = f"─{structure.edges[e].size}─ "
            stack.append((child, rest + corner + bond, rest + rail + " " * len(bond)))
    return lines if max(map(len, lines)) <= WIDTH else []


def _list_lines(structure: Structure) -> list[str]:
    wrap = textwrap.TextWrapper(WIDTH, subsequent_indent=" " * 4, break_on_hyphens=False).wrap
    cores = (_core(structure, vertex) for vertex in range(len(structure.vertices)))
    return [line for core in cores for line in wrap(core)]
