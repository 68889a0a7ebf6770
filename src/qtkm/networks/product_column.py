"""What the local problems of a train or ring share: gauge, norm, and the sweep over levels.

A problem serves every level of its column, from the lowest digit up; a train's core is made
left-orthogonal when it is left behind, a ring's core is scaled to norm 1, and the next core
takes the factor.  Unknowns of a core are ordered (q, left, right).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import product_cores as algebra
from . import product_levels as levels
from .local import LocalSystem


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
