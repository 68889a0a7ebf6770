"""Rows that a program gives in batches: frames, tables or dicts of columns."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from typing import Any

from ..shards import blocks
from .conversion import cut
from .errors import DataFileError, missing_column
from .source import Chunk, Source


class BatchSource(Source):
    """Rows of batches.

    Parameters
    ----------
    batches : iterable of batches, or function that returns one
        Each iteration must start anew. A batch is a frame of pandas or polars, a table or record
        batch of pyarrow, or a dict of columns.
    """

    _last: Any = None

    def __init__(self, batches: Iterable[Any] | Callable[[], Iterable[Any]]):
        self._batches = batches
        iterator = self._start()
        try:
            first = next(iterator)
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
            raise TypeError(_one_shot(iterator))
        self._last = iterator  # to tell it from the next one
        return iterator

    def _chunks(self, wanted: Sequence[str], coded: set[str], rows: int) -> Iterator[Chunk]:
        for number, batch in enumerate(self._start(), start=1):
            where = f"batch {number}"
            columns, n_rows = as_columns(batch, where)
            for name in wanted:
                if name not in columns:
                    raise missing_column(where, name, list(columns))
            for begin, end in blocks(n_rows, rows) if n_rows else ():
                part = {name: cut(columns[name], begin, end) for name in wanted}
                yield part, end - begin, where


def is_batch(value: Any) -> bool:
    """Whether a value is one batch by itself."""
    return (
        isinstance(value, Mapping)
        or ((hasattr(value, "iloc") or hasattr(value, "get_columns")) and hasattr(value, "columns"))
        or (hasattr(value, "column_names") and hasattr(value, "column"))
    )


def as_columns(batch: Any, where: str) -> tuple[dict[str, Any], int]:
    """Columns of a batch by name, and its number of rows.

    Parameters
    ----------
    batch : frame, table or dict
    where : str
        What it is called in messages.
    """
    pairs = list(_pairs(batch, where))
    columns = dict(pairs)
    if not columns:
        raise DataFileError(f"{where} has no columns.")
    if len(columns) < len(pairs):
        names = [name for name, _ in pairs]
        name = next(name for name in names if names.count(name) > 1)
        raise DataFileError(f"{where} has several columns of the name {name!r}; rename them.")
    counts = {name: _length(values, name, where) for name, values in pairs}
    n_rows = next(iter(counts.values()))
    for name, count in counts.items():
        if count != n_rows:
            raise DataFileError(
                f"{where} has {n_rows:,} rows in column {pairs[0][0]!r} and {count:,} in {name!r}."
            )
    return columns, n_rows


def _pairs(batch: Any, where: str) -> Iterable[tuple[str, Any]]:
    if isinstance(batch, Mapping):
        return ((str(name), values) for name, values in batch.items())
    if hasattr(batch, "iloc") and hasattr(batch, "columns"):
        return ((str(name), batch.iloc[:, d]) for d, name in enumerate(batch.columns))
    if hasattr(batch, "get_columns"):
        return ((series.name, series) for series in batch.get_columns())
    if hasattr(batch, "column_names") and hasattr(batch, "column"):
        return ((name, batch.column(d)) for d, name in enumerate(batch.column_names))
    raise TypeError(
        f"{where} is a {type(batch).__name__}; expected a frame of pandas or polars, a table or "
        "record batch of pyarrow, or a dict of columns."
    )


def _length(values: Any, name: str, where: str) -> int:
    if not isinstance(values, Sized) or isinstance(values, str | bytes):
        raise DataFileError(
            f"column {name!r} of {where} is {values!r:.60}; expected an array or a list of values."
        )
    return len(values)


def _one_shot(given: Any) -> str:
    return (
        f"The source is a {type(given).__name__}, which can be read only once, but at least two "
        "scans are needed. Pass a list of batches, an object whose __iter__ starts anew, or a "
        "function without arguments that returns a fresh iterator."
    )
