"""Which files a source is made of, of what format, and whether they are still the same."""

import glob
import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .errors import DataFileError

PARQUET = (".parquet", ".pq")
CSV = tuple(f"{name}{packed}" for name in (".csv", ".tsv") for packed in ("", ".gz", ".bz2"))
#: first and last bytes of a Parquet file
MAGIC = b"PAR1"


def format_of(path: Path) -> str | None:
    """Tell "CSV" or "Parquet" by a file's name; None for any other name."""
    name = path.name.lower()
    if name.endswith(PARQUET):
        return "Parquet"
    return "CSV" if name.endswith(CSV) else None


def find_files(given: Iterable[str | os.PathLike[str]]) -> tuple[list[Path], str]:
    """Files of paths, folders and patterns, and their format.

    Parameters
    ----------
    given : iterable of path-like
        Files are taken in this order, those of a folder or a pattern by name.

    Raises
    ------
    FileNotFoundError
        If there is no such file, or no table in a folder.
    DataFileError
        If they are not all CSV or all Parquet.
    """
    found = [path for entry in given for path in _expand(os.fspath(entry))]
    if not found:
        raise ValueError("The list of files is empty; name at least one.")
    formats: dict[str, Path] = {}
    for path in found:
        kind = format_of(path)
        if kind is None:
            raise DataFileError(
                f"{path} is neither CSV nor Parquet by its name; expected one that ends in "
                f"{', '.join((*CSV, *PARQUET))}."
            )
        formats.setdefault(kind, path)
    if len(formats) > 1:
        raise DataFileError(
            f"The source mixes formats: {formats['CSV']} is CSV and {formats['Parquet']} is "
            "Parquet; pass files of one format, by a pattern such as 'folder/*.parquet'."
        )
    return found, next(iter(formats))


def _expand(text: str) -> list[Path]:
    path = Path(text)
    if path.is_dir():
        files = sorted(_below(path), key=lambda file: file.relative_to(path).parts)
        if not files:
            raise FileNotFoundError(f"{path} is a folder without CSV and Parquet files.")
        return files
    if not path.exists() and glob.has_magic(text):
        files = sorted(Path(name) for name in glob.glob(text, recursive=True))
        files = [file for file in files if file.is_file()]
        if not files:
            raise FileNotFoundError(f"No file matches the pattern {text!r}.")
        return files
    if not path.exists():
        raise FileNotFoundError(f"{path} is not there.")
    return [path]


def _below(folder: Path) -> Iterator[Path]:
    """Tables below a folder, without hidden files and marks of other programs (_SUCCESS)."""
    for path in folder.rglob("*"):
        inner = path.relative_to(folder).parts
        if format_of(path) and path.is_file() and not any(p.startswith((".", "_")) for p in inner):
            yield path


@dataclass(frozen=True)
class Stamp:
    """What tells a file from its later self.

    Attributes
    ----------
    path : pathlib.Path
        Absolute.
    size, modified : int
        Bytes, and nanoseconds since 1970.
    footer : str
        Hash of the footer of a Parquet file, "" for other files.
    """

    path: Path
    size: int
    modified: int
    footer: str = ""

    @classmethod
    def of(cls, path: Path, has_footer: bool = False) -> "Stamp":
        """Take the stamp of a file.

        Raises
        ------
        DataFileError
            If it has vanished or may not be read.
        """
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                footer = _footer(file, status.st_size) if has_footer else b""
        except FileNotFoundError:
            raise DataFileError(f"{path} has vanished since the source was opened.") from None
        except PermissionError:
            raise DataFileError(
                f"{path} may not be read by this user; change its permissions."
            ) from None
        except OSError as error:
            raise DataFileError(f"{path} cannot be read: {error.strerror}.") from error
        digest = hashlib.sha256(footer).hexdigest() if has_footer else ""
        return cls(path.absolute(), status.st_size, status.st_mtime_ns, digest)

    def refuse_changes(self) -> None:
        """Raise a DataFileError if the file is not what it was."""
        now = Stamp.of(self.path, bool(self.footer))
        if now != self:
            what = "other contents"
            if now.size != self.size:
                what = f"{now.size:,} bytes instead of {self.size:,}"
            raise DataFileError(
                f"{self.path} has changed since the source was opened: it has {what}. Open the "
                "source anew once nothing writes to the file any more."
            )


def _footer(file: BinaryIO, size: int) -> bytes:
    """Last bytes of a Parquet file: its footer, or what stands in its place."""
    file.seek(max(0, size - 8))
    tail = file.read(8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != MAGIC or length > size - 8:
        return tail
    file.seek(size - 8 - length)
    return file.read(length)


def combine(stamps: Iterable[Stamp]) -> str:
    """One text of many stamps."""
    digest = hashlib.sha256()
    for stamp in stamps:
        line = f"{stamp.path}\0{stamp.size}\0{stamp.modified}\0{stamp.footer}\n"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
