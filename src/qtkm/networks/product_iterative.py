"""Local problems of a train or ring without any matrix: conjugate gradients."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import product_levels as levels
from .product_column import ColumnProblem
from .product_passes import ApplyPass


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
