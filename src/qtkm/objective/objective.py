"""The objective: mean loss plus α times the penalty of the weights.

It joins data, features, network, loss and engine, and is all that a solver sees:

    iterate = objective.at(cores)             cores with their tables
    objective.value(iterate)                  the objective itself (one cheap pass)
    objective.gradient(iterate)               value and gradient (one pass)
    objective.curvature(iterate)              products with the Gauss-Newton matrix (a pass each)
    objective.update(iterate, block)          one block of cores to its minimum (a pass)
"""

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..data import Shard
from ..engines import Engine, add_in_order
from ..losses import Loss
from ..networks import Cores, Iterate, Network, flatten, unflatten
from ..networks.additive import AdditiveIterate
from ..networks.network import Point
from ..penalties import Family, Penalty
from ..protocols import Given, Pass, Setting
from . import majorize, passes
from .column import Column


@dataclass
class Objective:
    """Mean loss of the rows of some shards plus α·Σ precision·|w|²."""

    columns: Sequence[Column]
    shards: Sequence[Shard]
    network: Network
    loss: Loss
    engine: Engine
    alpha: float
    #: weighted sum of squares that merging rows took out of the targets
    scatter: float = 0.0
    #: type of tables and environments; sums and solves are double
    dtype: DTypeLike = np.float64
    #: prior of every column; None for the plain norm of the weights
    penalties: Sequence[Penalty] | None = None

    def __post_init__(self) -> None:
        weight, squares, n_rows = self.engine.sum(passes.totals, self.shards)
        self.total_weight = float(weight[0])
        self.constant = (float(squares.sum()) + self.scatter) / self.total_weight
        #: number of training rows, equal ones counted once where they were merged
        self.n_rows = int(n_rows[0])
        self.n_outputs = len(squares)
        self.loss = self.loss.for_outputs(self.n_outputs)
        self._forget()

    def _forget(self) -> None:
        """Forget responses, mean loss and objective at some cores, known by their token."""
        self._kept: tuple[object, list[NDArray]] | None = None
        self._kept_loss: tuple[object, float] | None = None
        self._last: tuple[object, float] | None = None

    @property
    def rows_are_here(self) -> bool:
        """Whether the training rows are in this process's memory."""
        return passes.are_here(self.shards)

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
            rows_are_here=self.rows_are_here,
        )

    @property
    def shapes(self) -> Cores:
        """Shapes of the cores, in their layout."""
        return self.network.shapes([column.radices for column in self.columns], self.n_outputs)

    @property
    def blocks(self) -> range:
        """Blocks of cores that are updated together."""
        return range(len(self.shapes))

    def at(self, cores: Cores, precisions: Sequence[NDArray | None] | None = None) -> Given:
        """Cores with their tables, at the penalty of the start or at another of the family."""
        run = self.engine.run
        chosen = self.precisions if precisions is None else precisions
        return self.network.iterate(self.columns, cores, self.dtype, run, chosen)

    @cached_property
    def families(self) -> list[Family] | None:
        """Members of the columns' penalties; None for the plain norm of the weights."""
        if self.penalties is None:
            return None
        pairs = zip(self.penalties, self.columns, strict=True)
        return [Family(penalty, column.feature_map) for penalty, column in pairs]

    @cached_property
    def precisions(self) -> list[NDArray | None]:
        """What the penalty multiplies squared weights by: (M,) for every column, None for 1."""
        n_main = len(self.columns) if self.network.has_main_effects else 0
        if self.families is None:
            return [None] * (len(self.columns) + n_main)
        return [*(family.start for family in self.families), *[None] * n_main]

    def begin_at(self, penalties: Sequence[Penalty]) -> None:
        """Begin at penalties that an earlier fit has learned."""
        if self.families is not None:
            pairs = zip(self.families, penalties, strict=True)
            known = [family.precision_of(penalty) for family, penalty in pairs]
            self.precisions[: len(known)] = known

    def learn(self, iterate: Iterate, block: int, gain: float = 0.0) -> float:
        """Give a column the member of its penalty's family that suits its weights.

        No row is looked at. The penalty rises by no more than what the update of the column has
        gained, so that the objective never rises. Returns by how much it changes.
        """
        families = self.families
        if families is None or block >= len(families) or families[block].precisions is None:
            return 0.0
        energies = iterate.energies(block)
        if energies is None or self.alpha == 0:
            return 0.0
        cost = float(iterate.precisions[block] @ energies)
        found = families[block].choose(energies, cost + max(gain, 0.0) / self.alpha)
        change = self.alpha * (float(found @ energies) - cost)
        if change > max(gain, 0.0):
            return 0.0
        iterate.put_precision(block, found)
        return change

    def learned_penalties(self, precisions: Sequence[NDArray | None]) -> list[Penalty] | None:
        """Penalties of the columns that precisions belong to."""
        if self.families is None:
            return None
        pairs = zip(self.families, precisions, strict=False)  # main effects stand behind
        return [family.member_of(precision) for family, precision in pairs]

    def with_parts(self, network: Network | None = None, alpha: float | None = None) -> "Objective":
        """Return the objective with another network or α; what networks cache of rows is shared."""
        other = copy.copy(self)
        kept = self.setting.kept
        vars(other)["families"] = self.families
        for name in ("setting", *(("precisions",) if network is not None else ())):
            vars(other).pop(name, None)
        other.network = self.network if network is None else network
        other.alpha = self.alpha if alpha is None else alpha
        other._forget()
        other.setting.kept = kept
        return other

    def problem(self, iterate: Iterate, block: int) -> Given:
        """Local problem of a block under a quadratic loss."""
        return iterate.problem(block, self.setting)

    def update(
        self,
        iterate: Iterate,
        block: int,
        sweeps: int = 1,
        make_problem: Callable[[Setting], Given] | None = None,
    ) -> list[float]:
        """Bring a block of cores to its minimum, all others fixed.

        Another local problem than that of the block may be given, as a function of the setting.
        Returns the objective after every core update; where the loss is not quadratic, after
        the whole block.
        """
        make_problem = make_problem or partial(iterate.problem, block)
        before = iterate.token
        if not self.loss.is_quadratic:
            is_main = self.network.has_main_effects and block + 1 == iterate.n_blocks
            values = majorize.update(self, iterate, make_problem, sweeps, is_main)
        else:
            problem = make_problem(self.setting)
            values = problem.sweep()
            for _ in range(sweeps - 1 if problem.n_levels > 1 else 0):
                problem.restart()
                values += problem.sweep()
            problem.finish()
        if not values:  # two-site problems of a column of one core have none
            return values
        known, self._last = self._last, None
        gain = known[1] - values[-1] if known is not None and known[0] is before else 0.0
        values[-1] += self.learn(iterate, block, gain)
        self._last = iterate.token, values[-1]
        return values

    def value(self, iterate: Iterate) -> float:
        """Mean loss plus α times the penalty."""
        return self.mean_loss(iterate) + self.penalty(iterate)

    def penalty(self, iterate: Point) -> float:
        """α times the penalty of the weights, and that of main effects."""
        value = self.alpha * iterate.penalty()
        return value + iterate.main_penalty() if isinstance(iterate, AdditiveIterate) else value

    def mean_loss(self, iterate: Iterate, shards: Sequence[Shard] | None = None) -> float:
        """Weighted mean loss over the training rows, or over those of other shards."""
        losses = partial(passes.losses, loss=self.loss)
        if shards is not None:
            total, weight = self.engine.sum(self._after_responses(losses, iterate), shards)
            return float(total / weight)
        if self._kept_loss is None or self._kept_loss[0] is not iterate.token:
            total, _ = self.sum_with_responses(losses, iterate)
            self._kept_loss = iterate.token, (float(total) + self.scatter) / self.total_weight
        return self._kept_loss[1]

    def mean_square(self, iterate: Iterate, shards: Sequence[Shard]) -> float:
        """Weighted mean square error of Re f over rows that need not be those of the fit."""
        errors = partial(passes.square_errors, respond=iterate.response_pass())
        total, weight = self.engine.sum(errors, shards)
        return float(total / weight)

    def mean_size(self, iterate: Iterate) -> float:
        """Mean of |f|² over the training rows."""
        sizes = partial(passes.square_sizes, respond=iterate.response_pass())
        total = self.engine.sum(sizes, self.shards)
        return float(total[0]) / self.n_rows

    def kept_responses(self, iterate: Point) -> list[NDArray]:
        """Responses of the training rows, kept until the cores change."""
        if self._kept is None or self._kept[0] is not iterate.token:
            responses = [iterate.responses(shard) for shard in self.shards]
            if not self.loss.sees_complex:
                responses = [np.ascontiguousarray(response.real) for response in responses]
            self._kept = (iterate.token, responses)
        return self._kept[1]

    def keep_responses(self, iterate: Iterate, responses: list[NDArray], mean_loss: float) -> None:
        """Say what responses and mean loss of the training rows are, if it is known."""
        self._kept, self._kept_loss = (iterate.token, responses), (iterate.token, mean_loss)

    def gradient(
        self, iterate: Point, shards: Sequence[Shard] | None = None
    ) -> tuple[float, Cores]:
        """Value and gradient with respect to the cores, over all training rows or over some.

        The gradient of a complex core is ∂/∂Re + i·∂/∂Im.
        """
        every = shards is None
        chosen = self.shards if shards is None else shards
        total = self.total_weight if every else sum(map(passes.weight_of, chosen))
        add_slopes = partial(
            passes.slopes, respond=iterate.response_pass(), gradient=iterate.gradient_pass(),
            loss=self.loss, total_weight=total,
        )  # fmt: skip
        value, *sums = self.engine.sum(add_slopes, chosen)
        mean = float(value[0]) + (self.scatter / total if every else 0.0)
        gradient = iterate.gradient(sums)
        self._add_penalty(gradient, iterate, iterate.penalty_gradient, iterate.cores)
        return mean + self.penalty(iterate), gradient

    def _add_penalty(self, total: Cores, iterate: Point, product: Pass, direction: Cores) -> None:
        """Add α times a derivative of the penalty, and that of the main effects', in place."""
        parts = [(product(), self.alpha)] if self.alpha > 0 else []
        if isinstance(iterate, AdditiveIterate):
            parts.append((iterate.main_penalty_product(direction), 1.0))
        for part, scale in parts:
            for a, b in zip(flatten(total), flatten(part), strict=True):
                a += scale * b

    def curvature(self, iterate: Point) -> Callable[[Cores], Cores]:
        """Product with the Gauss-Newton matrix of the loss plus that of the penalty.

        The penalty takes part with its diagonal blocks, one a core.
        """

        def product(direction: Cores) -> Cores:
            add_curvature = partial(
                passes.curvatures, tangent=iterate.tangent(direction),
                gradient=iterate.gradient_pass(), loss=self.loss, total_weight=self.total_weight,
            )  # fmt: skip
            result = iterate.gradient(self.sum_with_responses(add_curvature, iterate))
            hessian = partial(iterate.penalty_product, direction)
            self._add_penalty(result, iterate, hessian, direction)
            return result

        return product

    def sum_with_responses(self, function: Pass, iterate: Point) -> Given:
        """Sum of function(shard, responses, run=…) over the training rows."""
        if not self.rows_are_here:
            return self.engine.sum(self._after_responses(function, iterate), self.shards)
        pairs = zip(self.shards, self.kept_responses(iterate), strict=True)
        return add_in_order(function(*pair, run=self.engine.run) for pair in pairs)

    def _after_responses(self, function: Pass, iterate: Point) -> Pass:
        real, respond = not self.loss.sees_complex, iterate.response_pass()
        return partial(passes.after_responses, respond=respond, then=function, real=real)

    def to_vector(self, cores: Cores) -> NDArray[np.float64]:
        """All cores as one vector of real numbers."""
        flat = [np.ascontiguousarray(core).reshape(-1).view(np.float64) for core in flatten(cores)]
        return np.concatenate(flat)

    def from_vector(self, vector: NDArray[np.float64]) -> Cores:
        """Cores of a vector of real numbers."""
        shapes = flatten(self.shapes)
        planes = 2 if self.is_complex else 1
        split = len(shapes) - self.network.n_real
        sizes = [int(np.prod(s)) * (planes if i < split else 1) for i, s in enumerate(shapes)]
        parts = np.split(np.ascontiguousarray(vector), np.cumsum(sizes)[:-1])
        kind = np.complex128 if self.is_complex else np.float64
        parts[:split] = [part.view(kind) for part in parts[:split]]
        flat = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        return unflatten(self.shapes, flat)
