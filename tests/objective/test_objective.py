"""The objective as a sum over rows: shards, merging, threads, paths."""

import numpy as np
import pytest

from qtkm.data import TASK_ROWS, build, merge
from qtkm.limits import LIMITS
from qtkm.networks import cpd_paths as paths
from qtkm.objective import Objective
from tests import dense
from tests.covering import covered
from tests.problems import make_cores, make_map, make_objective, update

MIXED = [("fourier", 4, 2), ("power", 4, 2), ("categorical", 3, None)]


def make(columns=MIXED, **parameters):
    objective = make_objective([make_map(*column) for column in columns], **parameters)
    return objective, make_cores(objective)


def with_shards(objective, parts, scatter=0.0):
    """Build the same objective over other shards."""
    return Objective(
        objective.columns, parts, objective.network, objective.loss, objective.engine,
        objective.alpha, scatter,
    )  # fmt: skip


def all_values(objective, cores, path="statistics"):
    iterate = objective.at(cores)
    values = [objective.value(iterate)]
    for block in objective.blocks:
        numeric = block < len(objective.columns) and not objective.columns[block].is_categorical
        values += update(objective, iterate, block, path if numeric else "statistics")
    return values


@covered
@pytest.mark.parametrize("residual", ["complex", "real"])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_value_is_the_weighted_mean_loss_plus_alpha_times_the_norm(
    residual, n_outputs, weighted
):
    objective, cores = make(residual=residual, n_outputs=n_outputs, weighted=weighted, alpha=0.3)
    iterate = objective.at(cores)
    expected = dense.value(objective, cores)
    assert objective.value(iterate) == pytest.approx(expected, rel=1e-11)
    norm = iterate.squared_norm()
    assert objective.mean_loss(iterate) == pytest.approx(expected - 0.3 * norm, rel=1e-9)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_constant_is_the_objective_of_no_weights_at_all(n_outputs):
    objective, cores = make(n_outputs=n_outputs, weighted=True)
    zero = dense.replace(cores, 0, 0, np.zeros_like(cores[0][0]))
    assert objective.value(objective.at(zero)) == pytest.approx(objective.constant, rel=1e-12)


@pytest.mark.parametrize("path", ["statistics", "rows"])
@pytest.mark.parametrize("weighted", [False, True])
def test_cutting_the_rows_into_shards_changes_only_rounding(path, weighted, monkeypatch):
    objective, cores = make(n_outputs=2, weighted=weighted)
    (whole,) = objective.shards
    monkeypatch.setattr(LIMITS, "shard_rows", 17)
    parts = build(whole.codes, whole.target, whole.weight, whole.n_codes)
    assert len(parts) == 4
    expected = all_values(objective, cores, path)
    assert all_values(with_shards(objective, parts), cores, path) == pytest.approx(
        expected, rel=1e-10
    )


@pytest.mark.parametrize("path", ["statistics", "rows"])
@pytest.mark.parametrize("residual", ["complex", "real"])
def test_merging_equal_rows_changes_only_rounding(path, residual):
    columns = [("fourier", 4, 2), ("categorical", 3, None)]
    objective, cores = make(
        columns, n_outputs=2, weighted=True, residual=residual, n_values=[4, 1], n_rows=80
    )
    (whole,) = objective.shards
    codes, target, weight, scatter = merge(whole.codes, whole.target, whole.weight)
    assert len(codes) <= 12
    parts = build(codes, target, weight, whole.n_codes)
    merged = with_shards(objective, parts, float(scatter.sum()))
    assert all_values(merged, cores, path) == pytest.approx(
        all_values(objective, cores, path), rel=1e-10
    )


@covered
@pytest.mark.parametrize("path", ["statistics", "rows"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_number_of_threads_changes_no_bit(path, dtype, n_outputs):
    results = []
    for n_jobs in (1, 2, 4):
        objective, cores = make(
            n_rows=2 * TASK_ROWS + 5, n_values=[3, 700, 1], n_outputs=n_outputs, weighted=True,
            n_jobs=n_jobs, dtype=dtype,
        )  # fmt: skip
        iterate = objective.at(cores)
        for block in objective.blocks:
            update(objective, iterate, block, path if block < 2 else "statistics")
        results.append([dense.weights(iterate.cores).tobytes(), objective.value(iterate)])
        objective.engine.close()
    assert results[0] == results[1] == results[2]


def test_the_mean_square_of_other_rows_sees_the_real_part_alone():
    objective, cores = make(n_outputs=2, weighted=True)
    other, _ = make(n_outputs=2, weighted=True, seed=3)
    other.columns = objective.columns  # other rows of the same columns
    parts = [
        type(part)(part.codes % 3, part.target, part.weight, objective.shards[0].n_codes)
        for part in other.shards
    ]
    iterate = objective.at(cores)
    (shard,) = parts
    error = iterate.responses(shard).real - shard.target
    expected = np.average((error**2).sum(axis=1), weights=shard.weight)
    assert objective.mean_square(iterate, parts) == pytest.approx(expected, rel=1e-12)


def test_several_outputs_add_one_block_after_the_columns():
    assert list(make(n_outputs=1)[0].blocks) == [0, 1, 2]
    assert list(make(n_outputs=2)[0].blocks) == [0, 1, 2, 3]


@pytest.mark.parametrize("path", ["statistics", "rows"])
def test_a_path_can_be_forced_for_all_columns_but_categories(path):
    objective, cores = make(path=path)
    assert objective.paths(objective.at(cores)) == [path, path, "statistics"]


def test_statistics_are_chosen_where_a_column_has_few_values_and_rows_are_many():
    objective, cores = make([("fourier", 16, 2)], n_rows=100_000, n_values=[20], residual="real")
    assert objective.paths(objective.at(cores)) == ["statistics"]


def test_statistics_are_avoided_where_all_values_differ_and_they_would_save_nothing():
    objective, cores = make([("fourier", 2, 2), ("power", 2, 2)], n_values=[900, 900], n_rows=500)
    assert "statistics" not in objective.paths(objective.at(cores))


def test_statistics_are_avoided_where_they_would_take_too_much_memory(monkeypatch):
    objective, cores = make([("fourier", 16, 2)], n_rows=100_000, n_values=[20], residual="real")
    monkeypatch.setattr(paths, "STATISTICS_BYTES", 1000)
    assert "statistics" not in objective.paths(objective.at(cores))


def test_few_rows_without_regularization_are_solved_by_the_rows_themselves():
    objective, cores = make([("fourier", 16, 2)], n_rows=500, n_values=[20], alpha=0.0)
    assert objective.paths(objective.at(cores)) == ["rows"]
