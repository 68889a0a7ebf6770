"""Graphs that are drawn from the sites of a fit: give a rank and nothing else.

Edges have the size of the rank, or less where the cores at their ends leave no use for more.
"""

from collections.abc import Sequence
from itertools import chain
from numbers import Integral

from ...parameters import check_number
from ...protocols import Radices
from ...structure import Structure
from .graph import Drawing, GraphNetwork


class _Ranked(GraphNetwork):
    """What graphs of one rank share."""

    def __init__(self, rank="auto"):
        self.rank = rank

    def check(self) -> None:
        check_number("rank", self.rank, Integral, 1)


class Tucker(_Ranked):
    """Tucker decomposition: a matrix for each site, and one core that joins all of them.

        s₁ ─[W₁]─┐     ┌─[W₃]─ s₃
                 [ core ]
        s₂ ─[W₂]─┘     └─[W₄]─ s₄

    The core has R^sites entries, so this is for few sites: columns of one level each
    (``quantization=None``), or few levels.

    Parameters
    ----------
    rank : int or "auto"
        Size R of all bonds; no more than the radix of a site is used.
    """

    def build(self, radices: Radices, n_outputs: int) -> Structure:
        drawing = Drawing(radices)
        bonds = chain(*_factors(drawing, self.rank))
        return drawing.finish(n_outputs, drawing.vertex("core", list(bonds)))


class BlockTerm(_Ranked):
    """Block-term decomposition: a sum of Tucker decompositions.

        s₁ ─[W₁]─┐     ┌─[W₃]─ s₃
             :   [ core ]  :             : an index t of the terms that all vertices share
        s₂ ─[W₂]─┘     └─[W₄]─ s₄

    A Tucker decomposition for one term, a CPD for rank one.

    Parameters
    ----------
    rank : int or "auto"
        Size of the bonds inside a term.
    n_terms : int
        Number of terms.
    """

    def __init__(self, rank="auto", n_terms=2):
        self.rank = rank
        self.n_terms = n_terms

    def check(self) -> None:
        super().check()
        check_number("n_terms", self.n_terms, Integral, 1)

    def build(self, radices: Radices, n_outputs: int) -> Structure:
        drawing = Drawing(radices)
        terms = drawing.wire("terms", int(self.n_terms))
        bonds = chain(*_factors(drawing, self.rank, [terms]))
        return drawing.finish(n_outputs, drawing.vertex("core", [terms, *bonds]))


class HierarchicalTucker(_Ranked):
    """Hierarchical Tucker decomposition: a binary tree with the sites at its leaves.

                [ root ]
               ┌───┴────┐
             [  ]      [  ]         a tree of levels for every column,
            ┌──┴─┐    ┌──┴─┐        and a tree that joins the columns
           [W₁] [W₂] [W₃] [W₄]
            s₁   s₂   s₃   s₄

    Parameters
    ----------
    rank : int or "auto"
        Size of all bonds.
    """

    def build(self, radices: Radices, n_outputs: int) -> Structure:
        drawing = Drawing(radices)
        wires, *others = _factors(drawing, self.rank)
        if others:
            columns = (_join(drawing, column, self.rank, 1) for column in (wires, *others))
            wires = [wire for (wire,) in columns]
        wires = _join(drawing, wires, self.rank, 2)
        return drawing.finish(n_outputs, drawing.vertex("root", wires))


class MERA(_Ranked):
    """Multi-scale entanglement renormalization: a binary tree with mixers between its branches.

              [  top  ]
             ┌────┴────┐
            [^]       [^]          [^] joins two wires into one
           ┌─┴─┐     ┌─┴─┐
           │   └[ x ]┘   │         [x] mixes two neighbours that the tree
           │   ┌┘   └┐   │         would join only higher up
           s₁  s₂    s₃  s₄

    Sites are in the order of columns and, in a column, levels.  The cores are free: nothing
    keeps them unitary.

    Parameters
    ----------
    rank : int or "auto"
        Size R of the wires above the sites; a mixer above the lowest layer has R⁴ entries.
    """

    def build(self, radices: Radices, n_outputs: int) -> Structure:
        drawing = Drawing(radices)
        wires = [wire for column in drawing.sites for wire in column]
        while len(wires) > 2:
            for i in range(1, len(wires) - 1, 2):
                name = f"mix {len(drawing.vertices)}"
                pair = enumerate(wires[i : i + 2])
                above = [drawing.wire(f"{name}.{k}", drawing.wires[w].size) for k, w in pair]
                drawing.vertex(name, [*wires[i : i + 2], *above])
                wires[i : i + 2] = above
            wires = _join(drawing, wires, self.rank, (len(wires) + 1) // 2)
        return drawing.finish(n_outputs, drawing.vertex("top", wires))


class Grid2D(_Ranked):
    """Grid of columns and levels (projected entangled pair states).

           column 0   1    2
                 [ ]─[ ]─[ ]   level 0       every vertex has the leg of its site;
                  │   │   │                  neighbours share a bond, if both are there
                 [ ]─[ ]─[ ]   level 1
                  │       │
                 [ ]     [ ]   level 2

    A row costs about R^w and the norm about R^2w operations for a grid w wide, the smaller
    of the numbers of columns and levels, so this is for few columns or few levels.

    Parameters
    ----------
    rank : int or "auto"
        Size of all bonds.
    """

    def build(self, radices: Radices, n_outputs: int) -> Structure:
        drawing = Drawing(radices)
        wires = {(d, k): [site] for d, column in enumerate(drawing.sites)
                 for k, site in enumerate(column)}  # fmt: skip
        for d, k in list(wires):
            for other in ((d, k + 1), (d + 1, k)):
                if other in wires:
                    bond = drawing.wire(f"{d}.{k}-{other[0]}.{other[1]}", self.rank)
                    wires[d, k].append(bond)
                    wires[other].append(bond)
        for (d, k), own in wires.items():
            last = drawing.vertex(f"{d}.{k}", own)
        return drawing.finish(n_outputs, last)


def _factors(drawing: Drawing, rank: int, shared: Sequence[int] = ()) -> list[list[int]]:
    """Put a matrix on every site; return the wires on their other sides, by column."""
    bonds: list[list[int]] = []
    for d, column in enumerate(drawing.sites):
        bonds.append([])
        for k, site in enumerate(column):
            bonds[d].append(drawing.wire(f"bond {d}.{k}", rank))
            drawing.vertex(f"{d}.{k}", [site, *shared, bonds[d][k]])
    return bonds


def _join(drawing: Drawing, wires: list[int], rank: int, count: int) -> list[int]:
    """Put vertices on every two neighbouring wires, until at most `count` wires go on."""
    while len(wires) > count:
        joined = []
        for pair in zip(wires[::2], wires[1::2], strict=False):
            name = f"join {len(drawing.vertices)}"
            joined.append(drawing.wire(f"above {name}", rank))
            drawing.vertex(name, [*pair, joined[-1]])
        wires = joined + wires[2 * len(joined) :]
    return wires
