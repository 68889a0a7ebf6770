"""What a first look finds in a column: texts, gaps in its numbers, times, labels."""

from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.sources import Block
from ..data.sources.kinds import SPANS, TIMES, kind_of_values
from ..estimators.columns import factorize
from .distinct import MOST_NUMBERS, MOST_TEXTS, Numbers, Texts
from .gaps import Gaps, place
from .task import look_like_times, task_of_numbers

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
        Whether some of it is text or truth values, or times by their type.
    texts : Texts
    numbers : Numbers
        Times as well.
    gaps : Gaps
    """

    def __init__(self, name: str):
        self.name, self.texts, self.numbers, self.gaps = name, Texts(), Numbers(), Gaps()
        self.is_text = self.is_time = self.is_several = False

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
        elif not isinstance(values, np.ndarray) or values.dtype.kind == "b":
            self.is_text = True
            self.texts.add(values, block, keep)
        else:
            self.numbers.add(values, keep)
            self.gaps.add(values, block, keep, several)

    @property
    def has_gaps(self) -> bool:
        """Whether numbers are missing or infinite; gaps of a column of text are a category."""
        gaps = self.gaps
        return bool(gaps.missing or gaps.infinite) and (gaps.among_numbers or not self.is_text)

    def is_constant(self, n_rows: int) -> bool:
        """Whether all rows hold the same."""
        if not self.is_text:
            return len(self.numbers) == 1
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
        if self.is_time or look_like_times(self.texts.counts):
            numbers = "give what may matter of it as numbers, such as the hour or the weekday"
            do = _either(f"leave it out (--drop {name})", numbers, *others)
            return f"{what} holds dates or times; {do}"
        if self.has_gaps and self.gaps.missing == n_rows:
            return f"{what} is empty in all {n_rows:,} rows; {rest[0]}"
        if self.has_gaps:
            first = "fill them in" if self.gaps.missing else "correct them"
            rest = rest[:1] if self.gaps.infinite else rest
            do = _either(first, "leave out these rows", *rest)
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
