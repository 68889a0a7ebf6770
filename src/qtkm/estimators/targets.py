"""Targets and weights: what a user passes as y and sample_weight, and what the fit sees."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from ..data import Shard
from ..data.sources import Block
from ..engines import Engine
from .values import numbers, refuse_not_finite

#: numbers up to this, and down to its inverse, can be squared and summed without a thought
SAFE = 1e100
#: bins in which targets are counted to find their median
N_BINS = 1024


def check_target(estimator: Any, y: Any) -> NDArray[np.float64]:
    """Give y as an array of one or two dimensions."""
    who = type(estimator).__name__
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None.")
    return _as_numbers(y, "y", estimator, "encode the target as numbers")


def check_weight(sample_weight: Any, n_rows: int, every: bool = True) -> NDArray[np.float64]:
    """Give sample_weight as an array of n_rows weights, not all of them zero.

    With `every=False` these are some of the rows, and the others may have a weight.
    """
    weight = _as_numbers(sample_weight, "sample_weight", None, "give one number a row")
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight has the shape {weight.shape}; give one weight for each of the {n_rows} "
            "rows."
        )
    if weight.min() < 0:
        raise ValueError(
            f"sample_weight has negative entries (the least is {weight.min():g}); weights must be "
            ">= 0."
        )
    if every and not weight.any():
        raise ValueError("sample_weight is zero for every row; give some rows a positive weight.")
    return weight


def check_offset(offset: Any, n_rows: int) -> NDArray[np.float64]:
    """Give offset as an array (n_rows, 1)."""
    found = _as_numbers(offset, "offset", None, "give one number a row")
    if found.shape != (n_rows,):
        raise ValueError(
            f"offset has the shape {found.shape}; give one number for each of the {n_rows} rows."
        )
    return found[:, None]


def _as_numbers(values: Any, name: str, estimator: Any, hint: str) -> NDArray[np.float64]:
    if getattr(getattr(values, "dtype", None), "kind", None) == "c":
        raise ValueError(f"Complex data not supported: {name} holds complex numbers; {hint}.")
    try:
        array = check_array(
            values,
            dtype=np.float64,
            ensure_2d=False,
            ensure_all_finite=False,
            input_name=name,
            estimator=estimator,
        )
    except (TypeError, ValueError) as error:
        if "convert" not in str(error):
            raise
        raise ValueError(f"{name} must hold numbers ({error}); {hint}.") from None
    finite = np.isfinite(array)
    if not finite.all():
        what = "NaN" if np.isnan(array).any() else "infinity"
        row = int(np.argmin(finite.reshape(len(finite), -1).all(axis=1)))
        raise ValueError(
            f"Input {name} contains {what}: {np.sum(~finite):,} of {array.size:,} values are not "
            f"finite, the first in row {row:,} (from 0); leave out their rows."
        )
    return array


def refuse_unequal(n_rows: int, n_targets: int) -> None:
    """Raise a ValueError where X and y do not go together."""
    if n_rows != n_targets:
        raise ValueError(f"X and y have inconsistent numbers of rows: {n_rows} and {n_targets}.")


def drop_weightless(values: NDArray, weight: NDArray | None) -> tuple[NDArray, NDArray | None]:
    """Rows of positive weight, and their weights (None for weights of 1)."""
    if weight is None or weight.all():
        return values, None if weight is None else _tame(weight)
    keep = weight > 0
    return values[keep], _tame(weight[keep])


def _tame(weight: NDArray[np.float64]) -> NDArray[np.float64]:
    exponent = tame_exponent(weight.max())
    return np.ldexp(weight, -exponent) if exponent else weight


def tame_exponent(largest: float) -> int:
    """Power of two to take out of weights, so that they can be squared and summed."""
    if 1 / SAFE < largest < SAFE:
        return 0
    # even, so that their square roots change by a power of two as well
    return 2 * (int(np.frexp(largest)[1]) // 2)


@dataclass(frozen=True)
class TargetScale:
    """What the fit makes of targets: (y - mean) / scale.

    Attributes
    ----------
    mean, scale : (n_outputs,) arrays
    is_constant : (n_outputs,) bool array
        Outputs whose spread is nothing but rounding; the fit sees zeros.
    """

    mean: NDArray[np.float64]
    scale: NDArray[np.float64]
    is_constant: NDArray[np.bool_]

    def apply(self, target: NDArray[np.float64]) -> NDArray[np.float64]:
        """Targets as the fit sees them."""
        scaled = target - self.mean
        scaled /= self.scale
        scaled[:, self.is_constant] = 0
        return scaled

    def undo(self, response: NDArray[np.float64]) -> NDArray[np.float64]:
        """Responses in the units of y."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.mean + self.scale * response

    def times_power_of_two(self, exponent: NDArray[np.integer]) -> "TargetScale":
        """Return the scale for targets multiplied by a power of two."""
        mean, scale = np.ldexp(self.mean, exponent), np.ldexp(self.scale, exponent)
        return TargetScale(mean, scale, self.is_constant)


def as_given(n_outputs: int) -> TargetScale:
    """Targets that the fit sees as they are."""
    return TargetScale(np.zeros(n_outputs), np.ones(n_outputs), np.zeros(n_outputs, dtype=bool))


def moments(
    shards: Sequence[Shard], scatter: NDArray, engine: Engine
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Means and variances of the targets, as they were before equal rows were merged."""
    total, sums = engine.sum(_first_moments, shards)
    mean = sums / total
    return mean, (engine.sum(_SquaresAround(mean), shards) + scatter) / total


def robust_moments(
    shards: Sequence[Shard],
    ends: NDArray[np.float64],
    variance: NDArray[np.float64],
    engine: Engine,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Medians, and variances from the median distances from them, which few rows cannot move.

    Parameters
    ----------
    shards : sequence of Shard
    ends : (2, n_outputs) array
        Least and greatest targets.
    variance : (n_outputs,) array
        To be taken where half of the targets or more are the same.
    engine : Engine
    """
    zero = np.zeros(ends.shape[1])
    median = _middle(shards, ends, None, engine)
    farthest = np.abs(ends - median).max(axis=0)
    distance = _middle(shards, np.array([zero, farthest]), median, engine)
    # the median distance of a Gaussian is 0.6745 of its deviation
    robust = (1.4826 * distance) ** 2
    return median, np.where(distance > 1e-9 * farthest, robust, variance)


def _middle(
    shards: Sequence[Shard], ends: NDArray, center: NDArray | None, engine: Engine
) -> NDArray[np.float64]:
    """Weighted medians of the targets, or of their distances from a center, between `ends`.

    Four counts in bins, each within the bin of the one before, so that only sums leave a shard.
    """
    low, high = ends.astype(np.float64)
    for _ in range(4):
        width = (high - low) / N_BINS
        counts = engine.sum(_CountBetween(low, high, center), shards)  # (n_outputs, N_BINS + 2)
        total = counts.sum(axis=1)
        reached = np.cumsum(counts[:, :-1], axis=1) >= 0.5 * total[:, None]
        place = np.maximum(reached.argmax(axis=1) - 1, 0)
        low, high = low + place * width, low + (place + 1) * width
    return 0.5 * (low + high)


@dataclass
class _CountBetween:
    """Weights of the targets in equal bins from low to high, with those below and above."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    center: NDArray[np.float64] | None

    def __call__(self, shard: Shard, run: Any) -> NDArray[np.float64]:
        values = shard.target if self.center is None else np.abs(shard.target - self.center)
        counts = []
        for column, low, high in zip(values.T, self.low, self.high, strict=True):
            edges = np.linspace(low, high, N_BINS + 1)
            edges[-1] = np.nextafter(high, np.inf)
            bins = np.searchsorted(edges, column, side="right")
            counts.append(np.bincount(bins, shard.weight, minlength=N_BINS + 2))
        return np.array(counts, dtype=np.float64)


def standardize(
    mean: NDArray[np.float64],
    variance: NDArray[np.float64],
    center_and_scale: Callable[..., tuple[NDArray, NDArray]] | None = None,
) -> TargetScale:
    """Scale to mean 0 and variance 1, or as a loss says."""
    center, scale = (mean, np.sqrt(variance))
    if center_and_scale is not None:
        center, scale = center_and_scale(mean, variance)
    constant = scale <= 10 * np.finfo(np.float64).eps * np.abs(center)
    return TargetScale(center, np.where(constant, 1.0, scale), constant)


def _first_moments(shard: Shard, run: Any) -> tuple[NDArray, NDArray]:
    """Total weight and weighted sums of the targets."""
    if shard.weight is None:
        return np.array([float(len(shard))]), shard.target.sum(axis=0)
    return np.array([shard.weight.sum()]), shard.weight @ shard.target


@dataclass
class _SquaresAround:
    """Weighted sums of squares of the targets around a mean."""

    mean: NDArray[np.float64]

    def __call__(self, shard: Shard, run: Any) -> NDArray[np.float64]:
        deviation = shard.target - self.mean
        if shard.weight is None:
            return np.array([np.vdot(column, column) for column in deviation.T])
        return shard.weight @ deviation**2


def power_of_two(target_range: NDArray[np.float64]) -> NDArray[np.int64]:
    """Exponent to take out of targets that are too large or too small to be squared."""
    largest = np.abs(target_range).max(axis=0)
    safe = (largest == 0) | ((largest > 1 / SAFE) & (largest < SAFE))
    return np.where(safe, 0, np.maximum(np.frexp(largest)[1], -900)).astype(np.int64)


# -- targets of rows that are read block by block -------------------------------------------------


class Target(Protocol):
    """Reads targets from blocks: once to look, once to give them.

    `exponent`, a power of two, is taken out of them; `target_range` holds the least and the
    greatest, (2, n_outputs), in units of y.
    """

    names: list[str]
    exponent: NDArray[np.int64]

    def key(self) -> str:
        """Say what it makes of its columns, for the key of a cache."""

    @property
    def is_weighted(self) -> bool:
        """Whether it gives weights to rows."""

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""

    @property
    def target_range(self) -> NDArray[np.float64]:
        """Least and greatest targets."""

    def look(self, block: Block, weight: NDArray | None, keep: NDArray | None) -> None:
        """Look at the targets of some rows."""

    def merge(self, other: Any) -> None:
        """Add what another has seen."""

    def settle(self) -> None:
        """Take in what was seen, once all rows have been."""

    def state(self) -> Any:
        """All that was seen, to be kept."""

    def restore(self, state: Any) -> None:
        """Put in what another has seen."""

    def targets(
        self, block: Block, weight: NDArray | None, keep: NDArray | None
    ) -> tuple[NDArray[np.float64], NDArray | None]:
        """Targets (n_rows, n_outputs) and weights of the rows to keep."""


class NumberTarget:
    """Columns of numbers, with or without a column of offsets.

    Parameters
    ----------
    names : sequence of str
        Columns of the targets.
    offset : str or None
        Column of the offsets.
    loss : Loss or None
        Puts the offsets into targets and weights.
    """

    def __init__(self, names: Sequence[str], offset: str | None = None, loss: Any = None):
        self.n_outputs, self.offset, self.loss = len(names), offset, loss
        self.names = [*names, *([] if offset is None else [offset])]
        self.target_range = np.array([[np.inf], [-np.inf]]) * np.ones(len(names))
        self.exponent = np.zeros(len(names), dtype=np.int64)
        self.is_weighted = False
        if offset is not None:
            probe = loss.take_offset(np.ones((1, len(names))), None, np.zeros((1, 1)))
            self.is_weighted = probe[1] is not None

    def key(self) -> str:
        taken = "" if self.offset is None else f" with offset of {self.loss!r}"
        return f"{type(self).__name__}{taken}"

    def look(self, block: Block, weight: NDArray | None, keep: NDArray | None) -> None:
        target, _ = self._read(block, weight, keep, check=True)
        if len(target):
            self._widen(np.array([target.min(axis=0), target.max(axis=0)]))

    def merge(self, other: "NumberTarget") -> None:
        self._widen(other.target_range)

    def _widen(self, found: NDArray) -> None:
        self.target_range[0] = np.minimum(self.target_range[0], found[0])
        self.target_range[1] = np.maximum(self.target_range[1], found[1])

    def settle(self) -> None:
        self.exponent = power_of_two(self.target_range)

    def state(self) -> Any:
        return self.target_range

    def restore(self, state: Any) -> None:
        self.target_range = state

    def targets(
        self, block: Block, weight: NDArray | None, keep: NDArray | None
    ) -> tuple[NDArray[np.float64], NDArray | None]:
        target, weight = self._read(block, weight, keep, check=False)
        if self.exponent.any():
            target = np.ldexp(target, -self.exponent)
        return target, weight

    def _read(
        self, block: Block, weight: NDArray | None, keep: NDArray | None, check: bool
    ) -> tuple[NDArray[np.float64], NDArray | None]:
        columns = []
        for k, name in enumerate(self.names):
            role, argument = ("target", "y") if k < self.n_outputs else ("offset", "offset")
            label = f"{role} {name!r}"
            values = numbers(block.columns[name], label)
            if check:
                refuse_not_finite(values, label, block.first_row, argument)
            columns.append(values if keep is None else values[keep])
        if weight is not None and keep is not None:
            weight = weight[keep]
        found = np.column_stack(columns).astype(np.float64, copy=False)
        if self.offset is None or len(found) == 0:
            return found[:, : self.n_outputs], weight
        return self.loss.take_offset(found[:, :-1], weight, found[:, -1:])
