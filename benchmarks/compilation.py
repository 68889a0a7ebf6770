"""What the first call costs: compilation with an empty cache, and loading from a full one."""

import json
import os
import subprocess
import sys
import tempfile
from time import perf_counter

from benchmarks.report import row


def measure():
    """Seconds to import, of a first and of a second small fit and prediction."""
    start = perf_counter()
    from benchmarks.measure import fit_epochs, regressor
    from benchmarks.problems import continuous, random_cores

    regressor(random_cores(8, 16, 5), n_basis=16, period=2, alpha=1e-6, max_iter=2, threads=2)
    seconds = {"import": perf_counter() - start}
    problem = continuous(500)
    cores = random_cores(8, 16, 5)
    for call in ("first", "second"):
        model = regressor(cores, n_basis=16, period=2, alpha=1e-6, max_iter=2, threads=2)
        start = perf_counter()
        fit_epochs(model, problem.X, problem.y)
        fitted = perf_counter()
        model.predict(problem.X_test)
        seconds[f"{call} fit"] = fitted - start
        seconds[f"{call} predict"] = perf_counter() - fitted
    return seconds


def run(threads, quick=False):
    """Run the small fit in fresh processes, with an empty and then with a full cache."""
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        cold, warm = (_child(environment) for _ in range(2))
    return [_line("empty", cold), _line("full", warm)]


def _child(environment):
    command = [sys.executable, "-m", "benchmarks.compilation"]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return json.loads(done.stdout.splitlines()[-1])


def _line(state, seconds):
    first = seconds["first fit"] + seconds["first predict"]
    again = seconds["second fit"] + seconds["second predict"]
    return row(
        f"first fit and predict of a process, {state} compilation cache",
        f"{first:.2f} s",
        f"second call {again:.3f} s",
        note=f"500 × 8 rows; importing takes a further {seconds['import']:.2f} s",
        **{key.replace(" ", "_"): value for key, value in seconds.items()},
    )


if __name__ == "__main__":
    print(json.dumps(measure()))
