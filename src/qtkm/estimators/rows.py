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
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import data
from ..engines import Engine, is_elsewhere
from ..limits import LIMITS
from ..protocols import Shards
from .targets import (
    SAFE,
    TargetScale,
    as_given,
    moments,
    power_of_two,
    robust_moments,
    standardize,
)

#: fewest rows at which early_stopping="auto" sets validation rows aside
EARLY_STOPPING_ROWS = 10_000


@dataclass
class Arranged:
    """Rows in shards.

    Attributes
    ----------
    train : Shards
    validation : Shards or None
    target_range : (2, n_outputs) array
        Least and greatest targets of all rows, in units of y.
    exponent : (n_outputs,) int array
        Power of two that was taken out of the targets in the shards.
    scatter : (n_outputs,) array
        Weighted sum of squares that merging took out of them.
    """

    train: Shards
    validation: Shards | None
    target_range: NDArray[np.float64]
    exponent: NDArray[np.int64]
    scatter: NDArray[np.float64]

    def scale(
        self, loss: Any, known: TargetScale | None, engine: Engine
    ) -> tuple[TargetScale, float]:
        """Scale the targets.

        Parameters
        ----------
        loss : Loss or None
            Loss that tells how to scale; None leaves the targets as they are.
        known : TargetScale or None
            The scale of an earlier fit, to be kept.
        engine : Engine

        Returns
        -------
        scale : TargetScale
        scatter : float
            Weighted sum of squares that merging took out of the scaled targets.
        """
        if known is not None:
            here = known.times_power_of_two(-self.exponent)
        elif loss is not None:
            found = moments(self.train, self.scatter, engine)
            if loss.is_robust:
                ends = np.ldexp(self.target_range, -self.exponent)
                found = robust_moments(self.train, ends, found[1], engine)
            here = standardize(*found, loss.center_and_scale)
        else:
            here = as_given(len(self.scatter)).times_power_of_two(-self.exponent)
        _refuse_large(here.apply(np.ldexp(self.target_range, -self.exponent)))
        for shards in (self.train, self.validation):
            if shards is not None:
                shards.map_targets(here.apply)
        root = np.where(here.is_constant, 0, np.sqrt(self.scatter)) / here.scale
        return known or here.times_power_of_two(self.exponent), float(np.sum(root**2))

    @contextmanager
    def placed(self, engine: Engine) -> Iterator["Arranged"]:
        """Place the rows in the engine's processes, if it has any; few rows stay here.

        They are let go of at the end of the with block.
        """
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


def arrange(
    codes: NDArray,
    target: NDArray,
    weight: NDArray | None,
    n_codes: tuple[int, ...],
    split: "Split",
    average: bool,
) -> Arranged:
    """Arrange rows that are in memory.

    Parameters
    ----------
    codes : (n_rows, n_columns) unsigned array
    target : (n_rows, n_outputs) array
    weight : (n_rows,) array or None
        Positive weights; None for weights of 1.
    n_codes : tuple of int
        Grid size of every column.
    split : callable
        split(n_rows, n_pieces) makes a Splitter.
    average : bool
        Whether rows with different targets may be merged into one with their mean, as a
        quadratic loss allows.
    """
    target_range = np.array([target.min(axis=0), target.max(axis=0)])
    exponent = power_of_two(target_range)
    if exponent.any():
        target = np.ldexp(target, -exponent)
    scatter = np.zeros(target.shape[1])
    pieces = list(data.blocks(len(codes), LIMITS.shard_rows))
    splitter = split(len(codes), len(pieces))
    found = {"train": data.ShardList(), "validation": data.ShardList()}
    for i, (a, b) in enumerate(pieces):
        piece: list[Any] = [codes[a:b], target[a:b], None if weight is None else weight[a:b]]
        if len(codes) <= LIMITS.merge_rows:  # one piece
            kinds = splitter.parts(i, piece)
            own, y, weights = kinds["train"]
            *kinds["train"], scatter = data.merge(own, y, weights, average)
            shards = {kind: sort_piece(part, n_codes) for kind, part in kinds.items()}
        else:
            shards = make_shards(piece, i, splitter, n_codes)
        for kind, shard in shards.items():
            found[kind].append(shard)
    return Arranged(found["train"], found["validation"] or None, target_range, exponent, scatter)


def make_shards(
    piece: Sequence[Any], number: int, splitter: "Splitter", n_codes: tuple[int, ...]
) -> dict[str, data.Shard]:
    """Shards of training and validation rows of a piece: codes, targets and weights."""
    parts = splitter.parts(number, piece)
    return {kind: sort_piece(part, n_codes) for kind, part in parts.items()}


def sort_piece(piece: Sequence[Any], n_codes: tuple[int, ...]) -> data.Shard:
    """Shard of codes, targets and weights."""
    codes, target, weight = piece
    return data.sort_rows(codes, target, weight, n_codes)


def _refuse_large(ends: NDArray[np.float64]) -> None:
    largest = np.abs(ends).max()
    if not largest < SAFE:
        raise ValueError(
            f"y reaches {largest:.3g} times its scale in the fit, and the squares of that are "
            "too large; use normalize_y=True with warm_start=False or other units for y, or leave "
            "out rows whose y is not real."
        )


class Splitter:
    """Which rows of each piece are set aside for validation.

    Parameters
    ----------
    n_rows : int
        Rows in all.
    n_pieces : int
    early_stopping : bool or "auto"
    fraction : float
    rng : RandomState
    by_class : callable or None
        From targets to a code for every row: the fraction is then taken from each class, of
        which at least one row stays to train on.

    Attributes
    ----------
    needs_both : bool
        Whether a piece that is too small to be split is refused, or is all trained on.
    """

    needs_both = True

    def __init__(
        self,
        n_rows: int,
        n_pieces: int,
        early_stopping: Any,
        fraction: float,
        rng: np.random.RandomState,
        by_class: Any = None,
    ):
        #: of the random numbers before any was drawn
        self.state = rng.get_state()
        wanted = early_stopping
        if isinstance(wanted, str):
            wanted = n_rows > EARLY_STOPPING_ROWS
        self.fraction, self.by_class = fraction, by_class
        self.wanted = bool(wanted)
        # pieces are drawn from by themselves, in any order and anywhere
        self._order = rng.permutation(n_rows) if self.wanted and n_pieces == 1 else None
        self._seeds = rng.randint(2**31, size=n_pieces) if self.wanted and n_pieces > 1 else None

    def parts(self, number: int, piece: Sequence[Any]) -> dict[str, list[Any]]:
        """Arrays of a piece of rows, the second of them targets, by what the rows are for."""
        rest, aside = self.split(number, piece[1])
        if rest is None or aside is None:
            return {"train": list(piece)}
        return {"validation": _take(piece, aside), "train": _take(piece, rest)}

    def split(self, piece: int, target: NDArray) -> tuple[NDArray | None, NDArray | None]:
        """Training and validation rows of a piece, both in order; None where all rows train."""
        if not self.wanted:
            return None, None
        n_rows = len(target)
        order = self._order
        if self._seeds is not None:
            order = np.random.RandomState(self._seeds[piece]).permutation(n_rows)
        assert order is not None
        if self.by_class is None:
            aside = order[: int(np.ceil(self.fraction * n_rows))]
        else:
            aside = _of_each_class(order, self.by_class(target), self.fraction)
        if not 0 < len(aside) < n_rows:
            if not self.needs_both:
                return None, None
            self._refuse(n_rows, len(aside))
        rest = np.ones(n_rows, dtype=bool)
        rest[aside] = False
        return np.flatnonzero(rest), np.sort(aside)

    def _refuse(self, n_rows: int, n_aside: int) -> None:
        what, remedy = "validate", "more rows of each class"
        if n_aside:
            what, remedy = "train", "more rows, a smaller validation_fraction"
        raise ValueError(
            f"early_stopping=True with validation_fraction={self.fraction:g} leaves none of the "
            f"{n_rows} rows to {what} on; use {remedy} or early_stopping=False."
        )


def _take(piece: Sequence[NDArray | None], rows: NDArray) -> list[Any]:
    """Select rows of codes, targets and weights."""
    return [None if array is None else array[rows] for array in piece]


def _of_each_class(order: NDArray, classes: NDArray, fraction: float) -> NDArray:
    members = [order[classes[order] == code] for code in np.unique(classes)]
    sizes = [min(int(np.ceil(fraction * len(rows))), len(rows) - 1) for rows in members]
    return np.concatenate([rows[:size] for rows, size in zip(members, sizes, strict=True)])


#: makes the Splitter of so many rows and pieces
Split = Callable[[int, int], Splitter]


# -- sums over shards ---------------------------------------------------------------------------


def spread(shards: Sequence[data.Shard], engine: Engine) -> float:
    """Weighted mean square of the targets around their mean; 1 where they have no spread."""
    variance = float(moments(shards, np.zeros(1), engine)[1].sum())
    return variance if variance > 0 else 1.0


def count_codes(shard: data.Shard, run: Any) -> tuple[NDArray[np.float64], ...]:
    """Return the weight of the rows of each code, for every column."""
    return tuple(
        np.bincount(codes, shard.weight, minlength=n_codes).astype(np.float64)
        for codes, n_codes in zip(shard.codes.T, shard.n_codes, strict=True)
    )


def digest(shard: data.Shard, run: Any) -> NDArray[np.uint64]:
    """Four numbers that are others for other rows; sums of them wrap around."""
    found = hashlib.sha256()
    for array in (shard.codes, shard.target, shard.weight):
        if array is not None:
            found.update(np.ascontiguousarray(array).tobytes())
    return np.frombuffer(found.digest(), dtype=np.uint64).copy()


def count_distinct(arrays: Sequence[NDArray]) -> int:
    """Count distinct rows, so that repeating rows changes no default.

    Of more rows than are merged, the number itself.  Rows are told apart by a hash: a sum of
    their bits, each column times an odd number of its own.
    """
    n_rows = len(arrays[0])
    if n_rows > LIMITS.merge_rows:
        return n_rows
    mixed = np.zeros(n_rows, dtype=np.uint64)
    multiplier = np.random.default_rng(0)
    for array in arrays:
        numbers = np.asarray(array, dtype=np.float64) + 0.0
        numbers[np.isnan(numbers)] = np.nan  # all of the same bits
        bits = numbers.view(np.uint64)
        bits = bits ^ (bits >> np.uint64(29))
        mixed += bits * np.uint64(2 * int(multiplier.integers(2**62)) + 1)
    return len(np.unique(mixed))
