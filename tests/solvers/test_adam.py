"""Adam: batches, learning rate, parameters."""

import numpy as np
import pytest

from qtkm.data import Shard
from qtkm.networks import flatten, unflatten
from qtkm.solvers import Adam, Stopping, solve
from qtkm.solvers.adam import automatic_size
from qtkm.solvers.solver import shrink
from tests.problems import make_cores, make_map, make_objective

MAPS = [make_map("fourier", 6), make_map("power", 3)]


def split(objective, *cuts):
    """Cut the only shard of an objective into several."""
    (shard,) = objective.shards
    parts = np.split(np.arange(len(shard)), cuts)
    objective.shards = [shard.take(rows) for rows in parts]
    return objective


def batches(solver, objective, seed=0):
    return list(solver._batches(objective, np.random.default_rng(seed)))


def rows_of(shard: Shard):
    return [(*codes, target[0]) for codes, target in zip(shard.codes, shard.target, strict=True)]


@pytest.mark.parametrize("size", [1, 7, 30, 60, 1000])
@pytest.mark.parametrize("cuts", [(), (10,), (1, 2, 40)])
def test_an_epoch_visits_every_row_once(size, cuts):
    objective = split(make_objective(MAPS), *cuts)
    seen = [
        row for batch in batches(Adam(batch_size=size), objective)
        for shard in batch for row in rows_of(shard)
    ]  # fmt: skip
    assert sorted(seen) == sorted(row for shard in objective.shards for row in rows_of(shard))


def test_batches_are_of_about_equal_size_and_drawn_anew():
    objective = make_objective(MAPS, n_rows=100)
    solver, rng = Adam(batch_size=30), np.random.default_rng(0)
    one, other = (list(solver._batches(objective, rng)) for _ in range(2))
    assert {sum(map(len, batch)) for batch in one} == {25}
    assert rows_of(one[0][0]) != rows_of(other[0][0])


def test_the_mean_gradient_of_an_epoch_is_the_gradient():
    objective = make_objective(MAPS, weighted=True)
    iterate = objective.at(make_cores(objective))
    total, mean = objective.total_weight, 0
    for batch in batches(Adam(batch_size=20), objective):
        weight = sum(shard.weight.sum() for shard in batch)
        mean = mean + weight / total * objective.to_vector(objective.gradient(iterate, batch)[1])
    expected = objective.to_vector(objective.gradient(iterate)[1])
    np.testing.assert_allclose(mean, expected, rtol=1e-10, atol=1e-12)


def test_another_seed_is_another_fit():
    objective = make_objective(MAPS)
    cores = make_cores(objective)
    one, same, other = (
        solve(Adam(batch_size=20, seed=seed), objective, cores, Stopping(3, 0.0)).cores
        for seed in (0, 0, 1)
    )
    assert flatten(one)[0].tobytes() == flatten(same)[0].tobytes()
    assert flatten(one)[0].tobytes() != flatten(other)[0].tobytes()


def test_the_first_step_is_as_long_as_the_learning_rate():
    objective = make_objective(MAPS)
    cores = make_cores(objective)
    cores = unflatten(
        cores, [0.2 * core for core in flatten(cores)]
    )  # small enough to be left alone
    solver = Adam(learning_rate=1e-3, batch_size=60)
    result = solve(solver, objective, cores, Stopping(1, 0.0))
    change = objective.to_vector(result.cores) - objective.to_vector(cores)
    np.testing.assert_allclose(np.abs(change), 1e-3, rtol=1e-3)


def test_the_learning_rate_is_halved_where_it_is_too_large():
    objective = make_objective(MAPS)
    result = solve(Adam(0.5), objective, make_cores(objective), Stopping(100, 0.0))
    rates = np.array(result.history.records["learning_rate"])
    assert rates[0] == 0.5
    assert set(rates[1:] / rates[:-1]) == {1.0, 0.5}
    values = result.history.objective
    assert min(values[50:]) < min(values[:50])


def test_a_learning_rate_beyond_all_bounds_fails_and_gives_the_start_back():
    objective = make_objective(MAPS)
    cores = make_cores(objective)
    result = solve(Adam(1e200), objective, cores, Stopping(5, 0.0))
    assert result.status == "failed"
    assert result.cores is cores


def test_a_start_with_responses_far_above_the_targets_is_shrunk_evenly():
    objective = make_objective(MAPS)
    cores = make_cores(objective)
    large = unflatten(cores, [3 * core for core in flatten(cores)])
    shrunk = shrink(objective, large)
    factors = [a / b for a, b in zip(flatten(shrunk), flatten(large), strict=True)]
    np.testing.assert_allclose(np.concatenate([f.ravel() for f in factors]), factors[0][0, 0])
    square = np.mean(np.abs(objective.kept_responses(objective.at(shrunk))[0]) ** 2)
    assert square == pytest.approx(objective.constant)
    again = shrink(objective, shrunk)
    np.testing.assert_allclose(flatten(again)[0], flatten(shrunk)[0], rtol=1e-12)


def test_a_start_that_shrinking_would_not_better_is_left_alone():
    objective = make_objective(MAPS, alpha=0.0)
    cores = make_cores(objective)
    (shard,) = objective.shards
    response = objective.at(cores).responses(shard).real
    objective.shards = [shard.reweighted(None, response)]
    objective.constant = 1e-3 * objective.constant  # what the targets are said to be
    assert shrink(objective, cores) is cores


@pytest.mark.parametrize(
    ("n_rows", "n_grid", "size"),
    [
        (100, [10], 16),
        (10_000, [100, 200], 312),
        (10_000, [100, 1000], 1000),  # tables of 1000 grid values want as many rows
        (10_000, [9000], 1250),  # but an epoch has at least 8 steps
        (10**7, [1000], 65536),
    ],
)
def test_batches_are_as_large_as_tables_and_memory_like(n_rows, n_grid, size):
    assert automatic_size(n_rows, n_grid) == size


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("learning_rate", 0, "learning_rate=0 must be a finite number > 0; 0.01 is usual"),
        ("learning_rate", np.inf, "learning_rate=inf must be"),
        ("learning_rate", "fast", "learning_rate='fast' must be"),
        ("batch_size", 0, "batch_size=0 must be an integer >= 1, or 'auto'"),
        ("batch_size", "all", "batch_size='all' must be an integer"),
        ("beta_1", 1, "beta_1=1 must be a number >= 0 and < 1; 0.9 is usual"),
        ("beta_2", -0.1, "beta_2=-0.1 must be"),
        ("epsilon", None, "epsilon=None must be"),
        ("epsilon", True, "epsilon=True must be"),
        ("seed", -1, "seed=-1 must be an integer >= 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        Adam().set_params(**{name: value}).check()


def test_parameters_of_numpy_pass():
    Adam(np.float32(0.1), np.int64(5), beta_1=0, seed=np.uint8(3)).check()
