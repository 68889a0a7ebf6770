"""A cluster within this process, for what does not need workers of their own."""

import pytest


@pytest.fixture(scope="session")
def client():
    """Client of three workers, one of which has two threads."""
    pytest.importorskip("distributed", reason="Dask is not installed")
    from distributed import Client, Scheduler, SpecCluster, Worker

    here = {"protocol": "inproc://", "dashboard_address": ":0"}
    threads = {"nthreads": 1, **here}, {"nthreads": 1, **here}, {"nthreads": 2, **here}
    cluster = SpecCluster(
        scheduler={"cls": Scheduler, "options": here},
        workers={i: {"cls": Worker, "options": own} for i, own in enumerate(threads)},
        silence_logs=50,
    )
    with cluster, Client(cluster) as client:
        client.wait_for_workers(3)
        yield client
