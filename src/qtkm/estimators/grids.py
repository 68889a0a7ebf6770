"""Columns of numbers and category codes to boxes, grids and one array of codes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import data
from ..engines import Engine
from ..features import FeatureMap
from ..objective import Column

#: error of the features that bins may cause, which sets max_bins="auto"
BIN_ERROR, FEWEST_BINS = 0.01, 1024
#: rows from which columns are encoded side by side; below, handing out the work takes longer
THREADED_ROWS = 20_000


def make_boxes(
    arrays: Sequence[NDArray],
    is_categorical: Sequence[bool],
    labels: Sequence[str],
    bounds: Any,
    extrapolation: str,
    engine: Engine,
) -> list[data.Box | None]:
    """Box of every column, from given bounds or from the data; None for categories.

    Parameters
    ----------
    arrays : sequence of (n_rows,) arrays
    is_categorical : sequence of bool
    labels : sequence of str
        What the columns are called in messages.
    bounds : (low, high), one such pair a column, or None
    extrapolation : str
        Rule of the boxes for values outside.
    engine : Engine
    """
    given = None if bounds is None else check_bounds(bounds, labels)

    def make(d: int) -> data.Box | None:
        if is_categorical[d]:
            return None
        low, high = (arrays[d].min(), arrays[d].max()) if given is None else given[d]
        return data.Box(float(low), float(high), extrapolation, labels[d])

    return _run(engine, make, arrays)


def check_bounds(bounds: Any, labels: Sequence[str]) -> NDArray[np.float64]:
    """Give bounds as one pair (low, high) a column."""
    n_columns = len(labels)
    expected = f"give (low, high), or one such pair for each of the {n_columns} columns"
    try:
        given = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"bounds={bounds!r} are not numbers; {expected}.") from None
    if given.shape not in ((2,), (n_columns, 2)):
        raise ValueError(f"bounds={bounds!r} have the shape {given.shape}; {expected}.")
    if not np.isfinite(given).all():
        raise ValueError(f"bounds={bounds!r} must be finite; {expected}.")
    pairs = np.broadcast_to(given, (n_columns, 2))
    for (low, high), label in zip(pairs, labels, strict=True):
        if not low < high:
            raise ValueError(f"bounds of {label} are ({low:g}, {high:g}), not low < high.")
    return pairs


def encode_columns(
    arrays: Sequence[NDArray],
    labels: Sequence[str],
    maps: Sequence[FeatureMap],
    boxes: Sequence[data.Box | None],
    max_bins: Any,
    engine: Engine,
) -> tuple[list[Column], NDArray[np.unsignedinteger]]:
    """Columns with their grids, and the codes of all rows (n_rows, n_columns).

    One column is read at a time, so that X is never copied as a whole.
    """

    def encode(d: int) -> tuple[Any, NDArray]:
        box = boxes[d]
        if box is None:
            return maps[d].n_features, arrays[d]
        values = box.contain(arrays[d])
        low, high = box.low, box.high
        if box.extrapolation == "continue":
            low, high = min(low, float(values.min())), max(high, float(values.max()))
            check_reach(maps[d], box, low, high)
        return data.encode(values, low, high, n_bins(max_bins, maps[d], box, low, high))

    encoded = _run(engine, encode, arrays)
    columns = [
        Column(label, feature_map, box, grid)
        for label, feature_map, box, (grid, _) in zip(labels, maps, boxes, encoded, strict=True)
    ]
    # the compiled loops know 16 and 32 bits
    kind = np.promote_types(data.code_type(max(len(column) for column in columns)), np.uint16)
    codes = np.empty((len(arrays[0]), len(arrays)), dtype=kind)
    for d in range(len(arrays)):
        codes[:, d] = encoded[d][1]
        encoded[d] = None
    return columns, codes


def check_reach(feature_map: FeatureMap, box: data.Box, low: float, high: float) -> None:
    """Refuse values so far outside of the box that the basis has none there."""
    ends = box.to_unit(np.array([low, high]))
    entries = np.abs(feature_map.factors(ends))
    with np.errstate(all="ignore"):
        largest = np.prod([entries[:, level].max() for level in feature_map.slices])
    if not np.isfinite(largest):
        raise ValueError(
            f"{box.name} reaches from {low:g} to {high:g}, so far outside of its bounds "
            f"({box.low:g}, {box.high:g}) that the basis overflows; widen the bounds or use "
            "extrapolation='clip'."
        )


def _run(engine: Engine, function: Callable[[int], Any], arrays: Sequence[NDArray]) -> list[Any]:
    """Apply a function to the number of every column; side by side if that is worth it."""
    columns = range(len(arrays))
    if len(arrays[0]) < THREADED_ROWS:
        return [function(d) for d in columns]
    return engine.run(function, columns)


def n_bins(
    max_bins: Any, feature_map: FeatureMap, box: data.Box, low: float, high: float
) -> int | None:
    """Largest number of grid values of a column, None for all of its distinct ones."""
    if not isinstance(max_bins, str):
        return max_bins
    width = box.high / 2 - box.low / 2
    stretch = (high / 2 - low / 2) / width if width > 0 else 1.0
    needed = np.ceil(feature_map.bin_error(stretch) / BIN_ERROR)
    return int(np.clip(needed, FEWEST_BINS, np.iinfo(np.int32).max))
