"""Labels of classes: what a user passes as y to a classifier, and the signs that the fit sees."""

from collections.abc import Mapping, Sequence
from numbers import Number, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ..data.sources import Block
from .columns import UNKNOWN, factorize
from .targets import check_weight
from .values import shorten


def check_labels(y: Any, who: str, are_distinct: bool = False) -> NDArray:
    """Give y as a vector of labels that can be sorted.

    Parameters
    ----------
    y : array, Series or list
    who : str
        The estimator's name, for messages.
    are_distinct : bool
        Whether these are the distinct labels of many rows.
    """
    if y is None:
        raise ValueError(f"{who} requires y to be passed, but the target y is None.")
    labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if hasattr(y, "toarray") or (labels.ndim == 2 and labels.shape[1] != 1):
        raise ValueError(
            f"y has the shape {np.shape(y)}, and {who} takes one label per row; for several labels "
            "per row, fit one model per column with sklearn.multioutput.MultiOutputClassifier."
        )
    labels = column_or_1d(labels, warn=True)
    _refuse_missing(labels)
    if labels.dtype.kind == "O":
        labels = _of_one_kind(labels)
    elif labels.dtype.kind == "U" and not hasattr(y, "dtype"):
        # text, or so it seems: NumPy makes text of numbers that stand next to it in a list
        _of_one_kind(np.asarray(y, dtype=object).ravel())
    # which warns where more than every second row has a label of its own
    check_classification_targets(np.tile(labels, 3) if are_distinct else labels)
    return labels


def _refuse_missing(labels: NDArray) -> None:
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError("Input y contains infinity, which is not a label; drop these rows.")
    if labels.dtype.kind not in "fO":
        return
    rows = [row for row, label in enumerate(labels.tolist()) if is_missing(label)]
    refuse_missing_rows(rows, len(labels))


def refuse_missing_rows(rows: Sequence[int] | NDArray, n_rows: int, first_row: int = 0) -> None:
    """Raise a ValueError if there are rows without a label, the first of them numbered so."""
    if len(rows):
        raise ValueError(
            f"Input y contains NaN: {len(rows):,} of {n_rows:,} labels are missing, the first in "
            f"row {first_row + rows[0]:,} (from 0); leave out their rows, or give them a label of "
            "their own."
        )


def is_missing(label: Any) -> bool:
    """Whether there is no label."""
    try:
        return label is None or bool(label != label)
    except TypeError:  # pandas.NA says neither yes nor no
        return True


def _of_one_kind(labels: NDArray) -> NDArray:
    """Numbers as an array of numbers, text as it is; other objects have no order."""
    values = labels.tolist()
    if all(isinstance(value, str) for value in values):
        return labels
    if all(isinstance(value, Number) for value in values):
        return np.array(values)
    kinds = sorted({type(value).__name__ for value in values})
    raise ValueError(
        f"Unknown label type: y holds {' and '.join(kinds)}; make all labels text or all numbers."
    )


def find_classes(labels: NDArray, weight: NDArray | None, who: str) -> NDArray:
    """Classes of the rows of positive weight, in ascending order: two of them or more."""
    classes = np.unique(labels if weight is None else labels[weight > 0])
    if len(classes) > 1:
        return classes
    what = "y has"
    if weight is not None and len(np.unique(labels)) > 1:
        what = "sample_weight leaves y"
    count = f"one class, {shorten(classes.tolist())}" if len(classes) else "no class"
    raise ValueError(f"{what} {count}, and {who} needs at least two classes.")


def code_labels(labels: NDArray, classes: NDArray) -> NDArray[np.int64]:
    """Positions of labels among the classes; UNKNOWN for those that are none of them."""
    positions = {label: code for code, label in enumerate(classes.tolist())}
    distinct, inverse = np.unique(labels, return_inverse=True)
    codes = [positions.get(label, UNKNOWN) for label in distinct.tolist()]
    return np.array(codes, dtype=np.int64)[inverse]


def refuse_unknown(labels: NDArray, classes: NDArray, what: str, hint: str) -> None:
    """Raise a ValueError where labels are none of the classes."""
    unknown = np.unique(labels[code_labels(labels, classes) == UNKNOWN]).tolist()
    if unknown:
        known = shorten(classes.tolist())
        raise ValueError(f"{what}{shorten(unknown)}; the fit has seen the classes {known}. {hint}")


def weigh(
    codes: NDArray, classes: NDArray, class_weight: Any, sample_weight: NDArray | None
) -> NDArray | None:
    """Weight of every row: that of its class times its own; None for weights of 1."""
    if class_weight is None:
        return sample_weight
    counts = np.bincount(codes[codes >= 0], _known(codes, sample_weight), len(classes))
    weight = weights_of_classes(counts, classes, class_weight)[codes]
    return weight if sample_weight is None else check_weight(weight * sample_weight, len(codes))


def weights_of_classes(counts: NDArray, classes: NDArray, class_weight: Any) -> NDArray:
    """Weight of each class, from a mapping or "balanced" by the weights of their rows."""
    if isinstance(class_weight, str):  # "balanced"
        return counts.sum() / (np.count_nonzero(counts) * np.where(counts > 0, counts, 1))
    return _from_mapping(class_weight, classes)


def _known(codes: NDArray, weight: NDArray | None) -> NDArray | None:
    return None if weight is None else weight[codes >= 0]


def _from_mapping(class_weight: Mapping[Any, Any], classes: NDArray) -> NDArray[np.float64]:
    named = classes.tolist()
    unknown = [label for label in class_weight if label not in named]
    if unknown:
        raise ValueError(
            f"class_weight names {shorten(unknown)}, and the classes of y are {shorten(named)}."
        )
    for label, value in class_weight.items():
        if not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise ValueError(
                f"class_weight of {label!r} is {value!r}, and must be a finite number > 0; to do "
                "without a class, leave out its rows."
            )
    return np.array([float(class_weight.get(label, 1)) for label in named])


def to_signs(codes: NDArray, n_outputs: int) -> NDArray[np.float64]:
    """+1 in the column of the row's class and -1 elsewhere; one column tells two classes apart."""
    own = codes[:, None] == (np.arange(n_outputs) if n_outputs > 1 else 1)
    return np.where(own, 1.0, -1.0)


def to_codes(signs: NDArray) -> NDArray[np.int64]:
    """Classes of signs or of responses: the largest, or the side of 0."""
    if signs.shape[1] == 1:
        return (signs[:, 0] > 0).astype(np.int64)
    return signs.argmax(axis=1)


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

    def key(self) -> str:
        return type(self).__name__

    @property
    def is_weighted(self) -> bool:
        return self.class_weight is not None

    @property
    def n_outputs(self) -> int:
        n_classes = len(self.classes)
        return 1 if self.one_output(n_classes) else n_classes

    @property
    def target_range(self) -> NDArray[np.float64]:
        return np.array([[-1.0], [1.0]]) * np.ones(self.n_outputs)

    def look(self, block: Block, weight: NDArray | None, keep: NDArray | None) -> None:
        found, inverse = self._read(block, keep)
        if weight is not None and keep is not None:
            weight = weight[keep]
        counts = np.bincount(inverse, weight, minlength=len(found))
        for label, count in zip(found.tolist(), counts.tolist(), strict=True):
            if count > 0:
                self.counts[label] = self.counts.get(label, 0.0) + count

    def merge(self, other: "LabelTarget") -> None:
        for label, count in other.counts.items():
            self.counts[label] = self.counts.get(label, 0.0) + count

    def state(self) -> Any:
        return [list(pair) for pair in self.counts.items()]

    def restore(self, state: Any) -> None:
        self.counts = {label: count for label, count in state}

    def settle(self) -> None:
        seen = _as_labels(list(self.counts))
        check_labels(seen, self.who, True)  # labels of one kind in all blocks
        self.classes = find_classes(seen, None, self.who)
        if self.known is not None:
            what = "warm_start=True cannot continue: y has the new labels "
            hint = "Use warm_start=False to start again."
            refuse_unknown(self.classes, self.known, what, hint)
            self.classes = self.known
        self.exponent = np.zeros(self.n_outputs, dtype=np.int64)
        if self.class_weight is not None:
            counts = np.array([self.counts.get(label, 0.0) for label in self.classes.tolist()])
            self.by_class = weights_of_classes(counts, self.classes, self.class_weight)

    def targets(
        self, block: Block, weight: NDArray | None, keep: NDArray | None
    ) -> tuple[NDArray[np.float64], NDArray | None]:
        found, inverse = self._read(block, keep)
        codes = code_labels(found, self.classes)[inverse]
        if (codes == UNKNOWN).any():
            raise ValueError("the source has changed while it was read; fit again")
        if weight is not None and keep is not None:
            weight = weight[keep]
        if self.by_class is not None:
            weight = self.by_class[codes] if weight is None else self.by_class[codes] * weight
        return to_signs(codes, self.n_outputs), weight

    def _read(self, block: Block, keep: NDArray | None) -> tuple[NDArray, NDArray]:
        """Distinct labels of the rows to keep, and which of them each row holds."""
        column = block.columns[self.names[0]]
        distinct, inverse = factorize(column, f"target {self.names[0]!r}")
        if keep is not None:
            inverse = inverse[keep]
        present, inverse = np.unique(inverse, return_inverse=True)
        found = _as_labels([distinct[i] for i in present])
        missing = [i for i, label in enumerate(found.tolist()) if is_missing(label)]
        if missing:
            rows = np.arange(block.n_rows) if keep is None else np.flatnonzero(keep)
            without = rows[np.isin(inverse, missing)]
            refuse_missing_rows(without, len(rows), block.first_row)
        if len(found):
            found = check_labels(found, self.who, True)
        return found, inverse


def _as_labels(values: list[Any]) -> NDArray:
    """Labels as an array; text and mixtures as objects, as frames hold them."""
    if all(isinstance(value, bool | int | float) for value in values):
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
