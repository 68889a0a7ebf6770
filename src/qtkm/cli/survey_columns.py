"""What a first look finds in a column: texts, gaps in its numbers, times, labels."""

from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.sources import Block
from ..data.sources.kinds import SPANS, TIMES, kind_of_values
from ..estimators.categories import factorize
from .gaps import Gaps, place
from .task import find_strange, look_like_times, task_of_numbers

#: different texts of a column, or labels, that are counted: of more, only that they are more
MOST_TEXTS = 1 << 17


class Texts:
    """Texts of a column and how many rows hold each, as far as there are not too many."""

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}
        self.are_more = False

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def count(self) -> str:
        """How many different texts there are."""
        return f"more than {MOST_TEXTS:,}" if self.are_more else f"{len(self):,}"

    def add(self, values: Any, keep: NDArray[np.bool_]) -> None:
        """Count the texts of some rows."""
        distinct, inverse = factorize(values, "a column")
        found = np.bincount(inverse[keep], minlength=len(distinct)).tolist()
        for text, count in zip(distinct, found, strict=True):
            if count and text is not None:
                if text not in self.counts and len(self.counts) == MOST_TEXTS:
                    self.are_more = True
                    continue
                self.counts[text] = self.counts.get(text, 0) + count


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
    gaps : Gaps
    """

    def __init__(self, name: str):
        self.name, self.texts, self.gaps = name, Texts(), Gaps()
        self.is_text = self.is_time = False

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
        if kind_of_values(values) in (TIMES, SPANS):
            self.is_time = True
        elif not isinstance(values, np.ndarray) or values.dtype.kind == "b":
            self.is_text = True
            self.texts.add(values, keep)
        else:
            self.gaps.add(values, block, keep, several)

    @property
    def has_gaps(self) -> bool:
        """Whether numbers are missing or infinite; gaps of a column of text are a category."""
        gaps = self.gaps
        return bool(gaps.missing or gaps.infinite) and (gaps.among_numbers or not self.is_text)

    def problem(self, n_rows: int) -> str | None:
        """Why the column cannot be fitted to, with what to try; None if it can.

        Parameters
        ----------
        n_rows : int
            Rows that count, in all.
        """
        what, name = f"column {self.name!r}", quote(self.name)
        if self.is_time or look_like_times(self.texts.counts):
            return (
                f"{what} holds dates or times; leave it out (--drop {name}), give what may matter "
                "of it as numbers, such as the hour or the weekday, or take its values for "
                f"categories (--category {name})"
            )
        rest = f"leave the column out (--drop {name})"
        as_categories = f"or take its values for categories (--category {name})"
        if self.has_gaps and self.gaps.missing == n_rows:
            return f"{what} is empty in all {n_rows:,} rows; {rest}"
        if self.has_gaps:
            do = "fill them in" if self.gaps.missing else "correct them"
            return f"{what} has {self.gaps.tell(n_rows)}; {do}, leave out these rows, " + (
                f"{rest}, {as_categories}" if not self.gaps.infinite else f"or {rest}"
            )
        strange = find_strange(self.texts.counts)
        if strange is not None:
            return f"{_mixed(what, strange, n_rows)}, {rest}, {as_categories}"
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
        strange = find_strange(self.texts.counts)
        if strange is not None:
            remedy = "or say --task classification if these are classes"
            return f"{_mixed(what, strange, n_rows)}, {remedy}"
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


def _mixed(what: str, strange: tuple[Any, int], n_rows: int) -> str:
    text, count = strange
    return (
        f"{what} has text among its numbers: {text!r:.40} and the like in {count:,} of {n_rows:,} "
        "rows; correct them"
    )
