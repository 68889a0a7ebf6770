"""What ``qtkm fit`` and ``qtkm evaluate`` do: read, fit, save, score, and tell about it."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from .. import load
from .models import describe_fit, make_model, save_model
from .output import note, show
from .reading import is_large, is_many, open_table, read_rows, text_columns
from .scoring import scores
from .splitting import split_rows
from .streaming import fit_streamed, score_rows
from .tables import check_writable
from .task import find_categories, find_names, find_task, remark_on_names


def fit(
    data: Path,
    target: str,
    out: Path,
    *,
    task: str,
    drop: Sequence[str],
    weight: str | None,
    test_size: float,
    parameters: dict[str, Any],
    quiet: bool,
    category: Sequence[str] = (),
    cache: Path | None = None,
) -> Any:
    """Fit a model to a table, score it on rows set aside, save it.

    Parameters
    ----------
    data, out : pathlib.Path
        The table, and where the model goes.
    target : str
        Column to predict.
    task : {"auto", "regression", "classification"}
    drop : sequence of str
        Columns to leave out.
    weight : str or None
        Column of row weights.
    test_size : float
        Share of rows to test on.
    parameters : dict
        Of the estimator; with `memory_limit` the table is read block by block.
    quiet : bool
    category : sequence of str
        Columns of categories, beside those of text.
    cache : pathlib.Path or None
        Folder in which coded rows are kept; with one, the table is read block by block.

    Returns
    -------
    The fitted model; `status_` tells whether it was interrupted.
    """
    check_writable(out)
    asked_for = cache is not None or parameters.get("memory_limit") is not None or is_many(data)
    if asked_for or is_large(data):
        if not asked_for and not quiet:
            note(f"{data} is large for the memory of this machine and read block by block")
        return fit_streamed(
            data, target, out, task=task, drop=drop, weight=weight, test_size=test_size,
            parameters=parameters, quiet=quiet, category=category, cache=cache,
        )  # fmt: skip
    X, y, weights = read_rows(data, target, weight, drop, category)
    for name, count in [] if quiet else find_names(X):
        note(remark_on_names(name, f"{count:,}", len(X)))
    task = find_task(y) if task == "auto" else task
    model = make_model(task, find_categories(X, category), parameters)
    train, test = split_rows(y, test_size, task, parameters["random_state"])
    begin = perf_counter()
    with warnings.catch_warnings():
        # said by whoever asked for the fit, from the model's status
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X.iloc[train], y.iloc[train], None if weights is None else weights[train])
    seconds = perf_counter() - begin
    save_model(model, out)
    if not quiet:
        lines = describe_fit(model, task, len(train), seconds)
        if len(test):
            held = None if weights is None else weights[test]
            lines += scores(model, X.iloc[test], y.iloc[test], held)
        show(f"{out}", lines)
    return model


def evaluate(model_file: Path, data: Path, target: str, shown: bool = False) -> None:
    """Print the scores of a model on the rows of a table.

    Parameters
    ----------
    model_file, data : pathlib.Path
        Data may be a folder or a pattern.
    target : str
        Column of the truth.
    shown : bool
        Whether progress is shown.
    """
    model = load(model_file)
    source = open_table(data, text_columns(model))
    sums = score_rows(model, source, target, data, None, shown)
    if sums.n_rows == 0:
        raise ValueError(f"{data} has no row with a target")
    show(f"{model_file}", sums.lines())
