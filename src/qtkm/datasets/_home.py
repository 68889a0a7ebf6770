"""The data home: a folder of data files kept outside the package."""

import os
from pathlib import Path

ENVIRONMENT_VARIABLE = "QTKM_DATA_HOME"


def find_data_home(data_home: str | os.PathLike[str] | None = None) -> Path | None:
    """Find the folder that holds the data files.

    Parameters
    ----------
    data_home : path-like, optional
        The folder. If None, the environment variable ``QTKM_DATA_HOME`` names it.

    Returns
    -------
    pathlib.Path or None
        The folder, or None if neither names one.

    Raises
    ------
    FileNotFoundError
        If the folder that was named does not exist.
    """
    origin = "data_home" if data_home is not None else f"the variable {ENVIRONMENT_VARIABLE}"
    named = data_home if data_home is not None else os.environ.get(ENVIRONMENT_VARIABLE)
    if not named:
        return None
    folder = Path(named).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"{origin} names {str(folder)!r}, which is not a folder; "
            "name an existing one, or none to read from the installed packages"
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
        The file, or None if there is no data home or no such file in it.
    """
    folder = find_data_home(data_home)
    if folder is None or not (folder / name).is_file():
        return None
    return folder / name
