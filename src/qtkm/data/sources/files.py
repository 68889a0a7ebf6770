"""Rows of one or many files."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .csv_file import CsvPart
from .errors import DataFileError, missing_column, need
from .kinds import SPANS, TIMES, kind_of, unify
from .parquet_file import ParquetPart
from .paths import combine
from .source import Chunk, Source

READERS: dict[str, type[ParquetPart] | type[CsvPart]] = {"Parquet": ParquetPart, "CSV": CsvPart}


class FileSource(Source):
    """Rows of Parquet files or of CSV files, one file after the other.

    Parameters
    ----------
    paths : sequence of pathlib.Path
    kind : {"Parquet", "CSV"}

    Notes
    -----
    A column may be of other types in other files as long as one type holds them all: integers
    and fractions, text and dictionaries.  Files without rows are passed over.

    Raises
    ------
    DataFileError
        If a file is damaged, or none has rows.
    """

    def __init__(self, paths: Sequence[Path], kind: str):
        self.paths = list(paths)
        self._parts = [READERS[kind](path) for path in self.paths]
        self.names = self._parts[0].names
        counts = [part.n_rows for part in self._parts]
        if not any(count is None or count > 0 for count in counts):
            raise DataFileError(f"{self._name()} has columns but no rows.")
        self.n_rows = None if None in counts else sum(map(int, counts))  # type: ignore[arg-type]

    def fingerprint(self) -> str:
        return combine(part.stamp for part in self._parts)

    def refuse_changes(self) -> None:
        for part in self._parts:
            part.stamp.refuse_changes()

    def expected_rows(self) -> int | None:
        counts = [part.expected_rows for part in self._parts]
        return None if None in counts else sum(map(int, counts))  # type: ignore[arg-type]

    def _name(self) -> str:
        more = f" and {len(self.paths) - 1} more files" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}"

    def _check(self, wanted: Sequence[str]) -> None:
        for part in self._parts:
            for name in wanted:
                if name not in part.types:
                    raise missing_column(str(part.path), name, list(part.types))
        self._types(wanted)

    def _types(self, wanted: Sequence[str]) -> dict[str, Any]:
        """Types of columns that hold what is in all files."""
        parts = [part for part in self._parts if part.n_rows != 0]
        wheres = [str(part.path) for part in parts]
        return {name: unify(name, [part.types[name] for part in parts], wheres) for name in wanted}

    def _chunks(self, wanted: Sequence[str], coded: set[str], rows: int) -> Iterator[Chunk]:
        for part in self._parts:
            part.stamp.refuse_changes()
            types = self._types(wanted)
            for batch, n_rows, where in part.chunks(wanted, coded, rows, types):
                values = {name: _cast(batch.column(name), types[name]) for name in wanted}
                yield values, n_rows, where
            part.stamp.refuse_changes()


def _cast(array: Any, wanted: Any) -> Any:
    """Array of the type that all files have in common; text stays coded where it is."""
    coded = getattr(array.type, "value_type", None)
    if array.type == wanted or coded == wanted:
        return array
    return array.cast(wanted, safe=False)  # integers beyond 2**53 may be rounded


class TextSource(FileSource):
    """Rows of files, of which some columns of CSV files are text whatever they look like.

    A column without a name has the one that pandas gives it: a model that was fitted to a frame
    finds its columns and its categories again.

    Parameters
    ----------
    paths : sequence of pathlib.Path
    kind : {"Parquet", "CSV"}
    text : sequence of str
        Columns of CSV files that hold text; of Parquet files, the files say what they hold.
    categories : sequence of str
        Columns that are text if they look like times.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        kind: str,
        text: Sequence[str] = (),
        categories: Sequence[str] = (),
    ):
        super().__init__(paths, kind)
        self._unnamed: str | None = None
        if kind != "CSV":
            return
        string = need("pyarrow", "CSV files are read").string()
        for part in self._parts:
            for name, found in part.types.items():
                is_time = kind_of(found) in (TIMES, SPANS)
                if name in text or (name in categories and is_time):
                    part.types[name] = string
        if "" in self.names:
            position = self.names.index("")
            self._unnamed = self.names[position] = f"Unnamed: {position}"

    def _in_file(self, names: Sequence[str]) -> list[str]:
        return ["" if name == self._unnamed else name for name in names]

    def _check(self, wanted: Sequence[str]) -> None:
        super()._check(self._in_file(wanted))

    def _chunks(self, wanted: Sequence[str], coded: set[str], rows: int) -> Iterator[Chunk]:
        inner = self._in_file(wanted)
        for values, n_rows, where in super()._chunks(inner, set(self._in_file([*coded])), rows):
            columns = {name: values[key] for name, key in zip(wanted, inner, strict=True)}
            yield columns, n_rows, where
