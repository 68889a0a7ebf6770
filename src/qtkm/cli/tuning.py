"""What ``qtkm tune`` does: read, search, fit, save, and report what was tried."""

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold, StratifiedKFold

from .. import interruption
from ..data.sources.conversion import arrow
from ..data.sources.files import check_format
from ..data.sources.writing import TableWriter
from ..estimators.parts import make_regression_loss
from ..estimators.targets import check_offset
from ..estimators.wording import readable
from ..selection import QTKMClassifierCV, QTKMRegressorCV, SearchDisplay
from ..selection.candidates import LISTS
from ..selection.folds import FOLDS
from ..selection.search import SAMPLE_ROWS, name_score
from .findings import DOTS, check_plots, draw
from .options import Job
from .output import check_writable, note, score
from .reading import MOST_ROWS, most_rows, name_of
from .training import TableRows, fitting, leave, make_model, report_fit, save_model

#: with fewer rows, folds are too small to be scored
FEWEST_ROWS = 12
#: rows of the search where fits choose rank and penalty themselves, of tables that are sampled: ten
#: or more such fits take ten minutes with 50,000 rows
FEW_ROWS = 20_000
#: options with lists of what is tried, and factors to go beyond their ends
OPTIONS = {"rank": ("--ranks", 2), "n_basis": ("--n-basis", 2), "period": ("--periods", 2),
           "alpha": ("--alphas", 10)}  # fmt: skip


def tune(
    job: Job, parameters: dict[str, Any], settings: dict[str, Any], max_rows: int | None,
    table: Path | None, plot: Path | None, quiet: bool, as_json: bool = False,
) -> tuple[Any, bool]:  # fmt: skip
    """Choose parameters by the rows of a table, fit a model, score it and save it.

    `parameters` and `settings` are those of the estimator and of the search, `max_rows` the most
    rows of the search (None for what is enough), `table` and `plot` files for what was tried.
    Returns the model, and whether the search was interrupted.
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
    if n_used < FEWEST_ROWS:
        raise ValueError(
            f"{name_of(job.data)} leaves {n_used} rows to choose parameters by; at least "
            f"{FEWEST_ROWS} are needed, or use qtkm fit"
        )
    # nothing comes between a search, its fit and their files
    with interruption.deferred(lambda: leave(job.out)):
        search = _search(model, sample, settings, rows.survey.task)
        was_interrupted = search.message_.startswith("Interrupted")
        search_seconds = perf_counter() - begin
        _write(search, table, plot)
        if was_interrupted:
            note(
                f"Interrupted when {_tried(search)} had been tried; a model with the best "
                "parameters so far is fitted now"
            )
        best = clone(model).set_params(**search.best_params_)
        try:
            seconds = rows.fit(best)
        except KeyboardInterrupt:
            note(f"Interrupted before the last fit had begun; chosen: {_chosen(search)}")
            raise
        save_model(best, job.out)
    if as_json or not quiet:
        value = None if search.scoring is None else _score_by(search.scorer_, best, rows)
        lines = _describe(search, search_seconds, value)
        if n_used < n_train:
            drawn = f"{n_used:,} of {n_train:,}, drawn at random (--max-rows)"
            lines.insert(1, ("rows of the search", drawn))
        report_fit(best, rows, seconds, job.out, as_json, lines, search=_facts(search, value))
    edges = None if was_interrupted or quiet else remark_on_edges(search)
    if edges is not None:
        note(edges)
    return best, was_interrupted


def _search(model: Any, sample: Any, settings: dict[str, Any], task: str) -> Any:
    """Search for the best parameters, and return the search."""
    X, y, weights, offset = sample
    if offset is not None:  # targets and weights whose loss is that of the rows with their offsets
        known = check_offset(offset, len(y))
        values, weights = make_regression_loss(model).take_offset(
            np.asarray(y, dtype=float)[:, None], weights, known
        )
        y = values[:, 0]
    if settings["sample_rows"] is None:
        is_short = len(y) > SAMPLE_ROWS and LISTS.keys().isdisjoint(settings)
        settings = settings | {"sample_rows": FEW_ROWS if is_short else "auto"}
    settings = settings | {"cv": _shuffled(settings, task, len(y))}
    kind = QTKMClassifierCV if task == "classification" else QTKMRegressorCV
    search = kind(model, **settings, refit=False, verbose=model.verbose)
    with fitting():
        search.fit(X, y, weights)
    return search


def _shuffled(settings: dict[str, Any], task: str, n_rows: int) -> Any:
    """Return folds of rows at random: a table may be sorted."""
    cv, sample = settings["cv"], settings["sample_rows"]
    if cv is None and n_rows <= (SAMPLE_ROWS if isinstance(sample, str) else sample):
        cv = FOLDS
    if not isinstance(cv, int):
        return cv
    if cv < 2:
        raise ValueError(f"--cv {cv} must be at least 2 folds, a share of the rows, or hold-out")
    kind = StratifiedKFold if task == "classification" else KFold
    return kind(cv, shuffle=True, random_state=settings["random_state"])


def _score_by(scorer: Any, model: Any, rows: TableRows) -> float | None:
    """Score a model by a scorer of scikit-learn on test rows, drawn from very many."""
    (X, y, weights, offset), _ = rows.sample(MOST_ROWS, 0, test=True)
    if not len(y) or offset is not None:  # scorers know no offsets
        return None
    return float(scorer(model, X, y, **({} if weights is None else {"sample_weight": weights})))


def _write(search: Any, table: Path | None, plot: Path | None) -> None:
    if table is not None:
        import pandas

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


def _describe(search: Any, seconds: float, value: float | None) -> list[tuple[str, str]]:
    finished = int(search.cv_results_["finished"].sum())
    # only of the default scores is it known that 1 is the best
    write = score if search.scoring is None else readable
    on_test_rows = [] if value is None else [(f"{search.scoring} on test rows", write(value))]
    return [
        ("tried", f"{_tried(search)}, {finished} to the end, in {seconds:.1f} s"),
        ("chosen", _chosen(search)),
        (f"{name_score(search)} in the search", write(search.best_score_)),
        *on_test_rows,
        ("found", search.message_),
    ]


def _chosen(search: Any) -> str:
    return ", ".join(
        f"{name} {readable(value, 3)}" if isinstance(value, float) else f"{name} {value}"
        for name, value in search.best_params_.items()
    )


def _tried(search: Any) -> str:
    """Return how many candidates were tried, of those that were to be tried."""
    tried, count = int((search.cv_results_["round"] > 0).sum()), len(search.cv_results_["params"])
    return f"{tried} candidates" if tried == count else f"{tried} of {count} candidates"


def _facts(search: Any, value: float | None) -> dict[str, Any]:
    return {
        "n_candidates": len(search.cv_results_["params"]),
        "n_tried": int((search.cv_results_["round"] > 0).sum()),
        "parameters": search.best_params_,
        "scoring": search.scoring,
        "message": search.message_,
        "score": search.best_score_,
        "score_on_test_rows": value,
    }


def remark_on_edges(search: Any) -> str | None:
    """Return a remark on parameters whose best value is the largest or smallest tried, if any."""
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
                         f"{' that was tried' * (not found)}")  # fmt: skip
            options.append(f"{option} {pair[0]:g},{pair[1]:g}")
    return f"{', '.join(found)}; {' '.join(options)} may be better" if found else None
