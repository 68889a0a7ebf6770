"""What every registered engine must do."""

import threading

import numpy as np
import pytest

from qtkm.engines import REGISTRY


@pytest.fixture(params=REGISTRY)
def make_engine(request):
    """Engines of a kind, closed after the test."""
    engines = []

    def make(**parameters):
        engines.append(REGISTRY[request.param](**parameters))
        return engines[-1]

    yield make
    for engine in engines:
        engine.close()


def draw_shards(n):
    scale = 10.0 ** np.arange(n)[:, None]
    return list(np.random.default_rng(0).normal(size=(n, 100)) * scale)


def sum_of_powers(shard, exponent, run):
    parts = run(lambda part: np.sum(part**exponent), np.split(shard, 10))
    return np.array(parts), np.array([float(len(shard))])


def test_results_come_in_the_order_of_the_tasks(make_engine):
    engine = make_engine()
    pause = threading.Event()

    def work(task):
        pause.wait(0.02 if task == 0 else 0)  # the first task ends last
        return task**2

    assert engine.run(work, range(20)) == [task**2 for task in range(20)]


def test_tasks_may_be_none_at_all_or_come_from_a_generator(make_engine):
    engine = make_engine()
    assert engine.run(abs, []) == []
    assert engine.run(abs, (task for task in (-1, -2))) == [1, 2]


def test_sums_go_over_all_shards(make_engine):
    shards = draw_shards(5)
    total, count = make_engine().sum(sum_of_powers, shards, 2)
    assert count == 500
    np.testing.assert_allclose(total.sum(), np.sum(np.square(shards)), rtol=1e-12)


def test_sums_do_not_depend_on_the_number_of_threads(make_engine):
    shards = draw_shards(7)
    sums = [make_engine(n_jobs=n).sum(sum_of_powers, shards, 3)[0] for n in (1, 2, 4)]
    assert len({total.tobytes() for total in sums}) == 1


def test_an_error_in_a_task_reaches_the_caller(make_engine):
    def fail(task):
        raise ArithmeticError(f"task {task}")

    with pytest.raises(ArithmeticError, match="task"):
        make_engine().run(fail, range(4))


def test_an_engine_may_be_closed_twice(make_engine):
    engine = make_engine()
    engine.close()
    engine.close()
