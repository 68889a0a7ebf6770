"""Categories of a column: its distinct values, each with a code."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: code of a category that the fit has not seen
UNKNOWN = -1


class Categories:
    """Distinct values of a categorical column, in ascending order, a missing one last.

    Parameters
    ----------
    values : iterable
        Values of the column, in any order; None, NaN and the like are one missing value.

    Attributes
    ----------
    codes : dict
        Value to code, None standing for the missing one.
    """

    def __init__(self, values: Iterable[Any]):
        found = [_without_kinds_of_missing(value) for value in values]
        ordered = _in_order({value for value in found if value is not None})
        if None in found:
            ordered.append(None)
        self.codes = {value: code for code, value in enumerate(ordered)}

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Any:
        return iter(self.codes)

    def code(self, values: Iterable[Any]) -> NDArray[np.int64]:
        """Codes of values; UNKNOWN for those that are none of the categories."""
        keys = (_without_kinds_of_missing(value) for value in values)
        return np.array([self.codes.get(key, UNKNOWN) for key in keys], dtype=np.int64)


def factorize(column: Any, label: str) -> tuple[Sequence[Any], NDArray[np.int64]]:
    """Distinct values of a column, and for every row which of them it holds.

    Rows are looked at here and nowhere else, so that all that follows is cheap.

    Parameters
    ----------
    column : array or Series
    label : str
        The column's name, for messages.
    """
    if hasattr(column, "cat") and hasattr(column, "iloc"):  # a pandas Series of categories
        return _by_pandas_codes(column.cat)
    values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
    if values.dtype.kind != "O":
        distinct, inverse = np.unique(values, return_inverse=True)
        return distinct.tolist(), inverse
    positions: dict[Any, int] = {}
    try:
        rows = (positions.setdefault(value, len(positions)) for value in values.tolist())
        inverse = np.fromiter(rows, dtype=np.int64, count=len(values))
    except TypeError as error:
        raise ValueError(
            f"{label} is declared categorical and holds a value that cannot be a category "
            f"({error}); use text, numbers or other hashable values."
        ) from None
    return list(positions), inverse


def _by_pandas_codes(accessor: Any) -> tuple[list[Any], NDArray[np.int64]]:
    codes = accessor.codes.to_numpy()
    categories = [*accessor.categories.tolist(), None]  # the code -1 is the missing value
    present = np.flatnonzero(np.bincount(codes + 1, minlength=len(categories))) - 1
    position = np.empty(len(categories), dtype=np.int64)
    position[present] = np.arange(len(present))
    return [categories[code] for code in present], position[codes]


def _without_kinds_of_missing(value: Any) -> Any:
    """None for NaN, NaT and pandas.NA; the value itself otherwise."""
    try:
        return None if value != value else value
    except TypeError:  # pandas.NA says neither yes nor no
        return None


def _in_order(values: Iterable[Any]) -> list[Any]:
    values = list(values)
    try:
        return sorted(values)
    except TypeError:  # of several types, such as text and numbers
        return sorted(values, key=lambda value: (type(value).__name__, str(value)))
