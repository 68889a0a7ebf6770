"""A column of a train or ring at its grid values: the matrices of its levels, multiplied.

Products are arrays (n_grid, left, right), complex or real.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import product_levels as kernels
from ..kernels.products import wide
from .planes import as_planes


def matrices(column: Any, level: int, core: NDArray) -> NDArray:
    """Σ_q s_q(u)·core[:, q, :] of one level."""
    left, radix, right = core.shape
    flat = core.transpose(1, 0, 2).reshape(radix, left * right)
    return (column.factors[:, column.slices[level]] @ flat).reshape(-1, left, right)


def multiply(a: NDArray, b: NDArray) -> NDArray:
    """Products of the matrices of two batches, by a loop of our own: BLAS is slow on tiny ones."""
    return kernels.multiply(np.ascontiguousarray(a), np.ascontiguousarray(b))


def start(column: Any, size: int, kind: Any) -> NDArray:
    """The column's phase times the unit matrix."""
    eye = np.eye(size, dtype=kind)
    if len(column.phase):
        return column.phase[:, None, None] * eye
    return np.broadcast_to(eye, (len(column), size, size))


def prefixes(column: Any, cores: list[NDArray]) -> list[NDArray]:
    """Phase times the product of the levels before each, and of all of them."""
    products = [start(column, cores[0].shape[0], cores[0].dtype)]
    for level, core in enumerate(cores):
        products.append(multiply(products[-1], matrices(column, level, core)))
    return products


def suffixes(column: Any, cores: list[NDArray]) -> list[NDArray]:
    """Product of the levels after each."""
    size = cores[-1].shape[2]
    eye = np.eye(size, dtype=cores[-1].dtype)
    products = [np.broadcast_to(eye, (len(column), size, size))]
    for level in range(len(cores) - 1, 0, -1):
        products.append(multiply(matrices(column, level, cores[level]), products[-1]))
    return products[::-1]


def table(column: Any, cores: list[NDArray]) -> NDArray:
    """The column's matrix at every grid value."""
    if column.is_categorical:
        return cores[0].transpose(1, 0, 2)
    return prefixes(column, cores)[-1]


def table_change(
    column: Any,
    cores: list[NDArray],
    direction: list[NDArray],
    later: list[NDArray] | None = None,
) -> NDArray:
    """Change of the table when the cores change in a direction.

    Levels after a change stand as in `later`, where a train is kept in two gauges.
    """
    if column.is_categorical:
        return direction[0].transpose(1, 0, 2)
    before = prefixes(column, cores)
    after = suffixes(column, cores if later is None else later)
    change: Any = 0.0
    for level, delta in enumerate(direction):
        moved = multiply(before[level], matrices(column, level, delta))
        change = change + multiply(moved, after[level])
    return np.asarray(change)


def pull_back(column: Any, level: int, before: NDArray, after: NDArray, sums: NDArray) -> NDArray:
    """Σ_u s_q(u)·L[u]ᵀ·sums[u]·R[u]ᵀ, the transpose of what a level does to the table: a core."""
    inner = kernels.pull_back(
        np.ascontiguousarray(before), np.ascontiguousarray(after), np.ascontiguousarray(sums)
    )
    _, left, right = inner.shape
    flat = column.factors[:, column.slices[level]].T @ inner.reshape(len(inner), -1)
    return flat.reshape(-1, left, right).transpose(1, 0, 2)


def to_buffer(values: NDArray, is_complex: bool) -> NDArray[np.float64]:
    """Matrices (n_grid, left, right) as rows of planes, (n_grid, planes·left·right)."""
    flat = values.reshape(len(values), -1)
    planes = as_planes(flat, is_complex).transpose(0, 2, 1)
    return np.ascontiguousarray(planes).reshape(len(values), -1)


def from_buffer(rows: NDArray, left: int, right: int) -> NDArray:
    """Undo `to_buffer`."""
    size = left * right
    if rows.shape[1] == size:
        return rows.reshape(-1, left, right)
    return (rows[:, :size] + 1j * rows[:, size:]).reshape(-1, left, right)


def pad(values: NDArray) -> NDArray:
    """The same matrices with rows as long as the compiled loops want them, zeros at the end."""
    extra = wide(values.shape[2]) - values.shape[2]
    return np.pad(values, ((0, 0), (0, 0), (0, extra))) if extra else values
