"""Rows of arrays, which may be memory maps of files larger than memory."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..shards import blocks
from .paths import Stamp, combine
from .source import Chunk, Source


class ArraySource(Source):
    """Rows of X, and of y and weights where they are given.

    Parameters
    ----------
    X : array of shape (n_rows, n_columns)
    y : array of shape (n_rows,) or (n_rows, n_outputs), optional
    weight : array of shape (n_rows,), optional
    names : sequence of str, optional
        Of the columns of X; "x0", "x1", … by default.

    Attributes
    ----------
    features : list of str
        Names of the columns of X.
    target : list of str
        "y", or "y0", "y1", … where y has two dimensions; empty without y.
    weight : str or None
        "weight", or None without weights.
    """

    def __init__(
        self, X: Any, y: Any = None, weight: Any = None, names: Sequence[str] | None = None
    ):
        X = _as_array(X, "X", 2)
        self.n_rows = len(X)
        self.features = [f"x{d}" for d in range(X.shape[1])] if names is None else list(names)
        if len(self.features) != X.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns, but {len(self.features)} names.")
        self._arrays: list[tuple[list[str], NDArray]] = [(self.features, X)]
        self.target: list[str] = []
        if y is not None:
            y = _as_array(y, "y", 1, 2)
            self.target = ["y"] if y.ndim == 1 else [f"y{k}" for k in range(y.shape[1])]
            self._arrays.append((self.target, y.reshape(len(y), -1)))
        self.weight = None if weight is None else "weight"
        if weight is not None:
            weight = _as_array(weight, "weight", 1)
            self._arrays.append((["weight"], weight.reshape(-1, 1)))
        self._check_shapes()
        self.names = [name for names, _ in self._arrays for name in names]
        self._stamps = _stamps([X, y, weight])
        self.paths = sorted({Path(stamp.path) for stamp in self._stamps or ()})

    def _check_shapes(self) -> None:
        names = [name for names, _ in self._arrays for name in names]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"Two columns have the name {name!r}; give other names.")
        for columns, array in self._arrays:
            if len(array) != self.n_rows:
                raise ValueError(f"X has {self.n_rows} rows, but {columns[0]!r} has {len(array)}.")
        if self.n_rows == 0:
            raise ValueError("X has no rows.")

    def fingerprint(self) -> str | None:
        return None if self._stamps is None else combine(self._stamps)

    def refuse_changes(self) -> None:
        for stamp in self._stamps or ():
            stamp.refuse_changes()

    def _chunks(self, wanted: Sequence[str], coded: set[str], rows: int) -> Iterator[Chunk]:
        for begin, end in blocks(len(self._arrays[0][1]), rows):
            where = f"rows {begin + 1:,} to {end:,}"
            values: dict[str, Any] = {}
            for columns, array in self._arrays:
                chosen = [k for k, name in enumerate(columns) if name in wanted]
                if chosen:  # a copy, so that no block holds on to the file
                    part = np.array(array[begin:end][:, chosen], order="F", subok=False)
                    values |= {columns[k]: part[:, i] for i, k in enumerate(chosen)}
            yield values, end - begin, where


def _as_array(values: Any, what: str, *dimensions: int) -> NDArray:
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.ndim not in dimensions:
        expected = " or ".join(map(str, dimensions))
        raise ValueError(f"{what} has {array.ndim} dimensions; expected {expected}.")
    return array


def _stamps(arrays: Sequence[NDArray | None]) -> list[Stamp] | None:
    """Stamps of the files of memory maps; None if an array is none."""
    found = []
    for array in arrays:
        if array is None:
            continue
        filename = getattr(array, "filename", None)
        if filename is None:
            return None
        found.append(Stamp.of(Path(filename)))
    return found
