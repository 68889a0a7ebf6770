"""Which files a source is made of, of what format, and whether they are still the same."""

import glob
import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .conversion import DataFileError

PARQUET = (".parquet", ".pq")
CSV = tuple(f"{name}{packed}" for name in (".csv", ".tsv") for packed in ("", ".gz", ".bz2"))
#: first and last bytes of a Parquet file
MAGIC = b"PAR1"


def format_of(path: Path) -> str | None:
    """Return "CSV" or "Parquet" by a file's name; None for any other name."""
    name = path.name.lower()
    if name.endswith(PARQUET):
        return "Parquet"
    return "CSV" if name.endswith(CSV) else None


def check_format(path: Path) -> str:
    """Return "CSV" or "Parquet", or raise a DataFileError that lists the known endings."""
    kind = format_of(path)
    if kind is None:
        raise DataFileError(
            f"{path} is neither CSV nor Parquet by its name; expected one that ends in "
            f"{', '.join((*CSV, *PARQUET))}."
        )
    return kind


def separator_of(path: Path | str) -> str:
    """Return the separator of a CSV file."""
    return "\t" if ".tsv" in str(path).lower() else ","


def find_files(given: Iterable[str | os.PathLike[str]]) -> tuple[list[Path], str]:
    """Return the files of paths, folders and patterns, in this order, and their format.

    It is an error if one is missing, a folder has no table, or they are not all CSV or Parquet.
    """
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
    path = Path(text)
    if path.is_dir():
        # without hidden files and marks of other programs (_SUCCESS)
        inner = [file.relative_to(path).parts for file in path.rglob("*")
                 if format_of(file) and file.is_file()]  # fmt: skip
        shown = [parts for parts in inner if not any(p.startswith((".", "_")) for p in parts)]
        if not shown:
            raise FileNotFoundError(f"{path} is a folder without CSV and Parquet files.")
        return [path.joinpath(*parts) for parts in sorted(shown)]
    if path.exists():
        return [path]
    if not glob.has_magic(text):
        raise FileNotFoundError(f"{path} is not there.")
    files = [file for file in map(Path, sorted(glob.glob(text, recursive=True))) if file.is_file()]
    if not files:
        raise FileNotFoundError(f"No file matches the pattern {text!r}.")
    return files


@dataclass(frozen=True)
class Stamp:
    """What tells a file from its later self; `footer` is a hash of that of a Parquet file."""

    path: Path
    size: int
    modified: int
    footer: str = ""

    @classmethod
    def of(cls, path: Path, has_footer: bool = False) -> "Stamp":
        """Take the stamp of a file, or raise a DataFileError if it cannot be read."""
        digest = ""
        try:
            with path.open("rb") as file:
                status = os.fstat(file.fileno())
                size = status.st_size
                if has_footer:
                    file.seek(max(0, size - 8))
                    footer = file.read(8)
                    length = int.from_bytes(footer[:4], "little")
                    if footer[4:] == MAGIC and length <= size - 8:
                        file.seek(size - 8 - length)
                        footer = file.read(length)
                    digest = hashlib.sha256(footer).hexdigest()
        except FileNotFoundError:
            raise DataFileError(f"{path} has vanished since the source was opened.") from None
        except PermissionError:
            raise DataFileError(
                f"{path} may not be read by this user; change its permissions."
            ) from None
        except OSError as error:
            raise DataFileError(f"{path} cannot be read: {error.strerror}.") from error
        return cls(path.absolute(), size, status.st_mtime_ns, digest)

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


def combine(stamps: Iterable[Stamp]) -> str:
    """Return one text of many stamps."""
    digest = hashlib.sha256()
    for stamp in stamps:
        line = f"{stamp.path}\0{stamp.size}\0{stamp.modified}\0{stamp.footer}\n"
        digest.update(line.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
