"""Predictions from file to file: tables of any length, block by block."""

import os
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..data.sources import BLOCK_ROWS, Block, Source, open_source
from ..data.sources.conversion import DataFileError, need
from ..data.sources.files import TableWriter
from ..data.sources.source import deal
from ..limits import LIMITS
from .uncertainty import half_widths
from .working import watched


class PredictsDatasets:
    """Mixin for estimators that predict tables of any length."""

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
        """Predict the rows of a table of any length and write them to a file.

        Parameters
        ----------
        source : path-like, list of these, batches or Source
            A CSV or Parquet file, a folder of such files, a pattern, a list of files, frames or
            other batches of rows; see `qtkm.data.sources.open_source`.
        out : path-like
            CSV or Parquet file to write, by its extension. It is written completely or not at
            all, and must not be one of the input files.
        columns : sequence of str, optional
            Columns to predict from, in the order of the fit. By default those with the names of
            the fit; if it had none, all columns but those of `keep`.
        keep : sequence of str
            Columns of the source to copy to the output, before the predictions.
        proba : bool
            Write class probabilities instead of labels.
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

        Notes
        -----
        The predictions are those of `predict` or `predict_proba` for the whole table, bit for
        bit, in the columns "prediction" ("prediction 0", "prediction 1", … with several outputs)
        or "probability of …".  Memory holds one block of rows at a time; with `verbose`, a progress
        bar is shown.  Damaged or changing files raise a `qtkm.data.sources.DataFileError`.
        """
        keep, n_rows = [keep] if isinstance(keep, str) else list(keep), 0
        table = open_source(source)
        parts = predicted_tables(
            self, table, columns, keep, proba=proba, std=std, interval=interval, offset=offset
        )
        with TableWriter(out, avoid=table.paths) as writer:
            for part in parts:
                writer.write(part)
                n_rows += len(part)
            table.refuse_changes()
        return n_rows


def predicted_tables(
    model: Any,
    table: Source,
    columns: Sequence[str] | None,
    keep: Sequence[str],
    *,
    proba: bool = False,
    std: bool = False,
    interval: float | None = None,
    offset: str | None = None,
    rows: int = BLOCK_ROWS,
) -> Iterator[Any]:
    """Check the columns of a source and return an iterator of its predictions, as pyarrow tables.

    The source is read in blocks of `rows` rows; for the rest see `predict_dataset`.
    """
    check_is_fitted(model)
    features = find_features(model, table, columns, keep)
    named = _name_columns(model, keep, proba, std, interval, offset)
    widths: Any = None
    if len(named) > 1:
        level = 0.5 if interval is None else interval
        widths = half_widths(model._known_uncertainty(), level, "auto")
    names = list(dict.fromkeys([*features, *([] if offset is None else [offset])]))
    blocks = _of_one_schema(table.blocks(names, rows, keep))
    table_of = need("pyarrow", "predictions are written").table

    def predict(X: Any, shift: Any) -> dict[str, NDArray]:
        if hasattr(model, "classes_"):
            found = {"prediction": model.predict_proba(X) if proba else model.predict(X)}
            if interval is not None:
                ends = model.predict_interval(X, interval)
                found |= {"lower": ends[..., 0], "upper": ends[..., 1]}
            return found
        if widths is None:
            return {"prediction": model.predict(X, shift)}
        center, deviation = model.predict(X, return_std=True)
        half = (widths * deviation.reshape(len(X), -1)).reshape(deviation.shape)
        found = {"prediction": center, "std": deviation}
        return found | {"lower": center - half, "upper": center + half}

    def parts() -> Iterator[Any]:
        dealt = deal(blocks, _whole_steps, attrgetter("n_rows"), _cut, _join)
        for block in watched(dealt, table.expected_rows(), "predict", model.verbose):
            shift = None if offset is None else block.columns[offset]
            try:
                found = predict(as_X(model, block, features), shift)
            except ValueError as error:
                raise ValueError(f"{error} The rows are in {block.where}.") from error
            for word, own in named.items():
                values = np.atleast_2d(found[word].T)
                block.carried |= zip(own, map(np.ascontiguousarray, values), strict=True)
            yield table_of(block.carried)

    return parts()


def find_features(
    model: Any, table: Source, columns: Sequence[str] | None, keep: Sequence[str]
) -> list[str]:
    """Return the columns of a source that a fitted model predicts from, in its order."""
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
            f"{what} {len(found)} columns{rest}, but the model was fitted to {n_columns}; use "
            f"columns=[…] to select {n_columns}, in the order of the fit."
        )
    return found


def as_X(model: Any, block: Block, features: Sequence[str]) -> Any:
    """Return the input of `predict`: a frame if the fit had column names, else an array."""
    columns = [block.columns[name] for name in features]
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        frame = need("pandas", "columns with names are held").DataFrame
        return frame(dict(zip(names, columns, strict=True)), copy=False)
    kind = None if all(isinstance(column, np.ndarray) for column in columns) else object
    return np.column_stack([np.asarray(column, dtype=kind) for column in columns])


def _of_one_schema(blocks: Iterator[Block]) -> Iterator[Block]:
    """Convert the columns of `keep` to their types in the first block."""
    types: dict[str, Any] = {}
    for block in blocks:
        for name, array in block.carried.items():
            pyarrow = need("pyarrow", "columns are carried along")
            # what is missing at first may be text later, and text holds it all
            first = pyarrow.string() if pyarrow.types.is_null(array.type) else array.type
            kind = types.setdefault(name, first)
            try:
                block.carried[name] = array.cast(kind)
            except (ValueError, pyarrow.ArrowException) as error:
                raise DataFileError(
                    f"column {name!r} of keep is {array.type} in {block.where}, but {kind} before "
                    f"({error}); use the same type everywhere."
                ) from error
        yield block


def _whole_steps(n_rows: int) -> int:
    """Return the number of rows in whole steps of `run_by_steps`, bit-identical in any block."""
    step = LIMITS.predict_rows
    return max(step, n_rows // step * step)


def _cut(block: Block, begin: int, end: int) -> Block:
    columns = {name: values[begin:end] for name, values in block.columns.items()}
    carried = {name: array.slice(begin, end - begin) for name, array in block.carried.items()}
    return Block(columns, end - begin, block.first_row + begin, block.where, carried)


def _join(blocks: Sequence[Block]) -> Block:
    if len(blocks) == 1:
        return blocks[0]
    first, last = blocks[0], blocks[-1]
    columns = {n: concatenate([each.columns[n] for each in blocks]) for n in first.columns}
    join: Any = need("pyarrow", "predictions are written").concat_arrays
    carried = {n: join([each.carried[n] for each in blocks]) for n in first.carried}
    where = first.where if first.where == last.where else f"{first.where} … {last.where}"
    return Block(columns, sum(b.n_rows for b in blocks), first.first_row, where, carried)


def concatenate(columns: Sequence[Any]) -> Any:
    """Join parts of a column, whose categories may differ."""
    if all(isinstance(column, np.ndarray) for column in columns):
        return np.concatenate(columns)
    pandas = need("pandas", "columns of text are held")
    values = np.concatenate([pandas.Series(c).astype(object).to_numpy() for c in columns])
    return pandas.Series(values, dtype=object).astype("category")


def _name_columns(
    model: Any, keep: Sequence[str], proba: bool, std: bool, interval: float | None, offset: Any
) -> dict[str, list[str]]:
    """Return the columns of predictions, and of deviations and ends of intervals if wanted."""
    try:
        _ = model.predict_proba if proba else model.predict
    except AttributeError as error:  # a loss without probabilities says so in the cause
        what = error.__cause__ or f"{type(model).__name__} is not a classifier."
        raise ValueError(f"proba=True is not available: {what}") from None
    is_classifier = hasattr(model, "classes_")
    if offset is not None and (is_classifier or std or interval is not None):
        raise ValueError("offset applies only to predictions of numbers; remove offset, or proba, "
                         "std and interval.")  # fmt: skip
    if is_classifier and (std or (interval is not None and not proba)):
        wanted = "std=True is" if std else "interval without proba=True is"
        raise ValueError(f"{wanted} for regression; use proba=True with interval=0.9 for classes.")
    if proba:
        names = [f"probability of {label}" for label in model.classes_]
    elif is_classifier or model._y_ndim == 1:
        names = ["prediction"]
    else:
        names = [f"prediction {k}" for k in range(model._reading.n_outputs)]
    named = {"prediction": names}
    for word in ["std"] * std + ["lower", "upper"] * (interval is not None):
        named[word] = [f"{word} {name}" if proba else name.replace("prediction", word, 1)
                       for name in names]  # fmt: skip
    for name in keep:
        if any(name in own for own in named.values()):
            raise ValueError(f"keep contains {name!r}, the name of a column of predictions.")
    return named
