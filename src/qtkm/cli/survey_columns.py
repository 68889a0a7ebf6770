"""What a first look finds in a column: texts, gaps in its numbers, times, labels."""

from dataclasses import dataclass
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.sources import Block
from ..data.sources.conversion import SPANS, TIMES, kind_of_values
from ..data.sources.source import is_there
from ..estimators.columns import factorize
from ..estimators.values import look_like_times
from .task import are_numbers, find_strange, task_of_numbers

#: with more categories than this part of the rows, a column tells rows apart, not kinds of them
MOST_CATEGORIES = 0.5


class ColumnSurvey:
    """What a column holds.

    Parameters
    ----------
    name : str

    Attributes
    ----------
    is_text, is_time : bool
        Whether some of it is text, or times by their type.
    is_running : bool
        Whether it counts the rows.
    texts : Texts
    numbers : Numbers
        Times as well.
    gaps : Gaps
    """

    def __init__(self, name: str):
        self.name, self.texts, self.numbers, self.gaps = name, Texts(), Numbers(), Gaps()
        self.is_text = self.is_time = self.is_several = False
        self.is_running = True
        self._last: int | None = None

    def add(self, values: Any, block: Block, keep: NDArray[np.bool_], several: bool) -> None:
        """Look at the column in some rows.

        Parameters
        ----------
        values : array or Series
        block : Block
        keep : array of bool
            Rows that count.
        several : bool
            Whether the table has several files.
        """
        self.is_several = several
        if kind_of_values(values) in (TIMES, SPANS):
            self.is_time = True
            self.numbers.add(values, keep)
        elif not isinstance(values, np.ndarray):
            self.is_text = True
            self.texts.add(values, block, keep)
        else:
            self.numbers.add(values, keep)
            self.gaps.add(values, block, keep, several)
            self.is_running = self.is_running and self._goes_on(values)

    def _goes_on(self, values: NDArray) -> bool:
        """Return True if whole numbers count on by 1 from those of the last rows."""
        if values.dtype.kind not in "iu" or not len(values):
            return False
        last, self._last = self._last, int(values[-1])
        follows = last is None or int(values[0]) == last + 1
        return follows and bool((np.diff(values.astype(np.int64)) == 1).all())

    @property
    def is_category(self) -> bool:
        """Whether it is taken for categories: text that is more than numbers."""
        return self.is_text and not self.is_numeric_text

    @property
    def is_numeric_text(self) -> bool:
        """Whether all of its texts are numbers."""
        return bool(len(self.texts)) and not self.texts.are_more and are_numbers(self.texts.counts)

    def is_constant(self, n_rows: int) -> bool:
        """Whether all rows hold the same."""
        if not self.is_text:
            return len(self.numbers) + bool(self.gaps.missing) <= 1
        # where only some rows have a text, that it is missing in others tells something
        return len(self.texts) <= 1 and sum(self.texts.counts.values()) in (0, n_rows)

    def may_be_categories(self, n_rows: int) -> bool:
        """Whether the values are so few that they can be taken for categories."""
        count = len(self.texts) + len(self.numbers)
        return count <= min(MOST_NUMBERS, MOST_CATEGORIES * n_rows)

    def problem(self, n_rows: int) -> str | None:
        """Why the column cannot be fitted to, with what to try; None if it can.

        Parameters
        ----------
        n_rows : int
            Rows that count, in all.
        """
        what, name = f"column {self.name!r}", quote(self.name)
        as_categories = f"take its values for categories (--category {name})"
        others = [as_categories] if self.may_be_categories(n_rows) else []
        rest = [f"leave the column out (--drop {name})", *others]
        if look_like_times(self.texts.counts):
            do = _either("write them as 2013-05-20 or 2013-05-20 17:05", *rest)
            return f"{what} holds dates or times as text; {do}"
        if self.gaps.infinite:
            do = _either("correct them", "leave out these rows", rest[0])
            return f"{what} has {self.gaps.tell(n_rows)}; {do}"
        mixed = self.text_among_numbers(n_rows)
        return None if mixed is None else f"{what} has {mixed}; {_either('correct them', *rest)}"

    def text_among_numbers(self, n_rows: int) -> str | None:
        """Which text stands among numbers, where, and in how many rows; None if none does."""
        strange = self.texts.strange()
        if strange is None:
            return None
        text, row, count = strange
        where = f"row {row + 1:,}{' of the table' * self.is_several}"
        like = "" if count == 1 else f" and the like in {count:,} of {n_rows:,} rows"
        return f"text among its numbers: {text!r:.40} in {where}{like}"


class CategorySurvey(ColumnSurvey):
    """What a column holds that is taken for categories because the user says so."""

    def __init__(self, name: str):
        super().__init__(name)
        self.is_text = True

    def add(self, values: Any, block: Block, keep: NDArray[np.bool_], several: bool) -> None:
        self.texts.add(values, block, keep)

    @property
    def is_category(self) -> bool:
        return True

    def problem(self, n_rows: int) -> str | None:
        return None


class TargetSurvey(ColumnSurvey):
    """What a target holds.

    Attributes
    ----------
    first_rows : dict
        Labels, or different numbers, with the first row that holds each; not of too many.
    """

    def __init__(self, name: str):
        super().__init__(name)
        self.first_rows: dict[Any, int] = {}
        self.is_whole = True

    def add(self, values: Any, block: Block, keep: NDArray[np.bool_], several: bool) -> None:
        super().add(values, block, keep, several)
        if self.is_time:
            return
        if isinstance(values, np.ndarray) and values.dtype.kind == "f":
            kept = values[keep]
            self.is_whole = self.is_whole and bool((kept == np.round(kept)).all())
        if len(self.first_rows) <= MOST_TEXTS:
            distinct, inverse = factorize(values, "the target")
            rows = np.flatnonzero(keep)
            found, first = np.unique(inverse[rows], return_index=True)
            for k, row in zip(found.tolist(), rows[first].tolist(), strict=True):
                self.first_rows.setdefault(distinct[k], block.first_row + row)

    @property
    def are_numbers(self) -> bool:
        """Whether it could be predicted as a number."""
        return not any(isinstance(label, str | bool) for label in self.first_rows)

    def problem(self, n_rows: int, task: str = "auto") -> str | None:
        """Why the target cannot be predicted, with what to try; None if it can.

        Parameters
        ----------
        n_rows : int
            Rows that have a target.
        task : {"auto", "regression", "classification"}
            What the user says.
        """
        what = f"the target {self.name!r}"
        if self.is_time or (task == "auto" and look_like_times(self.texts.counts)):
            return (
                f"{what} holds dates or times; give what is to be predicted as numbers, such as "
                "hours since a date"
            )
        if self.gaps.infinite:
            return f"{what} has {self.gaps.tell(n_rows)}; correct them, or leave out these rows"
        is_class = task == "classification" or (task == "auto" and self.is_text)
        if is_class and len(self.first_rows) == 1:
            label = next(iter(self.first_rows))
            return f"{what} is {label!r:.40} in all rows; at least two classes are needed"
        if task == "classification" and not self.is_whole:
            return (
                f"{what} has fractions, which are no classes; leave out --task classification, or "
                "write the classes as text or whole numbers"
            )
        if not self.is_text or task == "classification":
            return None
        mixed = self.text_among_numbers(n_rows)
        if mixed is not None:
            remedy = "correct them, or say --task classification if these are classes"
            return f"{what} has {mixed}; {remedy}"
        if task == "regression" and not self.are_numbers:
            text = next(iter(self.texts.counts))
            return (
                f"{what} holds text such as {text!r:.40}, which cannot be predicted as a number; "
                "write it as numbers, or say --task classification"
            )
        return None

    def task(self, n_rows: int) -> str:
        """Task that the target asks for."""
        if self.is_text:
            return "classification"
        return task_of_numbers(len(self.first_rows), self.is_whole, n_rows)


class WeightSurvey(ColumnSurvey):
    """What a column of weights holds."""

    def __init__(self, name: str):
        super().__init__(name)
        self.negative, self.first, self.are_zero = 0, "", True

    def add(self, values: Any, block: Block, keep: NDArray[np.bool_], several: bool) -> None:
        if getattr(values.dtype, "kind", "O") == "b":
            values = values.astype(float)
        super().add(values, block, keep, several)
        if self.is_text or self.is_time:
            return
        self.are_zero &= not values[keep].any()
        negative = (values < 0) & keep
        self.negative += int(negative.sum())
        if negative.any() and not self.first:
            self.first = place(block, int(np.argmax(negative)), several)

    def problem(self, n_rows: int) -> str | None:
        what = f"the weights in column {self.name!r}"
        if self.is_text or self.is_time:
            example = f" such as {next(iter(self.texts.counts))!r:.40}" if len(self.texts) else ""
            return f"{what} must be numbers, not text or times{example}"
        if self.gaps.infinite:
            return f"{what} have {self.gaps.tell(n_rows)}; correct them, or leave out these rows"
        if self.negative:
            return (
                f"{what} are negative in {self.negative:,} of {n_rows:,} rows, first in "
                f"{self.first}; they must be 0 or more"
            )
        return f"{what} are zero in all rows; some must be more" if self.are_zero else None


def _either(*ways: str) -> str:
    return f"{', '.join(ways[:-1])}, or {ways[-1]}"


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
        """Return the first text in a mostly numeric column, its row, and the number of such rows.

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


@dataclass
class Gaps:
    """Numbers of a column that are missing or infinite.

    Attributes
    ----------
    missing, infinite : int
        How many.
    first : str
        Where the first one stands.
    """

    missing: int = 0
    infinite: int = 0
    first: str = ""

    def add(self, values: Any, block: Block, keep: Any = True, several: bool = False) -> None:
        """Look at the numbers of some rows.

        Parameters
        ----------
        values : array
        block : Block
        keep : array of bool
            Rows that count.
        several : bool
            Whether the table has several files, so that its rows are best told by them.
        """
        if values.dtype.kind != "f":
            return
        wrong = ~np.isfinite(values) & keep
        if not wrong.any():
            return
        missing = int((~is_there(values) & keep).sum())
        self.missing += missing
        self.infinite += int(wrong.sum()) - missing
        self.first = self.first or place(block, int(np.argmax(wrong)), several)

    def tell(self, n_rows: int) -> str:
        """How many there are, and where."""
        parts = []
        if self.missing:
            parts.append(f"no number in {self.missing:,} of {n_rows:,} rows")
        if self.infinite:
            parts.append(f"infinity in {self.infinite:,} of {n_rows:,} rows")
        return f"{' and '.join(parts)}, first in {self.first}"


def place(block: Block, row: int, several: bool) -> str:
    """Return the row number, counted from 1, and the file if there are several."""
    text = f"row {block.first_row + row + 1:,}"
    return f"{text} of the table, in {block.where}" if several else text
