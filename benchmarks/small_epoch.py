"""One epoch on 1,000 rows of continuous inputs, M = 16, R = 10, against plain NumPy."""

import numpy as np

from benchmarks import yardstick
from benchmarks.measure import best_of, epoch_seconds, fit_epochs, regressor
from benchmarks.problems import continuous, random_cores
from benchmarks.report import row

N_ROWS, N_BASIS, PERIOD, RANK, ALPHA = 1000, 16, 2, 10, 1e-6


def run(threads, quick=False):
    """Time both sides from the same start and compare their first epoch."""
    problem = continuous(N_ROWS)
    n_columns = problem.X.shape[1]
    cores = random_cores(n_columns, N_BASIS, RANK)
    start = yardstick.flatten(cores)
    sites = yardstick.factors(problem.X, N_BASIS, PERIOD)
    losses = {}

    def numpy_epochs():
        trace = yardstick.als(sites, problem.y, start, ALPHA, 10)
        losses["numpy"] = trace.objective_updates[: len(start)]
        return trace.seconds

    def qtkm_epochs():
        model = regressor(
            cores, n_basis=N_BASIS, period=PERIOD, alpha=ALPHA, max_iter=10, threads=threads
        )
        fit_epochs(model, problem.X, problem.y)
        losses["qtkm"] = np.asarray(model.history_["objective_updates"])[: len(start)]
        return epoch_seconds(model)

    qtkm_epochs()  # compile
    best = best_of({"qtkm": qtkm_epochs, "numpy": numpy_epochs}, 3 if quick else 20, threads)
    deviation = float(np.max(np.abs(losses["qtkm"] / losses["numpy"] - 1)))
    return [
        row(
            f"one epoch, continuous {N_ROWS:,} × {n_columns}, M={N_BASIS}, R={RANK}",
            f"{1e3 * best['qtkm']:.2f} ms",
            f"{1e3 * best['numpy']:.2f} ms",
            ratio=best["numpy"] / best["qtkm"],
            bar=3,
            stretch=8,
            note="no value is repeated; yardstick: the paper's ALS in plain NumPy",
            seconds=best,
        ),
        row(
            "losses of that epoch, largest relative difference",
            "",
            ratio=deviation,
            unit="relative",
            bar=1e-6,
        ),
    ]
