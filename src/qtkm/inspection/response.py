"""One output of a fitted model, taken apart into the tables of its columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from ..escaping import visible
from ..estimators.inputs import read_columns
from ..estimators.model import Model
from ..estimators.targets import check_weight
from ..estimators.values import TIMES, read_numbers
from ..networks import CPD, TensorRing, TensorTrain
from ..networks.algebra import closed_product
from ..networks.moments import weights_of
from .support import Range, inner_range, steps

#: numbers in the tables of a block of rows, so that a block takes some 50 MB
BLOCK_NUMBERS = 1 << 21
#: most rows of a block, and most values whose tables are made at a time
MOST_ROWS = 4096


@dataclass
class ReadRows:
    """Rows of X as the model reads them."""

    arrays: list[NDArray]  # numbers as they were given, or category codes
    values: list[NDArray]  # numbers in the unit box, or category codes
    weight: NDArray[np.float64]  # adds up to 1
    total: float  # sum of the weights as they were given, or the number of rows
    main_means: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    inner: dict[int, Range] = field(default_factory=dict)  # ranges that were asked for

    def distinct(self, d: int) -> tuple[NDArray, NDArray]:
        """Return the distinct values of a column and the weight of each."""
        distinct, inverse = np.unique(self.values[d], return_inverse=True)
        return distinct, np.bincount(inverse, weights=self.weight)


class Response:
    """A real function of the columns: an output of a regressor, a decision of a classifier.

    It is offset + Σ_d main(d, x_d) + Re of a closed product of the columns' tables. Weights of
    main effects, the closing of the product and the offset are in units of y.  `model` is a fitted
    one or a search for one, and `output` the number or name of an output or a class; None is the
    second of two classes.
    """

    def __init__(self, model: Any, output: Any = None):
        self._model = model = fitted(model)
        reading = model._reading
        self._inputs = reading.inputs
        self.names, self.maps = self._inputs.names, self._inputs.maps
        cores, n_columns = list(model.cores_), len(self.maps)
        main = cores.pop() if model.network_.has_main_effects else []
        network = getattr(model.network_, "network", model.network_)
        if network is None:  # main effects alone: a CPD without terms
            network = CPD(0)
            cores = [[np.zeros((radix, 0)) for radix in m.radices] for m in self.maps]
            cores.append(np.zeros((reading.n_outputs, 0)))
        if not isinstance(network, CPD | TensorTrain | TensorRing):
            raise ValueError(
                f"The model has the network {type(network).__name__}, and inspection serves CPD, "
                "TensorTrain and TensorRing; fit one of these, or use sklearn.inspection."
            )
        self._evaluator = network.evaluator(cores, self._inputs.frequencies)
        self.algebra = self._evaluator.algebra
        self.levels = [[self.algebra.elements(core) for core in c] for c in cores[:n_columns]]
        weight, self.label = _choose_output(model, output)
        center, scale = reading.scale.mean, reading.scale.scale
        if model.loss_.has_log_link:
            center, scale, self.label = np.log(scale), np.ones(len(scale)), f"log {self.label}"
        self.output_weight = weight * scale
        self.main_weights = [weights @ self.output_weight for weights in main[:-1]]
        self.offset = float(weight @ center) + sum(float(c @ self.output_weight) for c in main[-1:])
        self.closing = np.tensordot(self.output_weight, self._evaluator.closing, 1)

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.maps)

    def uncertainty(self) -> Any:
        """Return what the model knows of its errors; a ValueError says why it knows nothing."""
        return self._model._known_uncertainty()

    def columns(self, columns: Any) -> list[int]:
        """Numbers of columns given by names or numbers; None is all of them."""
        if columns is None:
            return list(range(self.n_columns))
        columns = [columns] if isinstance(columns, str | Integral) else columns
        return [find_column(self.names, column) for column in columns]

    def read(self, X: Any, sample_weight: Any = None) -> ReadRows:
        """Rows of X with weights that add up to 1."""
        arrays = self._inputs.plain(*read_columns(self._model, X, reset=False))
        n = len(arrays[0])
        weight = np.ones(n) if sample_weight is None else check_weight(sample_weight, n)
        total = float(weight.sum())
        weight, values = weight / total, self._inputs.values(arrays)
        means = np.array([weight @ self.main(d, v) for d, v in enumerate(values)])
        return ReadRows(arrays, values, weight, total, means)

    def is_categorical(self, d: int) -> bool:
        """Whether a column holds categories."""
        return bool(self.maps[d].is_categorical)

    def holds(self, d: int) -> str:
        """Return what a column has: numbers, times, spans of time or categories."""
        return "categories" if self.is_categorical(d) else str(self._inputs.columns[d].holds)

    def grid(self, d: int, n_grid: int, rows: ReadRows | None = None) -> NDArray:
        """Values of a column to look at.

        All categories; or all numbers that the rows hold if these are few, and else steps over
        their range, which without rows is the column's box.
        """
        if self.is_categorical(d):
            return np.array([*self._inputs.columns[d].categories, None], dtype=object)[:-1]
        if rows is None:
            box = self._inputs.columns[d].box
            return np.linspace(box.low, box.high, n_grid if box.low < box.high else 1)
        distinct = np.unique(known(rows.arrays[d])).astype(np.float64)
        if len(distinct) <= n_grid:
            return distinct
        return steps(distinct, self.inner(d, rows), n_grid)

    def inner(self, d: int, rows: ReadRows) -> Range | None:
        """Range of a column without the outermost rows; None for categories."""
        if self.is_categorical(d):
            return None
        if d not in rows.inner:
            there = ~np.isnan(rows.arrays[d])
            rows.inner[d] = inner_range(rows.arrays[d][there], rows.weight[there])
        return rows.inner[d]

    def values(self, d: int, raw: Any) -> NDArray:
        """Given numbers or categories of a column, as its feature map reads them."""
        column = self._inputs.columns[d]
        if column.is_categorical:
            return column.values(column.codes_of(raw))
        return column.values(self.numbers(d, raw))

    def numbers(self, d: int, raw: Any) -> NDArray[np.float64]:
        """Given values of a column of numbers as it counts them, times in seconds."""
        return read_numbers(np.asarray(raw), f"column {self.names[d]!r}")[0].astype(np.float64)

    def raw(self, d: int, plain: NDArray) -> NDArray:
        """Turn what `ReadRows.arrays` has of a column into numbers, times or categories."""
        if not self.is_categorical(d):
            return _as_times(self._inputs.columns[d], plain)
        return np.array([*self.grid(d, 0), "unknown", None], dtype=object)[:-1][plain]

    def width(self, d: int) -> float:
        """Length of a column's box in its own units; 1 where it has none."""
        box = self._inputs.columns[d].box
        return 1.0 if box is None or box.low == box.high else box.high - box.low

    def table(self, d: int, values: NDArray) -> NDArray:
        """Return what a column contributes at given values, (n, …)."""
        if not self.closing.size:
            return np.zeros((len(values), 0))
        return self._evaluator._elements(d, self.maps[d], values)

    def tables(self, d: int, values: NDArray) -> Iterator[tuple[slice, NDArray]]:
        """Yield the table of a column at many values in parts."""
        for start in range(0, len(values), MOST_ROWS):
            part = slice(start, start + MOST_ROWS)
            yield part, self.table(d, values[part])

    def main(self, d: int, values: NDArray) -> NDArray[np.float64]:
        """Return the main effect of a column beside the network at some values: (n,)."""
        # there may be too many categories for a main effect
        if not self.main_weights or not len(self.main_weights[d]):
            return np.zeros(len(values))
        weights, share = self.main_weights[d], self._inputs.columns[d].frequencies
        if share is not None:
            return np.append(weights, share @ weights)[values % (len(share) + 1)]
        return self.maps[d].main_functions(values) @ weights

    def alone(self, d: int, values: NDArray, outer: NDArray) -> NDArray[np.float64]:
        """Return the main effect of a column plus its table times an environment: (n,)."""
        own = self.main(d, values)
        for part, table in self.tables(d, values):
            own[part] += (table.reshape(len(table), -1) @ outer.ravel()).real
        return own

    def respond(self, rows: ReadRows) -> NDArray[np.float64]:
        """Return the responses of rows."""
        result = np.full(len(rows.weight), self.offset)
        for d, values in enumerate(rows.values):
            result += self.main(d, values)
        for part, tables in self.blocks(rows):
            result[part] += closed_product(self.algebra, tables, self.closing).real
        return result

    def weights(self, d: int) -> NDArray:
        """Return what a column contributes for each of its basis functions, (M, …)."""
        if not self.closing.size:
            return np.zeros((self.maps[d].n_features, 0))
        return weights_of(self.algebra, self._evaluator.cores[d])

    def blocks(self, rows: ReadRows) -> Iterator[tuple[slice, list[NDArray]]]:
        """Yield blocks of rows with the tables of all columns at them."""
        ends = ((levels[0].shape[1], *levels[-1].shape[2:]) for levels in self.levels)
        step = max(16, min(MOST_ROWS, BLOCK_NUMBERS // (1 + sum(map(np.prod, ends)))))
        for start in range(0, len(rows.weight), step):
            part = slice(start, start + step)
            yield part, [self.table(d, values[part]) for d, values in enumerate(rows.values)]


def known(values: NDArray) -> NDArray:
    """Return the numbers that are not missing; one zero where all are."""
    found = values[~np.isnan(values)] if values.dtype.kind == "f" else values
    return found if len(found) else np.zeros(1)


def fitted(model: Any) -> Any:
    """Return the fitted model, or the best one of a search."""
    if isinstance(model, Model):
        check_is_fitted(model)
        return model
    name = type(model).__name__
    if hasattr(model, "best_estimator_"):
        return fitted(model.best_estimator_)
    if isinstance(model, Pipeline):
        raise TypeError(
            "A Pipeline was given, and inspection takes its last step with rows as that step sees "
            "them, for example importances(pipe[-1], pipe[:-1].transform(X))."
        )
    if hasattr(model, "refit"):  # a search
        check_is_fitted(model)
        raise TypeError(
            f"This {name} has refit=False and so no model to inspect; fit one with its "
            "best_params_, or use refit=True."
        )
    raise TypeError(
        f"{name} was given, and inspection takes a QTKMRegressor or QTKMClassifier, or a search "
        "for one; for other models use sklearn.inspection."
    )


def find_column(names: Sequence[str], column: Any) -> int:
    """Return the index of a column given by its name or number."""
    n_columns = len(names)
    if not isinstance(column, str | Integral):
        raise TypeError(
            f"column is a {type(column).__name__}, where the name or number of one is expected."
        )
    if column in names:
        return names.index(column)
    if isinstance(column, Integral) and -n_columns <= int(column) < n_columns:
        return int(column) % n_columns
    shown = ", ".join(map(repr, names[:20])) + ", …" * (n_columns > 20)
    raise ValueError(
        f"There is no column {column!r}; use one of {shown}, or a number below {n_columns}."
    )


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of an array, a frame or a list of lists."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def column_values(model: Any, X: Any, column: Any) -> tuple[NDArray, str]:
    """Numbers or times of a column of X, or its categories as text, and its name."""
    inputs = fitted(model)._reading.inputs
    d = find_column(inputs.names, column)
    values, own = inputs.plain(*read_columns(fitted(model), X, reset=False))[d], inputs.columns[d]
    if own.is_categorical:
        texts = ["missing" if value is None else str(value) for value in own.categories]
        return np.array([*texts, "unknown"])[values], inputs.names[d]
    return _as_times(own, values), inputs.names[d]


def _as_times(column: Any, numbers: NDArray) -> NDArray:
    """Numbers of a column, or times where these are seconds since 1970."""
    return (1000 * numbers).round().astype("M8[ms]") if column.holds == TIMES else numbers


def outputs_of(model: Any) -> list[Any]:
    """Return classes, or names or numbers of outputs; empty if there is only one output."""
    if hasattr(model, "classes_"):
        return model.classes_.tolist()
    n_outputs, names = model._reading.n_outputs, model.target_names_
    if n_outputs == 1:
        return []
    return names if names and len(names) == n_outputs else list(range(n_outputs))


def default_output(model: Any) -> Any:
    """Return the second of two classes, the first of several classes or outputs, or None."""
    outputs = outputs_of(model)
    is_pair = hasattr(model, "classes_") and len(outputs) == 2
    return outputs[1] if is_pair else outputs[0] if outputs else None


def output_number(model: Any, output: Any) -> int:
    """Return the number of a regressor's output given by its name or number; None is the only."""
    n_outputs, names = model._reading.n_outputs, model.target_names_ or []
    if output is None and n_outputs == 1:
        return 0
    known = names if output in names and len(names) == n_outputs else range(n_outputs)
    return int(_choose(output, known, "an output").argmax())


def _choose_output(model: Any, output: Any) -> tuple[NDArray, str]:
    """Weights of the model's outputs, and what their sum is called."""
    n_outputs, outputs = model._reading.n_outputs, outputs_of(model)
    if not hasattr(model, "classes_"):
        names = model.target_names_
        if not names or len(names) != n_outputs:
            names = [f"response of output {k}" for k in range(n_outputs)]
            names = names if n_outputs > 1 else ["response"]
        number = output_number(model, output)
        return np.eye(n_outputs)[number], names[number]
    loss = type(model.loss_).__name__
    kind = "log-odds of" if loss in ("Softmax", "Logistic") else "decision for"
    if len(outputs) == 2:
        # one decision function: for the second class, and turned round for the first
        output = outputs[1] if output is None else output
        sides = _choose(output, outputs, "a class")
        weight = (sides[1] - sides[0]) * np.array([1.0] if n_outputs == 1 else [-1.0, 1.0])
        return weight, f"{kind} {visible(str(output))}"
    weight, label = _choose(output, outputs, "a class"), f"{kind} {visible(str(output))}"
    if loss == "Softmax":  # its outputs have an arbitrary term in common, differences do not
        weight = weight - (1 - weight) / (len(outputs) - 1)
    return weight, f"{label} against the rest" if kind.startswith("log") else label


def _choose(output: Any, known: Sequence[Any], what: str) -> NDArray:
    """Weight 1 for the chosen one, 0 for the others."""
    if output not in known:
        raise ValueError(
            f"output={output!r} is not {what} of the model; use one of "
            f"{', '.join(map(repr, known))}."
        )
    return np.eye(len(known))[known.index(output)]
