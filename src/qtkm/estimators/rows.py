"""Coded rows with their targets and weights, on their way into shards.

    y → training and validation rows → equal rows merged → scaled → shards

Targets that are very large or very small are brought near 1 by a power of two, which rounds
nothing, before anything is squared.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import data
from .targets import SAFE, TargetScale, as_given, standardize

#: fewest rows at which early_stopping="auto" sets validation rows aside
EARLY_STOPPING_ROWS = 10_000


class Rows:
    """Coded rows with targets and weights.

    Parameters
    ----------
    codes : (n_rows, n_columns) unsigned array
    target : (n_rows, n_outputs) array
    weight : (n_rows,) array or None
        Positive weights; None for weights of 1.
    n_codes : tuple of int
        Grid size of every column.
    """

    def __init__(
        self, codes: NDArray, target: NDArray, weight: NDArray | None, n_codes: tuple[int, ...]
    ):
        self.codes, self.target, self.weight, self.n_codes = codes, target, weight, n_codes

    def __len__(self) -> int:
        return len(self.codes)

    def take(self, rows: NDArray) -> "Rows":
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return Rows(self.codes[rows], self.target[rows], weight, self.n_codes)

    def prepare(
        self, normalize: bool, known: TargetScale | None, average: bool = True
    ) -> tuple[TargetScale, float]:
        """Merge equal rows where they are not too many, and scale the targets; in place.

        Parameters
        ----------
        normalize : bool
            Whether to scale to mean 0 and variance 1, or to leave the targets as they are.
        known : TargetScale or None
            The scale of an earlier fit, to be kept.
        average : bool
            Whether rows with different targets may be merged into one with their mean, as a
            quadratic loss allows.

        Returns
        -------
        scale : TargetScale
        scatter : float
            Weighted sum of squares that merging took out of the scaled targets.
        """
        exponent = self._move_near_one()
        scatter = np.zeros(self.target.shape[1])
        if len(self) <= data.MERGE_ROWS:
            merged = data.merge(self.codes, self.target, self.weight, average)
            self.codes, self.target, self.weight, scatter = merged
        if known is not None:
            here = known.times_power_of_two(-exponent)
        elif normalize:
            here = standardize(self.target, self.weight, scatter)
        else:
            here = as_given(len(scatter)).times_power_of_two(-exponent)
        self._apply(here)
        root = np.where(here.is_constant, 0, np.sqrt(scatter)) / here.scale
        return known or here.times_power_of_two(exponent), float(np.sum(root**2))

    def apply(self, scale: TargetScale) -> "Rows":
        """Scale the targets; in place."""
        self._apply(scale.times_power_of_two(-self._move_near_one()))
        return self

    def _move_near_one(self) -> NDArray[np.int64]:
        """Take a power of two out of targets that are too large or too small to be squared."""
        largest = _largest(self.target)
        safe = (largest == 0) | ((largest > 1 / SAFE) & (largest < SAFE))
        exponent = np.where(safe, 0, np.maximum(np.frexp(largest)[1], -900))
        if exponent.any():
            self.target = np.ldexp(self.target, -exponent)
        return exponent

    def _apply(self, scale: TargetScale) -> None:
        self.target = scale.apply(self.target)
        largest = _largest(self.target).max()
        if not largest < SAFE:
            raise ValueError(
                f"y reaches {largest:.3g} times its scale in the fit, and the squares of that are "
                "too large; use normalize_y=True with warm_start=False, or other units for y."
            )

    def shards(self) -> list[data.Shard]:
        """Sort the rows into shards."""
        return data.build(self.codes, self.target, self.weight, self.n_codes)

    def count(self, d: int) -> NDArray[np.float64]:
        """Weight of the rows of each code of a column."""
        counts = np.bincount(self.codes[:, d], self.weight, minlength=self.n_codes[d])
        return counts.astype(np.float64)


def _largest(values: NDArray) -> NDArray:
    return np.maximum(values.max(axis=0), -values.min(axis=0))


def split(
    n_rows: int,
    early_stopping: Any,
    fraction: float,
    rng: np.random.RandomState,
    classes: NDArray | None = None,
) -> tuple[NDArray, NDArray] | None:
    """Training and validation rows, or None where all rows train.

    With `classes`, a code for every row, the fraction is taken from each class, of which at
    least one row stays to train on.
    """
    wanted = early_stopping
    if isinstance(wanted, str):
        wanted = n_rows > EARLY_STOPPING_ROWS
    if not wanted:
        return None
    order = rng.permutation(n_rows)
    if classes is None:
        aside = order[: int(np.ceil(fraction * n_rows))]
    else:
        aside = _of_each_class(order, classes, fraction)
    if not 0 < len(aside) < n_rows:
        what, remedy = "validate", "more rows of each class"
        if len(aside):
            what, remedy = "train", "more rows, a smaller validation_fraction"
        raise ValueError(
            f"early_stopping=True with validation_fraction={fraction:g} leaves none of the "
            f"{n_rows} rows to {what} on; use {remedy} or early_stopping=False."
        )
    rest = np.ones(n_rows, dtype=bool)
    rest[aside] = False
    return np.flatnonzero(rest), np.sort(aside)


def _of_each_class(order: NDArray, classes: NDArray, fraction: float) -> NDArray:
    members = [order[classes[order] == code] for code in np.unique(classes)]
    sizes = [min(int(np.ceil(fraction * len(rows))), len(rows) - 1) for rows in members]
    return np.concatenate([rows[:size] for rows, size in zip(members, sizes, strict=True)])


def spread(shards: Sequence[data.Shard]) -> float:
    """Weighted mean square of the targets around their mean; 1 where they have no spread."""
    target = np.concatenate([shard.target for shard in shards])
    weight = np.concatenate([np.ones(len(s)) if s.weight is None else s.weight for s in shards])
    deviation = target - np.average(target, axis=0, weights=weight)
    variance = float(np.average((deviation**2).sum(axis=1), weights=weight))
    return variance if variance > 0 else 1.0


def count_distinct(arrays: Sequence[NDArray]) -> int:
    """Number of rows that differ, so that repeating rows changes no default.

    Of more rows than are merged, the number itself.  Rows are told apart by a hash: a sum of
    their bits, each column times an odd number of its own.
    """
    n_rows = len(arrays[0])
    if n_rows > data.MERGE_ROWS:
        return n_rows
    mixed = np.zeros(n_rows, dtype=np.uint64)
    multiplier = np.random.default_rng(0)
    for array in arrays:
        bits = (np.asarray(array, dtype=np.float64) + 0.0).view(np.uint64)
        bits = bits ^ (bits >> np.uint64(29))
        mixed += bits * np.uint64(2 * int(multiplier.integers(2**62)) + 1)
    return len(np.unique(mixed))
