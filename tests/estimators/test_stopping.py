"""When a fit ends: convergence, validation rows, callbacks, Ctrl-C; and what it shows meanwhile."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from qtkm import QTKMRegressor
from qtkm.solvers import Adam


@pytest.fixture(scope="module")
def noisy():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    return X, np.sin(5 * X[:, 0]) + X[:, 1] + rng.normal(size=400)


def test_a_fit_ends_when_the_objective_no_longer_falls(make, X, y):
    model = make(max_iter=500, tol=1e-3, alpha=1e-2).fit(X, y)
    objective = model.history_["objective"]
    assert model.status_ == "converged"
    assert model.n_iter_ == len(objective) < 500
    assert "tol=0.001" in model.message_
    falls = -np.diff(objective) / objective[:-1]
    assert falls[-1] <= 1e-3 < falls[:-1].min()


def test_a_fit_ends_after_max_iter(make, X, y):
    model = make(max_iter=3, tol=0).fit(X, y)
    assert (model.status_, model.n_iter_) == ("max_iter", 3)
    assert "max_iter=3" in model.message_
    assert "warm_start=True" in model.message_


# -- validation rows --------------------------------------------------------------------------


def test_early_stopping_keeps_the_best_epoch(make, noisy):
    X, y = noisy
    model = make(early_stopping=True, alpha=1e-9, rank=10, max_iter=100, tol=0).fit(X, y)
    scores = model.history_["validation_score"]
    assert model.status_ == "stopped early"
    assert model.n_iter_ == len(scores) == int(np.argmax(scores)) + 1 + 10
    assert f"best after epoch {np.argmax(scores) + 1}" in model.message_
    shorter = make(
        early_stopping=True, alpha=1e-9, rank=10, tol=0, max_iter=int(np.argmax(scores)) + 1
    )
    np.testing.assert_array_equal(shorter.fit(X, y).predict(X), model.predict(X))


def test_the_validation_score_is_that_of_rows_the_fit_has_not_seen(make, noisy):
    X, y = noisy
    settings = {"early_stopping": True, "validation_fraction": 0.25, "max_iter": 1}
    aside = np.random.RandomState(0).permutation(400)[:100]
    model = make(**settings).fit(X, y)
    assert model.history_["validation_score"][0] == pytest.approx(model.score(X[aside], y[aside]))
    moved = y.copy()
    moved[aside] += 100
    np.testing.assert_array_equal(make(**settings).fit(X, moved).predict(X), model.predict(X))


def test_the_validation_score_counts_weights(make, noisy):
    X, y = noisy
    weight = np.random.default_rng(1).uniform(0.1, 3, size=400)
    aside = np.random.RandomState(0).permutation(400)[:40]
    model = make(early_stopping=True, max_iter=1).fit(X, y, weight)
    expected = model.score(X[aside], y[aside], weight[aside])
    assert model.history_["validation_score"][0] == pytest.approx(expected)


def test_validation_rows_are_reproducible(make, noisy):
    X, y = noisy
    a, b = (make(early_stopping=True).fit(X, y) for _ in range(2))
    assert a.history_["validation_score"] == b.history_["validation_score"]
    c = make(early_stopping=True, random_state=1).fit(X, y)
    assert c.history_["validation_score"] != a.history_["validation_score"]


@pytest.mark.parametrize(("n_rows", "stops"), [(10_000, False), (10_001, True)])
def test_auto_sets_rows_aside_only_from_large_data(make, n_rows, stops):
    X = np.random.default_rng(0).integers(0, 20, size=(n_rows, 2)).astype(float)
    model = make(max_iter=2, n_basis=4).fit(X, X[:, 0] * X[:, 1])
    assert bool(model.history_["validation_score"]) == stops


def test_early_stopping_needs_rows(make):
    with pytest.raises(ValueError, match=r"leaves none of the 1 rows to train on; use more rows"):
        make(early_stopping=True).fit([[1.0]], [2.0])


def test_early_stopping_of_a_constant(make, noisy):
    X, _ = noisy
    model = make(early_stopping=True).fit(X, np.full(400, 7.0))
    np.testing.assert_array_equal(model.predict(X), np.full(400, 7.0))


# -- callbacks --------------------------------------------------------------------------------


def test_callbacks_get_cores_that_stay_as_they_are(make, X, y):
    cores = []
    model = make(callbacks=[lambda progress: cores.append(progress.cores)], tol=0).fit(X, y)
    again = make(init=cores[0], max_iter=1, tol=0)
    assert (
        again.fit(X, y).history_["objective_updates"][0] <= model.history_["objective_updates"][2]
    )


def test_a_callback_can_end_the_fit(make, X, y):
    model = make(callbacks=lambda progress: progress.epoch == 2, tol=0).fit(X, y)
    assert (model.status_, model.n_iter_) == ("stopped early", 2)
    assert model.message_ == "A callback stopped the fit."


# -- Ctrl-C -----------------------------------------------------------------------------------


class Interrupt:
    """Ctrl-C after so many calls."""

    def __init__(self, calls):
        self.calls = calls

    def __call__(self, progress):
        self.calls -= 1
        if self.calls == 0:
            raise KeyboardInterrupt


def test_an_interruption_keeps_the_cores_so_far_and_says_so(make, X, y):
    model = make(callbacks=Interrupt(4 * 3 + 2), max_iter=50, tol=0)  # in the fourth epoch
    with pytest.warns(ConvergenceWarning, match=r"Interrupted in epoch 4; .* warm_start=True") as w:
        model.fit(X, y)
    assert w[0].filename == __file__
    assert (model.status_, model.n_iter_) == ("interrupted", 3)
    assert len(model.history_["objective_updates"]) == 3 * 9 + 6
    assert model.score(X, y) > make(max_iter=1).fit(X, y).score(X, y)
    last = model.history_["objective_updates"][-1]
    model.set_params(callbacks=None, warm_start=True).fit(X, y)
    assert model.history_["objective_updates"][0] < last * (1 + 1e-9)


def test_an_objective_that_is_not_a_number_ends_the_fit_with_a_warning(make, X, y):
    model = make(solver=Adam(learning_rate=1e200))
    with pytest.warns(ConvergenceWarning, match="became infinite or NaN") as w:
        model.fit(X, y)
    assert w[0].filename == __file__
    assert model.status_ == "failed"
    assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("main_effects", [False, True])
@pytest.mark.parametrize(
    ("penalty", "solver"),
    [("matern", "adam"), ("matern", "gauss_newton"), ("rbf", "gauss_newton"), ("rbf", "lbfgs")],
)
def test_gradients_lead_away_from_a_random_start_of_rough_functions(
    noisy, penalty, solver, main_effects
):
    model = QTKMRegressor(
        penalty=penalty, solver=solver, main_effects=main_effects, init="random", rank=2,
        n_basis=27, alpha=1e-2, max_iter=5, posterior=False, random_state=0,
    ).fit(*noisy)  # fmt: skip
    assert model.history_["objective"][-1] < 1.1  # it is 1 for a model of zeros


def test_weights_that_cost_more_than_steps_can_pay_fail_with_a_warning(noisy):
    model = QTKMRegressor(
        penalty="rbf", solver="adam", init="random", rank=2, n_basis=27, alpha=1e-2, max_iter=3,
        posterior=False, main_effects=False, random_state=0,
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning, match="for a model that is 0 everywhere"):
        model.fit(*noisy)
    assert model.status_ == "failed"


# -- what is shown ----------------------------------------------------------------------------


def test_a_fit_is_silent_unless_asked(make, X, y, capfd):
    make().fit(X, y).predict(X)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("verbose", [1, True])
def test_a_progress_bar_shows_epochs_and_objective(make, X, y, capfd, verbose):
    model = make(verbose=verbose, tol=0, max_iter=3).fit(X, y)
    out, err = capfd.readouterr()
    assert out == ""
    assert "3/3" in err
    assert f"objective {model.history_['objective'][-1]:.6g}" in err


def test_a_progress_bar_shows_the_validation_score(make, noisy, capfd):
    model = make(verbose=1, early_stopping=True, tol=0, max_iter=2).fit(*noisy)
    assert f"validation {model.history_['validation_score'][-1]:.4f}" in capfd.readouterr().err


def test_a_fit_that_cannot_get_better_ends_at_once():
    model = QTKMRegressor(penalty="ridge", random_state=0).fit([[0.0], [1.0]], [1.0, 1.0])
    assert (model.status_, model.n_iter_) == ("converged", 2)
