"""The local problem of main effects: a linear model whose smoothness is chosen by its evidence.

All main effects together are linear in P weights, so that their Gram matrix (one pass, which
serves all epochs where the loss is quadratic) and P sums over the rows are all they need.  The
weights fall into blocks: the slopes of all columns, and the functions of each column.  A block's
weights have prior variances τ²·s; τ² and, from a family, s are those of the largest marginal
likelihood of the block's own Gaussian problem, the other blocks taken off (backfitting).  Then
all weights are solved for together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..protocols import AnyColumn, AnyShard, Arrays, Given, Pass, Run, Setting

#: prior variances τ² of a block's function, in units of the target's variance, to choose from
VARIANCES = np.array([0.0, *10.0 ** np.arange(-5, 2.01, 0.5)])
#: logarithm of the likelihood that a function of a column must gain over none
LEAST_GAIN = 1.0
#: rounds of choices without a network, and those beside one that changes as well
ROUNDS, ROUNDS_BESIDE = 30, 2
#: least noise, as a part of the mean square of the targets
LEAST_NOISE = 1e-7
#: numbers of the largest array of functions of rows that is made at a time
MOST_NUMBERS = 2_000_000


def add_grams(shard: AnyShard, run: Run, functions: Arrays) -> NDArray[np.float64]:
    """Σ ω·[1, a][1, a]ᵀ over the main functions a of the rows."""
    size = 1 + sum(each.shape[1] for each in functions)
    total, root = np.zeros((size, size)), shard.scaled[0]
    step = max(256, MOST_NUMBERS // size)
    for first in range(0, len(shard), step):
        rows = slice(first, first + step)
        codes = shard.codes[rows]
        parts = [np.take(f, codes[:, d], axis=0) for d, f in enumerate(functions)]
        some = np.concatenate([np.ones((len(codes), 1)), *parts], axis=1)
        if len(root):
            some *= root[rows, None]
        total += some.T @ some
    return total


def add_rests(shard: AnyShard, run: Run, inner: Pass | None) -> tuple[NDArray, ...]:
    """Sum ω(y - Re f) by `sum_by_code`, then ω((Re f)² - 2y·Re f), ω(Im f)² and ω·y²."""
    target, weight = shard.target, shard.weight
    rest, squares = target, [np.zeros(1), np.zeros(1), target**2]
    if inner is not None:
        response = inner(shard, run=run)
        rest = target - response.real
        squares[:2] = response.real * (response.real - 2 * target), response.imag**2
    if weight is not None:
        rest = weight[:, None] * rest
        squares = [weight[:, None] * each for each in squares]
    return *sum_by_code(shard, rest), np.array([each.sum() for each in squares])


def sum_by_code(shard: AnyShard, values: NDArray) -> list[NDArray]:
    """Sum values (n_rows, k) over the rows of each grid value of all columns, then over all."""
    sums = [
        np.stack([np.bincount(codes, each, minlength=count) for each in values.T], axis=1)
        for codes, count in zip(shard.codes.T, shard.n_codes, strict=True)
    ]
    return [*sums, values.sum(axis=0)]


def finite_precision(precision: NDArray) -> NDArray[np.float64]:
    """Precisions (J, 1), 0 in the place of infinite ones, whose weights are zero."""
    return np.where(np.isfinite(precision), precision, 0.0)[:, None]


class Members(NamedTuple):
    """Members of a block's family, each in the basis in which its Gram matrix G is diagonal.

    Prior variances s (n, J) of the weights are scaled so that the function's mean square is 1;
    values (n, J) are the eigenvalues of √s·G·√s, vectors (n, J, J) √s times its eigenvectors.
    """

    variances: NDArray
    values: NDArray
    vectors: NDArray

    @classmethod
    def of(cls, variances: NDArray, gram: NDArray) -> "Members":
        """Return the members of some variances."""
        root = np.sqrt(variances)
        values, vectors = np.linalg.eigh(root[:, :, None] * gram * root[:, None])
        return cls(variances, np.maximum(values, 0), root[:, :, None] * vectors)

    def evidence(self, products: NDArray, noise: float, grid: NDArray) -> tuple[NDArray, NDArray]:
        """Return the gains (n, n_grid) of log-likelihood over no function at every τ² of a grid.

        Then the products in the basis of each member.
        """
        own = self.vectors.swapaxes(1, 2) @ products
        ratio = grid[:, None] / noise
        stretched = 1 + self.values[:, None] * ratio
        gain = (0.5 / noise * (ratio / stretched)) @ (own**2).sum(axis=2)[:, :, None]
        return gain[:, :, 0] - 0.5 * products.shape[1] * np.log(stretched).sum(axis=2), own


@dataclass
class EffectsBlock:
    """Weights with one variance: their places, the members to choose from, and the choice."""

    places: NDArray
    family: Members
    least_gain: float
    #: columns of the Gram matrix at the places
    columns: NDArray
    #: what was chosen
    chosen: Members | None = None
    variance: float = 0.0


class Known:
    """What the Gram matrix of all main effects, the constant first, gives once and for all."""

    def __init__(self, whole: NDArray, columns: Sequence[AnyColumn]):
        self.whole, self.weight, self.means = whole, float(whole[0, 0]), whole[0, 1:]
        self.gram = whole[1:, 1:] - np.outer(self.means, self.means) / self.weight
        spread, slopes, first = np.diagonal(self.gram) / self.weight, [], 0
        parts: list[tuple[NDArray, NDArray, float]] = []
        for column in columns:
            if not column.is_categorical and column.n_main and spread[first] > 1e-12:
                slopes.append(first)
            parts += [(first + own, family, LEAST_GAIN) for own, family in column.main_blocks]
            first += column.n_main
        if slopes:
            parts.insert(0, (np.array(slopes), 1 / spread[None, slopes], 0.0))
        self.blocks: list[EffectsBlock] = []
        for places, family, least_gain in parts:
            beside, sizes = np.ascontiguousarray(self.gram[:, places]), family @ spread[places]
            if (sizes > 1e-12).any():
                variances = family[sizes > 1e-12] / sizes[sizes > 1e-12, None]
                members = Members.of(variances, beside[places])
                self.blocks.append(EffectsBlock(places, members, least_gain, beside))


class MainProblem:
    """All main effects, the network fixed."""

    n_levels = 1

    def __init__(self, iterate: Given, setting: Setting):
        self.iterate, self.setting = iterate, setting
        columns, kept = iterate.columns, setting.kept
        if not (setting.is_exact or setting.has_constant_weights) or "main" not in kept:
            sum_up = partial(add_grams, functions=[column.main_features for column in columns])
            kept["main"] = Known(setting.sum(sum_up), columns)
        self.known: Known = kept["main"]
        *parts, total, self.squares = setting.sum(partial(add_rests, inner=iterate.inner_pass()))
        products = [column.main_sums(part) for column, part in zip(columns, parts, strict=True)]
        self.total = total
        self.raw = np.concatenate(products) if products else np.zeros((0, len(total)))
        self.products = self.raw - np.outer(self.known.means, total / self.known.weight)

    def _value(self, weights: NDArray, intercept: NDArray, precision: NDArray) -> float:
        """Return the objective at given main effects."""
        setting = self.setting
        seen = self.squares[0] + (0.0 if setting.real_part else self.squares[1])
        rest = setting.constant + seen / setting.total_weight
        rest += setting.alpha * self.iterate.penalty()
        both = np.concatenate([intercept[None], weights])
        rhs = np.concatenate([self.total[None], self.raw])
        square = float((both * (self.known.whole @ both - 2 * rhs)).sum())
        price = float((finite_precision(precision) * weights**2).sum())
        return rest + square / setting.total_weight + price

    def sweep(self) -> list[float]:
        *now, last_intercept = self.iterate.main
        before, held = (np.concatenate(now), last_intercept), self.iterate.main_precisions
        old = None if any(each is None for each in held) else np.concatenate(held)
        precision = self._choose(before[0])
        weights, intercept = self._solve(precision)
        value = self._value(weights, intercept, precision)
        if old is not None:
            last = self._value(*before, old)
            if value > last:  # another choice costs more: keep that of before
                weights, intercept = self._solve(old)
                value, precision = self._value(weights, intercept, old), old
                if value > last:  # by rounding
                    (weights, intercept), value = before, last
        self.found = weights, intercept, precision
        return [value]

    def finish(self) -> None:
        weights, intercept, precision = self.found
        ends = np.cumsum([column.n_main for column in self.iterate.columns])[:-1]
        main = [np.ascontiguousarray(part) for part in np.split(weights, ends)]
        self.iterate.put_main([*main, intercept], np.split(precision, ends))

    def _noise(self, weights: NDArray, freedom: float) -> float:
        """Variance of a row of weight 1; weights count rows, if they are not below their number."""
        setting, weight = self.setting, self.known.weight
        count = max(1.0, setting.n_rows / setting.total_weight)
        if not setting.is_exact:  # a loss is the logarithm of a likelihood
            return 0.5 / count
        k = len(self.total)
        total = setting.constant * setting.total_weight
        rest = total + self.squares[0] - float((self.total**2).sum()) / weight
        moved = self.known.gram @ weights - 2 * self.products
        rest += float((weights * moved).sum())
        rows = count * weight
        noise = max(rest, 0.0) / max(rows - freedom, 0.1 * rows)
        return max(noise, LEAST_NOISE * total / rows, 1e-300) / k

    def _choose(self, weights: NDArray) -> NDArray:
        """Precisions of all weights by the evidence of their blocks."""
        known, alone = self.known, self.iterate.inner is None
        used = np.zeros(len(weights), dtype=bool)
        for block in known.blocks:
            used[block.places] = True
            block.chosen = None if alone else block.chosen
        weights = np.where(used[:, None], weights, 0.0)
        image = known.gram @ weights
        freedom, noise, precision = 0.0, 0.0, np.full(len(weights), np.inf)
        for n in range(ROUNDS if alone else ROUNDS_BESIDE):
            last, noise = noise, self._noise(weights, freedom + 1 if alone else 0.0)
            if n > 3 and abs(np.log(noise / last)) < 0.005:
                break
            freedom = 0.0
            for block in known.blocks:
                freedom += self._choose_block(block, weights, image, noise)
        for block in known.blocks:
            if block.chosen is not None and block.variance > 0:
                scale = noise / (self.setting.total_weight * block.variance)
                precision[block.places] = scale / block.chosen.variances[0]
        return precision

    def _choose_block(
        self, block: EffectsBlock, weights: NDArray, image: NDArray, noise: float
    ) -> float:
        """Choose and solve one block, the others fixed; return its degrees of freedom."""
        places, columns = block.places, block.columns
        now = weights[places]
        products = self.products[places] - image[places] + columns[places] @ now
        # beside a network that changes as well, the kind of function stays
        is_alone = self.iterate.inner is None
        members = block.family if block.chosen is None or is_alone else block.chosen
        grid = VARIANCES * self._unit()
        gain, own = members.evidence(products, noise, grid)
        gain[:, 1:] -= block.least_gain
        at = np.argmax(gain, axis=1)
        member, most = 0, -np.inf
        for n, best in enumerate(gain[np.arange(len(at)), at].tolist()):
            if best > most + 1e-9:
                member, most = n, best
        block.variance = float(grid[at[member]])
        block.chosen = Members(*(each[member : member + 1] for each in members))
        ratio = block.variance / noise
        stretched = 1 + members.values[member] * ratio
        new = members.vectors[member] @ (own[member] * (ratio / stretched)[:, None])
        weights[places] = new
        image += columns @ (new - now)
        return float((1 - 1 / stretched).sum())

    def _unit(self) -> float:
        """Variance that τ² is measured in: that of the targets of a quadratic loss, else 1."""
        setting = self.setting
        if not setting.is_exact:
            return 1.0
        square = setting.constant * setting.total_weight / self.known.weight
        return max(square, 1e-300) / len(self.total)

    def _solve(self, precision: NDArray) -> tuple[NDArray, NDArray]:
        """All weights and the intercept at given precisions."""
        known = self.known
        weights = np.zeros_like(self.products)
        used = np.flatnonzero(np.isfinite(precision))
        if len(used):
            total = self.setting.total_weight
            matrix = known.gram[np.ix_(used, used)] / total
            matrix[np.diag_indices(len(used))] += precision[used]
            scale = 1 / np.sqrt(np.diagonal(matrix))
            matrix = scale[:, None] * matrix * scale
            matrix[np.diag_indices(len(used))] += 1e-13
            rhs = scale[:, None] * self.products[used] / total
            try:
                found = cho_solve(cho_factor(matrix, lower=True), rhs)
            except LinAlgError:  # weights of the rows that differ by more than numbers can hold
                found = np.linalg.lstsq(matrix, rhs, rcond=1e-12)[0]
            except ValueError:  # weights without bounds: whoever asked takes the step back
                found = np.zeros_like(rhs)
            weights[used] = scale[:, None] * found
        intercept = (self.total - known.means @ weights) / known.weight
        return weights, intercept
