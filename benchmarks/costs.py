"""What a response, a gradient and a core's sub-problem cost, as M, N, D and R grow.

Uniform inputs on 1,024 grid values a column.  Passes are timed over the rows, with the tables
in place; what the tables themselves cost is shown beside.  Against D there are two sweeps: with
64 values a column the tables of all columns stay in the caches, and time counts operations; with
1,024 they leave them one after the other, and time counts that too.
"""

from time import perf_counter

import numpy as np

from benchmarks.measure import best_of
from benchmarks.objectives import make, seconds_of, start
from benchmarks.report import row
from qtkm.losses import Squared
from qtkm.networks import CPD, TensorTrain

PLOT = "costs.png"
BASE = {"n_rows": 200_000, "n_columns": 8, "n_basis": 64, "n_values": 1024}
FEW_VALUES = 64
SWEEPS = {
    "M": ("n_basis", (16, 64, 256, 1024, 4096)),
    "N": ("n_rows", (50_000, 100_000, 200_000, 400_000, 800_000)),
    "D": ("n_columns", (4, 8, 16, 32)),
    "D, large tables": ("n_columns", (4, 8, 16, 32)),
}
RANKS = {"CPD": (10, 20, 40, 80), "TensorTrain": (4, 8, 16, 32)}
FIXED = {"CPD": 20, "TensorTrain": 6}
NETWORKS = {"CPD": CPD, "TensorTrain": TensorTrain}


def run(threads, quick=False, output=None):
    """Measure every sweep; with ``output``, a folder, plot them there too."""
    base = dict(BASE, n_rows=20_000) if quick else BASE
    measured, lines = {}, []
    for name, network in NETWORKS.items():
        for symbol, (parameter, values) in SWEEPS.items():
            values = values[:3] if quick else values
            fixed = base | {"n_values": FEW_VALUES} if symbol == "D" else base
            problems = [(network(FIXED[name]), fixed | {parameter: value}) for value in values]
            measured[name, symbol] = values, _measure(problems, threads, quick)
        ranks = RANKS[name][:2] if quick else RANKS[name]
        measured[name, "R"] = ranks, _measure([(network(r), base) for r in ranks], threads, quick)
    for (name, symbol), (values, seconds) in measured.items():
        lines.append(_line(name, symbol, values, seconds))
    lines += _subproblems(threads, quick)
    if output is not None:
        _plot(measured, output / PLOT)
    return lines


def _problem(n_rows, n_columns, n_values, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(n_values, size=(n_rows, n_columns)) / (n_values - 1)
    return X, rng.standard_normal(n_rows)


def _measure(problems, threads, quick):
    """Best seconds of response, gradient pass and tables for every problem."""
    tasks = {}
    for i, (network, sizes) in enumerate(problems):
        X, y = _problem(sizes["n_rows"], sizes["n_columns"], sizes["n_values"])
        objective = make(
            X, y, network, Squared(), n_basis=sizes["n_basis"], period=10, alpha=1e-7,
            threads=threads,
        )  # fmt: skip
        iterate = objective.at(start(objective))
        (shard,) = objective.shards
        slopes = np.ones((len(shard), 1), dtype=complex)
        sums = iterate.gradient_pass()(shard, slopes, run=objective.engine.run)
        tasks["response", i] = lambda i=iterate, s=shard: seconds_of(lambda: i.responses(s))
        tasks["gradient", i] = lambda i=iterate, s=shard, g=slopes, o=objective: seconds_of(
            lambda: i.gradient_pass()(s, g, run=o.engine.run)
        )
        tasks["tables", i] = lambda i=iterate, o=objective, z=sums: _tables(o, i, z)
    best = best_of(tasks, 2 if quick else 4, 1)
    kinds = ("response", "gradient", "tables")
    return {kind: np.array([best[kind, i] for i in range(len(problems))]) for kind in kinds}


def _tables(objective, iterate, sums):
    """Seconds to make the tables anew, and of the chain rule from tables to cores."""
    begin = perf_counter()
    fresh = objective.at(iterate.cores)
    fresh.gradient_pass()
    fresh.gradient(sums)
    return perf_counter() - begin


def _line(name, symbol, values, seconds):
    sizes = values
    note = ""
    if name == "TensorTrain" and symbol[0] == "D":
        # the columns at the ends are rows of R numbers, which cost next to nothing
        sizes = [value - 2 for value in values]
        note = "in inner columns, D - 2, whose tables are matrices; "
    exponents = {
        kind: float(np.log(s[-1] / s[0]) / np.log(sizes[-1] / sizes[0]))
        for kind, s in seconds.items()
    }
    expected = {"M": 0.0, "R": 1.0 if name == "CPD" else 2.0}.get(symbol, 1.0)
    cached = symbol != "D, large tables"
    milliseconds = ", ".join(f"{1e3 * s:.3g}" for s in seconds["gradient"])
    return row(
        f"gradient of a {name} against {symbol[0]} = {', '.join(f'{v:,}' for v in values)}"
        f"{'' if cached else ', 1,024 values a column'}: exponent",
        f"{milliseconds} ms",
        f"{expected:g}",
        ratio=max(0.0, exponents["gradient"]),
        unit="exponent",
        bar=expected + 0.25 if cached else None,
        note=f"{note}response {exponents['response']:.2f}; tables and chain rule "
        f"{exponents['tables']:.2f} ({1e3 * seconds['tables'][-1]:.3g} ms at the last)",
        values=list(values),
        seconds={kind: s.tolist() for kind, s in seconds.items()},
    )


def _subproblems(threads, quick):
    """One core's sub-problem by the textbook, not quantized and quantized, at equal P."""
    n_rows, n_columns = (2_000 if quick else 20_000), 8
    lines = []
    for n_basis, rank in ((16, 4), (64, 4)):
        n_levels = int(np.log2(n_basis))
        whole = n_basis * rank  # P/D of the model that is not quantized
        quantized_rank = whole // (2 * n_levels)
        seconds = best_of(
            {
                "whole": lambda w=whole: _solve(n_rows, w),
                "quantized": lambda r=quantized_rank: _solve(n_rows, 2 * r),
            },
            3,
            threads,
        )
        lines.append(
            row(
                f"a core's sub-problem at P={n_columns * whole:,}, M={n_basis}, textbook: "
                "not quantized in quantized ones",
                f"{seconds['quantized']:.4f} s",
                f"{seconds['whole']:.4f} s",
                ratio=seconds["whole"] / seconds["quantized"],
                note=f"{whole} unknowns against {2 * quantized_rank}; the paper's count of "
                f"operations, P²/D² against P²/(D·log M)², says {n_levels**2}",
            )
        )
    return lines


def _solve(n_rows, n_unknowns):
    rng = np.random.default_rng(0)
    design = rng.standard_normal((n_rows, n_unknowns)) + 0j
    target = rng.standard_normal(n_rows)
    begin = perf_counter()
    gram = design.conj().T @ design
    np.linalg.solve(gram, design.conj().T @ target)
    return perf_counter() - begin


def _plot(measured, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.6), layout="constrained")
    axes = figure.subplots(2, 4, sharey="row")
    colors = {"response": "#0072B2", "gradient": "#D55E00", "tables": "0.55"}
    labels = {"response": "response", "gradient": "gradient", "tables": "tables and chain rule"}
    for (name, symbol), (values, seconds) in measured.items():
        ax = axes[list(NETWORKS).index(name), ["M", "N", "D", "R"].index(symbol[0])]
        cached = symbol != "D, large tables"
        for kind, s in seconds.items():
            if cached or kind != "tables":
                style = "o-" if cached else "o:"
                ax.loglog(values, 1e3 * s, style, ms=4, color=colors[kind], label=labels[kind])
        if not cached:
            ax.set_title("64 values a column, dotted: 1,024", fontsize=8)
        ax.set_xticks(values, [f"{v:,}" for v in values], fontsize=7)
        ax.minorticks_off()
        ax.set_xlabel({"M": "basis functions M", "N": "rows N", "D": "columns D",
                       "R": "rank R"}[symbol[0]])  # fmt: skip
        ax.grid(True, alpha=0.3)
        if symbol == "M":
            ax.set_ylabel(f"{name}, R={FIXED[name]}\nmilliseconds")
    axes[0, 0].legend(fontsize=8)
    figure.suptitle("Cost of a pass over 200,000 × 8 values, M=64, one changed at a time")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
