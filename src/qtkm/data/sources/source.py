"""Sources: rows of arrays, batches or files, which need not fit in memory, read again and again."""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import astuple, dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import joblib
import numpy as np
from numpy.typing import NDArray

from ..grid import mix
from ..shards import blocks
from .conversion import (
    MISSING,
    DataFileError,
    kind_of_values,
    refuse_missing,
    refuse_other_kind,
    refuse_repeated,
    to_arrow,
    to_column,
)

#: rows of a block: enough that work per block does not count, few enough that a hundred columns
#: of numbers take 100 MB
BLOCK_ROWS = 1 << 17
#: some rows as they come: columns of any library by name, number of rows, place for messages
Chunk = tuple[dict[str, Any], int, str]
Part = TypeVar("Part")
#: bytes at the end of a file that tell it from its later self
TAIL = 1 << 16


@dataclass
class Block:
    """Some consecutive rows of a source."""

    #: numbers and bools as NumPy arrays, in float64 with NaN where some are missing; dates and
    #: times as arrays of datetime64 or timedelta64; text, and dictionaries of any type, as pandas
    #: Series of categories, which may differ from block to block
    columns: dict[str, Any]
    n_rows: int
    #: number of its first row in the whole source, from 0
    first_row: int
    #: its place, for messages
    where: str
    #: columns to carry along as pyarrow arrays, of the type they have in the source
    carried: dict[str, Any] = field(default_factory=dict)
    #: which rows these are, counted from the first one, where some were left out
    rows: NDArray[np.int64] | None = None

    def number(self, row: int) -> int:
        """Return the number of a row in the whole source."""
        return self.first_row + int(row if self.rows is None else self.rows[row])


class Source:
    """Rows that need not fit in memory."""

    #: all columns
    names: list[str]
    #: number of rows, if it is known without reading them all
    n_rows: int | None = None
    #: files that are read, if any
    paths: Sequence[Path] = ()
    #: of these files, where nothing else is read
    _stamps: Sequence["Stamp"] = ()
    _rows_seen: int | None = None

    def blocks(
        self, columns: Sequence[str], rows: int = BLOCK_ROWS, carry: Sequence[str] = ()
    ) -> Iterator[Block]:
        """Read some columns from the beginning, in blocks of at most `rows` rows.

        Columns of `carry` are returned as they are, see `Block.carried`. It is a DataFileError, at
        once, if columns are missing or of two kinds; while reading, if something is damaged or has
        changed since the source was opened.
        """
        if rows < 1:
            raise ValueError(f"rows={rows} must be 1 or more.")
        wanted = list(dict.fromkeys([*columns, *carry]))
        if not wanted:
            raise ValueError("No column to read; name one or more.")
        self._check(wanted)
        return self._scan(wanted, list(columns), rows, list(carry))

    def fingerprint(self) -> str | None:
        """Return a text that changes when the data change; None if it cannot be known."""
        facts = [list(map(str, astuple(stamp))) for stamp in self._stamps]
        return joblib.hash(facts) if facts else None

    def refuse_changes(self) -> None:
        """Raise a DataFileError if the data have changed since the source was opened."""
        for stamp in self._stamps:
            stamp.refuse_changes()

    def expected_rows(self) -> int | None:
        """Return the number of rows, or an estimate for a progress bar, or None."""
        return self.n_rows

    def _check(self, wanted: Sequence[str]) -> None:
        refuse_missing("the source", wanted, self.names)

    def _chunks(self, wanted: Sequence[str], coded: set[str], rows: int) -> Iterator[Chunk]:
        """Yield the rows as they come, at most `rows` at a time; text of `coded` as categories."""
        raise NotImplementedError

    def _scan(
        self, wanted: list[str], columns: list[str], rows: int, carry: list[str]
    ) -> Iterator[Block]:
        first = 0
        kinds: dict[str, tuple[str, Any, str]] = {}
        for values, n_rows, where in self._chunks(wanted, set(columns), rows):
            found = {name: to_column(values[name], name, where) for name in columns}
            for name, column in found.items():
                kind = (kind_of_values(column), column.dtype, where)
                refuse_other_kind(name, kinds.get(name, kind), kind)
                if kinds.get(name, kind)[0] in (MISSING, kind[0]):
                    kinds[name] = kind
            carried = {name: to_arrow(values[name]) for name in carry}
            yield Block(found, n_rows, first, where, carried)
            first += n_rows
        known = self._rows_seen if self.n_rows is None else self.n_rows
        if first == 0 and not known:
            raise DataFileError("The source has columns but no rows.")
        if known not in (None, first):
            raise DataFileError(
                f"The source gave {first:,} rows where it gave {known:,} before; every scan must "
                "give the same rows. Write them to a file, or pass what starts anew each time."
            )
        self._rows_seen = first


@dataclass(frozen=True)
class Stamp:
    """What tells a file from its later self."""

    path: Path
    size: int
    modified: int
    #: hash of its end, where a Parquet file describes itself
    tail: str

    @classmethod
    def of(cls, path: Path) -> "Stamp":
        """Take the stamp of a file, or raise a DataFileError if it cannot be read."""
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                file.seek(max(0, status.st_size - TAIL))
                tail = hashlib.sha256(file.read(TAIL)).hexdigest()
        except FileNotFoundError as error:
            raise DataFileError(f"{path} has vanished since the source was opened.") from error
        except PermissionError as error:
            told = "may not be read by this user; change its permissions"
            raise DataFileError(f"{path} {told}.") from error
        return cls(path.absolute(), status.st_size, status.st_mtime_ns, tail)

    def refuse_changes(self) -> None:
        now = Stamp.of(self.path)
        if now != self:
            raise DataFileError(
                f"{self.path} has changed since the source was opened ({self.size:,} bytes then, "
                f"{now.size:,} now). Open the source anew once nothing writes to the file any more."
            )


class ArraySource(Source):
    """Rows of arrays, which may be memory maps of files larger than memory.

    The columns of X are "x0", "x1", …, the target is "y", or "y0", "y1", … where y has two
    dimensions, and weights are "weight".
    """

    def __init__(self, X: Any, y: Any = None, weight: Any = None):
        self._arrays: list[tuple[list[str], NDArray]] = []
        self.n_rows = len(X)
        if self.n_rows == 0:
            raise ValueError("X has no rows; give at least one.")
        for what, given, dimensions in (("X", X, [2]), ("y", y, [1, 2]), ("weight", weight, [1])):
            if given is None:
                continue
            array = given if isinstance(given, np.ndarray) else np.asarray(given)
            if array.ndim not in dimensions:
                expected = " or ".join(map(str, dimensions))
                raise ValueError(f"{what} has {array.ndim} dimensions; expected {expected}.")
            if len(array) != self.n_rows:
                raise ValueError(
                    f"X has {self.n_rows} rows and {what} has {len(array)}; give one per row of X."
                )
            table = array if array.ndim == 2 else array[:, None]
            numbers = range(table.shape[1]) if array.ndim == 2 else [""]
            self._arrays.append(([f"{what.lower()}{d}" for d in numbers], table))
        self.names = [name for columns, _ in self._arrays for name in columns]
        # none unless all arrays are memory maps
        files = [getattr(array, "filename", None) for _, array in self._arrays]
        self._stamps = [Stamp.of(Path(file)) for file in files if file] if all(files) else []
        self.paths = sorted({stamp.path for stamp in self._stamps})

    def _chunks(self, wanted: Sequence[str], coded: set[str], rows: int) -> Iterator[Chunk]:
        for begin, end in blocks(len(self._arrays[0][1]), rows):
            values: dict[str, Any] = {}
            for names, array in self._arrays:
                if not set(wanted).isdisjoint(names):  # a copy, so that no block holds on to a file
                    part = np.array(array[begin:end], order="F", subok=False)
                    values |= zip(names, part.T, strict=True)
            yield values, end - begin, f"rows {begin + 1:,} to {end:,}"


class BatchSource(Source):
    """Rows of batches: frames of pandas or polars, tables of pyarrow, or dicts of columns.

    They are an iterable, or a function that returns one; each iteration must start anew.
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
                part = {name: cut(columns[name], slice(begin, end)) for name in wanted}
                yield part, end - begin, where


def as_columns(batch: Any, where: str) -> tuple[dict[str, Any], int]:
    """Return the columns of a batch by name, and its number of rows."""
    pairs = as_pairs(batch)
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
            what = f"column {name!r} of {where} is {values!r:.60}"
            raise DataFileError(f"{what}; expected an array or a list of values.")
    n_rows = len(pairs[0][1])
    for name, values in pairs:
        if len(values) != n_rows:
            first = f"{n_rows:,} rows in column {pairs[0][0]!r}"
            raise DataFileError(f"{where} has {first} and {len(values):,} in {name!r}.")
    return dict(pairs), n_rows


def as_pairs(batch: Any) -> list[tuple[str, Any]] | None:
    """Names and columns of a batch; None for what is none."""
    if isinstance(batch, Mapping):
        return [(str(name), values) for name, values in batch.items()]
    if hasattr(batch, "column_names") and hasattr(batch, "column"):
        return [(name, batch.column(d)) for d, name in enumerate(batch.column_names)]
    if hasattr(batch, "iloc") and hasattr(batch, "columns"):
        return [(str(name), batch.iloc[:, d]) for d, name in enumerate(batch.columns)]
    if hasattr(batch, "get_columns"):
        return [(series.name, series) for series in batch.get_columns()]
    return None


class MappedSource(Source):
    """Blocks of another source, each passed through a function.

    change(block) returns the block to pass on, which may have fewer rows, and must do the same in
    every scan, whatever the sizes of the blocks. It looks at the columns `needs`; `rule` says
    what it does, in words that differ where the rows differ; about `share` of the rows pass.
    """

    def __init__(
        self,
        source: Source,
        change: Callable[[Block], Block],
        *,
        needs: Sequence[str] = (),
        rule: str = "",
        share: float = 1.0,
    ):
        self._source, self._change, self._needs = source, change, list(needs)
        self._rule, self._share = rule, share
        self.names, self.paths, self._stamps = source.names, source.paths, source._stamps

    def blocks(
        self, columns: Sequence[str], rows: int = BLOCK_ROWS, carry: Sequence[str] = ()
    ) -> Iterator[Block]:
        wanted = list(dict.fromkeys([*columns, *self._needs]))
        return self._pass_on(self._source.blocks(wanted, rows, carry), columns)

    def _pass_on(self, blocks: Iterator[Block], columns: Sequence[str]) -> Iterator[Block]:
        first = 0
        for given in blocks:
            block = self._change(given)
            if block.n_rows:
                chosen = {name: block.columns[name] for name in columns}
                yield Block(chosen, block.n_rows, first, block.where, block.carried)
            first += block.n_rows
        self.n_rows = first

    def fingerprint(self) -> str | None:
        found = self._source.fingerprint()
        return None if found is None else f"{found} {self._rule}".strip()

    def expected_rows(self) -> int | None:
        expected = self._source.expected_rows()
        if self.n_rows is not None or expected is None:
            return self.n_rows
        return round(self._share * expected)


def deal(
    parts: Iterable[Part],
    size: Callable[[int], int],
    count: Callable[[Part], int],
    cut: Callable[[Part, int, int], Part],
    join: Callable[[list[Part]], Part],
) -> Iterator[Part]:
    """Deal rows out again in pieces of size(n), where n further rows of a part are there."""
    held: list[Part] = []
    left = 0
    for part in parts:
        begin, end = 0, count(part)
        while begin < end:
            left = left or size(end - begin)
            taken = min(left, end - begin)
            held.append(cut(part, begin, begin + taken))
            begin, left = begin + taken, left - taken
            if not left:
                yield join(held)
                held = []
    if held:
        yield join(held)


def take_rows(block: Block, keep: NDArray[np.bool_]) -> Block:
    """Return the rows of a block selected by a mask."""
    if keep.all():
        return block
    chosen = np.flatnonzero(keep)
    columns = {name: cut(values, chosen) for name, values in block.columns.items()}
    carried = {name: array.take(chosen) for name, array in block.carried.items()}
    rows = chosen if block.rows is None else block.rows[chosen]
    return Block(columns, len(rows), block.first_row, block.where, carried, rows)


def cut(values: Any, rows: slice | NDArray[np.int64]) -> Any:
    """Return some entries of an array, a list (consecutive ones), or a column of any library."""
    return getattr(values, "iloc", values)[rows]


def is_there(values: Any) -> NDArray[np.bool_]:
    """Return which entries of a column of a block are not missing."""
    if not isinstance(values, np.ndarray):
        return values.notna().to_numpy()
    if values.dtype.kind in "mM":
        return ~np.isnat(values)
    return ~np.isnan(values) if values.dtype.kind == "f" else np.ones(len(values), dtype=bool)


def draw_rows(block: Block, share: float, seed: int) -> NDArray[np.bool_]:
    """Draw a share of rows by their numbers: the same in every scan, whatever the blocks."""
    return row_numbers(block.first_row, block.n_rows, seed) < share


def row_numbers(first_row: int, n_rows: int, seed: int) -> NDArray[np.float64]:
    """Return random numbers from 0 to 1 that belong to rows, whatever the blocks."""
    rows = np.arange(first_row, first_row + n_rows, dtype=np.uint64)
    start = mix(np.array([seed], dtype=np.uint64))
    # the upper 53 bits are as many as a float holds
    return (mix(rows ^ start) >> np.uint64(11)).astype(np.float64) * 2.0**-53
