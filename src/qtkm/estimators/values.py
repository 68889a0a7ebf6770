"""Conversion of columns to numbers, and errors about values that are not numbers."""

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.sources.conversion import (
    NUMBERS,
    SPANS,
    TIMES,
    DataFileError,
    is_numeral,
    shorten,
    to_column,
)
from .working import warn_user

_DECLARE = (
    "declare it with categorical_features (a mask, indices or names; 'from_dtype' takes columns of "
    "category or string type, see DataFrame.astype), or encode it as numbers"
)
#: from the place of a row to its number in messages
Number = Callable[[Any], int]
#: cycles that have a name, in seconds
CYCLES = {"day": 86_400.0, "week": 604_800.0, "year": 31_556_952.0}


def read_numbers(column: Any, label: str) -> tuple[NDArray, str]:
    """Return a column as numbers, NaN if missing, times in seconds, and their kind."""
    try:
        values = column if isinstance(column, np.ndarray) else to_column(column, label, "X")
    except DataFileError as error:
        raise TypeError(str(error)) from None
    kind = getattr(values.dtype, "kind", "O")
    if kind == "b":
        return values.astype(np.uint8), NUMBERS  # NumPy does not subtract truth values
    if kind in "iu" or (kind == "f" and values.dtype.itemsize <= 8):
        return values, NUMBERS
    if kind == "c":
        refuse_complex(label, values.dtype)
    if kind in "mM":
        unit = np.datetime64(0, "us") if kind == "M" else np.timedelta64(0, "us")
        seconds = values.astype(unit.dtype).astype(np.int64) / 1e6
        seconds[np.isnat(values)] = np.nan
        return seconds, TIMES if kind == "M" else SPANS
    if hasattr(values, "cat"):
        return _of_categories(values, label), NUMBERS
    try:
        return values.astype(np.float64), NUMBERS
    except (TypeError, ValueError) as error:
        with suppress(DataFileError):
            found = to_column(values, "", "X") if kind == "O" else values
            if isinstance(found, np.ndarray) and found.dtype.kind in "biufmM":
                return read_numbers(found, label)
        raise type(error)(_not_numbers(values.tolist(), str(values.dtype), label, error)) from None


def _of_categories(series: Any, label: str) -> NDArray[np.float64]:
    """Return the numbers of a column of categories or text, if all of them are numbers."""
    distinct = series.cat.categories
    try:
        table = np.asarray(distinct).astype(np.float64)
    except (TypeError, ValueError) as error:
        held = "category" if isinstance(series.dtype.name, str) else series.dtype
        raise type(error)(_not_numbers(distinct.tolist(), str(held), label, error)) from None
    if len(distinct) and isinstance(distinct[0], str):
        warn_user(
            f"{label} contains numbers stored as text, such as {distinct[0]!r}; they are read as "
            "numbers. Store them as numbers, or declare the column with categorical_features.",
            UserWarning,
        )
    return np.append(table, np.nan)[series.cat.codes.to_numpy()]


def _not_numbers(values: Sequence[Any], dtype: str, label: str, error: Exception) -> str:
    text = next((v for v in values if isinstance(v, str | bytes) and not is_numeral(v)), None)
    what = f"values such as {text!r}" if text is not None else f"{dtype} values"
    if look_like_times([text]):
        return (
            f"{label} holds dates or times as text, such as {text!r}; convert it with "
            "pandas.to_datetime, or write it as 2013-05-20 or 2013-05-20 17:05."
        )
    return f"{label} holds {what}, not numbers ({error}); {_DECLARE}."


#: dates such as 2013-05-20, 20.05.2013 and 5/20/2013, and times such as 17:05, at the beginning
TIME = re.compile(
    r"\s*(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3\d{4}|\d{1,2}:\d{2})(?!\d)"
)


def look_like_times(texts: Any) -> bool:
    """Return True if there are texts, and all are dates or times of day."""
    found = [isinstance(text, str) and bool(TIME.match(text)) for text in texts]
    return bool(found) and all(found)


def as_period(given: Any, holds: str, label: str) -> float:
    """Return the period of a cyclic column in its units: a number, or the name of a cycle."""
    if isinstance(given, str) and given in CYCLES and holds != NUMBERS:
        return CYCLES[given]
    is_number = isinstance(given, int | float | np.number) and not isinstance(given, bool)
    if is_number and 0 < given < np.inf:
        return float(given)
    names = f"{shorten(list(CYCLES))}, or seconds" if holds != NUMBERS else "a number such as 24"
    raise ValueError(f"cyclic={given!r} of {label}, which contains {holds}, must be {names}.")


def present(values: NDArray) -> NDArray:
    """Return the values that are not missing."""
    return values if _are_finite(values) else values[~np.isnan(values)]


def _are_finite(values: NDArray) -> bool:
    """Return True if a fast check, the sum, shows that all numbers are finite."""
    with np.errstate(all="ignore"):
        return values.dtype.kind != "f" or bool(np.isfinite(values.sum()))


def refuse_not_finite(
    values: NDArray, label: str, number: Number = int, name: str = "y", gaps: bool = False
) -> None:
    """Raise a ValueError for infinite values of `name`, and for missing ones unless `gaps`."""
    if _are_finite(values):
        return
    missing = np.isnan(values)
    is_missing = not gaps and missing.any()
    found = missing if is_missing else np.isinf(values)
    if not found.any():
        return
    row = number(np.argmax(found.reshape(len(found), -1).any(axis=1)))
    raise ValueError(
        f"Input {name} contains {'NaN' if is_missing else 'infinity'}: {found.sum():,} of the "
        f"{values.size:,} values of {label}, the first in row {row:,} (from 0). "
        f"{'Clip these values, or remove' if gaps else 'Remove'} these rows."
    )


def cannot_continue(problem: str) -> ValueError:
    """Return the error of a warm start that does not match the first fit."""
    return ValueError(
        f"warm_start=True cannot continue: {problem}; use warm_start=False to start over."
    )


def refuse_complex(label: str, dtype: Any) -> None:
    """Raise a ValueError for complex numbers."""
    raise ValueError(
        f"Complex data not supported: {label} contains {dtype}; use separate columns for real and "
        "imaginary parts."
    )
