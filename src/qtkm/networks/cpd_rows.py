"""Local problem of a column of a CPD from the rows themselves."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import rows as row_kernels
from .cpd_column import Problem, unpack_both
from .local import LocalSystem
from .planes import from_planes


class RowsProblem(Problem):
    """Cores of a column from the environments of the rows themselves.

    Right where there are about as many grid values as rows, so that statistics would
    save nothing; and exact at α = 0, where the rows allow a QR factorization.
    """

    #: least squares by QR up to this many entries of the design matrix
    qr_entries = 4_000_000

    def __init__(self, iterate: Any, block: int, setting: Any):
        super().__init__(iterate, block, setting)
        self.column = iterate.columns[block]
        self.cores = list(iterate.cores[block])
        self.radices = np.asarray(self.column.radices, dtype=np.int64)
        self.rows = [_ShardRows(iterate, block, shard) for shard in setting.shards]

    def system(self, level: int) -> LocalSystem:
        """Local system of a level."""
        size = self.radices[level] * self.rank
        packed, rhs = self._sum(level, size)
        hermitian, symmetric = unpack_both(packed, size, self.iterate.is_complex)
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
        self.factors = np.ascontiguousarray(np.stack([factors.real, factors.imag], axis=1))
        self.target = np.ascontiguousarray(shard.scaled[1].T)
        self.blocks = shard.blocks()
        self.phase = column.phase[codes] if len(column.phase) else np.ones(len(shard))
        self.start(iterate)

    def start(self, iterate: Any) -> None:
        """Begin with the phase alone."""
        self.prefix = row_kernels.start_lines(self.phase, iterate.rank, iterate.is_complex)

    def advance(self, first: int, radix: int, cores: NDArray, rank: int, iterate: Any) -> None:
        """Multiply the running product by the response of a level."""

        def task(bounds):
            begin, end = bounds
            row_kernels.multiply_level(
                self.prefix, begin, end - begin, self.factors, begin, first, radix, cores, rank,
                iterate.is_complex,
            )  # fmt: skip

        iterate.run(task, self.blocks)
