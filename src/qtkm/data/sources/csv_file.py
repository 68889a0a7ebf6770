"""One CSV file, read a few megabytes at a time, with types that a first look has fixed."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ...limits import LIMITS
from .errors import DataFileError, need, reading_errors, reason
from .kinds import MISSING, TEXT, kind_of
from .parquet_file import _types
from .paths import MAGIC, Stamp

#: entries that stand for a missing value, those of pandas
MISSING_ENTRIES = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
]  # fmt: skip
_CONVERSION = re.compile(
    r"In CSV column #(?P<column>\d+):.* conversion error to [^:]*: invalid value '(?P<value>.*)'",
    re.DOTALL,
)


class CsvPart:
    """A CSV file of a source.

    Parameters
    ----------
    path : pathlib.Path
        May be packed by gzip or bzip2, as its name says; ".tsv" has tabs.

    Attributes
    ----------
    stamp : Stamp
    types : dict of str to pyarrow types
        Of its columns, by the first megabyte.  A column that turns out to be wider further down
        (fractions after integers, anything after nothing) is so from then on.
    names : list of str
    n_rows : int or None
        0 if it has a header only; otherwise not known.
    expected_rows : int or None
        A guess by the bytes of the first rows, if the file is not packed.

    Raises
    ------
    DataFileError
        If it is empty, or no CSV file.
    """

    n_rows: int | None = None
    expected_rows: int | None = None

    def __init__(self, path: Path):
        self.path = path
        self.stamp = Stamp.of(path)
        with path.open("rb") as file:
            head = file.read(LIMITS.parsed_bytes)
        if not head:
            raise DataFileError(f"{path} is empty: it has 0 bytes.")
        if head.startswith(MAGIC):
            raise DataFileError(f"{path} is a Parquet file, but its name says CSV; rename it.")
        reader = self._open({})
        self.types = _types(path, reader.schema)
        self.names = list(self.types)
        first = self._next(reader, "")
        if first is None or first.num_rows == 0:
            self.n_rows = self.expected_rows = 0
            return
        if path.suffix.lower() in (".csv", ".tsv"):
            self.expected_rows = round(self.stamp.size * first.num_rows / len(head))

    def chunks(
        self, wanted: Sequence[str], coded: set[str], rows: int, types: dict[str, Any]
    ) -> Iterator[tuple[Any, int, str]]:
        """Yield tables, see `ParquetPart.chunks`; `types` has those that turn out to be needed."""
        if self.n_rows == 0:
            return
        done = 0
        while True:
            try:
                reader = self._open(_as_read(types, coded), wanted)
                for batch in _gather(self._rest(reader, done), rows):
                    where = f"{self.path}, rows {done + 1:,} to {done + batch.num_rows:,}"
                    done += batch.num_rows
                    yield batch, batch.num_rows, where
                return
            except _WiderError as error:
                self._widen(types, error)

    def _open(self, types: dict[str, Any], wanted: Sequence[str] = ()) -> Any:
        csv = need("pyarrow.csv", "CSV files are read")
        separator = "\t" if ".tsv" in self.path.name.lower() else ","
        try:
            return csv.open_csv(
                self.path,
                # in one thread, so that messages know the number of the row
                csv.ReadOptions(use_threads=False, block_size=LIMITS.parsed_bytes),
                csv.ParseOptions(delimiter=separator, newlines_in_values=True),
                csv.ConvertOptions(
                    column_types=types, include_columns=list(wanted),
                    null_values=MISSING_ENTRIES, strings_can_be_null=True,
                ),
            )  # fmt: skip
        except reading_errors() as error:
            # the first rows are read here already
            raise self._translate(error, f"{self.path}") from error

    def _rest(self, reader: Any, skip: int) -> Iterator[Any]:
        """Yield the batches after some rows; these are parsed again, and not given again."""
        n_rows = 0
        while (batch := self._next(reader, f", after row {n_rows:,},")) is not None:
            if n_rows + batch.num_rows > skip:
                yield batch.slice(max(0, skip - n_rows))
            n_rows += batch.num_rows

    def _next(self, reader: Any, after: str) -> Any:
        try:
            return reader.read_next_batch()
        except StopIteration:
            return None
        except reading_errors() as error:
            raise self._translate(error, f"{self.path}{after}") from error

    def _translate(self, error: Exception, where: str) -> Exception:
        match = _CONVERSION.match(str(error))
        if match:
            return _WiderError(self.names[int(match["column"])], match["value"], where)
        if "invalid UTF8" in str(error):
            return DataFileError(f"{self.path} is text in another encoding; save it as UTF-8.")
        return DataFileError(f"{where} cannot be read as CSV: {reason(error)}.")

    def _widen(self, types: dict[str, Any], error: "_WiderError") -> None:
        """Give a column a type that holds the entry it stumbled over as well."""
        pyarrow = need("pyarrow", "CSV files are read")
        before = types[error.column]
        integer = pyarrow.types.is_integer(before)
        if (integer or kind_of(before) == MISSING) and _is_number(error.value):
            wider = pyarrow.float64()
        elif kind_of(before) == MISSING:
            wider = pyarrow.string()
        else:
            raise DataFileError(
                f"{error.where} cannot be read: column {error.column!r} holds {kind_of(before)} "
                f"({before}) in the rows before and then {error.value[:60]!r}; make it the same "
                "kind everywhere, or leave it out."
            ) from error
        types[error.column] = self.types[error.column] = wider


class _WiderError(Exception):
    """An entry that the type of its column does not hold."""

    def __init__(self, column: str, value: str, where: str):
        super().__init__(column, value, where)
        self.column, self.value, self.where = column, value, where


def _gather(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    """Join batches to such of `rows` rows, the last of which may be smaller."""
    pyarrow = need("pyarrow", "CSV files are read")
    held: list[Any] = []
    for batch in batches:
        held.append(batch)
        while sum(part.num_rows for part in held) >= rows:
            joined = pyarrow.Table.from_batches(held)
            yield joined.slice(0, rows)
            held = joined.slice(rows).to_batches()
    if held:
        yield pyarrow.Table.from_batches(held)


def _as_read(types: dict[str, Any], coded: set[str]) -> dict[str, Any]:
    """Types to read by: text that is wanted as categories comes as such."""
    pyarrow = need("pyarrow", "CSV files are read")
    categories = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
    return {
        name: (categories if name in coded else pyarrow.string()) if kind_of(t) == TEXT else t
        for name, t in types.items()
    }


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
