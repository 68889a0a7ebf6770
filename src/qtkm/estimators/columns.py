"""Kinds of columns: one class per kind reads, scans, codes and describes a column.

    raw column ──read──► numbers, or distinct values and which of them each row holds
               ──scan──► summary: mergeable, the same for arrays, blocks of files and partitions
    summaries  ──learn─► box or categories ──feature map──► coder ──► codes of the rows

Both kinds have the same methods, which `NumberColumn` documents.
"""

import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import data
from ..features.feature_map import make_warp
from ..limits import LIMITS
from ..objective import Column
from .values import (
    NUMBERS,
    Number,
    as_period,
    cannot_continue,
    present,
    read_numbers,
    refuse_not_finite,
    shorten,
)

#: code of a category that the fit has not seen
UNKNOWN = -1
#: error of the features that bins may cause, which sets max_bins="auto"
BIN_ERROR, FEWEST_BINS = 0.01, 1024
#: distinct values of a column that are kept while it is not known how many will do
MOST_DISTINCT = 1 << 16
#: part of itself by which an end of a range may be missed: two readers of CSV round differently
ROUNDING = 1e-12


@dataclass
class NumberSummary:
    """Range, distinct values and gaps of some rows of a numeric column."""

    #: given, or known from an earlier fit: values outside are taken to its ends if it clips
    box: data.Box | None
    #: most distinct values to keep
    limit: int
    low: float = np.inf
    high: float = -np.inf
    #: ascending; None if there are more than the limit
    distinct: NDArray[np.float64] | None = field(default_factory=lambda: np.empty(0))
    has_gaps: bool = False
    #: of the distinct values, once there are more than the limit
    sample: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    def add(self, values: NDArray) -> None:
        """Scan some rows, as returned by the column's `read`."""
        there = present(values)
        self.has_gaps |= len(there) < len(values)
        if len(there):
            inside = data.contiguous(there if self.box is None else self.box.contain(there))
            distinct = None if self.distinct is None else data.find_distinct(inside, self.limit)
            self._join(float(inside.min()), float(inside.max()), distinct, inside)

    def merge(self, other: "NumberSummary") -> None:
        self.has_gaps |= other.has_gaps
        seen = other.sample if other.distinct is None else other.distinct
        self._join(other.low, other.high, other.distinct, seen)

    def _join(self, low: float, high: float, distinct: NDArray | None, seen: NDArray) -> None:
        self.low, self.high = min(self.low, low), max(self.high, high)
        if self.distinct is not None and distinct is not None:
            joined = np.union1d(self.distinct, distinct)
            if len(joined) <= self.limit:
                self.distinct = joined
                return
        self.sample, self.distinct = data.draw_values(self.draw(), seen), None

    def draw(self) -> NDArray[np.float64]:
        if self.distinct is None:
            return self.sample
        return data.draw_values(self.sample, self.distinct)


@dataclass
class NumberColumn:
    """A column of numbers; `label` is what messages call it."""

    name: str
    label: str
    extrapolation: str = "clip"
    #: a Box: given, known from an earlier fit, or learned from the rows
    box: Any = None
    feature_map: Any = None
    has_gaps: bool = False
    #: median in the unit box, in place of a missing value if there were none in the fit
    center: float = 0.5
    #: numbers, times or time spans, the last two in seconds
    holds: str = NUMBERS
    #: period of a cyclic column
    cycle: float | None = None
    is_categorical = False
    #: whether an earlier fit has learned it
    is_known = False
    #: shares of the categories, which numbers do not have
    frequencies = None

    def read(self, column: Any, number: Number = int) -> NDArray:
        """Return the numbers of a raw column; messages have the numbers of rows."""
        try:
            values, holds = read_numbers(column, self.label)
        except (TypeError, ValueError) as error:
            what, is_text, why = str(error).partition(", not numbers")
            if self.feature_map is None or not is_text:
                raise
            end = why if isinstance(error, TypeError) else "."  # scikit-learn checks the reason
            raise type(error)(f"{what}, but the model was fitted to {self.holds}{end}") from None
        refuse_not_finite(values, self.label, number, "X", gaps=True)
        if holds != self.holds and len(present(values)):
            if self.feature_map is not None:
                told = f"{holds}, but the model was fitted to {self.holds}"
                raise ValueError(f"{self.label} holds {told}.")
            self.holds = holds
        if self.cycle is not None:
            values = np.mod(values, self.cycle, dtype=np.float64)
        return values

    def look(self, column: Any, period: Any) -> None:
        """Determine the kind of a training column from its first rows, and its period if cyclic."""
        with warnings.catch_warnings(), suppress(TypeError, ValueError):
            warnings.simplefilter("ignore")
            self.holds = read_numbers(column[:100], "")[1]
        if period is not None:
            self.cycle = as_period(period, self.holds, self.label)
            self.box = data.Box(0.0, self.cycle, self.extrapolation, self.label)

    def plain(self, found: NDArray) -> NDArray:
        """Return one number per row from the result of `read`."""
        return found

    def summary(self, max_bins: Any) -> NumberSummary:
        limit = LIMITS.exact_values if max_bins is None else MOST_DISTINCT
        return NumberSummary(self.box, limit if max_bins in (None, "auto") else max_bins)

    def learn(self, seen: NumberSummary) -> None:
        """Learn from the summary of all rows, unless a fit continues."""
        if self.box is None:
            low, high = (seen.low, seen.high) if seen.low <= seen.high else (0.0, 0.0)
            self.box = data.Box(low, high, self.extrapolation, self.label)
        if not self.is_known:
            self.has_gaps = seen.has_gaps
        elif seen.has_gaps and not self.has_gaps:
            said = f"{self.label} has missing values, but had none in the first fit"
            raise cannot_continue(said)

    def known_as(self, known: "NumberColumn") -> None:
        self.box = replace(known.box, extrapolation=self.extrapolation)
        self.has_gaps, self.center, self.is_known = known.has_gaps, known.center, True

    def weigh(self, values: NDArray, counts: NDArray, scaling: str) -> None:
        """Learn from the weights of the grid values (in the box), once rows are in shards."""
        there = ~np.isnan(values) & (counts > 0)
        feature_map, values, counts = self.feature_map, values[there], counts[there]
        if self.is_known or len(values) == 0:
            return
        if getattr(feature_map, "warp", 0) is None and self.cycle is None:
            feature_map.warp = make_warp(values, counts, scaling)
        below = np.cumsum(counts)
        self.center = float(values[np.searchsorted(below, 0.5 * below[-1])])
        if feature_map.has_gaps:
            means = counts @ feature_map.inner.main_functions(values) / counts.sum()
            feature_map.place, feature_map.means = self.center, means

    def code(self, seen: NumberSummary, max_bins: Any) -> Column:
        """Return the column on its grid."""
        box, most = self.box, max_bins
        low, high = box.low, box.high
        if box.extrapolation == "continue":
            low, high = min(low, seen.low), max(high, seen.high)
            self._refuse_overflow(low, high)
        if most == "auto":
            width = box.high / 2 - box.low / 2
            stretch = (high / 2 - low / 2) / width if width > 0 else 1.0
            needed = np.ceil(self.feature_map.bin_error(stretch) / BIN_ERROR)
            most = int(np.clip(needed, FEWEST_BINS, np.iinfo(np.int32).max))
        if seen.distinct is not None and (most is None or len(seen.distinct) <= most):
            grid = data.Grid(seen.distinct)
        elif most is None:
            raise ValueError(
                f"{self.label} has more than {seen.limit:,} distinct values, too many for "
                "max_bins=None; use a number of bins, or 'auto'."
            )
        else:
            grid = data.make_bins(low, high, most, seen.draw())
        grid = grid.with_gaps() if self.has_gaps else grid
        return Column(self.label, self.feature_map, box, grid)

    def _refuse_overflow(self, low: float, high: float) -> None:
        box, feature_map = self.box, self.feature_map
        with np.errstate(all="ignore"):
            entries = np.abs(feature_map.factors(box.to_unit(np.array([low, high]))))
            largest = np.prod([entries[:, level].max() for level in feature_map.slices])
        if not np.isfinite(largest):
            raise ValueError(
                f"{box.name} ranges from {low:g} to {high:g}, so far outside its bounds "
                f"({box.low:g}, {box.high:g}) that the basis overflows; widen the bounds or use "
                "extrapolation='clip'."
            )

    def values(self, plain: NDArray) -> NDArray:
        found = self.box.to_unit(self.box.contain(plain))
        if not self.has_gaps and (missing := np.isnan(found)).any():
            found = np.where(missing, self.center, found)
        return found

    def find_unseen(self, found: NDArray) -> NDArray[np.bool_]:
        """Return a mask of the rows with values outside the box, from the result of `read`."""
        values = np.asarray(found, dtype=np.float64)
        margin = ROUNDING * max(abs(self.box.low), abs(self.box.high))
        return (values < self.box.low - margin) | (values > self.box.high + margin)

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "basis": self.feature_map,
                "bounds": (self.box.low, self.box.high), "categories": None,
                "gaps": self.has_gaps, "holds": self.holds, "cycle": self.cycle}  # fmt: skip


def check_bounds(bounds: Any, labels: Sequence[str]) -> NDArray[np.float64]:
    """Return bounds as one pair (low, high) per column."""
    given = np.full(0, np.nan)
    with suppress(TypeError, ValueError):
        given = np.asarray(bounds, dtype=np.float64)
    if given.shape not in ((2,), (len(labels), 2)) or not np.isfinite(given).all():
        raise ValueError(
            f"bounds={bounds!r} must be finite numbers (low, high), or one such pair for each of "
            f"the {len(labels)} columns."
        )
    pairs = np.broadcast_to(given, (len(labels), 2))
    for (low, high), label in zip(pairs, labels, strict=True):
        if not low < high:
            raise ValueError(f"bounds of {label} are ({low:g}, {high:g}); low must be below high.")
    return pairs


#: distinct values of a column, and which of them each row holds
Factorized = tuple[Sequence[Any], NDArray[np.int64]]


def number_categories(values: Iterable[Any]) -> dict[Any, int]:
    """Return codes of the distinct values in ascending order; None, for missing ones, is last."""
    found = {None if is_missing(value) else value for value in values}
    ordered = list(found - {None})
    try:
        ordered.sort()
    except TypeError:  # of several types, such as text and numbers
        ordered.sort(key=lambda value: (type(value).__name__, str(value)))
    return {value: code for code, value in enumerate([*ordered, *(found & {None})])}


@dataclass
class CategorySummary:
    """Categories in some rows of a column, as the keys of `found`."""

    found: dict[Any, int] = field(default_factory=dict)

    def add(self, found: Factorized) -> None:
        distinct, inverse = found
        self.found |= number_categories(distinct[i] for i in np.unique(inverse))

    def merge(self, other: "CategorySummary") -> None:
        self.found |= other.found


@dataclass
class CategoryColumn:
    """A column of categories; the methods are those of `NumberColumn`."""

    name: str
    label: str
    #: codes of the categories, in their order
    categories: Any = None
    #: training weight of each category
    counts: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    feature_map: Any = None
    is_categorical = True
    box = None

    @property
    def frequencies(self) -> NDArray[np.float64]:
        return self.counts / self.counts.sum()

    def read(self, column: Any, number: Number = int) -> Factorized:
        return factorize(column, self.label)

    def codes_of(self, values: Iterable[Any]) -> NDArray[np.int64]:
        """Return the codes of values; UNKNOWN for unknown categories."""
        keys = (None if is_missing(value) else value for value in values)
        return np.array([self.categories.get(key, UNKNOWN) for key in keys], dtype=np.int64)

    def plain(self, found: Factorized) -> NDArray:
        return self.codes_of(found[0])[found[1]]

    def summary(self, max_bins: Any) -> CategorySummary:
        return CategorySummary()

    def learn(self, seen: CategorySummary) -> None:
        present = number_categories(seen.found)
        if self.categories is None:
            self.categories = present
        new = [value for value in present if value not in self.categories]
        if new:
            said = f"{self.label} has categories that were not in the first fit"
            raise cannot_continue(f"{said} ({shorten(new)})")

    def known_as(self, known: "CategoryColumn") -> None:
        self.categories = known.categories

    def weigh(self, values: NDArray, counts: NDArray, scaling: str) -> None:
        self.counts = counts

    def code(self, seen: CategorySummary, max_bins: Any) -> Column:
        return Column(self.label, self.feature_map, None, self.feature_map.n_categories)

    def values(self, plain: NDArray) -> NDArray:
        # the last entry serves the code UNKNOWN itself
        untrained = np.append(self.counts == 0, True)[plain]
        return np.where(untrained, UNKNOWN, plain)

    def find_unseen(self, found: Factorized) -> NDArray[np.bool_]:
        distinct, inverse = found
        return (self.values(self.codes_of(distinct)) == UNKNOWN)[inverse]

    def describe(self) -> dict[str, Any]:
        return {"name": self.name, "basis": self.feature_map, "bounds": None,
                "categories": list(self.categories), "gaps": None in self.categories,
                "holds": "categories", "cycle": None}  # fmt: skip


def factorize(column: Any, label: str) -> Factorized:
    """Return the distinct values of a column, and the index of each row's value."""
    if hasattr(column, "cat") and hasattr(column, "iloc"):  # a pandas Series of categories
        # the code -1 is the missing value
        codes, words = column.cat.codes.to_numpy() + 1, [None, *column.cat.categories.tolist()]
        present, position = np.flatnonzero(np.bincount(codes)), np.empty(len(words), np.int64)
        position[present] = np.arange(len(present))
        return [words[code] for code in present], position[codes]
    values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if values.dtype.kind == "M":  # as text, without the zeros at its end
        times, inverse = np.unique(values.astype("M8[us]"), return_inverse=True)
        texts = [str(t).removesuffix("T00:00:00.000000").removesuffix(".000000") for t in times]
        return [None if text == "NaT" else text for text in texts], inverse
    if values.dtype.kind not in "OUS":
        distinct, inverse = np.unique(values, return_inverse=True)
        return distinct.tolist(), inverse
    positions: dict[Any, int] = {}
    try:
        rows = (positions.setdefault(value, len(positions)) for value in values.tolist())
        inverse = np.fromiter(rows, dtype=np.int64, count=len(values))
    except TypeError as error:
        raise ValueError(
            f"{label} is categorical, but contains a value that cannot be a category ({error}); "
            "use text, numbers or other hashable values."
        ) from None
    return list(positions), inverse


def is_missing(value: Any) -> bool:
    """Return True for None, NaN, NaT and pandas.NA."""
    try:
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA is neither true nor false
        return True
