"""Columns of tables of any library to those of a `Block`: arrays, or Series of categories."""

from typing import Any

import numpy as np

from .errors import DataFileError, need
from .kinds import MISSING, NUMBERS, TEXT, kind_of


def is_arrow(values: Any) -> bool:
    """Whether these are values of pyarrow."""
    return type(values).__module__.partition(".")[0] == "pyarrow"


def cut(values: Any, begin: int, end: int) -> Any:
    """Return consecutive entries of an array, a list, or a column of any library."""
    if hasattr(values, "iloc"):
        return values.iloc[begin:end]
    if hasattr(values, "slice"):  # pyarrow and polars
        return values.slice(begin, end - begin)
    return values[begin:end]


def to_column(values: Any, name: str, where: str) -> Any:
    """Array of numbers or times, or pandas Series of categories.

    Parameters
    ----------
    values : sequence
        Array, list, or a column of pandas, polars or pyarrow.
    name, where : str
        What it is called in messages.
    """
    if is_arrow(values):
        return from_arrow(values)
    if hasattr(values, "to_arrow"):  # polars
        return from_arrow(values.to_arrow())
    if not hasattr(values, "iloc"):
        values = _as_array(values)
        if values.ndim != 1:
            raise DataFileError(
                f"column {name!r} of {where} has the shape {values.shape}; expected one dimension."
            )
        if values.dtype.kind in "biufcmM":
            return values
        values = need("pandas", "columns of text are held").Series(values)
    return _from_pandas(values, name, where)


def _as_array(values: Any) -> Any:
    array = np.asarray(values)
    if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
        # NumPy would make text of numbers and of NaN
        return np.array(values, dtype=object)
    return array


def from_arrow(array: Any) -> Any:
    """Array or Series of categories from a pyarrow array; missing numbers are NaN in float64."""
    pyarrow = need("pyarrow", "tables are read")
    if isinstance(array, pyarrow.ChunkedArray):
        array = array.combine_chunks()
    kind = kind_of(array.type)
    if kind == TEXT or pyarrow.types.is_dictionary(array.type):
        return _category(array)
    if kind == MISSING:
        return np.full(len(array), np.nan)
    if kind == NUMBERS:
        if array.null_count or pyarrow.types.is_decimal(array.type):
            array = array.cast(pyarrow.float64(), safe=False)
        return array.to_numpy(zero_copy_only=False)
    if pyarrow.types.is_time(array.type):  # a time of day, which NumPy counts from midnight
        integer = pyarrow.int32() if pyarrow.types.is_time32(array.type) else pyarrow.int64()
        array = array.cast(integer).cast(pyarrow.int64()).cast(pyarrow.duration(array.type.unit))
    return array.to_numpy(zero_copy_only=False)


def _category(array: Any) -> Any:
    pyarrow = need("pyarrow", "tables are read")
    need("pandas", "columns of text are held")
    is_dictionary = pyarrow.types.is_dictionary(array.type)
    # what pandas cannot take is written out and coded anew
    if is_dictionary and (array.dictionary.null_count or not _is_distinct(array.dictionary)):
        array, is_dictionary = array.cast(array.type.value_type), False
    if str(array.type) == "string_view":
        array = array.cast(pyarrow.large_string())
    return (array if is_dictionary else array.dictionary_encode()).to_pandas()


def _is_distinct(values: Any) -> bool:
    return len(values.unique()) == len(values)


def _from_pandas(series: Any, name: str, where: str) -> Any:
    dtype = series.dtype
    if hasattr(series, "cat"):
        return series.reset_index(drop=True)
    kind = getattr(dtype, "kind", "O")
    if kind in "biufc":
        if hasattr(dtype, "na_value") and series.isna().any():
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        return series.to_numpy(dtype=getattr(dtype, "numpy_dtype", dtype))
    if kind in "mM":
        zone = getattr(series.dt, "tz", None) if kind == "M" else None
        times = series if zone is None else series.dt.tz_convert(None)
        return times.to_numpy(dtype=getattr(dtype, "numpy_dtype", None))
    return _from_objects(series, name, where)


def _from_objects(series: Any, name: str, where: str) -> Any:
    """Text, or Python's numbers that a Series of objects holds."""
    if series.isna().all():
        return np.full(len(series), np.nan)
    pandas = need("pandas", "columns of text are held")
    holds = pandas.api.types.infer_dtype(series, skipna=True)
    if holds in ("integer", "boolean", "floating", "mixed-integer-float", "decimal"):
        inferred = series.infer_objects()
        if inferred.dtype.kind in "biuf":
            return inferred.to_numpy()
        return series.where(series.notna(), np.nan).astype(float).to_numpy()
    if holds in ("date", "datetime", "datetime64"):
        return pandas.to_datetime(series, utc=True).dt.tz_convert(None).to_numpy()
    try:
        return series.reset_index(drop=True).astype("category")
    except TypeError as error:
        raise DataFileError(
            f"column {name!r} of {where} holds values that can be no categories ({error}); only "
            "numbers, text, bools and times can be read."
        ) from None


def to_arrow(values: Any) -> Any:
    """Array of pyarrow from a column of any library, as it is."""
    pyarrow = need("pyarrow", "columns are carried along")
    if hasattr(values, "to_arrow") and not is_arrow(values):
        values = values.to_arrow()
    if isinstance(values, pyarrow.ChunkedArray):
        values = values.combine_chunks()
    if is_arrow(values):
        is_coded = pyarrow.types.is_dictionary(values.type)
        return values.cast(values.type.value_type) if is_coded else values
    array = pyarrow.array(values, from_pandas=hasattr(values, "iloc"))
    return to_arrow(array) if pyarrow.types.is_dictionary(array.type) else array
