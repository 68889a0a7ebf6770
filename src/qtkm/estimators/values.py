"""Values of one column as numbers, and what is wrong with those that are none."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_DECLARE = (
    "declare it with categorical_features (a mask, indices or names; 'from_dtype' takes columns of "
    "category or string type, see DataFrame.astype), or encode it as numbers"
)


def numbers(column: Any, label: str) -> NDArray:
    """Numbers of a column, of the type they have where that is a numeric one."""
    values = _to_numpy(column)
    kind = values.dtype.kind
    if kind in "biu" or (kind == "f" and values.dtype.itemsize <= 8):
        return values
    if kind == "c":
        refuse_complex(label, values.dtype)
    if kind in "mM" or getattr(column.dtype, "kind", "O") in "mM":
        raise ValueError(
            f"{label} holds times ({column.dtype}), not numbers; give what may matter of them as "
            "numbers, such as the hour or the days since a date."
        )
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        text = next((v for v in values.tolist() if isinstance(v, str | bytes)), None)
        what = f"values such as {text!r}" if text is not None else f"{values.dtype} values"
        message = f"{label} holds {what}, not numbers ({error}); {_DECLARE}."
        raise type(error)(message) from None


def _to_numpy(column: Any) -> NDArray:
    if not hasattr(column, "to_numpy"):
        return column
    dtype = column.dtype
    if hasattr(dtype, "na_value") and getattr(dtype, "kind", "O") in "biuf":  # pandas' nullable
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    return column.to_numpy()


def present(values: NDArray) -> NDArray:
    """Values that are not missing."""
    if values.dtype.kind != "f":
        return values
    missing = np.isnan(values)
    return values[~missing] if missing.any() else values


def refuse_infinite(values: NDArray, label: str, first_row: int = 0) -> None:
    """Raise a ValueError where a numeric column has infinite values."""
    if values.dtype.kind != "f" or not np.isinf(values).any():
        return
    found = np.isinf(values)
    raise ValueError(
        f"Input X contains infinity: {found.sum()} of the {len(values)} values of {label}, the "
        f"first in row {first_row + int(np.argmax(found)):,} (from 0). Numbers must be finite, or "
        "missing (NaN); clip these values or leave out their rows."
    )


def refuse_not_finite(values: NDArray, label: str, first_row: int = 0, name: str = "X") -> None:
    """Raise a ValueError where a numeric column has NaN or infinite values.

    Parameters
    ----------
    values : array
    label : str
        What the column is called in messages.
    first_row : int
        Number of the first row in messages.
    name : str
        Argument of `fit` that holds the column; nothing can stand in for values outside of X.
    """
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    row = first_row + int(np.argmin(np.isfinite(values)))
    n_missing = int(np.isnan(values).sum())
    what = "NaN" if n_missing else "infinity"
    count = n_missing or int(np.isinf(values).sum())
    if name != "X":
        hint = "Leave out their rows."
    elif n_missing:
        hint = (
            "Impute them (sklearn.impute) or leave out their rows; only columns declared with "
            "categorical_features may have missing values."
        )
    else:
        hint = "Numeric columns must be finite; clip these values or leave out their rows."
    raise ValueError(
        f"Input {name} contains {what}: {count} of the {len(values)} values of {label}, the first "
        f"in row {row:,} (from 0). {hint}"
    )


def refuse_complex(label: str, dtype: Any) -> None:
    """Raise a ValueError for complex numbers."""
    raise ValueError(
        f"Complex data not supported: {label} holds {dtype}; give real and imaginary parts as "
        "columns of their own."
    )


def shorten(values: Sequence[Any], most: int = 10, plain: bool = False) -> str:
    """List values in a message, only the first of many; `plain` ones are text as it stands."""
    text = ", ".join(value if plain else repr(value) for value in values[:most])
    return text if len(values) <= most else f"{text}, … ({len(values)} in all)"
