"""Fits that get a Ctrl-C at a random moment; see `tests.faults.workshop` for their processes.

A fit whose solver has begun must come out as a model that can be saved, loaded and predicted
with; one whose solver has not may raise KeyboardInterrupt.  Anything else is a loss, told with its
traceback.
"""

import contextlib
import io
import os
import signal
import tempfile
import threading
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pandas

import qtkm
from qtkm import QTKMRegressor, QTKMRegressorCV, cli, solvers
from qtkm.estimators.memory import Need
from qtkm.limits import LIMITS

RNG = np.random.default_rng(0)
N_ROWS, N_COLUMNS, COMMAND_ROWS = 600, 4, 200
X = RNG.integers(0, 200, size=(N_ROWS, N_COLUMNS)).astype(float)
y = np.sin(X[:, 0] / 20) * X[:, 1] + RNG.normal(size=N_ROWS)
SETTINGS = {"penalty": "ridge",
            "rank": 4, "n_basis": 8, "alpha": 1e-6, "tol": 0, "random_state": 0, "n_jobs": 2,
            "early_stopping": False, "max_iter": 12}  # fmt: skip
#: a second Ctrl-C soon after the first counts as the same
TWICE = 0.3


class Begun:
    """Whether a solver has begun, and whether one has come back."""

    def __init__(self):
        self.solve = solvers.solve
        self.reset()

    def reset(self):
        self.is_begun = self.is_ended = False

    def __call__(self, *arguments, **options):
        self.is_begun = True
        result = self.solve(*arguments, **options)
        self.is_ended = True
        return result


begun = solvers.solve = Begun()


class Loss(Exception):
    """A model that should be there, and is not."""


def need(holds, what):
    if not holds:
        raise Loss(what)


def check(model, folder):
    """Raise a Loss unless a model can be used, and kept."""
    need(np.isfinite(model.predict(X[:5])).all(), "predictions are not finite")
    model.save(folder / "model.qtkm")
    same = qtkm.load(folder / "model.qtkm").predict(X[:5]) == model.predict(X[:5])
    need(same.all(), "a saved model has other bits")


class Memory:
    """A fit to arrays."""

    def __init__(self, folder, settings=SETTINGS):
        self.folder, self.settings = folder, settings

    def run(self):
        self.model = QTKMRegressor(**self.settings)
        self.fit()
        return self.model.status_

    def fit(self):
        self.model.fit(X, y)

    def after(self, outcome):
        """Look at what there is after a fit has come back, or not."""
        if begun.is_begun:
            check(self.model, self.folder)


class Disk(Memory):
    """A fit to a file, whose rows are read block by block and kept on disk."""

    def __init__(self, folder):
        super().__init__(folder)
        LIMITS.merge_rows, LIMITS.read_rows = 100, 200
        Need.place = lambda self, limit: (False, 200)
        self.file = folder / "rows.parquet"
        frame = pandas.DataFrame(X, columns=list("abcdef")[:N_COLUMNS]).assign(y=y)
        frame.to_parquet(self.file)

    def fit(self):
        self.model.fit_dataset(self.file, target="y")

    def after(self, outcome):
        if begun.is_begun:
            frame = pandas.DataFrame(X[:5], columns=self.model.feature_names_in_)
            need(np.isfinite(self.model.predict(frame)).all(), "predictions are not finite")


class Cluster(Memory):
    """A fit whose rows are with workers of Dask."""

    def __init__(self, folder):
        from distributed import Client, Scheduler, SpecCluster, Worker

        super().__init__(folder, SETTINGS | {"engine": "dask", "max_iter": 4})
        LIMITS.merge_rows, LIMITS.shard_rows = 100, 200
        here = {"protocol": "inproc://", "dashboard_address": ":0"}
        self.cluster = SpecCluster(
            scheduler={"cls": Scheduler, "options": here},
            workers={i: {"cls": Worker, "options": {"nthreads": 1, **here}} for i in range(2)},
            silence_logs=50,
        )
        self.client = Client(self.cluster)


class Search:
    """A search, its candidates side by side."""

    def __init__(self, folder):
        self.folder = folder

    def run(self):
        self.search = QTKMRegressorCV(
            QTKMRegressor(**SETTINGS | {"max_iter": 6}), ranks=[2, 4], n_basis=[8], periods=[2.0],
            alphas=[1e-6, 1e-3], cv=2, n_jobs=2, random_state=0,
        )  # fmt: skip
        self.search.fit(X, y)
        return "returned"

    def after(self, outcome):
        if outcome == "returned":
            check(self.search.best_estimator_, self.folder)
        elif hasattr(self.search, "best_params_"):
            need(not begun.is_begun or begun.is_ended, "the last fit was lost")


class Command:
    """A command with a table and a file for the model."""

    def __init__(self, folder, *words):
        self.folder, self.out = folder, folder / "out.qtkm"
        frame = pandas.DataFrame(X, columns=list("abcdef")[:N_COLUMNS]).assign(y=y)
        frame[:COMMAND_ROWS].to_parquet(folder / "rows.parquet")
        self.words = [*words, str(folder / "rows.parquet"), "--target", "y", "--out",
                      str(self.out), "--n-jobs", "2"]  # fmt: skip

    def run(self):
        self.out.unlink(missing_ok=True)
        self.told = io.StringIO()
        with contextlib.redirect_stderr(self.told), contextlib.redirect_stdout(io.StringIO()):
            try:
                cli.main(self.words)
            except SystemExit as error:
                need(error.code in (0, 130), f"exit code {error.code}: {self.told.getvalue()}")
                return f"exit {error.code}"

    def after(self, outcome):
        if begun.is_begun and self.words[0] == "fit":
            need(self.out.exists(), f"no file: {self.told.getvalue()}")
        if self.out.exists():
            need(np.isfinite(qtkm.load(self.out).alpha_), "the file is of no use")
        if "saved" in self.told.getvalue() or "model is" in self.told.getvalue():
            need(self.out.exists(), f"no file: {self.told.getvalue()}")


KINDS = {
    "memory": Memory,
    "disk": Disk,
    "dask": Cluster,
    "search": Search,
    "fit command": lambda folder: Command(
        folder, "fit", "--rank", "3", "--n-basis", "8", "--max-iter", "8"
    ),
    "tune command": lambda folder: Command(
        folder, "tune", "--ranks", "2,4", "--n-basis", "8", "--periods", "2", "--alphas", "1e-6",
        "--max-iter", "6", "--cv", "2",
    ),
}  # fmt: skip


def strike(job, seconds, twice):
    """What comes out of a job with a Ctrl-C after so many seconds, and perhaps a second one."""

    def press():
        time.sleep(seconds)
        os.kill(os.getpid(), signal.SIGINT)
        if twice:
            time.sleep(0.002)
            os.kill(os.getpid(), signal.SIGINT)

    begun.reset()
    hand, outcome, loss = threading.Thread(target=press), "ended before", None
    try:
        hand.start()
        outcome = job.run()
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        loss = error
    for _ in range(3):  # for what is late
        with contextlib.suppress(KeyboardInterrupt):
            hand.join()
            time.sleep(0.002)
    if loss is not None:
        raise loss
    need(signal.getsignal(signal.SIGINT) is signal.default_int_handler, "the handler is left")
    job.after(outcome)
    return outcome


def main(kind, count, seed):
    """How often each thing came out, and what was lost."""
    rng = np.random.default_rng(seed)
    found, losses = Counter(), []
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        job = KINDS[kind](Path(folder))
        job.run()  # compiles
        start = time.perf_counter()
        job.run()
        seconds = time.perf_counter() - start
        for _ in range(count):
            try:
                found[strike(job, rng.uniform(0, seconds), rng.uniform() < TWICE)] += 1
            except BaseException:
                losses.append(traceback.format_exc(limit=-6))
    return {"outcomes": found, "losses": losses, "seconds": seconds}
