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
from ..penalties import Family, Penalty, Ridge
from ..protocols import Given, Pass, Run, Setting, Span
from . import majorize
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
    #: type of tables and environments; sums and solves are double
    dtype: DTypeLike = np.float64
    #: prior of every column; None for the plain norm of the weights
    penalties: Sequence[Penalty] | None = None

    def __post_init__(self) -> None:
        weight, squares, n_rows = self.engine.sum(totals, self.shards)
        self.total_weight = float(weight[0])
        self.constant = float(squares.sum()) / self.total_weight
        #: number of training rows, equal ones counted once where they were merged
        self.n_rows = int(n_rows[0])
        self.n_outputs = len(squares)
        self.loss = self.loss.for_outputs(self.n_outputs)
        #: token of the cores that were last looked at, and what is kept of them until others are
        self._known: tuple[object, dict[str, Given]] = (None, {})

    def _known_of(self, iterate: Point) -> dict[str, Given]:
        if self._known[0] != iterate.token:
            self._known = iterate.token, {}
        return self._known[1]

    @property
    def rows_are_here(self) -> bool:
        """Whether the training rows are in this process's memory, as those of a list are."""
        return getattr(self.shards, "are_here", True)

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
    def families(self) -> list[Family]:
        """Members of the columns' penalties."""
        given = self.penalties or [Ridge()] * len(self.columns)
        pairs = zip(given, self.columns, strict=True)
        return [Family(penalty, column.feature_map) for penalty, column in pairs]

    @cached_property
    def precisions(self) -> list[NDArray | None]:
        """What the penalty multiplies squared weights by: (M,) for every column, None for 1."""
        n_main = len(self.columns) if self.network.has_main_effects else 0
        return [*(family.start for family in self.families), *[None] * n_main]

    def begin_at(self, penalties: Sequence[Penalty]) -> None:
        """Begin at penalties that an earlier fit has learned."""
        pairs = zip(self.families, penalties, strict=True)
        self.precisions[: len(penalties)] = [own.precision_of(penalty) for own, penalty in pairs]

    def learn(self, iterate: Iterate, block: int, gain: float = 0.0) -> float:
        """Give a column the member of its penalty's family that suits its weights.

        No row is looked at. The penalty rises by no more than what the update of the column has
        gained, so that the objective never rises. Returns by how much it changes.
        """
        family = self.families[block] if block < len(self.families) else None
        if family is None or family.precisions is None or self.alpha == 0:
            return 0.0
        energies = iterate.energies(block)
        if energies is None:
            return 0.0
        cost = float(iterate.precisions[block] @ energies)
        found = family.choose(energies, cost + max(gain, 0.0) / self.alpha)
        change = self.alpha * (float(found @ energies) - cost)
        if change > max(gain, 0.0):
            return 0.0
        iterate.put_precision(block, found)
        return change

    def learned_penalties(self, precisions: Sequence[NDArray | None]) -> list[Penalty] | None:
        """Penalties of the columns that precisions belong to; None for the plain norm."""
        if self.penalties is None:
            return None
        pairs = zip(self.families, precisions, strict=False)  # main effects stand behind
        return [family.member_of(precision) for family, precision in pairs]

    def with_parts(self, network: Network | None = None, alpha: float | None = None) -> "Objective":
        """Return the objective with another network or α; what networks cache of rows is shared."""
        other = copy.copy(self)
        vars(other).update(families=self.families, _known=(None, {}))
        if network is not None:
            other.network = network
            vars(other).pop("precisions", None)
        other.alpha = self.alpha if alpha is None else alpha
        vars(other).pop("setting", None)
        other.setting.kept = self.setting.kept
        return other

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
        before = self._known_of(iterate).get("value")
        if not self.loss.is_quadratic:
            is_main = self.network.has_main_effects and block + 1 == iterate.n_blocks
            values = majorize.update(self, iterate, make_problem, sweeps, is_main)
        else:
            values = majorize.minimize(make_problem(self.setting), sweeps)
        if not values:  # two-site problems of a column of one core have none
            return values
        gain = 0.0 if before is None else before - values[-1]
        values[-1] += self.learn(iterate, block, gain)
        self._known_of(iterate)["value"] = values[-1]
        return values

    def value(self, iterate: Iterate) -> float:
        """Mean loss plus α times the penalty."""
        return self.mean_loss(iterate) + self.penalty(iterate)

    def penalty(self, iterate: Point) -> float:
        """α times the penalty of the weights, and that of main effects."""
        value = self.alpha * iterate.penalty()
        return value + iterate.main_penalty if isinstance(iterate, AdditiveIterate) else value

    def mean_loss(
        self, iterate: Iterate, shards: Sequence[Shard] | None = None, loss: Loss | None = None
    ) -> float:
        """Weighted mean loss over the training rows, or of any loss over those of other shards."""
        if shards is not None:
            function = partial(losses, loss=loss or self.loss)
            total, weight = self.engine.sum(self.after_responses(function, iterate), shards)
            return float(total / weight)
        known = self._known_of(iterate)
        if "mean loss" not in known:
            total, _ = self.sum_with_responses(partial(losses, loss=self.loss), iterate)
            known["mean loss"] = float(total) / self.total_weight
        return known["mean loss"]

    def smoothed(self, cores: Cores) -> Cores:
        """Scale the entries of every digit by the prior's size of the function it alone makes.

        Cores of a graph are returned as they are.
        """
        algebra = getattr(getattr(self.network, "network", self.network), "algebra", None)
        if algebra is None:
            return cores
        found = unflatten(cores, [core.copy() for core in flatten(cores)])
        for column, precision, levels in zip(self.columns, self.precisions, found, strict=False):
            if precision is None:
                continue
            digits = [int(np.argmax(level)) for level in column.feature_map.constant()]
            sizes = 1 / np.sqrt(precision.reshape(column.radices[::-1]))
            for k, core in enumerate(levels):
                own = [slice(None) if j == k else digit for j, digit in enumerate(digits)]
                size, elements = sizes[tuple(own[::-1])], algebra.elements(core)  # a view
                elements *= (size / size.max()).reshape(-1, *[1] * (elements.ndim - 1))
        return found

    def mean_size(self, iterate: Iterate) -> float:
        """Mean of |f|² over the training rows, or of (Re f)² if the loss sees only that."""
        return float(self.sum_with_responses(sizes, iterate)[0]) / self.n_rows

    def kept_responses(self, iterate: Point) -> list[NDArray]:
        """Responses of the training rows, kept until the cores change."""
        known = self._known_of(iterate)
        if "responses" not in known:
            responses = [iterate.responses(shard) for shard in self.shards]
            if not self.loss.sees_complex:
                responses = [np.ascontiguousarray(response.real) for response in responses]
            known["responses"] = responses
        return known["responses"]

    def gradient(
        self, iterate: Point, shards: Sequence[Shard] | None = None
    ) -> tuple[float, Cores]:
        """Value and gradient with respect to the cores, over all training rows or over some.

        The gradient of a complex core is ∂/∂Re + i·∂/∂Im.
        """
        chosen = self.shards if shards is None else shards
        total = self.total_weight if shards is None else sum(map(weight_of, chosen))
        add_slopes = partial(
            slopes, gradient=iterate.gradient_pass(), loss=self.loss, total_weight=total
        )
        value, *sums = self.engine.sum(self.after_responses(add_slopes, iterate), chosen)
        gradient = iterate.gradient(sums)
        self._add_penalty(gradient, iterate, iterate.penalty_gradient, iterate.cores)
        return float(value[0]) + self.penalty(iterate), gradient

    def _add_penalty(self, total: Cores, iterate: Point, product: Pass, direction: Cores) -> None:
        """Add α times a derivative of the penalty, and that of the main effects', in place."""
        if self.alpha > 0:
            for a, b in zip(flatten(total), flatten(product()), strict=True):
                a += self.alpha * b
        if isinstance(iterate, AdditiveIterate):
            iterate.add_main_penalty(total, direction)

    def curvature(self, iterate: Point) -> Callable[[Cores], Cores]:
        """Product with the Gauss-Newton matrix of the loss plus that of the penalty.

        The penalty takes part with its diagonal blocks, one a core.
        """

        def product(direction: Cores) -> Cores:
            add_curvature = partial(
                curvatures, tangent=iterate.tangent(direction),
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
            return self.engine.sum(self.after_responses(function, iterate), self.shards)
        pairs = zip(self.shards, self.kept_responses(iterate), strict=True)
        return add_in_order(function(*pair, run=self.engine.run) for pair in pairs)

    def after_responses(self, function: Pass, iterate: Point) -> Pass:
        """Return a pass that computes responses for function(shard, responses, run=…)."""
        real, respond = not self.loss.sees_complex, iterate.response_pass()
        return partial(after_responses, respond=respond, then=function, real=real)

    def to_vector(self, cores: Cores) -> NDArray[np.float64]:
        """All cores as one vector of real numbers."""
        flat = [np.ascontiguousarray(core).reshape(-1).view(np.float64) for core in flatten(cores)]
        return np.concatenate(flat)

    def from_vector(self, vector: NDArray[np.float64]) -> Cores:
        """Cores of a vector of real numbers."""
        shapes = flatten(self.shapes)
        planes = 2 if self.is_complex else 1
        split = len(shapes) - self.network.n_real
        counts = [int(np.prod(s)) * (planes if i < split else 1) for i, s in enumerate(shapes)]
        parts = np.split(np.ascontiguousarray(vector), np.cumsum(counts)[:-1])
        kind = np.complex128 if self.is_complex else np.float64
        parts[:split] = [part.view(kind) for part in parts[:split]]
        flat = [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]
        return unflatten(self.shapes, flat)


# -- passes: they carry tables and the loss, no rows and no threads, so that they can be sent ----


def totals(shard: Shard, run: Run) -> tuple[NDArray, NDArray, NDArray]:
    """Total weight, weighted sums of the squared targets, and number of rows."""
    target = shard.scaled[1]
    squares = np.array([float(np.vdot(column, column)) for column in target.T])
    return np.array([weight_of(shard)]), squares, np.array([len(shard)])


def weight_of(shard: Shard) -> float:
    """Total weight of a shard's rows."""
    return float(len(shard) if shard.weight is None else shard.weight.sum())


def weighed(shard: Shard, values: NDArray, rows: Span = slice(None)) -> float:
    """Weighted sum of numbers of some rows."""
    return float(values.sum() if shard.weight is None else shard.weight[rows] @ values)


def losses(shard: Shard, response: NDArray, run: Run, loss: Loss) -> NDArray:
    """Weighted sum of the losses of rows with known responses, and total weight."""

    def part(bounds: tuple[int, int]) -> float:
        rows = slice(*bounds)
        return weighed(shard, loss.value(response[rows], shard.target[rows]), rows)

    return np.array([sum(run(part, shard.blocks())), weight_of(shard)])


def sizes(shard: Shard, response: NDArray, run: Run) -> NDArray:
    """Sum of |f|²."""
    return np.array([float(np.vdot(response, response).real)])


def slopes(
    shard: Shard, response: NDArray, run: Run, gradient: Pass, loss: Loss, total_weight: float
) -> tuple[Given, ...]:
    """Mean loss of the rows and what its gradient needs."""
    total = weighed(shard, loss.value(response, shard.target))
    found = loss.gradient(response, shard.target)
    found *= scale_of(shard, total_weight)
    return np.array([total / total_weight]), *gradient(shard, found, run=run)


def curvatures(
    shard: Shard, response: NDArray, run: Run, tangent: Pass, gradient: Pass, loss: Loss,
    total_weight: float,
) -> tuple[Given, ...]:  # fmt: skip
    """Sum what the product of a direction with the Gauss-Newton matrix needs of the rows."""
    change = loss.curvature_product(response, shard.target, tangent(shard, run=run))
    return gradient(shard, change * scale_of(shard, total_weight), run=run)


def after_responses(shard: Shard, run: Run, respond: Pass, then: Pass, real: bool) -> Given:
    """Run a pass that also wants the responses, where those are not kept."""
    response = respond(shard, run=run)
    return then(shard, np.ascontiguousarray(response.real) if real else response, run=run)


def scale_of(shard: Shard, total_weight: float) -> Given:
    """Weights of the rows over the total one."""
    return 1 / total_weight if shard.weight is None else shard.weight[:, None] / total_weight
