"""The objective: mean loss plus α times the squared norm of the weights.

It joins data, features, network, loss and engine, and is all that a solver sees:

    iterate = objective.at(cores)             cores with their tables
    objective.value(iterate)                  the objective itself (one cheap pass)
    objective.gradient(iterate)               value and gradient (one pass)
    objective.curvature(iterate)              products with the Gauss-Newton matrix (a pass each)
    objective.update(iterate, block, path)    one block of cores to its minimum (a pass)
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Shard
from ..engines import Engine
from ..losses import Loss
from ..networks import Cores, Network, flatten, like
from . import majorize
from .column import Column
from .setting import Setting


@dataclass
class Objective:
    """Mean loss of the rows of some shards plus α‖w‖².

    Attributes
    ----------
    columns : list of Column
    shards : list of Shard
        Training rows.
    network, loss, engine : the parts
    alpha : float
        Regularization λ.
    scatter : float
        Weighted sum of squares that merging rows took out of the targets.
    dtype : dtype
        Type of tables and environments; sums and solves are double.
    path : str
        How local problems meet the rows; "auto" leaves it to the network.
    """

    columns: Sequence[Column]
    shards: Sequence[Shard]
    network: Network
    loss: Loss
    engine: Engine
    alpha: float
    scatter: float = 0.0
    dtype: Any = np.float64
    path: str = "auto"

    def __post_init__(self) -> None:
        weight, squares = self.engine.sum(_totals, self.shards)
        self.total_weight = float(weight[0])
        self.constant = (float(squares[0]) + self.scatter) / self.total_weight
        self._kept: tuple[object, list[NDArray]] | None = None
        self._kept_loss: tuple[object, float] | None = None

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return self.shards[0].target.shape[1]

    @property
    def n_rows(self) -> int:
        """Number of training rows, equal ones counted once where they were merged."""
        return sum(len(shard) for shard in self.shards)

    @cached_property
    def is_complex(self) -> bool:
        """Whether some feature is complex, and the cores with it."""
        return any(column.feature_map.is_complex for column in self.columns)

    @cached_property
    def setting(self) -> Setting:
        """The objective as local problems see it, where the loss is quadratic."""
        return Setting(
            shards=self.shards,
            engine=self.engine,
            alpha=self.alpha,
            total_weight=self.total_weight,
            constant=self.constant,
            real_part=not self.loss.sees_complex,
            n_outputs=self.n_outputs,
            n_rows=self.n_rows,
            is_exact=self.loss.is_quadratic,
            path=self.path,
        )

    @property
    def shapes(self) -> list[Any]:
        """Shapes of the cores, in their layout."""
        return self.network.shapes([column.radices for column in self.columns], self.n_outputs)

    @property
    def blocks(self) -> range:
        """Blocks of cores that are updated together."""
        return range(len(self.shapes))

    def at(self, cores: Cores) -> Any:
        """Cores with their tables."""
        return self.network.iterate(self.columns, cores, self.dtype, self.engine.run)

    # -- local problems ---------------------------------------------------------------------

    def paths(self, iterate: Any) -> list[str]:
        """How each block's local problem meets the rows."""
        return iterate.paths(self.setting)

    def problem(self, iterate: Any, block: int, path: str = "statistics") -> Any:
        """Local problem of a block under a quadratic loss."""
        return iterate.problem(block, self.setting, path)

    def update(
        self,
        iterate: Any,
        block: int,
        path: str,
        sweeps: int = 1,
        make_problem: Callable[[Setting], Any] | None = None,
    ) -> list[float]:
        """Bring a block of cores to its minimum, all others fixed.

        Another local problem than that of the block may be given, as a function of the setting.
        Returns the objective after every core update; where the loss is not quadratic, after
        the whole block.
        """
        if make_problem is None:

            def make_problem(setting: Setting) -> Any:
                return iterate.problem(block, setting, path)

        if not self.loss.is_quadratic:
            return majorize.update(self, iterate, make_problem, sweeps)
        problem = make_problem(self.setting)
        values = problem.sweep()
        for _ in range(sweeps - 1 if problem.n_levels > 1 else 0):
            problem.restart()
            values += problem.sweep()
        problem.finish()
        return values

    # -- values -----------------------------------------------------------------------------

    def value(self, iterate: Any) -> float:
        """Mean loss plus α‖w‖²."""
        return self.mean_loss(iterate) + self.alpha * iterate.squared_norm()

    def mean_loss(self, iterate: Any, shards: Sequence[Shard] | None = None) -> float:
        """Weighted mean loss over the training rows, or over those of other shards."""
        if shards is not None:
            total = sum(self._loss(shard, iterate.responses(shard)) for shard in shards)
            return total / sum(_weight(shard) for shard in shards)
        if self._kept_loss is None or self._kept_loss[0] is not iterate.token:
            total = sum(map(self._loss, self.shards, self.kept_responses(iterate)))
            self._kept_loss = iterate.token, (total + self.scatter) / self.total_weight
        return self._kept_loss[1]

    def _loss(self, shard: Shard, response: NDArray) -> float:
        def part(bounds: tuple[int, int]) -> float:
            rows = slice(*bounds)
            values = self.loss.value(response[rows], shard.target[rows])
            return float(values.sum() if shard.weight is None else shard.weight[rows] @ values)

        return sum(self.engine.run(part, shard.blocks()))

    def mean_square(self, iterate: Any, shards: Sequence[Shard]) -> float:
        """Weighted mean square error of Re f over rows that need not be those of the fit."""
        total = 0.0
        for shard in shards:
            error = ((iterate.responses(shard).real - shard.target) ** 2).sum(axis=1)
            total += float(error.sum() if shard.weight is None else shard.weight @ error)
        return total / sum(_weight(shard) for shard in shards)

    def kept_responses(self, iterate: Any) -> list[NDArray]:
        """Responses of the training rows, kept until the cores change."""
        if self._kept is None or self._kept[0] is not iterate.token:
            responses = [iterate.responses(shard) for shard in self.shards]
            if not self.loss.sees_complex:
                responses = [np.ascontiguousarray(response.real) for response in responses]
            self._kept = (iterate.token, responses)
        return self._kept[1]

    def keep_responses(self, iterate: Any, responses: list[NDArray], mean_loss: float) -> None:
        """Say what responses and mean loss of the training rows are, if it is known."""
        self._kept, self._kept_loss = (iterate.token, responses), (iterate.token, mean_loss)

    # -- derivatives ------------------------------------------------------------------------

    def gradient(self, iterate: Any, shards: Sequence[Shard] | None = None) -> tuple[float, Cores]:
        """Value and gradient with respect to the cores, over all training rows or over some.

        The gradient of a complex core is ∂/∂Re + i·∂/∂Im.
        """
        every = shards is None
        chosen = self.shards if shards is None else shards
        total = self.total_weight if every else sum(_weight(shard) for shard in chosen)
        add_slopes = _SlopePass(iterate, self.loss, total)
        value, *sums = self.engine.sum(add_slopes, chosen)
        mean = float(value[0]) + (self.scatter / total if every else 0.0)
        gradient = iterate.gradient(sums)
        if self.alpha > 0:
            _add(gradient, iterate.norm_gradient(), self.alpha)
            mean += self.alpha * iterate.squared_norm()
        return mean, gradient

    def curvature(self, iterate: Any) -> Callable[[Cores], Cores]:
        """Product with the Gauss-Newton matrix of the loss plus that of the penalty.

        The penalty takes part with its diagonal blocks, one a core.
        """
        responses = self.kept_responses(iterate)

        def product(direction: Cores) -> Cores:
            add_curvature = _CurvaturePass(iterate, self.loss, self.total_weight, direction)
            sums = None
            for shard, response in zip(self.shards, responses, strict=True):
                part = self.engine.sum(add_curvature, [shard], response)
                sums = part if sums is None else [a + b for a, b in zip(sums, part, strict=True)]
            result = iterate.gradient(sums)
            if self.alpha > 0:
                _add(result, iterate.norm_product(direction), self.alpha)
            return result

        return product

    def to_vector(self, cores: Cores) -> NDArray[np.float64]:
        """All cores as one vector of real numbers."""
        flat = [np.ascontiguousarray(core).reshape(-1).view(np.float64) for core in flatten(cores)]
        return np.concatenate(flat)

    def from_vector(self, vector: NDArray[np.float64]) -> Cores:
        """Cores of a vector of real numbers."""
        kind = np.complex128 if self.is_complex else np.float64
        numbers = np.ascontiguousarray(vector).view(kind)
        shapes = flatten(self.shapes)
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        parts = np.split(numbers, ends[:-1])
        flat = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        return like(self.shapes, flat)


class _SlopePass:
    """Mean loss of a shard's rows and what its gradient needs."""

    def __init__(self, iterate: Any, loss: Loss, total_weight: float):
        self.iterate, self.loss, self.total_weight = iterate, loss, total_weight
        self.gradient_pass = iterate.gradient_pass()

    def __call__(self, shard: Shard, run: Any) -> tuple[Any, ...]:
        response = self.iterate.responses(shard)
        value = self.loss.value(response, shard.target)
        slopes = self.loss.gradient(response, shard.target)
        slopes *= _scale(shard, self.total_weight)
        total = value.sum() if shard.weight is None else shard.weight @ value
        mean = np.array([float(total) / self.total_weight])
        return mean, *self.gradient_pass(shard, slopes, run=run)


class _CurvaturePass:
    """What the product of a direction with the Gauss-Newton matrix needs of a shard's rows."""

    def __init__(self, iterate: Any, loss: Loss, total_weight: float, direction: Cores):
        self.loss, self.total_weight = loss, total_weight
        self.tangent, self.gradient_pass = iterate.tangent(direction), iterate.gradient_pass()

    def __call__(self, shard: Shard, response: NDArray, run: Any) -> tuple[Any, ...]:
        change = self.tangent(shard, run=run)
        slopes = self.loss.curvature_product(response, shard.target, change)
        slopes = slopes * _scale(shard, self.total_weight)
        return self.gradient_pass(shard, slopes, run=run)


def _add(total: Cores, more: Cores, scale: float) -> None:
    """Add a multiple of some cores to others, in place."""
    for a, b in zip(flatten(total), flatten(more), strict=True):
        a += scale * b


def _scale(shard: Shard, total_weight: float) -> Any:
    return 1 / total_weight if shard.weight is None else shard.weight[:, None] / total_weight


def _weight(shard: Shard) -> float:
    return float(len(shard) if shard.weight is None else shard.weight.sum())


def _totals(shard: Shard, run: Any) -> tuple[NDArray, NDArray]:
    """Total weight and weighted sum of squared targets."""
    target = shard.scaled[1]
    return np.array([_weight(shard)]), np.array([float(np.vdot(target, target))])
