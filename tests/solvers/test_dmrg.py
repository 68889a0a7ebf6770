"""Two-site updates of trains: ranks, truncation and what is written down of them."""

from dataclasses import replace

import numpy as np
import pytest

from qtkm import QTKMRegressor
from qtkm.limits import LIMITS
from qtkm.networks import CPD, TensorTrain, flatten
from qtkm.penalties import REGISTRY as PENALTIES
from qtkm.solvers import ALS, DMRG, Stopping, solve
from tests import dense
from tests.covering import covered
from tests.problems import (
    Bumps,
    Chirps,
    make_cores,
    make_map,
    make_objective,
    make_penalty,
    use_loops,
)

MAPS = [make_map("fourier", 8), make_map("power", 4), make_map("categorical", 3)]
#: maps of a user's own, all of whose products of functions differ
OWN = [Chirps(), Bumps([2, 3])]


def make(maps=MAPS, rank=2, **parameters):
    return make_objective(maps, network=TensorTrain(rank), n_rows=100, **parameters)


def ranks_of(cores):
    return [core.shape[2] for core in flatten(cores)[:-1]]


def value(objective, cores):
    """The objective from its definition, whatever the ranks have become."""
    return dense.value(replace(objective, network=objective.network.fitted_to(cores)), cores)


def fit(objective, epochs=4, **parameters):
    return solve(DMRG(**parameters), objective, make_cores(objective), Stopping(epochs, 0.0))


def test_ranks_grow_where_the_data_ask_for_it_and_stay_below_the_largest():
    result = fit(make(rank=1), max_rank=3)
    assert max(ranks_of(result.cores)) == 3


def test_ranks_shrink_where_little_would_be_left_out():
    result = fit(make(rank=3), tol=0.5)
    assert sum(ranks_of(result.cores)) < sum(ranks_of(fit(make(rank=3), tol=0).cores))


def test_without_a_largest_rank_it_is_that_of_the_start():
    result = fit(make(rank=2), tol=0)
    assert max(ranks_of(result.cores)) == 2


def test_larger_ranks_reach_a_lower_objective():
    low, high = (fit(make(), max_rank=r).history.objective[-1] for r in (1, 4))
    assert high < low


def test_the_history_has_the_ranks_and_the_price_of_truncation_of_every_epoch():
    result = fit(make(), max_rank=3)
    records = result.history.records
    assert records["ranks"][-1] == ranks_of(result.cores)
    assert len(records["truncation"]) == 4
    assert all(cost >= 0 for cost in records["truncation"])
    assert fit(make(), max_rank=1).history.records["truncation"][0] > 0


def test_nothing_is_paid_where_nothing_is_left_out():
    result = fit(make(), max_rank=50, tol=0)
    assert max(result.history.records["truncation"]) < 1e-9


@covered
@pytest.mark.parametrize("penalty", [None, *PENALTIES])
@pytest.mark.parametrize("maps", [MAPS, OWN], ids=["mixed", "own"])
@pytest.mark.parametrize("residual", ["complex", "real"])
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("loops", ["numpy", "compiled"])
def test_the_objective_never_rises_and_is_the_one_reported(
    penalty, maps, residual, n_outputs, loops, monkeypatch
):
    use_loops(monkeypatch, loops)
    chosen = None if penalty is None else make_penalty(penalty)
    objective = make(maps, residual=residual, n_outputs=n_outputs, weighted=True, penalty=chosen)
    result = fit(objective, max_rank=3)
    told = result.history.objective
    assert told, result.message
    if penalty is None or penalty == "ridge":  # else learning may take back part of an update
        assert np.all(np.diff(result.history.objective_updates) <= 1e-9 * told[0])
    assert np.all(np.diff(told) <= 1e-9 * told[0])
    learned = replace(objective, penalties=objective.learned_penalties(result.precisions))
    assert told[-1] == pytest.approx(value(learned, result.cores), rel=1e-7)


def test_with_full_ranks_one_epoch_is_the_best_of_all_trains():
    maps = [make_map("power", 4), make_map("power", 2)]
    objective = make(maps, rank=1, alpha=0.1)
    best = fit(objective, epochs=30, max_rank=10, tol=0).history.objective[-1]
    phi, target, weight = dense.rows(objective)
    matrix = phi.T @ (weight[:, None] * phi) / weight.sum() + 0.1 * np.eye(phi.shape[1])
    ridge = np.linalg.solve(matrix, phi.T @ (weight[:, None] * target) / weight.sum())
    error = weight @ (phi @ ridge - target)[:, 0] ** 2 / weight.sum()
    assert best == pytest.approx(error + 0.1 * np.sum(ridge**2), rel=1e-8)


def test_a_pair_that_is_too_large_keeps_its_bond():
    maps = [make_map("categorical", 60), make_map("categorical", 50)]
    objective = make(maps, rank=2)
    result = fit(objective, max_rank=5)
    assert ranks_of(result.cores) == [2]
    assert result.history.objective[-1] < dense.value(objective, make_cores(objective))


def test_a_fit_goes_on_from_adapted_ranks():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(300, 2))
    y = np.sin(5 * X[:, 0] * X[:, 1])
    settings = {"network": "train", "rank": 1, "n_basis": 8, "random_state": 0, "max_iter": 3}
    model = QTKMRegressor(solver=DMRG(max_rank=4), warm_start=True, **settings).fit(X, y)
    assert model.rank_ == ranks_of(model.cores_)
    assert max(model.rank_) > 1
    before = model.history_["objective"][-1]
    model.set_params(solver="als", rank="auto").fit(X, y)
    assert model.history_["objective"][-1] <= before * (1 + 1e-9)
    assert model.predict(X).shape == (300,)


def test_a_network_that_is_no_train_is_refused_with_what_fits():
    X, y = np.random.default_rng(0).uniform(size=(2, 50, 1))
    with pytest.raises(ValueError, match=r"'dmrg'.*'als', 'adam', 'lbfgs', 'gauss_newton'"):
        QTKMRegressor(network=CPD(2), solver="dmrg").fit(X, y[:, 0])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_rank": 0}, "max_rank=0 must be an integer >= 1"),
        ({"max_rank": 2.5}, "max_rank=2.5 must be an integer >= 1"),
        ({"tol": -0.1}, "tol=-0.1 must be a number >= 0 and < 1"),
        ({"tol": "small"}, "tol='small' must be a number"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        DMRG(**parameters).check()


def test_alternating_least_squares_goes_on_where_it_ends():
    objective = make()
    result = fit(objective, max_rank=3)
    after = solve(ALS(), objective, result.cores, Stopping(3, 0.0))
    assert after.history.objective[-1] <= result.history.objective[-1] * (1 + 1e-9)


def test_pairs_of_a_column_too_wide_for_moments_are_solved_from_its_statistics(monkeypatch):
    objective = make(MAPS[:2], n_values=[3, 3])
    expected = fit(objective, 2, tol=0).history.objective_updates
    monkeypatch.setattr(LIMITS, "most_moments", 1)
    np.testing.assert_allclose(fit(objective, 2, tol=0).history.objective_updates, expected, 1e-8)
