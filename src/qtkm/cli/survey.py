"""A first look at all rows of a source, for what a fit must know before it begins."""

from collections.abc import Sequence
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import prefetched
from ..data.sources import Block, Source
from ..data.sources.kinds import MISSING, SPANS, TIMES, kind_of_values
from ..estimators.categories import factorize
from .output import watched
from .reading import refuse_gaps, remedy_for_mixed
from .splitting import HoldOut
from .task import (
    MOST_CATEGORIES,
    REMEDY_FOR_TARGET,
    holds_times,
    look_like_times,
    refuse_mixed_values,
    task_of_numbers,
)

#: different texts of a column, or labels, that are counted: of more, only that they are more
MOST_TEXTS = 1 << 17


class Survey:
    """Kinds of the columns, and the task that the target asks for.

    Parameters
    ----------
    features : sequence of str
        Columns to predict from.
    category : sequence of str
        Those of them to be taken for categories whatever they hold.
    hold_out : HoldOut
        Which rows count; learns the first row of every label.

    Attributes
    ----------
    n_rows : int
        Rows that have a target.
    """

    def __init__(self, features: Sequence[str], category: Sequence[str], hold_out: HoldOut):
        self.features, self.category, self.hold_out = list(features), set(category), hold_out
        self.texts = {name: Texts() for name in self.features if name not in self.category}
        self.target = TargetSurvey(hold_out.needed[0])
        self.n_rows = 0
        self._gaps: dict[str, Block] = {}

    def look(self, source: Source, shown: bool) -> None:
        """Look at all rows of a source.

        Raises
        ------
        ValueError
            For times, for missing numbers, and for text among numbers.
        """
        columns = list(dict.fromkeys([*self.features, *self.hold_out.needed]))
        blocks = watched(prefetched(source.blocks(columns)), source.expected_rows(), "check", shown)
        for block in blocks:
            self._add(block)
        for name, block in self._gaps.items():
            if not self.texts[name].is_text:
                self._refuse_gaps(name, block)
        for name, texts in self.texts.items():
            if look_like_times(texts.counts):
                raise holds_times(name)
            refuse_mixed_values(
                name, texts.counts, self.n_rows, "column", remedy_for_mixed(name)
            )  # fmt: skip

    def _add(self, block: Block) -> None:
        keep = self.hold_out.complete(block)
        self.n_rows += int(keep.sum())
        self.target.add(block, keep)
        for name, texts in self.texts.items():
            values = block.columns[name]
            kind = kind_of_values(values)
            if kind in (TIMES, SPANS):
                raise holds_times(name)
            if not isinstance(values, np.ndarray) or values.dtype.kind == "b":
                texts.add(values, keep)
            elif kind == MISSING:
                # perhaps text: what is missing everywhere in a block has no kind of its own
                self._gaps.setdefault(name, block)
            else:
                self._refuse_gaps(name, block)

    def _refuse_gaps(self, name: str, block: Block) -> None:
        remedy = (
            f"these rows or the column, --drop {quote(name)}; or take its values for categories, "
            f"--category {quote(name)}"
        )
        keep = self.hold_out.complete(block)
        refuse_gaps(block.columns[name], name, block, remedy, keep)

    @property
    def categories(self) -> list[str]:
        """Columns of categories: of text or truth values, and those that were named."""
        return [
            name for name in self.features
            if name in self.category or self.texts[name].is_text
        ]  # fmt: skip

    def names_of_rows(self) -> list[tuple[str, str]]:
        """Columns of text with so many values that they tell rows apart, and how many."""
        found = [(name, texts) for name, texts in self.texts.items() if texts.is_text]
        return [
            (name, f"more than {MOST_TEXTS:,}" if texts.are_more else f"{len(texts.counts):,}")
            for name, texts in found
            if texts.are_more or len(texts.counts) > MOST_CATEGORIES * self.n_rows
        ]

    def task(self) -> str:
        """Task that the target asks for."""
        return self.target.task(self.n_rows)

    def train_on_every_label(self) -> None:
        """See to it that every label is trained on, so that all are known when tested."""
        self.hold_out.always = set(self.target.first_rows.values())


class Texts:
    """Texts of a column and how many rows hold each, as far as there are not too many."""

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}
        self.is_text = self.are_more = False

    def add(self, values: Any, keep: NDArray[np.bool_]) -> None:
        """Count the texts of some rows."""
        self.is_text = True
        distinct, inverse = factorize(values, "a column")
        found = np.bincount(inverse[keep], minlength=len(distinct)).tolist()
        for text, count in zip(distinct, found, strict=True):
            if count and text is not None:
                if text not in self.counts and len(self.counts) == MOST_TEXTS:
                    self.are_more = True
                    continue
                self.counts[text] = self.counts.get(text, 0) + count


class TargetSurvey:
    """What a target holds.

    Parameters
    ----------
    name : str
        Of its column.

    Attributes
    ----------
    first_rows : dict
        Labels, or different numbers, with the first row that holds each; not of too many.
    """

    def __init__(self, name: str):
        self.name, self.texts = name, Texts()
        self.first_rows: dict[Any, int] = {}
        self.is_whole = True

    def add(self, block: Block, keep: NDArray[np.bool_]) -> None:
        """Look at the targets of some rows."""
        values = block.columns[self.name]
        if kind_of_values(values) in (TIMES, SPANS):
            raise ValueError(
                f"the target {self.name!r} holds times; give what is to be predicted as numbers, "
                "such as hours since a date"
            )
        if not isinstance(values, np.ndarray) or values.dtype.kind == "b":
            self.texts.add(values, keep)
        elif values.dtype.kind == "f":
            refuse_gaps(values, self.name, block, "these rows", keep)
            kept = values[keep]
            self.is_whole = self.is_whole and bool((kept == np.round(kept)).all())
        if len(self.first_rows) <= MOST_TEXTS:
            self._note_first(values, block.first_row, np.flatnonzero(keep))

    def _note_first(self, values: Any, first_row: int, rows: NDArray[np.int64]) -> None:
        distinct, inverse = factorize(values, "the target")
        found, first = np.unique(inverse[rows], return_index=True)
        for k, row in zip(found.tolist(), rows[first].tolist(), strict=True):
            self.first_rows.setdefault(distinct[k], first_row + row)

    def task(self, n_rows: int) -> str:
        """Task that the target asks for."""
        if self.texts.is_text:
            counts = self.texts.counts
            refuse_mixed_values(self.name, counts, n_rows, "the target", REMEDY_FOR_TARGET)
            return "classification"
        return task_of_numbers(len(self.first_rows), self.is_whole, n_rows)
