"""What ``qtkm tune`` does: read, search, save, and tell what was tried."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, StratifiedKFold

from ..selection import QTKMClassifierCV, QTKMRegressorCV, SearchDisplay
from ..selection.folds import FOLDS
from ..selection.search import SAMPLE_ROWS
from .models import describe_fit, make_model, save_model
from .output import note, show
from .plots import check_plots
from .reading import read_rows
from .scoring import scores
from .splitting import split_rows
from .tables import check_writable, kind_of, write_table
from .task import find_categories, find_task

#: dots an inch of the plot
DOTS = 120


def tune(
    data: Path,
    target: str,
    out: Path,
    *,
    task: str,
    drop: Sequence[str],
    category: Sequence[str],
    weight: str | None,
    test_size: float,
    parameters: dict[str, Any],
    settings: dict[str, Any],
    table: Path | None,
    plot: Path | None,
    quiet: bool,
) -> bool:
    """Choose the parameters of a model by the rows of a table, fit it, score it and save it.

    Parameters
    ----------
    data, target, out, task, drop, category, weight, test_size, quiet
        As of `qtkm.cli.jobs.fit`.
    parameters, settings : dict
        Of the estimator, and of the search.
    table, plot : pathlib.Path or None
        Where what was tried goes.

    Returns
    -------
    bool
        Whether the search was interrupted.
    """
    check_writable(out)
    _check_files(table, plot)
    X, y, weights = read_rows(data, target, weight, drop, category)
    task = find_task(y) if task == "auto" else task
    model = make_model(task, find_categories(X, category), parameters)
    train, test = split_rows(y, test_size, task, parameters["random_state"])
    settings = settings | {"cv": _shuffled(settings, task, len(train))}
    kind = QTKMClassifierCV if task == "classification" else QTKMRegressorCV
    search = kind(model, **settings)
    begin = perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        held = None if weights is None else weights[train]
        search.fit(X.iloc[train], y.iloc[train], held)
    seconds = perf_counter() - begin
    save_model(search, out)
    _write(search, table, plot)
    was_interrupted = False
    for warning in caught:
        was_interrupted |= issubclass(warning.category, ConvergenceWarning)
        note(f"{warning.message}")
    if not quiet:
        lines = _describe(search, seconds)
        best = search.best_estimator_
        lines += describe_fit(best, task, len(train), search.refit_time_)
        if len(test):
            held = None if weights is None else weights[test]
            lines += scores(best, X.iloc[test], y.iloc[test], held)
        show(f"{out}", lines)
    return was_interrupted


def _check_files(table: Path | None, plot: Path | None) -> None:
    """Refuse what cannot be written, before anything takes long."""
    if table is not None:
        kind_of(table)
        check_writable(table)
    if plot is not None:
        check_plots(plot.parent)
        check_writable(plot)


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

        display = SearchDisplay(search.cv_results_, search.best_index_)
        # without pyplot, so that nothing depends on a screen
        figure = Figure(figsize=display.figure_size, layout="constrained")
        display.plot(figure.subplots())
        plot.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(plot, dpi=DOTS)


def _describe(search: Any, seconds: float) -> list[tuple[str, str]]:
    results = search.cv_results_
    chosen = ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in search.best_params_.items()
    )
    tried, finished = len(results["params"]), int(results["finished"].sum())
    return [
        ("tried", f"{tried} candidates, {finished} to the end, in {seconds:.1f} s"),
        ("chosen", chosen),
        ("score of the folds", f"{search.best_score_:.4f}"),
    ]
