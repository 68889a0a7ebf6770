"""Design rows: the environments that they are made of, and the sums that are made of them.

Fix all weights of a network but one block.  The response of row n is then linear in the block,
f_n = Σ_j z_nj w_j, and for any network the design row z_n is a Kronecker product of a few short
vectors: the features of the block's sites, and environments, what the rest contributes.

    z_n = a_n ⊗ b_n ⊗ c_n        given as parts [(n, |a|), (n, |b|), (n, |c|)] arrays

Environments come from a *tree* that contracts arrays two at a time, in an order planned once:
up the tree go products, to the response at the root; down the tree go derivatives, to the
environments at the leaves, all of them at the price of about two more contractions.

          f
        ┌─┴─┐        [A], [B], [C]  arrays with any number of indices, and maybe the rows'
      ┌─┴─┐[C]
     [A] [B]
"""

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import lru_cache, partial, reduce

import numpy as np
from numpy.typing import NDArray

from ..protocols import Arrays

Parts = Arrays
Term = tuple[int, ...]
Steps = Sequence[tuple[int, int]]

#: the index of the rows in a contraction; other indices are whole numbers >= 0
ROWS = -1
#: rows that a contraction is planned for
PLANNED_ROWS = 256
#: entries of the largest array that a block of rows makes, about what a second-level cache holds
BLOCK_ENTRIES = 1 << 18
#: rows that a block has at least, so that sums are not dominated by reading and writing them
BLOCK_ROWS = 256
#: entries of the largest array of a contraction, for one row where rows are part of it
LARGEST_ARRAY = 1 << 27
#: how much a greedy order cares for the arrays that go, against the one that comes
GREEDY_WEIGHTS = (0.25, 0.5, 1.0, 2.0)


def rows(parts: Parts) -> NDArray:
    """Return the design rows (n, width) of some parts, the last of which runs fastest."""
    return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(b), -1), parts)


def gram(parts: Parts, root_weight: NDArray, target: NDArray, both: bool) -> tuple[NDArray, ...]:
    """Return Σ z̄zᵀ, if `both` Σ zzᵀ, and Σ z·y (n_outputs, width), in double precision.

    Roots of the weights (empty for 1) are part of the target. With z = a + ib the real matrix
    [a|b]ᵀ[a|b] holds the real and imaginary parts of both matrices.
    """
    size = math.prod(part.shape[1] for part in parts)
    is_complex = any(np.iscomplexobj(part) for part in parts)
    total = np.zeros(((2 if is_complex else 1) * size,) * 2)
    products = np.zeros((target.shape[1], len(total)))
    step = max(BLOCK_ROWS, BLOCK_ENTRIES // len(total))
    for first in range(0, len(target), step):
        block = slice(first, first + step)
        design = rows([part[block] for part in parts])
        if len(root_weight):
            design = design * root_weight[block, None].astype(design.real.dtype)
        planes = np.hstack([design.real, design.imag]) if is_complex else design
        total += planes.T @ planes
        products += target[block].T.astype(planes.dtype) @ planes
    if not is_complex:
        return *[total] * (1 + both), products
    aa, ab, bb = total[:size, :size], total[:size, size:], total[size:, size:]
    hermitian = (aa + bb) + 1j * (ab - ab.T)
    symmetric = [(aa - bb) + 1j * (ab + ab.T)] if both else []
    return hermitian, *symmetric, products[:, :size] + 1j * products[:, size:]


class Tree:
    """Arrays joined two at a time, and the derivatives of the result.

    `terms` are the indices of the axes of every array (a leaf), of the given sizes; those that are
    not among the output are summed over.
    """

    def __init__(self, terms: Sequence[Term], output: set[int], sizes: dict[int, int]):
        self.batch = (ROWS,) if ROWS in output else ()
        self.n_leaves = len(terms)
        self.steps = _plan(terms, output, sizes)
        self.terms, self.parents = list(terms), [-1] * (len(terms) + len(self.steps))
        for node, a, b, joined in _walk(self.steps, list(map(frozenset, terms)), output):
            self.terms.append(tuple(sorted(joined)))
            self.parents[a] = self.parents[b] = node
        self.entries = [math.prod(sizes[i] for i in t if i != ROWS) for t in self.terms]
        if max(self.entries) > LARGEST_ARRAY:
            raise ValueError(
                f"Contracting this network takes an array of {max(self.entries):,} entries, more "
                f"than {LARGEST_ARRAY:,}. Lower the sizes of its edges, or use a network with "
                "fewer loops, such as a tensor train or a hierarchical Tucker network."
            )

    def lineage(self, leaves: Iterable[int]) -> set[int]:
        """Return the nodes from some leaves up to the root."""
        found: set[int] = set()
        for node in leaves:
            while node >= 0 and node not in found:
                found.add(node)
                node = self.parents[node]
        return found

    def up(self, leaves: Arrays, skip: Collection[int] = ()) -> list[NDArray]:
        """Return the values of all nodes but those to be skipped; the last one is the root's."""
        values = list(leaves)
        for node, (a, b) in enumerate(self.steps, start=self.n_leaves):
            terms = self.terms[a], self.terms[b], self.terms[node]
            values.append(_NONE if node in skip else join(*terms, values[a], values[b]))
        return values

    def down(
        self, values: Arrays, seed: NDArray, leaves: Iterable[int], free: Term = ()
    ) -> dict[int, NDArray]:
        """Differentiate the root, times a seed, with respect to some leaves.

        An index that is `free` is not met by the seed: it stays an axis of the derivative with
        respect to all nodes that do not have it, the first one after the rows'.
        """
        wanted = self.lineage(leaves)
        found = {len(self.terms) - 1: seed}
        for node in reversed(range(self.n_leaves, len(self.terms))):
            a, b = self.steps[node - self.n_leaves]
            for child, other in ((a, b), (b, a)):
                if child in wanted:
                    terms = self._dual(node, free), self.terms[other], self._dual(child, free)
                    found[child] = join(*terms, found[node], values[other])
            found.pop(node, None)
        return found

    def tangent(self, values: Arrays, changes: Arrays) -> NDArray:
        """Return the change of the root, to first order, from changes of all leaves."""
        moved = list(changes)
        for node, (a, b) in enumerate(self.steps, start=self.n_leaves):
            terms = self.terms[a], self.terms[b], self.terms[node]
            moved.append(join(*terms, moved[a], values[b]) + join(*terms, values[a], moved[b]))
        return moved[-1]

    def _dual(self, node: int, free: Term) -> Term:
        """Return the indices of the derivative with respect to a node."""
        term = self.terms[node]
        extra = (i for i in free if i not in term)
        return (*self.batch, *extra, *(i for i in term if i != ROWS and i not in free))


#: the value of a node that is skipped
_NONE = np.empty(0)


def _walk(
    steps: Steps, sets: Sequence[frozenset[int]], output: Collection[int]
) -> Iterator[tuple[int, int, int, frozenset[int]]]:
    """Yield the nodes of a tree: number, children and the set of indices that are left."""
    alive = dict(enumerate(sets))
    for node, (a, b) in enumerate(steps, start=len(sets)):
        joined = alive.pop(a) | alive.pop(b)
        alive[node] = joined & frozenset(output).union(*alive.values())
        yield node, a, b, alive[node]


def _plan(terms: Sequence[Term], output: set[int], sizes: dict[int, int]) -> Steps:
    """Return the pairs of nodes to join: the cheapest of a few orders."""
    if len(terms) == 1:
        return []
    from opt_einsum import paths

    inputs, kept = list(map(frozenset, terms)), frozenset(output)
    orders = [
        paths.greedy(inputs, kept, sizes | rows, cost_fn=partial(_greed, weight))
        for rows in ({}, {ROWS: 1})  # many rows may lead it astray
        for weight in GREEDY_WEIGHTS
    ]
    if len(terms) <= 12:  # beyond that, what it would try takes too long or is greedy
        orders.append(paths.auto(inputs, kept, sizes))

    def cost(steps: Steps) -> int:
        sets, multiplications = list(inputs), 0
        for _, a, b, joined in _walk(steps, inputs, kept):
            sets.append(joined)
            multiplications += math.prod(sizes[i] for i in sets[a] | sets[b])
        return multiplications

    return min(map(paths.linear_to_ssa, orders), key=cost)


def _greed(weight: float, joined: int, one: int, other: int, *_: int) -> float:
    return joined - weight * (one + other)


def join(a: Term, b: Term, output: Term, first: NDArray, second: NDArray) -> NDArray:
    """Contract two arrays: a product of matrices for every value of shared indices."""
    axes_a, axes_b, axes, (shared, left, summed) = _pair(a, b, output)
    first, second = first.transpose(axes_a), second.transpose(axes_b)
    batch, over = first.shape[:shared], first.shape[shared : shared + left]
    inner, under = second.shape[shared : shared + summed], second.shape[shared + summed :]
    one = first.reshape(*batch, math.prod(over), math.prod(inner))
    two = second.reshape(*batch, math.prod(inner), math.prod(under))
    product = one @ two if summed else one * two
    return product.reshape((*batch, *over, *under)).transpose(axes)


@lru_cache(maxsize=8192)
def _pair(a: Term, b: Term, output: Term) -> tuple[Term, Term, Term, tuple[int, int, int]]:
    """Return orders of axes that make a product of matrices, and how many are of which kind."""
    shared = [i for i in output if i in a and i in b]
    summed = [i for i in a if i in b and i not in output]
    left, right = [i for i in a if i not in b], [i for i in b if i not in a]
    made = shared + left + right
    return (
        tuple(a.index(i) for i in shared + left + summed),
        tuple(b.index(i) for i in shared + summed + right),
        tuple(made.index(i) for i in output),
        (len(shared), len(left), len(summed)),
    )
