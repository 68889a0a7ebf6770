"""Coded rows with their targets and weights, on their way into shards.

    rows → pieces of consecutive rows → training and validation shards → targets scaled

Every piece becomes one shard of training rows and, with early stopping, one of validation rows; up
to `LIMITS.merge_rows` rows equal ones are merged.  Scales, counts and digests are sums over
shards, so that they come out the same wherever the shards are.

Targets that are very large or very small are brought near 1 by a power of two, which rounds
nothing, before anything is squared.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from .. import data
from ..data.grid import mix
from ..engines import Engine, is_elsewhere
from ..limits import LIMITS
from ..losses import Loss
from ..protocols import Run, Shards
from .targets import SAFE, Target

Floats = NDArray[np.float64]
Rows = Sequence[data.Shard]
#: bins in which targets are counted to find their median
N_BINS = 1024
#: given weights are numbers of copies up to this mean; larger ones are measures such as exposures
MOST_REPEATED = 5.0
#: fewest rows at which early_stopping="auto" sets validation rows aside
EARLY_STOPPING_ROWS = 10_000


@dataclass(frozen=True)
class TargetScale:
    """What the fit makes of targets: (y - mean) / scale, each (n_outputs,)."""

    mean: Floats
    scale: Floats
    #: outputs whose spread is nothing but rounding; the fit sees zeros
    is_constant: NDArray[np.bool_]

    def apply(self, target: Floats) -> Floats:
        scaled = target - self.mean
        scaled /= self.scale
        scaled[:, self.is_constant] = 0
        return scaled

    def undo(self, response: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            return self.mean + self.scale * response

    def times_power_of_two(self, exponent: NDArray[np.integer]) -> "TargetScale":
        mean, scale = np.ldexp(self.mean, exponent), np.ldexp(self.scale, exponent)
        return TargetScale(mean, scale, self.is_constant)


def as_given(n_outputs: int) -> TargetScale:
    """Return the scale that leaves targets as they are."""
    return TargetScale(np.zeros(n_outputs), np.ones(n_outputs), np.zeros(n_outputs, dtype=bool))


def moments(shards: Rows, engine: Engine) -> tuple[Floats, Floats]:
    """Return means and variances of the targets."""
    total, sums = engine.sum(_first_moments, shards)
    mean = sums / total
    return mean, engine.sum(_squares_around, shards, mean) / total


def robust_moments(
    shards: Rows, ends: NDArray, variance: NDArray, engine: Engine
) -> tuple[Floats, Floats]:
    """Return medians, and variances from median distances (plain ones if half of y is equal)."""
    median = _middle(shards, ends, None, engine)
    farthest = np.abs(ends - median).max(axis=0)
    distance = _middle(shards, np.array([0 * farthest, farthest]), median, engine)
    # the median distance of a Gaussian is 0.6745 of its deviation
    robust = (1.4826 * distance) ** 2
    return median, np.where(distance > 1e-9 * farthest, robust, variance)


def _middle(shards: Rows, ends: NDArray, center: NDArray | None, engine: Engine) -> Floats:
    """Weighted medians of the targets, or of their distances from a center, between `ends`."""
    low, high = ends.astype(np.float64)
    for _ in range(4):  # counts in bins, each within the bin of the one before: sums alone travel
        width = (high - low) / N_BINS
        counts = engine.sum(_count_between, shards, low, high, center)  # (n_outputs, N_BINS + 2)
        total = counts.sum(axis=1)
        reached = np.cumsum(counts[:, :-1], axis=1) >= 0.5 * total[:, None]
        place = np.maximum(reached.argmax(axis=1) - 1, 0)
        low, high = low + place * width, low + (place + 1) * width
    return 0.5 * (low + high)


def _count_between(
    shard: data.Shard, lows: NDArray, highs: NDArray, center: NDArray | None, run: Run
) -> Floats:
    """Weights of the targets in equal bins from low to high, with those below and above."""
    values, counts = shard.target if center is None else np.abs(shard.target - center), []
    for column, low, high in zip(values.T, lows, highs, strict=True):
        edges = np.linspace(low, high, N_BINS + 1)
        edges[-1] = np.nextafter(high, np.inf)
        bins = np.searchsorted(edges, column, side="right")
        counts.append(np.bincount(bins, shard.weight, minlength=N_BINS + 2))
    return np.array(counts, dtype=np.float64)


def standardize(mean: Floats, variance: Floats, loss: Loss | None = None) -> TargetScale:
    """Scale to mean 0 and variance 1, or as a loss says."""
    pair = (mean, np.sqrt(variance))
    center, scale = pair if loss is None else loss.center_and_scale(mean, variance)
    constant = scale <= 10 * np.finfo(np.float64).eps * np.abs(center)
    return TargetScale(center, np.where(constant, 1.0, scale), constant)


def _first_moments(shard: data.Shard, run: Run) -> tuple[NDArray, NDArray]:
    """Total weight and weighted sums of the targets."""
    if shard.weight is None:
        return np.array([float(len(shard))]), shard.target.sum(axis=0)
    return np.array([shard.weight.sum()]), shard.weight @ shard.target


def _squares_around(shard: data.Shard, mean: NDArray, run: Run) -> Floats:
    """Weighted sums of squares of the targets around a mean."""
    deviation = shard.target - mean
    if shard.weight is None:
        return np.array([np.vdot(column, column) for column in deviation.T])
    return shard.weight @ deviation**2


@dataclass
class Arranged:
    """Rows in shards."""

    train: Shards
    validation: Shards | None
    #: with the range of y, and the power of two taken out of it
    target: Target

    def scale(self, loss: Loss | None, known: TargetScale | None, engine: Engine) -> TargetScale:
        """Scale the targets, by `known` or as a loss says, and return the scale."""
        exponent = self.target.exponent
        ends = np.ldexp(self.target.target_range, -exponent)
        if known is not None:
            here = known.times_power_of_two(-exponent)
        elif loss is None:
            here = as_given(self.target.n_outputs).times_power_of_two(-exponent)
        else:
            found = moments(self.train, engine)
            if loss.is_robust:
                found = robust_moments(self.train, ends, found[1], engine)
            here = standardize(*found, loss)
        largest = np.abs(here.apply(ends)).max()
        if not largest < SAFE:
            raise ValueError(
                f"y reaches {largest:.3g} times its scale in the fit, whose square is too large; "
                "use normalize_y=True with warm_start=False, or other units for y, or remove rows "
                "with invalid y."
            )
        for shards in (self.train, self.validation):
            if shards is not None:
                shards.map_targets(here.apply)
        return known or here.times_power_of_two(exponent)

    @contextmanager
    def placed(self, engine: Engine) -> Iterator["Arranged"]:
        """Place the rows in the engine's processes, if it has any and they are many."""
        rows = self
        is_many = self.train.are_here and sum(map(len, self.train)) > LIMITS.merge_rows
        if is_elsewhere(engine) and is_many:
            place = engine.place  # type: ignore[attr-defined]
            aside = None if self.validation is None else place(self.validation)
            rows = replace(self, train=place(self.train), validation=aside)
        try:
            yield rows
        finally:
            for shards in (rows.train, rows.validation):
                if shards is not None:
                    shards.release()


class Splitter:
    """Which rows of each piece are set aside for validation; with `by_class`, of each class."""

    #: whether a piece that is too small to be split is an error, or is all trained on
    needs_both = True

    def __init__(
        self,
        n_rows: int,
        n_pieces: int,
        early_stopping: bool | str,
        fraction: float,
        rng: np.random.RandomState,
        by_class: Callable[[NDArray], NDArray] | None = None,
    ):
        self.state = rng.get_state()  # before any number is drawn
        is_auto = isinstance(early_stopping, str)
        self.wanted = n_rows > EARLY_STOPPING_ROWS if is_auto else bool(early_stopping)
        self.fraction, self.by_class = fraction, by_class
        # pieces are drawn from by themselves, in any order and anywhere
        self._order = rng.permutation(n_rows) if self.wanted and n_pieces == 1 else None
        self._seeds = rng.randint(2**31, size=n_pieces) if self.wanted and n_pieces > 1 else None

    def shards(self, rows: data.Shard, number: int) -> dict[str, data.Shard]:
        """Split a piece into sorted training and validation rows, unless none are set aside."""
        if not self.wanted:
            return {"train": rows.sorted()}
        n_rows, order = len(rows), self._order
        if self._seeds is not None:
            order = np.random.RandomState(self._seeds[number]).permutation(n_rows)
        assert order is not None
        if self.by_class is None:
            aside = order[: int(np.ceil(self.fraction * n_rows))]
        else:  # of each class, of which at least one row stays to train on
            classes = self.by_class(rows.target)
            members = [order[classes[order] == code] for code in np.unique(classes)]
            sizes = [min(int(np.ceil(self.fraction * len(own))), len(own) - 1) for own in members]
            pairs = zip(members, sizes, strict=True)
            aside = np.concatenate([own[:size] for own, size in pairs])
        if not 0 < len(aside) < n_rows:
            if not self.needs_both:
                return {"train": rows.sorted()}
            what, remedy = "validate", "more rows of each class"
            if len(aside):
                what, remedy = "train", "more rows, a smaller validation_fraction"
            raise ValueError(
                f"early_stopping=True with validation_fraction={self.fraction:g} leaves none of "
                f"the {n_rows} rows to {what} on; use {remedy}, or early_stopping=False."
            )
        is_aside = np.zeros(n_rows, dtype=bool)
        is_aside[aside] = True
        return {"validation": rows.take(is_aside).sorted(), "train": rows.take(~is_aside).sorted()}


#: makes the Splitter of given numbers of rows and pieces
Split = Callable[[int, int], Splitter]


def spread(shards: Rows, engine: Engine) -> float:
    """Return the weighted variance of the targets; 1 if they are all equal."""
    return float(moments(shards, engine)[1].sum()) or 1.0


def count_codes(shard: data.Shard, run: Run) -> tuple[Floats, ...]:
    """Return the weight of the rows of each code, for every column."""
    return tuple(
        np.bincount(codes, shard.weight, minlength=n_codes).astype(np.float64)
        for codes, n_codes in zip(shard.codes.T, shard.n_codes, strict=True)
    )


def digest(shard: data.Shard, run: Run) -> NDArray[np.uint64]:
    """Return four numbers that differ for other rows; sums of them wrap around."""
    found = hashlib.sha256()
    for array in (shard.codes, shard.target, shard.weight):
        if array is not None:
            found.update(np.ascontiguousarray(array).tobytes())
    return np.frombuffer(found.digest(), dtype=np.uint64).copy()


def count_distinct(arrays: Sequence[NDArray]) -> int:
    """Count distinct rows by a hash, so that repeating rows changes no default; all if many."""
    n_rows = len(arrays[0])
    if n_rows > LIMITS.merge_rows:
        return n_rows
    mixed = np.zeros(n_rows, dtype=np.uint64)
    for array in arrays:
        numbers = np.asarray(array, dtype=np.float64) + 0.0
        numbers[np.isnan(numbers)] = np.nan  # all of the same bits
        mixed = mix(mixed ^ numbers.view(np.uint64))
    return len(np.unique(mixed))


def are_copies(weight: NDArray | None) -> bool:
    """Return True if given weights say how often rows occurred."""
    return weight is None or bool((weight % 1 == 0).all() and weight.mean() <= MOST_REPEATED)


def are_measured_again(shard: data.Shard) -> bool:
    """Return True if most copies of rows stand beside rows with equal inputs and another target.

    Then rows repeat because inputs and targets have few values.  Otherwise they are duplicates.
    """
    if not shard.has_copies or shard.weight is None:
        return False
    _, place, count = np.unique(shard.codes, axis=0, return_inverse=True, return_counts=True)
    further = shard.weight - 1
    return float(further @ (count[place.ravel()] > 1)) > 0.5 * float(further.sum())


def joined(shards: Rows) -> data.Shard:
    """Return all rows of some shards in one."""
    if len(shards) == 1:
        return shards[0]
    codes = np.concatenate([shard.codes for shard in shards])
    target = np.concatenate([shard.target for shard in shards])
    weights = [np.ones(len(own)) if own.weight is None else own.weight for own in shards]
    is_weighted = any(shard.weight is not None for shard in shards)
    weight = np.concatenate(weights) if is_weighted else None
    has_copies = all(shard.has_copies for shard in shards)
    return data.Shard(codes, target, weight, shards[0].n_codes, has_copies=has_copies)
