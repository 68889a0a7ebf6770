"""Few rows in one chain: the same updates as by statistics, column after column."""

import numpy as np
import pytest

from tests import dense
from tests.problems import make_cores, make_map, make_objective, update

COLUMNS = {
    "fourier": [("fourier", 8, 2), ("fourier", 6, "prime")],
    "fourier not quantized": [("fourier", 5, None), ("fourier", 4, None)],
    "power": [("power", 8, 2), ("power", 6, "prime"), ("power", 3, None)],
    "mixed": [("fourier", 4, 2), ("power", 4, 2), ("fourier", 3, None)],
    "one column": [("fourier", 12, 2)],
    "one basis function": [("power", 1, 2), ("fourier", 1, 2), ("fourier", 3, 2)],
}

each_model = pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)


def make(columns, **parameters):
    objective = make_objective([make_map(*column) for column in columns], **parameters)
    return objective, make_cores(objective)


@each_model
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [1, 60, 700])
def test_a_column_of_a_chain_is_updated_as_by_statistics(columns, weighted, n_rows):
    objective, cores = make(columns, weighted=weighted, rank=3, n_rows=n_rows)
    chained = objective.at(cores)
    for block in [*objective.blocks, *objective.blocks]:  # two epochs
        other = objective.at(chained.cores)
        values = update(objective, chained, block, "chain")
        assert values == pytest.approx(update(objective, other, block, "statistics"), rel=1e-10)
        a, b = dense.weights(chained.cores), dense.weights(other.cores)
        assert np.abs(a - b).max() < 1e-10 * np.abs(b).max()
        assert values[-1] == pytest.approx(dense.value(objective, chained.cores), rel=1e-10)


def test_columns_may_come_in_any_order():
    objective, cores = make(COLUMNS["mixed"])
    chained, other = objective.at(cores), objective.at(cores)
    for block in (1, 0, 2, 0, 1, 1, 2):
        values = update(objective, chained, block, "chain")
        assert values == pytest.approx(update(objective, other, block, "statistics"), rel=1e-8)


def test_two_iterates_may_take_turns():
    objective, cores = make(COLUMNS["mixed"])
    more = make_cores(objective, seed=2)
    chained, others = ([objective.at(start) for start in (cores, more)] for _ in range(2))
    for block in [*objective.blocks, *objective.blocks]:
        for mine, other in zip(chained, others, strict=True):
            values = update(objective, mine, block, "chain")
            assert values == pytest.approx(update(objective, other, block, "statistics"), rel=1e-8)


def test_cores_that_are_put_in_on_the_way_are_seen():
    objective, cores = make(COLUMNS["mixed"])
    chained, other = objective.at(cores), objective.at(cores)
    more = make_cores(objective, seed=2)
    for block in objective.blocks:
        for iterate in (chained, other):
            iterate.put(2, more[2])
        values = update(objective, chained, block, "chain")
        assert values == pytest.approx(update(objective, other, block, "statistics"), rel=1e-8)


@each_model
def test_more_sweeps_of_a_column_are_those_by_statistics(columns):
    objective, cores = make(columns, rank=3)
    chained, other = objective.at(cores), objective.at(cores)
    for block in objective.blocks:
        values = objective.update(chained, block, "chain", sweeps=3)
        expected = objective.update(other, block, "statistics", sweeps=3)
        assert values == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("alpha", [1e-300, 1e-30, 1e-14])
def test_systems_that_are_nearly_singular_are_solved_all_the_same(alpha):
    objective, cores = make(
        [("fourier", 16, None), ("power", 4, None)], n_rows=5, n_values=[5, 5], alpha=alpha, rank=3
    )
    chained = objective.at(cores)
    _, minimum = dense.best_core(objective, cores, 0, 0)
    values = [
        value
        for block in [*objective.blocks, *objective.blocks]
        for value in update(objective, chained, block, "chain")
    ]
    rounding = 1e-6 * objective.constant
    assert values[0] == pytest.approx(minimum, abs=rounding)
    assert (np.diff(values) <= rounding).all()
    assert values[-1] == pytest.approx(dense.value(objective, chained.cores), abs=rounding)


def test_columns_after_a_singular_system_are_updated_all_the_same():
    # equal terms: every system of the first column is singular but for the penalty
    objective, cores = make([("fourier", 8, None), ("fourier", 4, 2), ("power", 3, None)], rank=2)
    cores = [[np.repeat(core[:, :1], 2, axis=1) for core in column] for column in cores]
    chained = objective.at(cores)
    for block in objective.blocks:
        _, minimum = dense.best_core(objective, chained.cores, block, 0)
        values = update(objective, chained, block, "chain")
        assert values[0] == pytest.approx(minimum, rel=1e-8)
        assert values[-1] == pytest.approx(dense.value(objective, chained.cores), rel=1e-8)


def test_snapshots_of_a_chain_are_not_touched_by_later_updates():
    objective, cores = make(COLUMNS["mixed"])
    chained = objective.at(cores)
    taken = []
    for block in [*objective.blocks, *objective.blocks]:
        update(objective, chained, block, "chain")
        snapshot = chained.snapshot()
        taken.append((snapshot, dense.weights(snapshot).copy()))
    for snapshot, weights in taken:
        np.testing.assert_array_equal(dense.weights(snapshot), weights)
