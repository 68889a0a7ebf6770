"""From what a user passes to a source: files, arrays, or batches that a program gives."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..shards import blocks
from .conversion import DataFileError, refuse_missing, refuse_repeated
from .files import FileSource, Stamp, combine, find_files
from .source import Chunk, Source


def open_source(source: Any) -> Source:
    """Open rows that need not fit in memory.

    Parameters
    ----------
    source : path-like, list of these, batches, arrays or Source
        A CSV or Parquet file; a folder, of which all such files below are read in the order of
        their names; a pattern such as "data/*.parquet"; a list of these. Or batches of rows: a
        list of frames (pandas, polars), tables or record batches (pyarrow) or dicts of columns, an
        object that gives such batches whenever it is iterated, or a function that returns a
        fresh iterator of them; one frame or table by itself; an array X, or a tuple of arrays
        (X, y) or (X, y, weight), memory maps included. A `Source` is returned as it is.

    Returns
    -------
    Source

    Raises
    ------
    FileNotFoundError
        If a file or folder is not there.
    DataFileError
        If a file is damaged, empty, or of another format than the others. A ValueError.
    TypeError
        For an iterator that can be read only once, and for anything else.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, str | os.PathLike):
        return FileSource(*find_files([source]))
    if isinstance(source, np.ndarray):
        return ArraySource(source)
    if isinstance(source, tuple) and source and isinstance(source[0], np.ndarray):
        return ArraySource(*source)
    if _pairs(source) is not None:
        return BatchSource([source])
    if isinstance(source, list | tuple):
        is_path = [isinstance(entry, str | os.PathLike) for entry in source]
        if all(is_path):
            return FileSource(*find_files(source))
        if any(is_path):
            raise TypeError("The list mixes paths and batches; pass paths only, or batches only.")
        return BatchSource(source)
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):
        raise TypeError(
            f"The source is a {type(source).__name__}, which holds no rows yet; write it to a "
            "Parquet file (sink_parquet), or pass source.collect()."
        )
    if hasattr(source, "files") and hasattr(source, "to_batches"):
        raise TypeError(
            "The source is a dataset of pyarrow, which reads ahead as much as it likes; pass its "
            "list of files, source.files."
        )
    if callable(source) or isinstance(source, Iterable):
        return BatchSource(source)
    raise TypeError(
        f"The source is a {type(source).__name__}; expected a path, a folder, a pattern, a list "
        "of files, batches of rows, or arrays (X, y)."
    )


class ArraySource(Source):
    """Rows of arrays, which may be memory maps of files larger than memory.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    y : array of shape (n_rows,) or (n_rows, n_outputs), optional
    weight : array of shape (n_rows,), optional
    names : sequence of str, optional
        Of the columns of X; "x0", "x1", … by default.

    Attributes
    ----------
    features : list of str
        Names of the columns of X.
    target : list of str
        "y", or "y0", "y1", … where y has two dimensions; empty without y.
    weight : str or None
        "weight", or None without weights.
    """

    def __init__(
        self, X: Any, y: Any = None, weight: Any = None, names: Sequence[str] | None = None
    ):
        X = _as_array(X, "X", 2)
        self.features = [f"x{d}" for d in range(X.shape[1])] if names is None else list(names)
        if len(self.features) != X.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns, but {len(self.features)} names.")
        self._arrays: list[tuple[list[str], NDArray]] = [(self.features, X)]
        self.target: list[str] = []
        if y is not None:
            y = _as_array(y, "y", 1, 2)
            self.target = ["y"] if y.ndim == 1 else [f"y{k}" for k in range(y.shape[1])]
            self._arrays.append((self.target, y.reshape(len(y), -1)))
        self.weight = None if weight is None else "weight"
        if weight is not None:
            self._arrays.append((["weight"], _as_array(weight, "weight", 1).reshape(-1, 1)))
        self.names, self.n_rows = [name for own, _ in self._arrays for name in own], len(X)
        refuse_repeated("X with y and weights", self.names)
        for columns, array in self._arrays:
            if len(array) != self.n_rows:
                raise ValueError(f"X has {self.n_rows} rows, but {columns[0]!r} has {len(array)}.")
        if self.n_rows == 0:
            raise ValueError("X has no rows.")
        # none unless all arrays are memory maps
        files = [getattr(array, "filename", None) for _, array in self._arrays]
        self._stamps = [Stamp.of(Path(file)) for file in files if file] if all(files) else []
        self.paths = sorted({stamp.path for stamp in self._stamps})

    def fingerprint(self) -> str | None:
        return combine(self._stamps) if self._stamps else None

    def refuse_changes(self) -> None:
        for stamp in self._stamps:
            stamp.refuse_changes()

    def _chunks(self, wanted: Sequence[str], coded: set[str], rows: int) -> Iterator[Chunk]:
        for begin, end in blocks(len(self._arrays[0][1]), rows):
            values: dict[str, Any] = {}
            for names, array in self._arrays:
                if not set(wanted).isdisjoint(names):  # a copy, so that no block holds on to a file
                    part = np.array(array[begin:end], order="F", subok=False)
                    values |= zip(names, part.T, strict=True)
            yield values, end - begin, f"rows {begin + 1:,} to {end:,}"


def _as_array(values: Any, what: str, *dimensions: int) -> NDArray:
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.ndim not in dimensions:
        expected = " or ".join(map(str, dimensions))
        raise ValueError(f"{what} has {array.ndim} dimensions; expected {expected}.")
    return array


class BatchSource(Source):
    """Rows of batches: frames of pandas or polars, tables of pyarrow, or dicts of columns.

    Parameters
    ----------
    batches : iterable of batches, or function that returns one
        Each iteration must start anew.
    """

    _last: Any = None

    def __init__(self, batches: Iterable[Any] | Callable[[], Iterable[Any]]):
        self._batches = batches
        try:
            first = next(self._start())
        except StopIteration:
            raise DataFileError("No batches were given; pass at least one.") from None
        self.names = list(as_columns(first, "batch 1")[0])
        if isinstance(batches, list | tuple):
            counts = [as_columns(batch, f"batch {k + 1}")[1] for k, batch in enumerate(batches)]
            self.n_rows = sum(counts)

    def _start(self) -> Iterator[Any]:
        given = self._batches if isinstance(self._batches, Iterable) else self._batches()
        iterator = iter(given)
        if iterator is self._batches or iterator is self._last:
            raise TypeError(
                f"The source is a {type(iterator).__name__}, which can be read only once, but at "
                "least two scans are needed. Pass a list of batches, an object whose __iter__ "
                "starts anew, or a function without arguments that returns a fresh iterator."
            )
        self._last = iterator  # to tell it from the next one
        return iterator

    def _chunks(self, wanted: Sequence[str], coded: set[str], rows: int) -> Iterator[Chunk]:
        for number, batch in enumerate(self._start(), start=1):
            where = f"batch {number}"
            columns, n_rows = as_columns(batch, where)
            refuse_missing(where, wanted, list(columns))
            for begin, end in blocks(n_rows, rows) if n_rows else ():
                yield {n: _cut(columns[n], begin, end) for n in wanted}, end - begin, where


def _cut(values: Any, begin: int, end: int) -> Any:
    """Return consecutive entries of an array, a list, or a column of any library."""
    if hasattr(values, "iloc"):
        return values.iloc[begin:end]
    if hasattr(values, "slice"):  # pyarrow and polars
        return values.slice(begin, end - begin)
    return values[begin:end]


def as_columns(batch: Any, where: str) -> tuple[dict[str, Any], int]:
    """Return the columns of a batch by name, and its number of rows."""
    pairs = _pairs(batch)
    if pairs is None:
        raise TypeError(
            f"{where} is a {type(batch).__name__}; expected a frame of pandas or polars, a table "
            "or record batch of pyarrow, or a dict of columns."
        )
    if not pairs:
        raise DataFileError(f"{where} has no columns.")
    refuse_repeated(where, [name for name, _ in pairs])
    for name, values in pairs:
        if not isinstance(values, Sized) or isinstance(values, str | bytes):
            raise DataFileError(
                f"column {name!r} of {where} is {values!r:.60}; expected an array or a list of "
                "values."
            )
    n_rows = len(pairs[0][1])
    for name, values in pairs:
        if len(values) != n_rows:
            raise DataFileError(
                f"{where} has {n_rows:,} rows in column {pairs[0][0]!r} and {len(values):,} in "
                f"{name!r}."
            )
    return dict(pairs), n_rows


def _pairs(batch: Any) -> list[tuple[str, Any]] | None:
    """Names and columns of a batch; None for what is none."""
    if isinstance(batch, Mapping):
        return [(str(name), values) for name, values in batch.items()]
    if hasattr(batch, "iloc") and hasattr(batch, "columns"):
        return [(str(name), batch.iloc[:, d]) for d, name in enumerate(batch.columns)]
    if hasattr(batch, "get_columns") and hasattr(batch, "columns"):
        return [(series.name, series) for series in batch.get_columns()]
    if hasattr(batch, "column_names") and hasattr(batch, "column"):
        return [(name, batch.column(d)) for d, name in enumerate(batch.column_names)]
    return None
