"""Local problems of a train or ring: the cores of one column, or the output core.

A problem serves every level of its column, from the lowest digit up; a train's core is made
left-orthogonal when it is left behind, a ring's core is scaled to norm 1, and the next core
takes the factor.  Unknowns of a core are ordered (q, left, right).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import product_levels as kernels
from . import product_cores as algebra
from . import product_levels as levels
from .cpd_column import unpack_both
from .local import LocalSystem, least_squares
from .product_passes import ApplyPass, StatisticsPass, environments, last_states


def make_problem(iterate: Any, block: int, setting: Any, path: str) -> "Problem":
    """Local problem of a block on a given path."""
    if block == len(iterate.columns):
        return OutputProblem(iterate, setting)
    if iterate.columns[block].is_categorical:
        return CategoricalProblem(iterate, block, setting)
    kinds = {"statistics": StatisticsProblem, "rows": RowsProblem, "iterative": IterativeProblem}
    if path not in kinds:
        raise ValueError(f"path={path!r} is not known; use one of {', '.join(map(repr, kinds))}.")
    return kinds[path](iterate, block, setting)


class Problem:
    """What all of them share: gauge, norm, and the sweep over the levels."""

    def __init__(self, iterate: Any, block: int, setting: Any):
        self.iterate, self.block, self.setting = iterate, block, setting
        entry = iterate.cores[block]
        self.cores: list[NDArray] = list(entry) if isinstance(entry, list) else [entry]
        self.is_split = setting.real_part and iterate.is_complex
        first = sum(len(c) for c in iterate.cores[:block] if isinstance(c, list))
        sites = iterate.sites
        self.before = algebra.carried(algebra.carry_left, sites[:first], sites[0])
        self.after = algebra.carried(
            algebra.carry_right, sites[first + len(self.cores) :][::-1], sites[0]
        )
        self.restart_norms()
        self.factor: Any = None

    def restart_norms(self) -> None:
        """Norm products around the first level."""
        self.left_norm = self.before
        self.right_norms = [self.after]
        for core in self.cores[:0:-1]:
            self.right_norms.insert(0, algebra.carry_right(self.right_norms[0], core))

    @property
    def n_levels(self) -> int:
        """Number of cores of the block."""
        return len(self.cores)

    def gamma(self, level: int) -> NDArray:
        """Γ over the entries (left, right) of a level's core."""
        return algebra.norm_matrix(self.left_norm, self.right_norms[level])

    def system(self, level: int) -> LocalSystem:
        """Local system of a level."""
        raise NotImplementedError

    def advance(self, level: int) -> None:
        """Take a level that has its new core into what stands before the next."""

    def solve(self, level: int) -> tuple[NDArray, float]:
        """Best core of a level, and the objective there."""
        block, value = self.system(level).minimize(self.cores[level].transpose(1, 0, 2))
        return np.ascontiguousarray(block.transpose(1, 0, 2)), value

    def sweep(self) -> list[float]:
        """Update all levels once; returns the objective after each."""
        values = []
        for level in range(self.n_levels):
            core, value = self.solve(level)
            self.accept(level, core)
            values.append(value)
        return values

    def accept(self, level: int, core: NDArray) -> None:
        """Put in a new core; the next one takes its factor."""
        core, factor = self.leave(core)
        self.cores[level] = core
        if level + 1 < self.n_levels:
            self.cores[level + 1] = algebra.push_right(factor, self.cores[level + 1])
        else:
            self.factor = factor
        self.left_norm = algebra.carry_left(self.left_norm, core)
        self.advance(level)

    def leave(self, core: NDArray) -> tuple[NDArray, NDArray]:
        """Gauge of a core that is left behind, and the factor for the next one."""
        if not self.iterate.network.is_ring:
            return algebra.left_orthogonal(core)
        norm = np.linalg.norm(core) or 1.0
        return core / norm, norm * np.eye(core.shape[2], dtype=core.dtype)

    def restart(self) -> None:
        """Begin another sweep over the levels, a train's cores orthogonal on the right again."""
        if self.factor is not None:
            self.cores[-1] = algebra.push_left(self.cores[-1], self.factor)
            self.factor = None
        if not self.iterate.network.is_ring:
            self.cores = algebra.center_at(self.cores, 0)
        self.restart_norms()

    def finish(self) -> None:
        """Hand the cores back; the factor goes to the next block."""
        iterate, block = self.iterate, self.block
        if block + 1 == iterate.n_blocks:
            self.cores[-1] = algebra.push_left(self.cores[-1], self.factor)
            iterate.put(block, self.cores)
            return
        iterate.put(block, self.cores)
        following = iterate.cores[block + 1]
        if isinstance(following, list):
            following = [algebra.push_right(self.factor, following[0]), *following[1:]]
        else:
            following = algebra.push_right(self.factor, following)
        iterate.put(block + 1, following)


class ColumnProblem(Problem):
    """A numeric column: products of the levels' matrices at its grid values."""

    def __init__(self, iterate: Any, block: int, setting: Any):
        super().__init__(iterate, block, setting)
        self.column = iterate.columns[block]
        self.begin()

    def begin(self) -> None:
        """Products around the first level."""
        self.left = levels.start(self.column, self.cores[0].shape[0], self.cores[0].dtype)
        self.right = levels.suffixes(self.column, self.cores)

    def begin_at(self, level: int) -> None:
        """Stand before a level, those before it as they are."""
        for k in range(level):
            self.left_norm = algebra.carry_left(self.left_norm, self.cores[k])
            self.advance(k)

    def advance(self, level: int) -> None:
        """Take a level that has its new core into what stands before the next."""
        if level + 1 < self.n_levels:
            matrices = levels.matrices(self.column, level, self.cores[level])
            self.left = levels.multiply(self.left, matrices)

    def restart(self) -> None:
        """Begin another sweep over the levels."""
        super().restart()
        self.begin()

    def shape(self, level: int) -> tuple[int, int, int]:
        """Shape of the unknowns of a level, (Q, left, right)."""
        left, radix, right = self.cores[level].shape
        return radix, left, right


class StatisticsProblem(ColumnProblem):
    """Cores of a column from its statistics S[u], b[u]: no row is touched again."""

    def __init__(self, iterate: Any, block: int, setting: Any, known: Any = None):
        super().__init__(iterate, block, setting)
        if known is None:
            packed, sums = setting.sum(StatisticsPass(iterate.tables, block, self.is_split))
            known = packed, levels.from_buffer(sums, *map(int, iterate.bonds[block : block + 2]))
        self.packed, self.sums = known

    def system(self, level: int) -> LocalSystem:
        """Local system of a level."""
        products = levels.pull_back(self.column, level, self.left, self.right[level], self.sums)
        products = products.transpose(1, 0, 2).reshape(1, -1)
        hermitian = self._gram(level, conjugate=True)[None]
        symmetric = self._gram(level, conjugate=False)[None] if self.is_split else None
        return least_squares(
            hermitian, symmetric, products, self.gamma(level), self.setting, self.shape(level)
        )

    def _gram(self, level: int, conjugate: bool) -> NDArray:
        column, is_complex = self.column, self.iterate.is_complex
        pairs, index = column.products(level, conjugate)
        radix, a, b = self.shape(level)
        size = self.sums.shape[1] * self.sums.shape[2]
        shift = 0 if conjugate else size * (size + 1)
        left, right = (
            np.ascontiguousarray(x, dtype=complex) for x in (self.left, self.right[level])
        )
        factors, first = column.factors.astype(complex), column.slices[level].start

        def partial(bounds: tuple[int, int]) -> NDArray:
            out = np.zeros((len(pairs), 2, a * b, a * b))
            kernels.gram(
                *bounds, self.packed, shift, left, right, factors, first, pairs, conjugate, out
            )
            return out

        parts = self.iterate.run(partial, column.blocks())
        sums = sum(parts[1:], start=parts[0])
        blocks = (sums[:, 0] + 1j * sums[:, 1]).transpose(0, 2, 1)
        matrix = np.empty((radix, a * b, radix, a * b), dtype=complex)
        for q in range(radix):
            for p in range(q, radix):
                part = blocks[index[q, p]]
                matrix[q, :, p] = part
                matrix[p, :, q] = part.conj().T if conjugate else part.T
        square = matrix.reshape(radix * a * b, -1)
        return square if is_complex else np.ascontiguousarray(square.real)


class CategoricalProblem(Problem):
    """Core of a categorical column: one small system a category."""

    #: categories that are solved at a time, which bounds the memory of their matrices
    chunk = 256

    def __init__(self, iterate: Any, block: int, setting: Any):
        super().__init__(iterate, block, setting)
        self.packed, sums = setting.sum(StatisticsPass(iterate.tables, block, self.is_split))
        left, _, right = self.cores[0].shape
        self.size = left * right
        self.products = levels.from_buffer(sums, left, right).reshape(len(sums), -1)

    def system(self, level: int, part: slice = slice(None)) -> LocalSystem:
        """Local system of the core, or of some of its categories."""
        matrices = unpack_both(self.packed[part], self.size, self.iterate.is_complex)
        products = self.products[part]
        shape = (len(products), self.cores[0].shape[0], self.cores[0].shape[2])
        return least_squares(*matrices, products, self.gamma(0), self.setting, shape)

    def solve(self, level: int) -> tuple[NDArray, float]:
        """Best core, some categories at a time, and the objective there."""
        start = self.cores[0].transpose(1, 0, 2)
        best, value = np.empty_like(start), self.setting.constant
        for first in range(0, len(start), self.chunk):
            part = slice(first, first + self.chunk)
            best[part], least = self.system(0, part).minimize(start[part])
            value += least - self.setting.constant
        return np.ascontiguousarray(best.transpose(1, 0, 2)), value


class RowsProblem(ColumnProblem):
    """Cores of a column from the environments of the rows themselves."""

    #: least squares by QR up to this many entries of the design matrix
    qr_entries = 4_000_000

    def __init__(self, iterate: Any, block: int, setting: Any):
        super().__init__(iterate, block, setting)
        self.rows = []
        for shard in setting.shards:
            whole = environments(iterate.tables, shard, block, block + 1, iterate.run)
            self.rows.append((shard.codes[:, block], whole, shard.scaled[1], shard.blocks()))

    def _design(self, level: int, rows: Any, part: slice) -> tuple[NDArray, NDArray]:
        """Design rows (n·n_outputs, Q·left·right) and targets of some rows."""
        codes, environment, target, _ = rows
        codes = codes[part]
        left, right = self.left[codes], self.right[level][codes]
        inner = (
            left.transpose(0, 2, 1)[:, None] @ environment[part] @ right.transpose(0, 2, 1)[:, None]
        )
        factors = self.column.factors[codes][:, self.column.slices[level]]
        design = factors[:, None, :, None] * inner.reshape(*inner.shape[:2], 1, -1)
        return design.reshape(inner.shape[0] * inner.shape[1], -1), target[part].reshape(-1)

    def system(self, level: int) -> LocalSystem:
        """Local system of a level."""
        total: Any = None
        for rows in self.rows:

            def task(bounds: tuple[int, int], rows: Any = rows) -> list[Any]:
                design, target = self._design(level, rows, slice(*bounds))
                symmetric = design.T @ design if self.is_split else None
                return [design.conj().T @ design, symmetric, target @ design]

            for part in self.iterate.run(task, rows[3]):
                total = (
                    part
                    if total is None
                    else [_plus(a, b) for a, b in zip(total, part, strict=True)]
                )
        hermitian, symmetric, products = total
        return least_squares(
            hermitian[None], None if symmetric is None else symmetric[None], products[None],
            self.gamma(level), self.setting, self.shape(level), self._least_squares_rows(level),
        )  # fmt: skip

    def _least_squares_rows(self, level: int) -> tuple[NDArray, NDArray, float] | None:
        entries = sum(rows[1].shape[0] * rows[1].shape[1] for rows in self.rows)
        if self.setting.alpha > 0 or self.is_split:
            return None
        if entries * self.cores[level].size > self.qr_entries:
            return None
        parts = [self._design(level, rows, slice(None)) for rows in self.rows]
        design, target = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return design, target, self.setting.total_weight


def _plus(a: Any, b: Any) -> Any:
    return None if a is None else a + b


class IterativeProblem(ColumnProblem):
    """Cores of a column by conjugate gradients: O(D·R²) a row and iteration, no matrix."""

    #: largest number of iterations a core, and least relative size of the residual
    iterations, tol = 60, 1e-8

    def __init__(self, iterate: Any, block: int, setting: Any):
        super().__init__(iterate, block, setting)
        self.sums = self._apply(None)

    def _apply(self, change: NDArray | None) -> NDArray:
        """Σ ω·conj(g·δT)·g at the grid values, conjugated; without a change, conj Σ ω·y·g."""
        iterate = self.iterate
        rows = None if change is None else levels.to_buffer(change, iterate.is_complex)
        sums = self.setting.sum(ApplyPass(iterate.tables, self.block, self.is_split, rows))
        return levels.from_buffer(
            sums, *map(int, iterate.bonds[self.block : self.block + 2])
        ).conj()

    def _pull(self, level: int, sums: NDArray) -> NDArray:
        pulled = levels.pull_back(
            self.column, level, self.left, self.right[level], sums.conj()
        ).conj()
        return pulled / self.setting.total_weight

    def system(self, level: int) -> Any:
        """Local system of a level, without its matrix."""
        gamma, alpha = self.gamma(level), self.setting.alpha
        goal = self._pull(level, self.sums)

        def product(core: NDArray) -> NDArray:
            moved = levels.multiply(self.left, levels.matrices(self.column, level, core))
            result = self._pull(level, self._apply(levels.multiply(moved, self.right[level])))
            a, q, b = core.shape
            flat = gamma @ core.transpose(0, 2, 1).reshape(a * b, q)
            return result + alpha * flat.reshape(a, b, q).transpose(0, 2, 1)

        return IterativeSystem(product, goal, self.setting.constant, self.iterations, self.tol)


@dataclass
class IterativeSystem:
    """A local system known by its products with cores (left, Q, right)."""

    product: Any
    goal: NDArray
    constant: float
    iterations: int
    tol: float

    def value_of(self, block: NDArray) -> float:
        """Objective at a block (Q, left, right)."""
        core = block.transpose(1, 0, 2)
        return self.constant + float(np.vdot(core, self.product(core) - 2 * self.goal).real)

    def minimize(self, block: NDArray) -> tuple[NDArray, float]:
        """Best block that the iterations find from a given one, and its value."""
        start = np.ascontiguousarray(block.transpose(1, 0, 2))
        core, residual = conjugate_gradients(
            self.product, self.goal, start, self.iterations, self.tol
        )
        value = self.constant - float(np.vdot(core, self.goal + residual).real)
        return core.transpose(1, 0, 2), value


def conjugate_gradients(
    product: Any, goal: NDArray, start: NDArray, iterations: int, tol: float
) -> tuple[NDArray, NDArray]:
    """Solve product(x) = goal from a start; x and its residual.  Every iterate is better."""
    x = start.copy()
    residual = goal - product(x)
    direction, square = residual.copy(), _square(residual)
    enough = tol**2 * _square(goal)
    for _ in range(iterations):
        if square <= enough:
            break
        image = product(direction)
        curvature = float(np.vdot(direction, image).real)
        if curvature <= 0:
            break
        step = square / curvature
        x += step * direction
        residual -= step * image
        square, before = _square(residual), square
        direction = residual + (square / before) * direction
    return x, residual


def _square(x: NDArray) -> float:
    return float(np.vdot(x, x).real)


class OutputProblem(Problem):
    """The output core: one regression of all outputs on the states before it."""

    def __init__(self, iterate: Any, setting: Any):
        super().__init__(iterate, len(iterate.columns), setting)

    def system(self, level: int) -> LocalSystem:
        """Local system of the core: the same matrix for every output."""
        left, n_outputs, right = self.cores[0].shape
        size = left * right
        kind = np.complex128 if self.iterate.is_complex else np.float64
        hermitian, symmetric = np.zeros((size, size), kind), np.zeros((size, size), kind)
        products = np.zeros((n_outputs, size), kind)
        for shard in self.setting.shards:
            design = last_states(self.iterate.tables, shard, self.iterate.run)
            root, target = shard.scaled
            if len(root):
                design = design * root[:, None]
            hermitian += design.conj().T @ design
            symmetric += design.T @ design if self.is_split else 0
            products += target.T @ design
        parts = np.repeat(hermitian[None], n_outputs, axis=0)
        both = np.repeat(symmetric[None], n_outputs, axis=0) if self.is_split else None
        return least_squares(
            parts, both, products, self.gamma(0), self.setting, (n_outputs, left, right)
        )

    def finish(self) -> None:
        """Hand the core back."""
        self.iterate.put(self.block, algebra.push_left(self.cores[0], self.factor))
