"""Work of ``qtkm fit`` and ``tune``: hold out rows, search, fit, save and report."""

import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NoReturn

import numpy as np
import pandas
import typer
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from .. import interruption
from ..data import prefetched
from ..data.sources import Block, MappedSource, Source, draw_rows, take_rows
from ..data.sources.conversion import arrow, refuse_missing
from ..data.sources.files import FileSource, TableWriter, check_format, find_files
from ..data.sources.source import row_numbers
from ..estimators import QTKMClassifier, QTKMRegressor
from ..estimators.parts import make_regression_loss
from ..estimators.targets import check_offset
from ..estimators.wording import name_network, readable
from ..estimators.working import watched
from ..selection import QTKMClassifierCV, QTKMRegressorCV, SearchDisplay
from ..selection.race import FOLDS
from ..selection.search import LISTS, SAMPLE_ROWS, name_score
from .findings import DOTS, check_plots, draw
from .fit import FitJob, TuneJob
from .options import FAILED, INTERRUPTED, Job
from .output import check_writable, note, show, write_json
from .reading import ModelTable, draw_sample, most_rows, name_of
from .scoring import Sums, score, score_table, start_sums
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
#: options for lists of candidates, factors to extend them by, and least values
OPTIONS = {"rank": ("--ranks", 2, 1), "n_basis": ("--n-basis", 2, 1),
           "period": ("--periods", 2, 1), "alpha": ("--alphas", 10, 0)}  # fmt: skip


def run_fit(job: FitJob) -> None:
    """Fit a model, save it and report its scores."""
    check_writable(job.out)
    rows = TableRows(job)
    own = ("rank", "n_basis", "period", "alpha", "memory_limit", "checkpoint")
    model = make_model(rows.survey, job.parameters(*own))
    with interruption.deferred(lambda: leave(job.out)):  # nothing between a fit and its file
        seconds = rows.fit(model, job.cache)
        save_model(model, job.out)
    if job.as_json or not job.quiet:
        report_fit(model, rows, seconds)
    resume = " Run the same command to resume from the checkpoint."
    _end(model, job.out, resume * bool(job.checkpoint))


def run_tune(job: TuneJob) -> None:
    """Choose parameters, fit a model, score it and save it."""
    check_writable(job.out)
    if job.table is not None:
        check_format(job.table)
        check_writable(job.table, makes_folder=True)
    if job.plot is not None:
        check_plots(job.plot)
    rows = TableRows(job)
    model = make_model(rows.survey, job.parameters())
    begin = perf_counter()
    sample, n_train = rows.sample(most_rows(job.max_rows, len(rows.survey.features) + 1))
    n_used = len(sample[1])
    if n_used < FEWEST_TUNED:
        raise ValueError(
            f"{rows.name} has {n_used} rows to choose parameters on; at least {FEWEST_TUNED} are "
            "needed, or use qtkm fit"
        )
    # nothing comes between a search, its fit and their files
    with interruption.deferred(lambda: leave(job.out)):
        search = _search(model, sample, job, rows.survey.task)
        was_interrupted = search.message_.startswith("Interrupted")
        search_seconds = perf_counter() - begin
        _write(search, job.table, job.plot)
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
    if job.as_json or not job.quiet:
        # only of the default scores is it known that 1 is the best
        write = score if search.scoring is None else readable
        finished = int(search.cv_results_["finished"].sum())
        lines = [("tried", f"{tried}, {finished} to convergence, in {search_seconds:.1f} s")]
        most = SAMPLE_ROWS if search.sample_rows == "auto" else search.sample_rows
        if min(n_used, most) < n_train:
            option = "--sample-rows" if most < n_used else "--max-rows"
            drawn = f"{min(n_used, most):,} of {n_train:,}, drawn at random ({option})"
            lines.append(("rows of the search", drawn))
        lines.append(("chosen", chosen))
        lines.append((f"{name_score(search)} in the search", write(search.best_score_)))
        report_fit(best, rows, seconds, [*lines, ("found", search.message_)], search=facts)
    edges = None if was_interrupted or job.quiet else remark_on_edges(search)
    if edges is not None:
        note(edges)
    _end(best, job.out)
    if was_interrupted:
        raise typer.Exit(INTERRUPTED)


def _end(model: Any, out: Path, more: str = "") -> None:
    """Exit with a remark if a fit was interrupted or failed."""
    if model.status_ == "interrupted":
        note(f"Interrupted in epoch {model.n_iter_ + 1}; the best model so far is in {out}.{more}")
        raise typer.Exit(INTERRUPTED)
    if model.status_ == "failed":
        note(f"{model.message_} The model is in {out}.")
        raise typer.Exit(FAILED)


def make_model(survey: Survey, parameters: dict[str, Any]) -> Any:
    """Return an unfitted estimator for the task and categories of a table."""
    kind = QTKMClassifier if survey.task == "classification" else QTKMRegressor
    return kind(**parameters, categorical_features=survey.categories or None)


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
    model: Any, rows: "TableRows", seconds: float, more: Sequence[tuple[str, str]] = (),
    **facts: Any,
) -> None:  # fmt: skip
    """Print `more` lines, a summary of the fit and its scores; or these and `facts` as JSON."""
    job, out = rows.job, rows.job.out
    try:
        sums = rows.score(model)
    except KeyboardInterrupt:
        leave(out)
    n_rows, network = rows.survey.n_rows - sums.n_rows, name_network(model.network_)
    if job.as_json:
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

    def __init__(self, job: Job):
        if job.weight == job.target:
            raise ValueError(f"{job.target!r} is both target and weight; use two columns")
        self.job, self.name = job, name_of(job.data)
        self.source = FileSource(*find_files(job.data), categories=job.category)
        refuse_missing(self.name, [*job.needed, *job.drop, *job.category], self.source.names)
        self.survey = survey = Survey(job, self.source, self.name)
        # every label is trained on, so that all are known when tested
        self._always = survey.first_rows if survey.task == "classification" else np.array([], int)
        self._share = job.test_size if survey.n_rows >= FEWEST_ROWS else 0.0
        if survey.n_total < EXACT_ROWS and self._share:  # exactly this share of few rows
            numbers = np.sort(row_numbers(0, survey.n_total, job.random_state))
            self._share = float(numbers[round(self._share * survey.n_total)])
        for remark in [] if job.quiet else survey.remarks():
            note(remark)

    def _part(self, test: bool) -> Source:
        """Return the test rows, or the training rows."""
        job, needed = self.job, self.job.needed

        def change(block: Block) -> Block:
            drawn = draw_rows(block, self._share, job.random_state)
            always = self._always - block.first_row
            drawn[always[(always >= 0) & (always < block.n_rows)]] = False
            return take_rows(block, complete(block, needed) & (drawn == test))

        rule = repr((needed, self._share, job.random_state, sorted(self._always.tolist())))
        share = self._share if test else 1 - self._share
        return MappedSource(self.source, change, needs=needed, rule=rule, share=share)

    def sample(self, most: int) -> tuple[tuple[Any, ...], int]:
        """Return X, y, weights and offset of some training rows, and the number of all."""
        job, names = self.job, [*self.survey.features, *self.job.needed]
        blocks = prefetched(self._part(test=False).blocks(names))
        blocks = watched(blocks, self.survey.n_rows, "read", job.shown, leave=False)
        rows, n_rows = draw_sample(blocks, most, job.random_state)
        y = rows[job.target]
        y = y.astype(object) if hasattr(y, "cat") else y
        weights, offset = (None if n is None else rows[n].to_numpy(dtype=float)
                           for n in (job.weight, job.offset))  # fmt: skip
        return (rows[self.survey.features], y, weights, offset), n_rows

    def fit(self, model: Any, cache: Path | None = None) -> float:
        """Fit a model to all training rows and return the time in seconds."""
        job, begin = self.job, perf_counter()
        with warnings.catch_warnings():
            warnings.filterwarnings("error", "The model cannot be saved", UserWarning)
            model.fit_dataset(
                self._part(test=False), target=job.target, features=self.survey.features,
                weight=job.weight, offset=job.offset, cache=cache,
            )  # fmt: skip
        return perf_counter() - begin

    def score(self, model: Any) -> Sums:
        """Accumulate the scores of a model over the test rows."""
        if not self._share:
            return start_sums(model)
        table = ModelTable(model, self._part(test=True), self.job.needed, self.name)
        return score_table(table, self.job.shown, self.job.weight, self.job.offset)


def _search(model: Any, sample: Any, job: TuneJob, task: str) -> Any:
    """Return a search for the best parameters, fitted to a sample."""
    X, y, weights, offset = sample
    if offset is not None:  # targets and weights whose loss is that of the rows with their offsets
        known = check_offset(offset, len(y))
        values, weights = make_regression_loss(model).take_offset(
            np.asarray(y, dtype=float)[:, None], weights, known
        )
        y = values[:, 0]
    lists = {name: getattr(job, name) for name in LISTS if getattr(job, name) is not None}
    sample_rows: Any = job.sample_rows
    cv: Any = job.cv
    if sample_rows is None:
        sample_rows = FEW_ROWS if len(y) > SAMPLE_ROWS and not lists else "auto"
    if cv is None and len(y) <= (SAMPLE_ROWS if sample_rows == "auto" else sample_rows):
        cv = FOLDS
    if isinstance(cv, int) and cv < 2:
        raise ValueError(f"--cv {cv} must be at least 2 folds, a fraction of rows, or hold-out")
    if isinstance(cv, int):  # rows at random: a table may be sorted
        folds = StratifiedKFold if task == "classification" else KFold
        cv = folds(cv, shuffle=True, random_state=job.random_state)
    kind = QTKMClassifierCV if task == "classification" else QTKMRegressorCV
    return kind(
        model, **lists, cv=cv, scoring=job.scoring, sample_rows=sample_rows, refit=False,
        random_state=job.random_state, n_jobs=job.n_jobs, verbose=model.verbose,
    ).fit(X, y, weights)  # fmt: skip


def _write(search: Any, table: Path | None, plot: Path | None) -> None:
    if table is not None:
        frame = pandas.DataFrame({k: v for k, v in search.cv_results_.items() if k != "params"})
        with TableWriter(table) as writer:
            best_first = frame.sort_values("rank_test_score")
            writer.write(arrow().Table.from_pandas(best_first, preserve_index=False))
    if plot is not None:
        name = name_score(search)
        display = SearchDisplay(search.cv_results_, search.best_index_, score_name=name)
        draw([display]).savefig(plot, dpi=DOTS)


def _describe(search: Any) -> tuple[str, str, dict[str, Any]]:
    """Return the number of candidates and the chosen parameters, as text and for JSON."""
    results, best = search.cv_results_, search.best_params_
    n_tried, count = int((results["n_rows"] > 0).sum()), len(results["params"])
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
    for name, (option, factor, least) in OPTIONS.items():
        tried, best = search.cv_results_.get(f"param_{name}", ()), search.best_params_.get(name)
        values = sorted({value for value in tried if not isinstance(value, str)})  # but "auto"
        if len(values) < 2 or best not in (values[0], values[-1]):
            continue
        smaller = max(least, best // factor if isinstance(best, int) else best / factor)
        low, high = (best, best * factor) if best == values[-1] else (smaller, best)
        if low < high:
            found.append(name)
            options.append(f"{option} {low:g},{high:g}")
    ends = f"the best value of {' and of '.join(found)} is at an end of those tried"
    return f"{ends}; {' '.join(options)} may be better" if found else None
