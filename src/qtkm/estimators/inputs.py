"""From what a user passes as X to an array for each column: numbers, or category codes."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from .categories import Categories, factorize

#: columns that one message tells of
MOST_PROBLEMS = 10
_DECLARE = (
    "declare it with categorical_features (a mask, indices or names; 'from_dtype' takes columns of "
    "category or string type, see DataFrame.astype), or encode it as numbers"
)


class Inputs:
    """The columns of X as the fit saw them.

    Parameters
    ----------
    columns : list
        Columns of the training X, see `read_columns`.
    names : sequence of str or None
        Their names, where they have some.
    categorical_features : mask, indices, names, "from_dtype" or None

    Attributes
    ----------
    names : list of str
        Feature names, or "x0", "x1", … where there are none.
    labels : list of str
        What the columns are called in messages.
    is_categorical : list of bool
    categories : dict of int to Categories
        Of every categorical column, once `learn` has seen it.
    """

    def __init__(self, columns: Sequence[Any], names: Any, categorical_features: Any):
        named = names is not None
        self.names = list(names) if named else [f"x{d}" for d in range(len(columns))]
        self.labels = [
            f"column {name!r}" if named else f"column {d}" for d, name in enumerate(self.names)
        ]
        self.is_categorical = _categorical_mask(columns, categorical_features, names).tolist()
        self.categories: dict[int, Categories] = {}

    def learn(self, columns: Sequence[Any], finite: bool, weight: NDArray | None) -> list[NDArray]:
        """Numbers and codes of the rows of positive weight; learns the categories."""
        keep = None if weight is None or weight.all() else weight > 0
        return [
            self._learn(d, *column) if self.is_categorical[d] else column
            for d, column in enumerate(self.look(columns, finite, keep))
        ]

    def codes(self, columns: Sequence[Any], finite: bool) -> list[NDArray]:
        """Numbers and codes of new columns; UNKNOWN for categories that the fit has not seen."""
        return [
            self.code(d, *column) if self.is_categorical[d] else column
            for d, column in enumerate(self.look(columns, finite, None))
        ]

    def look(
        self, columns: Sequence[Any], finite: bool, keep: NDArray | None, first_row: int = 0
    ) -> Iterator[Any]:
        """Yield the numbers of a column, or its distinct values and which each row holds.

        Only of the rows to keep; `first_row` is the number of the first row in messages.
        """
        for d, column in enumerate(columns):
            try:
                found = self._look(d, column, finite, first_row)
            except (TypeError, ValueError) as error:
                others = self._problems(range(d + 1, len(columns)), columns, finite, first_row)
                raise type(error)(_list_problems([str(error), *others])) from None
            if self.is_categorical[d]:
                distinct, inverse = found
                yield distinct, inverse if keep is None else inverse[keep]
            else:
                yield found if keep is None else found[keep]

    def _look(self, d: int, column: Any, finite: bool, first_row: int) -> Any:
        """All rows of a column, as `look` gives them."""
        if self.is_categorical[d]:
            return factorize(column, self.labels[d])
        values = numbers(column, self.labels[d])
        if not finite:
            refuse_not_finite(values, self.labels[d], first_row)
        return values

    def _problems(
        self, some: Sequence[int], columns: Sequence[Any], finite: bool, first_row: int
    ) -> Iterator[str]:
        """What makes some of the columns unfit."""
        for d in some:
            try:
                self._look(d, columns[d], finite, first_row)
            except (TypeError, ValueError) as error:
                yield str(error)

    def learn_categories(self, d: int, present: Categories) -> None:
        """Take over the categories of a column; a fit that goes on knows all of them."""
        known = self.categories.setdefault(d, present)
        new = [value for value in present if value not in known.codes]
        if new:
            raise ValueError(
                f"warm_start=True cannot go on: {self.labels[d]} has categories that the first "
                f"fit has not seen ({shorten(new)}); use warm_start=False to start anew."
            )

    def _learn(self, d: int, distinct: Sequence[Any], inverse: NDArray) -> NDArray:
        self.learn_categories(d, present_categories(distinct, inverse))
        return self.code(d, distinct, inverse)

    def code(self, d: int, distinct: Sequence[Any], inverse: NDArray) -> NDArray:
        """Codes of a column that holds which of some distinct values."""
        return self.categories[d].code(distinct)[inverse]


def present_categories(distinct: Sequence[Any], inverse: NDArray) -> Categories:
    """Categories that some row holds."""
    return Categories(distinct[i] for i in np.unique(inverse))


def read_columns(estimator: Any, X: Any, reset: bool) -> tuple[list[Any], bool]:
    """Columns of X, not looked into: views of an array, or Series of a frame.

    Parameters
    ----------
    estimator : estimator
    X : array or frame of shape (n_rows, n_columns)
    reset : bool
        Whether the estimator learns number and names of the columns from X, or compares.

    Returns
    -------
    columns : list of arrays or Series
    finite : bool
        True if it is known already that all are finite numbers.
    """
    refuse_path(X)
    if _is_frame(X):
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _refuse_empty(X.shape, type(estimator).__name__)
        if hasattr(X, "iloc"):
            return [X.iloc[:, d] for d in range(X.shape[1])], False
        return [X[name] for name in X.columns], False
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        raise ValueError(f"X is a {type(X).__name__}, which holds no rows yet; pass X.collect().")
    if getattr(getattr(X, "dtype", None), "kind", None) == "c":
        _refuse_complex("X", X.dtype)
    X = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    return [X[:, d] for d in range(X.shape[1])], _is_finite_throughout(X)


def refuse_path(X: Any) -> None:
    """Raise a ValueError for the name of a file where rows belong."""
    if isinstance(X, str | os.PathLike):
        raise ValueError(
            f"X is a path, {str(X)!r}; files are read by fit_dataset(path, target=…) and "
            "predict_dataset(path, out)."
        )


def _refuse_empty(shape: tuple[int, int], who: str) -> None:
    for size, what in zip(shape, ("sample", "feature"), strict=True):
        if size == 0:
            raise ValueError(
                f"Found a frame with 0 {what}(s) (shape={shape}) while a minimum of 1 is required "
                f"by {who}."
            )


def _is_frame(X: Any) -> bool:
    return (hasattr(X, "iloc") or hasattr(X, "get_columns")) and hasattr(X, "columns")


def numbers(column: Any, label: str) -> NDArray:
    """Numbers of a column, of the type they have where that is a numeric one."""
    values = _to_numpy(column)
    kind = values.dtype.kind
    if kind in "biu" or (kind == "f" and values.dtype.itemsize <= 8):
        return values
    if kind == "c":
        _refuse_complex(label, values.dtype)
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


def _is_finite_throughout(X: NDArray) -> bool:
    """Whether one sum shows at once that an array of floats has no NaN and no infinity."""
    if X.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):
        return bool(np.isfinite(X.sum()))


def refuse_not_finite(
    values: NDArray, label: str, first_row: int = 0, is_target: bool = False
) -> None:
    """Raise a ValueError where a numeric column has NaN or infinite values.

    Parameters
    ----------
    values : array
    label : str
        What the column is called in messages.
    first_row : int
        Number of the first row in messages.
    is_target : bool
        Whether these are targets, which nothing can stand in for.
    """
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    row = first_row + int(np.argmin(np.isfinite(values)))
    n_missing = int(np.isnan(values).sum())
    what = "NaN" if n_missing else "infinity"
    count = n_missing or int(np.isinf(values).sum())
    if is_target:
        hint = "Leave out their rows."
    elif n_missing:
        hint = (
            "Impute them (sklearn.impute) or leave out their rows; only columns declared with "
            "categorical_features may have missing values."
        )
    else:
        hint = "Numeric columns must be finite; clip these values or leave out their rows."
    name = "y" if is_target else "X"
    raise ValueError(
        f"Input {name} contains {what}: {count} of the {len(values)} values of {label}, the first "
        f"in row {row:,} (from 0). {hint}"
    )


def _list_problems(problems: Sequence[str]) -> str:
    """One text about all columns that cannot be used, the first of many."""
    if len(problems) == 1:
        return problems[0]
    shown = [f"  {problem}" for problem in problems[:MOST_PROBLEMS]]
    left_out = len(problems) - len(shown)
    more = [f"  … and {left_out} more"] if left_out else []
    return "\n".join([f"{len(problems)} columns of X cannot be used:", *shown, *more])


def _refuse_complex(label: str, dtype: Any) -> None:
    raise ValueError(
        f"Complex data not supported: {label} holds {dtype}; give real and imaginary parts as "
        "columns of their own."
    )


def _categorical_mask(columns: Sequence[Any], given: Any, names: Any) -> NDArray[np.bool_]:
    n_columns = len(columns)
    mask = np.zeros(n_columns, dtype=bool)
    if given is None:
        return mask
    if isinstance(given, str) and given == "from_dtype":
        return np.array([_has_category_type(column) for column in columns])
    if isinstance(given, str) or not hasattr(given, "__len__") or np.ndim(given) != 1:
        raise ValueError(
            f"categorical_features={given!r} must be a mask, a list of indices or names, "
            "'from_dtype' or None."
        )
    entries = [e.item() if isinstance(e, np.generic) else e for e in given]
    if entries and all(isinstance(entry, bool) for entry in entries):
        if len(entries) != n_columns:
            raise ValueError(
                f"categorical_features is a mask of {len(entries)} entries, but X has {n_columns} "
                "columns."
            )
        return np.array(entries)
    mask[[_position(entry, n_columns, names) for entry in entries]] = True
    return mask


def _position(entry: Any, n_columns: int, names: Any) -> int:
    if isinstance(entry, str):
        if names is None:
            raise ValueError(
                f"categorical_features names {entry!r}, but the columns of X have no names; give "
                "indices or a mask, or pass X as a frame."
            )
        if entry not in names:
            raise ValueError(
                f"categorical_features names {entry!r}, which is not a column of X; these are "
                f"{shorten(list(names))}."
            )
        return list(names).index(entry)
    if not isinstance(entry, int) or isinstance(entry, bool) or not 0 <= entry < n_columns:
        raise ValueError(
            f"categorical_features has the entry {entry!r}; give indices from 0 to "
            f"{n_columns - 1}, names, or a mask."
        )
    return entry


def _has_category_type(column: Any) -> bool:
    name = str(getattr(column, "dtype", "")).lower()
    return hasattr(column, "to_numpy") and name.startswith(("categor", "enum", "str"))


def shorten(values: Sequence[Any], most: int = 10) -> str:
    """List values in a message, only the first of many."""
    text = ", ".join(repr(value) for value in values[:most])
    return text if len(values) <= most else f"{text}, … ({len(values)} in all)"
