"""Sums on the workers of a Dask client: where they are added, and what is done about losses."""

import subprocess
import sys
import time

import numpy as np
import pytest

pytest.importorskip("distributed", reason="Dask is not installed")

from qtkm.data import Shard
from qtkm.engines import Dask, Threads, dask_cluster
from qtkm.engines.remote import Held, aligned
from qtkm.limits import LIMITS


@pytest.fixture
def engine(client):
    engine = Dask(client, n_jobs=1)
    yield engine
    engine.close()


def named(shard, run):
    """A text that shows how it was added."""
    return Sum(str(shard[0]))


class Sum:
    def __init__(self, text):
        self.text = text

    def __add__(self, other):
        return Sum(f"({self.text}+{other.text})")


def total(shard, run):
    return np.array([shard.sum()])


@pytest.mark.parametrize(
    ("n", "tree"),
    [
        (1, "0"),
        (3, "((0+1)+2)"),
        (5, "(((0+1)+(2+3))+4)"),
        (7, "(((0+1)+(2+3))+((4+5)+6))"),
    ],
)
@pytest.mark.parametrize("few", [0, 8])
def test_the_tree_is_that_of_every_engine(engine, n, tree, few, monkeypatch):
    monkeypatch.setattr(LIMITS, "few_tasks", few)
    assert engine.sum(named, engine.place([np.array([i]) for i in range(n)])).text == tree


def test_neighbours_go_to_the_same_worker_by_their_sizes_and_its_threads(engine):
    owners = engine.spread([100] * 8)
    counts = [owners.count(worker) for worker in sorted(set(owners))]
    assert owners == sorted(owners)
    assert sorted(counts) == [2, 2, 4]
    assert len(set(engine.spread([1000, 1, 1, 1]))) == 2


@pytest.mark.parametrize(("few", "n_additions"), [(3, 3), (4, 0)])
def test_shards_of_one_worker_are_summed_by_as_many_tasks_as_it_has_threads(
    engine, client, few, n_additions, monkeypatch
):
    monkeypatch.setattr(LIMITS, "few_tasks", few)
    shards, submitted = engine.place([np.ones(2)] * 8), []
    submit = Dask.submit

    def note(self, function, *arguments, **options):
        submitted.append(function.__name__)
        return submit(self, function, *arguments, **options)

    monkeypatch.setattr(Dask, "submit", note)
    assert engine.sum(total, shards) == 16
    assert submitted.count("sum_part") == 4
    assert submitted.count("add_apart") == n_additions


def total_and_count(shard, run):
    return total(shard, run), np.array([len(shard)])


def test_several_sums_are_added_each_by_itself(engine, monkeypatch):
    monkeypatch.setattr(LIMITS, "few_tasks", 0)
    sums = engine.sum(total_and_count, engine.place([np.full(3, 2.0)] * 8))
    assert sums == (48, 24)


def test_a_large_pass_is_sent_once(engine, monkeypatch):
    monkeypatch.setattr(LIMITS, "sent_bytes", 10)
    assert engine.sum(total, engine.place([np.ones(2)] * 8)) == 16


def test_parts_that_are_all_on_one_worker_are_moved_once_and_stay(engine, client):
    worker = min(client.nthreads())
    held = [Held([np.full(2, i)], f"part {i}") for i in range(8)]
    futures = client.scatter(held, workers=[worker], hash=False)
    shards = dask_cluster.RemoteShards(engine, futures, [1] * 8, [worker] * 8)
    assert engine.sum(total, shards) == 56
    homes, moved = list(shards.homes), list(shards.futures)
    assert sorted(map(homes.count, set(homes))) == [2, 2, 4]
    shards._looked = float("-inf")
    assert engine.sum(total, shards) == 56
    assert (shards.homes, shards.futures) == (homes, moved)
    where = client.who_has(shards.futures)
    assert all(home in where[f.key] for f, home in zip(shards.futures, homes, strict=True))


def test_rows_cannot_be_had_on_the_driver(engine):
    shards = engine.place([np.ones(2)])
    with pytest.raises(TypeError, match="on the workers of a cluster"):
        shards[0]
    with pytest.raises(TypeError, match="on the workers of a cluster"):
        list(shards)


def test_a_list_is_summed_in_this_process(engine, monkeypatch):
    monkeypatch.setattr(Dask, "client", None)
    assert engine.sum(total, [np.ones(2), np.ones(3)]) == 5


def test_shards_that_were_lost_are_sent_anew(engine, client):
    shards = engine.place([np.full(2, i) for i in range(4)])
    client.cancel(shards.futures[1:3], force=True)
    assert engine.sum(total, shards) == 12


def test_tries_are_bounded(engine, client, monkeypatch):
    shards = engine.place([np.ones(2)])
    monkeypatch.setattr(engine, "send", lambda held, worker: shards.futures[0])
    client.cancel(shards.futures, force=True)
    with pytest.raises(RuntimeError, match="tries of a pass failed"):
        engine.sum(total, shards)


def target_of(shard, run):
    return shard.target.sum(axis=0)


def test_targets_are_mapped_wherever_they_are(engine, client):
    codes = np.zeros((5, 1), dtype=np.uint16)
    shards = [Shard(codes, np.full((5, 1), i + 1.0), None, (1,)).sorted() for i in range(3)]
    placed = engine.place(shards)
    futures = client.scatter([Held([shard], "a part") for shard in shards], hash=False)
    computed = dask_cluster.RemoteShards(engine, futures, [1, 1, 1], [None] * 3)
    for there in (placed, computed):
        there.map_targets(np.square)
        assert engine.sum(target_of, there) == 5 * (1 + 4 + 9)
    assert Threads(1).sum(target_of, shards) == 5 * (1 + 2 + 3)


def test_parts_may_hold_several_shards_or_none(engine, client):
    held = [Held([np.array([1.0]), np.array([2.0])], "a"), Held([], "b"), Held([np.ones(3)], "c")]
    futures = client.scatter(held, hash=False)
    shards = dask_cluster.RemoteShards(engine, futures, [2, 0, 1], [None] * 3)
    assert len(shards) == 3
    assert engine.sum(total, shards) == 6


def test_an_error_says_which_part_of_the_rows_it_was(engine, client):
    def check(shard, run):
        if shard[0] == 3:
            raise ArithmeticError("no such number")
        return shard

    with pytest.raises(ArithmeticError, match="no such number") as error:
        engine.sum(check, engine.place([np.array([i]) for i in range(5)]))
    assert error.value.__notes__ == ["This was in shard 3."]


def test_no_worker_at_all_is_an_error_and_not_an_endless_wait(engine, client, monkeypatch):
    monkeypatch.setattr(LIMITS, "look_seconds", 0.02)
    monkeypatch.setattr(LIMITS, "worker_seconds", 0.05)
    future = engine.submit(abs, -1, home="tcp://127.0.0.1:1")
    assert engine.fetch(future) == 1  # another one will do
    waiting = client.submit(abs, -1, workers=["tcp://127.0.0.1:1"], pure=False)
    monkeypatch.setattr(client, "nthreads", dict)
    with pytest.raises(RuntimeError, match=r"no worker for .* seconds; start some"):
        engine.fetch(waiting)


def fail_late():
    time.sleep(0.1)
    raise TimeoutError("of the task itself")


def test_a_task_may_take_longer_than_a_look_and_have_a_timeout_of_its_own(engine, monkeypatch):
    monkeypatch.setattr(LIMITS, "look_seconds", 0.02)
    assert engine.fetch(engine.submit(time.sleep, 0.2)) is None
    with pytest.raises(TimeoutError, match="of the task itself"):
        engine.fetch(engine.submit(fail_late))


def test_arrays_at_odd_addresses_are_copied():
    odd = np.frombuffer(bytearray(8 * 4 + 1), dtype=np.uint8)[1:].view(np.float64)
    fixed = np.ones(2)
    fixed.flags.writeable = False
    first, (second, third) = aligned((odd, (fixed, np.ones(1))))
    assert first.flags.aligned
    assert second.flags.writeable
    np.testing.assert_array_equal(third, [1.0])


def test_the_library_does_not_import_dask_by_itself():
    program = "import sys, qtkm; sys.exit(any(n in sys.modules for n in ('dask', 'distributed')))"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ImportError, match=r"pip install 'qtkm\[dask\]'"):
        Dask().place([np.ones(2)])
