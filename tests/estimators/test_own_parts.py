"""Losses, solvers and feature maps of one's own: they work, and mistakes in them are told."""

import numpy as np
import pytest

from qtkm import QTKMRegressor, check_gradient, solvers
from qtkm.features import FeatureMap
from qtkm.losses import Loss
from qtkm.solvers import ALS, Solver, State

SETTINGS = {
    "penalty": "ridge",
    "rank": 2,
    "n_basis": 4,
    "period": 2.0,
    "alpha": 1e-4,
    "random_state": 0,
}


class Poisson(Loss):
    """exp(Re f) - y Re f."""

    normalizes_target = False

    def value(self, response, target):
        return (np.exp(response.real) - target * response.real).sum(axis=1)

    def gradient(self, response, target):
        return np.exp(response.real) - target


class WrongSign(Poisson):
    def gradient(self, response, target):
        return -super().gradient(response, target)


class Descent(Solver):
    """Steepest descent with halved steps."""

    state = State

    def start(self, objective, cores):
        return State(objective.at(cores))

    def step(self, objective, state, report):
        value, gradient = objective.gradient(state.iterate)
        vector = objective.to_vector(state.iterate.snapshot())
        slope, length = objective.to_vector(gradient), 1.0
        while length > 1e-12:
            trial = objective.at(objective.from_vector(vector - length * slope))
            if objective.value(trial) < value:
                state = State(trial)
                break
            length /= 2
        report(state.iterate.snapshot(), [objective.value(state.iterate)])
        return state


class Tent(FeatureMap):
    """1 and 1 - |2x - 1|."""

    def __init__(self, wrong=""):
        self.wrong = wrong

    @property
    def radices(self):
        return (2,)

    def factors(self, values):
        tent = 1 - np.abs(2 * values - 1)
        if self.wrong == "width":
            return tent[:, None]
        return np.column_stack([np.ones_like(tent), tent * (1j if self.wrong == "complex" else 1)])


@pytest.fixture(scope="module")
def counts():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 2))
    rate = 1.5 * np.sin(3 * X[:, 0]) * X[:, 1]
    return X, rng.poisson(np.exp(rate)), rate


def test_a_loss_of_counts_sees_them_as_they_are(counts):
    X, y, rate = counts
    model = QTKMRegressor(loss=Poisson(), solver="lbfgs", max_iter=60, tol=0, **SETTINGS).fit(X, y)
    assert np.abs(model.predict(X) - rate).mean() < 0.2
    assert np.corrcoef(model.predict(X), rate)[0, 1] > 0.9


def test_early_stopping_judges_by_the_loss(counts):
    X, y, _ = counts
    settings = SETTINGS | {"solver": "lbfgs", "max_iter": 5, "tol": 0, "early_stopping": True}
    model = QTKMRegressor(loss=Poisson(), validation_fraction=0.5, **settings).fit(X, y)
    scores = model.history_["validation_score"]
    # that of rates of 1, exp(0) - 0, is -1; R² would be near 0
    assert scores[0] < max(scores)
    assert -1 < max(scores) < 0


def test_a_residual_that_no_one_reads_is_an_error(counts):
    X, y, _ = counts
    with pytest.raises(ValueError, match="residual='real' only applies to the squared loss"):
        QTKMRegressor(loss=Poisson(), residual="real", solver="lbfgs", **SETTINGS).fit(X, y)


def test_what_a_loss_lacks_is_told_by_name(counts):
    X, y, _ = counts
    with pytest.raises(
        NotImplementedError, match=r"Poisson has no .* use a solver that only needs grad"
    ):
        QTKMRegressor(loss=Poisson(), **SETTINGS).fit(X, y)


def test_gradients_of_a_model_are_checked(counts):
    X, y, _ = counts
    found = check_gradient(QTKMRegressor(loss=Poisson(), **SETTINGS), X, y)
    assert found.ok
    assert found.curvature is None
    assert not check_gradient(QTKMRegressor(loss=WrongSign(), **SETTINGS), X, y).ok


def test_a_registered_solver_works_by_name_and_is_saved(counts, tmp_path, monkeypatch):
    X, y, _ = counts
    by_object = QTKMRegressor(solver=Descent(), max_iter=5, tol=0, **SETTINGS).fit(X, y)
    monkeypatch.setitem(solvers.REGISTRY, "descent", Descent)
    by_name = QTKMRegressor(solver="descent", max_iter=5, tol=0, **SETTINGS).fit(X, y)
    np.testing.assert_array_equal(by_object.predict(X), by_name.predict(X))
    objective = by_name.history_["objective"]
    assert objective[-1] < objective[0]
    by_name.save(tmp_path / "model.qtkm")
    QTKMRegressor(solver="descent", network="ring", **SETTINGS).fit(X, y)


def test_a_solver_may_fit_to_some_networks_only(counts):
    X, y, _ = counts
    with pytest.raises(ValueError, match="solver='dmrg' does not support network='cpd'; use one"):
        QTKMRegressor(solver="dmrg", **SETTINGS).fit(X, y)
    assert isinstance(QTKMRegressor(**SETTINGS).fit(X, y).network_, ALS.fits)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("width", r"factors of Tent\(wrong='width'\) have shape \(.*, 1\); \(.*, 2\) were exp"),
        ("complex", r"factors of Tent\(wrong='complex'\) are complex, .* is_complex = True"),
    ],
)
def test_mistakes_of_a_feature_map_are_told(counts, wrong, message):
    X, y, _ = counts
    settings = {"rank": 2, "alpha": 1e-4, "random_state": 0, "max_bins": None}
    assert QTKMRegressor(basis=Tent(), **settings).fit(X, y).score(X, y) > 0.05
    with pytest.raises(ValueError, match=message):
        QTKMRegressor(basis=Tent(wrong), **settings).fit(X, y)


def test_what_a_feature_map_lacks_is_told_by_name(counts):
    X, y, _ = counts
    with pytest.raises(NotImplementedError, match=r"Tent has no bin_error, .* max_bins=None"):
        QTKMRegressor(basis=Tent(), max_bins=50).fit(X, y)
