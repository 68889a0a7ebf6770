"""Columns of any library: what kind they are, as columns of a `Block`, and errors about them."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any

import numpy as np

from ...extras import need

#: kinds of columns; times are seconds since 1970 (UTC) and spans seconds once they are numbers
NUMBERS, TEXT, TIMES, SPANS = "numbers", "text", "times", "time spans"
MISSING = "nothing but missing values"
#: how the names of pyarrow's types begin, by their kind
_KINDS = {
    NUMBERS: ("bool", "int", "uint", "halffloat", "float", "double", "decimal"),
    TEXT: ("string", "large_string", "binary", "large_binary", "fixed_size_binary"),
    TIMES: ("timestamp", "date"),
    SPANS: ("time", "duration", "month_day_nano_interval"),
    MISSING: ("null",),
}


class DataFileError(ValueError):
    """A file, or a batch, that cannot be read or does not fit the others."""


def arrow() -> Any:
    """Import pyarrow."""
    return need("pyarrow", "tables are read and written")


def refuse_missing(where: str, wanted: Iterable[str], names: Sequence[str]) -> None:
    """Raise a DataFileError for all columns that are not there, with those that look like them."""
    missing = [name for name in dict.fromkeys(wanted) if name not in names]
    if missing:
        near = [other for name in missing for other in get_close_matches(name, names, 3)]
        has = shorten(list(dict.fromkeys(near)) or names)
        what = f"column{'s' * (len(missing) > 1)} {shorten(missing)}"
        raise DataFileError(f"{where} has no {what}; it has {has}.")


def shorten(values: Sequence[Any], most: int = 10, plain: bool = False) -> str:
    """List at most `most` values in a message; `plain` ones without quotes."""
    text = ", ".join(value if plain else repr(value) for value in values[:most])
    return text if len(values) <= most else f"{text}, … ({len(values)} in total)"


def refuse_repeated(where: str, names: Sequence[str]) -> None:
    """Raise a DataFileError if two columns have the same name."""
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise DataFileError(f"{where} has several columns of the name {twice[0]!r}; rename them.")


def kind_of(arrow_type: Any) -> str:
    """Return the kind of a pyarrow type (of a dictionary's values); others are their own kind."""
    if arrow().types.is_dictionary(arrow_type):
        return kind_of(arrow_type.value_type)
    name = str(arrow_type)
    return next((kind for kind, begins in _KINDS.items() if name.startswith(begins)), name)


def kind_of_values(values: Any) -> str:
    """Return the kind of a column of a `Block`."""
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "mM":
            return TIMES if values.dtype.kind == "M" else SPANS
        is_float = values.dtype.kind == "f" and len(values) > 0
        is_missing = is_float and np.isnan(values[0]) and np.isnan(values).all()
        return MISSING if is_missing else NUMBERS
    categories = np.asarray(values.cat.categories)
    if len(categories) == 0:
        return MISSING
    return NUMBERS if categories.dtype.kind in "biuf" else TEXT


def refuse_other_kind(name: str, first: tuple[str, Any, str], second: tuple[str, Any, str]) -> None:
    """Raise a DataFileError if a column has two kinds, each given as (kind, type, where)."""
    if first[0] != second[0] and MISSING not in (first[0], second[0]):
        raise DataFileError(
            f"column {name!r} holds {first[0]} ({first[1]}) in {first[2]} and {second[0]} "
            f"({second[1]}) in {second[2]}; make it the same kind everywhere, or leave it out."
        )


def unify(name: str, types: Sequence[Any], wheres: Sequence[str]) -> Any:
    """Return the pyarrow type that holds a column of several files, or raise a DataFileError."""
    pyarrow = arrow()
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
    if all(map(pyarrow.types.is_integer, plain)) and pyarrow.uint64() not in plain:
        return pyarrow.int64()
    return {
        NUMBERS: pyarrow.float64(), TEXT: pyarrow.large_string(), TIMES: pyarrow.timestamp("us"),
        SPANS: pyarrow.duration("us"),
    }[kind]  # fmt: skip


def to_column(values: Any, name: str, where: str) -> Any:
    """Return an array of numbers or times, or a pandas Series of categories."""
    if hasattr(values, "to_arrow"):  # polars
        values = values.to_arrow()
    elif hasattr(getattr(values, "dtype", None), "pyarrow_dtype"):  # pandas with types of pyarrow
        values = arrow().array(values)
    if _is_arrow(values):
        values = _arrow_to_pandas(values)
    if isinstance(values, np.ma.MaskedArray) and values.dtype.kind in "biuf":
        values = np.ma.filled(values.astype(np.float64), np.nan)
    if not hasattr(values, "iloc"):
        array = np.asarray(values)
        if array.dtype.kind in "US" and not isinstance(values, np.ndarray):
            array = np.array(values, dtype=object)  # NumPy would make text of numbers and of NaN
        if array.ndim != 1:
            said = f"column {name!r} of {where} has shape {array.shape}"
            raise DataFileError(f"{said}; expected one dimension.")
        if array.dtype.kind in "biufcmM":
            return array
        values = need("pandas", "columns of text are held").Series(array)
    return _from_pandas(values, name, where)


def _is_arrow(values: Any) -> bool:
    return type(values).__module__.partition(".")[0] == "pyarrow"


def _arrow_to_pandas(array: Any) -> Any:
    """Return a pandas Series: text as categories, dates as times, times of day as time spans."""
    need("pandas", "columns of tables are held")
    pyarrow = arrow()
    if isinstance(array, pyarrow.ChunkedArray):
        array = array.combine_chunks()
    is_coded = pyarrow.types.is_dictionary(array.type) or kind_of(array.type) == TEXT
    if pyarrow.types.is_dictionary(array.type):
        words = array.dictionary
        if words.null_count or len(words.unique()) < len(words):  # which pandas does not take
            array = array.cast(array.type.value_type)
    if str(array.type) == "string_view":
        array = array.cast(pyarrow.large_string())
    if pyarrow.types.is_time(array.type):  # Python's times have no nanoseconds
        since_midnight = array.cast(pyarrow.time64("us"), safe=False).cast(pyarrow.int64())
        array = since_midnight.cast(pyarrow.duration("us"))
    return (array.dictionary_encode() if is_coded else array).to_pandas(date_as_object=False)


def _from_pandas(series: Any, name: str, where: str) -> Any:
    dtype = series.dtype
    if hasattr(series, "cat"):
        return series.reset_index(drop=True)
    kind = getattr(dtype, "kind", "O")
    if kind in "biufc":
        if hasattr(dtype, "na_value") and series.isna().any():
            return series.to_numpy(dtype=np.float64, na_value=np.nan)
        inner = getattr(dtype, "subtype", dtype)  # of sparse columns
        return series.to_numpy(dtype=getattr(dtype, "numpy_dtype", inner))
    if kind in "mM":
        zone = getattr(series.dt, "tz", None) if kind == "M" else None
        times = series if zone is None else series.dt.tz_convert(None)
        return times.to_numpy(dtype=getattr(dtype, "numpy_dtype", None))
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
    if holds == "time":  # of day, counted from midnight
        return pandas.to_timedelta(series.astype(str).where(series.notna())).to_numpy()
    try:
        return series.reset_index(drop=True).astype("category")
    except TypeError as error:
        raise DataFileError(
            f"column {name!r} of {where} holds values that can be no categories ({error}); only "
            "numbers, text, bools and times can be read."
        ) from None


def to_arrow(values: Any) -> Any:
    """Return a column of any library as a pyarrow array of its own type."""
    pyarrow = arrow()
    if hasattr(values, "to_arrow"):  # polars
        values = values.to_arrow()
    elif not _is_arrow(values):
        values = pyarrow.array(values, from_pandas=hasattr(values, "iloc"))
    if isinstance(values, pyarrow.ChunkedArray):
        values = values.combine_chunks()
    is_coded = pyarrow.types.is_dictionary(values.type)
    return values.cast(values.type.value_type) if is_coded else values


def is_numeral(text: Any) -> bool:
    """Return True if Python reads a text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
