"""Bands: how many frequencies of a column the rows ask for.

What a model leaves unexplained is compared with waves beyond the band of each column, alone and
times the waves of other columns:

    C[k, l] = Σ_n ω_n r_n exp(2πi·k·x_nd/L_d) exp(2πi·l·x_ne/L_e)

For noise, |C|² / Σ ω²r² has the exponential distribution, whatever the columns are.  A column whose
band leaves out a wave that is much larger, and larger than all in the band, gets three, nine or 27
times as many functions.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..networks import Iterate
from ..protocols import Given
from .column import Column
from .terms import residuals_of, some_rows

#: most functions of a column, and the error that bins may cause in them
MOST_FUNCTIONS, MOST_BIN_ERROR = 729, 0.1
#: how far a wave must exceed what noise lets expect of the largest of them, its least part of what
#: is left, and its least ratio to waves in the band
EXCESS, LEAST_PART, LEAST_RATIO = 5.0, 0.05, 4.0
#: waves by which functions of one column alone are called rough, and the rows it takes
ROUGHEST, ROUGH_ROWS = 121, 2000
#: waves of other columns on either side of zero, by the largest number of columns
PARTNERS = {3: 40, 8: 13, 1000: 1}


def wanted(objective: Given, iterate: Iterate, shards: Given = None) -> list[int]:
    """Return the number of functions that every column needs; its own where it has enough.

    The iterate is what is to be improved on; rows to look at are those of the objective, or of
    other shards.
    """
    columns = objective.columns
    found = [column.feature_map.n_features for column in columns]
    reach = [_reach(column) for column in columns]
    if not any(reach):
        return found
    shards = some_rows(objective, shards)
    run, respond = objective.engine.run, iterate.response_pass()
    rest = np.concatenate([
        residuals_of(shard, run, respond, objective.loss, ()) for shard in shards
    ])  # fmt: skip
    codes = np.concatenate([shard.codes for shard in shards])
    weight = np.concatenate([
        np.ones(len(shard)) if shard.weight is None else shard.weight for shard in shards
    ])  # fmt: skip
    weighted = weight[:, None] * rest
    squares, size = (weighted**2).sum(axis=0), weight.sum() * (weight @ rest**2)
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
            highest = int(np.flatnonzero(powers >= least)[-1]) + 1 if powers.max() >= least else 0
            # a rough function of the column alone: no wave stands out, but all of them do
            count = ROUGHEST if len(codes) >= ROUGH_ROWS else 0
            each = 2 * np.abs(rows[:count].sum(axis=1)) ** 2 / size[k]
            while found[d] // 2 < highest or _is_rough(
                each[found[d] // 2 :], 2 * squares[k] / size[k]
            ):
                found[d] *= 3
    return found


def _is_rough(parts: NDArray, noise: float) -> bool:
    """Return True if waves explain more of what is left than noise would."""
    expected, spread = noise * len(parts), noise * np.sqrt(len(parts))
    return parts.sum() - expected > max(LEAST_PART, 4 * spread)


def _has_waves(column: Column) -> bool:
    return hasattr(column.feature_map, "period") and not column.has_gaps


def _reach(column: Column) -> int:
    """Return the highest wave that a column of exponentials may have; 0 for other columns."""
    feature_map = column.feature_map
    if not _has_waves(column):
        return 0
    count, size = len(column), feature_map.n_features
    if count <= size or size < 3:
        return 0
    while 3 * size <= min(MOST_FUNCTIONS, 3 * count) and (
        column.bin_error * 3 * size / feature_map.n_features <= MOST_BIN_ERROR
    ):
        size *= 3
    return min(size // 2, count - 1)


def _waves(column: Column, codes: NDArray, numbers: Sequence[int]) -> NDArray[np.complex128]:
    """Return waves of some numbers at coded rows, (n, n_numbers); the constant for categories."""
    if not _has_waves(column):
        return np.ones((len(codes), 1), dtype=np.complex128)
    values, straight = column.feature_map.unwarped(column.values)
    places = values[codes] / float(straight.period)
    return np.exp(2j * np.pi * np.multiply.outer(places, np.asarray(numbers)))
