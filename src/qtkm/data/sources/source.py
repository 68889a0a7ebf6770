"""What all sources of rows share: blocks of rows, read again and again, and no more at a time."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .conversion import to_arrow, to_column
from .errors import DataFileError, missing_column
from .kinds import MISSING, kind_of_values, refuse_other_kind

#: rows of a block: enough that what is done once a block does not count, few enough that a
#: hundred columns of numbers take 100 MB
BLOCK_ROWS = 1 << 17
#: some rows as they come: columns of any library by name, how many rows, and where they stand
Chunk = tuple[dict[str, Any], int, str]


@dataclass
class Block:
    """Some consecutive rows of a source.

    Attributes
    ----------
    columns : dict of str to array or Series
        Numbers and bools as NumPy arrays, in float64 with NaN where some are missing; dates and
        times as arrays of datetime64 or timedelta64; text, and dictionaries of whatever type,
        as pandas Series of categories, whose categories may differ from block to block.
    n_rows : int
    first_row : int
        Number of its first row in the whole source, from 0.
    where : str
        Where the rows stand, for messages.
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
        Number of rows, where it is known without reading them all.
    paths : list of pathlib.Path
        Files that it is made of, if any.
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
            Most rows of a block.
        carry : sequence of str
            Columns to give as they are, see `Block.carried`.

        Raises
        ------
        DataFileError
            At once for columns that are missing or that are numbers here and text there; while
            reading, for what is damaged or has changed since the source was opened.
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
        for name in wanted:
            if name not in self.names:
                raise missing_column("the source", name, self.names)

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
        self._count(first)

    def _count(self, n_rows: int) -> None:
        """Compare the rows of a scan with what is known."""
        known = self._rows_seen if self.n_rows is None else self.n_rows
        if n_rows == 0 and not known:
            raise DataFileError("The source has columns but no rows.")
        if known not in (None, n_rows):
            raise DataFileError(
                f"The source gave {n_rows:,} rows where it gave {known:,} before; every scan must "
                "give the same rows. Write them to a file, or pass what starts anew each time."
            )
        self._rows_seen = n_rows
