"""A model as an ONNX graph: one input for each column, numbers or text; times are seconds.

Outputs are ``prediction`` and ``std`` of a regressor, ``label`` and ``probabilities`` of a
classifier.  A Fourier basis becomes sines of one matrix product, cos x = sin(x + π/2); a warp,
which is piecewise linear, a sum of ramps; complex numbers pairs of real ones.  Standard deviations
are the derivatives of a response times a thin factor.
"""

import math
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.values import NUMBERS, SPANS, TIMES
from .plan import ColumnPlan, Plan, SpreadPlan, make_plan

#: version of the operators
OPSET = 18

#: what the description of an input says
SECONDS = {NUMBERS: "", TIMES: "seconds since 1970 (UTC)", SPANS: "seconds"}

Pair = tuple[str, str | None]  # names of real and imaginary part
Read = tuple[str, str | None]  # values in the unit box and which are missing, or codes


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
    graph = OnnxGraph(make_plan(model, std), dtype)
    path.write_bytes(graph.build().SerializeToString())
    onnx.checker.check_model(str(path))


class OnnxGraph:
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

    def add(self, operation: str, *inputs: str | None, domain: str = "", **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name, given = f"t{len(self.nodes)}", [each or "" for each in inputs]
        node = self.helper.make_node(operation, given, [name], domain=domain, **attributes)
        self.nodes.append(node)
        return name

    def constant(self, values: Any, dtype: Any = None) -> str:
        """Add a constant and return its name."""
        name = f"c{len(self.constants)}"
        self.constants.append(self.to_tensor(np.array(values, dtype=dtype or self.dtype), name))
        return name

    def sum(self, parts: list[str]) -> str:
        """Add up parts."""
        return reduce(lambda total, part: self.add("Add", total, part), parts)

    def read(self, column: ColumnPlan) -> Read:
        """Return the values of a column: (n, 1) in the unit box, or (n,) codes of categories."""
        facts, x, info = column.facts, column.name, self.helper.make_tensor_value_info
        if column.kind == "categories":
            return self._read_categories(column)
        if facts["extrapolation"] == "error":
            raise ValueError("extrapolation='error' cannot be exported to ONNX; use 'clip'.")
        # single precision knows seconds since 1970 to two minutes
        is_time = facts["holds"] != NUMBERS
        number, dtype = (self.double, np.float64) if is_time else (self.number, self.dtype)
        about = SECONDS[facts["holds"]]
        self.inputs.append(info(x, number, ["n", 1], doc_string=about))
        if facts["cycle"] is not None:
            cycle = self.constant(facts["cycle"], dtype)
            whole = self.add("Floor", self.add("Div", x, cycle))
            x = self.add("Sub", x, self.add("Mul", whole, cycle))
        missing = self.add("IsNaN", x)
        low, high = facts["low"], facts["high"]
        width = self.constant(high - low if high > low else 1.0, dtype)
        unit = self.add("Div", self.add("Sub", x, self.constant(low, dtype)), width)
        unit = self.add("Cast", unit, to=self.number) if is_time else unit
        if high == low:
            unit = self.add("Mul", unit, self.constant(0.0))
        fill = facts["place"] if facts["gaps"] else facts["center"]
        unit = self.add("Where", missing, self.constant(fill), unit)
        if facts["extrapolation"] == "clip":
            reach = facts["reach"]
            unit = self.add("Clip", unit, self.constant(-reach), self.constant(1.0 + reach))
        return unit, missing if facts["gaps"] else None

    def _read_categories(self, column: ColumnPlan) -> Read:
        known = column.facts["categories"]
        kinds = {type(value) for value in known if value is not None}
        if kinds not in ({str}, {int}):
            raise ValueError(
                f"{column.name} has categories that are neither all text nor all whole numbers, "
                "which an ONNX graph cannot read; export to Python."
            )
        is_text, unknown = kinds == {str}, len(known)
        # a missing text is an empty one
        codes = {"" if value is None else value:
                 unknown if code in column.facts["untrained"] else code
                 for code, value in enumerate(known) if value is not None or is_text}  # fmt: skip
        info = self.helper.make_tensor_value_info
        self.inputs.append(info(column.name, self.text if is_text else self.integer, ["n", 1]))
        given: dict[str, Any] = {"keys_strings" if is_text else "keys_int64s": list(codes)}
        code = self.add("LabelEncoder", column.name, domain="ai.onnx.ml", **given,
                        values_int64s=list(codes.values()), default_int64=unknown)  # fmt: skip
        return self.add("Reshape", code, self.constant([-1], np.int64)), None

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

    def waves(self, x: str, frequencies: NDArray, turned: Any) -> str:
        """Return sin(2π·frequency·x + turned): (n, n_frequencies)."""
        angles = self.add("MatMul", x, self.constant(2 * np.pi * frequencies[None]))
        return self.add("Sin", self.add("Add", angles, self.constant(turned)))

    def factors(self, column: ColumnPlan, read: Read, sizes: list[int]) -> list[Pair]:
        """Return the functions (n, size) of levels, or of groups of them multiplied out."""
        (x, missing), found = read, []
        moved, place = self.move(column, x), 1
        for number, size in enumerate(sizes):
            # the highest digit says whether a value is there
            is_gap = missing is not None and number == len(sizes) - 1
            exponents = place * np.arange(size // 2 if is_gap else size)
            place *= len(exponents)
            if column.kind == "power":
                pair: Pair = (self.add("Pow", moved, self.constant(exponents[None])), None)
            else:
                shift = 0 if number else column.facts["n_basis"] // 2
                frequencies = (exponents - shift) / column.facts["period"]
                pair = self.waves(moved, frequencies, np.pi / 2), self.waves(moved, frequencies, 0)
            if is_gap:
                sign = self.add("Where", missing, self.constant(-1.0), self.constant(1.0))
                signed = self.both("Mul", pair, sign)
                pair = (self.add("Concat", pair[0], signed[0], axis=1),
                        pair[1] and self.add("Concat", pair[1], signed[1], axis=1))  # fmt: skip
            found.append(pair)
        return found

    def element(self, column: ColumnPlan, read: Read, factors: list[Pair]) -> Pair:
        """Return the element of a column: (n, size), or (n, left, right) of a chain."""
        if column.kind == "categories":
            tables = self.pair(column.weights[0])
            return (self.add("Gather", tables[0], read[0]),
                    tables[1] and self.add("Gather", tables[1], read[0]))  # fmt: skip
        return reduce(self.multiply, map(self.product, factors, column.weights))

    def main(
        self, column: ColumnPlan, weights: NDArray, read: Read, factors: list[Pair] | None = None
    ) -> str:
        """Return the main functions of a column times weights (n, n_outputs).

        Waves are those of the factors if these are all functions of the column.
        """
        x, missing = read
        if column.kind == "categories":
            return self.add("Gather", self.constant(weights), x)
        facts, count = column.facts, column.facts["n_main"]
        parts = [self.add("MatMul", x, self.constant(weights[:1]))]
        if column.kind == "power":
            powers = self.add("Pow", self.move(column, x),
                              self.constant(np.arange(2, count + 1)[None]))  # fmt: skip
            parts.append(self.add("MatMul", powers, self.constant(weights[1:count])))
        else:
            # after frequency 0 of all functions, or the only ones
            first, size, waves = facts["n_basis"] // 2 + 1, math.prod(facts["radices"]), factors
            if waves is None or len(waves) != 1:
                first, size = 0, (count - 1) // 2
                frequencies, moved = np.arange(1, 1 + size) / facts["period"], self.move(column, x)
                waves = [(self.waves(moved, frequencies, np.pi / 2),
                          self.waves(moved, frequencies, 0.0))]  # fmt: skip
            for start, wave in enumerate(waves[0], 1):  # cosines and sines by turns
                own = np.zeros((size, weights.shape[1]))
                own[first : first + (count - 1) // 2] = np.sqrt(2) * weights[start:count:2]
                parts.append(self.add("MatMul", wave, self.constant(own)))
        total = self.sum(parts)
        if missing is None:
            return total
        assert column.means is not None
        gap = column.means @ weights[:-1] + weights[-1]
        return self.add("Where", missing, self.constant(gap[None]), total)

    def pair(self, values: NDArray) -> Pair:
        """Add a constant."""
        imaginary = self.constant(values.imag) if np.iscomplexobj(values) else None
        return self.constant(values.real), imaginary

    def both(self, operation: str, pair: Pair, *inputs: str, **attributes: Any) -> Pair:
        """Do the same to real and imaginary part."""
        real, imaginary = (each and self.add(operation, each, *inputs, **attributes)
                           for each in pair)  # fmt: skip
        assert real is not None
        return real, imaginary

    def reshape(self, pair: Pair, shape: list[int]) -> Pair:
        """Give elements another shape."""
        return self.both("Reshape", pair, self.constant(shape, np.int64))

    def combine(self, operation: str, a: Pair, b: Pair) -> Pair:
        """Multiply two complex numbers, of which either may be real."""
        real = self.add(operation, a[0], b[0])
        if a[1] is None or b[1] is None:
            sides = (a[0], b[1]) if a[1] is None else (a[1], b[0])
            return real, self.add(operation, *sides) if all(sides) else None
        real = self.add("Sub", real, self.add(operation, a[1], b[1]))
        crossed = self.add(operation, a[0], b[1]), self.add(operation, a[1], b[0])
        return real, self.add("Add", *crossed)

    def multiply(self, a: Pair, b: Pair) -> Pair:
        """Multiply two elements."""
        return self.combine("MatMul" if self.plan.is_chain else "Mul", a, b)

    def product(self, functions: Pair, weights: NDArray) -> Pair:
        """Multiply functions (n, M) with weights (M, …)."""
        flat = self.pair(weights.reshape(len(weights), -1))
        found = self.combine("MatMul", functions, flat)
        return self.reshape(found, [-1, *weights.shape[1:]]) if self.plan.is_chain else found

    def build(self) -> Any:
        """Return the ONNX model."""
        plan, helper = self.plan, self.helper
        read = [self.read(column) for column in plan.columns]
        parts = [self.constant((plan.intercept * self.scale + self.mean)[None])]
        elements = []
        for column, own in zip(plan.columns, read, strict=True):
            sizes = [len(w) for w in column.weights if column.kind != "categories"]
            factors = self.factors(column, own, sizes) if sizes else []
            if column.main is not None and column.main.any():
                parts.append(self.main(column, column.main * self.scale, own, factors))
            if column.weights:
                elements.append(self.element(column, own, factors))
        if plan.closing is not None:
            parts.append(self.close(elements))
        total = self.sum(parts)
        if plan.facts["log_link"]:
            total = self.add("Exp", total)
        outputs = self.classes(total) if plan.classes is not None else self.numbers(total, read)
        graph = helper.make_graph(self.nodes, "qtkm", self.inputs, outputs, self.constants)
        versions = [helper.make_opsetid("", OPSET), helper.make_opsetid("ai.onnx.ml", 3)]
        return helper.make_model(graph, opset_imports=versions, ir_version=8,
                                 producer_name="qtkm")  # fmt: skip

    def close(self, elements: list[Pair]) -> str:
        """Multiply the elements of all columns and close the product: (n, n_outputs)."""
        product, closing = reduce(self.multiply, elements), self.plan.closing
        assert closing is not None
        closing = closing * self.scale.reshape(-1, *[1] * (closing.ndim - 1))
        if self.plan.is_chain:  # a trace: Σ product[a, b]·closing[b, a]
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

    def numbers(self, total: str, read: list[Read]) -> list[Any]:
        """Return the outputs of a regressor."""
        bounds, spread = self.plan.bounds, self.plan.spread
        if bounds is not None:
            total = self.add("Max", total, self.constant(bounds[:1]))
            total = self.add("Min", total, self.constant(bounds[1:]))
        shape = ["n", len(self.plan.intercept)]
        outputs = [self.output("prediction", total, self.number, shape)]
        if spread is not None:
            # in double precision: derivatives are large where they cancel
            kind, self.dtype = self.dtype, np.dtype(np.float64)
            if kind != self.dtype:
                read = [own if column.kind == "categories"
                        else (self.add("Cast", own[0], to=self.double), own[1])
                        for column, own in zip(self.plan.columns, read, strict=True)]  # fmt: skip
            found = [self.deviations(spread, o, read) for o in range(len(spread.noise))]
            std = self.add("Cast", self.add("Concat", *found, axis=1), to=self.number)
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
        labels = self.constant(plan.classes, object if is_text else np.int64)
        kind = self.text if is_text else self.integer
        outputs = [self.output("label", self.add("Gather", labels, place), kind, ["n"])]
        if plan.facts["probabilities"]:
            found = self.add("Softmax", both, axis=1)
            shape = ["n", len(plan.classes)]
            outputs.append(self.output("probabilities", found, self.number, shape))
        return outputs

    def deviations(self, spread: SpreadPlan, output: int, read: list[Read]) -> str:
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
        total = self.sum(parts)
        square = self.add("ReduceSumSquare", total, self.constant([1], np.int64), keepdims=1)
        variance = self.add("Mul", square, self.constant(spread.spread[output]))
        root = self.add("Sqrt", self.add("Add", variance, self.constant(spread.noise[output])))
        return self.add("Mul", root, self.constant(spread.unit[output]))

    def derivatives(self, spread: SpreadPlan, output: int, read: list[Read]) -> list[str]:
        """Return derivatives by the posterior's cores, times their factor, to be added: (n, k)."""
        assert spread.closing is not None
        is_chain, sites = self.plan.is_chain, []
        for number, levels in enumerate(spread.cores):
            column, table = self.plan.columns[number], spread.tables[number]
            if table is not None:
                pairs: list[Pair] = [(self.add("Gather", self.constant(table), read[number][0]),
                                      None)]  # fmt: skip
            else:
                pairs = self.factors(column, read[number], column.facts["radices"])
            for factor, core in zip(pairs, levels, strict=True):
                element = self.product(factor, core)
                sites.append((factor, element, core, spread.is_held[number]))
        before: list[Pair | None] = [None]
        after = [self.pair(spread.closing[output][None])]
        for _, element, _, _ in sites:
            before.append(element if before[-1] is None else self.multiply(before[-1], element))
        for _, element, _, _ in sites[::-1]:
            after.append(self.multiply(element, after[-1]))
        planes = 2 if any(element[1] is not None for _, element, _, _ in sites) else 1
        rows = spread.chain.reshape(-1, planes, spread.chain.shape[1])
        parts, first = [], 0
        # behind every site
        for site, left, right in zip(sites, before[:-1], after[-2::-1], strict=True):
            factor, _, core, is_held = site
            if is_held:
                continue
            outside = right if left is None else self.multiply(right, left)
            if is_chain:
                outside = self.both("Transpose", outside, perm=[0, 2, 1])
            sides = (
                self.reshape(factor, [-1, len(core), 1]),
                self.reshape(outside, [-1, 1, core.size // len(core)]),
            )
            flat = self.reshape(self.combine("Mul", *sides), [-1, core.size])
            parts += self.project(flat, rows[first : first + core.size])
            first += core.size
        if spread.has_outputs:
            state: Any = before[-1]
            state = self.both("Transpose", state, perm=[0, 2, 1]) if is_chain else state
            size = spread.closing[output].size
            first += output * size
            parts += self.project(self.reshape(state, [-1, size]), rows[first : first + size])
        return parts

    def project(self, z: Pair, rows: NDArray) -> list[str]:
        """Multiply derivatives with rows (P, planes, k) of the factor, which is kept as it is."""
        return [
            self.add("MatMul", part, self.add("Cast", self.constant(rows[:, plane], rows.dtype),
                                              to=self.double))
            for plane, part in enumerate(z) if part is not None
        ]  # fmt: skip
