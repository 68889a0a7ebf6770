"""Time per epoch against the number of rows, from 10⁴ to 4·10⁶, as a table and a plot."""

import numpy as np

from benchmarks.measure import best_of, epoch_seconds, fit_epochs, regressor
from benchmarks.problems import flights, random_cores, repeat_rows
from benchmarks.report import row

SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000, 2_000_000, 4_000_000)
N_BASIS, PERIOD, RANK, ALPHA = 64, 10, 20, 1e-7
PLOT = "scaling.png"


def run(threads, quick=False, output=None):
    """Measure every size; with ``output``, a folder, plot them there too."""
    sizes = SIZES[:3] if quick else SIZES
    problem = flights()
    cores = random_cores(problem.X.shape[1], N_BASIS, RANK)

    def task(n_rows):
        rows = repeat_rows(problem, n_rows)
        model = regressor(
            cores, n_basis=N_BASIS, period=PERIOD, alpha=ALPHA, max_iter=3, threads=threads
        )
        return epoch_seconds(fit_epochs(model, rows.X, rows.y))

    task(1000)  # compile
    tasks = {n_rows: lambda n_rows=n_rows: task(n_rows) for n_rows in sizes}
    seconds = np.array(list(best_of(tasks, 1 if quick else 3, threads).values()))
    if output is not None:
        _plot(sizes, seconds, threads, output / PLOT)
    return [_summary(sizes, seconds), *map(_line, sizes, seconds)]


def _summary(sizes, seconds):
    exponents = np.diff(np.log(seconds)) / np.diff(np.log(sizes))
    whole = np.log(seconds[-1] / seconds[0]) / np.log(sizes[-1] / sizes[0])
    return row(
        f"time per epoch against N, flights, M={N_BASIS}, R={RANK}: growth exponent",
        f"{sizes[0]:,} to {sizes[-1]:,} rows",
        "linear",
        ratio=float(whole),
        unit="exponent",
        bar=1.0,
        note="between neighbouring sizes " + ", ".join(f"{e:.2f}" for e in exponents),
        sizes=list(sizes),
        seconds=seconds.tolist(),
    )


def _line(n_rows, seconds):
    return row(
        f"  epoch of {n_rows:,} rows", f"{seconds:.4g} s = {1e9 * seconds / n_rows:.0f} ns/row"
    )


def _plot(sizes, seconds, threads, path):
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4.2), layout="constrained")
    axes = figure.add_subplot()
    guide = seconds[-1] * np.array(sizes) / sizes[-1]
    axes.loglog(sizes, guide, "--", color="0.6", label="proportional to N")
    axes.loglog(sizes, seconds, "o-", label=f"qtkm, {threads} threads")
    axes.set(
        xlabel="rows N",
        ylabel="seconds per epoch",
        title=f"NYC flights repeated, D=8, M={N_BASIS}, R={RANK}, double precision",
    )
    axes.grid(True, which="both", alpha=0.3)
    axes.legend()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
