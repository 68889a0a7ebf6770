"""Shards on disk are the shards that were written, read one ahead."""

import threading

import numpy as np
import pytest

from qtkm.data import Shard, StoredShards, prefetched, write_shards

N_CODES = (7, 300)


def draw_shard(seed, n_rows, weighted):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, n, n_rows) for n in N_CODES]).astype(np.uint16)
    weight = rng.uniform(1, 2, n_rows) if weighted else None
    return Shard(codes, rng.normal(size=(n_rows, 2)), weight, N_CODES).sorted()


def store(folder, weighted=True):
    shards = [draw_shard(seed, n_rows, weighted) for seed, n_rows in enumerate((500, 1, 80))]
    write_shards(folder, [*(("train", shard) for shard in shards), ("validation", shards[2])])
    return shards


def assert_equal(a, b):
    np.testing.assert_array_equal(a.codes, b.codes)
    np.testing.assert_array_equal(a.target, b.target)
    assert (a.weight is None) == (b.weight is None)
    if a.weight is not None:
        np.testing.assert_array_equal(a.weight, b.weight)
    for column in (None, 0, 1):
        mine, theirs = a.groups(column), b.groups(column)
        np.testing.assert_array_equal(mine.order, theirs.order)
        np.testing.assert_array_equal(np.concatenate(mine.tasks), np.concatenate(theirs.tasks))


@pytest.mark.parametrize("weighted", [True, False])
def test_shards_come_back_as_they_were(weighted, tmp_path):
    shards = store(tmp_path, weighted)
    stored = StoredShards(tmp_path, "train")
    assert len(stored) == 3
    for _ in range(2):
        for given, read in zip(shards, stored, strict=True):
            assert_equal(given, read)
    assert_equal(stored[-1], shards[2])
    assert [len(shard) for shard in stored[1:]] == [1, 80]
    assert [len(shard) for shard in StoredShards(tmp_path, "validation")] == [80]


def test_targets_are_read_as_a_function_of_them(tmp_path):
    shards, stored = store(tmp_path), StoredShards(tmp_path, "train")
    stored.map_targets(lambda target: 2 * target)
    stored.map_targets(lambda target: target + 1)
    np.testing.assert_array_equal(stored[0].target, 2 * shards[0].target + 1)
    np.testing.assert_array_equal(StoredShards(tmp_path, "train")[0].target, shards[0].target)


def test_orders_of_other_weights_are_those_on_disk(tmp_path):
    shards, stored = store(tmp_path), StoredShards(tmp_path, "train")
    again = stored[0].reweighted(np.ones(500), stored[0].target)
    again.codes[:] = 0  # nothing is sorted anew
    np.testing.assert_array_equal(again.groups(1).order, shards[0].groups(1).order)


@pytest.mark.parametrize("harm", ["cut", "longer", "missing", "no index", "other index"])
def test_a_folder_that_is_not_whole_is_refused(harm, tmp_path):
    store(tmp_path)
    file, index = tmp_path / "train-0.bin", tmp_path / "index.json"
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:-1])
    elif harm == "longer":
        file.write_bytes(file.read_bytes() + b"x")
    elif harm == "missing":
        file.unlink()
    elif harm == "no index":
        index.unlink()
    else:
        index.write_text('{"layout": 1}')
    with pytest.raises(ValueError, match=r"cut off|no complete shards"):
        StoredShards(tmp_path, "train")


def test_a_file_cut_off_while_in_use_is_seen(tmp_path):
    store(tmp_path)
    stored = StoredShards(tmp_path, "train")
    (tmp_path / "train-0.bin").write_bytes(b"")
    with pytest.raises(ValueError, match=r"train-0\.bin was cut off"):
        stored[0]


def test_the_next_item_is_made_meanwhile():
    made = [threading.Event() for _ in range(3)]

    def items():
        for i, event in enumerate(made):
            event.set()
            yield i

    for i in prefetched(items()):
        if i + 1 < len(made):
            assert made[i + 1].wait(10)
        if i + 2 < len(made):
            assert not made[i + 2].is_set()


def test_an_error_while_making_an_item_reaches_its_user():
    def items():
        yield 1
        raise OSError("gone")

    got = prefetched(items())
    assert next(got) == 1
    with pytest.raises(OSError, match="gone"):
        next(got)


def test_a_user_may_stop_early():
    for item in prefetched(iter(range(10**9))):
        if item == 3:
            break
    assert item == 3
