"""Tables from CSV and Parquet files and back, with errors that name the file."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CSV, PARQUET = (".csv", ".csv.gz", ".csv.bz2", ".csv.zip", ".tsv"), (".parquet", ".pq")
INSTALL = 'pip install "qtkm[data]"'


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
        Only these.

    Raises
    ------
    FileNotFoundError, ValueError
        If the file is missing, empty, damaged or lacks a column.
    """
    pandas, kind = _pandas(), kind_of(path)
    if not path.is_file():
        what = "is a folder, not a file" if path.is_dir() else "is not there"
        raise FileNotFoundError(f"{path} {what}")
    try:
        if kind == "parquet":
            frame = pandas.read_parquet(path)
        else:
            separator = "\t" if path.name.lower().endswith(".tsv") else ","
            frame = pandas.read_csv(path, sep=separator)
    except pandas.errors.EmptyDataError:
        raise ValueError(f"{path} is empty") from None
    except (ValueError, OSError, EOFError) as error:
        if isinstance(error, PermissionError):
            raise PermissionError(f"{path} may not be read") from None
        reason = " ".join(str(error).split())
        raise ValueError(f"{path} cannot be read as {kind}: {reason:.200}") from None
    if len(frame) == 0:
        raise ValueError(f"{path} has columns but no rows")
    frame.columns = [str(name) for name in frame.columns]
    return frame if columns is None else choose(frame, columns, path)


def choose(frame: Any, columns: Sequence[str], path: Path) -> Any:
    """Take some columns of a table.

    Raises
    ------
    ValueError
        If one of them is missing; the message names those that look like it.
    """
    from difflib import get_close_matches

    missing = [name for name in columns if name not in frame.columns]
    if missing:
        name, names = missing[0], list(frame.columns)
        near = get_close_matches(name, names, 3) or names[:8]
        more = ", …" if len(names) > len(near) else ""
        raise ValueError(
            f"{path} has no column {name!r}; it has {', '.join(map(repr, near))}{more}"
        )
    return frame[list(columns)]


def write_table(frame: Any, path: Path) -> None:
    """Write a DataFrame as CSV or Parquet, by the file's name, whole or not at all."""
    kind = kind_of(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{os.getpid()}.partial.{path.name}")
    try:
        if kind == "parquet":
            frame.to_parquet(partial, index=False)
        else:
            separator = "\t" if path.name.lower().endswith(".tsv") else ","
            frame.to_csv(partial, index=False, sep=separator)
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def _pandas() -> Any:
    try:
        import pandas
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"tables are read with pandas; try: {INSTALL}") from None
    return pandas
