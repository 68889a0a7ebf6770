"""Rows to fit a model to and to test it on: a table in memory, or one that is read in blocks."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ..data import prefetched
from ..data.sources import Source
from .blocks import draw, score_rows
from .formats import check_names
from .options import Job
from .output import note, watched
from .reading import is_large, is_many, name_of, open_table, read_frame
from .scoring import LabelSums, NumberSums, start_sums
from .splitting import FEWEST_ROWS, HoldOut, split_rows
from .survey import Survey

#: how scikit-learn begins to speak of many classes
CLASS_WARNING = "The number of unique classes is greater than"


def open_rows(job: Job, seed: int, *, in_blocks: bool, quiet: bool, shown: bool) -> Any:
    """Look at the table of a job, and say what the user may want to know about it.

    Parameters
    ----------
    job : Job
    seed : int
        Of the rows to test on.
    in_blocks : bool
        Whether the table is to be read in blocks though it may fit in memory.
    quiet, shown : bool
        Whether nothing is said, and whether progress is shown.

    Returns
    -------
    RowsInMemory or RowsInBlocks

    Raises
    ------
    TableError
        If the rows cannot be fitted to.
    """
    if job.weight == job.target:
        raise ValueError(f"{job.target!r} is given as target and as weight; name two columns")
    in_blocks = in_blocks or is_many(job.data)
    if not in_blocks and is_large(job.data[0]):
        in_blocks = True
        if not quiet:
            note(f"{job.data[0]} is large for the memory of this machine and read block by block")
    if in_blocks:
        rows: Any = RowsInBlocks(job, open_table(job.data, categories=job.category), seed, shown)
    else:
        rows = RowsInMemory(job, open_table(job.data, categories=job.category), seed)
    for remark in [] if quiet else rows.survey.remarks():
        note(remark)
    return rows


def _look(job: Job, source: Source, seed: int, shown: bool) -> Survey:
    """Look at all rows of a table, and refuse those that cannot be fitted to."""
    name = name_of(job.data)
    needed = [name for name in (job.target, job.weight, job.offset) if name is not None]
    check_names(source.names, [*needed, *job.drop, *job.category], name)
    features = [column for column in source.names if column not in {*needed, *job.drop}]
    if not features:
        raise ValueError(f"{name} has no column left to predict {job.target!r} from")
    hold_out = HoldOut(needed, job.test_size, seed)
    survey = Survey(features, job.category, hold_out, job.task, job.weight)
    survey.look(source, name, shown)
    return survey


@contextmanager
def _without_what_is_told() -> Iterator[None]:
    """Without warnings whose matter the commands tell by themselves."""
    with warnings.catch_warnings(), refused_unless_savable():
        # from the model's status, and before the fit
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", CLASS_WARNING, UserWarning)
        warnings.filterwarnings("ignore", "Of one value, which tells nothing", UserWarning)
        yield


@contextmanager
def refused_unless_savable() -> Iterator[None]:
    """Raise a ValueError where a fit warns that its model cannot be saved, before it begins."""
    warnings.filterwarnings("error", "The model cannot be saved", UserWarning)
    try:
        yield
    except UserWarning as warning:
        raise ValueError(str(warning)) from None


class RowsInMemory:
    """Rows of a table that was read as a whole.

    Parameters
    ----------
    job : Job
    source : Source
    seed : int

    Attributes
    ----------
    survey : Survey
        What was found in the rows.
    """

    def __init__(self, job: Job, source: Source, seed: int):
        self.survey = survey = _look(job, source, seed, shown=False)
        frame = read_frame(source, name_of(job.data)).dropna(subset=survey.hold_out.needed)
        self._X, self._y = frame[survey.features], frame[job.target]
        if hasattr(self._y, "cat"):
            self._y = self._y.astype(object)
        self._weights = None if job.weight is None else frame[job.weight].to_numpy()
        self._offset = None if job.offset is None else frame[job.offset].to_numpy()
        self._train, self._test = split_rows(self._y, job.test_size, survey.task, seed)

    def _take(self, rows: Any) -> tuple[Any, Any, Any]:
        weights = None if self._weights is None else self._weights[rows]
        return self._X.iloc[rows], self._y.iloc[rows], weights

    def _shift(self, rows: Any) -> dict[str, Any]:
        return {} if self._offset is None else {"offset": self._offset[rows]}

    def sample(self, most: int, seed: int) -> tuple[tuple[Any, Any, Any], int]:
        """Draw training rows at random.

        Parameters
        ----------
        most : int
            Of more rows, so many are drawn.
        seed : int

        Returns
        -------
        (X, y, weights), int
            Features, target and weights or None, and how many training rows there are.
        """
        rows = self._train
        if len(rows) > most:
            rows = np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
        return self._take(rows), len(self._train)

    def fit(self, model: Any, cache: Path | None = None) -> None:
        """Fit a model to all training rows."""
        with _without_what_is_told():
            model.fit(*self._take(self._train), **self._shift(self._train))

    def score(self, model: Any) -> NumberSums | LabelSums:
        """Accumulate the scores of a model over the test rows."""
        sums = start_sums(model)
        if len(self._test):
            sums.add(*self._take(self._test), **self._shift(self._test))
        return sums

    def score_by(self, scorer: Any, model: Any) -> float | None:
        """Another score of a model on the rows to test on, by a scorer of scikit-learn.

        Returns
        -------
        float or None
            None where there is no such row, or no room for all of them.
        """
        if not len(self._test):
            return None
        X, y, weights = self._take(self._test)
        options = {} if weights is None else {"sample_weight": weights}
        return float(scorer(model, X, y, **options))


class RowsInBlocks:
    """Rows of a table that is read anew for whatever is done with it.

    Parameters
    ----------
    job : Job
    source : Source
    seed : int
    shown : bool
        Whether progress is shown.

    Attributes
    ----------
    survey : Survey
        What was found in the rows.
    """

    def __init__(self, job: Job, source: Source, seed: int, shown: bool):
        self._job, self._source, self._shown = job, source, shown
        self.survey = _look(job, source, seed, shown)
        if self.survey.n_rows < FEWEST_ROWS:
            self.survey.hold_out.share = 0.0

    @property
    def _training_rows(self) -> Source:
        return self.survey.hold_out.training_rows(self._source)

    def sample(self, most: int, seed: int) -> tuple[tuple[Any, Any, Any], int]:
        """Draw training rows at random, see `RowsInMemory.sample`."""
        import pandas

        names, target = [*self.survey.features, *self.survey.hold_out.needed], self._job.target
        blocks = prefetched(self._training_rows.blocks(names))
        drawn = draw(watched(blocks, self.survey.n_rows, "read", self._shown), most, seed)
        columns = drawn.block().columns
        X = pandas.DataFrame({name: columns[name] for name in self.survey.features}, copy=False)
        weights = None if self._job.weight is None else columns[self._job.weight]
        return (X, pandas.Series(columns[target], name=target), weights), drawn.n_seen

    def fit(self, model: Any, cache: Path | None = None) -> None:
        """Fit a model to all training rows; what is read of them may be kept in a folder."""
        options = {"target": self._job.target, "features": self.survey.features}
        with _without_what_is_told():
            try:
                model.fit_dataset(
                    self._training_rows,
                    **options,
                    weight=self._job.weight,
                    offset=self._job.offset,
                    cache=cache,
                )
            except MemoryError as error:  # in the words of the command line
                raise MemoryError(str(error).replace("memory_limit=", "--memory-limit ")) from None

    def score(self, model: Any) -> NumberSums | LabelSums:
        """Accumulate the scores of a model over the test rows."""
        hold_out, job = self.survey.hold_out, self._job
        if not hold_out.share:
            return start_sums(model)
        test = hold_out.test_rows(self._source)
        return score_rows(model, test, job.target, name_of(job.data), job.weight, self._shown,
                          offset=job.offset)  # fmt: skip

    def score_by(self, scorer: Any, model: Any) -> float | None:
        """None: a score of any kind needs all rows at once."""
        return None
