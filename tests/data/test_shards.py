"""Shards: every row once, in sorted order, in groups that tasks can share."""

import numpy as np
import pytest

from qtkm.data import TASK_ROWS, blocks
from qtkm.limits import LIMITS
from tests.coded import build

N_CODES = (7, 3, 50)


def draw_rows(n_rows, n_outputs=2, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(n, size=n_rows) for n in N_CODES]).astype(np.uint16)
    codes[codes[:, 2] == 10, 2] = 11  # a grid value that no row has
    return codes, rng.normal(size=(n_rows, n_outputs)), rng.uniform(1, 2, size=n_rows)


def build_shards(n_rows, shard_rows=None, monkeypatch=None):
    if shard_rows is not None:
        monkeypatch.setattr(LIMITS, "shard_rows", shard_rows)
    codes, target, weight = draw_rows(n_rows)
    return codes, target, weight, build(codes, target, weight, N_CODES)


def sort_rows(*arrays):
    rows = np.column_stack(arrays)
    return rows[np.lexsort(rows.T)]


def test_shards_hold_every_row_once_with_its_target_and_weight(monkeypatch):
    codes, target, weight, parts = build_shards(100, 30, monkeypatch)
    assert len(parts) == 4
    assert max(len(part) for part in parts) <= 30
    together = sort_rows(
        np.concatenate([part.codes for part in parts]),
        np.concatenate([part.target for part in parts]),
        np.concatenate([part.weight for part in parts]),
    )
    np.testing.assert_array_equal(together, sort_rows(codes, target, weight))


def test_a_shard_is_sorted_by_its_columns_the_one_with_most_values_first():
    *_, (shard,) = build_shards(100)
    keys = shard.codes[:, [2, 0, 1]].astype(int) @ [1000_000, 1000, 1]
    assert (np.diff(keys) >= 0).all()


def test_the_order_of_distinct_rows_changes_no_bit_of_a_shard():
    codes, target, weight = draw_rows(200)
    _, first = np.unique(codes, axis=0, return_index=True)
    order = np.random.default_rng(1).permutation(first)
    a, b = (build(codes[i], target[i], weight[i], N_CODES)[0] for i in (first, order))
    for name in ("codes", "target", "weight"):
        assert getattr(a, name).tobytes() == getattr(b, name).tobytes()


@pytest.mark.parametrize("n_rows", [1, 5, 400, 3 * TASK_ROWS + 17])
@pytest.mark.parametrize("column", [0, 1, 2, None])
def test_tasks_cover_every_row_once_and_segments_know_their_grid_value(n_rows, column):
    *_, (shard,) = build_shards(n_rows)
    groups = shard.groups(column)
    n_codes = 1 if column is None else N_CODES[column]
    assert groups.n_codes == n_codes
    np.testing.assert_array_equal(np.sort(groups.order), np.arange(n_rows))
    segments = np.concatenate(groups.tasks)
    begin, end, slot = segments[np.argsort(segments[:, 0], kind="stable")].T
    covered = np.concatenate([np.arange(a, b) for a, b in zip(begin, end, strict=True)])
    np.testing.assert_array_equal(np.sort(covered), np.arange(n_rows))
    # every slot is written once, so that none is left unset
    np.testing.assert_array_equal(np.sort(slot), np.arange(n_codes + len(groups.owners)))
    owner = np.concatenate([np.arange(n_codes), groups.owners])
    codes = np.zeros(n_rows) if column is None else shard.codes[:, column]
    for a, b, s in zip(begin, end, slot, strict=True):
        assert (codes[groups.order[a:b]] == owner[s]).all()


@pytest.mark.parametrize("column", [0, 1, 2, None])
def test_work_is_dealt_out_in_tasks_of_bounded_size(column):
    *_, (shard,) = build_shards(5 * TASK_ROWS)
    tasks = shard.groups(column).tasks
    sizes = [int((task[:, 1] - task[:, 0]).sum()) for task in tasks]
    assert len(tasks) >= 5
    assert max(sizes) <= 2 * TASK_ROWS
    assert all((task[:, 1] - task[:, 0]).max() <= TASK_ROWS for task in tasks)


def test_a_group_larger_than_a_task_is_split():
    *_, (shard,) = build_shards(5 * TASK_ROWS)
    assert len(shard.groups(None).owners) == 4
    assert len(shard.groups(2).owners) == 0


def test_rows_of_a_group_keep_their_order():
    *_, (shard,) = build_shards(300)
    groups = shard.groups(0)
    for a, b, _ in np.concatenate(groups.tasks):
        assert (np.diff(groups.order[a:b]) > 0).all()


def test_scaled_targets_carry_the_root_of_the_weight():
    *_, (shard,) = build_shards(50)
    root, target = shard.scaled
    np.testing.assert_allclose(root**2, shard.weight)
    np.testing.assert_allclose(target, root[:, None] * shard.target)


@pytest.mark.parametrize("n_rows", [1, 4, 5, 9, 10, 11, 1000])
def test_blocks_follow_each_other_and_none_is_too_large(n_rows):
    ranges = list(blocks(n_rows, 5))
    covered = [n for a, b in ranges for n in range(a, b)]
    assert covered == list(range(n_rows))
    assert max(b - a for a, b in ranges) <= 5
    assert len(ranges) == -(-n_rows // 5)
