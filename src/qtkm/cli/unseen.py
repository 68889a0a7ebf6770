"""Rows that a model is not made for: categories it has not seen, numbers outside of its range."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.sources import Block
from ..estimators.categories import UNKNOWN, factorize
from .task import MOST_NAMES

#: part of itself by which an end of a range may be missed: two readers of CSV round differently
ROUNDING = 1e-12


class Unseen:
    """Counts of the rows whose values the fit of a model has not seen.

    Parameters
    ----------
    model : estimator
    names : sequence of str
        Columns of the table that it predicts from, in its order.

    Attributes
    ----------
    n_rows : int
        Rows that were looked at.
    categories, numbers : dict of str to int
        How many rows of a column hold other categories, or numbers out of range.
    """

    def __init__(self, model: Any, names: Sequence[str]):
        self._names, self._inputs = list(names), model._reading.inputs
        self._counts, self._boxes = model._reading.counts, model._reading.boxes
        self.n_rows, self._n_any = 0, {"categories": 0, "numbers": 0}
        self.categories: dict[str, int] = {}
        self.numbers: dict[str, int] = {}

    def add(self, block: Block) -> Block:
        """Look at rows, and pass them on."""
        self.n_rows += block.n_rows
        anywhere = {kind: np.zeros(block.n_rows, dtype=bool) for kind in self._n_any}
        for d, name in enumerate(self._names):
            kind = "categories" if self._boxes[d] is None else "numbers"
            found = self._is_unseen(d, block.columns[name])
            count = int(found.sum())
            if count:
                counts = getattr(self, kind)
                counts[name] = counts.get(name, 0) + count
                anywhere[kind] |= found
        for kind, rows in anywhere.items():
            self._n_any[kind] += int(rows.sum())
        return block

    def _is_unseen(self, d: int, values: Any) -> NDArray[np.bool_]:
        box = self._boxes[d]
        if box is not None:
            numbers = np.asarray(values, dtype=np.float64)
            margin = ROUNDING * max(abs(box.low), abs(box.high))
            return (numbers < box.low - margin) | (numbers > box.high + margin)
        distinct, inverse = factorize(values, f"column {self._names[d]!r}")
        codes = self._inputs.categories[d].code(distinct)
        # categories of which only rows of weight zero were there count as not seen, too
        is_new = (codes == UNKNOWN) | np.append(self._counts[d] == 0, True)[codes]
        return is_new[inverse]

    def remarks(self) -> list[str]:
        """One sentence for each kind, if there are such rows."""
        found = []
        if self.categories:
            found.append(
                f"{self._rows('categories')} categories that the model has not seen, which it "
                f"takes for a mean one: {_columns(self.categories)}"
            )
        if self.numbers:
            rules = {box.extrapolation for box in self._boxes if box is not None}
            taken = ", which it takes for the nearest end" if rules == {"clip"} else ""
            found.append(
                f"{self._rows('numbers')} numbers outside of the range that the model was fitted "
                f"to{taken}: {_columns(self.numbers)}"
            )
        return found

    def _rows(self, kind: str) -> str:
        count = self._n_any[kind]
        return f"{count:,} of {self.n_rows:,} rows {'has' if count == 1 else 'have'}"


def _columns(counts: dict[str, int]) -> str:
    most = sorted(counts.items(), key=lambda entry: -entry[1])
    told = ", ".join(f"{name!r} in {count:,}" for name, count in most[:MOST_NAMES])
    return told + ", …" * (len(most) > MOST_NAMES)
