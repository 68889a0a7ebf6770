"""Targets of rows that are not in memory: numbers to regress, or labels of classes."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..data.sources import Block
from . import labels
from .categories import factorize
from .inputs import numbers, refuse_not_finite
from .rows import power_of_two


class DatasetTarget(Protocol):
    """Reads targets from blocks: once to look, once to give them.

    `exponent`, a power of two, is taken out of them; `target_range` holds the least and the
    greatest, (2, n_outputs), in units of y.
    """

    names: list[str]
    exponent: NDArray[np.int64]

    @property
    def is_weighted(self) -> bool:
        """Whether it gives weights to rows."""

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""

    @property
    def target_range(self) -> NDArray[np.float64]:
        """Least and greatest targets."""

    def look(self, block: Block, weight: NDArray | None, keep: NDArray | None) -> None:
        """Look at the targets of some rows."""

    def merge(self, other: Any) -> None:
        """Add what another has seen."""

    def settle(self) -> None:
        """Take in what was seen, once all rows have been."""

    def state(self) -> Any:
        """All that was seen, to be kept."""

    def restore(self, state: Any) -> None:
        """Put in what another has seen."""

    def targets(
        self, block: Block, weight: NDArray | None, keep: NDArray | None
    ) -> tuple[NDArray[np.float64], NDArray | None]:
        """Targets (n_rows, n_outputs) and weights of the rows to keep."""


class NumberTarget:
    """Columns of numbers.

    Parameters
    ----------
    names : sequence of str
    """

    is_weighted = False

    def __init__(self, names: Sequence[str]):
        self.names = list(names)
        self.target_range = np.array([[np.inf], [-np.inf]]) * np.ones(len(self.names))
        self.exponent = np.zeros(len(self.names), dtype=np.int64)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.names)

    def look(self, block: Block, weight: NDArray | None, keep: NDArray | None) -> None:
        """Look at the targets of some rows."""
        target = self._read(block, keep, check=True)
        if len(target):
            self._widen(np.array([target.min(axis=0), target.max(axis=0)]))

    def merge(self, other: "NumberTarget") -> None:
        """Add what another has seen."""
        self._widen(other.target_range)

    def _widen(self, found: NDArray) -> None:
        self.target_range[0] = np.minimum(self.target_range[0], found[0])
        self.target_range[1] = np.maximum(self.target_range[1], found[1])

    def settle(self) -> None:
        """Take in what was seen, once all rows have been."""
        self.exponent = power_of_two(self.target_range)

    def state(self) -> Any:
        """All that was seen, to be kept."""
        return self.target_range

    def restore(self, state: Any) -> None:
        """Put in what another has seen."""
        self.target_range = state

    def targets(
        self, block: Block, weight: NDArray | None, keep: NDArray | None
    ) -> tuple[NDArray[np.float64], NDArray | None]:
        """Targets (n_rows, n_outputs) and weights of the rows to keep."""
        target = self._read(block, keep, check=False)
        if self.exponent.any():
            target = np.ldexp(target, -self.exponent)
        return target, weight if keep is None or weight is None else weight[keep]

    def _read(self, block: Block, keep: NDArray | None, check: bool) -> NDArray[np.float64]:
        columns = []
        for name in self.names:
            values = numbers(block.columns[name], f"target {name!r}")
            if check:
                refuse_not_finite(values, f"target {name!r}", block.first_row, is_target=True)
            columns.append(values if keep is None else values[keep])
        return np.column_stack(columns).astype(np.float64, copy=False)


class LabelTarget:
    """A column of labels.

    Parameters
    ----------
    name : str
    who : str
        The estimator's name, for messages.
    class_weight : dict, "balanced" or None
    known : array or None
        Classes of the fit that this one goes on from.
    one_output : callable
        one_output(n_classes) tells whether a single output is enough.
    """

    def __init__(self, name: str, who: str, class_weight: Any, known: Any, one_output: Any):
        self.names, self.who, self.class_weight = [name], who, class_weight
        self.known, self.one_output = known, one_output
        self.counts: dict[Any, float] = {}
        self.exponent = np.zeros(1, dtype=np.int64)
        self.classes = np.empty(0)
        self.by_class: NDArray | None = None

    @property
    def is_weighted(self) -> bool:
        """Whether classes have weights."""
        return self.class_weight is not None

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        n_classes = len(self.classes)
        return 1 if self.one_output(n_classes) else n_classes

    @property
    def target_range(self) -> NDArray[np.float64]:
        """Least and greatest targets."""
        return np.array([[-1.0], [1.0]]) * np.ones(self.n_outputs)

    def look(self, block: Block, weight: NDArray | None, keep: NDArray | None) -> None:
        """Look at the labels of some rows."""
        found, inverse = self._read(block, keep)
        if weight is not None and keep is not None:
            weight = weight[keep]
        counts = np.bincount(inverse, weight, minlength=len(found))
        for label, count in zip(found.tolist(), counts.tolist(), strict=True):
            if count > 0:
                self.counts[label] = self.counts.get(label, 0.0) + count

    def merge(self, other: "LabelTarget") -> None:
        """Add what another has seen."""
        for label, count in other.counts.items():
            self.counts[label] = self.counts.get(label, 0.0) + count

    def state(self) -> Any:
        """All that was seen, to be kept."""
        return [list(pair) for pair in self.counts.items()]

    def restore(self, state: Any) -> None:
        """Put in what another has seen."""
        self.counts = {label: count for label, count in state}

    def settle(self) -> None:
        """Take in what was seen, once all rows have been."""
        seen = _as_array(list(self.counts))
        labels.check_labels(seen, self.who, True)  # labels of one kind in all blocks
        self.classes = labels.find_classes(seen, None, self.who)
        if self.known is not None:
            what = "warm_start=True cannot go on: y has the new labels "
            hint = "Use warm_start=False to start anew."
            labels.refuse_unknown(self.classes, self.known, what, hint)
            self.classes = self.known
        self.exponent = np.zeros(self.n_outputs, dtype=np.int64)
        if self.class_weight is not None:
            counts = np.array([self.counts.get(label, 0.0) for label in self.classes.tolist()])
            self.by_class = labels.weights_of_classes(counts, self.classes, self.class_weight)

    def targets(
        self, block: Block, weight: NDArray | None, keep: NDArray | None
    ) -> tuple[NDArray[np.float64], NDArray | None]:
        """Signs (n_rows, n_outputs) and weights of the rows to keep."""
        found, inverse = self._read(block, keep)
        codes = labels.code_labels(found, self.classes)[inverse]
        if (codes == labels.UNKNOWN).any():
            raise ValueError("the source has changed while it was read; fit again")
        if weight is not None and keep is not None:
            weight = weight[keep]
        if self.by_class is not None:
            weight = self.by_class[codes] if weight is None else self.by_class[codes] * weight
        return labels.to_signs(codes, self.n_outputs), weight

    def _read(self, block: Block, keep: NDArray | None) -> tuple[NDArray, NDArray]:
        """Distinct labels of the rows to keep, and which of them each row holds."""
        column = block.columns[self.names[0]]
        distinct, inverse = factorize(column, f"target {self.names[0]!r}")
        if keep is not None:
            inverse = inverse[keep]
        present, inverse = np.unique(inverse, return_inverse=True)
        found = _as_array([distinct[i] for i in present])
        missing = [i for i, label in enumerate(found.tolist()) if labels.is_missing(label)]
        if missing:
            rows = np.arange(block.n_rows) if keep is None else np.flatnonzero(keep)
            without = rows[np.isin(inverse, missing)]
            labels.refuse_missing_rows(without, len(rows), block.first_row)
        if len(found):
            found = labels.check_labels(found, self.who, True)
        return found, inverse


def _as_array(values: list[Any]) -> NDArray:
    """Labels as an array; text and mixtures as objects, as frames hold them."""
    if all(isinstance(value, bool | int | float) for value in values):
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
