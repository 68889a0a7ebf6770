"""Workers of a cluster that are killed and that join change no bit of a fit."""

import os
import signal
import threading
import time
from contextlib import suppress

import numpy as np
import pytest

from qtkm import QTKMRegressor
from qtkm.limits import LIMITS
from qtkm.networks import flatten
from tests.faults.conftest import SOAK

pytest.importorskip("distributed", reason="Dask is not installed")

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(400, 3))
y = np.sin(5 * X[:, 0]) * X[:, 1]
SETTINGS = {"penalty": "ridge",
            "rank": 3, "n_basis": 8, "period": 2, "alpha": 1e-5, "random_state": 0, "tol": 0,
            "max_iter": 6, "early_stopping": False}  # fmt: skip


@pytest.mark.skipif(SOAK < 2, reason="tests/estimators/test_dask.py kills a few; QTKM_SOAK=2")
def test_workers_that_die_and_join_change_no_bit(monkeypatch, times, tally):
    from distributed import Client, LocalCluster

    monkeypatch.setattr(LIMITS, "shard_rows", 50)
    monkeypatch.setattr(LIMITS, "merge_rows", 50)
    expected = QTKMRegressor(**SETTINGS).fit(X, y)
    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
    )
    count, rng = times(0.5), np.random.default_rng(0)
    with Client(cluster) as client:
        model = QTKMRegressor(**SETTINGS, engine="dask").fit(X, y)
        for turn in range(count):
            client.wait_for_workers(2, timeout=60)
            seconds = rng.uniform(0, 1)

            def strike(seconds=seconds, turn=turn):
                time.sleep(seconds)
                worker = next(iter(cluster.workers.values()))
                os.kill(worker.process.pid, signal.SIGKILL)
                cluster.scale(2 + turn % 2)

            killer = threading.Thread(target=strike)
            killer.start()
            model = QTKMRegressor(**SETTINGS, engine="dask").fit(X, y)
            killer.join()
            for one, other in zip(flatten(model.cores_), flatten(expected.cores_), strict=True):
                np.testing.assert_array_equal(one, other)
    with suppress(KeyError):  # Dask's, where a worker that was killed did not start again in time
        cluster.close()
    tally("workers killed and joining", count)
