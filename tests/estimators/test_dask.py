"""Fits on a cluster of Dask: the bits of a fit in memory, whatever becomes of the workers."""

import os
import signal
import sys
import time
from contextlib import suppress
from itertools import pairwise

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from qtkm import QTKMClassifier, QTKMRegressor, load
from qtkm.data import blocks
from qtkm.engines import Dask, Threads
from qtkm.limits import LIMITS

from .same import assert_same

pytest.importorskip("distributed", reason="Dask is not installed")

import dask.array
import dask.dataframe
from distributed import Client, LocalCluster
from distributed.utils import get_mp_context

N_ROWS, SHARD_ROWS = 300, 60
SETTINGS = {
    "penalty": "ridge",
    "n_basis": 8,
    "period": 2.0,
    "rank": 3,
    "alpha": 1e-4,
    "max_iter": 2,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def cluster():
    """Workers in processes of their own: one at first, and more from test to test.

    They are forked from a process that has imported the library, which takes seconds.
    """
    method = "spawn" if sys.platform == "win32" else "forkserver"
    with dask.config.set({"distributed.worker.multiprocessing-method": method}):
        if method == "forkserver":
            get_mp_context().set_forkserver_preload(["qtkm", "dask.dataframe", "distributed"])
        cluster = LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, dashboard_address=":0",
            silence_logs=50,
        )  # fmt: skip
        yield cluster
        with suppress(KeyError):  # Dask's, where one that was killed did not start again in time
            cluster.close()


@pytest.fixture(scope="module")
def client(cluster):
    with Client(cluster) as client:
        yield client


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    """Shards of few rows, and no rows so few that they are merged."""
    monkeypatch.setattr(LIMITS, "shard_rows", SHARD_ROWS)
    monkeypatch.setattr(LIMITS, "merge_rows", 50)


def resize(cluster, client, n_workers):
    cluster.scale(n_workers)
    client.wait_for_workers(n_workers)


def regress(**changes):
    return QTKMRegressor(**{**SETTINGS, **changes})


def classify(**changes):
    return QTKMClassifier(**{**SETTINGS, "alpha": 1e-3, **changes})


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).integers(0, 12, size=(N_ROWS, 3)) / 12.0


@pytest.fixture(scope="module")
def y(X):
    return np.sin(6 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2


@pytest.fixture(scope="module")
def frame(X):
    names = np.array(["low", "middle", "high", None], dtype=object)
    codes = np.random.default_rng(1).integers(0, 4, size=N_ROWS)
    return pandas.DataFrame({"a": X[:, 0], "kind": names[codes], "b": X[:, 1]})


def sizes(bounds=None):
    bounds = list(blocks(N_ROWS, SHARD_ROWS)) if bounds is None else bounds
    return tuple(b - a for a, b in bounds)


def as_array(values, lengths=None):
    """Dask array with the chunks that shards in memory have, or with others."""
    chunks = (sizes() if lengths is None else lengths, *((n,) for n in values.shape[1:]))
    return dask.array.from_array(values, chunks=chunks)


def as_frame(values, lengths=None):
    ends = np.cumsum([0, *(sizes() if lengths is None else lengths)])
    parts = [values.iloc[a:b] for a, b in pairwise(ends)]
    divisions = [None] * len(ends)
    return dask.dataframe.from_map(
        lambda part: part, parts, meta=values.iloc[:0], divisions=divisions
    )


def assert_equal_fits(one, other):
    assert_same(one.cores_, other.cores_)
    for name in ("objective", "objective_updates", "validation_score"):
        assert_same(one.history_[name], other.history_[name])
    assert repr(one.columns_) == repr(other.columns_)


# -- the same bits --------------------------------------------------------------------------------


def assert_bits_of_memory(client, X, y):
    model, labels = regress(early_stopping=True), np.where(y > 0.4, "yes", "no")
    here = clone(model).fit(X, y)
    assert_equal_fits(here, clone(model).fit(as_array(X), as_array(y)))
    assert_equal_fits(here, clone(model).set_params(engine="dask").fit(X, y))
    here = classify().fit(X, labels)
    there = classify().fit(as_array(X), as_frame(pandas.Series(labels)))
    assert_equal_fits(here, there)
    assert there.classes_.tolist() == ["no", "yes"]


def test_one_worker_gives_the_bits_of_a_fit_in_memory(client, X, y):
    assert len(client.nthreads()) == 1
    assert_bits_of_memory(client, X, y)


def test_workers_in_this_process_give_the_bits_of_a_fit_in_memory(frame, X, y, monkeypatch):
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with Client(processes=False, **options, silence_logs=50) as here:
        assert_bits_of_memory(here, X, y)
        model = regress(categorical_features=["kind"])
        there = clone(model).fit(as_frame(frame), as_frame(pandas.Series(y)))
        assert_equal_fits(clone(model).fit(frame, y), there)
        hole = np.where(X[0, 0] == X, np.inf, X)
        with pytest.raises(ValueError, match="partition 0: 3 columns of X cannot be used"):
            regress().fit(as_array(hole), as_array(y))
        gaps = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
        assert_equal_fits(regress().fit(gaps, y), regress().fit(as_array(gaps), as_array(y)))
        monkeypatch.setattr(LIMITS, "merge_rows", N_ROWS)  # so few that they are fetched
        assert_equal_fits(regress().fit(X, y), regress().fit(as_array(X), as_array(y)))


class After:
    """Does something once, after the first epoch."""

    def __init__(self, action):
        self.action, self.done = action, False

    def __call__(self, progress):
        if progress.event == "epoch" and not self.done:
            self.done = True
            self.action()


def test_a_search_looks_at_some_rows_of_a_cluster(client):
    X = np.random.default_rng(2).uniform(size=(N_ROWS, 2))  # so fine that bands are chosen
    y = np.sin(6 * X[:, 0]) * X[:, 1]
    model = QTKMRegressor(early_stopping=True, random_state=0, max_iter=5)
    model.fit(as_array(X), as_array(y))
    assert model.rank_ > 0
    assert model.score(X, y) > 0.9


def test_a_worker_that_joins_changes_nothing(cluster, client, X, y, monkeypatch, caplog):
    monkeypatch.setattr(LIMITS, "look_seconds", 0.01)  # seen at once
    caplog.set_level("INFO", logger="qtkm")
    model = regress(callbacks=After(lambda: resize(cluster, client, 2)))
    assert_equal_fits(regress().fit(X, y), model.fit(as_array(X), as_array(y)))
    assert len(client.nthreads()) == 2
    assert "of the rows moves to" in caplog.text


def test_frames_with_categories_and_weights(client, frame, y):
    weight = np.random.default_rng(2).uniform(size=N_ROWS)
    weight[::7] = 0  # these rows are as if they were not there
    rows = np.flatnonzero(weight)
    firsts = [0, *(rows[a] for a, _ in list(blocks(len(rows), SHARD_ROWS))[1:]), N_ROWS]
    lengths = np.diff(firsts)
    model = regress(categorical_features=["kind"], early_stopping=True, residual="real")
    here = clone(model).fit(frame, y, weight)
    there = clone(model).fit(
        as_frame(frame, lengths), as_frame(pandas.Series(y), lengths),
        as_frame(pandas.Series(weight), lengths),
    )  # fmt: skip
    assert_equal_fits(here, there)
    assert there.feature_names_in_.tolist() == ["a", "kind", "b"]
    np.testing.assert_array_equal(here.predict(frame), there.predict(frame))


def test_several_outputs_and_classes(client, frame, X, y):
    targets = np.column_stack([y, y**2])
    here = regress().fit(X, targets)
    plain = regress().fit(as_array(X), as_array(targets))
    assert_equal_fits(here, plain)
    assert plain.target_names_ is None
    columns = pandas.DataFrame(targets, columns=["a", "x1"])  # names that X has, too
    named = regress().fit(as_array(X), as_frame(columns))
    assert_equal_fits(here, named)
    assert named.target_names_ == ["a", "x1"]
    labels = np.digitize(y, [0.2, 0.7])
    model = classify(class_weight="balanced")
    assert_equal_fits(clone(model).fit(X, labels), model.fit(as_array(X), as_array(labels)))


def test_offsets(client, frame, X, y):
    counts, offset = np.random.default_rng(3).poisson(np.exp(y)), np.log(1 + X[:, 2])
    here = regress(loss="poisson").fit(X, counts, offset=offset)
    rows, lazy = as_array(X), as_array(offset)
    there = regress(loss="poisson").fit(rows, as_array(counts), offset=lazy)
    assert_same(here.cores_, there.cores_)
    expected = here.predict(X, offset=offset)
    np.testing.assert_array_equal(there.predict(rows, offset=lazy).compute(), expected)
    assert there.score(rows, as_array(counts), offset=lazy) == here.score(X, counts, offset=offset)
    numbers = frame[["a", "b"]]
    model, series = regress(loss="poisson"), as_frame(pandas.Series(offset))
    model.fit(as_frame(numbers), as_frame(pandas.Series(counts)), offset=series)
    found = model.predict(as_frame(numbers), offset=series).compute()
    np.testing.assert_array_equal(found, model.predict(numbers, offset=offset))
    with pytest.raises(ValueError, match="offset is a ndarray, but other arguments are Dask"):
        regress().fit(rows, as_array(y), offset=offset)
    with pytest.raises(ValueError, match="X is a Array, and offset is a ndarray; pass"):
        there.predict(rows, offset=offset)
    with pytest.raises(ValueError, match="X is a DataFrame, and offset is a Array; pass"):
        model.predict(as_frame(numbers), offset=lazy)


@pytest.mark.parametrize("solver", ["lbfgs", "gauss_newton"])
def test_other_solvers(client, X, y, solver):
    model = regress(solver=solver)
    assert_equal_fits(clone(model).fit(X, y), clone(model).fit(as_array(X), as_array(y)))


def test_columns_of_parquet_files_keep_their_partitions(client, frame, y, tmp_path):
    pytest.importorskip("pyarrow")
    numbers = frame.select_dtypes("number")
    wide = numbers.assign(**{f"other{k}": 1.0 for k in range(30)}, y=y)
    for k, (a, b) in enumerate(blocks(N_ROWS, SHARD_ROWS)):
        wide[a:b].to_parquet(tmp_path / f"{k}.parquet")
    rows = dask.dataframe.read_parquet(tmp_path)
    assert len(rows["y"].to_delayed()) < rows.npartitions  # what Dask does by itself
    there = regress().fit(rows[list(numbers)], rows["y"])
    assert_equal_fits(regress().fit(numbers, y), there)


def test_progress_is_shown_when_asked_for(client, X, y, capsys):
    regress(verbose=1).fit(as_array(X), as_array(y))
    shown = capsys.readouterr().err
    assert all(word in shown for word in ("scan:", "encode:", "fit:"))
    regress().fit(as_array(X), as_array(y))
    assert capsys.readouterr().err == ""


def test_few_rows_are_fetched_and_fitted_as_ever(client, X, y, monkeypatch):
    monkeypatch.setattr(LIMITS, "merge_rows", N_ROWS)
    lengths = (1, 150, 0, 149)
    there = regress().fit(as_array(X, lengths), as_array(y, lengths))
    assert_equal_fits(regress().fit(X, y), there)
    assert_equal_fits(regress().fit(X, y), regress(engine="dask").fit(X, y))


def test_partitions_may_be_empty_or_large(client, X, y):
    # 60 rows, none, and 240 that become four shards
    lengths = (60, 0, 240)
    assert_equal_fits(
        regress().fit(X, y), regress().fit(as_array(X, lengths), as_array(y, lengths))
    )


def test_partitions_too_small_to_set_rows_aside_are_trained_on(client, X, y, monkeypatch):
    lengths = (1, 149, 150)
    model = regress(early_stopping=True).fit(as_array(X, lengths), as_array(y, lengths))
    assert len(model.history_["validation_score"]) == model.n_iter_
    monkeypatch.setattr(LIMITS, "merge_rows", 5)
    ones = (1,) * 6
    with pytest.raises(ValueError, match="no partition with enough rows to hold some out"):
        model.fit(as_array(X[:6], ones), as_array(y[:6], ones))


def test_a_fit_goes_on_from_a_fit_in_memory(client, X, y):
    here, there = (regress(warm_start=True).fit(X, y) for _ in range(2))
    assert_equal_fits(here.fit(X, y + 0.1), there.fit(as_array(X), as_array(y + 0.1)))


def test_a_checkpoint_of_a_cluster_serves_threads(client, X, y, tmp_path):
    model = regress(checkpoint=tmp_path)
    clone(model).set_params(max_iter=1).fit(as_array(X), as_array(y))
    went_on = clone(model).fit(X, y)
    assert went_on.n_iter_ == 2
    assert_same(went_on.cores_, regress(checkpoint=tmp_path / "other").fit(X, y).cores_)


# -- errors and interruptions ---------------------------------------------------------------------


def assert_usable(client, X, y):
    """The client has nothing left to do, and does the next fit."""
    for _ in range(100):  # what was cancelled takes a moment to end
        if not any(client.processing().values()):
            break
        time.sleep(0.05)
    assert not any(client.processing().values())
    assert_equal_fits(regress().fit(X, y), regress().fit(as_array(X), as_array(y)))


def test_a_partition_that_cannot_be_read_is_an_error_with_its_number(client, frame, y):
    def read(part):
        if len(part) and part.index[0] == 120:
            raise OSError("no such block")
        return part

    broken = as_frame(frame[["a", "b"]]).map_partitions(read, meta=frame[["a", "b"]].iloc[:0])
    before = set(client.futures)
    with pytest.raises(OSError, match="no such block") as error:
        regress().fit(broken, as_frame(pandas.Series(y)))
    assert error.value.__notes__ == ["This was in partition 2."]
    until = time.monotonic() + 20
    while client.futures.keys() - before:  # although the error holds the frames of the fit
        assert time.monotonic() < until
        time.sleep(0.01)
    assert_usable(client, frame[["a", "b"]].to_numpy(), y)


def test_values_that_cannot_be_fitted_are_an_error_with_the_partition(client, X, y):
    hole = X.copy()
    hole[190, 1] = np.inf
    n_failed = count_failed(client)
    with pytest.raises(ValueError, match=r"partition 3: Input X contains infinity: 1 of .* row 10"):
        regress().fit(as_array(hole), as_array(y))
    with pytest.raises(ValueError, match=r"partition 3: .*sample_weight has negative entries"):
        regress().fit(as_array(X), as_array(y), as_array(np.where(np.isinf(hole[:, 1]), -1, 1)))
    assert count_failed(client) == n_failed  # a task that fails makes its worker print a page


def count_failed(client):
    """Count the tasks that ever failed."""

    def count(dask_scheduler):
        return sum(change.finish == "erred" for change in dask_scheduler.transition_log)

    return client.run_on_scheduler(count)


def test_an_interruption_keeps_the_best_cores_and_cancels_the_tasks(client, X, y, monkeypatch):
    fetch, fetched = Dask.fetch_all, []

    def interrupt(self, futures):
        fetched.append({future.key for future in futures})
        if len(fetched) == 20:
            raise KeyboardInterrupt
        return fetch(self, futures)

    monkeypatch.setattr(Dask, "fetch_all", interrupt)
    with pytest.warns(ConvergenceWarning, match="Interrupted in epoch"):
        model = regress(max_iter=50, tol=0).fit(as_array(X), as_array(y))
    assert model.status_ == "interrupted"
    monkeypatch.undo()
    until = time.monotonic() + 20
    while fetched[19] & client.futures.keys():  # they are forgotten a moment later
        assert time.monotonic() < until
        time.sleep(0.01)
    assert model.predict(X).shape == y.shape


def test_a_client_that_closes_is_an_error(cluster, X, y):
    with Client(cluster, set_as_default=False) as other:
        model = regress(engine=Dask(other), callbacks=After(other.close))
        with pytest.raises(RuntimeError, match=r"client is closed.* with checkpoint=… a fit"):
            model.fit(as_array(X), as_array(y))


# -- what is given --------------------------------------------------------------------------------


def test_what_does_not_go_together_is_refused(client, frame, X, y):
    there = as_array(X), as_array(y)
    for given, message in [
        ((there[0], as_array(y, (150, 150))), "X and y have different partitions: 5 and 2; make"),
        (
            (there[0], as_array(y, (20, 100, *(60,) * 3))),
            "partition 0 has 60 rows of X and 20 of 'y'",
        ),
        ((*there, as_array(y, (150, 150))), "X and sample_weight have different partitions"),
        ((there[0], y), "y is a ndarray, but other arguments are .*; pass y as"),
        ((X, there[1]), "X is a ndarray, but other arguments are Dask collections"),
        ((*there, y), "sample_weight is a ndarray, but other arguments"),
        ((there[0], None), "requires y to be passed"),
        ((as_frame(frame), as_array(y, (20, 100, *(60,) * 3))), "partition 0 has 60 rows of X a"),
    ]:
        with pytest.raises(ValueError, match=message):
            regress(categorical_features=[1]).fit(*given)
    known = dask.dataframe.from_pandas(frame, npartitions=3), as_frame(pandas.Series(y), (100,) * 3)
    assert known[0].known_divisions
    others = pandas.Series(y, index=np.arange(N_ROWS) + 1)
    with pytest.raises(ValueError, match="X and y have different divisions"):
        regress().fit(known[0], dask.dataframe.from_pandas(others, npartitions=3))
    with pytest.raises(ValueError, match=r"'kind' holds values such as '.*', not numbers"):
        regress().fit(*known)


def test_what_a_cluster_cannot_do_is_refused(client, X, y):
    there = as_array(X), as_array(y)
    with pytest.raises(ValueError, match=r"Adam needs all rows in this process.*engine='threads'"):
        regress(solver="adam").fit(*there)
    with pytest.raises(ValueError, match=r"Adam needs all rows in this process.*engine='threads'"):
        regress(solver="adam", engine="dask").fit(X, y)
    with pytest.raises(ValueError, match=r"read_parquet.* to fit, or use engine='threads'"):
        regress(engine="dask").fit_dataset([pandas.DataFrame({"x": y, "y": y})], target="y")
    with pytest.raises(ValueError, match="memory_limit are for rows that this process reads"):
        regress(engine="dask", memory_limit="1GB").fit(X, y)
    with pytest.raises(ValueError, match=r"is a collection of Dask, which engine=.* does not know"):
        regress(engine=Threads(1)).fit(*there)


def test_without_a_client_the_error_says_how_to_start_one(X, y, monkeypatch):
    def no_client():
        raise ValueError("No clients found")

    monkeypatch.setattr("distributed.default_client", no_client)
    with pytest.raises(ValueError, match=r"need a running client; start one with .*Client\(\)"):
        regress(engine="dask").fit(X, y)


def test_an_engine_of_ones_own_serves_and_stays_open(X, y):
    class OneByOne:
        sums = closed = 0

        def run(self, function, tasks):
            return [function(task) for task in tasks]

        def sum(self, function, shards, *arguments):
            self.sums += 1
            return Threads(1).sum(function, shards, *arguments)

        def close(self):
            self.closed += 1

    engine = OneByOne()
    assert_equal_fits(regress().fit(X, y), regress(engine=engine).fit(X, y))
    assert engine.sums > 0
    assert engine.closed == 0


def test_models_of_a_cluster_are_copied_and_saved(client, X, y, tmp_path):
    model = regress(engine=Dask(client)).fit(as_array(X), as_array(y))
    assert clone(model).engine is model.engine
    model.save(tmp_path / "model.qtkm")
    loaded = load(tmp_path / "model.qtkm")
    assert loaded.engine == "threads"
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


# -- predictions ----------------------------------------------------------------------------------


def test_predictions_for_collections_are_collections(client, frame, X, y):
    lengths = (60, 0, 240)
    model = regress(callbacks=print).fit(X, np.column_stack([y, y]))
    lazy = model.predict(as_array(X, lengths))
    assert lazy.chunks == (lengths, (2,))
    np.testing.assert_allclose(lazy.compute(), model.predict(X), rtol=1e-12)
    model = classify(categorical_features=["kind"]).fit(frame, np.where(y > 0.4, "yes", "no"))
    there = as_frame(frame, lengths)
    for method in ("predict", "predict_proba", "decision_function"):
        lazy = getattr(model, method)(there)
        assert isinstance(lazy, dask.dataframe.DataFrame | dask.dataframe.Series)
        found, expected = lazy.compute(), getattr(model, method)(frame)
        assert found.index.equals(frame.index)
        if method == "predict":
            np.testing.assert_array_equal(found, expected)
        else:
            np.testing.assert_allclose(found, expected, rtol=1e-12)


# -- the last tests, for they leave fewer workers than there were ---------------------------------


@pytest.mark.parametrize(("kind", "look"), [("collection", 0.01), ("array", 10)])
def test_a_worker_that_dies_changes_nothing(cluster, client, X, y, kind, look, monkeypatch):
    monkeypatch.setattr(LIMITS, "look_seconds", look)
    resize(cluster, client, 2)  # one that died before comes back

    def kill():
        # some worker that holds rows
        holders = {worker for workers in client.who_has().values() for worker in workers}
        process = client.run(os.getpid, workers=[min(holders)])[min(holders)]
        os.kill(process, signal.SIGKILL)

    model = regress(callbacks=After(kill), engine="dask")
    here = regress().fit(X, y)
    there = model.fit(as_array(X), as_array(y)) if kind == "collection" else model.fit(X, y)
    assert model.callbacks.done
    assert_equal_fits(here, there)
