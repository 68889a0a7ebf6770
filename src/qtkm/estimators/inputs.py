"""Columns of X: checks of the input, and how a fitted model reads it."""

import copy
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import validate_data

from .. import data
from ..parameters import is_number
from .columns import CategoryColumn, NumberColumn, check_bounds
from .rows import TargetScale
from .values import Number, cannot_continue, present, refuse_complex, shorten
from .working import warn_user

#: columns that one message lists
MOST_PROBLEMS = 10


def _of_each(name: str) -> Any:
    """Return a property that lists an attribute of all columns."""
    return property(lambda inputs: [getattr(column, name) for column in inputs.columns])


class Inputs:
    """The columns of X, each of a kind that reads, scans and codes itself."""

    #: feature names, or "x0", "x1", … where there are none, and what messages call the columns
    names, labels = _of_each("name"), _of_each("label")
    is_categorical, maps = _of_each("is_categorical"), _of_each("feature_map")
    #: shares of the categories; None for numbers
    frequencies = _of_each("frequencies")

    def __init__(
        self,
        columns: Sequence[Any],
        names: Any,
        categorical: Any,
        bounds: Any = None,
        extrapolation: str = "clip",
        cyclic: Any = None,
    ):
        mask = _categorical_mask(columns, categorical, names)
        self.columns: list[Any] = []
        for d, is_categorical in enumerate(mask):
            kind: Any = CategoryColumn if is_categorical else NumberColumn
            name = f"x{d}" if names is None else names[d]
            self.columns.append(kind(name, f"column {d if names is None else name!r}"))
        pairs = None if bounds is None else check_bounds(bounds, self.labels)
        given = dict(cyclic or {}).items()
        periods = {_position(entry, len(mask), names, "cyclic"): own for entry, own in given}
        for d, column in enumerate(self.columns):
            if isinstance(column, NumberColumn):
                column.extrapolation = extrapolation
                if pairs is not None:
                    low, high = map(float, pairs[d])
                    column.box = data.Box(low, high, extrapolation, column.label)
                column.look(columns[d], periods.pop(d, None))
        if periods:
            label = self.labels[next(iter(periods))]
            raise ValueError(f"cyclic contains {label}, a categorical column; remove it.")

    def __len__(self) -> int:
        return len(self.columns)

    def with_maps(self, maps: Sequence[Any]) -> "Inputs":
        other = copy.copy(self)
        other.columns = [copy.copy(column) for column in self.columns]
        for column, feature_map in zip(other.columns, maps, strict=True):
            column.feature_map = feature_map
        return other

    def read(self, columns: Sequence[Any], number: Number = int) -> list[Any]:
        """Return each column's `read`; one error lists all unusable columns."""
        found, problems = [], []
        for own, column in zip(self.columns, columns, strict=True):
            try:
                found.append(own.read(column, number))
            except (TypeError, ValueError) as error:
                problems.append(error)
        if not problems:
            return found
        shown: list[Any] = problems
        if len(problems) > 1:
            shown = [f"{len(problems)} columns of X cannot be used:", *problems[:MOST_PROBLEMS]]
        if (left_out := len(problems) - MOST_PROBLEMS) > 0:
            shown.append(f"… and {left_out} more")
        raise type(problems[0])("\n  ".join(map(str, shown)))

    def plain(self, columns: Sequence[Any]) -> list[NDArray]:
        """Return numbers and codes of new columns; UNKNOWN for unseen categories."""
        pairs = zip(self.columns, self.read(columns), strict=True)
        plain = [own.plain(each) for own, each in pairs]
        new = [own.label for own, each in zip(self.columns, plain, strict=True)
               if not own.is_categorical and not own.has_gaps
               and len(present(each)) < len(each)]  # fmt: skip
        if new:
            warn_user(
                f"Values are missing in {shorten(new, plain=True)}, but none were in the fit; "
                "they are replaced by the median of the column.",
                UserWarning,
            )
        return plain

    def values(self, plain: Sequence[NDArray], part: slice = slice(None)) -> list[NDArray]:
        """Return the values of some rows as the feature maps read them."""
        return [own.values(each[part]) for own, each in zip(self.columns, plain, strict=True)]


@dataclass
class Reading:
    """How a fitted model reads X and y: all that predictions need besides the cores."""

    inputs: Inputs
    scale: TargetScale
    #: least and greatest targets (2, n_outputs) in units of y, where they are known
    target_range: NDArray | None = None
    target_names: list[str] | None = None

    def bounds(self, margin: float) -> tuple[NDArray, NDArray]:
        """Return the range of the targets, extended by a fraction of it on either side."""
        if self.target_range is None:
            return np.array(-np.inf), np.array(np.inf)
        low, high = self.target_range
        return low - margin * (high - low), high + margin * (high - low)

    @property
    def n_outputs(self) -> int:
        return len(self.scale.mean)

    @property
    def known_scale(self) -> TargetScale | None:
        """Scale of y for another fit; None if y was constant."""
        return None if self.scale.is_constant.any() else self.scale

    def check_same(self, inputs: Inputs, n_outputs: int) -> None:
        if inputs.is_categorical != self.inputs.is_categorical:
            raise cannot_continue("categorical_features differs from the first fit")
        if n_outputs != self.n_outputs:
            said = f"y has {n_outputs} outputs, but the first fit had {self.n_outputs}"
            raise cannot_continue(said)


def read_inputs(model: Any, X: Any) -> tuple[Inputs, list[Any]]:
    """Return the kinds of the columns of a training X, or of an example, and the columns."""
    known: Reading | None = model._known
    columns = read_columns(model, X, reset=known is None)
    names = getattr(model, "feature_names_in_", None)
    bounds = model.bounds if known is None else None
    inputs = Inputs(
        columns, names, model.categorical_features, bounds, model.extrapolation, model.cyclic
    )
    if known is not None:
        known.check_same(inputs, known.n_outputs)
        for own, before in zip(inputs.columns, known.inputs.columns, strict=True):
            own.known_as(before)
    return inputs, columns


def read_columns(estimator: Any, X: Any, reset: bool) -> list[Any]:
    """Return views or Series of the columns of X."""
    refuse_path(X)
    if (hasattr(X, "iloc") or hasattr(X, "get_columns")) and hasattr(X, "columns"):  # a frame
        names = None if reset else getattr(estimator, "feature_names_in_", None)
        if names is not None:
            X = _pick(X, list(names))
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        for size, what in zip(X.shape, ("sample", "feature"), strict=True):
            if size == 0:
                raise ValueError(
                    f"Found a frame with 0 {what}(s) (shape={X.shape}) while a minimum of 1 is "
                    f"required by {type(estimator).__name__}."
                )
        if hasattr(X, "iloc"):
            return [X.iloc[:, d] for d in range(X.shape[1])]
        return [X[name] for name in X.columns]
    if hasattr(X, "collect_schema") and hasattr(X, "collect"):
        raise ValueError(f"X is a {type(X).__name__}, which is lazy; pass X.collect().")
    if getattr(getattr(X, "dtype", None), "kind", None) == "c":
        refuse_complex("X", X.dtype)
    if isinstance(X, np.ma.MaskedArray):
        X = np.ma.filled(X.astype(np.float64), np.nan)
    X = validate_data(estimator, X, reset=reset, dtype=None, ensure_all_finite=False)
    return list(X.T)


def _pick(X: Any, names: list[str]) -> Any:
    """Return the columns of the fit from a frame, which may have more, in any order."""
    given = list(X.columns)
    twice = [name for name in names if given.count(name) > 1]
    if twice:
        raise ValueError(f"X has several columns named {shorten(twice)}; names must be unique.")
    missing = [name for name in names if name not in given]
    if missing:
        others = [name for name in given if name not in names]
        has = f" Other columns of X are {shorten(others)}." if others else ""
        raise ValueError(
            f"X lacks {len(missing)} of the {len(names)} columns that the model was fitted to: "
            f"{shorten(missing)}.{has}"
        )
    return X if given == names else X[names]


def refuse_path(X: Any) -> None:
    """Raise a ValueError if X is a path."""
    if isinstance(X, str | os.PathLike):
        raise ValueError(
            f"X is a path, {str(X)!r}; use fit_dataset(path, target=…) or "
            "predict_dataset(path, out)."
        )


def _categorical_mask(columns: Sequence[Any], given: Any, names: Any) -> NDArray[np.bool_]:
    n_columns = len(columns)
    mask = np.zeros(n_columns, dtype=bool)
    if given is None:
        return mask
    if isinstance(given, str) and given == "from_dtype":
        types = [str(c.dtype).lower() if hasattr(c, "to_numpy") else "" for c in columns]
        return np.array([name.startswith(("categor", "enum", "str")) for name in types])
    if isinstance(given, str) or not hasattr(given, "__len__") or np.ndim(given) != 1:
        expected = "a mask, a list of indices or names, 'from_dtype' or None"
        raise ValueError(f"categorical_features={given!r} must be {expected}.")
    entries = [e.item() if isinstance(e, np.generic) else e for e in given]
    if entries and all(isinstance(entry, bool) for entry in entries):
        if len(entries) != n_columns:
            what = f"a mask with {len(entries)} entries, but X has {n_columns} columns"
            raise ValueError(f"categorical_features is {what}.")
        return np.array(entries)
    mask[[_position(entry, n_columns, names) for entry in entries]] = True
    return mask


def _position(entry: Any, n_columns: int, names: Any, what: str = "categorical_features") -> int:
    known = [] if names is None else list(names)
    if isinstance(entry, str) and entry in known:
        return known.index(entry)
    if is_number(entry, int) and 0 <= entry < n_columns:
        return entry
    columns = f"columns of X are {shorten(known)}" if known else "columns of X have no names"
    raise ValueError(
        f"{what} contains {entry!r}, but {columns}; give names, indices from 0 to {n_columns - 1}, "
        "or a mask."
    )
