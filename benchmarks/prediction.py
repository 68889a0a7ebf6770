"""Predict 1,000,000 rows of continuous inputs, M = 64, R = 20, against plain NumPy."""

from time import perf_counter

import numpy as np

from benchmarks import yardstick
from benchmarks.measure import best_of, fit_epochs, regressor
from benchmarks.problems import continuous, random_cores
from benchmarks.report import row

N_BASIS, PERIOD, RANK, ALPHA = 64, 10, 20, 1e-7


def run(threads, quick=False):
    """Time both sides with the same cores and compare their predictions."""
    n_rows = 100_000 if quick else 1_000_000
    problem = continuous(2000)
    n_columns = problem.X.shape[1]
    start = random_cores(n_columns, N_BASIS, RANK)
    model = regressor(
        start, n_basis=N_BASIS, period=PERIOD, alpha=ALPHA, max_iter=2, threads=threads
    )
    fit_epochs(model, problem.X, problem.y)
    cores = yardstick.flatten(model.cores_)
    X = np.random.default_rng(1).random((n_rows, n_columns))
    predicted = {}

    def timed(name, function, *arguments):
        def task():
            start = perf_counter()
            predicted[name] = function(*arguments)
            return perf_counter() - start

        return task

    tasks = {
        "qtkm": timed("qtkm", model.predict, X),
        "numpy": timed("numpy", yardstick.predict, X, cores, N_BASIS, PERIOD),
    }
    tasks["qtkm"]()  # compile
    best = best_of(tasks, 3 if quick else 5, threads)
    scale = np.std(predicted["numpy"])
    deviation = float(np.max(np.abs(predicted["qtkm"] - predicted["numpy"])) / scale)
    return [
        row(
            f"predict continuous {n_rows:,} × {n_columns}, M={N_BASIS}, R={RANK}",
            f"{best['qtkm']:.3f} s",
            f"{best['numpy']:.2f} s",
            ratio=best["numpy"] / best["qtkm"],
            bar=10,
            stretch=30,
            note="yardstick: plain NumPy in blocks of rows that stay in cache",
            seconds=best,
        ),
        row(
            "predictions, largest difference over their spread",
            "",
            ratio=deviation,
            unit="relative",
            bar=1e-6,
        ),
    ]
