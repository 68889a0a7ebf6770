"""Regression under losses for counts, amounts, outliers and quantiles."""

import numpy as np
import pandas
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics
from sklearn.linear_model import TweedieRegressor

from qtkm import (
    Gamma,
    Huber,
    Poisson,
    Power,
    QTKMClassifier,
    QTKMRegressor,
    QTKMRegressorCV,
    Quantile,
    Squared,
    Tweedie,
    inspection,
    load,
)
from qtkm.limits import LIMITS

LOG_LINK = [Poisson(), Gamma(), Tweedie(1.5), Tweedie(1.0), Tweedie(2.0)]
LOSSES = [*LOG_LINK, Huber(), Quantile(0.8)]
SETTINGS = {
    "penalty": "ridge",
    "rank": 2,
    "n_basis": 4,
    "period": 2.0,
    "alpha": 1e-3,
    "random_state": 0,
    "n_jobs": 1,
}

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)
log_link = pytest.mark.parametrize("loss", LOG_LINK, ids=repr)


def draw(loss, n_rows=400, seed=0):
    """Rows, targets that the loss is made for, and their means."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_rows, 2))
    mean = np.exp(1 + np.sin(5 * X[:, 0]) * X[:, 1])
    if isinstance(loss, Huber | Quantile):
        return X, mean + rng.standard_t(3, size=n_rows), mean
    if loss.power == 1:
        return X, rng.poisson(mean).astype(float), mean
    if loss.power == 2:
        return X, rng.gamma(2, mean / 2), mean
    counts = rng.poisson(mean)
    return X, np.where(counts > 0, rng.gamma(np.maximum(counts, 1)), 0), mean


def one_column(loss, alpha):
    """Model that is linear in its single core, and its features at some numbers in [0, 1]."""
    basis = Power(3, quantization=None)
    return QTKMRegressor(
        basis,
        rank=1,
        alpha=alpha,
        penalty="ridge",
        loss=loss,
        tol=0,
        max_iter=100,
        early_stopping=False,
        n_jobs=1,
    ), lambda x: x[:, None] ** np.arange(3)


@log_link
def test_a_linear_model_is_the_generalized_linear_model_of_scikit_learn(loss):
    rng = np.random.default_rng(1)
    x = np.r_[0, rng.uniform(size=198), 1]
    y = 50 * rng.gamma(2, np.exp(2 * x - 1) / 2)
    model, features = one_column(loss, 1e-2)
    model.fit(x[:, None], y)
    other = TweedieRegressor(
        power=loss.power, alpha=1e-2, fit_intercept=False, link="log", tol=1e-10, max_iter=1000
    ).fit(features(x), y / y.mean())
    expected = y.mean() * other.predict(features(x))
    assert_allclose(model.predict(x[:, None]), expected, rtol=1e-5)


def test_a_huber_loss_of_a_large_delta_is_the_squared_loss():
    X, y, _ = draw(Huber())
    settings = SETTINGS | {"normalize_y": False, "max_iter": 5, "tol": 0}
    for residual in ("real", "complex"):
        wide = QTKMRegressor(loss=Huber(1e4, residual), init="smooth", **settings).fit(X, y)
        squared = QTKMRegressor(loss=Squared(residual), init=wide.cores_, **settings).fit(X, y)
        again = QTKMRegressor(loss=Huber(1e4, residual), init=wide.cores_, **settings).fit(X, y)
        assert again.history_["objective"] == pytest.approx(squared.history_["objective"], rel=1e-6)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_a_share_of_the_targets_lies_below_their_quantile(level):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 1))
    y = (1 + X[:, 0]) * rng.normal(size=2000)
    model = QTKMRegressor(loss=Quantile(level), tol=1e-6, **SETTINGS).fit(X, y)
    for half in (X[:, 0] < 0.5, X[:, 0] > 0.5):
        assert np.mean(y[half] < model.predict(X[half])) == pytest.approx(level, abs=0.03)


@every_loss
def test_the_objective_never_rises_and_the_fit_finds_the_mean(loss):
    X, y, mean = draw(loss)
    model = QTKMRegressor(loss=loss, **SETTINGS).fit(X, y)
    assert np.all(np.diff(model.history_["objective_updates"]) <= 0)
    assert np.corrcoef(model.predict(X), mean)[0, 1] > 0.85
    assert model.score(X, y) > 0.1


@every_loss
def test_the_objective_never_rises_from_a_wild_start(loss):
    X, y, _ = draw(loss, 60)
    settings = SETTINGS | {"init": "random", "rank": 4}
    start = QTKMRegressor(loss=loss, max_iter=1, **settings).fit(X, y)
    cores = [[2 * core for core in column] for column in start.cores_]
    model = QTKMRegressor(loss=loss, max_iter=10, **settings | {"init": cores}).fit(X, y)
    assert np.all(np.diff(model.history_["objective_updates"]) <= 0)
    assert model.history_["objective"][-1] < model.history_["objective_updates"][0]


@pytest.mark.parametrize("name", ["poisson", "gamma", "tweedie", "huber", "quantile"])
def test_a_name_stands_for_the_loss_with_its_defaults(name):
    loss = {"poisson": Poisson(), "gamma": Gamma(), "tweedie": Tweedie(), "huber": Huber(),
            "quantile": Quantile()}[name]  # fmt: skip
    X, y, _ = draw(loss, 100)
    found, expected = (
        QTKMRegressor(loss=given, max_iter=2, **SETTINGS).fit(X, y).predict(X)
        for given in (name, loss)
    )
    assert_array_equal(found, expected)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_score_is_the_share_of_the_deviance_that_is_explained(weighted):
    for loss, score, options in (
        (Poisson(), metrics.d2_tweedie_score, {"power": 1}),
        (Gamma(), metrics.d2_tweedie_score, {"power": 2}),
        (Tweedie(1.3), metrics.d2_tweedie_score, {"power": 1.3}),
        (Quantile(0.8), metrics.d2_pinball_score, {"alpha": 0.8}),
        (Huber(), metrics.d2_absolute_error_score, {}),
        (Squared(), metrics.r2_score, {}),
    ):
        X, y, _ = draw(Huber() if isinstance(loss, Squared) else loss, 100)
        weight = np.linspace(0, 2, 100) if weighted else None
        model = QTKMRegressor(loss=loss, max_iter=3, **SETTINGS).fit(X, y, weight)
        expected = score(y, model.predict(X), sample_weight=weight, **options)
        assert model.score(X, y, weight) == pytest.approx(expected, rel=1e-9)


@every_loss
def test_several_outputs_are_fitted_at_once(loss):
    X, y, _ = draw(loss, 200)
    both = np.column_stack([y, 3 * y[::-1]])
    model = QTKMRegressor(loss=loss, **SETTINGS | {"rank": 4}).fit(X, both)
    assert model.predict(X).shape == (200, 2)
    assert np.all(np.diff(model.history_["objective_updates"]) <= 0)
    each = [model.loss_.score(both[:, k], model.predict(X)[:, k]) for k in range(2)]
    assert model.score(X, both) == pytest.approx(np.mean(each))


@every_loss
def test_other_units_give_the_same_model(loss):
    X, y, _ = draw(loss, 100)
    settings = SETTINGS | {"max_iter": 4}
    expected = QTKMRegressor(loss=loss, **settings).fit(X, y).predict(X)
    for unit in (1e-290, 1e-3, 1e290):
        model = QTKMRegressor(loss=loss, **settings).fit(X, unit * y)
        assert_allclose(model.predict(X) / unit, expected, rtol=1e-5)
        assert np.isfinite(model.score(X, unit * y))


@log_link
def test_extreme_targets_side_by_side_leave_finite_positive_predictions(loss):
    X, y, _ = draw(loss, 60)
    y[:3] = [1e-300, 1e300, 1.0]
    if loss.power < 2:
        y[3] = 0
    model = QTKMRegressor(loss=loss, **SETTINGS).fit(X, y)
    assert np.all(np.diff(model.history_["objective_updates"]) <= 0)
    predicted = model.predict(X)
    assert np.isfinite(predicted).all()
    assert (predicted > 0).all()


@log_link
def test_predictions_are_positive_and_finite_however_far_away(loss):
    X, y, _ = draw(loss, 100)
    basis = Power(4)
    model = QTKMRegressor(
        basis, rank=2, loss=loss, extrapolation="continue", random_state=0, penalty="ridge"
    )
    predicted = model.fit(X, y).predict(np.array([[1e6, 3.0], [-1e6, 3.0], [3.0, 1e6]]))
    assert np.isfinite(predicted).all()
    assert (predicted > 0).all()


@pytest.mark.parametrize(
    ("loss", "y", "words"),
    [
        ("poisson", -1.0, r"Poisson needs y >= 0, but the smallest y is -1; remove these rows"),
        ("tweedie", -1e-300, r"Tweedie needs y >= 0, but the smallest y is -1e-300"),
        ("gamma", 0.0, r"Gamma needs y > 0, but the smallest y is 0; .* Tweedie\(power=1.5\)"),
        ("gamma", -2.0, r"Gamma needs y > 0, but the smallest y is -2"),
    ],
)
def test_targets_that_a_loss_does_not_allow_are_told(loss, y, words):
    X, targets, _ = draw(Gamma(), 20)
    targets[7] = y
    with pytest.raises(ValueError, match=words):
        QTKMRegressor(loss=loss, **SETTINGS).fit(X, targets)


def test_targets_that_are_all_zero_have_no_logarithm():
    with pytest.raises(ValueError, match=r"logarithm of a mean, which is -inf if y is 0 in"):
        QTKMRegressor(loss="poisson", **SETTINGS).fit(np.eye(4), np.zeros(4))


@pytest.mark.parametrize(
    ("loss", "words"),
    [
        (Tweedie(2.5), r"power=2.5 must be a number from 1 \(Poisson\) to 2 \(gamma\)"),
        (Tweedie("1"), "power='1' must be a number from 1"),
        (Huber(0), "delta=0 must be a finite number > 0; try 0.5"),
        (Quantile(1.0), r"level=1.0 must be a number > 0 and < 1; try 0.5 for the median"),
        (Quantile(0.5, 0), "smoothing=0 must be a finite number > 0; try 0.01"),
        (Poisson("imaginary"), "residual='imaginary' is unknown; use 'complex'"),
    ],
)
def test_parameters_of_losses_that_make_no_sense_are_told(loss, words):
    with pytest.raises(ValueError, match=words):
        QTKMRegressor(loss=loss).fit(np.eye(4), np.arange(4) + 1.0)


@pytest.mark.parametrize("loss", [Huber(), Quantile(0.5)], ids=repr)
def test_a_wild_target_moves_nothing(loss):
    X, y, _ = draw(loss, 300)
    settings = SETTINGS | {"tol": 0, "max_iter": 15}  # a wild row is most of the objective
    clean = QTKMRegressor(loss=loss, **settings).fit(X, y).predict(X)
    for wild in (1e3, 1e9):
        y[17] = wild
        predicted = QTKMRegressor(loss=loss, **settings).fit(X, y).predict(X)
        assert np.abs(predicted - clean).mean() < 0.1 * clean.std()


def test_a_spread_of_zero_falls_back_on_the_standard_deviation():
    X, y, _ = draw(Huber(), 90)
    y[:60] = 2.0  # the median distance from the median is 0
    model = QTKMRegressor(loss="huber", **SETTINGS).fit(X, y)
    assert model._reading.scale.scale == pytest.approx(y.std())
    constant = QTKMRegressor(loss="huber", **SETTINGS).fit(X, np.full(90, 2.0))
    assert_array_equal(constant.predict(X), 2.0)


@pytest.mark.parametrize("loss", [Poisson(), Quantile(0.8)], ids=repr)
def test_a_weight_of_two_is_a_row_that_is_there_twice(loss):
    X, y, _ = draw(loss, 60)
    twice = np.arange(60) % 3 == 0
    settings = SETTINGS | {"max_iter": 3}
    weighted = QTKMRegressor(loss=loss, **settings).fit(X, y, 1.0 + twice)
    repeated = QTKMRegressor(loss=loss, **settings).fit(np.r_[X, X[twice]], np.r_[y, y[twice]])
    assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_rows_without_events_do_not_make_a_model_larger():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 3))
    y = (rng.uniform(size=2000) < 0.03).astype(float)
    model, few = (
        QTKMRegressor(loss="poisson", penalty="ridge", random_state=0).fit(X[rows], y[rows])
        for rows in (y >= 0, y > 0)
    )
    assert model.rank_ == few.rank_
    assert model.columns_[0]["basis"].n_basis == few.columns_[0]["basis"].n_basis
    assert model.predict(rng.uniform(size=(2000, 3))).max() < 1


@pytest.mark.parametrize("loss", [Poisson(), Tweedie(1.2), Quantile(0.8)], ids=repr)
def test_files_hold_models_of_every_loss(loss, tmp_path):
    X, y, _ = draw(loss, 80)
    model = QTKMRegressor(loss=loss, max_iter=2, **SETTINGS).fit(X, y)
    model.save(tmp_path / "model.qtkm")
    again = load(tmp_path / "model.qtkm")
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.score(X, y) == model.score(X, y)


@pytest.mark.parametrize("loss", [Poisson(), Huber()], ids=repr)
def test_rows_from_a_source_give_the_same_model(loss, monkeypatch):
    monkeypatch.setattr(LIMITS, "merge_rows", 50)
    X, y, _ = draw(loss, 120)
    batches = [{"a": X[k::2, 0], "b": X[k::2, 1], "y": y[k::2]} for k in range(2)]
    order = np.r_[0:120:2, 1:120:2]
    settings = SETTINGS | {"max_iter": 3, "loss": loss}
    streamed = QTKMRegressor(**settings).fit_dataset(batches, target="y")
    expected = QTKMRegressor(**settings).fit(X[order], y[order])
    frame = pandas.DataFrame(X, columns=["a", "b"])
    assert_allclose(streamed.predict(frame), expected.predict(X), rtol=1e-12)
    batches[1]["y"][3] = -1.0
    if loss.has_log_link:
        with pytest.raises(ValueError, match="Poisson needs y >= 0"):
            QTKMRegressor(**settings).fit_dataset(batches, target="y")


def test_early_stopping_and_searches_go_by_the_loss():
    X, y, mean = draw(Poisson(), 300)
    model = QTKMRegressor(loss="poisson", early_stopping=True, **SETTINGS).fit(X, y)
    assert np.max(model.history_["validation_score"]) < 0
    search = QTKMRegressorCV(
        QTKMRegressor(loss="poisson", random_state=0, n_jobs=1, max_iter=6, penalty="ridge"),
        ranks=[1, 2], n_basis=[4], periods=[2.0], alphas=[1e-3], cv=3,
    )  # fmt: skip
    search.fit(X, y)
    assert 0 < search.best_score_ < 1
    assert np.corrcoef(search.predict(X), mean)[0, 1] > 0.85


def test_a_summary_and_effects_tell_of_the_link():
    X, y, _ = draw(Poisson(), 200)
    model = QTKMRegressor(loss=Tweedie(1.2), **SETTINGS).fit(X, y)
    assert "Tweedie, power 1.2, logarithmic link, alpha 0.001" in model.summary()
    response = inspection.response.Response(model)
    assert response.label == "log response"
    (effect,) = inspection.main_effects(model, X, columns=[0])
    assert effect.mean == pytest.approx(np.log(model.predict(X)).mean(), rel=1e-9)


# -- offsets ------------------------------------------------------------------------------------


@log_link
def test_an_offset_is_an_exposure_in_logarithms(loss):
    """The deviance of y at a mean with exposure is that of the rate, with a weight of its own."""
    X, y, _ = draw(loss, 200)
    exposure = np.random.default_rng(5).uniform(0.2, 5, size=200)
    offset = np.log(exposure)
    model = QTKMRegressor(loss=loss, **SETTINGS).fit(X, y, offset=offset)
    weight = exposure ** (2 - loss.power)
    rates = QTKMRegressor(loss=loss, **SETTINGS).fit(X, y / exposure, weight)
    assert_allclose(model.predict(X), rates.predict(X), rtol=1e-6)
    assert_allclose(model.predict(X, offset=offset), exposure * model.predict(X), rtol=1e-12)
    expected = rates.score(X, y / exposure, weight)
    assert model.score(X, y, offset=offset) == pytest.approx(expected, rel=1e-6)


def test_an_exposure_that_explains_everything_leaves_a_constant_rate():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, 1))
    exposure = np.exp(4 * X[:, 0])
    y = rng.poisson(3 * exposure)
    model = QTKMRegressor(loss="poisson", **SETTINGS).fit(X, y, offset=np.log(exposure))
    assert_allclose(model.predict(X), 3, rtol=0.1)
    assert abs(model.score(X, y, offset=np.log(exposure))) < 0.1


@pytest.mark.parametrize("loss", [Squared(), Huber(), Quantile(0.8)], ids=repr)
def test_other_offsets_are_added(loss):
    X, y, _ = draw(Huber(), 200)
    offset = 1000 * X[:, 0]
    model = QTKMRegressor(loss=loss, **SETTINGS).fit(X, y + offset, offset=offset)
    plain = QTKMRegressor(loss=loss, **SETTINGS).fit(X, y)
    assert_allclose(model.predict(X, offset=offset), plain.predict(X) + offset, rtol=1e-6)
    found = model.score(X, y + offset, offset=offset)
    assert found == pytest.approx(plain.score(X, y), rel=1e-6)


def test_offsets_that_make_no_sense_are_told():
    X, y, _ = draw(Poisson(), 20)
    model = QTKMRegressor(loss="poisson", **SETTINGS)
    with pytest.raises(ValueError, match=r"offset has shape \(3,\); give one number for each"):
        model.fit(X, y, offset=np.zeros(3))
    with pytest.raises(ValueError, match=r"Input offset contains NaN"):
        model.fit(X, y, offset=np.full(20, np.nan))
    with pytest.raises(ValueError, match=r"offset has entries of size 1e\+06, .* the logarithm of"):
        model.fit(X, y, offset=np.full(20, 1e6))
    with pytest.raises(ValueError, match="Poisson needs y >= 0, but the smallest y is -1;"):
        model.fit(X, np.where(np.arange(20) == 3, -1, y), offset=np.ones(20))


@pytest.mark.parametrize("merge_rows", [50, 1000], ids=["in blocks", "few rows"])
@pytest.mark.parametrize("loss", [Poisson(), Gamma(), Huber()], ids=repr)
def test_offsets_from_a_source_give_the_model_of_arrays(loss, merge_rows, monkeypatch):
    monkeypatch.setattr(LIMITS, "merge_rows", merge_rows)
    monkeypatch.setattr(LIMITS, "shard_rows", 70)
    X, y, _ = draw(loss, 150)
    rng = np.random.default_rng(1)
    offset, weight = rng.normal(size=150), rng.integers(0, 3, size=150)
    weight[:60] = 0  # no row of the first block counts
    frame = pandas.DataFrame(X, columns=["a", "b"])
    rows = frame.assign(y=y, offset=offset, weight=weight)
    batches = [rows[k : k + 60] for k in range(0, 150, 60)]
    settings = SETTINGS | {"max_iter": 3, "loss": loss}
    for names, weights in (({}, None), ({"weight": "weight"}, weight)):
        expected = QTKMRegressor(**settings).fit(frame, y, weights, offset=offset)
        chosen = {"target": "y", "features": ["a", "b"], "offset": "offset"}
        found = QTKMRegressor(**settings).fit_dataset(batches, **chosen, **names)
        assert_array_equal(found.predict(frame), expected.predict(frame))


def test_a_cache_tells_offsets_of_losses_from_one_another_and_from_targets_and_weights(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(LIMITS, "merge_rows", 50)
    monkeypatch.setattr("qtkm.estimators.memory.Need.in_memory", lambda self: 10**18)
    X, y, _ = draw(Gamma(), 150)
    frame = pandas.DataFrame({"a": X[:, 0], "y": y, "offset": X[:, 1]})
    frame.to_csv(tmp_path / "rows.csv", index=False)
    settings = SETTINGS | {"max_iter": 2}

    def fit(loss, cache, **names):
        model = QTKMRegressor(loss=loss, **settings)
        model.fit_dataset(tmp_path / "rows.csv", features=["a"], cache=cache, **names)
        return model.predict(frame[["a"]])

    for loss, names in (
        ("squared", {"target": ["y", "offset"]}),
        ("squared", {"target": "y", "offset": "offset"}),
        ("squared", {"target": "y", "weight": "offset"}),
        ("poisson", {"target": "y", "offset": "offset"}),
        ("gamma", {"target": "y", "offset": "offset"}),
    ):
        assert_array_equal(fit(loss, tmp_path / "cache", **names), fit(loss, None, **names))


def test_offsets_of_a_source_that_make_no_sense_are_told():
    X, y, _ = draw(Poisson(), 20)
    rows = pandas.DataFrame({"a": X[:, 0], "y": y, "offset": X[:, 1]})
    model = QTKMRegressor(loss="poisson", **SETTINGS)
    with pytest.raises(ValueError, match="no column 'exposure'"):
        model.fit_dataset([rows], target="y", offset="exposure")
    with pytest.raises(ValueError, match="'a' is a feature and also target, weight or offset"):
        model.fit_dataset([rows], target="y", features=["a"], offset="a")
    with pytest.raises(ValueError, match="Input offset contains infinity: 20 of the 20"):
        model.fit_dataset([rows.assign(offset=np.inf)], target="y", offset="offset")
    with pytest.raises(ValueError, match=r"offset has entries of size 1000.* the logarithm of"):
        model.fit_dataset([rows.assign(offset=1e3)], target="y", offset="offset")
    labels = rows.assign(y=["yes", "no"] * 10)
    with pytest.raises(ValueError, match="offset is for regression, not for classes"):
        QTKMClassifier(**SETTINGS).fit_dataset([labels], target="y", offset="offset")
