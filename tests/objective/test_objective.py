"""The objective as a sum over rows: shards, merging, threads."""

import numpy as np
import pytest

from qtkm.data import TASK_ROWS, ShardList, merge
from qtkm.features import Categorical, Fourier, Power, WithGaps
from qtkm.limits import LIMITS
from qtkm.losses import Squared
from qtkm.objective import Objective
from qtkm.penalties import RBF, Matern
from tests import dense
from tests.coded import build
from tests.covering import covered
from tests.problems import make_cores, make_map, make_objective, update, use_loops

MIXED = [("fourier", 4, 2), ("power", 4, 2), ("categorical", 3, None)]


def make(columns=MIXED, **parameters):
    objective = make_objective([make_map(*column) for column in columns], **parameters)
    return objective, make_cores(objective)


def with_shards(objective, parts):
    """Build the same objective over other shards."""
    return Objective(
        objective.columns, parts, objective.network, objective.loss, objective.engine,
        objective.alpha,
    )  # fmt: skip


def all_values(objective, cores):
    iterate = objective.at(cores)
    values = [objective.value(iterate)]
    for block in objective.blocks:
        values += update(objective, iterate, block)
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
    norm = iterate.penalty()
    assert objective.mean_loss(iterate) == pytest.approx(expected - 0.3 * norm, rel=1e-9)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_constant_is_the_objective_of_no_weights_at_all(n_outputs):
    objective, cores = make(n_outputs=n_outputs, weighted=True)
    zero = dense.replace(cores, 0, 0, np.zeros_like(cores[0][0]))
    assert objective.value(objective.at(zero)) == pytest.approx(objective.constant, rel=1e-12)


@pytest.mark.usefixtures("loops")
@pytest.mark.parametrize("weighted", [False, True])
def test_cutting_the_rows_into_shards_changes_only_rounding(weighted, monkeypatch):
    objective, cores = make(n_outputs=2, weighted=weighted)
    (whole,) = objective.shards
    monkeypatch.setattr(LIMITS, "shard_rows", 17)
    parts = build(whole.codes, whole.target, whole.weight, whole.n_codes)
    assert len(parts) == 4
    expected = all_values(objective, cores)
    assert all_values(with_shards(objective, parts), cores) == pytest.approx(expected, rel=1e-10)


@pytest.mark.usefixtures("loops")
@pytest.mark.parametrize("residual", ["complex", "real"])
def test_merging_equal_rows_changes_only_rounding(residual):
    columns = [("fourier", 4, 2), ("categorical", 3, None)]
    objective, cores = make(
        columns, n_outputs=2, weighted=True, residual=residual, n_values=[4, 1], n_rows=80
    )
    (whole,) = objective.shards
    twice = whole.take(np.repeat(np.arange(80), 2))
    codes, target, weight = merge(twice.codes, twice.target, twice.weight)
    assert len(codes) == 80
    objective = with_shards(objective, ShardList([twice]))
    merged = with_shards(objective, build(codes, target, weight, whole.n_codes))
    assert all_values(merged, cores) == pytest.approx(all_values(objective, cores), rel=1e-10)


@covered
@pytest.mark.parametrize("network", ["cpd", "train", "ring"])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_smoother_weights_are_scaled_by_the_root_of_their_prior_variance(network, n_outputs):
    maps = [Fourier(5, 2.0, None), Power(4, None), Categorical(3, pooled=True), Categorical(2)]
    objective = make_objective(maps, penalty=Matern(), network=network, n_outputs=n_outputs)
    cores, sizes = make_cores(objective), np.ones(1)
    for feature_map, precision in zip(maps, objective.precisions, strict=True):
        ratio = 1 if precision is None else np.sqrt(precision.min() / precision)
        sizes = np.outer(sizes, ratio * np.ones(feature_map.n_features)).ravel()
    expected = sizes[:, None] * dense.tensor(objective, cores)
    found = dense.tensor(objective, objective.smoothed(cores))
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("network", ["cpd", "train"])
def test_smoother_weights_of_digits_cost_less(network):
    maps = [WithGaps(Fourier(27, 2.0, "auto"), 0.3), Fourier(16, 2.0, 2)]
    objective = make_objective(maps, penalty=RBF(), network=network)
    cores = make_cores(objective)
    price, smoother = (objective.penalty(objective.at(c)) for c in (
        cores, objective.smoothed(cores)))  # fmt: skip
    assert smoother < 1e-3 * price


@pytest.mark.parametrize("loops", ["numpy", "compiled"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_the_number_of_threads_changes_no_bit(loops, dtype, n_outputs, monkeypatch):
    use_loops(monkeypatch, loops)
    results = []
    for n_jobs in (1, 3):
        objective, cores = make(
            n_rows=2 * TASK_ROWS + 5, n_values=[3, 700, 1], n_outputs=n_outputs, weighted=True,
            n_jobs=n_jobs, dtype=dtype,
        )  # fmt: skip
        iterate = objective.at(cores)
        for block in objective.blocks:
            update(objective, iterate, block)
        results.append([dense.weights(iterate.cores).tobytes(), objective.value(iterate)])
        objective.engine.close()
    assert results[0] == results[1]


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
    assert objective.mean_loss(iterate, parts, Squared("real")) == pytest.approx(
        expected, rel=1e-12
    )


def test_several_outputs_add_one_block_after_the_columns():
    assert list(make(n_outputs=1)[0].blocks) == [0, 1, 2]
    assert list(make(n_outputs=2)[0].blocks) == [0, 1, 2, 3]
