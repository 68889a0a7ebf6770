"""One Fourier column from its lags: the same updates as from the rows."""

from dataclasses import replace

import numpy as np
import pytest

from qtkm import QTKMRegressor
from qtkm.data import shards
from qtkm.networks import cpd_lags
from qtkm.networks import lags as lags_module
from qtkm.networks.lags import Lags, power_sums
from tests import dense
from tests.problems import make_cores, make_map, make_objective, update

MODELS = {
    "base 2": (32, 2),
    "base 3": (27, 3),
    "primes": (60, "prime"),
    "uneven": (24, [2, 3, 4]),
    "two large levels": (64, [8, 8]),
    "odd": (15, [5, 3]),
    "not quantized": (9, None),
    "two functions": (2, 2),
    "one function": (1, 2),
}

each_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
each_weight = pytest.mark.parametrize("weighted", [False, True])
#: lines from the second level on, from a later one, and none at all
each_memory = pytest.mark.parametrize("line_bytes", [10**8, 3000, 0], indirect=True)


@pytest.fixture
def line_bytes(request, monkeypatch):
    monkeypatch.setattr(cpd_lags, "LINE_BYTES", request.param)
    monkeypatch.setattr(cpd_lags, "LINE_POINTS", 0)


def make(model, rank=2, n_rows=300, **parameters):
    maps = [make_map("fourier", *model)]
    objective = make_objective(maps, n_rows=n_rows, n_values=[n_rows], rank=rank, **parameters)
    return objective, make_cores(objective)


def run(function, tasks):
    return [function(task) for task in tasks]


def assert_close(cores, expected, atol):
    for core, other in zip(cores[0], expected[0], strict=True):
        np.testing.assert_allclose(core, other, rtol=0, atol=atol)


@each_model
def test_the_turns_of_a_column_give_its_basis(model):
    column = make(model)[0].columns[0]
    n_basis = column.feature_map.n_features
    frequencies = np.arange(n_basis) - n_basis // 2
    expected = np.exp(2j * np.pi * np.outer(column.turns, frequencies))
    np.testing.assert_allclose(column.feature_map.features(column.values), expected, atol=1e-11)


@pytest.mark.parametrize("name", ["power", "categorical"])
def test_other_columns_have_no_turns(name):
    assert make_objective([make_map(name, 4)]).columns[0].turns is None


@pytest.mark.parametrize("count", [1, 2, 5, 16, 4097])
def test_power_sums_are_exact_for_large_lags_too(count, monkeypatch):
    monkeypatch.setattr(lags_module, "TASK_VALUES", 7)
    rng = np.random.default_rng(0)
    numerators = rng.integers(2**40, size=30)
    weight, target = rng.normal(size=(2, 30))
    lags, target_lags = power_sums(numerators / 2**40, weight, target, count, run)
    # whole numbers leave no rounding in the angle
    angles = np.multiply.outer(np.arange(count), numerators) % 2**40 / 2**40
    powers = np.exp(2j * np.pi * angles)
    np.testing.assert_allclose(lags, powers @ weight, atol=1e-13)
    np.testing.assert_allclose(target_lags, (powers @ target)[: count // 2 + 1], atol=1e-13)


@each_model
@each_weight
def test_lags_hold_the_gram_matrix_and_the_products_of_the_basis(model, weighted):
    objective, _ = make(model, weighted=weighted)
    phi, target, weight = dense.rows(objective)
    lags = Lags(objective.columns[0], objective.setting, run)
    gram = phi.conj().T @ (weight[:, None] * phi)
    first = np.fft.ifft(lags.spectra(0)[0], norm="forward")[: len(gram)]
    np.testing.assert_allclose(first, gram[0], atol=1e-10)
    np.testing.assert_allclose(lags.targets, phi.T @ (weight * target[:, 0]), atol=1e-10)


@each_model
@each_weight
@each_memory
@pytest.mark.parametrize("alpha", [0, 1e-3])
def test_an_epoch_from_lags_is_that_from_the_rows(model, weighted, line_bytes, alpha):
    objective, cores = make(model, weighted=weighted, alpha=alpha)
    by_lags, by_rows = objective.at(cores), objective.at(cores)
    values = update(objective, by_lags, 0, "lags")
    assert values == pytest.approx(update(objective, by_rows, 0, "rows"), rel=1e-10)
    assert_close(by_lags.cores, by_rows.cores, 1e-8)
    assert values[-1] == pytest.approx(dense.value(objective, by_lags.cores), rel=1e-10)


@pytest.mark.parametrize(("rank", "expected"), [(5, 1), (25, 2), (50, 4), (100, 5), (200, 5)])
def test_lines_begin_where_memory_allows_it(rank, expected):
    radices = (2,) * 13
    assert cpd_lags.first_line(radices, rank) == expected
    assert 8 * cpd_lags.numbers_held(radices, rank) < 500e6


@each_memory
@pytest.mark.parametrize("rank", [1, 4, 9])
def test_any_rank_is_served(rank, line_bytes):
    objective, cores = make((128, 2), rank, n_rows=600, alpha=1e-2)
    by_lags, by_rows = objective.at(cores), objective.at(cores)
    values = update(objective, by_lags, 0, "lags")
    assert values == pytest.approx(update(objective, by_rows, 0, "rows"), rel=1e-10)
    assert_close(by_lags.cores, by_rows.cores, 1e-8)


@each_memory
@pytest.mark.parametrize("alpha", [0, 1e-3])
def test_every_level_reaches_its_minimum(alpha, line_bytes):
    objective, cores = make((24, [2, 3, 4]), alpha=alpha, weighted=True)
    problem = objective.problem(objective.at(cores), 0, "lags")
    for level in range(problem.n_levels):
        expected, minimum = dense.best_core(objective, [problem.cores], 0, level)
        core, value = problem.system(level).minimize(problem.cores[level])
        assert value == pytest.approx(minimum, rel=1e-10)
        np.testing.assert_allclose(core, expected, atol=1e-8 * np.abs(expected).max())
        problem.accept(level, core)


@pytest.mark.parametrize("alpha", [0, 1e-300, 1e-14])
def test_fewer_rows_than_functions_are_fitted_all_the_same(alpha):
    objective, cores = make((64, 2), rank=6, n_rows=12, alpha=alpha)
    iterate, values = objective.at(cores), []
    phi, target, _ = dense.rows(objective)
    best = phi @ np.linalg.lstsq(phi, target, rcond=1e-12)[0]  # nothing is below it
    minimum = np.mean(np.abs(best - target) ** 2)
    for _ in range(6):
        values += update(objective, iterate, 0, "lags")
    assert (np.diff(values) < 1e-12).all()
    assert minimum - 1e-12 < values[-1] < minimum + 1e-8
    assert values[-1] == pytest.approx(dense.value(objective, iterate.cores), abs=1e-10)


def test_further_sweeps_go_on_as_repeated_updates_would():
    objective, cores = make((32, 2), alpha=1e-3)
    once, again = objective.at(cores), objective.at(cores)
    values = objective.update(once, 0, "lags", sweeps=3)
    expected = [value for _ in range(3) for value in update(objective, again, 0, "lags")]
    assert values == pytest.approx(expected, rel=1e-9)


def test_shards_are_added(monkeypatch):
    objective, cores = make((32, 2), weighted=True)
    monkeypatch.setattr(shards, "SHARD_ROWS", 100)
    several, _ = make((32, 2), weighted=True)
    assert len(several.shards) == 3
    one, other = objective.at(cores), several.at(cores)
    assert update(several, other, 0, "lags") == pytest.approx(update(objective, one, 0, "lags"))
    assert_close(other.cores, one.cores, 1e-9)


@each_memory
def test_the_number_of_threads_does_not_change_a_bit(line_bytes, monkeypatch):
    monkeypatch.setattr(cpd_lags, "TASK_NUMBERS", 200)
    monkeypatch.setattr(cpd_lags, "TASK_POINTS", 16)
    monkeypatch.setattr(lags_module, "TASK_VALUES", 50)
    results = []
    for n_jobs in (1, 2, 3):
        objective, cores = make((64, 2), rank=9, alpha=0, n_jobs=n_jobs)
        iterate = objective.at(cores)
        update(objective, iterate, 0, "lags")
        results.append(np.concatenate(iterate.cores[0]))
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_lags_of_other_rows_are_not_taken_for_those_of_the_fit():
    first, cores = make((32, 2))
    (shard,) = first.shards
    second = replace(first, shards=[shard.reweighted(np.ones(len(shard)), shard.target**2)])
    iterate, fresh = first.at(cores), second.at(cores)
    first.problem(iterate, 0, "lags")
    assert update(second, iterate, 0, "lags") == update(second, fresh, 0, "lags")


def test_two_problems_at_a_time_do_not_disturb_each_other():
    objective, cores = make((32, 2))
    expected = update(objective, objective.at(cores), 0, "lags")
    first = objective.problem(objective.at(cores), 0, "lags")
    second = objective.problem(objective.at(make_cores(objective, seed=2)), 0, "lags")
    values = []
    for level in range(first.n_levels):
        core, value = first.system(level).minimize(first.cores[level])
        first.accept(level, core)
        second.accept(level, second.cores[level])
        values.append(value)
    assert values == expected


REFUSED = {
    "more than one column": {"maps": [make_map("fourier", 4), make_map("fourier", 4)]},
    "not of Fourier features": {"maps": [make_map("power", 4)]},
    "2 outputs": {"n_outputs": 2},
    "a loss that is not quadratic": {"loss": "logistic"},
    "the real part of the response": {"residual": "real"},
    "tables of float32": {"dtype": np.float32},
}


@pytest.mark.parametrize(("reason", "parameters"), REFUSED.items(), ids=REFUSED)
def test_lags_are_refused_where_they_cannot_serve_and_never_chosen(reason, parameters):
    given = {"maps": [make_map("fourier", 8)], "n_rows": 4000} | parameters
    objective = make_objective(**given, path="lags")
    iterate = objective.at(make_cores(objective))
    with pytest.raises(ValueError, match=f"path='lags' was given with .*{reason}.*path='auto'"):
        objective.paths(iterate)
    if objective.loss.is_quadratic:
        with pytest.raises(ValueError, match=reason):
            objective.problem(iterate, 0, "lags")
    assert "lags" not in make_objective(**given).paths(iterate)


@pytest.mark.parametrize(("n_rows", "alpha", "chosen"), [
    (30_000, 0, True), (30_000, 1e-3, True), (50, 1e-3, False), (1500, 0, False),
])  # fmt: skip
def test_lags_are_chosen_for_many_rows(n_rows, alpha, chosen):
    objective, cores = make((32, 2), rank=5, n_rows=n_rows, alpha=alpha)
    assert (objective.paths(objective.at(cores)) == ["lags"]) == chosen


def test_a_fit_from_lags_finds_the_least_squares_solution_at_full_rank():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(9000, 1))
    y = np.sin(9 * X[:, 0]) + 0.1 * rng.normal(size=9000)
    model = QTKMRegressor(
        n_basis=8, period=2, quantization=[2, 4], rank=2, alpha=1e-4, max_bins=None, tol=1e-14,
        max_iter=500, normalize_y=False, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert model.columns_[0]["path"] == "lags"
    unit = (X[:, 0] - X.min()) / (X.max() - X.min())
    phi = np.exp(1j * np.pi * np.outer(unit, np.arange(8) - 4))
    gram = phi.conj().T @ phi / len(y) + 1e-4 * np.eye(8)
    expected = phi @ np.linalg.solve(gram, phi.conj().T @ y / len(y))
    np.testing.assert_allclose(model.predict(X), expected.real, atol=1e-5)
