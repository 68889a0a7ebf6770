"""The data home: a folder of data files kept outside the package."""

import os
import sys
from pathlib import Path

ENVIRONMENT_VARIABLE = "QTKM_DATA_HOME"


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


def find_in_home(name: str, data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Find one file of the data home.

    Parameters
    ----------
    name : str
        The file's path below the data home, with forward slashes.
    data_home : path-like, optional
        As in :func:`find_data_home`.

    Returns
    -------
    pathlib.Path or None
        The file, or None if there is no such file.
    """
    file = find_data_home(data_home) / name
    return file if file.is_file() else None


def _cache_folder() -> Path:
    """Where this system keeps what a user's programs can fetch again."""
    stated = os.environ.get("XDG_CACHE_HOME", "")
    if os.path.isabs(stated):  # the standard says to ignore a relative one
        return Path(stated)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path.home() / ".cache"
