import threading

import pytest

from qtkm.engines import Threads


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_tasks_run_side_by_side(n_jobs):
    engine = Threads(n_jobs)
    meeting = threading.Barrier(n_jobs, timeout=30)  # broken if one waits for another to end
    try:
        engine.run(lambda task: meeting.wait(), range(n_jobs))
    finally:
        engine.close()


def test_one_job_runs_on_the_callers_own_thread():
    threads = Threads(1).run(lambda task: threading.get_ident(), range(3))
    assert set(threads) == {threading.get_ident()}


def test_a_task_may_have_tasks_of_its_own():
    engine = Threads(2)
    answer = engine.run(lambda i: sum(engine.run(lambda j: i * j, range(4))), range(8))
    engine.close()
    assert answer == [6 * i for i in range(8)]
