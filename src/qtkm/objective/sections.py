"""The best weights of all, where no rank is set: one term per row.

Under a prior the minimiser over all weights, not only those of a network of low rank, is a sum of
sections of the product kernel at the rows x_j (the representer theorem):

    f(x) = Σ_j a_j Π_d k_d(x_d, x_jd)        k_d(x, x') = Σ_m s_d[m] φ_m(x) conj(φ_m(x'))

So it is a CPD again, with one term per row and one level per column, and everything that reads a
CPD reads this one.  Some rows are enough as centres j (the Nyström method).  The problem is convex
and costs n·J² operations for n rows and J centres, so it is for small and medium tables.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpstrf

from ..networks import Cores

Array = NDArray[np.float64]

#: part of the prior variance that a row must have beyond the centres to be one, and part of a
#: column's kernel that a direction must have
NEGLIGIBLE_ROW, NEGLIGIBLE = 1e-9, 1e-12
#: steps of a loss that is not quadratic, and the least relative change of the coefficients
MOST_STEPS, LEAST_CHANGE = 200, 1e-3


class Sections:
    """Sections of the product kernel at some rows.

    Parameters
    ----------
    columns : sequence of Column
    precisions : sequence of (M,) arrays or None
        What the penalty multiplies squared weights by; None for 1.
    centres : (J, n_columns) array
        Codes of the rows.
    """

    def __init__(self, columns: Sequence[Any], precisions: Sequence[Any], centres: NDArray):
        self.columns, self.precisions, self.centres = columns, precisions, centres
        self.factors = [_factor(*pair) for pair in zip(columns, precisions, strict=True)]
        # the rows that tell most of the others come first, and those they tell all of are left out
        root, order, rank, _ = dpstrf(self.kernel(centres), tol=NEGLIGIBLE_ROW, lower=1)
        self.centres = centres[order[:rank] - 1]
        self.root = np.tril(root[:rank, :rank])

    def kernel(self, codes: NDArray) -> Array:
        """Kernel between rows and centres, (n, J)."""
        product: Any = None
        for d, factor in enumerate(self.factors):
            part = factor[codes[:, d]] @ factor[self.centres[:, d]].T
            product = part if product is None else np.multiply(product, part, out=product)
        return product

    def design(self, codes: NDArray) -> Array:
        """Orthonormal functions of the kernel's space at some rows, (n, J)."""
        kernel = self.kernel(codes)
        return solve_triangular(
            self.root, kernel.T, lower=True, overwrite_b=True, check_finite=False
        ).T

    def cores(self, coefficients: Array) -> Cores:
        """Cores of the CPD, one level per column, of coefficients (J, n_outputs) of `design`."""
        sizes = solve_triangular(self.root, coefficients, lower=True, trans="T")
        is_complex = any(column.feature_map.is_complex for column in self.columns)
        kind = np.complex128 if is_complex else np.float64
        cores: Cores = []
        for d, (column, precision) in enumerate(zip(self.columns, self.precisions, strict=True)):
            functions = column.feature_map.features(column.values)[self.centres[:, d]]
            weights = functions.conj().T.astype(kind)
            cores.append([weights if precision is None else weights / precision[:, None]])
        if sizes.shape[1] == 1:
            cores[0][0] = cores[0][0] * sizes[:, 0]
        else:
            cores.append(sizes.T.astype(kind))
        return cores


def _factor(column: Any, precision: NDArray | None) -> Array:
    """Real functions of the grid values whose products add up to the column's kernel."""
    functions = column.feature_map.features(column.values)
    if precision is not None:
        functions = functions / np.sqrt(precision)
    if np.iscomplexobj(functions):
        functions = np.concatenate([functions.real, functions.imag], axis=1)
    values, vectors = np.linalg.eigh(functions.T @ functions)
    return functions @ vectors[:, values > NEGLIGIBLE * values[-1]]


@dataclass
class Part:
    """Some rows in the space of the sections.

    Attributes
    ----------
    design : (n, J) array
    target : (n, n_outputs) array
    weight : (n,) array
    gram : (J, J) array
        Weighted products of the columns of `design`.
    """

    design: Array
    target: Array
    weight: Array
    gram: Array

    @classmethod
    def of(cls, sections: Sections, shards: Sequence[Any]) -> "Part":
        """Part of the rows of some shards."""
        target = np.concatenate([shard.target for shard in shards])
        weight = np.concatenate([
            np.ones(len(shard)) if shard.weight is None else shard.weight for shard in shards
        ])  # fmt: skip
        design = sections.design(np.concatenate([shard.codes for shard in shards]))
        scaled = design * np.sqrt(weight)[:, None]
        return cls(design, target.astype(np.float64), weight, scaled.T @ scaled)


def solve(parts: Sequence[Part], bases: Sequence[Array], size: float, loss: Any) -> Array | None:
    """Coefficients that minimise the loss of rows beside responses that are there already.

    Parameters
    ----------
    parts : sequence of Part
    bases : sequence of (n, n_outputs) arrays
        Responses to which the sections are added.
    size : float
        Penalty in units of one row.
    loss : Loss
        Quadratic, or of a constant bound.

    Returns
    -------
    (J, n_outputs) array, or None where rounding leaves nothing to solve.
    """
    gram = sum(part.gram for part in parts)
    bound = 2.0 if loss.is_quadratic else _bound(loss, bases[0], parts[0].target)
    matrix = bound * np.asarray(gram)
    matrix[np.diag_indices(len(matrix))] += 2 * size
    try:
        factor = cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    found = np.zeros((len(matrix), bases[0].shape[1]))
    for _ in range(1 if loss.is_quadratic else MOST_STEPS):
        slope = 2 * size * found
        for part, base in zip(parts, bases, strict=True):
            each = loss.gradient(base + part.design @ found, part.target).real
            slope += part.design.T @ (part.weight[:, None] * each)
        step = cho_solve(factor, slope, check_finite=False)
        found -= step
        if np.abs(step).max() <= LEAST_CHANGE * np.abs(found).max():
            break
    return found


def _bound(loss: Any, base: Array, target: Array) -> float:
    return float(loss.bound(base[:1], target[:1])[0])
