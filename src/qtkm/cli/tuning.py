"""What ``qtkm tune`` does: read, search, fit, save, and tell what was tried."""

import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from .. import interruption
from ..estimators.wording import readable
from ..selection import QTKMClassifierCV, QTKMRegressorCV, SearchDisplay
from ..selection.folds import FOLDS
from ..selection.search import SAMPLE_ROWS, name_score
from .findings import plain
from .formats import check_writable, kind_of, write_table
from .models import leave, make_model, save_model, tell_fit
from .options import Job
from .output import note, score
from .plots import check_plots
from .reading import most_rows, name_of
from .training import CLASS_WARNING, open_rows, refused_unless_savable

#: dots an inch of the plot
DOTS = 120
#: with fewer rows, folds are too small to be scored
FEWEST_ROWS = 12


def tune(
    job: Job,
    parameters: dict[str, Any],
    settings: dict[str, Any],
    max_rows: int | None,
    table: Path | None,
    plot: Path | None,
    quiet: bool,
    as_json: bool = False,
) -> tuple[Any, bool]:
    """Choose the parameters of a model by the rows of a table, fit it, score it and save it.

    Parameters
    ----------
    job : Job
    parameters, settings : dict
        Of the estimator, and of the search.
    max_rows : int or None
        Most rows of the search; None for what is enough.
    table, plot : pathlib.Path or None
        Where what was tried goes.
    quiet : bool
    as_json : bool
        Whether results are told as JSON, also where it is quiet.

    Returns
    -------
    model, bool
        The fitted model, and whether the search was interrupted.
    """
    check_writable(job.out)
    if job.offset is not None:
        raise ValueError("--offset is for qtkm fit; fit with the parameters of a search without it")
    _check_files(table, plot)
    seed, shown = parameters["random_state"], bool(parameters["verbose"])
    rows = open_rows(job, seed, in_blocks=False, quiet=quiet, shown=shown)
    model = make_model(rows.survey, parameters)
    begin = perf_counter()
    sample, n_train = rows.sample(most_rows(max_rows, len(rows.survey.features) + 1), seed)
    if len(sample[1]) < FEWEST_ROWS:
        raise ValueError(
            f"{name_of(job.data)} leaves {len(sample[1])} rows to choose parameters by; at least "
            f"{FEWEST_ROWS} are needed, or use qtkm fit"
        )
    # nothing comes between a search, its fit and their files
    with interruption.deferred(lambda: leave(job.out)):
        search, was_interrupted = _search(model, sample, settings, rows.survey.task)
        search_seconds = perf_counter() - begin
        _write(search, table, plot)
        if was_interrupted:
            note(
                f"Interrupted when {_tried(search)} had been tried; a model with the best "
                "parameters so far is fitted now"
            )
        begin = perf_counter()
        best = clone(model).set_params(**search.best_params_)
        _fit(rows, best, search)
        seconds = perf_counter() - begin
        save_model(best, job.out)
    if as_json or not quiet:
        value = None if search.scoring is None else rows.score_by(search.scorer_, best)
        lines = _describe(search, search_seconds, value)
        if len(sample[1]) < n_train:
            drawn = f"{len(sample[1]):,} of {n_train:,}, drawn at random (--max-rows)"
            lines.insert(1, ("rows of the search", drawn))
        tell_fit(best, rows, seconds, job.out, as_json, lines, search=_facts(search, value))
    edges = None if was_interrupted or quiet else remark_on_edges(search)
    if edges is not None:
        note(edges)
    return best, was_interrupted


def _search(model: Any, sample: Any, settings: dict[str, Any], task: str) -> tuple[Any, bool]:
    """Search for the best parameters; return the search and whether it was interrupted."""
    settings = settings | {"cv": _shuffled(settings, task, len(sample[1]))}
    kind = QTKMClassifierCV if task == "classification" else QTKMRegressorCV
    search = kind(model, **settings, refit=False, verbose=model.verbose)
    with warnings.catch_warnings(record=True) as caught, refused_unless_savable():
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.filterwarnings("ignore", CLASS_WARNING, UserWarning)
        search.fit(*sample)
    was_interrupted = False
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            was_interrupted = True
        else:
            note(f"{warning.message}")
    return search, was_interrupted


def _fit(rows: Any, model: Any, search: Any) -> None:
    """Fit the chosen model; if that is interrupted before it has begun, tell the choice."""
    try:
        rows.fit(model)
    except KeyboardInterrupt:
        note(f"Interrupted before the last fit had begun; chosen: {_chosen(search)}")
        raise


def _check_files(table: Path | None, plot: Path | None) -> None:
    """Refuse what cannot be written, before anything takes long."""
    if table is not None:
        kind_of(table)
        check_writable(table, makes_folder=True)
    if plot is not None:
        check_plots(plot.parent)
        check_writable(plot, makes_folder=True)


def _shuffled(settings: dict[str, Any], task: str, n_rows: int) -> Any:
    """Folds of rows at random: a table may be sorted."""
    cv, sample = settings["cv"], settings["sample_rows"]
    if cv is None and n_rows <= (SAMPLE_ROWS if isinstance(sample, str) else sample):
        cv = FOLDS
    if not isinstance(cv, int):
        return cv
    if cv < 2:
        raise ValueError(f"--cv {cv} must be at least 2 folds, a share of the rows, or hold-out")
    kind = StratifiedKFold if task == "classification" else KFold
    return kind(cv, shuffle=True, random_state=settings["random_state"])


def _write(search: Any, table: Path | None, plot: Path | None) -> None:
    if table is not None:
        import pandas

        frame = pandas.DataFrame({k: v for k, v in search.cv_results_.items() if k != "params"})
        write_table(frame.sort_values("rank_test_score"), table)
    if plot is not None:
        from matplotlib.figure import Figure

        name = name_score(search)
        display = SearchDisplay(search.cv_results_, search.best_index_, score_name=name)
        # without pyplot, so that nothing depends on a screen
        figure = Figure(figsize=display.figure_size, layout="constrained")
        display.plot(figure.subplots())
        plot.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(plot, dpi=DOTS)


def _describe(search: Any, seconds: float, value: float | None) -> list[tuple[str, str]]:
    results = search.cv_results_
    finished = int(results["finished"].sum())
    # only of the scores that are meant by default is it known that 1 is the best
    told = score if search.scoring is None else readable
    on_test_rows = [] if value is None else [(f"{search.scoring} on test rows", told(value))]
    return [
        ("tried", f"{_tried(search)}, {finished} to the end, in {seconds:.1f} s"),
        ("chosen", _chosen(search)),
        (f"{name_score(search)} in the search", told(search.best_score_)),
        *on_test_rows,
        ("found", search.message_),
    ]


def _chosen(search: Any) -> str:
    return ", ".join(
        f"{name} {readable(value, 3)}" if isinstance(value, float) else f"{name} {value}"
        for name, value in search.best_params_.items()
    )


def _tried(search: Any) -> str:
    """How many candidates were tried, of those that were to be tried."""
    tried = int((search.cv_results_["round"] > 0).sum())
    count = len(search.cv_results_["params"])
    return f"{tried} candidates" if tried == count else f"{tried} of {count} candidates"


def _facts(search: Any, value: float | None) -> dict[str, Any]:
    return {
        "n_candidates": len(search.cv_results_["params"]),
        "n_tried": int((search.cv_results_["round"] > 0).sum()),
        "parameters": {name: plain(value) for name, value in search.best_params_.items()},
        "scoring": search.scoring,
        "message": search.message_,
        "score": plain(search.best_score_),
        "score_on_test_rows": plain(value),
    }


#: options of the command line with lists of what is tried, and how to go on beyond their ends
OPTIONS = {
    "rank": ("--ranks", 2),
    "n_basis": ("--n-basis", 2),
    "period": ("--periods", 2),
    "alpha": ("--alphas", 10),
}


def remark_on_edges(search: Any) -> str | None:
    """Return a remark on parameters whose best value is the largest or smallest tried.

    Parameters
    ----------
    search : QTKMRegressorCV or QTKMClassifierCV
        After its end.

    Returns
    -------
    str or None
        None if every parameter has a better value than both ends, or only one value.
    """
    told: list[str] = []
    options: list[str] = []
    for name, (option, factor) in OPTIONS.items():
        values = sorted(set(search.cv_results_.get(f"param_{name}", ())))
        if len(values) < 2:
            continue
        best = search.best_params_[name]
        if best == values[-1]:
            end, listed = "largest", [best, best * factor]
        elif best == values[0]:
            end, listed = "smallest", [_smaller(best, factor, name), best]
        else:
            continue
        if listed[0] < listed[1]:
            told.append(f"the best {name}, {best:g}, {'is ' * (not told)}the {end}"
                        f"{' that was tried' * (not told)}")  # fmt: skip
            options.append(f"{option} {listed[0]:g},{listed[1]:g}")
    return f"{', '.join(told)}; {' '.join(options)} may be better" if told else None


def _smaller(value: Any, factor: int, name: str) -> Any:
    if name == "alpha":
        return value / factor
    return max(1, value // factor if isinstance(value, int) else value / factor)
