"""Predictions from disk to disk: tables of any length, a block of rows at a time."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from ..data.sources import Block, Source, open_source
from ..data.sources.errors import DataFileError, need
from ..data.sources.writing import TableWriter
from ..limits import LIMITS
from .uncertainty import check_coverage, half_widths


class PredictsDatasets:
    """An estimator that predicts tables which do not fit in memory."""

    def predict_dataset(
        self,
        source: Any,
        out: str | os.PathLike[str],
        *,
        columns: Sequence[str] | None = None,
        keep: Sequence[str] = (),
        proba: bool = False,
        std: bool = False,
        interval: float | None = None,
        offset: str | None = None,
    ) -> int:
        """Predict the rows of a table of any length, from a file to a file.

        Parameters
        ----------
        source : path-like, list of these, batches or Source
            A CSV or Parquet file, a folder of such files, a pattern, a list of files, frames or
            other batches of rows: what `qtkm.data.sources.open_source` takes.
        out : path-like
            CSV or Parquet file to write, by its name. It is there as a whole in the end, or it is
            as before; it must not be one of the files that are read.
        columns : sequence of str, optional
            The columns to predict from, in the order of those of the fit. By default those with
            the names that the fit saw; where it saw none, all columns but those of `keep`.
        keep : sequence of str
            Columns of the source to carry along, before the predictions.
        proba : bool
            Probabilities of the classes instead of their labels.
        std : bool
            Add standard deviations of new observations: the column "std" ("std 0", …).
        interval : float, optional
            Add intervals of this coverage: the columns "lower" and "upper" ("lower 0", …; with
            `proba` "lower probability of …").
        offset : str, optional
            Column of offsets, as in `fit` of a regressor.

        Returns
        -------
        int
            Number of rows written.

        Raises
        ------
        DataFileError
            If a file is damaged, lacks a column, or changes meanwhile. A ValueError.
        OSError
            If the predictions cannot be written.

        Notes
        -----
        The predictions are those of `predict` or `predict_proba` for the whole table, bit for
        bit, in the columns "prediction" ("prediction 0", "prediction 1", … with several outputs)
        or "probability of …".  Memory holds one block of rows at a time.  With `verbose` a bar
        shows the progress.
        """
        check_is_fitted(self)
        keep = [keep] if isinstance(keep, str) else list(keep)
        table = open_source(source)
        features = find_features(self, table, columns, keep)
        predict = predictor(self, proba, keep, std, interval, offset is not None)
        bar = tqdm(
            total=table.expected_rows(), desc="predict", unit=" rows", unit_scale=True,
            disable=not getattr(self, "verbose", 0),
        )  # fmt: skip
        n_rows = 0
        with bar, TableWriter(out, avoid=table.paths) as writer:
            names = list(dict.fromkeys([*features, *([] if offset is None else [offset])]))
            pieces = _pieces(self, table.blocks(names, carry=keep), features, offset)
            for X, carried, where, shift in _in_step(pieces):
                writer.write(_beside(carried, predict(X, where, shift)))
                n_rows += len(X)
                bar.update(len(X))
            table.refuse_changes()
        return n_rows


def find_features(
    model: Any, table: Source, columns: Sequence[str] | None, keep: Sequence[str]
) -> list[str]:
    """Columns of a source that a fitted model predicts from, in its order."""
    n_columns, names = model.n_features_in_, getattr(model, "feature_names_in_", None)
    if columns is not None:
        found, what = list(columns), "columns names"
    elif names is not None:
        found, what = [str(name) for name in names], ""
    else:
        found, what = [name for name in table.names if name not in keep], "the source has"
    if len(found) != n_columns:
        rest = "" if columns is not None or not keep else " beside those of keep"
        raise ValueError(
            f"{what} {len(found)} columns{rest}, but the model was fitted to {n_columns}; name "
            f"{n_columns} with columns=[…], in the order of the fit."
        )
    return found


# -- rows in ----------------------------------------------------------------------------------

#: rows of X, columns to carry along as a pyarrow table or None, their place, offsets or None
_Piece = tuple[Any, Any, str, Any]


def _pieces(
    model: Any, blocks: Iterator[Block], features: Sequence[str], offset: str | None = None
) -> Iterator[_Piece]:
    schema = None
    for block in blocks:
        if block.carried:
            schema = schema or _schema(block.carried)
            carried = _carry(block, schema)
        else:
            carried = None
        shift = None if offset is None else block.columns[offset]
        yield as_X(model, block, features), carried, block.where, shift


def as_X(model: Any, block: Block, features: Sequence[str]) -> Any:
    """Return the input of `predict`: a frame if the fit has seen names, an array otherwise."""
    columns = [block.columns[name] for name in features]
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        frame = need("pandas", "columns with names are held").DataFrame
        return frame(dict(zip(names, columns, strict=True)), copy=False)
    is_text = any(not isinstance(column, np.ndarray) for column in columns)
    if is_text:
        X = np.empty((len(columns[0]), len(columns)), dtype=object)
        for d, column in enumerate(columns):
            X[:, d] = column
        return X
    return np.column_stack(columns)


def _schema(carried: dict[str, Any]) -> Any:
    pyarrow = need("pyarrow", "columns are carried along")
    # what is missing at first may be text later, and text holds it all
    text = {name: pyarrow.types.is_null(array.type) for name, array in carried.items()}
    return pyarrow.schema(
        [(name, pyarrow.string() if text[name] else carried[name].type) for name in carried]
    )


def _carry(block: Block, schema: Any) -> Any:
    pyarrow = need("pyarrow", "columns are carried along")
    arrays = []
    for field in schema:
        array = block.carried[field.name]
        try:
            arrays.append(array.cast(field.type))
        except (ValueError, pyarrow.ArrowException) as error:
            raise DataFileError(
                f"column {field.name!r} of keep is {array.type} in {block.where} and {field.type} "
                f"before, which cannot hold it ({error}); make it the same type everywhere."
            ) from error
    return pyarrow.table(arrays, schema=schema)


def _in_step(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """Deal the same rows out in pieces that end where `steps` end, but for the last."""
    held: list[_Piece] = []
    count = 0
    for piece in pieces:
        fill = min(-count % LIMITS.predict_rows, len(piece[0]))
        if count:
            held.append(_cut(piece, 0, fill))
            count += fill
            if count < LIMITS.predict_rows:
                continue
            yield _join(held)
            held, count = [], 0
        end = fill + (len(piece[0]) - fill) // LIMITS.predict_rows * LIMITS.predict_rows
        if end > fill:
            yield _cut(piece, fill, end)
        if end < len(piece[0]):
            held, count = [_cut(piece, end, len(piece[0]))], len(piece[0]) - end
    if held:
        yield _join(held)


def _cut(piece: _Piece, begin: int, end: int) -> _Piece:
    X, carried, where, shift = piece
    part = X.iloc[begin:end] if hasattr(X, "iloc") else X[begin:end]
    carried = None if carried is None else carried.slice(begin, end - begin)
    return part, carried, where, None if shift is None else shift[begin:end]


def _join(pieces: Sequence[_Piece]) -> _Piece:
    if len(pieces) == 1:
        return pieces[0]
    parts, tables, wheres, shifts = zip(*pieces, strict=True)
    shift = None if shifts[0] is None else np.concatenate(shifts)
    carried = None
    if tables[0] is not None:
        carried = need("pyarrow", "columns are carried along").concat_tables(tables)
    where = f"{wheres[0]} … {wheres[-1]}" if wheres[0] != wheres[-1] else wheres[0]
    if not hasattr(parts[0], "iloc"):
        return np.concatenate(parts), carried, where, shift
    columns = {name: _concatenate([part[name] for part in parts]) for name in parts[0].columns}
    return type(parts[0])(columns, copy=False), carried, where, shift


def _concatenate(columns: Sequence[Any]) -> Any:
    """One column of several; their categories may differ."""
    if all(column.dtype.kind in "biufmM" for column in columns):
        return np.concatenate([column.to_numpy() for column in columns])
    pandas = need("pandas", "columns of text are held")
    values = np.concatenate([column.astype(object).to_numpy() for column in columns])
    return pandas.Series(values, dtype=object).astype("category")


# -- predictions out --------------------------------------------------------------------------


def predictor(
    model: Any,
    proba: bool,
    keep: Sequence[str],
    std: bool = False,
    interval: float | None = None,
    has_offset: bool = False,
) -> Callable[[Any, str, Any], dict[str, NDArray]]:
    """Return a function from rows, their place and offsets to named columns of predictions."""
    try:
        method = model.predict_proba if proba else model.predict
    except AttributeError as error:  # a loss without probabilities says so in the cause
        what = error.__cause__ or f"{type(model).__name__} predicts numbers, not classes."
        raise ValueError(f"proba=True is not possible: {what}") from None
    is_classifier = hasattr(model, "classes_")
    if has_offset and (is_classifier or std or interval is not None):
        raise ValueError("offset is for predicted numbers alone; leave it or the others out.")
    if is_classifier and (std or (interval is not None and not proba)):
        wanted = "std=True is" if std else "interval without proba=True is"
        raise ValueError(f"{wanted} for numbers; use proba=True with interval=0.9 for classes.")
    if proba:
        names = [f"probability of {label}" for label in model.classes_]
    elif is_classifier or model._y_ndim == 1:
        names = ["prediction"]
    else:
        names = [f"prediction {k}" for k in range(model._reading.n_outputs)]
    widths = None
    if std or interval is not None:
        known, level = model._known_uncertainty(), check_coverage(interval or 0.5)
        widths = None if is_classifier else half_widths(known, level, "auto")

    def columns(X: Any, offset: Any) -> dict[str, NDArray]:
        if offset is not None:
            return _named(names, model.predict(X, offset))
        if widths is None and interval is None:
            return _named(names, method(X))
        if is_classifier:
            ends = model.predict_interval(X, interval)
            low, high = (_named([f"{w} {n}" for n in names], ends[..., e])
                         for e, w in enumerate(("lower", "upper")))  # fmt: skip
            return _named(names, method(X)) | low | high
        prediction, deviation = model.predict(X, return_std=True)
        found = _named(names, prediction)
        rest = [name.removeprefix("prediction") for name in names]
        if std:
            found |= _named([f"std{end}" for end in rest], deviation)
        if interval is not None:
            half = widths * deviation.reshape(len(deviation), -1)
            center = prediction.reshape(half.shape)
            found |= _named([f"lower{end}" for end in rest], center - half)
            found |= _named([f"upper{end}" for end in rest], center + half)
        return found

    taken = [f"{word}{name.removeprefix('prediction')}" for name in names
             for word in ("std", "lower", "upper")] if widths is not None else []  # fmt: skip
    for name in keep:
        if name in names or name in taken:
            raise ValueError(f"keep names {name!r}, which is a column of predictions.")

    def predict(X: Any, where: str, offset: Any = None) -> dict[str, NDArray]:
        try:
            return columns(X, offset)
        except ValueError as error:
            raise ValueError(f"{error} The rows stand in {where}.") from error

    return predict


def _named(names: Sequence[str], values: NDArray) -> dict[str, NDArray]:
    return dict(zip(names, values.reshape(len(values), -1).T, strict=True))


def _beside(carried: Any, predictions: dict[str, NDArray]) -> Any:
    pyarrow = need("pyarrow", "predictions are written")
    table = pyarrow.table({name: np.ascontiguousarray(a) for name, a in predictions.items()})
    for k, name in enumerate([] if carried is None else carried.column_names):
        table = table.add_column(k, carried.schema.field(name), carried.column(name))
    return table
