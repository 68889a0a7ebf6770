"""The columns of X: what a user passes, and how a fitted model reads it."""

import copy
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from .. import data
from .columns import CategoryColumn, NumberColumn, check_bounds
from .targets import TargetScale
from .values import present, refuse_complex, shorten
from .working import warn_user

#: columns that one message tells of
MOST_PROBLEMS = 10


class Inputs:
    """The columns of X, each of a kind that reads, scans and codes itself.

    Parameters
    ----------
    columns : list
        Columns of the training X, see `read_columns`.
    names : sequence of str or None
        Their names, where they have some.
    categorical_features : mask, indices, names, "from_dtype" or None
    bounds : (low, high), one such pair a column, or None
    extrapolation : str
        What happens to numbers outside of their box.
    cyclic : dict of column to period, or None

    Attributes
    ----------
    columns : list of NumberColumn and CategoryColumn
    """

    def __init__(
        self,
        columns: Sequence[Any],
        names: Any,
        categorical_features: Any,
        bounds: Any = None,
        extrapolation: str = "clip",
        cyclic: Any = None,
    ):
        mask = _categorical_mask(columns, categorical_features, names)
        self.columns: list[Any] = []
        for d, is_categorical in enumerate(mask):
            name, label = (f"x{d}", f"column {d}") if names is None else _named(names[d])
            kind: Any = CategoryColumn if is_categorical else NumberColumn
            self.columns.append(kind(name, label))
        pairs = None if bounds is None else check_bounds(bounds, self.labels)
        given = {} if cyclic is None else dict(cyclic)
        periods = {_position(e, len(mask), names, "cyclic"): p for e, p in given.items()}
        for d, column in enumerate(self.columns):
            if isinstance(column, NumberColumn):
                column.extrapolation = extrapolation
                if pairs is not None:
                    low, high = map(float, pairs[d])
                    column.box = data.Box(low, high, extrapolation, column.label)
                column.look(columns[d], periods.pop(d, None))
        if periods:
            label = self.labels[next(iter(periods))]
            raise ValueError(f"cyclic names {label}, which holds categories; leave it out there.")

    def __len__(self) -> int:
        return len(self.columns)

    @property
    def names(self) -> list[str]:
        """Feature names, or "x0", "x1", … where there are none."""
        return [column.name for column in self.columns]

    @property
    def labels(self) -> list[str]:
        """What the columns are called in messages."""
        return [column.label for column in self.columns]

    @property
    def is_categorical(self) -> list[bool]:
        """Which columns hold categories."""
        return [column.is_categorical for column in self.columns]

    @property
    def maps(self) -> list[Any]:
        """Feature maps of the columns."""
        return [column.feature_map for column in self.columns]

    @property
    def frequencies(self) -> list[NDArray | None]:
        """Shares of the categories of each categorical column; None for numbers."""
        return [column.frequencies for column in self.columns]

    def with_maps(self, maps: Sequence[Any]) -> "Inputs":
        """Return the same columns with other feature maps."""
        other = copy.copy(self)
        other.columns = [copy.copy(column) for column in self.columns]
        for column, feature_map in zip(other.columns, maps, strict=True):
            column.feature_map = feature_map
        return other

    def read(
        self, columns: Sequence[Any], is_finite: bool, keep: NDArray | None, first_row: int = 0
    ) -> Iterator[Any]:
        """Yield what the column's `read` gives, of the rows to keep.

        All columns that cannot be used are told in one error; `first_row` is the number of the
        first row in messages.
        """
        for d, (own, column) in enumerate(zip(self.columns, columns, strict=True)):
            try:
                found = own.read(column, is_finite, first_row)
            except (TypeError, ValueError) as error:
                others = self._problems(range(d + 1, len(columns)), columns, is_finite, first_row)
                raise type(error)(_list_problems([str(error), *others])) from None
            yield found if keep is None else own.take(found, keep)

    def plain(self, columns: Sequence[Any], is_finite: bool) -> list[NDArray]:
        """Numbers and codes of new columns; UNKNOWN for categories that the fit has not seen."""
        found = list(self.read(columns, is_finite, None))
        plain = [own.plain(each) for own, each in zip(self.columns, found, strict=True)]
        if not is_finite:
            new = [own.label for own, each in zip(self.columns, plain, strict=True)
                   if not own.is_categorical and not own.has_gaps
                   and len(present(each)) < len(each)]  # fmt: skip
            if new:
                warn_user(
                    f"Values are missing in {shorten(new, plain=True)}, and none were in the fit; "
                    "each is read as the median of its column.",
                    UserWarning,
                )
        return plain

    def values(self, plain: Sequence[NDArray], part: slice = slice(None)) -> list[NDArray]:
        """Values as the feature maps read them, of some rows."""
        return [own.values(each[part]) for own, each in zip(self.columns, plain, strict=True)]

    def _problems(
        self, some: Sequence[int], columns: Sequence[Any], is_finite: bool, first_row: int
    ) -> Iterator[str]:
        """Yield what makes columns invalid."""
        for d in some:
            try:
                self.columns[d].read(columns[d], is_finite, first_row)
            except (TypeError, ValueError) as error:
                yield str(error)


@dataclass
class Reading:
    """How a fitted model reads X and y: all that predictions need besides the cores.

    Attributes
    ----------
    inputs : Inputs
        What stands between X and the cores.
    scale : TargetScale
        What stands between responses and y.
    target_range : (2, n_outputs) array or None
        Least and greatest targets, in units of y, where they are known.
    target_names : list of str or None
        Columns of the targets, where they have names.
    """

    inputs: Inputs
    scale: TargetScale
    target_range: NDArray | None = None
    target_names: list[str] | None = None

    def bounds(self, margin: float) -> tuple[NDArray, NDArray]:
        """Range of the targets, wider by a part of it on either side."""
        if self.target_range is None:
            return np.array(-np.inf), np.array(np.inf)
        low, high = self.target_range
        return low - margin * (high - low), high + margin * (high - low)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.scale.mean)

    # -- for a fit that goes on from this one -------------------------------------------------

    @property
    def known_scale(self) -> TargetScale | None:
        """The scale of y; None if y was constant, which says nothing of one that varies."""
        return None if self.scale.is_constant.any() else self.scale

    def check_same(self, inputs: Inputs, n_outputs: int) -> None:
        """Raise a ValueError if a further fit has other categorical columns or outputs."""
        problem = None
        if inputs.is_categorical != self.inputs.is_categorical:
            problem = "categorical_features names other columns than in the first fit"
        elif n_outputs != self.n_outputs:
            problem = f"y has {n_outputs} outputs, and the first fit had {self.n_outputs}"
        if problem:
            raise ValueError(
                f"warm_start=True cannot continue: {problem}; use warm_start=False to start again."
            )


def read_inputs(model: Any, X: Any, known: Reading | None) -> tuple[Inputs, list[Any], bool]:
    """Kinds of the columns of a training X, or of an example, and the columns themselves.

    Parameters
    ----------
    model : estimator
        Learns number and names of the columns, unless it goes on from an earlier fit.
    X : array or frame of shape (n_rows, n_columns)
    known : Reading or None
        Of that earlier fit: its boxes and categories are kept.

    Returns
    -------
    inputs : Inputs
    columns, is_finite
        As of `read_columns`.
    """
    columns, is_finite = read_columns(model, X, reset=known is None)
    names = getattr(model, "feature_names_in_", None)
    bounds = model.bounds if known is None else None
    inputs = Inputs(
        columns, names, model.categorical_features, bounds, model.extrapolation, model.cyclic
    )
    if known is not None:
        known.check_same(inputs, known.n_outputs)
        for own, before in zip(inputs.columns, known.inputs.columns, strict=True):
            own.known_as(before)
    return inputs, columns, is_finite


def _named(name: str) -> tuple[str, str]:
    return name, f"column {name!r}"


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
        names = None if reset else getattr(estimator, "feature_names_in_", None)
        if names is not None:
            X = _pick(X, list(names))
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _refuse_empty(X.shape, type(estimator).__name__)
        if hasattr(X, "iloc"):
            return [X.iloc[:, d] for d in range(X.shape[1])], False
        return [X[name] for name in X.columns], False
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        raise ValueError(f"X is a {type(X).__name__}, which holds no rows yet; pass X.collect().")
    if getattr(getattr(X, "dtype", None), "kind", None) == "c":
        refuse_complex("X", X.dtype)
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    X = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    return [X[:, d] for d in range(X.shape[1])], _is_finite_throughout(X)


def _pick(X: Any, names: list[str]) -> Any:
    """Return the columns of a fit from a frame that may have more of them, in any order."""
    given = list(X.columns)
    twice = [name for name in names if given.count(name) > 1]
    if twice:
        raise ValueError(f"X has several columns named {shorten(twice)}; name each once.")
    missing = [name for name in names if name not in given]
    if missing:
        others = [name for name in given if name not in names]
        has = f" Other columns of X are {shorten(others)}." if others else ""
        raise ValueError(
            f"X lacks {len(missing)} of the {len(names)} columns that the model was fitted to: "
            f"{shorten(missing)}.{has}"
        )
    return X if given == names else X[names]


def names_of(y: Any) -> list[str] | None:
    """Return the names of the columns of y; None where it has none."""
    found: list[Any] = list(y.columns) if hasattr(y, "columns") else [getattr(y, "name", None)]
    return found if all(isinstance(name, str) and name for name in found) else None


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


def _is_finite_throughout(X: NDArray) -> bool:
    """Whether one sum shows at once that an array of floats has no NaN and no infinity."""
    if X.dtype.kind != "f":
        return False
    with np.errstate(all="ignore"):
        return bool(np.isfinite(X.sum()))


def _list_problems(problems: Sequence[str]) -> str:
    """One text about all columns that cannot be used, the first of many."""
    if len(problems) == 1:
        return problems[0]
    shown = [f"  {problem}" for problem in problems[:MOST_PROBLEMS]]
    left_out = len(problems) - len(shown)
    more = [f"  … and {left_out} more"] if left_out else []
    return "\n".join([f"{len(problems)} columns of X cannot be used:", *shown, *more])


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


def _position(entry: Any, n_columns: int, names: Any, what: str = "categorical_features") -> int:
    if isinstance(entry, str):
        if names is None:
            raise ValueError(
                f"{what} names {entry!r}, but the columns of X have no names; give "
                "indices or a mask, or pass X as a frame."
            )
        if entry not in names:
            raise ValueError(
                f"{what} names {entry!r}, which is not a column of X; these are "
                f"{shorten(list(names))}."
            )
        return list(names).index(entry)
    if not isinstance(entry, int) or isinstance(entry, bool) or not 0 <= entry < n_columns:
        raise ValueError(
            f"{what} has the entry {entry!r}; give indices from 0 to "
            f"{n_columns - 1}, names, or a mask."
        )
    return entry


def _has_category_type(column: Any) -> bool:
    name = str(getattr(column, "dtype", "")).lower()
    return hasattr(column, "to_numpy") and name.startswith(("categor", "enum", "str"))
