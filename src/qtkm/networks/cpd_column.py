"""Local problems of a CPD: the cores of one column, or the output core, all else fixed.

A problem is made from one pass over the data and then serves every level of its column:

    problem.system(level)        the level's local system
    problem.accept(level, core)  put in a new core; later systems follow from it
    problem.finish()             hand cores and table back to the iterate
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import column as column_kernels
from ..kernels import levels as kernels
from ..kernels import local
from .local import LocalSystem, least_squares
from .planes import from_planes, to_planes, weigh_triangle

#: numbers on the grid of a column up to which its levels are updated in one compiled call
COMPILED_NUMBERS = 4_000_000


class Problem:
    """What all local problems share: the normal equations and the gauge.

    Parameters
    ----------
    iterate : Iterate
    block : int
        The column, or the number of columns for the output core.
    setting : object
        With `alpha`, `total_weight`, `constant` (weighted mean square of the targets) and
        `real_part` (whether the loss sees Re f alone).
    """

    def __init__(self, iterate: Any, block: int, setting: Any):
        self.iterate, self.block, self.setting = iterate, block, setting
        self.rank = iterate.rank
        self.outside = iterate.outer_gram(block)
        self.cores: list[NDArray] = []
        self.scale = np.ones(self.rank)

    @property
    def n_levels(self) -> int:
        """Number of cores of the block."""
        return len(self.cores)

    def normalize(self, level: int, core: NDArray) -> None:
        """Put in a core with columns of unit norm; the next core takes their norms."""
        norm = np.sqrt((core.real**2 + core.imag**2).sum(axis=0))
        norm[norm == 0] = 1
        self.cores[level] = core / norm
        if level + 1 < self.n_levels:
            self.cores[level + 1] = self.cores[level + 1] * norm
        else:
            self.scale = norm

    def system(self, level: int) -> LocalSystem:
        """Local system of a level."""
        raise NotImplementedError

    def accept(self, level: int, core: NDArray) -> None:
        """Put in a new core of a level."""
        raise NotImplementedError

    def sweep(self) -> list[float]:
        """Update all levels once; returns the objective after each."""
        values = []
        for level in range(self.n_levels):
            core, value = self.system(level).minimize(self.cores[level])
            self.accept(level, core)
            values.append(value)
        return values

    def restart(self) -> None:
        """Begin another sweep over the levels."""
        self.cores[0] = self.cores[0] * self.scale
        self.scale = np.ones(self.rank)

    def norm_gram(self, level: int) -> NDArray:
        """Γ: product of the Gram matrices of all cores but one."""
        gram = self.outside
        for k, core in enumerate(self.cores):
            if k != level:
                gram = gram * (core.conj().T @ core)
        return gram

    def equations(
        self,
        hermitian: NDArray,
        symmetric: NDArray | None,
        products: NDArray,
        level: int,
        rows: tuple[NDArray, NDArray, float] | None = None,
    ) -> LocalSystem:
        """Local system from Σ z̄zᵀ, Σ zzᵀ (or None) and Σ z·y of its parts.

        The matrices may be written over.
        """
        shape, gram = self.cores[level].shape, self.norm_gram(level)
        return least_squares(hermitian, symmetric, products, gram, self.setting, shape, rows)


class StatisticsProblem(Problem):
    """Cores of a column from its statistics S[u], b[u]: no row is touched again."""

    def __init__(self, iterate: Any, block: int, sums: Any, setting: Any):
        super().__init__(iterate, block, setting)
        self.column = iterate.columns[block]
        self.packed, rhs = sums
        self.sums = rhs[:, 0]
        _mix(self.packed, iterate)
        self.cores = list(iterate.cores[block])
        self.prefix: NDArray | None = None
        self.suffix: list[NDArray] = []
        self.gram: NDArray | None = None

    def sweep(self) -> list[float]:
        """Update all levels once, in one compiled call where that serves."""
        column, setting = self.column, self.setting
        is_small = len(column) * (self.rank**2 + column.n_lines) <= COMPILED_NUMBERS
        if not (is_small and can_compile(self.iterate, setting)):
            return super().sweep()
        cores = np.concatenate(self.cores)
        try:
            values, self.scale, self.gram, self.prefix = column_kernels.sweep_statistics(
                self.packed, self.sums, self.outside, *column.lines, cores,
                setting.alpha, setting.total_weight, setting.constant, True,
            )  # fmt: skip
        except np.linalg.LinAlgError:
            return super().sweep()
        self.cores = [cores[part] for part in column.slices]
        return values.tolist()

    def _before(self) -> NDArray:
        """Phase times the responses of the levels before; made on first use, with the suffix."""
        if self.prefix is None:
            self.prefix, self.suffix = _products(self.column, self.cores, self.iterate)
        return self.prefix

    def system(self, level: int) -> LocalSystem:
        """Local system of a level."""
        column, rank, prefix = self.column, self.rank, self._before()
        other = kernels.multiply(prefix, self.suffix[level], rank)
        first, radix = column.slices[level].start, column.radices[level]
        hermitian = self._gram(level, other, conjugate=True)
        symmetric = None
        if self.setting.real_part and self.iterate.is_complex:
            symmetric = self._gram(level, other, conjugate=False)[None]
        planes = kernels.right_side(self.sums, other, column.factors, first, radix, rank)
        products = from_planes(planes, rank).reshape(1, -1)
        return self.equations(hermitian[None], symmetric, products, level)

    def _gram(self, level: int, other: NDArray, conjugate: bool) -> NDArray:
        pairs, index = self.column.products(level, conjugate)
        half = self.rank * (self.rank + 1) // 2
        first = self.column.slices[level].start
        planes = 4 if self.iterate.is_complex else 1
        shift = 0 if conjugate else 2 * half

        def partial(bounds):
            out = np.zeros((len(pairs), planes, half))
            kernels.gram(
                *bounds, self.packed, shift, other, self.column.factors, first, pairs,
                conjugate, self.rank, out,
            )  # fmt: skip
            return out

        parts = self.iterate.run(partial, self.column.blocks())
        matrix = kernels.unpack(sum(parts[1:], start=parts[0]), index, self.rank, conjugate)
        return matrix if self.iterate.is_complex else matrix.real

    def accept(self, level: int, core: NDArray) -> None:
        """Put in a new core of a level."""
        prefix = self._before()
        self.normalize(level, core)
        self.prefix = _advance(prefix, self.column, level, self.cores[level], self.iterate)

    def restart(self) -> None:
        """Begin another sweep over the levels."""
        super().restart()
        self.prefix = self.gram = None

    def finish(self) -> None:
        """Hand the cores back."""
        self.iterate.place(self.block, self.cores, self.prefix, self.scale, self.gram)


def can_compile(iterate: Any, setting: Any) -> bool:
    """Whether the levels of a column can be updated from statistics in one compiled call."""
    return iterate.is_complex and setting.alpha > 0 and not setting.real_part


class CategoricalProblem(Problem):
    """Core of a categorical column: one small system a category."""

    #: categories that are solved at a time, which bounds the memory of their matrices
    chunk = 1024

    def __init__(self, iterate: Any, block: int, sums: Any, setting: Any):
        super().__init__(iterate, block, setting)
        self.packed, rhs = sums
        self.products = from_planes(rhs[:, 0], self.rank)
        _mix(self.packed, iterate)
        self.cores = list(iterate.cores[block])

    def system(self, level: int, part: slice = slice(None)) -> LocalSystem:
        """Local system of the core, or of some of its categories."""
        matrices = unpack_both(self.packed[part], self.rank, self.iterate.is_complex)
        system = self.equations(*matrices, self.products[part], level)
        system.shape = self.products[part].shape
        return system

    def sweep(self) -> list[float]:
        """Update the core, some categories at a time."""
        core = np.empty_like(self.cores[0])
        value = self.setting.constant
        for first in range(0, len(core), self.chunk):
            part = slice(first, first + self.chunk)
            core[part], least = self.system(0, part).minimize(self.cores[0][part])
            value += least - self.setting.constant
        self.accept(0, core)
        return [value]

    def accept(self, level: int, core: NDArray) -> None:
        """Put in a new core."""
        self.normalize(level, core)

    def finish(self) -> None:
        """Hand the core back."""
        self.iterate.place(self.block, self.cores, None, self.scale)


class OutputProblem(Problem):
    """The output core: one regression of all outputs on the R terms."""

    def __init__(self, iterate: Any, sums: Any, setting: Any):
        super().__init__(iterate, len(iterate.columns), setting)
        self.packed, rhs = sums
        self.products = from_planes(rhs[0], self.rank)  # (n_outputs, R)
        self.cores = [iterate.output_core]

    def system(self, level: int) -> LocalSystem:
        """Local system of the core: the same matrix for every output."""
        n_outputs = len(self.products)
        hermitian, symmetric = unpack_both(self.packed, self.rank, self.iterate.is_complex)
        hermitian = np.repeat(hermitian, n_outputs, axis=0)
        symmetric = None if symmetric is None else np.repeat(symmetric, n_outputs, axis=0)
        return self.equations(hermitian, symmetric, self.products, level)

    def accept(self, level: int, core: NDArray) -> None:
        """Put in a new core."""
        self.normalize(level, core)

    def finish(self) -> None:
        """Hand the core back."""
        self.iterate.place(self.block, self.cores, None, self.scale)


def _mix(packed: NDArray, iterate: Any) -> None:
    """Weigh packed statistics by the Gram of the output core, where there is one."""
    core = iterate.output_core
    if core is None:
        return
    half = iterate.rank * (iterate.rank + 1) // 2
    planes = 2 if iterate.is_complex else 1
    weigh_triangle(packed[:, : planes * half], core.conj().T @ core)
    if packed.shape[1] > planes * half:
        weigh_triangle(packed[:, planes * half :], core.T @ core)


def unpack_both(packed: NDArray, size: int, is_complex: bool) -> tuple[NDArray, NDArray | None]:
    """Matrices Σ z̄zᵀ and, where they are there, Σ zzᵀ of packed triangles."""
    half = size * (size + 1) // 2
    kind = np.complex128 if is_complex else np.float64
    hermitian = np.empty((len(packed), size, size), dtype=kind)
    local.unpack_triangle(packed, size, 1.0, hermitian)
    if packed.shape[1] < 4 * half:
        return hermitian, None
    rows, columns = np.triu_indices(size)
    symmetric = np.empty_like(hermitian)
    values = packed[:, 2 * half : 3 * half] + 1j * packed[:, 3 * half :]
    symmetric[:, rows, columns] = values
    symmetric[:, columns, rows] = values
    return hermitian, symmetric


def _products(column: Any, cores: list[NDArray], iterate: Any) -> tuple[NDArray, list[NDArray]]:
    """Phase of the column, and for every level the product of the later levels' responses."""
    rank, width = iterate.rank, iterate.width
    suffix = [np.empty(0)] * len(cores)
    running = kernels.phases(np.empty(0), len(column), rank, width)
    for level in reversed(range(len(cores))):
        suffix[level] = running
        if level:
            running = _advance(running, column, level, cores[level], iterate)
    return kernels.phases(column.phase, len(column), rank, width), suffix


def _advance(product: NDArray, column: Any, level: int, core: NDArray, iterate: Any) -> NDArray:
    """Product of planes times the response of a level."""
    planes = to_planes(core, iterate.width)
    first = column.slices[level].start
    return kernels.advance(product, column.factors, first, planes, iterate.rank)
