"""What is known of the sets beforehand: rows, and the range of every column.

The numbers in ``recorded.json`` were taken from files that were read and
compared by hand. What comes from a package or a download must agree with them.
"""

import json
from functools import cache
from importlib import resources
from typing import Any

# Some sources have fewer digits than others; a wrong file is off by far more.
_TOLERANCE = 0.01


@cache
def recorded() -> dict[str, Any]:
    """``rows``, ``low`` and ``high`` of every set, by its name."""
    text = resources.files(__package__).joinpath("recorded.json").read_text(encoding="utf-8")
    return json.loads(text)


def check(name: str, frame: Any, origin: str) -> None:
    """Compare a table with what is recorded of it.

    Parameters
    ----------
    name : str
        The set.
    frame : pandas.DataFrame
        All its columns, the target last.
    origin : str
        Where it was read from, for the message.

    Raises
    ------
    ValueError
        If the number of rows or columns, or the range of a column, is another, or a value
        is missing.
    """
    facts = recorded()[name]
    expected = (facts["rows"], len(facts["low"]))
    if frame.shape != expected:
        _refuse(name, origin, f"has {frame.shape[0]} rows and {frame.shape[1]} columns", expected)
    for column, low, high in zip(frame.columns, facts["low"], facts["high"], strict=True):
        values, slack = frame[column], _TOLERANCE * (high - low)
        if values.isna().any():
            _refuse(name, origin, f"lacks values of {column!r}", "all of them")
        if abs(values.min() - low) > slack or abs(values.max() - high) > slack:
            found = f"has {column!r} from {values.min()} to {values.max()}"
            _refuse(name, origin, found, f"{low} to {high}")


def _refuse(name: str, origin: str, found: str, expected: Any) -> None:
    raise ValueError(
        f"{origin} is not the set {name!r} as known: it {found}, expected {expected}; "
        "use another source, or put a file of your own in the data home"
    )
