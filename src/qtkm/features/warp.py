"""Warps: where values of the unit box are moved to before a basis is evaluated.

A box that is scaled by its least and greatest value is wasted on a column with a long tail.  A
warp is piecewise linear and increasing, so that it can be undone, and keeps the ends of the box.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

#: how columns are scaled: by their range, their ranks, or half of both
SCALINGS = ("range", "rank", "half", "auto")
#: most places that a warp keeps
MOST_KNOTS = 257
#: a warp that moves no value further than this is left out
LEAST_MOVE = 0.02


def moved(values: Any, warp: Any) -> NDArray[np.float64]:
    """Return values of the box, moved by a warp if there is one."""
    values = np.asarray(values, dtype=np.float64)
    return values if warp is None else np.interp(values, warp[0], warp[1])


def make_warp(
    values: NDArray[np.float64], counts: NDArray[np.float64], scaling: str
) -> NDArray[np.float64] | None:
    """Return the warp of a column, (2, n): places in the box, and where they are moved to.

    Parameters
    ----------
    values : (n_grid,) array
        Distinct values in the box, ascending.
    counts : (n_grid,) array
        Weight of the rows of each.
    scaling : {"range", "rank", "half", "auto"}
        "rank" moves a value to the share of rows below it, half of its own counted; "half" halfway
        there, and so does "auto".
    """
    there = counts > 0
    values, counts = values[there], counts[there]
    if scaling == "range" or len(values) < 3:
        return None
    ranks = np.cumsum(counts) - 0.5 * counts
    ranks = (ranks - ranks[0]) / (ranks[-1] - ranks[0])
    ends = values[0] + (values[-1] - values[0]) * ranks
    places = ends if scaling == "rank" else 0.5 * (ends + values)
    if np.abs(places - values).max() < LEAST_MOVE:
        return None
    if len(values) > MOST_KNOTS:
        steps = np.linspace(places[0], places[-1], MOST_KNOTS)
        chosen = np.unique(np.clip(np.searchsorted(places, steps), 0, len(values) - 1))
        values, places = values[chosen], places[chosen]
    return np.array([values, places])


def check_warp(warp: Any, name: str) -> None:
    """Raise a ValueError if this is not a warp; `name` is the column's."""
    if warp is None:
        return
    found = np.asarray(warp)
    fits = found.ndim == 2 and len(found) == 2 and found.shape[1] > 1 and found.dtype.kind == "f"
    if not fits or not np.isfinite(found).all() or (np.diff(found, axis=1) <= 0).any():
        raise ValueError(
            f"warp of {name} must be a (2, n) array of places in the box and of where they are "
            "moved to, both ascending, or None."
        )
