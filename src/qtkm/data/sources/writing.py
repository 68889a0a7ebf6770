"""Tables to a CSV or Parquet file, piece by piece, and in the end whole or not at all."""

import bz2
import gzip
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
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
        with self._explained():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file: BinaryIO = self._partial.open("xb")
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
                with self._explained():
                    self._close()
                    self._file.flush()
                    os.fsync(self._file.fileno())
                    self._file.close()
                    os.replace(self._partial, self.path)
        finally:
            # leave nothing behind; what cannot be written, such as a footer on a full disk, is
            # not needed any more
            with suppress(Exception):
                self._close()
            with suppress(OSError):
                self._file.close()
            self._partial.unlink(missing_ok=True)

    def _flush(self) -> None:
        if not self._held:
            return
        table, self._held = arrow().concat_tables(self._held), []
        with self._explained():
            if self._writer is None:
                self._start(table.schema)
            self._writer.write_table(table)

    def _start(self, schema: Any) -> None:
        self._sink: Any = self._file
        if self.path.suffix.lower() == ".gz":
            self._sink = gzip.GzipFile("", "wb", compresslevel=6, fileobj=self._file, mtime=0)
        elif self.path.suffix.lower() == ".bz2":
            self._sink = bz2.BZ2File(self._file, "wb")
        if self._is_csv:
            csv = need("pyarrow.csv", "CSV files are written")
            options = csv.WriteOptions(delimiter=separator_of(self.path))
            self._writer = csv.CSVWriter(self._sink, schema, write_options=options)
        else:
            parquet = need("pyarrow.parquet", "Parquet files are written")
            self._writer = parquet.ParquetWriter(self._sink, schema)

    def _close(self) -> None:
        """Write the end of the format."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()
            if self._sink is not self._file:
                self._sink.close()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            told = f"The rows were not written: {error.strerror}"
            raise OSError(error.errno, told, str(self.path)) from error


def _is_same(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:  # one of them is not there
        return path.absolute() == other.absolute()
