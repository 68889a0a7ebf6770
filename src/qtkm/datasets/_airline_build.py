"""The airline table from its raw files, in blocks of rows."""

from pathlib import Path
from typing import Any

import numpy as np

from ._clock import minutes_after_midnight
from ._optional import pandas

YEAR = 2008
FEATURES = {
    "Month": "1 to 12",
    "DayofMonth": "from 1",
    "DayOfWeek": "from 1 (Monday) to 7 (Sunday)",
    "plane_age": "2008 minus the year of manufacture, in years",
    "AirTime": "minutes in the air",
    "Distance": "miles flown",
    "ArrTime": "local time of arrival, minutes after midnight (1440: midnight at the day's end)",
    "DepTime": "local time of departure, the same way",
}
TARGET = "ArrDelay"

_NUMBERS = [name for name in FEATURES if name != "plane_age"] + [TARGET]
_FLAGS = ["Cancelled", "Diverted"]
_BLOCK = 250_000  # rows, a few dozen MB each


def build(flights: Path, planes: Path) -> tuple[Any, dict[str, int]]:
    """Build the table.

    Parameters
    ----------
    flights, planes : pathlib.Path
        Comma-separated files in the format of the ASA Data Expo 2009, compressed or not.

    Returns
    -------
    frame : pandas.DataFrame
        Features and target as 32-bit integers, in the order of the flights.
    left_out : dict
        Number of rows left out, by reason.
    """
    years = read_years(planes)
    frames, left_out = [], {"cancelled or diverted": 0, "without year": 0, "without a value": 0}
    blocks = pandas().read_csv(
        flights,
        usecols=[*_NUMBERS, *_FLAGS, "TailNum"],
        dtype=dict.fromkeys([*_NUMBERS, *_FLAGS], np.float64) | {"TailNum": str},
        encoding="latin-1",  # a byte that is no text must not end the reading
        chunksize=_BLOCK,
    )
    with blocks:
        for block in blocks:
            frames.append(_keep_whole_rows(block, years, left_out))
    return pandas().concat(frames, ignore_index=True), left_out


def read_years(planes: Path) -> Any:
    """Year of manufacture by tail number, of the planes that have one."""
    register = pandas().read_csv(planes, usecols=["tailnum", "year"], dtype=str)
    years = pandas().to_numeric(register["year"], errors="coerce")
    known = years > 0  # blank and "None" are missing, and 0000 stands for unknown
    return years[known].set_axis(register["tailnum"][known]).groupby(level=0).first()


def _keep_whole_rows(block: Any, years: Any, left_out: dict[str, int]) -> Any:
    """Rows that have everything; those that have not are counted."""
    arrived = block[(block[_FLAGS] == 0).all(axis=1)]
    age = YEAR - years.reindex(arrived["TailNum"]).to_numpy()
    dated = arrived.assign(plane_age=age)[~np.isnan(age)]
    whole = dated[[*FEATURES, TARGET]].dropna()
    for reason, before, after in (
        ("cancelled or diverted", block, arrived),
        ("without year", arrived, dated),
        ("without a value", dated, whole),
    ):
        left_out[reason] += len(before) - len(after)
    times = {name: minutes_after_midnight(whole[name]) for name in ("ArrTime", "DepTime")}
    return whole.assign(**times).astype(np.int32)
