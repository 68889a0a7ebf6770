"""What the columns of many files or batches have in common: numbers, text or times."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import DataFileError, need

NUMBERS, TEXT, TIMES, SPANS = "numbers", "text", "times", "spans of time"
MISSING = "nothing but missing values"


def kind_of(arrow_type: Any) -> str:
    """Kind of a column of a pyarrow type; of a dictionary, that of its values.

    A type that is none of these is its own kind.
    """
    types = need("pyarrow.types", "tables are read")
    if types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    if types.is_null(arrow_type):
        return MISSING
    if types.is_boolean(arrow_type) or types.is_decimal(arrow_type):
        return NUMBERS
    if types.is_integer(arrow_type) or types.is_floating(arrow_type):
        return NUMBERS
    if str(arrow_type).startswith(("string", "large_string", "binary", "large_binary", "fixed_s")):
        return TEXT
    if types.is_timestamp(arrow_type) or types.is_date(arrow_type):
        return TIMES
    return SPANS if types.is_temporal(arrow_type) else str(arrow_type)


def kind_of_values(values: Any) -> str:
    """Kind of a column of a `Block`."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "mM":
            return TIMES if values.dtype.kind == "M" else SPANS
        return MISSING if _is_missing(values) else NUMBERS
    categories = np.asarray(values.cat.categories)
    if len(categories) == 0:
        return MISSING
    return NUMBERS if categories.dtype.kind in "biuf" else TEXT


def _is_missing(values: NDArray) -> bool:
    is_float = values.dtype.kind == "f" and len(values) > 0
    return is_float and bool(np.isnan(values[0]) and np.isnan(values).all())


def refuse_other_kind(name: str, first: tuple[str, Any, str], second: tuple[str, Any, str]) -> None:
    """Raise an error if a column is of two kinds.

    Parameters
    ----------
    name : str
        Name of the column.
    first, second : (kind, type, where)
    """
    if first[0] != second[0] and MISSING not in (first[0], second[0]):
        raise DataFileError(
            f"column {name!r} holds {first[0]} ({first[1]}) in {first[2]} and {second[0]} "
            f"({second[1]}) in {second[2]}; make it the same kind everywhere, or leave it out."
        )


def unify(name: str, types: Sequence[Any], wheres: Sequence[str]) -> Any:
    """Return the pyarrow type that fits a column in all of several files.

    Parameters
    ----------
    name : str
        Name of the column.
    types : sequence of pyarrow types
        Its type in each file.
    wheres : sequence of str
        The files, for messages.

    Raises
    ------
    DataFileError
        If it holds numbers in one file and text in another, or something that is neither.
    """
    pyarrow = need("pyarrow", "tables are read")
    found = [(kind_of(t), t, where) for t, where in zip(types, wheres, strict=True)]
    filled = [entry for entry in found if entry[0] != MISSING]
    if not filled:
        return pyarrow.null()
    kind, first_type, where = filled[0]
    for other in filled[1:]:
        refuse_other_kind(name, filled[0], other)
    if kind not in (NUMBERS, TEXT, TIMES, SPANS):
        raise DataFileError(
            f"column {name!r} holds {kind} in {where}; only numbers, text, bools and times can be "
            "read. Leave it out, or write what it holds as columns of their own."
        )
    if all(t == first_type for _, t, _ in filled):
        return first_type
    plain = [getattr(t, "value_type", t) for _, t, _ in filled]
    if all(t == plain[0] for t in plain):
        return plain[0]
    if kind == TEXT:
        return pyarrow.large_string()
    return pyarrow.from_numpy_dtype(np.result_type(*[_numpy_type(t) for t in plain]))


def _numpy_type(arrow_type: Any) -> np.dtype:
    types = need("pyarrow.types", "tables are read")
    if types.is_decimal(arrow_type):
        return np.dtype(np.float64)
    if types.is_date(arrow_type):  # pyarrow has them as objects
        return np.dtype("M8[D]" if types.is_date32(arrow_type) else "M8[ms]")
    if types.is_temporal(arrow_type):
        return np.dtype(f"{'M8' if types.is_timestamp(arrow_type) else 'm8'}[{arrow_type.unit}]")
    return np.dtype(arrow_type.to_pandas_dtype())
