"""One output of a fitted model, decomposed into the tables of its columns."""

from collections.abc import Iterator, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..escaping import visible
from ..estimators.model import Model
from ..estimators.values import TIMES, read_numbers
from ..networks import CPD, TensorRing, TensorTrain
from ..networks.evaluate import with_unknown
from ..networks.moments import weights_of

#: numbers in the tables of a block of rows, so that a block takes some 50 MB
BLOCK_NUMBERS = 1 << 21
#: most rows of a block, and most values whose tables are made at a time
MOST_ROWS = 4096

#: some rows or values, and the tables of all columns at them
Block = tuple[slice, list[NDArray]]


class Response:
    """A real function of the columns: an output of a regressor, a decision of a classifier.

    It is offset + Σ_d main(d, x_d) + Re of a closed product of the columns' tables. Weights of
    main effects, the closing of the product and the offset are in units of y.  `model` is a fitted
    one or a search for one, and `output` the number or name of an output or a class; None is the
    second of two classes.
    """

    def __init__(self, model: Any, output: Any = None):
        self.model = model = fitted(model)
        reading, self.inputs = model._reading, model._reading.inputs
        self.names, self.maps = self.inputs.names, self.inputs.maps
        self.n_columns = n_columns = len(self.maps)
        self.is_categorical = [bool(m.is_categorical) for m in self.maps]
        cores = list(model.cores_)
        main = cores.pop() if model.network_.has_main_effects else []
        network = getattr(model.network_, "network", model.network_)
        if network is None:  # main effects alone: a CPD without terms
            network = CPD(0)
            cores = [[np.zeros((radix, 0)) for radix in m.radices] for m in self.maps]
            cores.append(np.zeros((reading.n_outputs, 0)))
        if not isinstance(network, CPD | TensorTrain | TensorRing):
            raise ValueError(
                f"The model has the network {type(network).__name__}, but inspection supports only "
                "CPD, TensorTrain and TensorRing; fit one of these, or use sklearn.inspection."
            )
        self._evaluator = network.evaluator(cores, self.inputs.frequencies)
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

    def find(self, columns: Any) -> list[int]:
        """Return the numbers of columns given by names or numbers; None is all of them."""
        if columns is None:
            return list(range(self.n_columns))
        columns = [columns] if isinstance(columns, str | Integral) else columns
        return [find_column(self.names, column) for column in columns]

    def categories(self, d: int) -> NDArray:
        """Return the categories of a column."""
        return _objects(self.inputs.columns[d].categories)

    def values(self, d: int, raw: Any) -> NDArray:
        """Return given numbers or categories of a column as its feature map reads them."""
        column = self.inputs.columns[d]
        return column.values(
            column.codes_of(raw) if column.is_categorical else self.numbers(d, raw)
        )

    def numbers(self, d: int, raw: Any) -> NDArray[np.float64]:
        """Return given values of a column of numbers as it counts them, times in seconds."""
        return read_numbers(np.asarray(raw), f"column {self.names[d]!r}")[0].astype(np.float64)

    def raw(self, d: int, plain: NDArray) -> NDArray:
        """Return numbers, times or categories from numbers, seconds or codes."""
        column = self.inputs.columns[d]
        if column.is_categorical:
            return _objects([*column.categories, "unknown"])[plain]
        return (1000 * plain).round().astype("M8[ms]") if column.holds == TIMES else plain

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
        if not self.main_weights:
            return np.zeros(len(values))
        weights, share = self.main_weights[d], self.inputs.columns[d].frequencies
        if share is not None:
            return with_unknown(weights, share)[values]
        return self.maps[d].main_functions(values) @ weights

    def alone(self, d: int, values: NDArray, outer: NDArray) -> NDArray[np.float64]:
        """Return the main effect of a column plus its table times an environment: (n,)."""
        own = self.main(d, values)
        for part, table in self.tables(d, values):
            own[part] += (table.reshape(len(table), -1) @ outer.ravel()).real
        return own

    def weights(self, d: int) -> NDArray:
        """Return what a column contributes for each of its basis functions, (M, …)."""
        if not self.closing.size:
            return np.zeros((self.maps[d].n_features, 0))
        return weights_of(self.algebra, self._evaluator.cores[d])

    def blocks(self, values: Sequence[NDArray]) -> Iterator[Block]:
        """Yield blocks of rows, given by the values of every column, with the tables at them."""
        ends = ((levels[0].shape[1], *levels[-1].shape[2:]) for levels in self.levels)
        step = max(16, min(MOST_ROWS, BLOCK_NUMBERS // (1 + sum(map(np.prod, ends)))))
        for start in range(0, len(values[0]), step):
            part = slice(start, start + step)
            yield part, [self.table(d, column[part]) for d, column in enumerate(values)]


def _objects(values: Any) -> NDArray:
    """Return an array of one dimension of any objects."""
    return np.array([*values, None], dtype=object)[:-1]


def fitted(model: Any) -> Any:
    """Return the fitted model, or the best one of a search."""
    if hasattr(model, "best_estimator_"):
        return fitted(model.best_estimator_)
    if isinstance(model, Model) or hasattr(model, "refit"):  # a search
        check_is_fitted(model)
    if isinstance(model, Model):
        return model
    raise TypeError(
        "Inspection needs a QTKMRegressor or QTKMClassifier, or a search for one with refit=True, "
        f"got {type(model).__name__}; of a Pipeline pass the last step and transformed rows, for "
        "example importances(pipe[-1], pipe[:-1].transform(X)), and for other models use "
        "sklearn.inspection."
    )


def find_column(names: Sequence[str], column: Any) -> int:
    """Return the index of a column given by its name or number."""
    n_columns = len(names)
    if not isinstance(column, str | Integral):
        raise TypeError(
            f"column must be the name or index of a column, got a {type(column).__name__}."
        )
    if column in names:
        return names.index(column)
    if isinstance(column, Integral) and -n_columns <= int(column) < n_columns:
        return int(column) % n_columns
    shown = ", ".join(map(repr, names[:20])) + ", …" * (n_columns > 20)
    raise ValueError(
        f"There is no column {column!r}; use one of {shown}, or an index below {n_columns}."
    )


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of an array, a frame or a list of lists."""
    return X.iloc[rows] if hasattr(X, "iloc") else np.asarray(X)[rows]


def outputs_of(model: Any) -> list[Any]:
    """Return classes, or names or numbers of outputs; empty if there is only one output."""
    if hasattr(model, "classes_"):
        return model.classes_.tolist()
    n_outputs = model._reading.n_outputs
    return [] if n_outputs == 1 else _target_names(model) or list(range(n_outputs))


def default_output(model: Any) -> Any:
    """Return the second of two classes, the first of several classes or outputs, or None."""
    outputs = outputs_of(model)
    is_pair = hasattr(model, "classes_") and len(outputs) == 2
    return outputs[1] if is_pair else outputs[0] if outputs else None


def output_number(model: Any, output: Any) -> int:
    """Return the number of an output or a class given by its name or number.

    None is the only output, or the second of two classes.
    """
    outputs, is_class = outputs_of(model), hasattr(model, "classes_")
    if output is None and len(outputs) == 2 * is_class:
        return int(is_class)
    numbers: list[Any] = list(range(model._reading.n_outputs))
    for known in (outputs if is_class else _target_names(model), [] if is_class else numbers):
        if output in known:
            return known.index(output)
    kind, shown = "a class" if is_class else "an output", ", ".join(map(repr, outputs or numbers))
    raise ValueError(f"output={output!r} is not {kind} of the model; use one of {shown}.")


def _target_names(model: Any) -> list[str]:
    """Return the names of the outputs of a regressor, if each has one."""
    names = model.target_names_ or []
    return names if len(names) == model._reading.n_outputs else []


def _choose_output(model: Any, output: Any) -> tuple[NDArray, str]:
    """Return the weights of the model's outputs, and what their sum is called."""
    n_outputs, number = model._reading.n_outputs, output_number(model, output)
    if not hasattr(model, "classes_"):
        names, label = _target_names(model), "response" + f" of output {number}" * (n_outputs > 1)
        return np.eye(n_outputs)[number], names[number] if names else label
    loss, classes = type(model.loss_).__name__, model.classes_.tolist()
    is_log, is_pair = loss in ("Softmax", "Logistic"), len(classes) == 2
    label = f"{'log-odds of' if is_log else 'decision for'} {visible(str(classes[number]))}"
    label += " against the rest" * (is_log and not is_pair)
    if n_outputs == 1:  # one decision function, turned round for the first class
        return np.array([1.0 if number else -1.0]), label
    # the outputs of softmax have an arbitrary term in common, differences do not
    others = -1 / (len(classes) - 1) if is_pair or loss == "Softmax" else 0.0
    return np.where(np.arange(len(classes)) == number, 1.0, others), label
