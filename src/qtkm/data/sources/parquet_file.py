"""One Parquet file, read a few pages at a time."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .errors import DataFileError, need, reading_errors, reason
from .kinds import TEXT, kind_of
from .paths import MAGIC, Stamp

#: bytes that are read at once of a column. Without it, and with pre_buffer, pyarrow holds whole
#: row groups: 320 MB instead of 70 for 5 million rows of 8 columns in one row group
BUFFER = 1 << 18


class ParquetPart:
    """A Parquet file of a source.

    Parameters
    ----------
    path : pathlib.Path

    Attributes
    ----------
    stamp : Stamp
    types : dict of str to pyarrow types
        Of its columns.
    names : list of str
        Its columns without the index of a pandas frame, which is read only if asked for.
    n_rows, expected_rows : int

    Raises
    ------
    DataFileError
        If it is empty, cut off, or no Parquet file.
    """

    def __init__(self, path: Path):
        self.path = path
        self.stamp = Stamp.of(path, has_footer=True)
        _refuse_foreign(path, self.stamp.size)
        with self._open() as file:
            self.types = _types(path, file.schema_arrow)
            index = _index_of(file.schema_arrow)
            self.names = [name for name in self.types if name not in index] or list(self.types)
            self.n_rows = self.expected_rows = file.metadata.num_rows

    def chunks(
        self, wanted: Sequence[str], coded: set[str], rows: int, types: dict[str, Any]
    ) -> Iterator[tuple[Any, int, str]]:
        """Yield record batches of some columns, how many rows they have, and where they stand.

        Parameters
        ----------
        wanted : sequence of str
        coded : set of str
            Columns whose text is wanted as dictionaries.
        rows : int
            Most rows of a batch.
        types : dict of str to pyarrow types
            What columns are to be in the end: not used here.
        """
        text = [name for name in wanted if name in coded and kind_of(self.types[name]) == TEXT]
        with self._open(text) as file:
            count = file.num_row_groups
            for group in range(count):
                where = f"{self.path}, row group {group + 1} of {count}"
                for batch in self._read(file, group, list(wanted), rows, where):
                    yield batch, batch.num_rows, where

    def _open(self, text: Sequence[str] = ()) -> Any:
        parquet = need("pyarrow.parquet", "Parquet files are read")
        try:
            return parquet.ParquetFile(
                self.path, read_dictionary=list(text), pre_buffer=False, buffer_size=BUFFER,
                page_checksum_verification=True,
            )  # fmt: skip
        except reading_errors() as error:
            raise DataFileError(
                f"{self.path} is damaged: its footer cannot be read ({reason(error)})."
            ) from error

    def _read(
        self, file: Any, group: int, wanted: list[str], rows: int, where: str
    ) -> Iterator[Any]:
        # in this thread: others would read ahead, which takes memory
        batches = file.iter_batches(rows, row_groups=[group], columns=wanted, use_threads=False)
        expected, n_rows = file.metadata.row_group(group).num_rows, 0
        while True:
            try:
                batch = next(batches, None)
            except reading_errors() as error:
                raise DataFileError(f"{where}, cannot be read: {reason(error)}.") from error
            if batch is None:
                break
            n_rows += batch.num_rows
            if batch.num_rows:
                yield batch
        if n_rows != expected:
            raise DataFileError(f"{where}, has {n_rows:,} rows, but its footer says {expected:,}.")


def _types(path: Path, schema: Any) -> dict[str, Any]:
    types = dict(zip(schema.names, schema.types, strict=True))
    if len(types) < len(schema.names):
        name = next(name for name in schema.names if schema.names.count(name) > 1)
        raise DataFileError(f"{path} has several columns of the name {name!r}; rename them.")
    return types


def _index_of(schema: Any) -> list[Any]:
    """Columns that pandas wrote as the index of a frame, and reads as such."""
    try:
        described = schema.pandas_metadata or {}
    except ValueError:  # written by another program, and not as JSON
        return []
    # the index of a whole frame is described by a dict, and takes no column
    return [name for name in described.get("index_columns", []) if isinstance(name, str)]


def _refuse_foreign(path: Path, size: int) -> None:
    if size == 0:
        raise DataFileError(f"{path} is empty: it has 0 bytes.")
    with path.open("rb") as file:
        head = file.read(4)
        file.seek(max(0, size - 4))
        tail = file.read(4)
    if head != MAGIC:
        raise DataFileError(
            f"{path} is not a Parquet file: it begins with {head!r} instead of {MAGIC!r}."
        )
    if tail != MAGIC or size < 12:
        raise DataFileError(
            f"{path} is cut off after {size:,} bytes: it ends without the footer of a Parquet "
            "file. Copy or write it again."
        )
