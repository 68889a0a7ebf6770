"""This version against 0.1.0: the same work from the same start, both in one run.

The old version is taken from the repository's history and runs in processes of its own, which
take turns with those of this version.  Objectives must agree; times are processor seconds, the
best of all rounds, so that other work on the machine plays a small part.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.problems import continuous, flights
from benchmarks.report import row

OLD = "485f31f"
ROOT = Path(__file__).parent.parent
#: parameters by which this version is the model of the old one
PAPER = {"penalty": "ridge", "main_effects": False, "scaling": "range"}
SMALL = {"n_basis": 16, "period": 2, "rank": 10, "alpha": 1e-5, "max_iter": 8}
#: name, problem, parameters, bar and stretch of one epoch
EPOCHS = [
    ("36,000 × 8 continuous rows, M=16, R=40", "continuous 36000",
     SMALL | {"rank": 40, "max_bins": 1024, "max_iter": 4}, 3, 5),
    ("flights, 182,568 × 8, M=64, R=20", "flights",
     {"n_basis": 64, "period": 10, "rank": 20, "alpha": 1e-7, "max_iter": 4}, 1.4, 2),
    ("1,000 × 8 continuous rows, M=16, R=10", "continuous 1000", SMALL, 1.3, 2),
    ("train of rank 6 on flights", "flights",
     {"n_basis": 64, "period": 10, "rank": 6, "alpha": 1e-7, "max_iter": 3, "network": "train"},
     1.3, 2),
    ('1,000 × 8, residual="real"', "continuous 1000", SMALL | {"residual": "real"}, 3, 6),
    ("1,000 × 8, α = 0", "continuous 1000", SMALL | {"alpha": 0.0}, 3, 6),
    ("1,000 × 8, power basis", "continuous 1000", SMALL | {"basis": "power"}, 3, 6),
    ("1,000 × 8, three outputs", "continuous 1000 outputs", SMALL, 3, 6),
]  # fmt: skip
#: run by either version: fits, and reports what it took
WORKER = """
import json, os, sys, time, warnings, inspect
import numpy as np
warnings.simplefilter("ignore")
task = json.loads(sys.argv[1])
begin = time.process_time()
from qtkm import QTKMRegressor
imported = time.process_time() - begin
data = np.load(task["data"])
known = inspect.signature(QTKMRegressor.__init__).parameters
given = {k: v for k, v in task["parameters"].items() if k in known}
def fit(epochs):
    model = QTKMRegressor(**(given | {"max_iter": epochs}))
    start = time.process_time()
    model.fit(data["X"], data["y"])
    return model, time.process_time() - start
begin = time.perf_counter()
first, _ = fit(1)
if task["predict"]:
    first.predict(data["X"])
cold = time.perf_counter() - begin
begin = time.perf_counter()
fit(1)[0].predict(data["X"])
warm = time.perf_counter() - begin
n = given["max_iter"]
single = min(fit(1)[1] for _ in range(2)) if n > 1 else 0.0
model, several = fit(n)
again = fit(n)[1] if n > 1 else several
answer = {"import": imported, "cold": cold, "warm": warm, "epoch": 0.0, "predict": 0.0}
if n > 1:
    answer["epoch"] = (min(several, again) - single) / (n - 1)
    answer["objective"] = float(model.history_["objective"][-1])
if task["rows"]:
    rows = np.random.default_rng(1).random((task["rows"], data["X"].shape[1]))
    seconds = []
    for _ in range(3):
        start = time.process_time()
        predicted = model.predict(rows)
        seconds.append(time.process_time() - start)
    answer["predict"] = min(seconds)
    answer["mean"] = float(np.abs(predicted).mean())
print(json.dumps(answer))
"""


def run(threads, quick=False):
    """Run every task with both versions, taking turns."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        versions = {"old": _old_source(home), "new": ROOT / "src"}
        lines = [
            _epoch(home, versions, threads, quick, *entry)
            for entry in (EPOCHS[2:3] if quick else EPOCHS)
        ]
        lines.append(_prediction(home, versions, threads, quick))
        if not quick:
            lines += [_first_fit(home, versions, threads, n) for n in (500, 20_000)]
            lines.append(_import(home))
    return lines


def _old_source(home):
    """Source of the old version, from the repository's history."""
    archive = subprocess.run(
        ["git", "archive", OLD, "src"], cwd=ROOT, check=True, stdout=subprocess.PIPE
    )
    subprocess.run(["tar", "-x", "-C", home], input=archive.stdout, check=True)
    return home / "src"


def _save(home, name):
    kind, *words = name.split()
    path = home / f"{name.replace(' ', '-')}.npz"
    if not path.exists():
        problem = flights() if kind == "flights" else continuous(int(words[0]))
        y = problem.y
        if "outputs" in words:
            y = np.column_stack([y, np.cos(5 * problem.X[:, 0]), problem.X[:, 1] ** 2])
        np.savez(path, X=problem.X, y=y)
    return path


def _ask(home, source, data, parameters, threads, rows=0, cache=None, predict=False):
    settings = {
        "quantization": 2, "tol": 0, "max_bins": None, "bounds": (0, 1), "normalize_y": False,
        "extrapolation": "continue", "early_stopping": False, "random_state": 0, "n_jobs": threads,
    }  # fmt: skip
    task = {
        "data": str(data), "parameters": PAPER | settings | parameters, "rows": rows,
        "predict": predict,
    }  # fmt: skip
    environment = os.environ | {
        "PYTHONPATH": str(source), "OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": "1",
        "NUMBA_CACHE_DIR": str(cache or home / f"cache-{source.parent.name}"),
    }  # fmt: skip
    command = [sys.executable, "-c", WORKER, json.dumps(task)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def _both(home, versions, data, parameters, threads, rounds, rows=0):
    answers = {name: [] for name in versions}
    for _ in range(rounds):
        for name, source in versions.items():
            answers[name].append(_ask(home, source, data, parameters, threads, rows))
    return answers


def _epoch(home, versions, threads, quick, name, problem, parameters, bar, stretch):
    data = _save(home, problem)
    answers = _both(home, versions, data, parameters, threads, 1 if quick else 3)
    old, new = (min(a["epoch"] for a in answers[v]) for v in versions)
    reached = [answers[v][0]["objective"] for v in versions]
    return row(
        f"one epoch, {name}", f"{new * 1e3:.2f} ms", f"{old * 1e3:.2f} ms", ratio=old / new,
        bar=bar, stretch=stretch,
        note=f"objectives differ by {abs(reached[1] / reached[0] - 1):.0e}; processor time",
        objectives=reached,
    )  # fmt: skip


def _prediction(home, versions, threads, quick):
    rows = 100_000 if quick else 1_000_000
    parameters = {"n_basis": 64, "period": 10, "rank": 20, "alpha": 1e-7, "max_iter": 2}
    answers = _both(home, versions, _save(home, "continuous 2000"), parameters, threads, 1, rows)
    old, new = (min(a["predict"] for a in answers[v]) for v in versions)
    means = [answers[v][0]["mean"] for v in versions]
    return row(
        f"predict {rows:,} × 8 continuous rows, M=64, R=20", f"{new:.3f} s", f"{old:.3f} s",
        ratio=old / new, bar=2, stretch=4,
        note=f"mean predictions differ by {abs(means[1] / means[0] - 1):.0e}",
    )  # fmt: skip


def _first_fit(home, versions, threads, n_rows):
    """What a first fit and prediction take beyond a second, with an empty cache."""
    parameters = SMALL | {"max_iter": 1, "max_bins": 1024}
    data, extra = _save(home, f"continuous {n_rows}"), {}
    for name, source in versions.items():
        with tempfile.TemporaryDirectory() as cache:
            answer = _ask(home, source, data, parameters, threads, cache=cache, predict=True)
        extra[name] = max(answer["cold"] - answer["warm"], 1e-3)
    return row(
        f"first fit and predict with an empty cache, {n_rows:,} × 8, beyond a second",
        f"{extra['new']:.2f} s", f"{extra['old']:.2f} s", ratio=extra["old"] / extra["new"], bar=4,
    )  # fmt: skip


def _import(home):
    def seconds(statement):
        code = f"import time; t = time.process_time(); {statement}; print(time.process_time() - t)"
        done = [
            subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE,
                           text=True, env=os.environ | {"PYTHONPATH": str(ROOT / "src")})
            for _ in range(5)
        ]  # fmt: skip
        return min(float(answer.stdout) for answer in done)

    ours = seconds("from qtkm import QTKMRegressor")
    theirs = seconds("import sklearn.linear_model, scipy.linalg")
    return row(
        "import QTKMRegressor, in imports of sklearn.linear_model and scipy.linalg",
        f"{ours:.2f} s", f"{theirs:.2f} s", ratio=ours / theirs, unit="times", bar=1.25,
    )  # fmt: skip
