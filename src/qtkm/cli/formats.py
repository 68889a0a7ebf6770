"""Names of files and columns: what they say, and errors that name them."""

import os
import tempfile
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..data.sources import paths as sources
from ..data.sources.paths import PARQUET

#: what is unpacked before it is read
ZIPPED = ".csv.zip"
CSV = (*sources.CSV, ZIPPED)
#: names that are told of columns that are missing, and of those that are there
MOST_NAMES = 8


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


def _separator(path: Path | str) -> str:
    return "\t" if ".tsv" in str(path).lower() else ","


def refuse_encoding(path: Path) -> None:
    """Raise a ValueError for a CSV file in UTF-16, which some programs write."""
    if path.name.lower().endswith((".csv", ".tsv")) and path.is_file():
        with path.open("rb") as file:
            if file.read(2) in (BOM_UTF16_LE, BOM_UTF16_BE):
                raise ValueError(f"{path} is text in another encoding than UTF-8; save it as UTF-8")


def check_names(names: Sequence[str], wanted: Sequence[str], table: str) -> None:
    """Raise a ValueError for columns that a table does not have, with those that look like it.

    Parameters
    ----------
    names, wanted : sequence of str
        Columns that it has, and that it should have.
    table : str
        What it is called in messages.
    """
    from difflib import get_close_matches

    missing = [name for name in dict.fromkeys(wanted) if name not in names]
    if not missing:
        return
    near = [near for name in missing for near in get_close_matches(name, names, 3)] or names
    near = list(dict.fromkeys(near))
    told = ", ".join(map(repr, missing[:MOST_NAMES])) + ", …" * (len(missing) > MOST_NAMES)
    has = ", ".join(map(repr, near[:MOST_NAMES])) + ", …" * (len(names) > len(near[:MOST_NAMES]))
    hint = f"; {_other_separator(table)}" if len(names) == 1 and _is_joined(names[0]) else ""
    what = f"column{'s' * (len(missing) > 1)} {told}"
    raise ValueError(f"{table} has no {what}; it has {has}{hint}")


def separator_hint(path: Path) -> str:
    """Return a hint for an unreadable CSV file that seems to use another separator."""
    if not path.name.lower().endswith((".csv", ".tsv")):
        return ""
    with path.open(encoding="utf-8", errors="replace") as file:
        header = file.readline()
    is_other = _separator(path) not in header and _is_joined(header)
    return _other_separator(path) if is_other else ""


def _is_joined(name: str) -> bool:
    """Whether the name of a column looks like the names of several."""
    return any(mark in name.strip() for mark in ";\t|,")


def _other_separator(table: Path | str) -> str:
    return (
        f"are its values separated by something else than {_separator(table)!r}? Write them with "
        "commas, or with tabs to a file that ends in .tsv"
    )


def check_writable(path: Path, makes_folder: bool = False) -> None:
    """Refuse a name that no file can be written to, before anything takes long.

    Parameters
    ----------
    path : pathlib.Path
    makes_folder : bool
        Whether folders that are missing will be made.

    Raises
    ------
    OSError
        If it is a folder, or its folder is none, is missing, or may not be written to.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it, such as {path / 'name'}")
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise NotADirectoryError(f"{path} cannot be written: {folder} is a file, not a folder")
    if folder != path.parent and not makes_folder:
        raise FileNotFoundError(
            f"{path} cannot be written: the folder {path.parent} does not exist; create it first"
        )
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
