"""Files of the sets: the data home, installed packages, public archives, optional readers.

A package's files are read where they lie; the package itself is never imported.
"""

import importlib
import importlib.util
import io
import os
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

ENVIRONMENT_VARIABLE = "QTKM_DATA_HOME"
INSTALL = 'pip install "qtkm[data]"'
#: folder of the data home
DOWNLOADS = "downloads"


def is_installed(module: str) -> bool:
    """Return True if a package is installed, without importing it."""
    return importlib.util.find_spec(module) is not None


def need(module: str, purpose: str, advice: str = f"try: {INSTALL}") -> Any:
    """Import an optional package.

    Parameters
    ----------
    module : str
    purpose : str
        What it is for, as in "the loaders read tables with pandas".
    advice : str
        What to do if it is missing.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed.
    """
    if not is_installed(module):
        raise ModuleNotFoundError(f"{purpose}, which is not installed; {advice}", name=module)
    return importlib.import_module(module)


def pandas() -> Any:
    """Import pandas."""
    return need("pandas", "the loaders read tables with pandas")


def read_parquet(file: Any) -> Any:
    """Read a parquet file."""
    need("pyarrow", f"the file {str(file)!r} is read with pyarrow")
    return pandas().read_parquet(file)


def find_data_home(
    data_home: str | os.PathLike[str] | None = None, *, create: bool = False
) -> Path:
    """Find the folder that holds the data files.

    Parameters
    ----------
    data_home : path-like, optional
        The folder. If None, the environment variable ``QTKM_DATA_HOME`` names it; if that
        is not set, it is the folder ``qtkm`` of the user's cache.
    create : bool, default=False
        Make the folder if there is none.

    Returns
    -------
    pathlib.Path
        The folder. One that was named exists; that of the cache need not.

    Raises
    ------
    FileNotFoundError
        If the folder that was named does not exist and is not to be made.
    """
    origin = "data_home" if data_home is not None else f"the variable {ENVIRONMENT_VARIABLE}"
    named = data_home if data_home is not None else os.environ.get(ENVIRONMENT_VARIABLE)
    folder = Path(named).expanduser() if named else _cache_folder() / "qtkm"
    if create:
        folder.mkdir(parents=True, exist_ok=True)
    if named and not folder.is_dir():
        raise FileNotFoundError(
            f"{origin} names {str(folder)!r}, which is not a folder; "
            "name an existing one, or none to use the cache and the installed packages"
        )
    return folder


def _cache_folder() -> Path:
    """Return the system's folder for files that can be fetched again."""
    stated = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(stated):  # the standard says to ignore a relative one
        return Path(stated)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"


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
    reader : str
        Key of `READERS`.
    members : tuple of str
        Files to read from a zip archive, in any of its folders; empty for a plain file.
    install : str
        How to install it.
    """

    package: str
    project: str
    release: str
    path: str
    reader: str
    members: tuple[str, ...] = ()
    install: str = INSTALL

    def find(self) -> Path | None:
        """Return the file, or None if the package is not installed or lacks it."""
        folder = package_folder(self.package)
        file = None if folder is None else folder / self.path
        return file if file is not None and file.is_file() else None

    @property
    def origin(self) -> str:
        """Name of the file, for messages."""
        return f"package {self.project}: {self.package}/{self.path}"


@dataclass(frozen=True)
class PublicSource:
    """A file at a public address: `reader` and `members` as for packages."""

    url: str
    reader: str
    members: tuple[str, ...] = ()
    sha256: str | None = None

    @property
    def home_file(self) -> str:
        """Path below the data home."""
        return f"{DOWNLOADS}/{urlsplit(self.url).path.rpartition('/')[2]}"


def package_folder(package: str) -> Path | None:
    """Return the folder of an installed package, or None if it is not installed."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(spec.submodule_search_locations[0])


def open_members(file: Path, members: tuple[str, ...]) -> list[io.BytesIO]:
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
    """Return the path of a member: the repository moves files between folders."""
    for name in archive.namelist():
        if name.rpartition("/")[2] == member:
            return name
    raise KeyError(f"there is no {member} among {archive.namelist()}")
