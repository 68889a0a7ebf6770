"""What every registered engine must do."""

import copy
import pickle
import threading

import numpy as np
import pytest

from qtkm.engines import REGISTRY, is_elsewhere


@pytest.fixture(params=REGISTRY)
def make_engine(request):
    """Engines of a kind, closed after the test."""
    if request.param == "dask":
        request.getfixturevalue("client")
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


def place(engine, shards):
    return engine.place(shards) if is_elsewhere(engine) else shards


def sum_of_powers(shard, exponent, run):
    parts = run(lambda part: np.sum(part**exponent), np.split(shard, 10))
    return np.array(parts), np.array([float(len(shard))])


def list_ends(shard, run):
    return [(shard[0], shard[-1])]


def fail(shard, run):
    raise ArithmeticError(f"shard of {len(shard)} numbers")


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


def test_lists_are_joined_in_the_order_of_the_shards(make_engine):
    shards, engine = draw_shards(20), make_engine()
    expected = [(shard[0], shard[-1]) for shard in shards]
    assert engine.sum(list_ends, place(engine, shards)) == expected


def test_sums_go_over_all_shards(make_engine):
    shards, engine = draw_shards(5), make_engine()
    total, count = engine.sum(sum_of_powers, place(engine, shards), 2)
    assert count == 500
    np.testing.assert_allclose(total.sum(), np.sum(np.square(shards)), rtol=1e-12)


@pytest.mark.parametrize("n_shards", [1, 2, 3, 7, 12])
def test_all_engines_give_the_bits_of_one_thread(make_engine, n_shards):
    shards, engine = draw_shards(n_shards), make_engine()
    one = REGISTRY["threads"](n_jobs=1).sum(sum_of_powers, shards, 3)[0]
    assert engine.sum(sum_of_powers, place(engine, shards), 3)[0].tobytes() == one.tobytes()


def test_sums_do_not_depend_on_the_number_of_threads(make_engine):
    shards, sums = draw_shards(7), []
    for n_jobs in (1, 2, 4):
        engine = make_engine(n_jobs=n_jobs)
        sums.append(engine.sum(sum_of_powers, place(engine, shards), 3)[0])
    assert len({total.tobytes() for total in sums}) == 1


def test_sums_can_be_written_to_and_do_not_change_the_shards(make_engine):
    shards, engine = draw_shards(3), make_engine()
    placed = place(engine, shards)
    total, _ = engine.sum(sum_of_powers, placed, 2)
    before = total.copy()
    total += 1
    np.testing.assert_array_equal(engine.sum(sum_of_powers, placed, 2)[0], before)


def test_an_error_in_a_task_reaches_the_caller(make_engine):
    def fail(task):
        raise ArithmeticError(f"task {task}")

    with pytest.raises(ArithmeticError, match="task"):
        make_engine().run(fail, range(4))


def test_an_error_in_a_sum_reaches_the_caller_and_the_engine_goes_on(make_engine):
    shards, engine = draw_shards(3), make_engine()
    placed = place(engine, shards)
    with pytest.raises(ArithmeticError, match="shard of 100 numbers"):
        engine.sum(fail, placed)
    assert engine.sum(sum_of_powers, placed, 2)[1] == 300


def test_copies_of_an_engine_work(make_engine):
    engine = make_engine(n_jobs=2)
    for other in (copy.deepcopy(engine), pickle.loads(pickle.dumps(engine))):
        assert other.n_jobs == 2
        assert other.run(abs, [-1, -2]) == [1, 2]
        other.close()


def test_an_engine_may_be_closed_twice(make_engine):
    engine = make_engine()
    engine.close()
    engine.close()
