"""Objective and test error against seconds, for every solver from the same start.

Three regression sets, a CPD and a tensor train each.  A solver runs until its seconds are
over; what the measuring itself takes is not counted.
"""

import csv
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.objectives import make, start
from benchmarks.problems import data_home
from benchmarks.report import row
from benchmarks.study import sets
from qtkm import solvers
from qtkm.losses import Squared
from qtkm.networks import CPD, TensorTrain

PLOT, TABLE = "solvers.png", "solvers.csv"
#: set: seconds a solver, basis functions, period, penalty, ranks of CPD and train
PROBLEMS = {
    "airfoil": (5, 32, 4, 1e-3, 10, 4),
    "protein": (15, 64, 8, 3e-5, 20, 5),
    "flights_nyc": (25, 64, 8, 5e-6, 20, 6),
}
MAX_BINS = 1024
SOLVERS = {
    "cpd": {
        "als": solvers.ALS(),
        "als, 3 inner sweeps": solvers.ALS(inner_sweeps=3),
        "adam": solvers.Adam(),
        "lbfgs": solvers.LBFGS(),
        "gauss_newton": solvers.GaussNewton(),
    },
    "train": {
        "als": solvers.ALS(),
        "dmrg": solvers.DMRG(),
        "riemannian": solvers.Riemannian(),
        "adam": solvers.Adam(),
        "lbfgs": solvers.LBFGS(),
        "gauss_newton": solvers.GaussNewton(),
    },
}


class Course:
    """Seconds, objective and test error after every epoch; a callback of the loop."""

    def __init__(self, budget, test_error):
        self.budget, self.test_error = budget, test_error
        self.seconds, self.objective, self.error = [], [], []
        self.begin, self.aside = perf_counter(), 0.0

    def __call__(self, progress):
        if progress.event != "epoch":
            return False
        now = perf_counter()
        self.seconds.append(now - self.begin - self.aside)
        self.objective.append(progress.history.objective[-1])
        self.error.append(self.test_error(progress.cores))
        self.aside += perf_counter() - now
        return self.seconds[-1] > self.budget


def run(threads, quick=False, output=None):
    """Run every solver on every set; with ``output``, a folder, plot and tabulate there."""
    home = data_home()
    if home is None:
        print("set QTKM_DATA_HOME to the folder of the data sets", end=" ")
        return []
    courses = {}
    for name, (budget, n_basis, period, alpha, *ranks) in PROBLEMS.items():
        split = sets.load(name, home, 0)
        if quick:
            budget, split = 0.5, _first(split, 500)
        for kind, network in zip(SOLVERS, (CPD(ranks[0]), TensorTrain(ranks[1])), strict=True):
            objective, test_error = _problem(split, network, n_basis, period, alpha, threads)
            cores = start(objective)
            for solver, made in SOLVERS[kind].items():
                _course(made, objective, cores, 0.0, test_error)  # compile
                course = _course(made, objective, cores, budget, test_error)
                courses[name, kind, solver] = course
                print(f"\n  {name}, {kind}, {solver}: {len(course.seconds)} epochs, objective "
                      f"{course.objective[-1]:.5f}, test {min(course.error):.4f}", end="",
                      flush=True)  # fmt: skip
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        _write(courses, output / TABLE)
        _plot(courses, output / PLOT)
    return [line for name in PROBLEMS for line in _lines(courses, name)]


def _first(split, n_rows):
    return split._replace(X_train=split.X_train[:n_rows], y_train=split.y_train[:n_rows])


def _problem(split, network, n_basis, period, alpha, threads):
    low, high = split.X_train.min(axis=0), split.X_train.max(axis=0)
    width = np.where(high > low, high - low, 1)
    X, X_test = ((np.clip(x, low, high) - low) / width for x in (split.X_train, split.X_test))
    objective = make(
        X, split.y_train, network, Squared(), n_basis=n_basis, period=period, alpha=alpha,
        threads=threads, max_bins=MAX_BINS,
    )  # fmt: skip
    maps = [column.feature_map for column in objective.columns]

    def test_error(cores):
        evaluator = network.evaluator(cores, [None] * len(maps))
        errors = [
            evaluator.responses(maps, list(X_test[i : i + 4096].T))[:, 0].real
            - split.y_test[i : i + 4096]
            for i in range(0, len(X_test), 4096)
        ]
        return float(np.mean(np.concatenate(errors) ** 2))

    return objective, test_error


def _course(solver, objective, cores, budget, test_error):
    course = Course(budget, test_error)
    stopping = solvers.Stopping(max_iter=10_000, tol=0.0)
    with threadpool_limits(1):
        solvers.solve(solver, objective, cores, stopping, callbacks=[course])
    return course


def _seconds_to(course, goal):
    """First second at which the objective is at a goal, or None."""
    values = np.minimum.accumulate(course.objective)
    reached = np.flatnonzero(values <= goal)
    return course.seconds[reached[0]] if len(reached) else None


def _lines(courses, name):
    lines = []
    for kind in SOLVERS:
        own = {s: c for (n, k, s), c in courses.items() if (n, k) == (name, kind)}
        least = min(min(course.objective) for course in own.values())
        als = _seconds_to(own["als"], 1.05 * least)
        for solver, course in own.items():
            seconds = _seconds_to(course, 1.05 * least)
            lines.append(
                row(
                    f"{name}, {kind}, {solver}: to 5 % of the lowest objective",
                    "not reached" if seconds is None else f"{seconds:.2f} s",
                    "" if als is None else f"{als:.2f} s",
                    ratio=None if seconds is None or als is None else als / seconds,
                    note=f"objective {min(course.objective):.5f} after {course.seconds[-1]:.1f} s, "
                    f"test error {min(course.error):.4f} at best, {course.error[-1]:.4f} at the "
                    "end; yardstick: als",
                )
            )
    return lines


def _write(courses, path):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["set", "network", "solver", "epoch", "seconds", "objective", "test_mse"])
        for key, course in courses.items():
            for i, values in enumerate(
                zip(course.seconds, course.objective, course.error, strict=True)
            ):
                writer.writerow([*key, i + 1, *(f"{v:.6g}" for v in values)])


def _plot(courses, path):
    from matplotlib.figure import Figure

    names = list(PROBLEMS)
    colors = {
        "als": "#0072B2", "als, 3 inner sweeps": "#56B4E9", "dmrg": "#CC79A7",
        "riemannian": "#009E73", "adam": "#E69F00", "lbfgs": "#D55E00", "gauss_newton": "0.35",
    }  # fmt: skip
    figure = Figure(figsize=(4 * len(names), 9), layout="constrained")
    axes = figure.subplots(4, len(names), sharex="col")
    for (name, kind, solver), course in courses.items():
        first = 2 * list(SOLVERS).index(kind)
        column = names.index(name)
        for ax, values in zip(
            axes[first : first + 2, column], (course.objective, course.error), strict=True
        ):
            ax.loglog(course.seconds, values, "-", marker=".", ms=3, lw=1.3, color=colors[solver],
                      label=solver)  # fmt: skip
    for r, kind in enumerate(("CPD", "CPD", "train", "train")):
        for c, name in enumerate(names):
            ax = axes[r, c]
            ax.grid(True, which="both", alpha=0.25)
            if c == 0:
                ax.set_ylabel(f"{kind}: " + ("objective" if r % 2 == 0 else "test MSE"))
            if r == 0:
                ax.set_title(name)
            if r == 3:
                ax.set_xlabel("seconds")
    axes[0, 0].legend(fontsize=7)
    axes[2, 0].legend(fontsize=7)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
