"""A model as an ONNX graph: one input for each column, numbers or text.

Outputs are ``prediction`` and ``std`` of a regressor, ``label`` and ``probabilities`` of a
classifier.  A
Fourier basis becomes sines of one matrix product, cos x = sin(x + π/2); a warp, which is piecewise
linear, a sum of ramps; complex numbers pairs of real ones.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .onnx_spread import add_spread
from .plan import ColumnPlan, Plan, make_plan

#: version of the operators, and the functions of a column beyond which there is no graph
OPSET, MOST_FUNCTIONS = 18, 4096

Pair = tuple[str, str | None]  # names of real and imaginary part


def write_onnx(model: Any, path: Path, dtype: str = "float64", std: bool | None = None) -> None:
    """Write a fitted model as an ONNX file.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
    path : pathlib.Path
    dtype : {"float64", "float32"}
        Type of numbers, inside and in inputs and outputs.
    std : bool, optional
        Include standard deviations; None if the model has a posterior.
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError('ONNX files need onnx: pip install "qtkm[onnx]"') from error
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype={dtype!r} is unknown; use 'float64' or 'float32'.")
    graph = Graph(make_plan(model, std), dtype)
    path.write_bytes(graph.build().SerializeToString())
    onnx.checker.check_model(str(path))


class Graph:
    """An ONNX graph that grows node by node."""

    def __init__(self, plan: Plan, dtype: str):
        from onnx import TensorProto, helper, numpy_helper

        self.plan, self.helper, self.to_tensor = plan, helper, numpy_helper.from_array
        self.dtype = np.dtype(dtype)
        self.number = TensorProto.DOUBLE if dtype == "float64" else TensorProto.FLOAT
        self.text, self.integer = TensorProto.STRING, TensorProto.INT64
        self.double = TensorProto.DOUBLE
        # scaled weights and not a scaled product: runtimes fuse the latter with a single factor
        self.scale, self.mean = plan.scale, plan.mean
        if plan.facts["log_link"]:
            self.scale, self.mean = np.ones(len(plan.scale)), np.log(plan.scale)
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []
        #: of every column: values, gaps and functions, or codes
        self.read: list[tuple[str, str | None, str | None]] = []

    def add(self, operation: str, *inputs: str | None, domain: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"t{len(self.nodes)}"
        given = [each or "" for each in inputs]
        self.nodes.append(
            self.helper.make_node(operation, given, [name], domain=domain, **attributes)
        )
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add a constant and return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.to_tensor(np.array(values, dtype=dtype or self.dtype), name))
        return name

    def cast(self, name: str) -> str:
        """Convert numbers to double precision."""
        return self.add("Cast", name, to=self.double)

    # -- columns ------------------------------------------------------------------------------

    def read_numbers(self, column: ColumnPlan) -> tuple[str, str | None]:
        """Return values in the unit box, and which are missing where a map has gaps: (n, 1)."""
        facts = column.facts
        if facts["extrapolation"] == "error":
            raise ValueError("extrapolation='error' cannot be exported to ONNX; use 'clip'.")
        self.inputs.append(self.helper.make_tensor_value_info(column.name, self.number, ["n", 1]))
        x = column.name
        if facts["cycle"] is not None:
            cycle = self.constant(facts["cycle"])
            whole = self.add("Floor", self.add("Div", x, cycle))
            x = self.add("Sub", x, self.add("Mul", whole, cycle))
        missing = self.add("IsNaN", x)
        low, high = facts["low"], facts["high"]
        width = high - low if high > low else 1.0
        unit = self.add("Div", self.add("Sub", x, self.constant(low)), self.constant(width))
        if high == low:
            unit = self.add("Mul", unit, self.constant(0.0))
        fill = facts["place"] if facts["gaps"] else facts["center"]
        unit = self.add("Where", missing, self.constant(fill), unit)
        if facts["extrapolation"] == "clip":
            unit = self.add("Clip", unit, self.constant(0.0), self.constant(1.0))
        return unit, missing if facts["gaps"] else None

    def move(self, column: ColumnPlan, x: str) -> str:
        """Apply the warp of a column, a sum of ramps."""
        if column.warp is None:
            return x
        knots, places = column.warp
        slopes = np.diff(places) / np.diff(knots)
        inside = self.add("Clip", x, self.constant(knots[0]), self.constant(knots[-1]))
        ramps = self.add("Relu", self.add("Sub", inside, self.constant(knots[None, :-1])))
        rises = self.constant(np.diff(slopes, prepend=0.0)[:, None])
        return self.add("Add", self.add("MatMul", ramps, rises), self.constant(places[0]))

    def functions(self, column: ColumnPlan, x: str) -> str:
        """Return real functions of a column: (n, 2M) sines, or (n, M) powers."""
        moved, n = self.move(column, x), column.facts["n_basis"]
        if column.kind == "power":
            return self.add("Pow", moved, self.constant(np.arange(n)[None]))
        if n > MOST_FUNCTIONS:
            raise ValueError(
                f"{column.name} has {n:,} functions, too many for an ONNX graph; export to Python."
            )
        waves = 2 * np.pi * (np.arange(n) - n // 2) / column.facts["period"]
        turned = np.concatenate([np.full(n, np.pi / 2), np.zeros(n)])
        angles = self.add("MatMul", moved, self.constant(np.tile(waves, 2)[None]))
        return self.add("Sin", self.add("Add", angles, self.constant(turned)))

    def column(self, column: ColumnPlan) -> tuple[Pair | None, str | None]:
        """Return the element of a column (n, size) and its main effect (n, n_outputs)."""
        if column.kind == "categories":
            return self.categories(column)
        x, missing = self.read_numbers(column)
        found = self.functions(column, x)
        self.read.append((x, missing, found))
        element, main = None, None
        if column.weights:
            whole, gap = _joined(column, self.plan.is_chain)
            element = self.product(found, _as_real(column, whole))
            if missing is not None:
                at = _functions_at(column, column.facts["place"]) @ gap
                element = self.choose(missing, at, element)
        if column.main is not None and column.main.any():
            main = self.main(column, column.main * self.scale, self.read[-1])
        return element, main

    def main(self, column: ColumnPlan, weights: NDArray, read: Any) -> str:
        """Return the main functions of a column of numbers times weights."""
        (x, missing, found), n, count = read, column.facts["n_basis"], column.facts["n_main"]
        line = self.add("MatMul", x, self.constant(weights[:1]))
        spread = np.zeros((2 * n if column.kind == "fourier" else n, weights.shape[1]))
        if column.kind == "fourier":
            for k in range((count - 1) // 2):
                spread[n // 2 + 1 + k] = np.sqrt(2) * weights[1 + 2 * k]
                spread[n + n // 2 + 1 + k] = np.sqrt(2) * weights[2 + 2 * k]
        else:
            spread[2 : count + 1] = weights[1:count]
        total = self.add("Add", line, self.add("MatMul", found, self.constant(spread)))
        if missing is None:
            return total
        means = column.means
        if means is None:
            place = column.facts["place"]
            means = np.concatenate([[place], _main_waves(column, place)])
        return self.add("Where", missing, self.constant((means @ weights[:-1] + weights[-1])[None]),
                        total)  # fmt: skip

    def categories(self, column: ColumnPlan) -> tuple[Pair | None, str | None]:
        """Return element and main effect of categories, by a table."""
        known = column.facts["categories"]
        kinds = {type(value) for value in known if value is not None}
        if kinds not in ({str}, {int}):
            raise ValueError(
                f"{column.name} has categories that are neither all text nor all whole numbers, "
                "which an ONNX graph cannot read; export to Python."
            )
        is_text, unknown = kinds == {str}, len(known)
        # a missing text is an empty one
        keys = ["" if value is None else value for value in known if value is not None or is_text]
        codes = [unknown if code in column.facts["untrained"] else code
                 for code, value in enumerate(known) if value is not None or is_text]  # fmt: skip
        info = self.helper.make_tensor_value_info
        self.inputs.append(info(column.name, self.text if is_text else self.integer, ["n", 1]))
        given: dict[str, Any] = {"keys_strings" if is_text else "keys_int64s": keys}
        code = self.add("LabelEncoder", column.name, domain="ai.onnx.ml", **given,
                        values_int64s=codes, default_int64=unknown)  # fmt: skip
        code = self.add("Reshape", code, self.constant([-1], np.int64))
        self.read.append((code, None, None))
        element, main = None, None
        if column.weights:
            table = column.weights[0].reshape(unknown + 1, -1)
            parts = [table.real, table.imag] if np.iscomplexobj(table) else [table]
            names = [self.add("Gather", self.constant(part), code) for part in parts]
            element = names[0], names[1] if len(names) > 1 else None
        if column.main is not None and column.main.any():
            main = self.add("Gather", self.constant(column.main * self.scale), code)
        return element, main

    # -- pairs of real and imaginary parts ----------------------------------------------------

    def pair(self, values: NDArray) -> Pair:
        """Add a constant."""
        imaginary = self.constant(values.imag) if np.iscomplexobj(values) else None
        return self.constant(values.real), imaginary

    def is_complex(self, pair: Pair) -> bool:
        """Return True if a pair has an imaginary part."""
        return pair[1] is not None

    def multiply_by(self, functions: Pair, weights: NDArray) -> Pair:
        """Multiply functions (n, Q) with weights (Q, size)."""
        return self.combine("MatMul", functions, self.pair(weights))

    def outer(self, a: Pair, b: Pair) -> Pair:
        """Multiply entry by entry, with broadcasting."""
        return self.combine("Mul", a, b)

    def transpose(self, pair: Pair) -> Pair:
        """Exchange the sides of matrices."""
        real, imaginary = (each and self.add("Transpose", each, perm=[0, 2, 1]) for each in pair)
        assert real is not None
        return real, imaginary

    def product(self, real: str, weights: NDArray) -> Pair:
        """Multiply real functions with complex weights."""
        first = self.add("MatMul", real, self.constant(weights.real))
        if not np.iscomplexobj(weights):
            return first, None
        return first, self.add("MatMul", real, self.constant(weights.imag))

    def choose(self, where: str, value: NDArray, other: Pair) -> Pair:
        """Take a constant where a column has a gap."""
        real = self.add("Where", where, self.constant(value.real[None]), other[0])
        if other[1] is None:
            return real, None
        return real, self.add("Where", where, self.constant(np.imag(value)[None]), other[1])

    def reshape(self, pair: Pair, shape: list[int]) -> Pair:
        """Give an element another shape."""
        wanted = self.constant(shape, np.int64)
        real, imaginary = pair
        return (self.add("Reshape", real, wanted),
                None if imaginary is None else self.add("Reshape", imaginary, wanted))  # fmt: skip

    def multiply(self, a: Pair, b: Pair) -> Pair:
        """Multiply two elements."""
        return self.combine("MatMul" if self.plan.is_chain else "Mul", a, b)

    def combine(self, operation: str, a: Pair, b: Pair) -> Pair:
        """Multiply two complex numbers, of which either may be real."""
        real = self.add(operation, a[0], b[0])
        if a[1] is None and b[1] is None:
            return real, None
        if a[1] is None:
            return real, self.add(operation, a[0], b[1])
        if b[1] is None:
            return real, self.add(operation, a[1], b[0])
        real = self.add("Sub", real, self.add(operation, a[1], b[1]))
        crossed = self.add(operation, a[0], b[1]), self.add(operation, a[1], b[0])
        return real, self.add("Add", *crossed)

    # -- the whole ----------------------------------------------------------------------------

    def build(self) -> Any:
        """Return the ONNX model."""
        plan, helper = self.plan, self.helper
        found = [self.column(column) for column in plan.columns]
        total = self.constant((plan.intercept * self.scale + self.mean)[None])
        for _, main in found:
            total = total if main is None else self.add("Add", total, main)
        if plan.closing is not None:
            total = self.add("Add", total, self.close([e for e, _ in found if e is not None]))
        if plan.facts["log_link"]:
            total = self.add("Exp", total)
        outputs = self.classes(total) if plan.classes is not None else self.numbers(total)
        graph = helper.make_graph(self.nodes, "qtkm", self.inputs, outputs, self.constants)
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(graph, opset_imports=versions, ir_version=8,
                                 producer_name="qtkm")  # fmt: skip

    def close(self, elements: list[Pair]) -> str:
        """Multiply the elements of all columns and close the product: (n, n_outputs)."""
        plan, shapes = self.plan, [_shape(column) for column in self.plan.columns]
        if plan.is_chain:
            elements = [self.reshape(e, [-1, *s]) for e, s in zip(elements, shapes, strict=True)]
        product = elements[0]
        for element in elements[1:]:
            product = self.multiply(product, element)
        assert plan.closing is not None
        closing = plan.closing * self.scale.reshape(-1, *[1] * (plan.closing.ndim - 1))
        if plan.is_chain:  # a trace: Σ product[a, b]·closing[b, a]
            closing = closing.transpose(0, 2, 1).reshape(len(closing), -1)
            product = self.reshape(product, [-1, closing.shape[1]])
        real = self.add("MatMul", product[0], self.constant(closing.real.T))
        if product[1] is None or not np.iscomplexobj(closing):
            return real
        return self.add("Sub", real, self.add("MatMul", product[1], self.constant(closing.imag.T)))

    def output(self, name: str, source: str, kind: Any, shape: list[Any]) -> Any:
        """Name an output of the graph."""
        self.nodes.append(self.helper.make_node("Identity", [source], [name]))
        return self.helper.make_tensor_value_info(name, kind, shape)

    def numbers(self, total: str) -> list[Any]:
        """Return the output of a regressor."""
        bounds = self.plan.bounds
        if bounds is not None:
            total = self.add("Max", total, self.constant(bounds[:1]))
            total = self.add("Min", total, self.constant(bounds[1:]))
        shape = ["n", len(self.plan.intercept)]
        outputs = [self.output("prediction", total, self.number, shape)]
        if self.plan.spread is not None:
            std = add_spread(self, self.plan.spread)
            outputs.append(self.output("std", std, self.number, shape))
        return outputs

    def classes(self, total: str) -> list[Any]:
        """Return the outputs of a classifier."""
        plan = self.plan
        assert plan.classes is not None
        if len(plan.intercept) == 1:
            sides = self.add("Concat", self.add("Neg", total), total, axis=1)
            place = self.add("Cast", self.add("Greater", total, self.constant(0.0)),
                             to=self.integer)  # fmt: skip
            place = self.add("Reshape", place, self.constant([-1], np.int64))
            both = self.add("Mul", sides, self.constant(0.5))
        else:
            place, both = self.add("ArgMax", total, axis=1, keepdims=0), total
        is_text = plan.classes.dtype.kind in "OU"
        labels = self.constant(plan.classes.astype(object if is_text else np.int64),
                               object if is_text else np.int64)  # fmt: skip
        kind = self.text if is_text else self.integer
        outputs = [self.output("label", self.add("Gather", labels, place), kind, ["n"])]
        if plan.facts["probabilities"]:
            found = self.add("Softmax", both, axis=1)
            shape = ["n", len(plan.classes)]
            outputs.append(self.output("probabilities", found, self.number, shape))
        return outputs


def _shape(column: ColumnPlan) -> tuple[int, ...]:
    return (column.weights[0].shape[1], *column.weights[-1].shape[2:])


def _joined(column: ColumnPlan, is_chain: bool) -> tuple[NDArray, NDArray]:
    """Return the flat weights (M, size) of all functions where a value is present, and missing."""
    weights = column.weights[0]
    for group in column.weights[1:]:
        if is_chain:
            weights = weights[None] @ group[:, None]
        else:
            weights = weights[None] * group[:, None]
        weights = weights.reshape(-1, *weights.shape[2:])
    flat = weights.reshape(len(weights), -1)
    if not column.facts["gaps"]:
        return flat, flat
    first, second = np.split(flat, 2)
    return first + second, first - second


def _as_real(column: ColumnPlan, weights: NDArray) -> NDArray:
    """Return weights of the real functions: (cos + i·sin)·w."""
    return np.concatenate([weights, 1j * weights]) if column.kind == "fourier" else weights


def _functions_at(column: ColumnPlan, place: float) -> NDArray:
    """Return all functions of a column at a place of the unit box."""
    moved = place if column.warp is None else float(np.interp(place, *column.warp))
    n = column.facts["n_basis"]
    if column.kind == "power":
        return moved ** np.arange(n)
    return np.exp(2j * np.pi * moved * (np.arange(n) - n // 2) / column.facts["period"])


def _main_waves(column: ColumnPlan, place: float) -> NDArray[np.float64]:
    """Return the main functions at a place, without the first, the place itself."""
    count, n = column.facts["n_main"], column.facts["n_basis"]
    found = _functions_at(column, place)
    if column.kind == "power":
        return found[2 : count + 1].real
    waves = found[n // 2 + 1 : n // 2 + 1 + (count - 1) // 2]
    return np.sqrt(2) * np.stack([waves.real, waves.imag], axis=1).ravel()
