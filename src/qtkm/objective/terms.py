"""What a model leaves unexplained: new terms of a CPD, and bands that columns need.

Terms.  Beside main effects a start near a constant function is a saddle.  So every pair of columns
is asked how well a product of their smoothest functions follows the residuals,

    C_de = Σ_n ω_n r_n ψ_d(x_nd) ψ_e(x_ne)ᵀ

whose leading singular vectors are a function of each.  The best pair is a term, constant in all
other columns; it is taken off the residuals, and the next is found.

Bands.  Residuals are compared with waves beyond the band of each column, alone and times the waves
of other columns:

    C[k, l] = Σ_n ω_n r_n exp(2πi·k·x_nd/L_d) exp(2πi·l·x_ne/L_e)

For noise, |C|² / Σ ω²r² has the exponential distribution, whatever the columns are.  A column whose
band leaves out a wave that is much larger, and larger than all in the band, gets three, nine or 27
times as many functions.
"""

from collections.abc import Sequence
from functools import partial, reduce
from itertools import combinations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from ..networks import Cores, Iterate
from ..protocols import AnyColumn, AnyShard, Given, Pass, Run
from .column import Column

#: a product of functions of two columns: by column a table (n_grid,) and weights (M,)
Term = dict[int, tuple[NDArray, NDArray]]

#: size of the noise in the cores of a new term, in units of the prior
NOISE = 3.0
#: most rows to look at, local or remote, and pairs that are compared as terms
MOST_ROWS, MOST_PAIRS = 4000, 12
#: categories of a column whose pairs are looked at
MOST_CATEGORIES = 64
#: curvature of a row below which its residual is not taken for larger
LEAST_CURVATURE = 1e-3
#: part of the best size with which a term begins: the others of its kind take their share
SHARE = 0.5
#: most functions of a column, and the error that bins may cause in them
MOST_FUNCTIONS, MOST_BIN_ERROR = 729, 0.1
#: how far a wave must exceed what noise lets expect of the largest of them, its least part of what
#: is left, and its least ratio to waves in the band
EXCESS, LEAST_PART, LEAST_RATIO = 5.0, 0.05, 4.0
#: waves by which functions of one column alone are called rough, and the rows it takes
ROUGHEST, ROUGH_ROWS = 121, 2000
#: waves of other columns on either side of zero, by the largest number of columns
PARTNERS = {3: 40, 8: 13, 1000: 1}


def new_terms(
    objective: Given, iterate: Iterate, count: int, rng: RandomState, sample: Given = None
) -> Cores:
    """Return cores of new terms of a CPD that follow what an iterate leaves unexplained.

    The iterate may be of any network on the same columns. Rows to look at are those of the
    objective, or those of a second objective that holds a sample of them.
    """
    columns = objective.columns
    pairs = zip(columns, objective.precisions, strict=False)
    cores: Cores = [_start(*pair, count, objective, rng) for pair in pairs]
    sizes = np.full((objective.n_outputs, count), 1e-3)
    for r, (term, size) in enumerate(_find(objective, iterate, count, sample or objective)):
        for d, (_, weights) in term.items():
            for core, part in zip(cores[d], _digits(weights, columns[d].radices), strict=True):
                core[:, r] = part if objective.is_complex else part.real
        sizes[:, r] = SHARE * size
    if objective.n_outputs == 1:
        cores[0][0] = cores[0][0] * sizes[0]
    else:
        cores.append(sizes.astype(cores[0][0].dtype))
    return cores


def _start(
    column: AnyColumn, precision: NDArray | None, count: int, objective: Given, rng: RandomState
) -> list[NDArray]:
    """Cores of a column, constant but for noise in its lowest digit, as large as the prior's."""
    constants = column.feature_map.constant()
    kind = np.complex128 if objective.is_complex else np.float64
    cores = [np.repeat(level[:, None].astype(kind), count, axis=1) for level in constants]
    first = len(constants[0])
    noise = rng.standard_normal((first, count))
    if objective.is_complex:
        noise = (noise + 1j * rng.standard_normal(noise.shape)) / np.sqrt(2)
    variances = np.full(first, 1.0 / first)
    if precision is not None:
        above = 0
        for level in reversed(constants[1:]):
            above = above * len(level) + int(np.argmax(level))
        variances = 1 / precision[above * first : (above + 1) * first]
    noise *= NOISE * np.sqrt(variances / first / len(objective.columns))[:, None]
    if not column.is_categorical:
        noise[int(np.argmax(constants[0]))] = 0
    cores[0] = cores[0] + noise
    return cores


def _residuals(
    shard: AnyShard, run: Run, respond: Pass, loss: Given, step: int
) -> list[tuple[NDArray, ...]]:
    """Return codes, residuals (n, n_outputs) and weights of every `step`-th row, in a list.

    Engines join lists, so rows that are elsewhere come here.
    """
    shard = shard if step == 1 else shard.take(np.arange(0, len(shard), step))
    response = respond(shard, run=run)
    bound = loss.bound if loss.has_bound else loss.curvature
    slope = loss.gradient(response, shard.target).real
    rest = -slope / np.maximum(bound(response, shard.target), LEAST_CURVATURE)[:, None]
    weight = np.ones(len(shard)) if shard.weight is None else shard.weight
    return [(shard.codes, rest, weight)]


def _some_rows(objective: Given, iterate: Iterate, sample: Given) -> list[NDArray]:
    """Codes, residuals and weights of all rows of the sample, or of a part of many."""
    residuals = partial(
        _residuals, respond=iterate.response_pass(), loss=objective.loss,
        step=-(-sample.n_rows // MOST_ROWS),
    )  # fmt: skip
    parts = sample.engine.sum(residuals, sample.shards)
    return [np.concatenate(each) for each in zip(*parts, strict=True)]


def _functions(column: Column) -> NDArray:
    """First functions of a column at its grid values, each a product of one entry per level."""
    numbers, found = column.feature_map.first, np.ones((len(column), 1))
    if column.is_categorical and len(column) > MOST_CATEGORIES:
        return 0 * found
    factors = column.feature_map.factors(column.values)  # which the column would keep
    for part in column.slices:
        numbers, digits = np.divmod(numbers, part.stop - part.start)
        found = found * factors[:, part][:, digits]
    return found


def _find(
    objective: Given, iterate: Iterate, count: int, sample: Given
) -> list[tuple[Term, NDArray[np.float64]]]:
    """Find terms and their sizes (n_outputs,), the best for what is left by those before."""
    maps = [column.feature_map for column in objective.columns]
    codes, rest, weight = _some_rows(objective, iterate, sample)
    functions, means = [], []
    for d, column in enumerate(objective.columns):
        share = np.bincount(codes[:, d], weight, minlength=len(column))
        own = _functions(column)
        means.append(share @ own / share.sum())
        functions.append(own - means[-1])
    pairs = list(combinations((d for d, own in enumerate(functions) if own.any()), 2))
    if not pairs:
        return []
    psi = np.concatenate([np.take(f, codes[:, d], axis=0) for d, f in enumerate(functions)], axis=1)
    counts = [own.shape[1] for own in functions]
    spans = [slice(end - size, end) for size, end in zip(counts, np.cumsum(counts), strict=True)]

    def made(d: int, coefficients: NDArray) -> tuple[NDArray, NDArray]:
        """Return the table of a combination of first functions, and its weights."""
        constant = -(means[d] @ coefficients)
        weights = constant * reduce(np.kron, reversed(maps[d].constant()))
        weights[maps[d].first] += coefficients
        table = functions[d] @ coefficients
        largest = table[np.argmax(np.abs(table))]
        turn = np.abs(largest) / largest if largest else 1.0  # which makes it real
        return (turn * table).real, turn * weights

    terms: list[tuple[Term, NDArray[np.float64]]] = []
    for _ in range(count):
        weighted = weight[:, None] * rest
        sums = np.stack([(psi * each[:, None]).T @ psi for each in weighted.T])
        blocks = np.zeros((len(pairs), len(sums), max(counts), max(counts)), dtype=sums.dtype)
        for block, (d, e) in zip(blocks, pairs, strict=True):  # smaller ones end in zeros
            block[:, : counts[d], : counts[e]] = sums[:, spans[d], spans[e]]
        left, values, right = np.linalg.svd(blocks)
        order = np.argsort(-values[..., 0], axis=None, kind="stable")[:MOST_PAIRS]
        trials: list[Term] = []
        for n, k in zip(*np.unravel_index(order, values.shape[:2]), strict=True):
            d, e = pairs[n]
            first = made(d, left[n, k, : counts[d], 0].conj())
            trials.append({d: first, e: made(e, right[n, k, 0, : counts[e]].conj())})
        tables = [[np.take(table, codes[:, d]) for d, (table, _) in own.items()] for own in trials]
        each = np.stack([first * second for first, second in tables])
        squares = np.maximum((weight[:, None] * each.T**2).sum(axis=0), 1e-300)
        products = each @ weighted
        chosen = int(np.argmax((products**2).sum(axis=1) / squares))
        terms.append((trials[chosen], products[chosen] / squares[chosen]))
        rest = rest - np.multiply.outer(each[chosen], terms[-1][1])
    return terms


def _digits(weights: NDArray, radices: Sequence[int]) -> list[NDArray]:
    """Vectors of the levels, lowest digit first, whose product is close to some weights."""
    vectors, rest = [], weights
    for radix in radices[:-1]:
        higher, sizes, lower = np.linalg.svd(rest.reshape(-1, radix), full_matrices=False)
        vectors.append(lower[0])
        rest = sizes[0] * higher[:, 0]
    return [*vectors, rest]


def wanted(objective: Given, iterate: Iterate) -> list[int]:
    """Return the number of functions that every column needs; its own where it has enough.

    The iterate is what is to be improved on.
    """
    columns = objective.columns
    found = [column.feature_map.n_features for column in columns]
    reach = [_reach(column) for column in columns]
    if not any(reach):
        return found
    codes, rest, weight = _some_rows(objective, iterate, objective)
    weighted = weight[:, None] * rest
    squares, size = (weighted**2).sum(axis=0), weight.sum() * (weighted * rest).sum(axis=0)
    if not (squares > 0).all():
        return found
    n_partners = next((n for most, n in PARTNERS.items() if len(columns) <= most), 0)
    partners = [_waves(column, codes[:, d], range(-n_partners, n_partners + 1))
                for d, column in enumerate(columns)]  # fmt: skip
    owners = np.repeat(np.arange(len(columns)), [each.shape[1] for each in partners])
    every = np.concatenate(partners, axis=1)
    for d, column in enumerate(columns):
        first = found[d] // 2 + 1
        if reach[d] < first:
            continue
        waves = _waves(column, codes[:, d], range(1, reach[d] + 1))
        others = every[:, owners != d] if len(columns) > 1 else np.ones((len(codes), 1))
        n_tests = waves.shape[1] * others.shape[1]
        for k in range(rest.shape[1]):
            rows = (waves * weighted[:, k, None]).T
            powers = (np.abs(rows @ others) ** 2).max(axis=1)
            # slow waves look fast where values are few or clumped
            slow = LEAST_RATIO * powers[: first - 1].max()
            noise = squares[k] * (np.log(n_tests) + EXCESS)
            least = max(noise, size[k] * LEAST_PART / 2, slow)
            highest = np.flatnonzero(powers >= least).max(initial=-1) + 1
            # a rough function of the column alone: no wave stands out, but all of them do
            count, noise = ROUGHEST if len(codes) >= ROUGH_ROWS else 0, 2 * squares[k] / size[k]
            each = 2 * np.abs(rows[:count].sum(axis=1)) ** 2 / size[k]
            while found[d] // 2 < highest or _is_rough(each[found[d] // 2 :], noise):
                found[d] *= 3
    return found


def _is_rough(parts: NDArray, noise: float) -> bool:
    """Return True if waves explain more of what is left than noise would."""
    expected, spread = noise * len(parts), noise * np.sqrt(len(parts))
    return parts.sum() - expected > max(LEAST_PART, 4 * spread)


def has_waves(column: Column) -> bool:
    """Return True if the functions of a column are exponentials."""
    return hasattr(column.feature_map, "period") and not column.has_gaps


def _reach(column: Column) -> int:
    """Return the highest wave that a column of exponentials may have; 0 for other columns."""
    count, size = len(column), column.feature_map.n_features
    if not has_waves(column) or count <= size or size < 3:
        return 0
    most = min(MOST_FUNCTIONS, 3 * count, size * MOST_BIN_ERROR / (column.bin_error or 1e-300))
    while 3 * size <= most:
        size *= 3
    return min(size // 2, count - 1)


def _waves(column: Column, codes: NDArray, numbers: Sequence[int]) -> NDArray[np.complex128]:
    """Return waves of some numbers at coded rows, (n, n_numbers); the constant for categories."""
    if not has_waves(column):
        return np.ones((len(codes), 1), dtype=np.complex128)
    values, straight = column.feature_map.unwarped(column.values)
    places = values[codes] / float(straight.period)
    return np.exp(2j * np.pi * np.multiply.outer(places, np.asarray(numbers)))
