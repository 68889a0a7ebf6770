"""Sources: rows that need not fit in memory, read in blocks, again and again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..grid import mix
from .conversion import (
    MISSING,
    DataFileError,
    kind_of_values,
    refuse_missing,
    refuse_other_kind,
    to_arrow,
    to_column,
)

#: rows of a block: enough that work per block does not count, few enough that a hundred columns
#: of numbers take 100 MB
BLOCK_ROWS = 1 << 17
#: some rows as they come: columns of any library by name, number of rows, place for messages
Chunk = tuple[dict[str, Any], int, str]
Part = TypeVar("Part")


@dataclass
class Block:
    """Some consecutive rows of a source.

    Attributes
    ----------
    columns : dict of str to array or Series
        Numbers and bools as NumPy arrays, in float64 with NaN where some are missing; dates and
        times as arrays of datetime64 or timedelta64; text, and dictionaries of any type, as
        pandas Series of categories, whose categories may differ from block to block.
    n_rows : int
    first_row : int
        Number of its first row in the whole source, from 0.
    where : str
        Its place, for messages.
    carried : dict of str to pyarrow.Array
        Columns to carry along, of the type they have in the source.
    """

    columns: dict[str, Any]
    n_rows: int
    first_row: int
    where: str
    carried: dict[str, Any] = field(default_factory=dict)


class Source:
    """Rows that need not fit in memory.

    Attributes
    ----------
    names : list of str
        All columns.
    n_rows : int or None
        Number of rows, if it is known without reading them all.
    paths : list of pathlib.Path
        Files that are read, if any.
    """

    names: list[str]
    n_rows: int | None = None
    paths: Sequence[Path] = ()
    _rows_seen: int | None = None

    def blocks(
        self, columns: Sequence[str], rows: int = BLOCK_ROWS, carry: Sequence[str] = ()
    ) -> Iterator[Block]:
        """Read the source from its beginning, block by block.

        Parameters
        ----------
        columns : sequence of str
            Only these columns are read.
        rows : int
            Largest number of rows of a block.
        carry : sequence of str
            Columns to return as they are, see `Block.carried`.

        Raises
        ------
        DataFileError
            At once for columns that are missing or of two kinds; while reading, for what is
            damaged or has changed since the source was opened.
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
        return None

    def refuse_changes(self) -> None:
        """Raise a DataFileError if the data have changed since the source was opened."""

    def expected_rows(self) -> int | None:
        """Return the number of rows, or an estimate for a progress bar, or None."""
        return self.n_rows

    def _check(self, wanted: Sequence[str]) -> None:
        """Raise an error for columns that cannot be read."""
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
        self.names, self.paths = source.names, source.paths

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

    def refuse_changes(self) -> None:
        self._source.refuse_changes()

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
    """Deal consecutive rows out again in pieces of other sizes; the last one may be smaller.

    size(n) is the size of the next piece where n further rows of a part are there.
    """
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
    columns = {name: values[keep] for name, values in block.columns.items()}
    for name, values in columns.items():
        if not isinstance(values, np.ndarray):
            columns[name] = values.reset_index(drop=True)
    carried = {name: array.filter(keep) for name, array in block.carried.items()}
    return Block(columns, int(keep.sum()), block.first_row, block.where, carried)


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
