"""Rows that a model is not made for: categories it has not seen, numbers outside of its range."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..data.sources import Block
from .task import MOST_NAMES


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
    categories, numbers, gaps : dict of str to int
        How many rows of a column hold other categories, numbers out of range, or no number where
        the fit had all.
    """

    def __init__(self, model: Any, names: Sequence[str]):
        self._columns = dict(zip(names, model._reading.inputs.columns, strict=True))
        self.n_rows, self._n_any = 0, {"categories": 0, "numbers": 0, "gaps": 0}
        self.categories: dict[str, int] = {}
        self.numbers: dict[str, int] = {}
        self.gaps: dict[str, int] = {}

    def add(self, block: Block) -> Block:
        """Look at rows, and pass them on."""
        self.n_rows += block.n_rows
        anywhere = {kind: np.zeros(block.n_rows, dtype=bool) for kind in self._n_any}
        for name, column in self._columns.items():
            for kind, found in column.find_unseen(block.columns[name]).items():
                if count := int(found.sum()):
                    counts = getattr(self, kind)
                    counts[name] = counts.get(name, 0) + count
                    anywhere[kind] |= found
        for kind, rows in anywhere.items():
            self._n_any[kind] += int(rows.sum())
        return block

    def remarks(self) -> list[str]:
        """One sentence for each kind, if there are such rows."""
        found = []
        if self.categories:
            found.append(
                f"{self._rows('categories')} categories that the model has not seen, which it "
                f"takes for a mean one: {_columns(self.categories)}"
            )
        if self.numbers:
            rules = {c.box.extrapolation for c in self._columns.values() if not c.is_categorical}
            taken = ", which it takes for the nearest end" if rules == {"clip"} else ""
            found.append(
                f"{self._rows('numbers')} numbers outside of the range that the model was fitted "
                f"to{taken}: {_columns(self.numbers)}"
            )
        if self.gaps:
            found.append(
                f"{self._rows('gaps')} no number where the model was fitted to rows that all had "
                f"one, and the median is taken: {_columns(self.gaps)}"
            )
        return found

    def _rows(self, kind: str) -> str:
        count = self._n_any[kind]
        return f"{count:,} of {self.n_rows:,} rows {'has' if count == 1 else 'have'}"


def _columns(counts: dict[str, int]) -> str:
    most = sorted(counts.items(), key=lambda entry: -entry[1])
    told = ", ".join(f"{name!r} in {count:,}" for name, count in most[:MOST_NAMES])
    return told + ", …" * (len(most) > MOST_NAMES)
