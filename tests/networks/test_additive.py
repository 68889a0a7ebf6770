"""Main effects beside networks: values, derivatives, updates, and what users see of them."""

import numpy as np
import pytest
from sklearn.linear_model import RidgeCV

import qtkm
from qtkm import QTKMClassifier, QTKMRegressor
from qtkm.solvers import check_gradient


def table(n_rows=150, seed=0):
    """An additive part, an interaction, and a column of categories."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 3))
    X[:, 2] = rng.integers(3, size=n_rows)
    additive = np.sin(5 * X[:, 0]) + np.array([0.0, 1.0, -1.0])[X[:, 2].astype(int)]
    return X, additive, additive + 2 * (X[:, 0] - 0.5) * (X[:, 1] - 0.5)


def settings(**more):
    return {"n_basis": 9, "period": 2.0, "quantization": 3, "rank": 2, "alpha": 1e-4,
            "penalty": "matern", "main_effects": True, "categorical_features": [2],
            "random_state": 0, "n_jobs": 1} | more  # fmt: skip


NETWORKS = [{"rank": 0}, {}, {"network": "train"}, {"network": "ring"}, {"network": "tucker"}]


@pytest.mark.parametrize("more", NETWORKS, ids=str)
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_objective_never_rises_and_is_what_updates_say(more, loss):
    X, _, y = table()
    kind = QTKMRegressor if loss == "squared" else QTKMClassifier
    model = kind(**settings(max_iter=4, tol=0, loss=loss, **more))
    target = y if loss == "squared" else y > 0
    with model._prepare(X, target) as prepared:
        objective = prepared.objective
        iterate = objective.at(prepared.start("smooth"))
        last = objective.value(iterate)
        for block in [*objective.blocks] * 2:
            value = objective.update(iterate, block)[-1]
            assert value <= last + 1e-10
            assert value == pytest.approx(objective.value(iterate), rel=1e-8)
            last = value


@pytest.mark.parametrize("more", NETWORKS, ids=str)
@pytest.mark.parametrize("columns", [1, 2])
def test_gradients_and_curvature_are_right(more, columns):
    X, _, y = table(40)
    model = QTKMRegressor(**settings(**more))
    found = check_gradient(model, X, np.column_stack([y, y**2])[:, :columns])
    assert found.ok, found


@pytest.mark.parametrize("more", NETWORKS, ids=str)
def test_predictions_are_the_responses_of_the_fit(more, tmp_path):
    X, _, y = table()
    model = QTKMRegressor(**settings(max_iter=3, **more)).fit(X, y)
    with model._prepare(X, y) as prepared:
        objective = prepared.objective
        (shard,) = objective.shards
        response = objective.at(model.cores_).responses(shard)
    again = np.sort(prepared.reading.scale.undo(response.real)[:, 0])
    np.testing.assert_allclose(again, np.sort(model.predict(X)), atol=1e-9)
    model.save(tmp_path / "model.qtkm")
    loaded = qtkm.load(tmp_path / "model.qtkm")
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert "main effects of 3 columns" in model.summary()


def test_rank_zero_is_an_additive_model():
    X, additive, y = table(300)
    model = QTKMRegressor(**settings(rank=0)).fit(X, y)
    assert model.rank_ == 0
    assert np.mean((model.predict(X) - additive) ** 2) < 0.1 * np.mean((y - additive) ** 2)
    assert model.n_real_parameters_ == model.n_parameters_


def test_an_interaction_is_left_to_the_network():
    X, _, y = table(300)
    alone, beside = (QTKMRegressor(**settings(rank=rank)).fit(X, y) for rank in (0, 2))
    assert np.var(y - beside.predict(X)) < 0.05 * np.var(y - alone.predict(X))


def test_a_linear_truth_is_found_as_well_as_by_ridge_regression():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1100, 10))
    y = X @ np.r_[1, 0.5, 0.5, -1, np.zeros(6)] + rng.standard_normal(1100)
    train, test = slice(100), slice(100, None)
    model = QTKMRegressor(rank=0, main_effects=True, n_jobs=1).fit(X[train], y[train])
    ridge = RidgeCV().fit(X[train], y[train])
    error, expected = (np.mean((m.predict(X[test]) - y[test]) ** 2) for m in (model, ridge))
    assert error < 1.05 * expected


def test_noise_is_not_fitted():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 8)), rng.standard_normal(150)
    model = QTKMRegressor(rank=0, main_effects=True, n_jobs=1).fit(X, y)
    assert model.score(rng.standard_normal((1000, 8)), rng.standard_normal(1000)) > -0.05


def test_weights_count_rows():
    X, _, y = table(60)
    weight = np.arange(60) % 3
    rows = np.repeat(np.arange(60), weight)
    weighted = QTKMRegressor(**settings(max_iter=3)).fit(X, y, weight)
    repeated = QTKMRegressor(**settings(max_iter=3)).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), atol=1e-8)


@pytest.mark.parametrize("solver", ["lbfgs", "gauss_newton", "adam"])
def test_other_solvers_fit_them_too(solver):
    X, additive, y = table()
    model = QTKMRegressor(**settings(solver=solver, max_iter=5)).fit(X, y)
    assert np.var(y - model.predict(X)) < 1.1 * np.var(y - additive)


def test_rows_on_disk_give_the_same_model(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, _, y = table()
    frame = pandas.DataFrame(X, columns=["a", "b", "c"]).assign(y=y)
    frame.to_parquet(tmp_path / "rows.parquet")
    here = QTKMRegressor(**settings(max_iter=3)).fit(frame[["a", "b", "c"]], y)
    there = QTKMRegressor(**settings(max_iter=3))
    there.fit_dataset(tmp_path / "rows.parquet", target="y")
    rows = frame[["a", "b", "c"]]
    np.testing.assert_array_equal(here.predict(rows), there.predict(rows))


def test_shards_that_are_not_here_give_the_same_sums(monkeypatch):
    from qtkm.objective import Objective

    X, _, y = table()
    here = QTKMRegressor(**settings(max_iter=3)).fit(X, y)
    monkeypatch.setattr(Objective, "rows_are_here", property(lambda self: False))
    there = QTKMRegressor(**settings(max_iter=3)).fit(X, y)
    np.testing.assert_allclose(there.predict(X), here.predict(X), atol=1e-8)


def test_a_further_fit_goes_on():
    X, _, y = table()
    model = QTKMRegressor(**settings(max_iter=3, tol=0, warm_start=True)).fit(X, y)
    last = model.history_["objective"][-1]
    assert model.fit(X, y).history_["objective"][-1] <= last + 1e-6


def test_rank_zero_needs_main_effects():
    X, _, y = table()
    with pytest.raises(ValueError, match="rank=0 must be an integer >= 1"):
        QTKMRegressor(rank=0, main_effects=False).fit(X, y)


@pytest.mark.parametrize("solver", ["dmrg", "riemannian"])
def test_solvers_of_trains_alone_refuse_main_effects(solver):
    model = QTKMRegressor(main_effects=True, network="train", solver=solver)
    with pytest.raises(
        ValueError, match="not support main effects; use main_effects=False, or one"
    ):
        model.fit(np.random.default_rng(0).uniform(size=(20, 2)), np.arange(20.0))
