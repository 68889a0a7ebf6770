"""Targets and weights: what a user passes as y and sample_weight, and what the fit sees."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from ..data import Shard
from ..engines import Engine

#: numbers up to this, and down to its inverse, can be squared and summed without a thought
SAFE = 1e100


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
        """The same for targets that are larger by a power of two."""
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


def standardize(mean: NDArray[np.float64], variance: NDArray[np.float64]) -> TargetScale:
    """Scale to mean 0 and variance 1."""
    scale = np.sqrt(variance)
    constant = scale <= 10 * np.finfo(np.float64).eps * np.abs(mean)
    return TargetScale(mean, np.where(constant, 1.0, scale), constant)


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
