"""Targets and weights: checks of y and sample_weight, and their conversion for the fit.

Labels of classes become signs.  `NumberTarget` and `LabelTarget` read the targets of blocks of
rows: once to scan them, once to return them.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from numbers import Complex, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from ..data.sources import Block
from ..losses import Softmax
from .columns import factorize, is_missing
from .values import Number, read_numbers, refuse_not_finite, shorten

#: numbers up to this, and down to its inverse, can be squared and summed without a thought
SAFE = 1e100
CHANGED = "the source changed while it was read; fit again"
#: targets (n_rows, n_outputs), and weights if there are some
Targets = tuple[NDArray[np.float64], NDArray | None]


def check_target(estimator: Any, y: Any) -> NDArray[np.float64]:
    """Return y as an array of one or two dimensions."""
    refuse_none(y, estimator)
    return _as_numbers(y, "y", estimator, "encode the target as numbers")


def refuse_none(y: Any, estimator: Any) -> None:
    """Raise a ValueError if there is no y."""
    if y is None:
        who = type(estimator).__name__
        raise ValueError(f"{who} requires y to be passed, but the target y is None.")


def check_weight(sample_weight: Any, n_rows: int, every: bool = True) -> NDArray[np.float64]:
    """Return sample_weight as an array; with `every`, not all weights may be zero."""
    weight = check_offset(sample_weight, n_rows, "sample_weight")[:, 0]
    if weight.min() < 0:
        said = f"sample_weight has negative entries (minimum {weight.min():g})"
        raise ValueError(f"{said}; weights must be >= 0.")
    if every and not weight.any():
        raise ValueError("sample_weight is zero for every row; give some rows a positive weight.")
    return weight


def check_offset(offset: Any, n_rows: int, name: str = "offset") -> NDArray[np.float64]:
    """Return offset as an array (n_rows, 1)."""
    found = _as_numbers(offset, name, None, "give one number per row")
    if found.shape != (n_rows,):
        what = f"one number for each of the {n_rows} rows"
        raise ValueError(f"{name} has shape {found.shape}; give {what}.")
    return found[:, None]


def _as_numbers(values: Any, name: str, estimator: Any, hint: str) -> NDArray[np.float64]:
    if getattr(getattr(values, "dtype", None), "kind", None) == "c":
        raise ValueError(f"Complex data not supported: {name} is complex; {hint}.")
    try:
        array = check_array(
            values, dtype=np.float64, ensure_2d=False, ensure_all_finite=False, input_name=name,
            estimator=estimator,
        )  # fmt: skip
    except (TypeError, ValueError) as error:
        if "convert" not in str(error):
            raise
        raise ValueError(f"{name} must be numeric ({error}); {hint}.") from None
    refuse_not_finite(array, name, name=name)
    return array


def refuse_unequal(n_rows: int, n_targets: int) -> None:
    """Raise a ValueError if X and y have different numbers of rows."""
    if n_rows != n_targets:
        raise ValueError(f"X and y have inconsistent numbers of rows: {n_rows} and {n_targets}.")


def tame_exponent(largest: float) -> int:
    """Return a power of two to take out of weights, so that they can be squared and summed."""
    if 1 / SAFE < largest < SAFE:
        return 0
    # even, so that their square roots change by a power of two as well
    return 2 * (int(np.frexp(largest)[1]) // 2)


def check_labels(estimator: Any, y: Any) -> NDArray:
    """Return y as a vector of labels that can be sorted."""
    refuse_none(y, estimator)
    who = type(estimator).__name__
    labels = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
    if hasattr(y, "toarray") or (labels.ndim == 2 and labels.shape[1] != 1):
        raise ValueError(
            f"y has shape {np.shape(y)}, but {who} needs one label per row; for several labels per "
            "row, fit one model per column with sklearn.multioutput.MultiOutputClassifier."
        )
    labels = column_or_1d(labels, warn=True)
    # NumPy makes text of numbers that stand next to it in a list
    is_list = labels.dtype.kind == "U" and not hasattr(y, "dtype")
    found, inverse = read_labels(np.asarray(y, dtype=object).ravel() if is_list else labels, "y")
    return found[inverse] if labels.dtype.kind == "O" else labels


def read_labels(column: Any, name: str, number: Number = int) -> tuple[NDArray, NDArray[np.int64]]:
    """Return the distinct labels of a column, and the index of each row's label."""
    values, inverse = factorize(column, name)
    without = np.flatnonzero(np.array([*map(is_missing, values)], dtype=bool)[inverse])
    if len(without):
        raise ValueError(
            f"Input y contains NaN: {len(without):,} of {len(inverse):,} labels are missing, the "
            f"first in row {number(without[0]):,} (from 0); remove these rows, or give them a "
            "label of their own."
        )
    return as_labels(list(values)), inverse


def as_labels(values: list[Any]) -> NDArray:
    """Return distinct labels as an array of numbers, or of objects for text, as in frames."""
    if all(isinstance(value, Complex) for value in values):
        labels = np.array(values)
        if labels.dtype.kind == "f" and np.isinf(labels).any():
            raise ValueError("Input y contains infinity, which is not a label; drop these rows.")
    elif all(isinstance(value, str) for value in values):
        labels = np.array(values, dtype=object)
    else:
        kinds = " and ".join(sorted({type(value).__name__ for value in values}))
        hint = "make all labels text or all numbers"
        raise ValueError(f"Unknown label type: y contains {kinds}; {hint}.")
    if len(labels):  # thrice, as if there were more rows than labels
        check_classification_targets(np.tile(labels, 3))
    return labels


def refuse_unknown(labels: Iterable[Any], classes: NDArray, what: str, hint: str = "") -> None:
    """Raise a ValueError for labels that are not in `classes`."""
    known = classes.tolist()
    unknown = [label for label in dict.fromkeys(labels) if label not in known]
    if unknown:
        seen = f"the classes of the fit are {shorten(known)}"
        raise ValueError(f"{what}{shorten(unknown)}; {seen}.{hint}")


def weights_of_classes(counts: NDArray, classes: NDArray, class_weight: Any) -> NDArray:
    """Return the weight of each class, from a mapping or "balanced" by the weights of rows."""
    if isinstance(class_weight, str):
        return counts.sum() / (np.count_nonzero(counts) * np.where(counts > 0, counts, 1))
    named = classes.tolist()
    refuse_unknown(class_weight, classes, "class_weight contains ")
    for label, value in class_weight.items():
        if not isinstance(value, Real) or not 0 < float(value) < np.inf:
            raise ValueError(
                f"class_weight of {label!r} is {value!r}, but must be a finite number > 0; to "
                "ignore a class, remove its rows."
            )
    return np.array([float(class_weight.get(label, 1)) for label in named])


def to_codes(signs: NDArray) -> NDArray[np.int64]:
    """Return the classes of signs or responses: the largest, or the side of 0."""
    if signs.shape[1] == 1:
        return (signs[:, 0] > 0).astype(np.int64)
    return signs.argmax(axis=1)


class NumberTarget:
    """Columns of numbers, with or without a column of offsets, which the loss takes into account.

    `exponent`, a power of two, is taken out of the targets; `target_range` (2, n_outputs) is in
    units of y.  `learned` are fitted attributes that depend on y alone.
    """

    #: from targets to the classes of rows, each of which gives its share for validation
    classes_of: Callable[[NDArray], NDArray] | None = None
    #: weights of the classes
    by_class: NDArray | None = None

    def __init__(self, names: Sequence[str], offset: str | None, loss: Any, is_vector: bool):
        self.n_outputs, self.offset, self.loss = len(names), offset, loss
        self.names = [*names, *([] if offset is None else [offset])]
        self.target_range = np.array([[np.inf], [-np.inf]]) * np.ones(len(names))
        self.exponent = np.zeros(len(names), dtype=np.int64)
        self.learned = {"_y_ndim": 1 if is_vector else 2}
        self.is_weighted = False
        if offset is not None:
            probe = loss.take_offset(np.ones((1, len(names))), None, np.zeros((1, 1)))
            self.is_weighted = probe[1] is not None

    def look(self, block: Block, weight: NDArray | None) -> None:
        """Scan a block of rows with their weights."""
        target, _ = self._read(block, weight)
        if len(target):
            self._widen(target.min(axis=0), target.max(axis=0))

    def merge(self, other: "NumberTarget") -> None:
        self._widen(*other.target_range)

    def _widen(self, low: NDArray, high: NDArray) -> None:
        least, greatest = self.target_range
        self.target_range = np.array([np.minimum(least, low), np.maximum(greatest, high)])

    def settle(self) -> None:
        # what is too large or too small to be squared is brought near 1
        largest = np.abs(self.target_range).max(axis=0)
        safe = (largest == 0) | ((largest > 1 / SAFE) & (largest < SAFE))
        exponent = np.maximum(np.frexp(largest)[1], -900)
        self.exponent = np.where(safe, 0, exponent).astype(np.int64)

    def targets(self, block: Block, weight: NDArray | None) -> Targets:
        target, weight = self._read(block, weight)
        return np.ldexp(target, -self.exponent) if self.exponent.any() else target, weight

    def _read(self, block: Block, weight: NDArray | None) -> Targets:
        columns = []
        for k, name in enumerate(self.names):
            role, argument = ("target", "y") if k < self.n_outputs else ("offset", "offset")
            label = f"{role} {name!r}"
            columns.append(read_numbers(block.columns[name], label)[0])
            refuse_not_finite(columns[-1], label, block.number, argument)
        found = np.column_stack(columns).astype(np.float64, copy=False)
        target = found[:, : self.n_outputs]
        if self.offset is None or len(found) == 0:
            return target, weight
        self.loss.check_range(target.min(axis=0), target.max(axis=0))
        return self.loss.take_offset(target, weight, found[:, -1:])


class LabelTarget:
    """A column of labels; the methods are those of `NumberTarget`.

    `make_loss(n_classes)` returns the loss; `known` are the classes of the fit that this one
    continues; `kind` is the type of the labels, by default the one they are read with.
    """

    classes_of = staticmethod(to_codes)

    def __init__(
        self, name: str, who: str, class_weight: Any, known: Any, make_loss: Any, kind: Any = None
    ):
        self.names, self.who, self.class_weight = [name], who, class_weight
        self.known, self.make_loss, self.kind = known, make_loss, kind
        self.is_weighted = class_weight is not None
        #: weight of the rows of each label
        self.counts: Any = Counter()
        self.by_class: NDArray | None = None

    def look(self, block: Block, weight: NDArray | None) -> None:
        found, inverse = self._read(block)
        counts = np.bincount(inverse, weight, minlength=len(found))
        self.counts.update(dict(zip(found.tolist(), counts.tolist(), strict=True)))

    def merge(self, other: "LabelTarget") -> None:
        self.counts.update(other.counts)

    def settle(self) -> None:
        seen = np.unique(as_labels(list(self.counts)))  # of one kind in all blocks
        if len(seen) < 2:
            count = f"one class, {shorten(seen.tolist())}" if len(seen) else "no class"
            raise ValueError(
                f"y has {count}, but {self.who} needs at least two classes in rows of positive "
                "weight."
            )
        found = seen if self.kind is None else seen.astype(self.kind)
        self.classes = found if self.known is None else self.known
        what = "warm_start=True cannot continue: y has the new labels "
        refuse_unknown(seen.tolist(), self.classes, what, " Use warm_start=False to start over.")
        self.learned, n_classes = {"classes_": self.classes}, len(self.classes)
        self.loss = self.make_loss(n_classes)
        self.n_outputs = 1 if n_classes == 2 and not isinstance(self.loss, Softmax) else n_classes
        self.exponent = np.zeros(self.n_outputs, dtype=np.int64)
        self.target_range = np.array([[-1.0], [1.0]]) * np.ones(self.n_outputs)
        if self.class_weight is not None:
            counts = np.array([self.counts.get(label, 0.0) for label in self.classes.tolist()])
            self.by_class = weights_of_classes(counts, self.classes, self.class_weight)

    def targets(self, block: Block, weight: NDArray | None) -> Targets:
        found, inverse = self._read(block)
        positions = {label: code for code, label in enumerate(self.classes.tolist())}
        places = [positions.get(label, -1) for label in found.tolist()]
        if -1 in places:
            raise ValueError(CHANGED)
        codes = np.array(places, dtype=np.int64)[inverse]
        if self.by_class is not None:
            own = self.by_class[codes]
            weight = own if weight is None else check_weight(own * weight, len(own), every=False)
        # +1 in the column of the row's class and -1 elsewhere; two classes need one column
        own_column = np.arange(self.n_outputs) if self.n_outputs > 1 else 1
        return np.where(codes[:, None] == own_column, 1.0, -1.0), weight

    def _read(self, block: Block) -> tuple[NDArray, NDArray]:
        name = self.names[0]
        return read_labels(block.columns[name], f"target {name!r}", block.number)


Target = NumberTarget | LabelTarget
