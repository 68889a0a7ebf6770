"""A first look at all rows of a table, for what a fit must know before it begins."""

from collections.abc import Sequence
from shlex import quote

import numpy as np

from ..data import prefetched
from ..data.sources import Block, Source
from .failures import TableError
from .output import watched
from .splitting import HoldOut
from .survey_columns import (
    MOST_TEXTS,
    CategorySurvey,
    ColumnSurvey,
    TargetSurvey,
    WeightSurvey,
)
from .task import (
    MANY_CLASSES,
    are_numbers,
    remark_on_categories,
    remark_on_classes,
    remark_on_constants,
    remark_on_header,
    remark_on_running,
    remark_on_text,
    remark_on_whole,
)

#: rows without a target that are told by their numbers
FIRST_ROWS = 3
#: so few categories are not remarked upon, and so many always are, whatever the rows
FEW_CATEGORIES, MANY_CATEGORIES = 10, 1000
#: with fewer rows for each category, there is a remark
ROWS_PER_CATEGORY = 20
#: fewest rows whose numbers may be taken for a count of them
FEWEST_RUNNING = 20


class Survey:
    """Kinds of the columns, what is wrong with them, and the task that the target asks for.

    Parameters
    ----------
    features : sequence of str
        Columns to predict from.
    category : sequence of str
        Those of them to be taken for categories whatever they hold.
    hold_out : HoldOut
        Which rows count; learns the first row of every label.
    task : {"auto", "regression", "classification"}
        What the user says; becomes what is so after a look at the rows.
    weight : str or None
        Column of row weights.

    Attributes
    ----------
    n_rows : int
        Rows that have a target.
    """

    def __init__(
        self,
        features: Sequence[str],
        category: Sequence[str],
        hold_out: HoldOut,
        task: str,
        weight: str | None = None,
    ):
        self.features, self.hold_out = list(features), hold_out
        self.columns = {
            name: CategorySurvey(name) if name in category else ColumnSurvey(name)
            for name in self.features
        }
        self.target = TargetSurvey(hold_out.needed[0])
        self.weights = [] if weight is None else [WeightSurvey(weight)]
        self.task = self.given = task
        self.n_rows = self.n_left_out = 0
        self._left_out: list[int] = []

    def look(self, source: Source, name: str, shown: bool) -> None:
        """Look at all rows of a source.

        Parameters
        ----------
        source : Source
        name : str
            What it is called in messages.
        shown : bool
            Whether progress is shown.

        Raises
        ------
        TableError
            For all that cannot be fitted to: infinite numbers, text among numbers.
        """
        columns = list(dict.fromkeys([*self.features, *self.hold_out.needed]))
        blocks = watched(prefetched(source.blocks(columns)), source.expected_rows(), "check", shown)
        several = len(source.paths) > 1
        for block in blocks:
            self._add(block, several)
        if self.n_rows < 2:
            count = f"{self.n_rows} row{'s' * (self.n_rows != 1)} with a target"
            raise ValueError(f"{name} has {count}; at least 2 are needed")
        self._refuse(name)
        if self.task == "auto":
            self.task = self.target.task(self.n_rows)
        if self.task == "classification":
            # every label is trained on, so that all are known when tested
            self.hold_out.always = set(self.target.first_rows.values())

    def _add(self, block: Block, several: bool) -> None:
        keep = self.hold_out.complete(block)
        self.n_rows += int(keep.sum())
        self.n_left_out += int((~keep).sum())
        first = np.flatnonzero(~keep)[: FIRST_ROWS - len(self._left_out)]
        self._left_out += (first + block.first_row + 1).tolist()
        for column in [*self.columns.values(), self.target, *self.weights]:
            column.add(block.columns[column.name], block, keep, several)

    def _refuse(self, name: str) -> None:
        found = {n: c.problem(self.n_rows) for n, c in self.columns.items()}
        problems = [text for text in found.values() if text is not None]
        options = " ".join(f"--drop {quote(n)}" for n, text in found.items() if text is not None)
        own = [self.target.problem(self.n_rows, self.task)]
        own += [weights.problem(self.n_rows) for weights in self.weights]
        problems += [text for text in own if text is not None]
        if problems:
            hints = [self.remark_on_rows()] if self.n_left_out else []
            if options.count("--drop ") > 1:
                hints.append(f"to leave out all of these columns: {options}")
            raise TableError(name, problems, hints)

    @property
    def categories(self) -> list[str]:
        """Columns of categories: of text, and those that were named."""
        return [name for name in self.features if self.columns[name].is_category]

    def remarks(self) -> list[str]:
        """Return remarks to show the user before the fit."""
        found = [self.remark_on_rows()] if self.n_left_out else []
        constant = [name for name, c in self.columns.items() if c.is_constant(self.n_rows)]
        found += [remark_on_constants(constant)] if constant else []
        if len(self.features) > 1 and are_numbers(self.features):
            found.append(remark_on_header(self.features))
        most = min(MANY_CATEGORIES, max(FEW_CATEGORIES, self.n_rows / ROWS_PER_CATEGORY))
        texts = [name for name, column in self.columns.items() if column.is_numeric_text]
        found += [remark_on_text(texts)] if set(texts) - set(self.categories) else []
        for name, column in self.columns.items():
            if column.is_category and len(column.texts) > most:
                found.append(remark_on_categories(name, column.texts.count, self.n_rows))
            if not column.is_text and column.is_running and self.n_rows >= FEWEST_RUNNING:
                found.append(remark_on_running(name))
        count = len(self.target.first_rows)
        is_few = 2 < count <= FEW_CATEGORIES and count <= self.n_rows / ROWS_PER_CATEGORY
        if self.task == "regression" and self.given == "auto" and self.target.is_whole and is_few:
            found.append(remark_on_whole(self.target.name, count))
        if self.task == "classification" and count >= MANY_CLASSES:
            more = "more than " * (count > MOST_TEXTS)
            told = f"{more}{min(count, MOST_TEXTS):,}"
            found.append(remark_on_classes(self.target.name, told, self.target.are_numbers))
        return found

    def remark_on_rows(self) -> str:
        """How many rows are left out because they have no target, or no weight."""
        count, total = self.n_left_out, self.n_rows + self.n_left_out
        names = " or no ".join(map(repr, self.hold_out.needed))
        rows = ", ".join(f"{row:,}" for row in self._left_out)
        verbs = "have no {} and are" if count > 1 else "has no {} and is"
        return (
            f"{count:,} of {total:,} rows {verbs.format(names)} left out: "
            f"row{'s' * (count > 1)} {rows}{', …' * (count > FIRST_ROWS)}"
        )
