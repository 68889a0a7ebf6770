"""From what a user passes as X to one array a column: numbers, or category codes."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.preprocessing import OrdinalEncoder
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

_UNKNOWN, _MISSING = -1, -2
_HINT = (
    "declare it with categorical_features (a mask, indices, names or 'from_dtype'), or encode it "
    "as numbers"
)


class Inputs:
    """The columns of X as the fit saw them.

    Attributes
    ----------
    names : list of str
        Feature names, or "column 0", "column 1", …
    is_categorical : list of bool
    encoders : dict of int to OrdinalEncoder
        For every categorical column.
    """

    def __init__(self, estimator: Any, X: Any, categorical_features: Any):
        validate_data(estimator, X, skip_check_array=True, reset=True)
        self.names = _names(estimator, X)
        mask = _categorical_mask(X, categorical_features, self.names)
        self.is_categorical = list(mask)
        self.encoders: dict[int, OrdinalEncoder] = {}
        self.missing: dict[int, int] = {}

    @property
    def any_categorical(self) -> bool:
        """Whether some column is categorical."""
        return any(self.is_categorical)

    def fit_columns(self, estimator: Any, X: Any, keep: NDArray | None) -> list[NDArray]:
        """Columns of the training X (its rows `keep`), learning the categories."""
        columns = self._raw(estimator, X)
        if keep is not None:
            columns = [column[keep] for column in columns]
        return [self._learn(d, c) if self.is_categorical[d] else c for d, c in enumerate(columns)]

    def columns(self, estimator: Any, X: Any) -> list[NDArray]:
        """Columns of a new X; categories unknown to the fit get the code -1."""
        validate_data(estimator, X, skip_check_array=True, reset=False)
        columns = self._raw(estimator, X)
        return [self._code(d, c) if self.is_categorical[d] else c for d, c in enumerate(columns)]

    def n_categories(self, d: int) -> int:
        """Number of categories of a column, missing values counting as one."""
        return len(self.encoders[d].categories_[0])

    def _raw(self, estimator: Any, X: Any) -> list[NDArray]:
        if not self.any_categorical:
            _refuse_text(X, self.names)
            X = check_array(
                X, dtype=[np.float64, np.float32], estimator=estimator, input_name="X"
            )
            return [X[:, d] for d in range(X.shape[1])]
        if not hasattr(X, "columns"):
            X = check_array(X, dtype=None, ensure_all_finite=False, estimator=estimator)
        return [
            _column(X, d) if self.is_categorical[d] else _numbers(_column(X, d), self.names[d])
            for d in range(len(self.names))
        ]

    def _learn(self, d: int, values: NDArray) -> NDArray:
        encoder = OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=_UNKNOWN,
            encoded_missing_value=_MISSING,
        )
        self.encoders[d] = encoder.fit(_objects(values))
        return self._code(d, values)

    def _code(self, d: int, values: NDArray) -> NDArray:
        encoder = self.encoders[d]
        codes = encoder.transform(_objects(values))[:, 0].astype(np.int64)
        known = encoder.categories_[0]
        # a missing value sorts last, and is unknown where the fit saw none
        last = known[-1]
        has_missing = last is None or (isinstance(last, float) and np.isnan(last))
        codes[codes == _MISSING] = len(known) - 1 if has_missing else _UNKNOWN
        return codes


def _names(estimator: Any, X: Any) -> list[str]:
    if hasattr(estimator, "feature_names_in_"):
        return [str(name) for name in estimator.feature_names_in_]
    return [f"column {d}" for d in range(estimator.n_features_in_)]


def _column(X: Any, d: int) -> NDArray:
    if hasattr(X, "iloc"):
        return X.iloc[:, d].to_numpy()
    if hasattr(X, "columns"):
        return X[X.columns[d]].to_numpy()
    return X[:, d]


def _objects(values: NDArray) -> NDArray:
    """One column of Python objects, with None and NaN both as NaN."""
    objects = np.array(values, dtype=object).reshape(-1, 1)
    missing = np.array([v is None or v != v for v in objects[:, 0]], dtype=bool)
    objects[missing] = np.nan
    return objects


def _numbers(values: NDArray, name: str) -> NDArray:
    if not _is_numeric(values.dtype):
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"{name} holds {values.dtype}, not numbers; {_HINT}.") from None
    values = check_array(values.reshape(-1, 1), dtype=[np.float64, np.float32], input_name=name)
    return values[:, 0]


def _is_numeric(dtype: Any) -> bool:
    return np.issubdtype(dtype, np.number) or np.issubdtype(dtype, np.bool_)


def _refuse_text(X: Any, names: list[str]) -> None:
    """Say which column holds text before a conversion fails without saying it."""
    if not hasattr(X, "columns"):
        return
    for d, name in enumerate(names):
        values = _column(X, d)
        if not _is_numeric(values.dtype):
            _numbers(values, name)


def _categorical_mask(X: Any, given: Any, names: list[str]) -> NDArray[np.bool_]:
    n_columns = len(names)
    mask = np.zeros(n_columns, dtype=bool)
    if given is None:
        return mask
    if isinstance(given, str):
        if given != "from_dtype":
            raise ValueError(
                f"categorical_features={given!r} must be a mask, indices, names, 'from_dtype' "
                "or None."
            )
        return np.array([_has_category_type(X, d) for d in range(n_columns)])
    chosen = np.asarray(given)
    if chosen.size == 0:
        return mask
    if chosen.dtype.kind == "b":
        if chosen.shape != (n_columns,):
            raise ValueError(
                f"categorical_features is a mask of shape {chosen.shape}, but X has {n_columns} "
                "columns."
            )
        return chosen
    mask[[_position(entry, names) for entry in chosen.ravel().tolist()]] = True
    return mask


def _position(entry: Any, names: Sequence[str]) -> int:
    if isinstance(entry, str):
        if entry not in names:
            raise ValueError(f"categorical_features names {entry!r}, which is not a column of X.")
        return list(names).index(entry)
    if not isinstance(entry, int) or not -len(names) <= entry < len(names):
        raise ValueError(
            f"categorical_features has the entry {entry!r}; give indices below {len(names)}, the "
            "number of columns, or names."
        )
    return entry


def _has_category_type(X: Any, d: int) -> bool:
    if not hasattr(X, "columns"):
        return False
    dtype = X.dtypes.iloc[d] if hasattr(X, "iloc") else X.dtypes[d]
    return str(dtype).lower().startswith(("category", "categorical", "enum"))
