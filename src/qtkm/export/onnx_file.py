"""A model as an ONNX graph: one input for each column, numbers or text; times are seconds.

Outputs are ``prediction`` and ``std`` of a regressor, ``label`` and ``probabilities`` of a
classifier.  A Fourier basis becomes sines of one matrix product, cos x = sin(x + π/2); a warp,
which is piecewise linear, a sum of ramps; complex numbers pairs of real ones.  Standard deviations
are the derivatives of a response times a thin factor.
"""

import operator
from functools import partialmethod, reduce
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.values import NUMBERS, SPANS, TIMES
from ..extras import need
from .plan import ColumnPlan, Plan, SpreadPlan, make_plan

#: version of the operators
OPSET = 18
#: what the description of an input says
SECONDS = {NUMBERS: "", TIMES: "seconds since 1970 (UTC)", SPANS: "seconds"}


def write_onnx(model: Any, path: Path, dtype: str = "float64", std: bool | None = None) -> None:
    """Write a fitted model as an ONNX file, see `Model.to_onnx`."""
    onnx = need("onnx", "ONNX files are written", "onnx")
    if dtype not in ("float64", "float32"):
        raise ValueError(f"dtype={dtype!r} is unknown; use 'float64' or 'float32'.")
    graph = OnnxGraph(make_plan(model, std), dtype)
    path.write_bytes(graph.build().SerializeToString())
    onnx.checker.check_model(str(path))


class Tensor:
    """A tensor of a graph: the name of its real part and, of complex numbers, the imaginary one.

    Operators take tensors and arrays, which become constants; `+`, `-` and `/` real ones.
    """

    def __init__(self, graph: "OnnxGraph", real: str, imaginary: str | None = None):
        self.graph, self.real, self.imaginary = graph, real, imaginary

    def apply(self, operation: str, *inputs: Any, **attributes: Any) -> "Tensor":
        """Do the same to both parts."""
        real, *imaginary = (self.graph.add(operation, part, *inputs, **attributes).real
                            for part in (self.real, self.imaginary) if part)  # fmt: skip
        return Tensor(self.graph, real, *imaginary)

    def reshape(self, *shape: int) -> "Tensor":
        return self.apply("Reshape", self.graph.constant(shape, np.int64))

    def combine(self, operation: str, other: Any) -> "Tensor":
        """Combine real numbers, or multiply complex ones, of which either may be real."""
        other, add = self.graph.tensor(other), self.graph.add
        sides = (self.real, other.imaginary), (self.imaginary, other.real)
        real = add(operation, self.real, other.real)
        crossed = [add(operation, *side) for side in sides if all(side)]
        if len(crossed) == 2:
            real = real - add(operation, self.imaginary, other.imaginary)
            crossed = [crossed[0] + crossed[1]]
        return Tensor(self.graph, real.real, *(each.real for each in crossed))

    __add__, __sub__ = partialmethod(combine, "Add"), partialmethod(combine, "Sub")
    __mul__, __truediv__ = partialmethod(combine, "Mul"), partialmethod(combine, "Div")
    __matmul__ = partialmethod(combine, "MatMul")


#: values in the unit box and which are missing, or codes
Read = tuple[Tensor, Tensor | None]


class OnnxGraph:
    """An ONNX graph that grows node by node."""

    def __init__(self, plan: Plan, dtype: str):
        from onnx import helper, numpy_helper

        self.plan, self.helper, self.to_tensor = plan, helper, numpy_helper.from_array
        self.dtype = np.dtype(dtype)
        # scaled weights and not a scaled product: runtimes fuse the latter with a single factor
        self.scale, self.mean = plan.scale, plan.mean
        if plan.facts["log_link"]:
            self.scale, self.mean = np.ones(len(plan.scale)), np.log(plan.scale)
        self.multiply = operator.matmul if plan.is_chain else operator.mul
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.inputs: list[Any] = []

    def add(self, operation: str, *inputs: Any, domain: str = "", **attributes: Any) -> Tensor:
        """Add a node; its inputs are tensors, their names, or arrays."""
        given = [each if isinstance(each, str) else self.tensor(each).real for each in inputs]
        name = f"t{len(self.nodes)}"
        node = self.helper.make_node(operation, given, [name], domain=domain, **attributes)
        self.nodes.append(node)
        return Tensor(self, name)

    def tensor(self, values: Any) -> Tensor:
        return values if isinstance(values, Tensor) else self.constant(values)

    def constant(self, values: Any, dtype: Any = None) -> Tensor:
        """Add a constant."""
        names = []
        for part in (values.real, values.imag) if np.iscomplexobj(values) else (values,):
            names.append(f"c{len(self.constants)}")
            array = np.array(part, dtype=dtype or self.dtype)
            self.constants.append(self.to_tensor(array, names[-1]))
        return Tensor(self, *names)

    def input(self, name: str, dtype: Any, about: str = "") -> Tensor:
        """Add an input of the graph."""
        info = self.helper.make_tensor_value_info
        self.inputs.append(info(name, self.kind(dtype), ["n", 1], doc_string=about))
        return Tensor(self, name)

    def output(self, name: str, source: Tensor, dtype: Any, shape: list[Any]) -> Any:
        """Name an output of the graph."""
        self.nodes.append(self.helper.make_node("Identity", [source.real], [name]))
        return self.helper.make_tensor_value_info(name, self.kind(dtype), shape)

    def kind(self, dtype: Any) -> Any:
        return self.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))

    def cast(self, tensor: Tensor, dtype: Any) -> Tensor:
        return tensor.apply("Cast", to=self.kind(dtype))

    def read(self, column: ColumnPlan) -> Read:
        """Return the values of a column: (n, 1) in the unit box, or (n,) codes of categories."""
        if column.kind == "categories":
            return self._read_categories(column), None
        facts, low, high = column.facts, column.facts["low"], column.facts["high"]
        if facts["extrapolation"] == "error":
            raise ValueError("extrapolation='error' cannot be exported to ONNX; use 'clip'.")
        # single precision knows seconds since 1970 to two minutes
        dtype = self.dtype if facts["holds"] == NUMBERS else np.dtype(np.float64)
        x = self.input(column.name, dtype, SECONDS[facts["holds"]])
        if facts["cycle"] is not None:
            cycle = self.constant(facts["cycle"], dtype)
            x = x - (x / cycle).apply("Floor") * cycle
        missing = x.apply("IsNaN")
        width = self.constant(high - low if high > low else 1.0, dtype)
        unit = (x - self.constant(low, dtype)) / width
        unit = unit if dtype == self.dtype else self.cast(unit, self.dtype)
        unit = unit * 0.0 if high == low else unit
        fill = facts["place"] if facts["gaps"] else facts["center"]
        unit = self.add("Where", missing, fill, unit)
        if facts["extrapolation"] == "clip":
            unit = unit.apply("Clip", -facts["reach"], 1.0 + facts["reach"])
        return unit, missing if facts["gaps"] else None

    def _read_categories(self, column: ColumnPlan) -> Tensor:
        known = column.facts["categories"]
        kinds = {type(value) for value in known if value is not None}
        if kinds not in ({str}, {int}):
            raise ValueError(
                f"{column.name} has categories that are neither all text nor all integers, "
                "which an ONNX graph cannot read; export to Python."
            )
        is_text, unknown = kinds == {str}, len(known)
        # a missing text is an empty one
        codes = {"" if value is None else value:
                 unknown if code in column.facts["untrained"] else code
                 for code, value in enumerate(known) if value is not None or is_text}  # fmt: skip
        given: dict[str, Any] = {"keys_strings" if is_text else "keys_int64s": list(codes)}
        x = self.input(column.name, object if is_text else np.int64)
        return self.add("LabelEncoder", x, domain="ai.onnx.ml", **given, default_int64=unknown,
                        values_int64s=list(codes.values())).reshape(-1)  # fmt: skip

    def move(self, column: ColumnPlan, x: Tensor) -> Tensor:
        """Apply the warp of a column, a sum of ramps."""
        if column.warp is None:
            return x
        knots, places = column.warp
        slopes = np.diff(places) / np.diff(knots)
        ramps = (x.apply("Clip", knots[0], knots[-1]) - knots[None, :-1]).apply("Relu")
        return ramps @ np.diff(slopes, prepend=0.0)[:, None] + places[0]

    def waves(self, x: Tensor, frequencies: NDArray) -> Tensor:
        """Return exp(2πi·frequency·x): (n, n_frequencies)."""
        angles = x @ (2 * np.pi * frequencies[None])
        cosines, sines = ((angles + turned).apply("Sin").real for turned in (np.pi / 2, 0.0))
        return Tensor(self, cosines, sines)

    def factors(self, column: ColumnPlan, read: Read, sizes: list[int]) -> list[Tensor]:
        """Return the functions (n, size) of levels, or of groups of them multiplied out."""
        (x, missing), found = read, []
        moved, place = self.move(column, x), 1
        for number, size in enumerate(sizes):
            # the highest digit says whether a value is there
            is_gap = missing is not None and number == len(sizes) - 1
            exponents = place * np.arange(size // 2 if is_gap else size)
            place *= len(exponents)
            if column.kind == "power":
                factor = moved.apply("Pow", exponents[None])
            else:
                shift = 0 if number else column.facts["n_basis"] // 2
                factor = self.waves(moved, (exponents - shift) / column.facts["period"])
            if is_gap:
                signs = self.add("Where", missing, [[1.0, -1.0]], [[1.0, 1.0]]).reshape(-1, 2, 1)
                factor = (factor.reshape(-1, 1, size // 2) * signs).reshape(-1, size)
            found.append(factor)
        return found

    def product(self, functions: Tensor, weights: NDArray) -> Tensor:
        """Multiply functions (n, M) with weights (M, …)."""
        found = functions @ weights.reshape(len(weights), -1)
        return found.reshape(-1, *weights.shape[1:]) if self.plan.is_chain else found

    def main(self, column: ColumnPlan, weights: NDArray, read: Read) -> Tensor:
        """Return the main functions of a column times weights (n, n_outputs)."""
        x, missing = read
        if column.kind == "categories":
            return self.constant(weights).apply("Gather", x)
        count, moved = column.facts["n_main"], self.move(column, x)
        total = x @ weights[:1]
        if column.kind == "power":
            powers = moved.apply("Pow", np.arange(2, count + 1)[None])
            total = total + powers @ weights[1:count]
        else:
            waves = self.waves(moved, np.arange(1, 1 + count // 2) / column.facts["period"])
            both = np.sqrt(2) * (weights[1:count:2] - 1j * weights[2:count:2])
            total = total + self.real(waves, both)
        if missing is None:
            return total
        assert column.means is not None
        gap = column.means @ weights[:-1] + weights[-1]
        return self.add("Where", missing, gap[None], total)

    def real(self, a: Tensor, b: NDArray) -> Tensor:
        """Return the real part of a matrix product."""
        real = Tensor(self, a.real) @ b.real
        if a.imaginary is None or not np.iscomplexobj(b):
            return real
        return real - Tensor(self, a.imaginary) @ b.imag

    def build(self) -> Any:
        """Return the ONNX model."""
        plan, helper = self.plan, self.helper
        read = [self.read(column) for column in plan.columns]
        total = self.constant((plan.intercept * self.scale + self.mean)[None])
        elements = []
        for column, own in zip(plan.columns, read, strict=True):
            if column.main is not None and column.main.any():
                total = total + self.main(column, column.main * self.scale, own)
            if column.weights and column.kind == "categories":
                elements.append(self.constant(column.weights[0]).apply("Gather", own[0]))
            elif column.weights:
                factors = self.factors(column, own, list(map(len, column.weights)))
                elements.append(reduce(self.multiply, map(self.product, factors, column.weights)))
        if plan.closing is not None:
            product, closing = reduce(self.multiply, elements), (plan.closing.T * self.scale).T
            if plan.is_chain:  # a trace: Σ product[a, b]·closing[b, a]
                closing = closing.transpose(0, 2, 1).reshape(len(closing), -1)
                product = product.reshape(-1, closing.shape[1])
            total = total + self.real(product, closing.T)
        if plan.facts["log_link"]:
            total = total.apply("Exp")
        outputs = self.classes(total) if plan.classes is not None else self.numbers(total, read)
        graph = helper.make_graph(self.nodes, "qtkm", self.inputs, outputs, self.constants)
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(graph, opset_imports=versions, ir_version=8,
                                 producer_name="qtkm")  # fmt: skip

    def numbers(self, total: Tensor, read: list[Read]) -> list[Any]:
        """Return the outputs of a regressor."""
        bounds, spread, dtype = self.plan.bounds, self.plan.spread, self.dtype
        if bounds is not None:
            total = total.apply("Max", bounds[:1]).apply("Min", bounds[1:])
        shape = ["n", len(self.plan.intercept)]
        outputs = [self.output("prediction", total, dtype, shape)]
        if spread is not None:
            # in double precision: derivatives are large where they cancel
            self.dtype = np.dtype(np.float64)
            read = [
                (x if column.kind == "categories" else self.cast(x, self.dtype), missing)
                for column, (x, missing) in zip(self.plan.columns, read, strict=True)
            ]
            found = [self.deviations(spread, o, read) for o in range(len(spread.noise))]
            std = self.cast(self.add("Concat", *found, axis=1), dtype)
            outputs.append(self.output("std", std, dtype, shape))
        return outputs

    def classes(self, total: Tensor) -> list[Any]:
        """Return the outputs of a classifier."""
        classes: Any = self.plan.classes
        if len(self.plan.intercept) == 1:
            place = self.cast(total.apply("Greater", 0.0), np.int64).reshape(-1)
            total = total @ [[-0.5, 0.5]]
        else:
            place = total.apply("ArgMax", axis=1, keepdims=0)
        dtype = object if classes.dtype.kind in "OU" else np.int64
        labels = self.constant(classes, dtype).apply("Gather", place)
        outputs = [self.output("label", labels, dtype, ["n"])]
        if self.plan.facts["probabilities"]:
            found = total.apply("Softmax", axis=1)
            outputs.append(self.output("probabilities", found, self.dtype, ["n", len(classes)]))
        return outputs

    def deviations(self, spread: SpreadPlan, output: int, read: list[Read]) -> Tensor:
        """Return the standard deviations of new observations of one output: (n, 1)."""
        parts = self.derivatives(spread, output, read) if len(spread.chain) else []
        first, weights = 0, spread.main[output].astype(np.float64)
        for number, column in enumerate(self.plan.columns):
            used, share = np.array(spread.used[number], dtype=bool), spread.shares[number]
            if used.any():
                own = np.zeros((len(used), weights.shape[1]))
                own[used] = weights[first : first + used.sum()]
                first += int(used.sum())
                own = own if share is None else np.vstack([own, share @ own])
                parts.append(self.main(column, own, read[number]))
        if spread.used[-1][0]:
            parts.append(self.constant(weights[first:]))
        total = reduce(operator.add, parts)
        square = total.apply("ReduceSumSquare", self.constant([1], np.int64), keepdims=1)
        root = (square * spread.spread[output] + spread.noise[output]).apply("Sqrt")
        return root * spread.unit[output]

    def derivatives(self, spread: SpreadPlan, output: int, read: list[Read]) -> list[Tensor]:
        """Return derivatives by the posterior's cores, times their factor, to be added: (n, k)."""
        assert spread.closing is not None
        closing, is_chain, sites = spread.closing[output], self.plan.is_chain, []
        for number, levels in enumerate(spread.cores):
            column, table = self.plan.columns[number], spread.tables[number]
            if table is None:
                factors = self.factors(column, read[number], column.facts["radices"])
            else:
                factors = [self.constant(table).apply("Gather", read[number][0])]
            for factor, core in zip(factors, levels, strict=True):
                sites.append((factor, core, spread.is_held[number]))
        elements = [self.product(factor, core) for factor, core, _ in sites]
        before = list(accumulate(elements, self.multiply))
        after = [self.constant(closing[None])]
        for element in elements[:0:-1]:
            after.append(self.multiply(element, after[-1]))
        planes = 2 if any(element.imaginary for element in elements) else 1
        rows = spread.chain.reshape(-1, planes, spread.chain.shape[1])
        parts, first = [], 0

        def project(z: Tensor, size: int, first: int) -> None:
            """Multiply derivatives with rows of the factor, which is kept in its precision."""
            flat, own = z.reshape(-1, size), rows[first : first + size]
            for plane, part in enumerate(filter(None, (flat.real, flat.imaginary))):
                factor = self.cast(self.constant(own[:, plane], rows.dtype), np.float64)
                parts.append(self.add("MatMul", part, factor))

        for (factor, core, is_held), left, right in zip(
            sites, [None, *before[:-1]], after[::-1], strict=True
        ):
            if is_held:
                continue
            outside = right if left is None else self.multiply(right, left)
            outside = outside.apply("Transpose", perm=[0, 2, 1]) if is_chain else outside
            outside = outside.reshape(-1, 1, core.size // len(core))
            project(factor.reshape(-1, len(core), 1) * outside, core.size, first)
            first += core.size
        if spread.has_outputs:
            state = before[-1].apply("Transpose", perm=[0, 2, 1]) if is_chain else before[-1]
            project(state, closing.size, first + output * closing.size)
        return parts
