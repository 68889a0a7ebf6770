"""What the commands do: read, fit, save, predict, score, and print a table about it."""

import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from shlex import quote
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from .. import load
from ..estimators import QTKMClassifier, QTKMRegressor
from .output import note, show
from .scoring import scores
from .tables import check_writable, choose, kind_of, read_table, write_table
from .task import (
    find_categories,
    find_names,
    find_task,
    refuse_missing,
    refuse_mixed,
    refuse_times,
)


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
    category : sequence of str
        Columns of categories, beside those of text.

    Returns
    -------
    The fitted model; `status_` tells whether it was interrupted.
    """
    check_writable(out)
    X, y, weights = _read(data, target, weight, drop, category)
    if not quiet:
        for name, count in find_names(X):
            note(
                f"column {name!r} has {count:,} different texts in {len(X):,} rows; if they name "
                f"the rows, they teach nothing: leave them out, --drop {quote(name)}"
            )
    if task == "auto":
        refuse_mixed(y, "the target", "or say --task classification if these are classes")
        task = find_task(y)
    model = _make(task, X, parameters, category)
    train, test = _split(len(y), y, test_size, task, parameters["random_state"])
    begin = perf_counter()
    with warnings.catch_warnings():
        # said by whoever asked for the fit, from the model's status
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X.iloc[train], y.iloc[train], None if weights is None else weights[train])
    seconds = perf_counter() - begin
    _save(model, out)
    if not quiet:
        lines = _training(model, task, len(train), X.shape[1], seconds)
        if len(test):
            held = None if weights is None else weights[test]
            lines += scores(model, X.iloc[test], y.iloc[test], held)
        show(f"{out}", lines)
    return model


def _read(
    data: Path, target: str, weight: str | None, drop: Sequence[str], category: Sequence[str]
) -> tuple[Any, Any, Any]:
    """Features, target and weights of the rows that have a target."""
    if weight == target:
        raise ValueError(f"{target!r} is given as target and as weight; name two columns")
    frame = read_table(data)
    needed = [target] if weight is None else [target, weight]
    choose(frame, [*needed, *drop, *category], data)
    frame = frame.dropna(subset=needed)
    if len(frame) < 2:
        raise ValueError(f"{data} has {len(frame)} rows with a target; at least 2 are needed")
    X = frame.drop(columns=[*needed, *drop])
    if X.shape[1] == 0:
        raise ValueError(f"{data} has no column left to predict {target!r} from")
    plain = X.drop(columns=list(category), errors="ignore")
    refuse_times(plain)
    refuse_missing(plain, data, "these rows or the column, --drop {}")
    for name in plain.columns:
        refuse_mixed(
            plain[name], "column", f"leave the column out, --drop {quote(name)}, or take all "
            f"its values for categories, --category {quote(name)}",
        )  # fmt: skip
    return X, frame[target], None if weight is None else frame[weight].to_numpy()


def _save(model: Any, out: Path) -> None:
    """Save a model; where that fails, elsewhere, for its fit may have taken long."""
    try:
        model.save(out)
    except OSError as error:
        rescue = Path(tempfile.mkdtemp(prefix="qtkm-")) / out.name
        model.save(rescue)
        raise OSError(
            f"{out} was not written ({error.strerror}); the model is in {rescue}"
        ) from None


def _make(task: str, X: Any, parameters: dict[str, Any], category: Sequence[str]) -> Any:
    categories = [name for name in X.columns if name in {*find_categories(X), *category}]
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
    if task != "classification":
        return tuple(train_test_split(rows, test_size=test_size, random_state=seed))
    # the only row of a class is one to train on: tested on, it would be a label not known
    alone = (y.map(y.value_counts()) < 2).to_numpy(dtype=bool)
    rest = rows[~alone]
    if len(rest) < 5:
        return rows, rows[:0]
    options = {"test_size": test_size, "random_state": seed}
    try:
        train, test = train_test_split(rest, stratify=y.iloc[rest], **options)
    except ValueError:  # fewer test rows than classes
        return rows, rows[:0]
    return np.sort(np.concatenate([train, rows[alone]])), test


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
        check_writable(out)
    model = load(model_file)
    X = features(model, data)
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
    X, y = features(model, data, target)
    show(f"{model_file}", scores(model, X, y))


def features(model: Any, path: Path, target: str | None = None) -> Any:
    """The model's columns of a table, and its target if asked for.

    Parameters
    ----------
    model : estimator
    path : pathlib.Path
    target : str, optional
        Rows without it are left out.

    Returns
    -------
    X, or (X, y)
    """
    names = getattr(model, "feature_names_in_", None)
    more = [] if target is None else [target]
    frame = read_table(path, None if names is None else list(dict.fromkeys([*names, *more])))
    choose(frame, more, path)
    if target is not None:
        frame = frame.dropna(subset=[target])
        if len(frame) == 0:
            raise ValueError(f"{path} has no row with a target")
    X = frame.drop(columns=more) if names is None else frame[list(names)]
    for column in model.columns_:
        name = column["name"]
        if column["categories"] is None and name in X.columns:
            _refuse_text(X[name], path)
    numbers = [c["name"] for c in model.columns_ if c["categories"] is None]
    refuse_missing(X[[name for name in numbers if name in X.columns]], path, "these rows")
    return X if target is None else (X, frame[target])


def _refuse_text(column: Any, path: Path) -> None:
    """Raise a ValueError for text where the model expects numbers."""
    import pandas

    if getattr(column.dtype, "kind", "O") in "biuf":
        return
    strange = column[pandas.to_numeric(column, errors="coerce").isna() & column.notna()]
    example = (column if strange.empty else strange).iloc[0]
    raise ValueError(
        f"{path} has text such as {example!r:.40} in column {column.name!r}, where the model "
        "expects numbers"
    )
