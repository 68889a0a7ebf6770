"""Flights in the USA in 2008: the large experiment of the literature on Gaussian processes.

The table is built from two files of the ASA Data Expo 2009, the flights of
2008 and the register of planes. It is built in blocks of rows, so that only
the finished table has to fit into memory, and kept as parquet.
"""

import os
import tempfile
from pathlib import Path
from typing import Any

from . import _download as downloads
from ._airline_build import FEATURES, TARGET, build
from ._dataset import Dataset, Home, bunch
from ._home import find_data_home
from ._optional import is_installed, read_parquet
from ._sources import DOWNLOADS

EXPECTED_ROWS = 5_929_413

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

_DATASET = Dataset(
    name="airline",
    title="Flights in the USA in 2008, 5,929,413 rows",
    text="Every row is a flight that arrived where it should, of an aircraft whose year of\n"
    "manufacture is known.",
    columns=FEATURES,
    target=TARGET,
    target_text="the delay on arrival in minutes; negative when early.",
    origin="Source: ASA Data Expo 2009, 2008.csv and plane-data.csv,\n"
    "https://doi.org/10.7910/DVN/HG7NV7, from the Bureau of Transportation Statistics and the\n"
    "Federal Aviation Administration of the USA (public domain).",
    home_file="flights/airline_2008_8feat.parquet",
    exact=True,
)


def load_airline(
    *,
    return_X_y: bool = False,
    as_frame: bool = True,
    data_home: Home = None,
    download: bool = False,
    expected_rows: int | None = EXPECTED_ROWS,
) -> Any:
    """Load the flights in the USA in 2008.

    Parameters
    ----------
    return_X_y : bool, default=False
        Return ``(data, target)`` instead of a Bunch.
    as_frame : bool, default=True
        Give data and target as a pandas DataFrame and Series; if False, as float arrays.
    data_home : path-like, optional
        Folder with ``flights/2008.csv`` and ``flights/plane-data.csv``, or either of them
        compressed, with ``.bz2`` or ``.gz`` added. If None, the environment variable
        ``QTKM_DATA_HOME`` names it, and if that is not set, it is the folder ``qtkm`` of the
        user's cache.
    download : bool, default=False
        Download what is missing of the two files into the data home. See the notes: the
        public copy of the flights is not complete.
    expected_rows : int or None, default=5_929_413
        Number of rows that the table must have. None takes what the files give.

    Returns
    -------
    sklearn.utils.Bunch or tuple
        With ``data``, ``target``, ``frame`` (both together; None if ``as_frame=False``),
        ``feature_names``, ``target_names``, ``DESCR`` and ``source``, where it was read from;
        or ``(data, target)``.

    Raises
    ------
    FileNotFoundError
        If the data home lacks a file; the message says where to get it.
    ValueError
        If the table has another number of rows than expected. The message says how many rows
        were left out and why.

    Notes
    -----
    Left out are flights that were cancelled or diverted, those of planes that the register
    lacks or whose year it gives as blank, "None" or 0000, and those with any other value
    missing. Clock times, written hhmm, become minutes after midnight, and ``plane_age`` is
    2008 minus the year of manufacture.

    The papers that use this table report 5,929,413 rows but not every step that led there, and
    the complete file was not at hand when this was written. So the count is checked, and it is
    not certain that these steps reproduce it to the row.

    The flights in the Dataverse are said to be those of January to April only, 2,389,217 rows
    before any are left out. The year as first published has 7,009,728. With the former,
    `expected_rows` has to be None or another number.

    A table with the expected number of rows is kept in the data home as
    ``flights/airline_2008_8feat.parquet``, if pyarrow is installed and the folder can be
    written to, and read from there the next time.
    """
    home = find_data_home(data_home, create=download)
    kept = home / _DATASET.home_file
    frame, source = _read_kept(kept, expected_rows), str(kept)
    if frame is None:
        flights, planes = _find(home, _FLIGHTS, download), _find(home, _PLANES, download)
        frame, left_out = build(flights, planes)
        source = f"{flights} and {planes}"
        _check_rows(len(frame), expected_rows, left_out, source)
        if expected_rows is not None:
            _keep(frame, kept)
    return bunch(_DATASET, frame, source, return_X_y=return_X_y, as_frame=as_frame)


def _read_kept(file: Path, expected_rows: int | None) -> Any:
    """Read the cached table, or return None if it has another number of rows."""
    if not file.is_file() or not is_installed("pyarrow"):
        return None
    frame = read_parquet(file)
    return frame if expected_rows in (None, len(frame)) else None


def _keep(frame: Any, file: Path) -> None:
    """Store the table, whole or not at all."""
    if not is_installed("pyarrow") or not os.access(file.parents[1], os.W_OK):
        return
    file.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=".airline") as folder:
        part = Path(folder) / file.name
        frame.to_parquet(part)
        part.replace(file)


def _find(home: Path, names: tuple[str, ...], download: bool) -> Path:
    """One of the raw files, under any of its names."""
    for folder in ("flights", DOWNLOADS):
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
    file = home / DOWNLOADS / name
    downloads.fetch(_ADDRESSES[name], file)
    return file


def _check_rows(
    n_rows: int, expected_rows: int | None, left_out: dict[str, int], source: str
) -> None:
    if expected_rows in (None, n_rows):
        return
    reasons = ", ".join(f"{number} {reason}" for reason, number in left_out.items())
    raise ValueError(
        f"{source} give {n_rows} rows, expected {expected_rows}; left out were {reasons}. "
        f"{_INCOMPLETE}. Use a file of the whole year, or take what there is with "
        "expected_rows=None"
    )
