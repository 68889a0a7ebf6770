"""Standard deviations in an ONNX graph: the derivatives of a response times a thin factor."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .plan import ColumnPlan, SpreadPlan

if TYPE_CHECKING:
    from .onnx_file import Graph, Pair


def add_spread(graph: "Graph", spread: SpreadPlan) -> str:
    """Add nodes for the standard deviations of new observations: (n, n_outputs).

    They are computed in double precision: derivatives are large where they cancel.
    """
    kind, graph.dtype = graph.dtype, np.dtype(np.float64)
    if kind != graph.dtype:
        for number, (x, missing, functions) in enumerate(graph.read):
            if functions is not None:  # numbers; categories are codes
                wide = graph.cast(x)
                functions = graph.functions(graph.plan.columns[number], wide)
                graph.read[number] = wide, missing, functions
    found = [_deviations(graph, spread, output) for output in range(len(spread.noise))]
    total = graph.add("Concat", *found, axis=1)
    graph.dtype = kind
    return graph.add("Cast", total, to=graph.number)


def _deviations(graph: "Graph", spread: SpreadPlan, output: int) -> str:
    """Return the standard deviations of one output: (n, 1)."""
    parts = []
    if len(spread.chain):
        parts.append(_derivatives(graph, spread, output))
    first, weights = 0, spread.main[output].astype(np.float64)
    for number, column in enumerate(graph.plan.columns):
        used = np.array(spread.used[number], dtype=bool)
        if used.any():
            own = np.zeros((len(used), weights.shape[1]))
            own[used] = weights[first : first + used.sum()]
            first += int(used.sum())
            parts.append(_main(graph, column, own, number, spread.shares[number]))
    if spread.used[-1][0]:
        parts.append(graph.constant(weights[first:]))
    total = parts[0]
    for part in parts[1:]:
        total = graph.add("Add", total, part)
    square = graph.add("ReduceSumSquare", total, graph.constant([1], np.int64), keepdims=1)
    variance = graph.add("Mul", square, graph.constant(spread.spread[output]))
    root = graph.add("Sqrt", graph.add("Add", variance, graph.constant(spread.noise[output])))
    return graph.add("Mul", root, graph.constant(spread.unit[output]))


def _main(
    graph: "Graph", column: ColumnPlan, weights: NDArray, number: int, share: NDArray | None
) -> str:
    """Return the main functions of a column that move, times their factor: (n, k)."""
    if column.kind != "categories":
        return graph.main(column, weights, graph.read[number])
    table = weights if share is None else np.vstack([weights, share @ weights])
    return graph.add("Gather", graph.constant(table), graph.read[number][0])


def _derivatives(graph: "Graph", spread: SpreadPlan, output: int) -> str:
    """Return the derivatives by the posterior's cores, times their factor: (n, k)."""
    assert spread.closing is not None
    is_chain, sites = graph.plan.is_chain, []
    for number, levels in enumerate(spread.cores):
        for factor, core in zip(_factors(graph, spread, number), levels, strict=True):
            weights = core.reshape(len(core), -1)
            element = graph.multiply_by(factor, weights)
            if is_chain:
                element = graph.reshape(element, [-1, *core.shape[1:]])
            sites.append((factor, element, core, spread.is_held[number]))
    before: list[Pair | None] = [None]
    after = [graph.pair(spread.closing[output][None])]
    for _, element, _, _ in sites:
        before.append(element if before[-1] is None else graph.multiply(before[-1], element))
    for _, element, _, _ in sites[::-1]:
        after.append(graph.multiply(element, after[-1]))
    after = after[-2::-1]  # behind every site
    planes = 2 if any(graph.is_complex(element) for _, element, _, _ in sites) else 1
    rows = spread.chain.reshape(-1, planes, spread.chain.shape[1])
    total, first = None, 0
    for (factor, _, core, is_held), left, right in zip(sites, before[:-1], after, strict=True):
        if is_held:
            continue
        outside = right if left is None else graph.multiply(right, left)
        if is_chain:
            outside = graph.transpose(outside)
        size = core.size // len(core)
        products = graph.outer(
            graph.reshape(factor, [-1, len(core), 1]), graph.reshape(outside, [-1, 1, size])
        )
        flat = graph.reshape(products, [-1, core.size])
        total = _add(graph, total, flat, rows[first : first + core.size])
        first += core.size
    if spread.has_outputs:
        state: Any = before[-1]
        size = spread.closing[output].size
        state = graph.reshape(graph.transpose(state) if is_chain else state, [-1, size])
        first += output * size
        total = _add(graph, total, state, rows[first : first + size])
    assert total is not None
    return total


def _add(graph: "Graph", total: str | None, z: "Pair", rows: NDArray) -> str:
    """Add derivatives times rows (P, planes, k) of the factor, which is kept as it is."""
    found = graph.add("MatMul", z[0], graph.cast(graph.constant(rows[:, 0], rows.dtype)))
    if z[1] is not None:
        factor = graph.cast(graph.constant(rows[:, 1], rows.dtype))
        found = graph.add("Add", found, graph.add("MatMul", z[1], factor))
    return found if total is None else graph.add("Add", total, found)


def _factors(graph: "Graph", spread: SpreadPlan, number: int) -> list["Pair"]:
    """Return the factors (n, Q) of every level of a column."""
    column, (x, missing, _) = graph.plan.columns[number], graph.read[number]
    facts, table = column.facts, spread.tables[number]
    if table is not None:
        return [(graph.add("Gather", graph.constant(table), x), None)]
    found: list[Pair] = []
    moved, place = graph.move(column, x), 1
    for level, radix in enumerate(facts["radices"][: len(facts["radices"]) - facts["gaps"]]):
        exponents = place * np.arange(radix)
        place *= radix
        if column.kind == "power":
            found.append((graph.add("Pow", moved, graph.constant(exponents[None])), None))
            continue
        shift = 0 if level else facts["n_basis"] // 2
        waves = 2 * np.pi * (exponents - shift) / facts["period"]
        angles = graph.add("MatMul", moved, graph.constant(waves[None]))
        turned = graph.add("Add", angles, graph.constant(np.pi / 2))
        found.append((graph.add("Sin", turned), graph.add("Sin", angles)))
    if missing is not None:
        ends = graph.constant([[1.0, -1.0]]), graph.constant([[1.0, 1.0]])
        found.append((graph.add("Where", missing, *ends), None))
    return found
