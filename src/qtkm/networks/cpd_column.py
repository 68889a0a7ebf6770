"""Local problems of a CPD: the cores of one column, or the output core, all else fixed.

A problem is made from one pass over the data and then serves every level of its column:

    problem.system(level)        the level's local system
    problem.accept(level, core)  put in a new core; later systems follow from it
    problem.finish()             hand cores and table back to the iterate
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import levels as kernels
from ..kernels import local
from ..kernels import rows as row_kernels
from .local import LocalSystem, real_system, split_norm
from .planes import from_planes, to_planes, weigh_triangle


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
        setting, shape = self.setting, self.cores[level].shape
        split = setting.real_part and self.iterate.is_complex
        gram = self.norm_gram(level)
        if split and symmetric is not None:
            matrix = real_system(hermitian, symmetric)
            rhs = np.hstack([products.real, -products.imag])
            copies = hermitian.shape[-1] // self.rank
            gram = split_norm(np.kron(np.eye(copies), gram))
        else:
            matrix, rhs = hermitian, products.conj()
        matrix /= setting.total_weight
        rhs = rhs / setting.total_weight
        if setting.alpha > 0:
            local.add_norm(matrix, gram, setting.alpha)
        return LocalSystem(matrix, rhs, setting.constant, shape, split, setting.alpha > 0, rows)


class StatisticsProblem(Problem):
    """Cores of a column from its statistics S[u], b[u]: no row is touched again."""

    def __init__(self, iterate: Any, block: int, sums: Any, setting: Any):
        super().__init__(iterate, block, setting)
        self.column = iterate.columns[block]
        self.packed, rhs = sums
        self.sums = rhs[:, 0]
        _mix(self.packed, iterate)
        self.cores = list(iterate.cores[block])
        self.prefix, self.suffix = _products(self.column, self.cores, iterate)

    def system(self, level: int) -> LocalSystem:
        """Local system of a level."""
        column, rank = self.column, self.rank
        other = kernels.multiply(self.prefix, self.suffix[level], rank)
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
        self.normalize(level, core)
        self.prefix = _advance(self.prefix, self.column, level, self.cores[level], self.iterate)

    def restart(self) -> None:
        """Begin another sweep over the levels."""
        super().restart()
        self.prefix, self.suffix = _products(self.column, self.cores, self.iterate)

    def finish(self) -> None:
        """Hand the cores back."""
        self.iterate.place(self.block, self.cores, self.prefix, self.scale)


class RowsProblem(Problem):
    """Cores of a column from the environments of the rows themselves.

    Right where there are about as many grid values as rows, so that statistics would
    save nothing; and exact at α = 0, where the rows allow a QR factorization.
    """

    #: least squares by QR up to this many entries of the design matrix
    qr_entries = 4_000_000

    def __init__(self, iterate: Any, block: int, shards: Any, setting: Any):
        super().__init__(iterate, block, setting)
        self.column = iterate.columns[block]
        self.cores = list(iterate.cores[block])
        self.radices = np.asarray(self.column.radices, dtype=np.int64)
        self.rows = [_ShardRows(iterate, block, shard) for shard in shards]

    def system(self, level: int) -> LocalSystem:
        """Local system of a level."""
        size = self.radices[level] * self.rank
        packed, rhs = self._sum(level, size)
        hermitian, symmetric = _unpack_both(packed, size, self.iterate.is_complex)
        products = self._mix(hermitian, symmetric, from_planes(rhs, size))
        rows = self._least_squares_rows(level, size)
        return self.equations(hermitian, symmetric, products[None], level, rows)

    def _sum(self, level: int, size: int) -> tuple[NDArray, NDArray]:
        is_complex = self.iterate.is_complex
        planes = (4 if self.setting.real_part else 2) if is_complex else 1
        cores = np.concatenate(self.cores)
        parts = []
        for rows in self.rows:

            def task(bounds, rows=rows):
                packed = np.empty((1, planes * size * (size + 1) // 2))
                rhs = np.empty((len(rows.target), size * (2 if is_complex else 1)))
                row_kernels.level_sums(
                    *bounds, rows.environment, rows.prefix, rows.factors, self.radices, level,
                    cores, rows.target, self.rank, is_complex, packed, rhs,
                )  # fmt: skip
                return packed, rhs

            parts.extend(self.iterate.run(task, rows.blocks))
        packed, rhs = parts[0]
        for more_packed, more_rhs in parts[1:]:
            packed += more_packed
            rhs += more_rhs
        return packed, rhs

    def _mix(self, hermitian: NDArray, symmetric: NDArray | None, products: NDArray) -> NDArray:
        """Several outputs: weigh the matrices by the output core's Gram, mix the right sides."""
        core = self.iterate.output_core
        if core is None:
            return products[0]
        copies = hermitian.shape[1] // self.rank
        hermitian *= np.tile(core.conj().T @ core, (copies, copies))
        if symmetric is not None:
            symmetric *= np.tile(core.T @ core, (copies, copies))
        return (np.tile(core, copies) * products).sum(axis=0)

    def _least_squares_rows(self, level: int, size: int) -> tuple[NDArray, NDArray, float] | None:
        n_rows = sum(rows.target.shape[1] for rows in self.rows)
        split = self.setting.real_part and self.iterate.is_complex
        if self.setting.alpha > 0 or split or self.iterate.output_core is not None:
            return None
        if n_rows * size > self.qr_entries:
            return None
        cores = np.concatenate(self.cores)
        designs = [
            row_kernels.design_matrix(
                rows.environment, rows.prefix, rows.factors, self.radices, level, cores,
                self.rank, self.iterate.is_complex,
            )
            for rows in self.rows
        ]  # fmt: skip
        design = np.concatenate(designs, axis=1).T
        half = design.shape[1] // 2
        if self.iterate.is_complex:
            design = design[:, :size] + 1j * design[:, half : half + size]
        target = np.concatenate([rows.target[0] for rows in self.rows])
        return np.ascontiguousarray(design[:, :size]), target, self.setting.total_weight

    def accept(self, level: int, core: NDArray) -> None:
        """Put in a new core of a level."""
        self.normalize(level, core)
        cores = np.concatenate(self.cores)
        first, radix = self.column.slices[level].start, self.column.radices[level]
        for rows in self.rows:
            rows.advance(first, radix, cores, self.rank, self.iterate)

    def restart(self) -> None:
        """Begin another sweep over the levels."""
        super().restart()
        for rows in self.rows:
            rows.start(self.iterate)

    def finish(self) -> None:
        """Hand the cores back."""
        self.iterate.place(self.block, self.cores, None, self.scale)


class _ShardRows:
    """Rows of a shard as a column's local problem needs them, as lines."""

    def __init__(self, iterate: Any, block: int, shard: Any):
        column = iterate.columns[block]
        rank, is_complex = iterate.rank, iterate.is_complex
        codes = shard.codes[:, block]
        environment = iterate.environments(shard, block)
        self.environment = row_kernels.to_lines(environment, rank, is_complex)
        factors = column.factors.T[:, codes]
        self.factors = np.ascontiguousarray(np.stack([factors.real, factors.imag]))
        self.target = np.ascontiguousarray(shard.scaled[1].T)
        self.blocks = shard.blocks()
        self.phase = column.phase[codes] if len(column.phase) else column.phase
        self.start(iterate)

    def start(self, iterate: Any) -> None:
        """Begin with the phase alone."""
        n_rows, width = self.target.shape[1], iterate.width
        phases = kernels.phases(self.phase, n_rows, iterate.rank, width)
        self.prefix = row_kernels.to_lines(phases, iterate.rank, iterate.is_complex)

    def advance(self, first: int, radix: int, cores: NDArray, rank: int, iterate: Any) -> None:
        """Multiply the running product by the response of a level."""

        def task(bounds):
            begin, end = bounds
            row_kernels.multiply_level(
                self.prefix, begin, end - begin, self.factors, begin, first, radix, cores, rank,
                iterate.is_complex,
            )  # fmt: skip

        iterate.run(task, self.blocks)


class CategoricalProblem(Problem):
    """Core of a categorical column: one small system a category."""

    def __init__(self, iterate: Any, block: int, sums: Any, setting: Any):
        super().__init__(iterate, block, setting)
        self.packed, rhs = sums
        self.products = from_planes(rhs[:, 0], self.rank)
        _mix(self.packed, iterate)
        self.cores = list(iterate.cores[block])

    def system(self, level: int) -> LocalSystem:
        """Local system of the core."""
        matrices = _unpack_both(self.packed, self.rank, self.iterate.is_complex)
        return self.equations(*matrices, self.products, level)

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
        hermitian, symmetric = _unpack_both(self.packed, self.rank, self.iterate.is_complex)
        hermitian = np.repeat(hermitian, n_outputs, axis=0)
        symmetric = None if symmetric is None else np.repeat(symmetric, n_outputs, axis=0)
        return self.equations(hermitian, symmetric, self.products, level)

    accept = CategoricalProblem.accept
    finish = CategoricalProblem.finish


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


def _unpack_both(packed: NDArray, size: int, is_complex: bool) -> tuple[NDArray, NDArray | None]:
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
