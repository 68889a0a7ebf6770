"""Files of the sets: the data home, installed packages, public archives, downloads.

A package's files are read where they lie; the package itself is never imported. A download is
written under another name and renamed when it is complete. The first download is trusted: its
SHA-256 checksum is kept beside it, in a file with ``.sha256`` added, and what is read later must
agree with it.
"""

import hashlib
import http.client
import importlib
import importlib.util
import io
import os
import shutil
import sys
import tempfile
import urllib.request
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

ENVIRONMENT_VARIABLE = "QTKM_DATA_HOME"
INSTALL = 'pip install "qtkm[data]"'
#: folder of the data home
DOWNLOADS = "downloads"
_TIMEOUT = 60  # seconds without a byte


def is_installed(module: str) -> bool:
    """Return True if a package is installed, without importing it."""
    return importlib.util.find_spec(module) is not None


def need(module: str, purpose: str, advice: str = f"try: {INSTALL}") -> Any:
    """Import an optional package, or raise an error with its purpose and what to do."""
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
    """Return the folder of the data files; a given one must exist, that of the cache need not.

    If `data_home` is None, it is that of the environment variable ``QTKM_DATA_HOME`` or, if that
    is not set, the folder ``qtkm`` of the user's cache. With `create`, it is created.
    """
    origin = "data_home" if data_home is not None else f"the variable {ENVIRONMENT_VARIABLE}"
    named = data_home if data_home is not None else os.environ.get(ENVIRONMENT_VARIABLE)
    folder = Path(named).expanduser() if named else _cache_folder() / "qtkm"
    if create:
        folder.mkdir(parents=True, exist_ok=True)
    if named and not folder.is_dir():
        raise FileNotFoundError(
            f"{origin} is {str(folder)!r}, which is not a folder; use an existing one, or None for "
            "the cache and the installed packages"
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
class Package:
    """A file inside an installed package, which is not imported; `members` as in `Dataset`.

    `project` and `release` are what to install.
    """

    name: str
    project: str
    release: str
    path: str
    members: tuple[str, ...] = ()
    install: str = INSTALL

    def find(self) -> Path | None:
        """Return the file, or None if the package is not installed or lacks it."""
        folder = package_folder(self.name)
        file = None if folder is None else folder / self.path
        return file if file is not None and file.is_file() else None

    @property
    def origin(self) -> str:
        """Name of the file, for messages."""
        return f"package {self.project}: {self.name}/{self.path}"


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
            f"{str(file)!r} should be a zip archive that contains {' and '.join(members)}, but: "
            f"{error}; delete it and download it again"
        ) from error


def _locate(archive: zipfile.ZipFile, member: str) -> str:
    """Return the path of a member: the repository moves files between folders."""
    for name in archive.namelist():
        if name.rpartition("/")[2] == member:
            return name
    raise KeyError(f"there is no {member} among {archive.namelist()}")


def fetch(url: str, file: Path) -> None:
    """Download a file, with a progress bar on a terminal, or leave nothing behind."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            _transfer(url, stream, file)
        text = f"{_checksum(part)}  {file.name}\n"
        checksum_file(file).write_text(text, encoding="utf-8")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _checksum(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def verify(file: Path) -> None:
    """Raise an OSError if a downloaded file differs from the checksum kept beside it, if any."""
    if not checksum_file(file).is_file():
        return
    expected = checksum_file(file).read_text(encoding="utf-8").split()[0]
    if (found := _checksum(file)) != expected:
        raise OSError(
            f"{str(file)!r} has the SHA-256 checksum {found}, but had {expected} when it was "
            "downloaded; delete it and load with download=True"
        )


def discard(file: Path) -> None:
    """Delete a downloaded file and its checksum."""
    file.unlink(missing_ok=True)
    checksum_file(file).unlink(missing_ok=True)


def checksum_file(file: Path) -> Path:
    """Return the path of the checksum of a downloaded file."""
    return file.with_name(file.name + ".sha256")


def _transfer(url: str, stream: Any, file: Path) -> None:
    """Copy a download to a stream."""
    try:
        # Some servers turn away the name that Python gives itself.
        request = urllib.request.Request(url, headers={"User-Agent": "qtkm"})
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            stated = response.headers.get("Content-Length")
            total = None if stated is None else int(stated)
            bar = tqdm.wrapattr(response, "read", total, desc=file.name, disable=None)
            with bar as source:
                shutil.copyfileobj(source, stream)
        if total not in (None, stream.tell()):
            raise OSError(f"it ended after {stream.tell()} of {total} bytes")
    except (OSError, http.client.HTTPException) as error:
        raise OSError(
            f"the download of {url} failed: {error}; try again, or put the file at {str(file)!r} "
            "yourself"
        ) from error
