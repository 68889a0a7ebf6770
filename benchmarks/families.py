"""Trains, losses and gradients on 182,568 flights, M = 64, against NumPy and each other."""

from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import yardstick
from benchmarks.measure import best_of
from benchmarks.objectives import epoch, make, seconds_of, start
from benchmarks.problems import flights
from benchmarks.report import row
from qtkm.losses import Logistic, Softmax, Squared
from qtkm.networks import CPD, TensorRing, TensorTrain, flatten

SETTING = {"n_basis": 64, "period": 10, "alpha": 1e-7}
TRAIN_RANK, RANK = 6, 20


def run(threads, quick=False):
    """All comparisons, each with its two sides taking turns."""
    problem = flights(20_000 if quick else None)
    rounds = 2 if quick else 5
    lines = _train(problem, threads)
    lines += _losses(problem, threads, rounds)
    lines += _gradient(problem, threads, rounds)
    return lines


def _train(problem, threads):
    X, y = problem.X, problem.y
    objective = make(X, y, TensorTrain(TRAIN_RANK), Squared(), threads=threads, **SETTING)
    ring = make(X, y, TensorRing(4), Squared(), threads=threads, **SETTING)
    cores = start(objective)
    sites = yardstick.factors(X, SETTING["n_basis"], SETTING["period"])
    reached = {}

    def ours():
        iterate = objective.at(cores)
        seconds = [epoch(objective, iterate)]
        reached["qtkm"] = objective.value(iterate)
        return [*seconds, epoch(objective, iterate), epoch(objective, iterate)]

    def numpy(blas_threads):
        with threadpool_limits(blas_threads):
            begin = perf_counter()
            _, reached["numpy"] = yardstick.train_epoch(sites, y, flatten(cores), SETTING["alpha"])
            return perf_counter() - begin

    def our_ring():
        iterate = ring.at(start(ring))
        return [epoch(ring, iterate) for _ in range(2)]

    ours()  # compile
    our_ring()
    tasks = {"qtkm": ours, "ring": our_ring}
    tasks |= {f"numpy, {n}": lambda n=n: numpy(n) for n in sorted({1, threads})}
    best = best_of(tasks, {name: 1 if "numpy" in name else 3 for name in tasks}, 1)
    best["numpy"] = min(seconds for name, seconds in best.items() if "numpy" in name)
    deviation = abs(reached["qtkm"] / reached["numpy"] - 1)
    return [
        row(
            f"one epoch of a train, NYC flights {len(y):,} × {X.shape[1]}, M=64, R={TRAIN_RANK}",
            f"{best['qtkm']:.3f} s",
            f"{best['numpy']:.2f} s",
            ratio=best["numpy"] / best["qtkm"],
            bar=10,
            note="yardstick: textbook ALS of a train in plain NumPy, same start, the better of 1 "
            f"and {threads} BLAS threads; objectives after "
            f"the epoch differ by {deviation:.0e} of their value",
            seconds=best,
        ),
        row(f"the same of a ring, R={4}", f"{best['ring']:.3f} s"),
    ]


def _losses(problem, threads, rounds):
    X, sign = problem.X, np.where(problem.y > np.median(problem.y), 1.0, -1.0)
    both = np.column_stack([-sign, sign])
    objectives = {
        "squared": make(X, problem.y, CPD(RANK), Squared(), threads=threads, **SETTING),
        "logistic": make(X, sign, CPD(RANK), Logistic("complex"), threads=threads, **SETTING),
        "softmax": make(X, both, CPD(RANK), Softmax("complex"), threads=threads, **SETTING),
    }
    iterates = {name: o.at(start(o)) for name, o in objectives.items()}
    for name, objective in objectives.items():
        epoch(objective, iterates[name])  # compile, and leave the very first epoch behind
    tasks = {
        name: lambda o=o, name=name: epoch(o, iterates[name]) for name, o in objectives.items()
    }
    best = best_of(tasks, rounds, 1)
    return [
        row(
            f"epoch of logistic loss, CPD R={RANK}, in epochs of squared loss",
            f"{best['logistic']:.3f} s",
            f"{best['squared']:.3f} s",
            ratio=best["logistic"] / best["squared"],
            unit="times",
            bar=3,
            note="delayed more than the median, or not; the loss as the classifier uses it; "
            "yardstick: squared loss, same columns",
        ),
        row(
            "epoch of softmax on two classes, in epochs of logistic loss",
            f"{best['softmax']:.3f} s",
            f"{best['logistic']:.3f} s",
            ratio=best["softmax"] / best["logistic"],
            unit="times",
            bar=2,
            note="one more core, and one more column to update: the outputs",
        ),
    ]


def _gradient(problem, threads, rounds):
    lines = []
    for network, bar in ((CPD(RANK), 2), (TensorTrain(TRAIN_RANK), None)):
        objective = make(problem.X, problem.y, network, Squared(), threads=threads, **SETTING)
        cores = start(objective)
        iterate, fixed = objective.at(cores), objective.at(cores)
        epoch(objective, iterate)
        objective.gradient(fixed)
        tasks = {
            "epoch": lambda o=objective, i=iterate: epoch(o, i),
            "gradient": lambda o=objective, i=fixed: seconds_of(lambda: o.gradient(i)),
        }
        best = best_of(tasks, 2 * rounds, 1)
        column = best["epoch"] / len(objective.columns)
        lines.append(
            row(
                f"full gradient, {network}, in column passes",
                f"{best['gradient']:.4f} s",
                f"{column:.4f} s",
                ratio=best["gradient"] / column,
                unit="times",
                bar=bar,
                note="all cores of all columns; yardstick: an epoch over its number of columns",
            )
        )
    return lines
