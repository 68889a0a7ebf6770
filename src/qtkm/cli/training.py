"""Work of ``qtkm fit`` and ``tune``: hold out rows, search, fit, save and report."""

import tempfile
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, NoReturn

import numpy as np
import pandas
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from .. import interruption
from ..data import prefetched
from ..data.sources import Block, MappedSource, Source, draw_rows, take_rows
from ..data.sources.conversion import arrow, refuse_missing
from ..data.sources.files import TableWriter, check_format
from ..data.sources.source import row_numbers
from ..estimators import QTKMClassifier, QTKMRegressor
from ..estimators.parts import make_regression_loss
from ..estimators.targets import check_offset
from ..estimators.wording import name_network, readable
from ..losses import REGISTRY
from ..selection import QTKMClassifierCV, QTKMRegressorCV, SearchDisplay
from ..selection.race import FOLDS
from ..selection.search import LISTS, SAMPLE_ROWS, name_score
from .findings import DOTS, check_plots, draw
from .options import Job
from .output import check_writable, note, score, show, watched, write_json
from .reading import MOST_ROWS, ModelTable, draw_sample, most_rows, name_of, open_table
from .scoring import Sums, score_table, start_sums
from .survey import Survey, complete

#: statuses of a fit that are shown in other words
ENDS = {"max_iter": "the limit of --max-iter"}
#: with fewer rows, none are held out, or folds are too small to be scored
FEWEST_ROWS, FEWEST_TUNED = 5, 12
#: up to this many rows, exactly the fraction --test-size is held out; beyond, about that
EXACT_ROWS = 1000
#: sampled rows of a search whose fits choose rank and penalty themselves: ten such fits on 50,000
#: rows take ten minutes
FEW_ROWS = 20_000
#: options for lists of candidates, and factors to extend them by
OPTIONS = {"rank": ("--ranks", 2), "n_basis": ("--n-basis", 2), "period": ("--periods", 2),
           "alpha": ("--alphas", 10)}  # fmt: skip
#: beginnings of warnings that the commands report before a fit
REPORTED = ("The number of unique classes is greater than", "Constant columns have no effect")


def make_model(survey: Survey, parameters: dict[str, Any]) -> Any:
    """Return an unfitted estimator for the task and categories of a table."""
    settings = {**parameters, "categorical_features": survey.categories or None}
    if survey.task == "classification":
        return QTKMClassifier(**settings)
    kind = REGISTRY.get(settings.get("loss", ""))
    if kind is not None and kind.is_margin:
        raise ValueError(
            f"--loss {settings['loss']} is for classification; add --task classification, or "
            "remove it"
        )
    return QTKMRegressor(**settings)


def save_model(model: Any, out: Path) -> None:
    """Save a model; if that fails, save it elsewhere, because the fit may have taken long."""
    try:
        model.save(out)
    except OSError as error:
        rescue = Path(tempfile.mkdtemp(prefix="qtkm-")) / out.name
        model.save(rescue)
        raise OSError(
            f"{out} was not written ({error.strerror}); the model was saved to {rescue}"
        ) from None


def leave(out: Path) -> NoReturn:
    """Report where the complete model is, and raise the Ctrl-C that came meanwhile."""
    note(f"the model is complete and saved to {out}")
    raise KeyboardInterrupt


def report_fit(
    model: Any, rows: "TableRows", seconds: float, out: Path, as_json: bool,
    more: Sequence[tuple[str, str]] = (), **facts: Any,
) -> None:  # fmt: skip
    """Print `more` lines, a summary of the fit and its scores; or these and `facts` as JSON."""
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
    """Rows of a job's table, surveyed, with remarks printed and test rows held out."""

    def __init__(
        self, job: Job, seed: int, *, loss: str | None = None, quiet: bool = True,
        shown: bool = False,
    ):  # fmt: skip
        if job.weight == job.target:
            raise ValueError(f"{job.target!r} is both target and weight; use two columns")
        self.job, self.seed, self.shown, self.name = job, seed, shown, name_of(job.data)
        self.source = open_table(job.data, categories=job.category)
        refuse_missing(self.name, [*job.needed, *job.drop, *job.category], self.source.names)
        self.survey = survey = Survey(job, self.source, self.name, shown)
        # every label is trained on, so that all are known when tested
        is_class = survey.task == "classification"
        self._always = sorted(survey.first_rows.values()) if is_class else []
        self._share = job.test_size if survey.n_rows >= FEWEST_ROWS else 0.0
        if survey.n_total < EXACT_ROWS and self._share:  # exactly this share of few rows
            numbers = np.sort(row_numbers(0, survey.n_total, seed))
            self._share = float(numbers[round(self._share * survey.n_total)])
        for remark in [] if quiet else survey.remarks(loss):
            note(remark)

    def _part(self, test: bool) -> Source:
        """Return the test rows, or the training rows."""

        def change(block: Block) -> Block:
            drawn = draw_rows(block, self._share, self.seed)
            always = np.array(self._always, dtype=np.int64) - block.first_row
            drawn[always[(always >= 0) & (always < block.n_rows)]] = False
            return take_rows(block, complete(block, needed) & (drawn == test))

        needed, share = self.job.needed, self._share if test else 1 - self._share
        rule = repr((needed, self._share, self.seed, self._always))
        return MappedSource(self.source, change, needs=needed, rule=rule, share=share)

    def sample(self, most: int, seed: int, test: bool = False) -> tuple[tuple[Any, ...], int]:
        """Return X, y, weights and offset of at most `most` rows, and the number of all rows."""
        job, names = self.job, [*self.survey.features, *self.job.needed]
        blocks = prefetched(self._part(test).blocks(names))
        blocks = watched(blocks, self.survey.n_rows, "read", self.shown)
        block, n_rows = draw_sample(blocks, most, seed)
        columns = block.columns or {name: np.empty(0) for name in names}
        X = pandas.DataFrame({name: columns[name] for name in self.survey.features}, copy=False)
        y = pandas.Series(columns[job.target], name=job.target)
        y = y.astype(object) if hasattr(y, "cat") else y
        weights, offset = (None if n is None else np.asarray(columns[n], dtype=float)
                           for n in (job.weight, job.offset))  # fmt: skip
        return (X, y, weights, offset), n_rows

    def fit(self, model: Any, cache: Path | None = None) -> float:
        """Fit a model to all training rows and return the time in seconds."""
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
    """Ignore warnings that the commands report themselves, and refuse unsavable models."""
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


def tune(
    job: Job, parameters: dict[str, Any], settings: dict[str, Any], max_rows: int | None,
    table: Path | None, plot: Path | None, quiet: bool, as_json: bool,
) -> tuple[Any, bool]:  # fmt: skip
    """Choose parameters, fit a model, score it and save it.

    `parameters` are those of the estimator, `settings` those of the search; `table` and `plot` are
    files for its results. Returns the model, and True if the search was interrupted.
    """
    check_writable(job.out)
    if table is not None:
        check_format(table)
        check_writable(table, makes_folder=True)
    if plot is not None:
        check_plots(plot.parent)
        check_writable(plot, makes_folder=True)
    seed, shown = parameters["random_state"], bool(parameters["verbose"])
    rows = TableRows(job, seed, loss=parameters.get("loss"), quiet=quiet, shown=shown)
    model = make_model(rows.survey, parameters)
    begin = perf_counter()
    sample, n_train = rows.sample(most_rows(max_rows, len(rows.survey.features) + 1), seed)
    n_used = len(sample[1])
    if n_used < FEWEST_TUNED:
        raise ValueError(
            f"{name_of(job.data)} has {n_used} rows to choose parameters on; at least "
            f"{FEWEST_TUNED} are needed, or use qtkm fit"
        )
    # nothing comes between a search, its fit and their files
    with interruption.deferred(lambda: leave(job.out)):
        search = _search(model, sample, settings, rows.survey.task)
        was_interrupted = search.message_.startswith("Interrupted")
        search_seconds = perf_counter() - begin
        _write(search, table, plot)
        tried, chosen, facts = _describe(search)
        if was_interrupted:
            note(f"Interrupted after {tried}; fitting a model with the best parameters so far")
        best = clone(model).set_params(**search.best_params_)
        try:
            seconds = rows.fit(best)
        except KeyboardInterrupt:
            note(f"Interrupted before the last fit; chosen: {chosen}")
            raise
        save_model(best, job.out)
    if as_json or not quiet:
        # only of the default scores is it known that 1 is the best
        write = score if search.scoring is None else readable
        value = facts["score_on_test_rows"] = _score_by(search, best, rows)
        finished = int(search.cv_results_["finished"].sum())
        lines = [("tried", f"{tried}, {finished} to convergence, in {search_seconds:.1f} s")]
        if n_used < n_train:
            drawn = f"{n_used:,} of {n_train:,}, drawn at random (--max-rows)"
            lines.append(("rows of the search", drawn))
        lines.append(("chosen", chosen))
        lines.append((f"{name_score(search)} in the search", write(search.best_score_)))
        if value is not None:
            lines.append((f"{search.scoring} on test rows", write(value)))
        lines.append(("found", search.message_))
        report_fit(best, rows, seconds, job.out, as_json, lines, search=facts)
    edges = None if was_interrupted or quiet else remark_on_edges(search)
    if edges is not None:
        note(edges)
    return best, was_interrupted


def _search(model: Any, sample: Any, settings: dict[str, Any], task: str) -> Any:
    """Return a search for the best parameters, fitted to a sample."""
    X, y, weights, offset = sample
    if offset is not None:  # targets and weights whose loss is that of the rows with their offsets
        known = check_offset(offset, len(y))
        values, weights = make_regression_loss(model).take_offset(
            np.asarray(y, dtype=float)[:, None], weights, known
        )
        y = values[:, 0]
    sample_rows, cv = settings["sample_rows"], settings["cv"]
    if sample_rows is None:
        is_short = len(y) > SAMPLE_ROWS and LISTS.keys().isdisjoint(settings)
        sample_rows = FEW_ROWS if is_short else "auto"
    if cv is None and len(y) <= (SAMPLE_ROWS if sample_rows == "auto" else sample_rows):
        cv = FOLDS
    if isinstance(cv, int) and cv < 2:
        raise ValueError(f"--cv {cv} must be at least 2 folds, a fraction of rows, or hold-out")
    if isinstance(cv, int):  # rows at random: a table may be sorted
        folds = StratifiedKFold if task == "classification" else KFold
        cv = folds(cv, shuffle=True, random_state=settings["random_state"])
    settings = settings | {"sample_rows": sample_rows, "cv": cv}
    kind = QTKMClassifierCV if task == "classification" else QTKMRegressorCV
    search = kind(model, **settings, refit=False, verbose=model.verbose)
    with fitting():
        search.fit(X, y, weights)
    return search


def _score_by(search: Any, model: Any, rows: TableRows) -> float | None:
    """Score a model on a sample of test rows, if a score was given by name."""
    if search.scoring is None:
        return None
    (X, y, weights, offset), _ = rows.sample(MOST_ROWS, 0, test=True)
    if not len(y) or offset is not None:  # scorers know no offsets
        return None
    own = {} if weights is None else {"sample_weight": weights}
    return float(search.scorer_(model, X, y, **own))


def _write(search: Any, table: Path | None, plot: Path | None) -> None:
    if table is not None:
        frame = pandas.DataFrame({k: v for k, v in search.cv_results_.items() if k != "params"})
        with TableWriter(table) as writer:
            best_first = frame.sort_values("rank_test_score")
            writer.write(arrow().Table.from_pandas(best_first, preserve_index=False))
    if plot is not None:
        display = SearchDisplay(
            search.cv_results_, search.best_index_, score_name=name_score(search)
        )
        plot.parent.mkdir(parents=True, exist_ok=True)
        draw([display]).savefig(plot, dpi=DOTS)


def _describe(search: Any) -> tuple[str, str, dict[str, Any]]:
    """Return the number of candidates and the chosen parameters, as text and for JSON."""
    results, best = search.cv_results_, search.best_params_
    n_tried, count = int((results["round"] > 0).sum()), len(results["params"])
    tried = f"{n_tried} candidates" if n_tried == count else f"{n_tried} of {count} candidates"
    texts = {n: readable(v, 3) if isinstance(v, float) else f"{v}" for n, v in best.items()}
    facts = {"n_candidates": count, "n_tried": n_tried, "parameters": best,
             "scoring": search.scoring, "message": search.message_,
             "score": search.best_score_}  # fmt: skip
    return tried, ", ".join(f"{name} {text}" for name, text in texts.items()), facts


def remark_on_edges(search: Any) -> str | None:
    """Return a remark on best parameters at an end of their list; None if there are none."""
    found: list[str] = []
    options: list[str] = []
    for name, (option, factor) in OPTIONS.items():
        tried = set(search.cv_results_.get(f"param_{name}", ()))
        values = sorted(each for each in tried if not isinstance(each, str))  # but "auto"
        best = search.best_params_.get(name)
        if len(values) < 2 or best not in (values[0], values[-1]):
            continue
        if best == values[-1]:
            end, pair = "largest", [best, best * factor]
        else:
            least = 0 if name == "alpha" else 1
            smaller = best // factor if isinstance(best, int) else best / factor
            end, pair = "smallest", [max(least, smaller), best]
        if pair[0] < pair[1]:
            found.append(f"the best {name}, {best:g}, {'is ' * (not found)}the {end}"
                         f"{' tried' * (not found)}")  # fmt: skip
            options.append(f"{option} {pair[0]:g},{pair[1]:g}")
    return f"{', '.join(found)}; {' '.join(options)} may be better" if found else None
