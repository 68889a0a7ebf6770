"""Different values of a column: of texts and labels all, with their rows; of numbers a few."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.sources import Block
from ..estimators.columns import factorize
from .task import find_strange

#: different texts of a column, or labels, that are counted: of more, only that they are more
MOST_TEXTS = 1 << 17
#: different numbers or times that are counted: of more, only that they are more
MOST_NUMBERS = 100
#: rows of a block that are looked at first for different numbers
FIRST_ROWS = 1000


class Texts:
    """Texts of a column and how many rows hold each, as far as there are not too many.

    Attributes
    ----------
    counts, first_rows : dict
        How many rows hold each text, and the number of the first of them, from 0.
    are_more : bool
        Whether there are more texts than are counted.
    """

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}
        self.first_rows: dict[Any, int] = {}
        self.are_more = False

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def count(self) -> str:
        """How many different texts there are."""
        return f"more than {MOST_TEXTS:,}" if self.are_more else f"{len(self):,}"

    def add(self, values: Any, block: Block, keep: NDArray[np.bool_]) -> None:
        """Count the texts of some rows."""
        distinct, inverse = factorize(values, "a column")
        rows = np.flatnonzero(keep)
        codes = inverse[rows]
        found = np.bincount(codes, minlength=len(distinct)).tolist()
        first = np.zeros(len(distinct), dtype=np.int64)
        first[codes[::-1]] = rows[::-1]  # of several rows with a code, the first one stays
        for text, count, row in zip(distinct, found, first.tolist(), strict=True):
            if not count or text is None or text != text:  # missing
                continue
            if text not in self.counts and len(self.counts) == MOST_TEXTS:
                self.are_more = True
                continue
            self.counts[text] = self.counts.get(text, 0) + count
            self.first_rows.setdefault(text, block.first_row + row)

    def strange(self) -> tuple[Any, int, int] | None:
        """The first text among what is otherwise numbers, its row, and how many rows have one.

        None if these are just texts, or just numbers.
        """
        strange = find_strange(self.counts)
        if not strange:
            return None
        first = min(strange, key=lambda text: self.first_rows[text])
        return first, self.first_rows[first], sum(self.counts[text] for text in strange)


class Numbers:
    """Different numbers or times of a column, as far as they are few."""

    def __init__(self) -> None:
        self._values: set[Any] = set()

    def __len__(self) -> int:
        return len(self._values)

    @property
    def are_few(self) -> bool:
        """Whether all of them were counted."""
        return len(self) <= MOST_NUMBERS

    def add(self, values: Any, keep: NDArray[np.bool_]) -> None:
        """Count the numbers of some rows; missing ones do not count."""
        import pandas

        # as a rule the first rows tell that there are many, and the others need no look
        for part in (slice(None, FIRST_ROWS), slice(FIRST_ROWS, None)):
            if self.are_few:
                found = pandas.unique(values[part][keep[part]])
                found = found[~pandas.isna(found)]
                self._values.update(found[: MOST_NUMBERS + 1].tolist())
