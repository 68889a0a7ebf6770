"""First pass over a table: checks the columns, finds the task and collects remarks."""

import re
from shlex import quote
from typing import Any

import numpy as np
import pandas
from numpy.typing import NDArray

from ..data import prefetched
from ..data.sources import Block, Source, is_there
from ..data.sources.conversion import listed
from ..estimators.columns import NumberSummary, factorize
from ..estimators.values import look_like_times
from ..estimators.wording import readable
from .options import Job, TableError
from .output import watched

#: most distinct texts or labels, and most distinct numbers or times, to count
MOST_TEXTS, MOST_NUMBERS = 1 << 17, 100
#: with more categories than this fraction of the rows, a column identifies rows
MOST_CATEGORIES = 0.5
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

    def __init__(self, job: Job, source: Source, name: str, shown: bool):
        self.job = job
        taken = {*job.needed, *job.drop}
        self.features = [column for column in source.names if column not in taken]
        if not self.features:
            raise ValueError(f"{name} has no columns left to predict {job.target!r} from")
        several = len(source.paths) > 1
        self.columns = {n: ColumnSurvey(n, several, n in job.category) for n in self.features}
        self.target = TargetSurvey(job, several)
        self.weights = [] if job.weight is None else [WeightSurvey(job.weight, several)]
        self.n_rows = self.n_total = 0
        self._left_out: list[int] = []
        names = list(dict.fromkeys([*self.features, *job.needed]))
        blocks = prefetched(source.blocks(names))
        for block in watched(blocks, source.expected_rows(), "check", shown):
            keep = complete(block, job.needed)
            self.n_rows += int(keep.sum())
            self.n_total += block.n_rows
            first = np.flatnonzero(~keep)[: FIRST_ROWS - len(self._left_out)]
            self._left_out += (first + block.first_row + 1).tolist()
            for column in [*self.columns.values(), self.target, *self.weights]:
                column.add(block.columns[column.name], block, keep)
        if self.n_total == 0:
            raise ValueError(f"{name} has columns but no rows")
        if self.n_rows < 2:
            count = f"{self.n_rows} row{'s' * (self.n_rows != 1)} with a target"
            raise ValueError(f"{name} has {count}; at least 2 are needed")
        self._refuse(name)
        self.task = self.target.find_task(self.n_rows)
        self.first_rows = self.target.first_rows

    def _refuse(self, name: str) -> None:
        found = {n: c.problem(self.n_rows) for n, c in self.columns.items()}
        wrong = [n for n, text in found.items() if text is not None]
        own = [each.problem(self.n_rows) for each in (self.target, *self.weights)]
        problems = [text for text in (*found.values(), *own) if text is not None]
        if problems:
            hints = self._remarks_on_rows()
            if len(wrong) > 1:
                options = " ".join(f"--drop {quote(n)}" for n in wrong)
                hints.append(f"to drop all of these columns: {options}")
            raise TableError(name, problems, hints)

    @property
    def categories(self) -> list[str]:
        """Categorical columns: text, and those given by --category."""
        return [name for name in self.features if self.columns[name].is_category]

    def remarks(self, loss: str | None = None) -> list[str]:
        """Return remarks to show before a fit with `loss`, None for the default."""
        found = self._remarks_on_rows()
        constant = [n for n, column in self.columns.items() if column.is_constant(self.n_rows)]
        if len(constant) == 1:
            found.append(f"column {constant[0]!r} is constant and has no effect")
        elif constant:
            found.append(f"{len(constant)} columns are constant and have no effect: "
                         f"{listed(constant)}")  # fmt: skip
        if len(self.features) > 1 and _is_numeric(self.features).all():
            names = ", ".join(map(repr, self.features[:3]))
            found.append(f"column names {names}, … look like values; does the file have a header?")
        texts = [n for n, c in self.columns.items() if c.is_numeric_text and not c.is_category]
        if texts:
            found.append(f"numbers stored as text are read as numbers: {listed(texts)}; "
                         "use --category to treat them as categories")  # fmt: skip
        most = min(MANY_CATEGORIES, max(FEW_CATEGORIES, self.n_rows / ROWS_PER_CATEGORY))
        for name, column in self.columns.items():
            almost = None if column.is_given else column.find_almost_number()
            if column.is_category and almost is not None:
                found.append(f"column {name!r} holds text that is almost a number, such as "
                             f"{almost!r:.40}, and is read as {column.count} categories; write "
                             "plain numbers such as 1250.5 to use it as numeric")  # fmt: skip
            elif column.is_category and len(column.counts) > most:
                found.append(f"column {name!r} has {column.count} categories in {self.n_rows:,} "
                             "rows; rare ones are predicted close to the average. If they identify "
                             f"rows, drop the column: --drop {quote(name)}")  # fmt: skip
            if column.is_running and not column.is_category and self.n_rows >= FEWEST_RUNNING:
                found.append(f"column {name!r} numbers the rows, and new rows will be outside its "
                             "range; unless order matters, drop it: "
                             f"--drop {quote(name)}")  # fmt: skip
        target, count = self.target, len(self.first_rows)
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

    def _remarks_on_rows(self) -> list[str]:
        count = self.n_total - self.n_rows
        names = " or no ".join(map(repr, self.job.needed))
        rows = ", ".join(f"{row:,}" for row in self._left_out)
        verbs = f"have no {names} and are" if count > 1 else f"has no {names} and is"
        text = (
            f"{count:,} of {self.n_total:,} rows {verbs} skipped: "
            f"row{'s' * (count > 1)} {rows}{', …' * (count > FIRST_ROWS)}"
        )
        return [text] if count else []


def complete(block: Block, needed: list[str]) -> NDArray[np.bool_]:
    """Return a mask of the rows that have values in all `needed` columns."""
    return np.logical_and.reduce([is_there(block.columns[name]) for name in needed])


def _is_numeric(texts: Any) -> NDArray[np.bool_]:
    values = pandas.Series(list(texts), dtype=object)
    return pandas.to_numeric(values, errors="coerce").notna().to_numpy()


class ColumnSurvey:
    """Type and values of a column, and whether it numbers the rows.

    `counts` has the number of rows per value, until there are too many values (`are_more`).
    """

    most = MOST_NUMBERS

    def __init__(self, name: str, is_several: bool, is_given: bool = False):
        self.name, self.is_several, self.is_given = name, is_several, is_given
        self.is_text = self.is_time = self.are_more = False
        self.is_running = True
        self._last: int | None = None
        self.counts: dict[Any, int] = {}
        self.first_rows: dict[Any, int] = {}
        self.missing, self.infinite, self.first = 0, 0, ""

    def add(self, values: Any, block: Block, keep: NDArray[np.bool_]) -> None:
        """Update with the rows of a block selected by `keep`."""
        is_array = isinstance(values, np.ndarray)
        self.is_time |= is_array and values.dtype.kind in "mM"
        self.is_text |= not is_array
        if not is_array or self.is_given:
            self.most = MOST_TEXTS
        # the first rows usually show that there are too many values
        for part in (slice(None, 1000), slice(1000, None)):
            if not self.are_more:
                self._count(values[part], keep[part], block.first_row + (part.start or 0))
        self.is_running = self.is_running and is_array and self._counts_on(values)
        if is_array and values.dtype.kind == "f":
            wrong = ~np.isfinite(values) & keep
            if wrong.any():
                infinite = int(np.isinf(values[wrong]).sum())
                self.missing += int(wrong.sum()) - infinite
                self.infinite += infinite
                self.first = self.first or self._place(block, int(np.argmax(wrong)))

    def _count(self, values: Any, keep: NDArray[np.bool_], first_row: int) -> None:
        if getattr(values.dtype, "kind", "O") == "m":
            values = values.astype("m8[us]")
        distinct, inverse = factorize(values, "a column")
        rows = np.flatnonzero(keep)
        codes = inverse[rows]
        found = np.bincount(codes, minlength=len(distinct)).tolist()
        first = np.zeros(len(distinct), dtype=np.int64)
        first[codes[::-1]] = rows[::-1]  # of several rows with a code, the first one stays
        for value, count, row in zip(distinct, found, first.tolist(), strict=True):
            if not count or value is None or value != value:  # missing
                continue
            if value not in self.counts and len(self.counts) == self.most:
                self.are_more = True
                return
            self.counts[value] = self.counts.get(value, 0) + count
            self.first_rows.setdefault(value, first_row + row)

    def _counts_on(self, values: NDArray) -> bool:
        """Return True if integers continue those of the last block in steps of 1."""
        if values.dtype.kind not in "iu" or not len(values):
            return False
        last, self._last = self._last, int(values[-1])
        follows = last is None or int(values[0]) == last + 1
        return follows and bool((np.diff(values.astype(np.int64)) == 1).all())

    def _place(self, block: Block, row: int) -> str:
        text = f"row {block.first_row + row + 1:,}"
        return f"{text} of the table, in {block.where}" if self.is_several else text

    @property
    def count(self) -> str:
        """Number of distinct values."""
        return f"more than {self.most:,}" if self.are_more else f"{len(self.counts):,}"

    @property
    def is_category(self) -> bool:
        """Whether the column is categorical."""
        return self.is_given or (self.is_text and not self.is_numeric_text)

    @property
    def is_numeric_text(self) -> bool:
        """Whether the column is text and all of its values are numbers."""
        is_known = self.is_text and bool(self.counts) and not self.are_more
        return is_known and bool(_is_numeric(self.counts).all())

    def find_almost_number(self) -> str | None:
        """Return the first text if nearly all are numbers with a unit or separators, else None."""
        texts = [text for text in self.counts if isinstance(text, str)]
        count = sum(ALMOST_NUMBER.fullmatch(text) is not None for text in texts)
        return texts[0] if texts and count >= MOSTLY * len(texts) else None

    def is_constant(self, n_rows: int) -> bool:
        """Return True if all rows have the same value."""
        # if only some rows have a value, missing ones carry information
        return len(self.counts) <= 1 and sum(self.counts.values()) in (0, n_rows)

    def problem(self, n_rows: int) -> str | None:
        """Return why the column cannot be used and what to try; None if it can be used."""
        if self.is_given:
            return None
        what, name = f"column {self.name!r}", quote(self.name)
        drop = f"drop the column (--drop {name})"
        few = not self.are_more and len(self.counts) <= min(MOST_NUMBERS, MOST_CATEGORIES * n_rows)
        rest = [drop, *[f"treat its values as categories (--category {name})"] * few]
        if self.is_text and look_like_times(self.counts):
            do = _either("write them as 2013-05-20 or 2013-05-20 17:05", *rest)
            return f"{what} holds dates or times as text; {do}"
        if self.infinite:
            do = _either("correct them", "remove these rows", drop)
            return f"{what} has {self.gaps(n_rows)}; {do}"
        mixed = self.text_among_numbers(n_rows)
        return None if mixed is None else f"{what} has {mixed}; {_either('correct them', *rest)}"

    def gaps(self, n_rows: int) -> str:
        """Return the number of rows with missing or infinite values, and the first such row."""
        kinds = (("missing", self.missing), ("infinite", self.infinite))
        parts = [f"{what} values in {n:,} of {n_rows:,} rows" for what, n in kinds if n]
        return f"{' and '.join(parts)}, first in {self.first}"

    def text_among_numbers(self, n_rows: int) -> str | None:
        """Return the first text among numbers, its row, and the number of such rows, or None."""
        texts = list(self.counts) if self.is_text else []
        strange = [t for t, number in zip(texts, _is_numeric(texts), strict=True) if not number]
        if not strange or len(strange) > (1 - MOSTLY) * len(texts):
            return None
        text = min(strange, key=lambda text: self.first_rows[text])
        count = sum(self.counts[text] for text in strange)
        where = f"row {self.first_rows[text] + 1:,}{' of the table' * self.is_several}"
        like = "" if count == 1 else f", and text in {count:,} of {n_rows:,} rows"
        return f"text among its numbers: {text!r:.40} in {where}{like}"


def _either(*ways: str) -> str:
    return f"{', '.join(ways[:-1])}, or {ways[-1]}"


class TargetSurvey(ColumnSurvey):
    """Survey of the target; counts and first rows are those of its labels."""

    most = MOST_TEXTS
    is_whole = True

    def __init__(self, job: Job, is_several: bool):
        super().__init__(job.target, is_several)
        self.task = job.task
        self._seen = NumberSummary(None, 0)

    def add(self, values: Any, block: Block, keep: NDArray[np.bool_]) -> None:
        super().add(values, block, keep)
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuf" and keep.any():
            kept = values[keep]
            self.is_whole = self.is_whole and bool((kept == np.round(kept)).all())
            self._seen.add(kept)

    def remark_on_wild_values(self) -> list[str]:
        """Return a remark if the target has values very far from its interquartile range."""
        seen = self._seen
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
        return not any(isinstance(label, str | bool) for label in self.counts)

    def problem(self, n_rows: int) -> str | None:
        is_class, is_open = self.task == "classification", self.task == "auto"
        are_times = self.is_text and look_like_times(self.counts)
        mixed = None if is_class else self.text_among_numbers(n_rows)
        text = f"{next(iter(self.counts), None)!r:.40}"
        if self.is_time or (is_open and are_times):
            problem = "holds dates or times; convert it to numbers, such as hours since a date"
        elif self.infinite:
            problem = f"has {self.gaps(n_rows)}; correct them, or remove these rows"
        elif (is_class or (is_open and self.is_text)) and len(self.counts) == 1:
            problem = f"is {text} in all rows; at least two classes are needed"
        elif is_class and not self.is_whole:
            problem = ("has non-integer values, which cannot be classes; remove --task "
                       "classification, or write the classes as text or integers")  # fmt: skip
        elif mixed is not None:
            problem = (
                f"has {mixed}; correct them, or use --task classification if these are classes"
            )
        elif self.task == "regression" and self.is_text and not self.are_numbers:
            problem = (f"holds text such as {text}, which cannot be predicted as a number; write "
                       "it as numbers, or use --task classification")  # fmt: skip
        else:
            return None
        return f"the target {self.name!r} {problem}"

    def find_task(self, n_rows: int) -> str:
        """Return the task given by --task, or the one that fits the target."""
        # ratings and counts are integers too, so numbers are classes only if there are two
        is_pair = self.is_whole and len(self.counts) == 2 <= n_rows / 20
        own = "classification" if self.is_text or is_pair else "regression"
        return own if self.task == "auto" else self.task


class WeightSurvey(ColumnSurvey):
    """Survey of a column of sample weights."""

    negative, are_zero = 0, True

    def add(self, values: Any, block: Block, keep: NDArray[np.bool_]) -> None:
        if getattr(values.dtype, "kind", "O") == "b":
            values = values.astype(float)
        super().add(values, block, keep)
        if self.is_text or self.is_time:
            return
        self.are_zero &= not values[keep].any()
        negative = (values < 0) & keep
        self.negative += int(negative.sum())
        if negative.any() and not self.first:
            self.first = self._place(block, int(np.argmax(negative)))

    def problem(self, n_rows: int) -> str | None:
        problem = None
        if self.is_text or self.is_time:
            like = f" such as {next(iter(self.counts))!r:.40}" if self.is_text else ""
            problem = f"must be numbers, not text or times{like}"
        elif self.infinite:
            problem = f"have {self.gaps(n_rows)}; correct them, or remove these rows"
        elif self.negative:
            problem = (f"are negative in {self.negative:,} of {n_rows:,} rows, first in "
                       f"{self.first}; they must be 0 or more")  # fmt: skip
        elif self.are_zero:
            problem = "are zero in all rows; some must be positive"
        return None if problem is None else f"the weights in column {self.name!r} {problem}"
