"""Tables from CSV and Parquet files and back, with errors that name the file."""

import os
import tempfile
import zlib
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from ..data.sources import paths as sources
from ..data.sources.errors import INSTALL
from ..data.sources.paths import PARQUET

#: what pandas unpacks and a source of blocks does not
ZIPPED = ".csv.zip"
CSV = (*sources.CSV, ZIPPED)


def kind_of(path: Path) -> str:
    """Tell "csv" or "parquet" by a file's name.

    Raises
    ------
    ValueError
        For any other name.
    """
    name = path.name.lower()
    if name.endswith(CSV):
        return "csv"
    if name.endswith(PARQUET):
        return "parquet"
    raise ValueError(
        f"{path} is neither CSV nor Parquet by its name; expected one that ends in "
        f"{', '.join((*CSV, *PARQUET))}"
    )


def read_table(path: Path, columns: Sequence[str] | None = None) -> Any:
    """Read a file as a pandas DataFrame.

    Parameters
    ----------
    path : pathlib.Path
    columns : sequence of str, optional
        Only these; of a Parquet file no others are read.

    Raises
    ------
    FileNotFoundError, ValueError
        If the file is missing, empty, damaged or lacks a column.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; this command reads one file")
    pandas, kind = _pandas(), kind_of(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path} is not there")
    try:
        frame = _read_parquet(path, columns) if kind == "parquet" else _read_csv(path)
    except pandas.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except PermissionError:
        raise PermissionError(f"{path} may not be read") from None
    except (ValueError, OSError, EOFError, BadZipFile, zlib.error) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as {kind}: {reason:.200}") from None
    frame.columns = [str(name) for name in frame.columns]
    if columns is not None:
        frame = choose(frame, columns, path)
    if len(frame) == 0:
        raise ValueError(f"{path} has columns but no rows")
    return frame


def _read_csv(path: Path) -> Any:
    # types are told by whole columns: by blocks of rows, a column could become half text
    return _pandas().read_csv(path, sep=_separator(path), low_memory=False)


def _read_parquet(path: Path, columns: Sequence[str] | None) -> Any:
    pandas = _pandas()
    try:
        arrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"Parquet is read with pyarrow; try: {INSTALL}") from None
    try:
        names = parquet.read_schema(path).names
        wanted = None if columns is None or set(columns) - set(names) else list(columns)
        return pandas.read_parquet(path, columns=wanted)
    except arrow.ArrowException as error:  # not all of them are ValueErrors
        raise ValueError(str(error)) from None


def _separator(path: Path) -> str:
    return "\t" if ".tsv" in path.name.lower() else ","


def choose(frame: Any, columns: Sequence[str], path: Path) -> Any:
    """Take some columns of a table.

    Raises
    ------
    ValueError
        If one of them is missing; the message names those that look like it.
    """
    check_names(list(frame.columns), columns, path)
    return frame[list(columns)]


def check_names(names: Sequence[str], wanted: Sequence[str], path: Path) -> None:
    """Raise a ValueError for columns that a table does not have, with those that look like it."""
    from difflib import get_close_matches

    missing = [name for name in wanted if name not in names]
    if missing:
        near = get_close_matches(missing[0], names, 3) or names[:8]
        more = ", …" if len(names) > len(near) else ""
        hint = ""
        if len(names) == 1 and any(mark in names[0] for mark in ";\t|"):
            hint = f"; are its values separated by something else than {_separator(path)!r}?"
        raise ValueError(
            f"{path} has no column {missing[0]!r}; it has {', '.join(map(repr, near))}{more}{hint}"
        )


def check_writable(path: Path) -> None:
    """Refuse a name that no file can be written to, before anything takes long.

    Raises
    ------
    OSError
        If it is a folder, or its folder is no folder or may not be written to. Folders that are
        missing are no hindrance if the one they would stand in can be written to.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it, such as {path / 'name'}")
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {folder} is a file, not a folder")
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise OSError(
            f"{path} cannot be written: nothing can be put into {folder} ({error.strerror})"
        ) from None


def write_table(frame: Any, path: Path) -> None:
    """Write a DataFrame as CSV or Parquet, by the file's name, whole or not at all."""
    kind = kind_of(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{os.getpid()}.partial.{path.name}")
    try:
        if kind == "parquet":
            frame.to_parquet(partial, index=False)
        else:
            frame.to_csv(partial, index=False, sep=_separator(path))
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _pandas() -> Any:
    try:
        import pandas
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"tables are read with pandas; try: {INSTALL}") from None
    return pandas
