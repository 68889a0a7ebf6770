"""A process in which fits are killed, starved and set upon each other, job by job.

    python -m tests.faults.workshop

reads lines of JSON, such as {"job": "kills", "count": 3, "seed": 0}, and answers each with one
line: {"result": …}, or {"error": …}.  Every job has a process of its own, forked from this one, so
that the library is imported and compiled once for all of them.
"""

import json
import os
import resource
import signal
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas
import psutil

import qtkm
from qtkm import ALS, QTKMRegressor
from qtkm.limits import LIMITS
from qtkm.networks import flatten
from tests.faults import interrupting
from tests.faults.interrupting import need

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(300, 3)).round(2)
y = np.sin(5 * X[:, 0]) * X[:, 1] + 0.1 * RNG.normal(size=300)
SETTINGS = {"penalty": "ridge",
            "n_basis": 8, "period": 2, "alpha": 1e-5, "rank": 3, "random_state": 0, "tol": 0,
            "early_stopping": False, "n_jobs": 1, "max_iter": 12}  # fmt: skip
SOLVERS = {
    "als": {},
    "momentum": {"solver": ALS(momentum=True)},
    "dmrg": {"network": "train", "solver": "dmrg"},
    "riemannian": {"network": "train", "solver": "riemannian"},
    "gauss_newton": {"solver": "gauss_newton"},
    "adam": {"solver": "adam"},
    "float32": {"dtype": "float32"},
}
#: bytes that a file may have where the disk is full
FULL = 300
#: bytes that fits may leave behind, all of them together: below one array of rows a fit
GROWTH = 8_000_000


def make(**changes):
    return QTKMRegressor(**{**SETTINGS, **changes})


def same(one, other):
    pairs = zip(flatten(one.cores_), flatten(other.cores_), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


# -- processes --------------------------------------------------------------------------------


def start(work, *arguments):
    """Fork a process that does some work; gives its number and where its answer comes from."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    os.close(reader)
    try:
        text = json.dumps({"result": work(*arguments)})
    except BaseException:
        text = json.dumps({"error": traceback.format_exc(limit=-8)})
    try:
        with os.fdopen(writer, "w") as pipe:
            pipe.write(text)
    finally:
        os._exit(0)


def finish(child, reader):
    """Wait for a process that was started, and take its answer; None if it was killed."""
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


def result_of(answer):
    need(answer is not None, "a process has died")
    need("error" not in answer, answer.get("error"))
    return answer["result"]


@contextmanager
def folder():
    """Make a folder that every user may look into."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


# -- jobs -------------------------------------------------------------------------------------


def interrupts(count, rng):
    """Press Ctrl-C at random moments."""
    found = {}
    for kind in interrupting.KINDS:
        child = start(interrupting.main, kind, count, int(rng.integers(1000)))
        found[kind] = result_of(finish(*child))
    return found


def kills(count, rng):
    """Kill fits at random moments; what goes on from their checkpoints has the same bits."""
    resumed = 0
    for changes in SOLVERS.values():
        make(max_iter=1, **changes).fit(X, y)  # compiled
        begin = time.perf_counter()
        with folder() as place:
            whole = make(checkpoint=place, **changes).fit(X, y)
        seconds = time.perf_counter() - begin
        for _ in range(count):
            with folder() as place:
                child, reader = start(_fit, place, changes)
                time.sleep(rng.uniform(0, seconds))
                os.kill(child, signal.SIGKILL)
                finish(child, reader)
                resumed += any(place.glob("epoch-*.qtkm"))
                rest = make(checkpoint=place, **changes).fit(X, y)
                need(same(rest, whole), f"other bits: {changes}")
                need(rest.history_["objective"] == whole.history_["objective"], "another history")
    return {"kills": count * len(SOLVERS), "resumed": resumed}


def _fit(place, changes):
    make(checkpoint=place, **changes).fit(X, y)


def saves(count, rng):
    """Kill a process that saves one model over another; a whole one is there, whenever."""
    models = [make(max_iter=1, random_state=seed).fit(X, y) for seed in (0, 1)]
    expected = [model.predict(X[:9]) for model in models]
    found = Counter()
    with folder() as place:
        path = place / "model.qtkm"
        models[0].save(path)

        def work():
            for turn in range(10_000):
                models[turn % 2].save(path)

        for _ in range(count):
            child, reader = start(work)
            time.sleep(rng.uniform(0, 0.02))
            os.kill(child, signal.SIGKILL)
            finish(child, reader)
            predicted = qtkm.load(path).predict(X[:9])
            which = [np.array_equal(predicted, other) for other in expected]
            need(any(which), "neither of the two models")
            found[str(which.index(True))] += 1
    return found


def _table(place):
    """A table of enough rows to be kept in shards on disk."""
    LIMITS.merge_rows, LIMITS.read_rows = 50, 100
    interrupting.Need.place = lambda self, limit: (False, 60)
    path = place / "rows.parquet"
    pandas.DataFrame(X, columns=list("abc")).assign(y=y).to_parquet(path)
    return path


def full_disks(count, rng):
    """Write where there is no room: an OSError, the old file as it was, nothing left behind."""
    refused = 0
    with folder() as place:
        table, model = _table(place), make(max_iter=2).fit(X, y)
        named = make(max_iter=2).fit(pandas.DataFrame(X, columns=list("abc")), y)
        for name in ("model.qtkm", "predicted.csv", "predicted.parquet"):
            (place / name).write_text("old")
        works = [
            lambda: model.save(place / "model.qtkm"),
            lambda: named.predict_dataset(table, place / "predicted.csv"),
            lambda: named.predict_dataset(table, place / "predicted.parquet"),
            lambda: make(checkpoint=place / "points").fit(X, y),
            lambda: make(max_iter=2).fit_dataset(table, target="y", cache=place / "cache"),
        ]

        def starve(work):
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (FULL, FULL))
            try:
                work()
            except OSError as error:
                return error.strerror or str(error)
            return None

        for work in works * count:
            told = result_of(finish(*start(starve, work)))
            need(told is not None, "what has no room was written")
            refused += 1
            for name in ("model.qtkm", "predicted.csv", "predicted.parquet"):
                need((place / name).read_text() == "old", f"{name} was touched")
            left = [path.name for path in place.rglob("*")
                    if path.is_file() and "partial" in path.name]  # fmt: skip
            need(not left, f"left behind: {left}")
        # with room again, all of it works in the same folders
        for work in works:
            work()
    return refused


def closed_folders(count, rng):
    """Write where one may not: an error that names the place, before anything is fitted."""
    refused = 0
    with folder() as place:
        model = make(max_iter=2).fit(X, y)
        closed = place / "closed"
        closed.mkdir()
        closed.chmod(0o555)
        works = [
            lambda: model.save(closed / "model.qtkm"),
            lambda: make(checkpoint=closed / "points").fit(X, y),
            lambda: make(checkpoint=closed).fit(X, y),
        ]

        def ask(work):
            if os.geteuid() == 0:
                os.setuid(65534)  # nobody
            try:
                work()
            except OSError as error:
                return str(error)
            return None

        for work in works * count:
            told = result_of(finish(*start(ask, work)))
            need(told is not None and str(closed) in told, f"told: {told}")
            refused += 1
        need(not any(closed.iterdir()), "something was written")
    return refused


def shared_folders(count, rng):
    """Let processes work on one cache and one folder of checkpoints; all end with the same bits."""
    with folder() as place:
        table = _table(place)
        whole = make(checkpoint=place).fit(X, y)
        expected = make(max_iter=3).fit_dataset(table, target="y")

    def fit():
        time.sleep(float(np.random.default_rng(os.getpid()).uniform(0, 0.02)))
        model = make(checkpoint=place / "points").fit(X, y)
        return same(model, whole) and model.history_["objective"] == whole.history_["objective"]

    def fit_table():
        model = make(max_iter=3).fit_dataset(table, target="y", cache=place / "cache")
        return same(model, expected)

    for _ in range(count):
        with folder() as place:
            table = _table(place)
            children = [start(work) for work in (fit, fit, fit, fit_table, fit_table, fit_table)]
            answers = [finish(*child) for child in children]
            need(all(map(result_of, answers)), "other bits")
            left = [path.name for path in place.rglob(".making*")]
            need(not left, f"left behind: {left}")
    return 6 * count


def growth(count, rng):
    """Fit many times; the memory of the process stays what it is."""
    process = psutil.Process()
    changes = list(SOLVERS.values())
    for turn in range(2 * len(changes)):
        make(max_iter=2, **changes[turn % len(changes)]).fit(X, y).predict(X)
    before = process.memory_info().rss
    for turn in range(count):
        make(max_iter=2, **changes[turn % len(changes)]).fit(X, y).predict(X)
    grown = process.memory_info().rss - before
    need(grown < GROWTH, f"{count} fits have left {grown:,} bytes behind")
    return {"fits": count, "bytes": grown, "files": process.num_fds(),
            "threads": threading.active_count()}  # fmt: skip


def threads(count, rng):
    """Fit in eight threads at once; each has the bits of a fit alone."""
    whole = {name: make(max_iter=4, **changes).fit(X, y) for name, changes in SOLVERS.items()}
    for _ in range(count):
        found = {}

        def work(number, found=found):
            name = list(SOLVERS)[number % len(SOLVERS)]
            model = make(max_iter=4, n_jobs=2, **SOLVERS[name]).fit(X, y)
            found[number] = same(model, whole[name])

        workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        need(found == dict.fromkeys(range(8), True), f"of eight fits: {found}")
    return 8 * count


def children(count, rng):
    """Fork and spawn after a fit; the child fits as its parent does."""
    import multiprocessing

    first = make(max_iter=4, n_jobs=2).fit(X, y)
    expected = first.predict(X[:9]).tolist()
    for _ in range(count):
        need(result_of(finish(*start(fit_again))) == expected, "other bits after a fork")
    for kind in ("spawn", "forkserver"):
        with multiprocessing.get_context(kind).Pool(1) as pool:
            need(pool.apply(fit_again) == expected, f"other bits after {kind}")
    return {"fork": count, "spawn": 1, "forkserver": 1}


def fit_again():
    return make(max_iter=4, n_jobs=2).fit(X, y).predict(X[:9]).tolist()


JOBS = {job.__name__: job for job in (interrupts, kills, saves, full_disks, closed_folders,
                                      shared_folders, growth, threads, children)}  # fmt: skip


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    for changes in SOLVERS.values():
        make(max_iter=2, **changes).fit(X, y).predict(X)  # compiles
    for line in sys.stdin:
        order = json.loads(line)
        rng = np.random.default_rng(order["seed"])
        answer = finish(*start(JOBS[order["job"]], order["count"], rng))
        print(json.dumps(answer or {"error": "the job has died"}), flush=True)


if __name__ == "__main__":
    main()
