"""First pass over a table: checks the columns, finds the task and collects remarks."""

import re
from bisect import bisect_right
from functools import cached_property
from shlex import quote
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from ..data import prefetched
from ..data.sources import Block, Source, is_there, take_rows
from ..estimators.columns import NumberSummary
from ..estimators.values import look_like_times
from ..estimators.wording import readable
from ..estimators.working import watched
from .options import Job, TableError

#: most distinct texts or labels, and most distinct numbers or times, to count
MOST_TEXTS, MOST_NUMBERS = 1 << 17, 100
#: text in a column is an error if at least this fraction of its values are numbers
MOSTLY = 0.9
#: up to the first number of categories there is no remark, beyond the second there always is
FEW_CATEGORIES, MANY_CATEGORIES = 10, 1000
#: with fewer rows per category, there is a remark
ROWS_PER_CATEGORY = 20
#: from this many classes on, a remark warns that the fit takes long
MANY_CLASSES = 100
#: minimum number of rows for the remark that a column numbers the rows
FEWEST_RUNNING = 20
#: rows without a target to list
FIRST_ROWS = 3
#: numbers with a unit or thousands separators, such as 1,250.00, €3.20, 12 % and 3,5
ALMOST_NUMBER = re.compile(r"\s*[$€£¥]?\s*[+-]?\d{1,3}([ ,.']?\d{3})*([.,]\d+)?\s*[$€£¥%]?\s*")
#: a target farther away than this many interquartile ranges gets a remark
WILD = 100.0


class Survey:
    """Kinds of the columns, their problems, and the task that fits the target.

    Raises a TableError that lists everything that prevents a fit, such as infinite numbers.
    """

    def __init__(self, job: Job, source: Source, name: str):
        self.job, taken = job, {*job.needed, *job.drop}
        self.features = [column for column in source.names if column not in taken]
        if not self.features:
            raise ValueError(f"{name} has no columns left to predict {job.target!r} from")
        self.columns = {n: ColumnSurvey(n, n in job.category) for n in self.features}
        self.target = TargetSurvey(job)
        weights = [] if job.weight is None else [WeightSurvey(job.weight)]
        surveys = [*self.columns.values(), self.target, *weights]
        self.n_rows = self.n_total = 0
        left_out: list[int] = []
        starts: list[int] = []
        wheres: list[str] = []
        blocks = prefetched(source.blocks(list(dict.fromkeys([*self.features, *job.needed]))))
        for block in watched(blocks, source.expected_rows(), "check", job.shown, leave=False):
            starts.append(block.first_row + 1)
            wheres.append(f" of the table, in {block.where}" * (len(source.paths) > 1))
            keep = complete(block, job.needed)
            left_out += (np.flatnonzero(~keep)[:FIRST_ROWS] + starts[-1]).tolist()
            rows, kept = np.flatnonzero(keep) + starts[-1], take_rows(block, keep)
            for survey in surveys:
                survey.add(kept.columns[survey.name], rows)
            self.n_rows += kept.n_rows
            self.n_total += block.n_rows
        if self.n_rows < 2:
            count = f"{self.n_rows} row{'s' * (self.n_rows != 1)} with a target"
            raise ValueError(f"{name} has {count}; at least 2 are needed")
        self._on_rows = self._remarks_on_rows(left_out[:FIRST_ROWS])

        def place(row: int) -> str:
            return f"row {row:,}{wheres[bisect_right(starts, row) - 1]}"

        found = {s.name: s.problem(self.n_rows, place) for s in surveys}
        if problems := [text for text in found.values() if text is not None]:
            wrong = [f"--drop {quote(n)}" for n in self.columns if found[n] is not None]
            hint = f"to drop all of these columns: {' '.join(wrong)}"
            raise TableError(name, problems, [*self._on_rows, *[hint] * (len(wrong) > 1)])
        self.task = self.target.find_task(self.n_rows)
        #: first row of each label, from 0
        self.first_rows = self.target.seen["row"].to_numpy() - 1

    @property
    def categories(self) -> list[str]:
        """Categorical columns: text, and those given by --category."""
        return [name for name in self.features if self.columns[name].is_category]

    def remarks(self) -> list[str]:
        """Return remarks to show before a fit."""
        found, loss = list(self._on_rows), self.job.loss
        if len(self.features) > 1 and _is_numeric(self.features).all():
            names = ", ".join(map(repr, self.features[:3]))
            found.append(f"column names {names}, … look like values; does the file have a header?")
        most = min(MANY_CATEGORIES, max(FEW_CATEGORIES, self.n_rows / ROWS_PER_CATEGORY))
        for name, column in self.columns.items():
            drop, almost = f"--drop {quote(name)}", column.find_almost_number()
            if column.is_category and not column.is_given and almost is not None:
                found.append(f"column {name!r} holds text that is almost a number, such as "
                             f"{almost!r:.40}, and is read as {column.count} categories; write "
                             "plain numbers such as 1250.5 to use it as numeric")  # fmt: skip
            elif column.is_category and len(column.seen) > most:
                found.append(f"column {name!r} has {column.count} categories in {self.n_rows:,} "
                             "rows; rare ones are predicted close to the average. If they identify "
                             f"rows, drop the column: {drop}")  # fmt: skip
            elif column.is_running and not column.is_category and self.n_rows >= FEWEST_RUNNING:
                found.append(f"column {name!r} numbers the rows, and new rows will be outside its "
                             f"range; unless order matters, drop it: {drop}")  # fmt: skip
        target, count = self.target, len(self.target.seen)
        is_few = 2 < count <= FEW_CATEGORIES and count <= self.n_rows / ROWS_PER_CATEGORY
        is_open = self.task == "regression" and self.job.task == "auto" and loss is None
        if is_open and target.is_whole and is_few:
            found.append(f"the target {target.name!r} has {count} distinct integers, which are "
                         "predicted as numbers; for classes, use --task classification, and for "
                         "counts --loss poisson")  # fmt: skip
        if self.task == "regression" and loss in (None, "squared"):
            found += target.remark_on_wild_values()
        if self.task == "classification" and count >= MANY_CLASSES:
            kind = "numbers" if target.are_numbers else "texts"
            more = ". Use --task regression to predict numbers" * target.are_numbers
            found.append(f"the {target.count} distinct {kind} of the target {target.name!r} are "
                         f"read as classes; fitting this many takes long{more}")  # fmt: skip
        return found

    def _remarks_on_rows(self, first: list[int]) -> list[str]:
        count, lacks = self.n_total - self.n_rows, " or no ".join(map(repr, self.job.needed))
        rows = ", ".join(f"{row:,}" for row in first) + ", …" * (count > len(first))
        is_one = count == 1
        verbs = f"{'has' if is_one else 'have'} no {lacks} and {'is' if is_one else 'are'}"
        what = f"{verbs} skipped: row{'s' * (not is_one)} {rows}"
        return [f"{count:,} of {self.n_total:,} rows {what}"] if count else []


def complete(block: Block, needed: list[str]) -> NDArray[np.bool_]:
    """Return a mask of the rows that have values in all `needed` columns."""
    return np.logical_and.reduce([is_there(block.columns[name]) for name in needed])


def _is_numeric(texts: Any) -> NDArray[np.bool_]:
    values = pandas.Series(list(texts), dtype=object)
    return pandas.to_numeric(values, errors="coerce").notna().to_numpy()


class ColumnSurvey:
    """Kind and values of a column, and whether it numbers the rows.

    `seen` has the number of rows and the first row of each value, until there are too many values.
    """

    #: most distinct values to count, and the least value allowed
    most, least = MOST_NUMBERS, -np.inf

    def __init__(self, name: str, is_given: bool = False):
        self.name, self.is_given = name, is_given
        self.is_text = self.is_time = self.are_more = False
        self.are_integers, self._shifts = True, set[int]()
        self.seen = pandas.DataFrame({"count": [], "row": []}, dtype=np.int64)
        self.n_wrong = self.first_wrong = 0

    def add(self, values: Any, rows: NDArray[np.int64]) -> None:
        """Add the values of some rows, which are given by their numbers, from 1."""
        kind = values.dtype.kind if isinstance(values, np.ndarray) else "O"
        self.is_text |= kind == "O"
        self.is_time |= kind in "mM"
        if kind == "O" or self.is_given:
            self.most = MOST_TEXTS
        # the first rows usually show that there are too many values
        for part in (slice(None, 1000), slice(1000, None)):
            if not self.are_more:
                self._count(values[part], rows[part])
        self.are_integers &= kind in "iu"
        if self.are_integers and len(rows):
            shift = values.astype(np.int64) - rows
            self._shifts |= {int(shift.min()), int(shift.max())}
        wrong = rows[np.isinf(values) | (values < self.least)] if kind in "iuf" else rows[:0]
        if len(wrong):
            self.n_wrong += len(wrong)
            self.first_wrong = self.first_wrong or int(wrong[0])

    def _count(self, values: Any, rows: NDArray[np.int64]) -> None:
        by_value = pandas.DataFrame({"value": values, "row": rows}).groupby(
            "value", observed=True, sort=False
        )
        found = by_value["row"].agg(count="size", row="min")
        found.index = found.index.astype(object)
        if len(self.seen):
            both = pandas.concat([self.seen, found]).groupby(level=0, sort=False)
            found = both.agg({"count": "sum", "row": "min"})
        self.are_more = len(found) > self.most
        self.seen = found[: self.most]

    @property
    def is_running(self) -> bool:
        """Whether the column holds integers that follow each other in steps of 1."""
        return self.are_integers and len(self._shifts) == 1

    @property
    def count(self) -> str:
        """Number of distinct values."""
        return f"more than {self.most:,}" if self.are_more else f"{len(self.seen):,}"

    @cached_property
    def is_category(self) -> bool:
        """Whether the column is categorical: given as such, or text that is not all numbers."""
        is_known = len(self.seen) > 0 and not self.are_more
        is_numeric = is_known and bool(_is_numeric(self.seen.index).all())
        return self.is_given or (self.is_text and not is_numeric)

    def find_almost_number(self) -> str | None:
        """Return the first text if nearly all are numbers with a unit or separators, else None."""
        texts = [text for text in self.seen.index if isinstance(text, str)]
        count = sum(ALMOST_NUMBER.fullmatch(text) is not None for text in texts)
        return texts[0] if texts and count >= MOSTLY * len(texts) else None

    def problem(self, n_rows: int, place: Any) -> str | None:
        """Return why the column cannot be used and what to try; None if it can be used."""
        name, problem = quote(self.name), None
        ways = f"or use --category {name} or --drop {name}"
        if self.is_text and look_like_times(self.seen.index):
            problem = (f"holds dates or times as text; write them as 2013-05-20 or "
                       f"2013-05-20 17:05, {ways}")  # fmt: skip
        elif self.n_wrong:
            infinite = f"has infinite values in {self.wrong_rows(n_rows, place)}"
            problem = f"{infinite}; correct them, remove these rows, or use --drop {name}"
        elif text := self.text_among_numbers(n_rows, place):
            problem = f"{text}; correct them, {ways}"
        return None if problem is None or self.is_given else f"column {self.name!r} {problem}"

    def wrong_rows(self, n_rows: int, place: Any) -> str:
        """Return the number of rows with wrong values, and the first of them."""
        return f"{self.n_wrong:,} of {n_rows:,} rows, first in {place(self.first_wrong)}"

    def text_among_numbers(self, n_rows: int, place: Any, mostly: float = MOSTLY) -> str | None:
        """Return the first text, its row, and the number of such rows if most values are numbers.

        None if no text is there, or fewer than a fraction `mostly` of the values are numbers.
        """
        strange = self.seen[~_is_numeric(self.seen.index)] if self.is_text else self.seen[:0]
        if not len(strange) or len(strange) > (1 - mostly) * len(self.seen):
            return None
        text, count = strange["row"].idxmin(), strange["count"].sum()
        like = "" if count == 1 else f", and text in {count:,} of {n_rows:,} rows"
        among = " among its numbers" * (len(strange) < len(self.seen))
        return f"has text{among}: {text!r:.40} in {place(strange['row'].min())}{like}"


class TargetSurvey(ColumnSurvey):
    """Survey of the target, whose values may be labels."""

    most = MOST_TEXTS
    is_whole = True

    def __init__(self, job: Job):
        super().__init__(job.target)
        self.task = job.task
        self._summary = NumberSummary(None, 0)

    def add(self, values: Any, rows: NDArray[np.int64]) -> None:
        super().add(values, rows)
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and len(values):
            self.is_whole = self.is_whole and bool((values == np.round(values)).all())
            self._summary.add(values)

    def remark_on_wild_values(self) -> list[str]:
        """Return a remark if the target has values very far from its interquartile range."""
        seen = self._summary
        if not len(seen.sample):
            return []
        low, high = np.quantile(seen.sample, [0.25, 0.75])
        far = max(seen.low, seen.high, key=lambda end: abs(end / 2 - low / 2))
        if abs(far / 2 - low / 2) <= WILD * (high / 2 - low / 2) or low == high:
            return []
        return [f"the target {self.name!r} has extreme values up to {readable(far)}, while half of "
                f"its values are between {readable(low)} and {readable(high)}; they distort the "
                "fit. Remove them if they are errors, or use --loss huber"]  # fmt: skip

    @property
    def are_numbers(self) -> bool:
        """Whether the target could be predicted as a number."""
        return not any(isinstance(label, str | bool) for label in self.seen.index)

    def problem(self, n_rows: int, place: Any) -> str | None:
        is_class, is_open = self.task == "classification", self.task == "auto"
        mixed = None
        if not is_class:
            mixed = self.text_among_numbers(n_rows, place, MOSTLY if is_open else 0.0)
        if self.is_time or (is_open and self.is_text and look_like_times(self.seen.index)):
            problem = "holds dates or times; convert it to numbers, such as hours since a date"
        elif self.n_wrong:
            where = self.wrong_rows(n_rows, place)
            problem = f"has infinite values in {where}; correct them, or remove these rows"
        elif (is_class or (is_open and self.is_text)) and len(self.seen) == 1:
            text = f"{self.seen.index[0]!r:.40}"
            problem = f"is {text} in all rows; at least two classes are needed"
        elif is_class and not self.is_whole:
            problem = ("has non-integer values, which cannot be classes; remove --task "
                       "classification, or write the classes as text or integers")  # fmt: skip
        elif mixed is not None:
            problem = f"{mixed}; correct them, or use --task classification if these are classes"
        else:
            return None
        return f"the target {self.name!r} {problem}"

    def find_task(self, n_rows: int) -> str:
        """Return the task given by --task, or the one that fits the target."""
        # ratings and counts are integers too, so numbers are classes only if there are two
        is_pair = self.is_whole and len(self.seen) == 2 <= n_rows / 20
        own = "classification" if self.is_text or is_pair else "regression"
        return own if self.task == "auto" else str(self.task)


class WeightSurvey(ColumnSurvey):
    """Survey of a column of sample weights."""

    least = 0.0

    def problem(self, n_rows: int, place: Any) -> str | None:
        what = f"the weights in column {self.name!r} must be"
        if self.is_text or self.is_time:
            return f"{what} numbers, not text or times such as {str(self.seen.index[0])!r:.40}"
        if not self.n_wrong:
            return None
        return f"{what} 0 or more, and finite, but are not in {self.wrong_rows(n_rows, place)}"
