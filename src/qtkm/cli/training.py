"""Rows to fit a model to and to test it on, its file, and what is told of its fit."""

import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ..data import prefetched
from ..data.sources import Block, MappedSource, Source, draw_rows, take_rows
from ..data.sources.conversion import refuse_missing
from ..data.sources.source import row_numbers
from ..estimators import QTKMClassifier, QTKMRegressor
from ..estimators.wording import name_network, readable
from ..losses import REGISTRY
from .options import Job
from .output import note, show, watched, write_json
from .reading import ModelTable, Sample, name_of, open_table
from .scoring import Sums, score_table, start_sums
from .survey import Survey, complete

#: how a fit ended, where the name of that is not a word
ENDS = {"max_iter": "all that --max-iter allows"}
#: with fewer rows, none is set aside
FEWEST_ROWS = 5
#: up to so many rows, exactly the share asked for is set aside; of more, about that
FEW_ROWS = 1000
#: how warnings of scikit-learn and of the library begin that are told before a fit
REPORTED = ("The number of unique classes is greater than", "Columns of one value have no effect")


def make_model(survey: Survey, parameters: dict[str, Any]) -> Any:
    """Return an unfitted estimator for the task and the categories of a table."""
    settings = {**parameters, "categorical_features": survey.categories or None}
    if survey.task == "classification":
        return QTKMClassifier(**settings)
    kind = REGISTRY.get(settings.get("loss", ""))
    if kind is not None and kind.is_margin:
        raise ValueError(
            f"loss {settings['loss']!r} is one for classes; add --task classification, or leave "
            "it out"
        )
    return QTKMRegressor(**settings)


def save_model(model: Any, out: Path) -> None:
    """Save a model; where that fails, elsewhere, for its fit may have taken long."""
    try:
        model.save(out)
    except OSError as error:
        rescue = Path(tempfile.mkdtemp(prefix="qtkm-")) / out.name
        model.save(rescue)
        raise OSError(
            f"{out} was not written ({error.strerror}); the model is in {rescue}"
        ) from None


def leave(out: Path) -> NoReturn:
    """Say where the model is after a Ctrl-C that came when it was complete, and raise that."""
    note(f"the model is complete and in {out}")
    raise KeyboardInterrupt


def report_fit(
    model: Any, rows: "TableRows", seconds: float, out: Path, as_json: bool,
    more: Sequence[tuple[str, str]] = (), **facts: Any,
) -> None:  # fmt: skip
    """Print how a model was fitted, and its scores on the rows to test on.

    The table begins with the lines `more`, and JSON ends with `facts`.
    """
    try:
        sums = rows.score(model)
    except KeyboardInterrupt:
        leave(out)
    n_rows, network = rows.survey.n_rows - sums.n_rows, name_network(model.network_)
    if as_json:
        found = {
            "file": str(out), "task": rows.survey.task, "n_rows": n_rows,
            "n_columns": model.n_features_in_, "network": network, "rank": model.rank_,
            "n_parameters": model.n_parameters_, "alpha": model.alpha_,
            "n_iter": model.n_iter_, "status": model.status_, "seconds": seconds,
        }  # fmt: skip
        write_json({**found, **facts, "scores": sums.facts()})
        return
    end = ENDS.get(model.status_, model.status_)
    categorical = [column["name"] for column in model.columns_ if column["categories"] is not None]
    show(f"Model saved to {out}", [
        *more,
        ("task", rows.survey.task),
        ("rows, columns", f"{n_rows:,}, {model.n_features_in_:,}"),
        *([("categories", ", ".join(categorical))] if categorical else []),
        ("network", f"{network}, rank {model.rank_}"),
        ("parameters", f"{model.n_parameters_:,}"),
        ("penalty alpha", readable(model.alpha_, 3)),
        ("epochs", f"{model.n_iter_} in {seconds:.1f} s ({end})"),
        *(sums.lines() if sums.n_rows else []),
    ])  # fmt: skip


class TableRows:
    """Rows of a job's table: surveyed, some of them set aside to test on.

    `seed` draws the test rows; remarks depend on the `loss` of the fit; `quiet` and `shown` say
    whether they are left out and progress is shown.
    """

    def __init__(
        self, job: Job, seed: int, *, loss: str | None = None, quiet: bool = True,
        shown: bool = False,
    ):  # fmt: skip
        if job.weight == job.target:
            raise ValueError(f"{job.target!r} is given as target and as weight; name two columns")
        self.job, self.seed, self.shown, self.name = job, seed, shown, name_of(job.data)
        self.source = open_table(job.data, categories=job.category)
        refuse_missing(self.name, [*job.needed, *job.drop, *job.category], self.source.names)
        self.survey = survey = Survey(job, self.source, self.name, shown)
        # every label is trained on, so that all are known when tested
        is_class = survey.task == "classification"
        self._always = sorted(survey.first_rows.values()) if is_class else []
        self._share = job.test_size if survey.n_rows >= FEWEST_ROWS else 0.0
        if survey.n_total < FEW_ROWS and self._share:  # exactly this share of few rows
            numbers = np.sort(row_numbers(0, survey.n_total, seed))
            self._share = float(numbers[round(self._share * survey.n_total)])
        for remark in [] if quiet else survey.remarks(loss):
            note(remark)

    def _is_test(self, block: Block) -> NDArray[np.bool_]:
        drawn = draw_rows(block, self._share, self.seed)
        always = np.array(self._always, dtype=np.int64) - block.first_row
        drawn[always[(always >= 0) & (always < block.n_rows)]] = False
        return drawn

    def _part(self, test: bool) -> Source:
        """Return the rows to test on, or the others."""

        def change(block: Block) -> Block:
            return take_rows(block, complete(block, needed) & (self._is_test(block) == test))

        needed, share = self.job.needed, self._share if test else 1 - self._share
        rule = repr((needed, self._share, self.seed, self._always))
        return MappedSource(self.source, change, needs=needed, rule=rule, share=share)

    def sample(
        self, most: int, seed: int, test: bool = False
    ) -> tuple[tuple[Any, Any, Any, Any], int]:
        """Draw rows at random if there are more than `most`.

        Returns ((X, y, weights, offset), number of all rows); weights and offset may be None.
        """
        import pandas

        job, names = self.job, [*self.survey.features, *self.job.needed]
        blocks = prefetched(self._part(test).blocks(names))
        drawn = Sample(watched(blocks, self.survey.n_rows, "read", self.shown), most, seed)
        columns = drawn.block.columns or {name: np.empty(0) for name in names}
        X = pandas.DataFrame({name: columns[name] for name in self.survey.features}, copy=False)
        y = pandas.Series(columns[job.target], name=job.target)
        y = y.astype(object) if hasattr(y, "cat") else y
        weights, offset = (None if n is None else np.asarray(columns[n], dtype=float)
                           for n in (job.weight, job.offset))  # fmt: skip
        return (X, y, weights, offset), drawn.n_seen

    def fit(self, model: Any, cache: Path | None = None) -> float:
        """Fit a model to all training rows, and return the seconds that it took.

        Coded rows may be kept in a folder.
        """
        job, begin = self.job, perf_counter()
        try:
            with fitting():
                model.fit_dataset(
                    self._part(test=False), target=job.target, features=self.survey.features,
                    weight=job.weight, offset=job.offset, cache=cache,
                )  # fmt: skip
        except MemoryError as error:  # in the words of the command line
            raise MemoryError(str(error).replace("memory_limit=", "--memory-limit ")) from None
        return perf_counter() - begin

    def score(self, model: Any) -> Sums:
        """Accumulate the scores of a model over the test rows."""
        if not self._share:
            return start_sums(model)
        table = ModelTable(model, self._part(test=True), self.job.needed, self.name)
        return score_table(table, self.shown, self.job.weight, self.job.offset)


@contextmanager
def fitting() -> Iterator[None]:
    """Leave out warnings that the commands report themselves, and refuse unsavable models."""
    with warnings.catch_warnings():
        # of status and one value: reported from the model's status, and before the fit
        warnings.simplefilter("ignore", ConvergenceWarning)
        for beginning in REPORTED:
            warnings.filterwarnings("ignore", beginning, UserWarning)
        warnings.filterwarnings("error", "The model cannot be saved", UserWarning)
        try:
            yield
        except UserWarning as warning:
            raise ValueError(str(warning)) from None
