"""CSV and Parquet files: which ones a source is made of, their rows, and files of predictions."""

import glob
import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from ...limits import LIMITS
from ...replacing import replacing
from .conversion import (
    MISSING,
    SPANS,
    TEXT,
    TIMES,
    DataFileError,
    arrow,
    is_numeral,
    kind_of,
    need,
    refuse_missing,
    refuse_repeated,
    unify,
)
from .source import Chunk, Source, Stamp, deal

PARQUET = (".parquet", ".pq")
CSV = tuple(f"{name}{packed}" for name in (".csv", ".tsv") for packed in ("", ".gz", ".bz2"))
#: first and last bytes of a Parquet file
MAGIC = b"PAR1"
#: bytes that are read at once of a column. Without it, and with pre_buffer, pyarrow holds whole
#: row groups: 320 MB instead of 70 for 5 million rows of 8 columns in one row group
BUFFER = 1 << 18
#: entries of CSV files that stand for a missing value, those of pandas
MISSING_ENTRIES = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN",
    "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
]  # fmt: skip
#: time spans as pandas writes them, such as -1 days +23:00:00, and those of ISO 8601, such as PT1H
SPAN = (
    r"^(-?\d+ days( [+]?\d+:\d\d:\d\d([.]\d+)?)?"
    r"|-?P(\d+D)?(T(\d+H)?(\d+M)?(\d+([.]\d+)?S)?)?)$"
)
#: bytes and lines from which separator and decimal point of a CSV file are guessed
FIRST_BYTES, FIRST_LINES = 1 << 16, 100
_CONVERSION = re.compile(
    r"In CSV column #(?P<column>\d+):.* conversion error to [^:]*: invalid value '(?P<value>.*)'",
    re.DOTALL,
)


def check_format(path: Path) -> str:
    """Return "CSV" or "Parquet" by a file's name; any other is a DataFileError."""
    name = path.name.lower()
    if name.endswith((*PARQUET, *CSV)):
        return "Parquet" if name.endswith(PARQUET) else "CSV"
    raise DataFileError(
        f"{path} is neither CSV nor Parquet by its name; expected one that ends in "
        f"{', '.join((*CSV, *PARQUET))}."
    )


def separator_of(path: Path) -> str:
    """Return the separator that the name of a CSV file promises."""
    return "\t" if ".tsv" in path.name.lower() else ","


def find_files(given: Iterable[str | os.PathLike[str]]) -> tuple[list[Path], str]:
    """Return the files of paths, folders and patterns, in this order, and their one format."""
    found = [path for entry in given for path in _expand(os.fspath(entry))]
    if not found:
        raise ValueError("The list of files is empty; name at least one.")
    formats = {check_format(path): path for path in reversed(found)}
    if len(formats) > 1:
        raise DataFileError(
            f"The source mixes formats: {formats['CSV']} is CSV and {formats['Parquet']} is "
            "Parquet; pass files of one format, by a pattern such as 'folder/*.parquet'."
        )
    return found, next(iter(formats))


def _expand(text: str) -> list[Path]:
    path, none = Path(text), f"No file matches the pattern {text!r}."
    if path.is_dir():  # folders that links lead to may be elsewhere in it, or contain it
        inside = (Path(folder, name) for folder, _, names in os.walk(path) for name in names)
        # without hidden files, those of other formats, and marks of other programs (_SUCCESS)
        found = [
            file
            for file in inside
            if file.name.lower().endswith((*CSV, *PARQUET))
            and not any(part.startswith((".", "_")) for part in file.relative_to(path).parts)
        ]
        none = f"{path} is a folder without CSV and Parquet files."
    elif path.exists():
        return [path]
    elif glob.has_magic(text):
        found = list(map(Path, glob.glob(text, recursive=True)))
    else:
        raise FileNotFoundError(f"{path} does not exist.")
    files = sorted(file for file in found if file.is_file())
    if not files:
        raise FileNotFoundError(none)
    return files


class FileSource(Source):
    """Rows of Parquet files or of CSV files (`kind`), one file after the other.

    A column may have different types in different files as long as one type holds them all:
    integers and fractions, text and dictionaries. Files without rows are passed over; if none has
    rows, or one is damaged, it is a DataFileError. `text` columns of CSV files are text whatever
    they look like, `categories` if they look like times; Parquet files say what they hold.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        kind: str,
        text: Sequence[str] = (),
        categories: Sequence[str] = (),
    ):
        self.paths = list(paths)
        reader: Any = ParquetPart if kind == "Parquet" else CsvPart
        self._parts = [reader(path) for path in self.paths]
        self._stamps = [part.stamp for part in self._parts]
        for part in self._parts if kind == "CSV" else ():
            for name, found in part.types.items():
                is_time = kind_of(found) in (TIMES, SPANS)
                if name in text or (name in categories and is_time):
                    part.types[name] = arrow().string()
        self.names = self._parts[0].names
        counts = [part.n_rows for part in self._parts]
        if not any(count is None or count > 0 for count in counts):
            more = f" and {len(self.paths) - 1} more files" if len(self.paths) > 1 else ""
            raise DataFileError(f"{self.paths[0]}{more} has columns but no rows.")
        self.n_rows = None if None in counts else sum(counts)

    def expected_rows(self) -> int | None:
        counts = [part.expected_rows for part in self._parts]
        return None if None in counts else sum(counts)

    def _check(self, wanted: Sequence[str]) -> None:
        for part in self._parts:
            refuse_missing(str(part.path), wanted, list(part.types))
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
            for batch, where in part.chunks(wanted, coded, rows, types):
                values = {name: _cast(batch.column(name), types[name]) for name in wanted}
                yield values, batch.num_rows, where
            part.stamp.refuse_changes()


def _cast(array: Any, wanted: Any) -> Any:
    """Convert to the type that all files have in common; coded text stays coded."""
    if wanted in (array.type, getattr(array.type, "value_type", None)):
        return array
    if kind_of(wanted) == SPANS and kind_of(array.type) == TEXT:
        if not _are_spans(array) and array.null_count < len(array):
            return array  # text, which is refused as another kind
        spans = need("pandas", "spans of time are read").to_timedelta(array.to_pandas())
        array, wanted = arrow().array(spans), arrow().duration("us")
    return array.cast(wanted, safe=False)  # integers beyond 2**53 may be rounded


def _are_spans(texts: Any) -> bool:
    """Return True if texts, some at least, are all spans of time."""
    compute = need("pyarrow.compute", "CSV files are read")
    return bool(compute.all(compute.match_substring_regex(texts, SPAN)).as_py())


@contextmanager
def _reading(what: str, advice: str = "") -> Iterator[None]:
    """Turn pyarrow's errors about damaged files into a DataFileError that begins with `what`."""
    try:
        yield
    except (OSError, ValueError, EOFError, arrow().ArrowException) as error:
        told = " ".join(str(error).split())[:300] or type(error).__name__
        raise DataFileError(f"{what}: {told.rstrip('.')}.{advice}") from error


class ParquetPart:
    """A Parquet file of a source; `names` lacks the index of a pandas frame."""

    def __init__(self, path: Path):
        self.path, self.stamp = path, Stamp.of(path)
        head = _read_head(path)
        if head != MAGIC:
            what = f"it begins with {head!r} instead of {MAGIC!r}"
            raise DataFileError(f"{path} is not a Parquet file: {what}.")
        with self._open() as file:
            schema = file.schema_arrow
            refuse_repeated(str(path), schema.names)
            self.types = dict(zip(schema.names, schema.types, strict=True))
            described: dict[str, Any] = {}
            with suppress(ValueError):  # written by another program, and not as JSON
                described = schema.pandas_metadata or {}
            index = described.get("index_columns", [])  # a dict describes one without a column
            self.names = [name for name in self.types if name not in index] or list(self.types)
            self.n_rows = self.expected_rows = file.metadata.num_rows

    def chunks(
        self, wanted: Sequence[str], coded: set[str], rows: int, types: dict[str, Any]
    ) -> Iterator[tuple[Any, str]]:
        """Yield record batches of at most `rows` rows, and their places.

        Text of the columns in `coded` comes as dictionaries. `types` are those that columns get
        in the end; only CSV files change them.
        """
        text = [name for name in wanted if name in coded and kind_of(self.types[name]) == TEXT]
        with self._open(text) as file:
            for group in range(file.num_row_groups):
                where = f"{self.path}, row group {group + 1} of {file.num_row_groups}"
                # in this thread: others would read ahead, which takes memory
                batches = file.iter_batches(
                    rows, row_groups=[group], columns=list(wanted), use_threads=False
                )
                while True:
                    with _reading(f"{where}, cannot be read"):
                        batch = next(batches, None)
                    if batch is None:
                        break
                    if batch.num_rows:
                        yield batch, where

    def _open(self, text: Sequence[str] = ()) -> Any:
        parquet = need("pyarrow.parquet", "Parquet files are read")
        what = f"{self.path} is cut off after {self.stamp.size:,} bytes, or damaged"
        with _reading(f"{what}; its footer cannot be read", " Copy or write it again."):
            return parquet.ParquetFile(
                self.path, read_dictionary=list(text), pre_buffer=False, buffer_size=BUFFER,
                page_checksum_verification=True,
            )  # fmt: skip


def _read_head(path: Path) -> bytes:
    with path.open("rb") as file:
        head = file.read(len(MAGIC))
    if not head:
        raise DataFileError(f"{path} is empty: it has 0 bytes.")
    return head


class CsvPart:
    """A CSV file of a source, perhaps packed by gzip or bzip2.

    A header without commas may have semicolons, tabs or bars instead, and numbers decimal commas.
    `types` are those of the first megabyte; a column that turns out to be wider further down
    (fractions after integers, anything after nothing) is so from then on. A column without a name
    gets the one that pandas gives it. `n_rows` is 0 for a header only and otherwise None,
    `expected_rows` an estimate if the file is not packed.
    """

    n_rows: int | None = None
    expected_rows: int | None = None

    def __init__(self, path: Path):
        self.path, self.stamp = path, Stamp.of(path)
        head = _read_head(path)
        if head == MAGIC:
            raise DataFileError(f"{path} is a Parquet file, but its name says CSV; rename it.")
        if head.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            raise DataFileError(f"{path} is text in another encoding than UTF-8; save it as UTF-8.")
        self._separator, self._decimal = self._guess_marks()
        reader = self._open({})
        schema = reader.schema
        refuse_repeated(str(path), schema.names)
        self.names = [name or f"Unnamed: {k}" for k, name in enumerate(schema.names)]
        self.types = dict(zip(self.names, schema.types, strict=True))
        self._in_file = dict(zip(self.names, schema.names, strict=True))
        with self._explained(""):
            first = next(reader, None)
        if first is None or first.num_rows == 0:
            self.n_rows = self.expected_rows = 0
            return
        if path.suffix.lower() in (".csv", ".tsv"):
            read = min(self.stamp.size, LIMITS.parsed_bytes)
            self.expected_rows = round(self.stamp.size * first.num_rows / read)
        for name, values in zip(self.names, first.columns, strict=True):
            if kind_of(values.type) == TEXT and _are_spans(values):
                self.types[name] = arrow().duration("us")

    def _guess_marks(self) -> tuple[str, str]:
        with self._explained(""), arrow().input_stream(str(self.path)) as file:
            text = file.read(FIRST_BYTES).decode("utf-8", "replace")
        lines = text.splitlines()[:FIRST_LINES] or [""]
        header = re.sub(r'"[^"]*"', "", lines[0])
        expected = separator_of(self.path)
        separator = next((mark for mark in (expected, *",;\t|") if mark in header), expected)
        entries = [entry.strip() for line in lines[1:] for entry in line.split(separator)]
        points, commas = (any(re.fullmatch(rf"[+-]?\d*{mark}\d+", entry) for entry in entries)
                          for mark in ("[.]", ","))  # fmt: skip
        return separator, "," if commas and not points else "."

    def chunks(
        self, wanted: Sequence[str], coded: set[str], rows: int, types: dict[str, Any]
    ) -> Iterator[tuple[Any, str]]:
        """Yield tables as `ParquetPart.chunks` does; widens `types` where entries need it."""
        if self.n_rows == 0:
            return
        pyarrow = arrow()
        words = pyarrow.dictionary(pyarrow.int32(), pyarrow.string())
        done, join = 0, pyarrow.Table.from_batches
        while True:
            as_read = {
                name: words if name in coded and kind_of(t) == TEXT
                else pyarrow.string() if kind_of(t) == TEXT or pyarrow.types.is_duration(t) else t
                for name, t in types.items()
            }  # fmt: skip
            try:
                rest = self._rest(self._open(as_read, wanted), done)
                for batch in deal(rest, lambda _: rows, len, lambda b, i, j: b[i:j], join):
                    where = f"{self.path}, rows {done + 1:,} to {done + batch.num_rows:,}"
                    done += batch.num_rows
                    yield batch.rename_columns(list(wanted)), where
                return
            except _WiderError as error:
                self._widen(types, error)

    def _open(self, types: dict[str, Any], wanted: Sequence[str] = ()) -> Any:
        csv = need("pyarrow.csv", "CSV files are read")
        with self._explained(""):  # the first rows are read here already
            return csv.open_csv(
                self.path,
                # in one thread, so that messages know the number of the row
                csv.ReadOptions(use_threads=False, block_size=LIMITS.parsed_bytes),
                csv.ParseOptions(delimiter=self._separator, newlines_in_values=True),
                csv.ConvertOptions(
                    decimal_point=self._decimal,
                    column_types={self._in_file[name]: kind for name, kind in types.items()},
                    include_columns=[self._in_file[name] for name in wanted],
                    null_values=MISSING_ENTRIES, strings_can_be_null=True,
                ),
            )  # fmt: skip

    def _rest(self, reader: Any, skip: int) -> Iterator[Any]:
        """Yield the batches after some rows, which are parsed again."""
        n_rows = 0
        while True:
            with self._explained(f", after row {n_rows:,},"):
                batch = next(reader, None)
            if batch is None:
                return
            if n_rows + batch.num_rows > skip:
                yield batch.slice(max(0, skip - n_rows))
            n_rows += batch.num_rows

    @contextmanager
    def _explained(self, after: str) -> Iterator[None]:
        try:
            with _reading(f"{self.path}{after} cannot be read as CSV"):
                yield
        except DataFileError as error:
            if match := _CONVERSION.match(str(error.__cause__)):
                name = self.names[int(match["column"])]
                raise _WiderError(name, match["value"], f"{self.path}{after}") from error
            if "invalid UTF8" in str(error):
                told = f"{self.path} is text in another encoding; save it as UTF-8."
                raise DataFileError(told) from error
            raise

    def _widen(self, types: dict[str, Any], error: "_WiderError") -> None:
        """Give a column a type that holds the entry that did not fit, too."""
        column, value, where = error.args
        pyarrow, before = arrow(), types[column]
        is_missing = kind_of(before) == MISSING
        is_number = is_numeral(value.replace(self._decimal, ".")) and "_" not in value
        if is_number and (is_missing or pyarrow.types.is_integer(before)):
            wider = pyarrow.float64()
        elif is_missing:
            wider = pyarrow.string()
        else:
            raise DataFileError(
                f"{where} cannot be read: column {column!r} holds {kind_of(before)} "
                f"({before}) in the rows before and then {value[:60]!r}; make it the same "
                "kind everywhere, or leave it out."
            ) from error
        types[column] = self.types[column] = wider


class _WiderError(Exception):
    """An entry that the type of its column does not hold: (column, value, where)."""


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
        if self.path.exists() and any(self.path.samefile(other) for other in avoid):
            raise ValueError(f"{path} is one of the files that are read; give another name.")
        self._held: list[Any] = []
        self._writer: Any = None
        #: what is open: the file, what packs it, and the writer of its format
        self._open = ExitStack()

    def __enter__(self) -> "TableWriter":
        with self._explained():
            self._file = self._open.enter_context(replacing(self.path))
        return self

    def write(self, table: Any) -> None:
        """Add rows: a pyarrow table, of the schema that the first one has."""
        self._held.append(table)
        if sum(map(len, self._held)) >= LIMITS.group_rows:
            with self._explained():
                self._flush()

    def __exit__(self, *error: Any) -> None:
        if error[0] is None:
            with self._explained(), self._open:
                self._flush()
        else:
            with suppress(Exception):  # what cannot be written any more is not needed
                self._open.__exit__(*error)

    def _flush(self) -> None:
        if self._held:
            table, self._held = arrow().concat_tables(self._held), []
            self._writer = self._writer or self._start(table.schema)
            self._writer.write_table(table)

    def _start(self, schema: Any) -> Any:
        file: Any = self._file
        packing = {".gz": "gzip", ".bz2": "bz2"}.get(self.path.suffix.lower())
        if packing is not None:
            file = self._open.enter_context(arrow().CompressedOutputStream(file, packing))
        if self._is_csv:
            csv = need("pyarrow.csv", "CSV files are written")
            options = csv.WriteOptions(delimiter=separator_of(self.path))
            return self._open.enter_context(csv.CSVWriter(file, schema, write_options=options))
        parquet = need("pyarrow.parquet", "Parquet files are written")
        return self._open.enter_context(parquet.ParquetWriter(file, schema))

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            told = f"The rows were not written: {error.strerror}"
            raise OSError(error.errno, told, str(self.path)) from error
