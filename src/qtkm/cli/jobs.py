"""What the commands do: read, fit, save, predict, score, and print a table about it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn import metrics
from sklearn.model_selection import train_test_split

from .. import load
from ..estimators import QTKMClassifier, QTKMRegressor
from .tables import choose, kind_of, read_table, write_table
from .task import find_categories, find_task, refuse_times


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
        Of the estimator.
    quiet : bool

    Returns
    -------
    The fitted model.
    """
    frame = read_table(data)
    needed = [target] if weight is None else [target, weight]
    choose(frame, [*needed, *drop], data)
    frame = frame.dropna(subset=needed)
    if len(frame) < 2:
        raise ValueError(f"{data} has {len(frame)} rows with a target; at least 2 are needed")
    X, y = frame.drop(columns=[*needed, *drop]), frame[target]
    if X.shape[1] == 0:
        raise ValueError(f"{data} has no column left to predict {target!r} from")
    refuse_times(X)
    task = find_task(y) if task == "auto" else task
    model = _make(task, X, parameters)
    weights = None if weight is None else frame[weight].to_numpy()
    train, test = _split(len(frame), y, test_size, task, parameters["random_state"])
    begin = perf_counter()
    model.fit(X.iloc[train], y.iloc[train], None if weights is None else weights[train])
    seconds = perf_counter() - begin
    model.save(out)
    if not quiet:
        lines = _training(model, task, len(train), X.shape[1], seconds)
        if len(test):
            held = None if weights is None else weights[test]
            lines += scores(model, X.iloc[test], y.iloc[test], held)
        _show(f"{out}", lines)
    return model


def _make(task: str, X: Any, parameters: dict[str, Any]) -> Any:
    categories = find_categories(X)
    settings = {**parameters, "categorical_features": categories or None}
    if task == "classification":
        return QTKMClassifier(**settings)
    if "loss" in settings and settings["loss"] != "squared":
        raise ValueError(
            f"loss {settings['loss']!r} is one for classes; add --task classification, or leave "
            "it out"
        )
    return QTKMRegressor(**settings)


def _split(n_rows: int, y: Any, test_size: float, task: str, seed: int) -> tuple[Any, Any]:
    """Numbers of the rows to train and to test on."""
    rows = np.arange(n_rows)
    if test_size == 0 or n_rows < 5:
        return rows, rows[:0]
    rare = task == "classification" and y.value_counts().min() < 2
    stratify = y if task == "classification" and not rare else None
    try:
        return tuple(
            train_test_split(rows, test_size=test_size, random_state=seed, stratify=stratify)
        )
    except ValueError:  # fewer test rows than classes
        return tuple(train_test_split(rows, test_size=test_size, random_state=seed))


def _training(
    model: Any, task: str, n_rows: int, n_columns: int, seconds: float
) -> list[tuple[str, str]]:
    network = type(model.network_).__name__
    lines = [
        ("task", task),
        ("rows, columns", f"{n_rows:,}, {n_columns:,}"),
        ("network", f"{network}, rank {model.rank_}"),
        ("parameters", f"{model.n_parameters_:,}"),
        ("alpha", f"{model.alpha_:.3g}"),
        ("epochs", f"{model.n_iter_} in {seconds:.1f} s ({model.status_})"),
    ]
    categorical = [column["name"] for column in model.columns_ if column["categories"] is not None]
    if categorical:
        lines.insert(2, ("categories", ", ".join(categorical)))
    return lines


def scores(model: Any, X: Any, y: Any, weight: Any = None) -> list[tuple[str, str]]:
    """Scores of a model on rows.

    Parameters
    ----------
    model : estimator
    X, y : frame and series
    weight : array or None

    Returns
    -------
    list of (name, text)
    """
    predicted = model.predict(X)
    options = {"sample_weight": weight}
    if not hasattr(model, "classes_"):
        truth = y.to_numpy(dtype=float)
        error = metrics.mean_squared_error(truth, predicted, **options)
        return [
            ("rows scored", f"{len(truth):,}"),
            ("R²", f"{metrics.r2_score(truth, predicted, **options):.4f}"),
            ("root mean squared error", f"{np.sqrt(error):.4g}"),
            ("mean absolute error",
             f"{metrics.mean_absolute_error(truth, predicted, **options):.4g}"),
        ]  # fmt: skip
    truth = y.to_numpy()
    unknown = sorted({str(label) for label in set(truth) - set(model.classes_)})
    if unknown:
        raise ValueError(f"the target has labels that the model does not know: {unknown[0]!r}")
    lines = [
        ("rows scored", f"{len(truth):,}"),
        ("accuracy", f"{metrics.accuracy_score(truth, predicted, **options):.4f}"),
    ]
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X)
        loss = metrics.log_loss(truth, proba, labels=model.classes_, **options)
        lines.append(("log-loss", f"{loss:.4f}"))
    return lines


def predict(model_file: Path, data: Path, out: Path | None, proba: bool) -> None:
    """Predict the rows of a table, to a file or to the screen.

    Parameters
    ----------
    model_file, data : pathlib.Path
    out : pathlib.Path or None
        None is CSV on the standard output.
    proba : bool
        Probabilities instead of labels.
    """
    import pandas

    if out is not None:
        kind_of(out)  # a wrong name is refused before anything takes long
    model = load(model_file)
    X = _features(model, read_table(data), data)
    if proba:
        if not hasattr(model, "predict_proba"):
            raise ValueError(f"{model_file} gives no probabilities; leave out --proba")
        names = [f"probability of {label}" for label in model.classes_]
        result = pandas.DataFrame(model.predict_proba(X), columns=names)
    else:
        predicted = np.asarray(model.predict(X))
        columns = predicted.reshape(len(predicted), -1)
        names = ["prediction"] if columns.shape[1] == 1 else [
            f"prediction {k}" for k in range(columns.shape[1])
        ]  # fmt: skip
        result = pandas.DataFrame(columns, columns=names)
    if out is None:
        result.to_csv(sys.stdout, index=False)
        sys.stdout.flush()
    else:
        write_table(result, out)


def evaluate(model_file: Path, data: Path, target: str) -> None:
    """Print the scores of a model on the rows of a table.

    Parameters
    ----------
    model_file, data : pathlib.Path
    target : str
        Column of the truth.
    """
    model = load(model_file)
    frame = read_table(data)
    choose(frame, [target], data)
    frame = frame.dropna(subset=[target])
    if len(frame) == 0:
        raise ValueError(f"{data} has no row with a target")
    _show(f"{model_file}", scores(model, _features(model, frame, data), frame[target]))


def _features(model: Any, frame: Any, path: Path) -> Any:
    """The model's columns of a table."""
    names = getattr(model, "feature_names_in_", None)
    return frame if names is None else choose(frame, list(names), path)


def _show(title: str, lines: Sequence[tuple[str, str]]) -> None:
    table = Table(title=title, show_header=False, title_justify="left")
    for name, text in lines:
        table.add_row(name, text)
    Console().print(table)
