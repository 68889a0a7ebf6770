"""One epoch on 182,568 flights, M = 64, R = 20, double precision, against plain NumPy."""

import numpy as np

from benchmarks import yardstick
from benchmarks.measure import best_of, epoch_seconds, fit_epochs, regressor
from benchmarks.problems import flights, random_cores
from benchmarks.report import row

N_BASIS, PERIOD, RANK, ALPHA = 64, 10, 20, 1e-10
CACHE_BLOCK = 1024


def run(threads, quick=False):
    """Time both sides from the same start and compare their first epoch."""
    problem = flights(20_000 if quick else None)
    n_rows, n_columns = problem.X.shape
    cores = random_cores(n_columns, N_BASIS, RANK)
    start = yardstick.flatten(cores)
    sites = yardstick.factors(problem.X, N_BASIS, PERIOD)
    losses = {}

    def numpy_epoch(block=None):
        trace = yardstick.als(sites, problem.y, start, ALPHA, 1, block)
        losses["numpy"] = trace.objective_updates
        return trace.seconds

    def qtkm_epochs():
        model = regressor(
            cores, n_basis=N_BASIS, period=PERIOD, alpha=ALPHA, max_iter=5, threads=threads
        )
        fit_epochs(model, problem.X, problem.y)
        losses["qtkm"] = np.asarray(model.history_["objective_updates"])[: len(start)]
        return epoch_seconds(model)

    tasks = {
        "qtkm": qtkm_epochs,
        "numpy": numpy_epoch,
        "blocked": lambda: numpy_epoch(CACHE_BLOCK),
    }
    qtkm_epochs()  # compile
    best = best_of(tasks, {"qtkm": 4, "numpy": 3, "blocked": 2}, threads)
    deviation = float(np.max(np.abs(losses["qtkm"] / losses["numpy"] - 1)))
    work = f"one epoch, NYC flights {n_rows:,} × {n_columns}, M={N_BASIS}, R={RANK}"
    return [
        row(
            work,
            f"{best['qtkm']:.3f} s",
            f"{best['numpy']:.2f} s",
            ratio=best["numpy"] / best["qtkm"],
            bar=50,
            stretch=100,
            note="yardstick: the paper's ALS in plain NumPy, all rows at once",
            seconds=best,
        ),
        row(
            f"the same, NumPy in blocks of {CACHE_BLOCK} rows",
            f"{best['qtkm']:.3f} s",
            f"{best['blocked']:.2f} s",
            ratio=best["blocked"] / best["qtkm"],
            note="for information: blocks that stay in cache help NumPy",
        ),
        row(
            "losses of the first epoch, largest relative difference",
            "",
            ratio=deviation,
            unit="relative",
            bar=1e-6,
            note=f"after each of the {len(start)} core updates, from the same start",
            losses={name: values.tolist() for name, values in losses.items()},
        ),
    ]
