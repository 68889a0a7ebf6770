"""Tables to a CSV or Parquet file, piece by piece, and in the end whole or not at all."""

import bz2
import gzip
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from ...limits import LIMITS
from .conversion import arrow, need
from .files import check_format, separator_of


class TableWriter:
    """A CSV or Parquet file that is written in a with block, under another name until its end.

    Missing folders are made; a file that is there is replaced in one step, and left as it was if
    the rows cannot be written. Files to `avoid`, those that the rows come from, are refused.
    """

    def __init__(self, path: str | os.PathLike[str], avoid: Iterable[str | os.PathLike[str]] = ()):
        self.path = Path(path)
        if self.path.is_dir():
            example = self.path / "predictions.parquet"
            raise IsADirectoryError(f"{path} is a folder; name a file in it, such as {example}.")
        self._is_csv = check_format(self.path) == "CSV"
        if any(_is_same(self.path, Path(other)) for other in avoid):
            raise ValueError(f"{path} is one of the files that are read; give another name.")
        self._writer: Any = None
        self._held: list[Any] = []

    def __enter__(self) -> "TableWriter":
        name = f".{self.path.name}.{os.getpid()}.{secrets.token_hex(4)}.partial"
        self._partial = self.path.with_name(name)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = self._partial.open("xb")
        except OSError as error:
            raise self._explain(error) from error
        return self

    def write(self, table: Any) -> None:
        """Add rows: a pyarrow table, of the schema that the first one has."""
        self._held.append(table)
        if sum(len(held) for held in self._held) >= LIMITS.group_rows:
            self._flush()

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        try:
            if kind is None:
                self._flush()
                self._finish()
        finally:
            # leave nothing behind; what cannot be written, such as a footer on a full disk, is
            # not needed any more
            with suppress(Exception):
                self._close()
            with suppress(OSError):
                self._file.close()
            self._partial.unlink(missing_ok=True)

    def _finish(self) -> None:
        try:
            self._close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            os.replace(self._partial, self.path)
        except OSError as error:
            raise self._explain(error) from error

    def _flush(self) -> None:
        if not self._held:
            return
        table, self._held = arrow().concat_tables(self._held), []
        try:
            if self._writer is None:
                self._start(table.schema)
            self._writer.write_table(table)
        except OSError as error:
            raise self._explain(error) from error

    def _start(self, schema: Any) -> None:
        if not self._is_csv:
            parquet = need("pyarrow.parquet", "Parquet files are written")
            self._sink, self._writer = None, parquet.ParquetWriter(self._file, schema)
            return
        csv = need("pyarrow.csv", "CSV files are written")
        self._sink = _packer(self._file, self.path.suffix.lower())
        options = csv.WriteOptions(delimiter=separator_of(self.path))
        self._writer = csv.CSVWriter(self._sink or self._file, schema, write_options=options)

    def _close(self) -> None:
        """Write the end of the format."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            if self._sink is not None:
                self._sink.close()

    def _explain(self, error: OSError) -> OSError:
        return OSError(error.errno, f"The rows were not written: {error.strerror}", str(self.path))


def _packer(file: BinaryIO, suffix: str) -> Any:
    """Return a file that compresses what is written to it, or None for plain files."""
    if suffix == ".gz":
        return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)
    return bz2.BZ2File(file, "wb") if suffix == ".bz2" else None


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there
        return path.absolute() == other.absolute()
