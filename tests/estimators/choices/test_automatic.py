"""Rank and penalty that a fit finds by itself."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman2
from sklearn.metrics import r2_score

import qtkm
from qtkm import QTKMClassifier, QTKMRegressor
from qtkm.estimators import defaults, memory
from qtkm.estimators.choices import automatic, held_out, mixing
from qtkm.networks import column_tables


def settings(**more):
    return {"n_basis": 9, "period": 2.0, "quantization": 3, "penalty": "matern",
            "main_effects": True, "scaling": "half", "prediction_margin": 0.1,
            "posterior": False, "random_state": 0, "n_jobs": 1} | more  # fmt: skip


def table(n_rows=120, noise=0.05, n_columns=3):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n_rows, n_columns))
    y = np.sin(4 * X[:, 0]) * X[:, 1] + X[:, 2]
    return X, y + noise * rng.standard_normal(n_rows)


@pytest.fixture(scope="module")
def found():
    return QTKMRegressor(**settings()).fit(*table())


def test_an_interaction_is_found_and_the_path_is_told(found, tmp_path):
    X, y = table(1000, noise=0.0)
    assert found.score(X, y) > 0.98
    path = found.history_["path"]
    assert path[0]["rank"] == 0
    assert min(step["error"] for step in path) < 0.2 * path[0]["error"]
    assert found.rank_ > 0
    found.save(tmp_path / "model.qtkm")
    assert qtkm.load(tmp_path / "model.qtkm").history_["path"] == path


def test_an_additive_truth_needs_no_network():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(120, 3))
    y = np.sin(4 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(120)
    model = QTKMRegressor(**settings()).fit(X, y)
    assert model.rank_ == 0
    assert model.status_ == "converged"


def test_noise_is_not_fitted():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((150, 5)), rng.standard_normal(150)
    model = QTKMRegressor(**settings()).fit(X, y)
    assert model.score(rng.standard_normal((500, 5)), rng.standard_normal(500)) > -0.05


@pytest.mark.parametrize("noise", [0.0, 1.0])
def test_folds_give_the_responses_that_a_mix_was_judged_by(noise, monkeypatch):
    found, mix = [], mixing.Mixer.mix
    monkeypatch.setattr(
        mixing.Mixer,
        "mix",
        lambda mixer, best: found.append((mixer, mix(mixer, best))) or found[-1][1],
    )
    X, y = bumps()
    y = y + noise * np.random.default_rng(2).standard_normal(len(y))
    QTKMRegressor(random_state=0, n_jobs=1).fit(X, y)
    assert found
    for mixer, chosen in found:
        unseen = [each.responses(s) for each, s in zip(chosen.unseen, mixer.shards, strict=False)]
        assert mixer._losses(unseen, mixer.full.parts).mean() == pytest.approx(chosen.error)


def test_whole_numbers_as_weights_are_not_taken_for_repeated_rows():
    X, y = table(150, noise=0.5)
    weight = np.random.default_rng(1).integers(5, 30, 150).astype(float)
    whole, other = (
        QTKMRegressor(**settings()).fit(X, y, sample_weight=each)
        for each in (weight, 1.001 * weight)
    )
    X_test, y_test = table(1000, noise=0.0)
    errors = [np.mean((model.predict(X_test) - y_test) ** 2) for model in (whole, other)]
    assert errors[0] < 1.1 * errors[1]


def test_given_rank_and_penalty_are_kept():
    X, y = table(80)
    model = QTKMRegressor(**settings(rank=2, alpha=1e-3)).fit(X, y)
    assert (model.rank_, model.alpha_) == (2, 1e-3)
    assert "path" not in model.history_


def test_the_order_of_the_rows_does_not_matter(found):
    X, y = table()
    order = np.random.default_rng(3).permutation(len(y))
    again = QTKMRegressor(**settings()).fit(X[order], y[order])
    np.testing.assert_allclose(again.predict(X), found.predict(X), atol=1e-6)


def test_predictions_stay_near_the_range_of_the_targets():
    rng = np.random.default_rng(0)
    X = np.exp(1.5 * rng.standard_normal((150, 2)))
    y = np.log(X[:, 0]) * np.tanh(X[:, 1])
    model = QTKMRegressor(**settings()).fit(X, y)
    far = np.exp(4 * rng.standard_normal((1000, 2)))
    margin = 0.1 * np.ptp(y) + 1e-12
    predictions = model.predict(far)
    assert y.min() - margin <= predictions.min()
    assert predictions.max() <= y.max() + margin


def test_rows_set_aside_for_early_stopping_choose_as_well():
    X, y = table(300)
    model = QTKMRegressor(**settings(early_stopping=True, max_iter=10)).fit(X, y)
    assert model.score(*table(1000, noise=0.0)) > 0.95
    assert len(model.history_["validation_score"]) == model.n_iter_


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_are_told_apart(n_classes):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(160, 2))
    y = (np.sign(X[:, 0] * X[:, 1]) > 0).astype(int) + (n_classes > 2) * (X[:, 0] > 0.5)
    parameters = settings()
    del parameters["prediction_margin"]
    model = QTKMClassifier(**parameters).fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > 0.85


@pytest.mark.filterwarnings("ignore:X has one row:UserWarning")
@pytest.mark.parametrize("n_rows", [1, 2, 5])
def test_a_few_rows_have_main_effects_alone(n_rows):
    X, y = table(n_rows)
    model = QTKMRegressor(**settings()).fit(X, y)
    assert model.rank_ == 0
    assert np.isfinite(model.predict(X)).all()


def test_one_column_needs_no_network():
    X = np.linspace(0, 1, 60)[:, None]
    model = QTKMRegressor(**settings()).fit(X, np.sin(5 * X[:, 0]))
    assert model.rank_ == 0
    assert model.score(X, np.sin(5 * X[:, 0])) > 0.999


def bumps(n_rows=200):
    """A function of two columns that is no sum of few products: the full-rank model's case."""
    rng = np.random.default_rng(0)
    X, places = rng.uniform(size=(n_rows, 2)), np.random.default_rng(1).uniform(size=(60, 2))
    distances = np.linalg.norm(X[:, None] - places, axis=2)
    return X, np.exp(-0.5 * (distances / 0.1) ** 2) @ (-1.0) ** np.arange(60)


def test_the_full_rank_model_is_mixed_in_saved_and_started_anew(tmp_path):
    X, y = bumps()
    model = QTKMRegressor(random_state=0, warm_start=True, n_jobs=1).fit(X, y)
    last = model.history_["path"][-1]
    assert 0 < last["share"] <= 1
    assert last["error"] <= min(step["error"] for step in model.history_["path"][:-1])
    assert model.rank_ >= len(X)
    X_test, y_test = bumps(500)
    assert model.score(X_test, y_test) > 0.9
    model.save(tmp_path / "model.qtkm")
    loaded = qtkm.load(tmp_path / "model.qtkm")
    np.testing.assert_array_equal(loaded.predict(X_test), model.predict(X_test))
    assert not model._goes_on


def test_a_search_for_the_penalty_of_a_given_rank_starts_anew():
    X, y = bumps(100)
    model = QTKMRegressor(rank=2, random_state=0, warm_start=True, n_jobs=1).fit(X, y)
    assert model.rank_ > 2  # a network of every fold
    before = model.predict(X)
    np.testing.assert_array_equal(model.fit(X, y).predict(X), before)


def test_the_search_keeps_its_best_on_ctrl_c(monkeypatch):
    from qtkm.estimators.choices import automatic

    calls = []

    def stop(self, state, size, epochs):
        calls.append(size)
        if len(calls) > 4:
            raise KeyboardInterrupt
        return fit(self, state, size, epochs)

    fit = automatic.Fold.fit
    monkeypatch.setattr(automatic.Fold, "fit", stop)
    X, y = table()
    with pytest.warns(UserWarning, match="Interrupted during the search for rank and penalty"):
        model = QTKMRegressor(**settings()).fit(X, y)
    assert model.status_ == "interrupted"
    assert model.score(X, y) > 0.5


@pytest.mark.parametrize("n_columns", [1, 2])
def test_fast_waves_get_the_frequencies_they_need(n_columns):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(500, n_columns))
    y = np.sin(2 * np.pi * 15 * X[:, 0]) * X[:, -1] + 0.1 * rng.standard_normal(500)
    model = QTKMRegressor(random_state=0, n_jobs=1).fit(X[:300], y[:300])
    assert [own["basis"].n_basis for own in model.columns_] == [81, 27][:n_columns]
    assert model.score(X[300:], y[300:]) > 0.8


def test_smooth_and_noisy_columns_keep_theirs():
    X, y = table(300, noise=0.5)
    model = QTKMRegressor(rank="auto", alpha=1e-3, random_state=0, n_jobs=1).fit(X, y)
    assert [own["basis"].n_basis for own in model.columns_] == [27, 27, 27]


def test_repeated_rows_are_remembered_where_that_helps():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.uniform(size=(100, 4)), 3, axis=0)
    y = np.repeat(rng.standard_normal(100), 3)  # nothing but a copy tells of a row
    rows = rng.permutation(300)
    train, test = rows[:233], rows[233:]
    model = QTKMRegressor(random_state=0, n_jobs=1).fit(X[train], y[train])
    assert model.score(X[test], y[test]) > 0.5


def test_slopes_continue_a_tenth_of_the_range_beyond_it():
    X = np.random.default_rng(0).uniform(size=(100, 3))
    slopes = np.array([1.0, 2.0, 3.0])
    model = QTKMRegressor(random_state=0, n_jobs=1).fit(X, X @ slopes)
    beyond = np.array([[1.05, 0.5, 0.5], [0.5, -0.05, 0.5]])
    np.testing.assert_allclose(model.predict(beyond), beyond @ slopes, rtol=1e-4)
    far = model.predict([[0.5, 0.5, 50.0]])
    np.testing.assert_array_equal(far, model.predict([[0.5, 0.5, 60.0]]))


def test_a_smooth_product_of_few_rows_is_learned_as_a_gaussian_process_would():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(140, 4))
    y = X[:, 0] * X[:, 1] + np.exp(X[:, 2]) * X[:, 3]
    model = QTKMRegressor(random_state=0, n_jobs=1).fit(X[:70], y[:70])
    assert model.score(X[70:], y[70:]) > 0.9999
    shared, *columns = model.history_["prior"]
    assert shared["scaling"] == "range"
    assert len(columns) == 4
    assert min(column["length_scale"] for column in columns) > 0.5


def test_wild_targets_beyond_the_sample_of_a_search_are_in_the_errors_it_knows():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(14_000, 2))
    y = X.sum(axis=1) + 0.3 * rng.normal(size=len(X))
    wild = y.copy()
    wild[5] = 1e8  # which the sample leaves out
    # without the model of full rank, which a quantization of one's own leaves out
    model = QTKMRegressor(quantization=3, random_state=0).fit(X, wild)
    low, high = model.predict_interval(X, 0.9).T
    assert ((low <= y) & (y <= high)).mean() > 0.8


def test_what_main_effects_leave_is_what_all_of_them_leave(monkeypatch):
    X, y = make_friedman2(n_samples=100, random_state=2)
    expected = QTKMRegressor(random_state=0, posterior=False).fit(X, y)
    *_, mix = expected.history_["path"]
    assert (mix["kept"], mix["share"]) == (1, 1)  # a full-rank model of what main effects leave
    fit_main_effects = automatic.fit_main_effects

    def without_the_first(objective):
        iterate = fit_main_effects(objective)
        precisions = [np.full(len(p), np.inf) if d == 0 else p
                      for d, p in enumerate(iterate.main_precisions)]  # fmt: skip
        iterate.put_main(iterate.main, precisions)  # the next update uses it again
        return iterate

    monkeypatch.setattr(automatic, "fit_main_effects", without_the_first)
    found = QTKMRegressor(random_state=0, posterior=False).fit(X, y)
    np.testing.assert_allclose(found.predict(X), expected.predict(X), atol=1e-3 * y.std())


def test_of_many_noisy_rows_larger_ranks_grow_at_larger_penalties():
    rng = np.random.RandomState(0)
    X = rng.rand(16_000, 3)
    truth = np.sin(8 * X[:, 0] * X[:, 1]) + np.cos(9 * X[:, 1] * X[:, 2])
    y = truth + 1.5 * rng.randn(len(truth))
    settings = {"n_basis": 9, "quantization": 3, "random_state": 0, "posterior": False}
    model = QTKMRegressor(**settings).fit(X, y)
    low, high = ({s["alpha"] for s in model.history_["path"] if s["rank"] == r} for r in (8, 16))
    assert max(high) > 30 * max(low)
    assert r2_score(truth, model.predict(X)) > 0.97


def test_neighbours_of_few_values_get_functions_for_the_shortest_scales():
    rng = np.random.default_rng(0)
    subject = np.repeat(rng.permutation(100), 5)
    X = np.column_stack([subject, rng.uniform(size=500)])
    y = rng.standard_normal(100)[subject] + 0.3 * X[:, 1]
    rows = rng.permutation(500)
    model = QTKMRegressor(random_state=0, n_jobs=1).fit(X[rows[:400]], y[rows[:400]])
    assert model.columns_[0]["basis"].n_basis == 243
    assert model.score(X[rows[400:]], y[rows[400:]]) > 0.99


def test_the_more_columns_the_fewer_functions_each_and_products_have_an_end(monkeypatch):
    X, y = table()
    monkeypatch.setattr(defaults, "MOST_FUNCTIONS", 40)
    model = QTKMRegressor(rank=2, random_state=0, posterior=False).fit(X, y)
    assert model.columns_[0]["basis"].n_basis == 9
    monkeypatch.setattr(automatic, "MOST_COLUMNS", 2)
    model = QTKMRegressor(**settings()).fit(X, y)
    assert (model.rank_, model.message_) == (0, "More than 2 columns: main effects alone.")
    model = QTKMRegressor(**settings(rank=0)).fit(X, y)
    assert "columns" not in model.message_
    monkeypatch.setattr(memory, "available", lambda kind: 1_000)
    with pytest.raises(MemoryError, match=r"28 functions, .* take 19 kB .* smaller n_basis"):
        QTKMRegressor(**settings()).fit(X, y)


def test_categories_and_gaps_are_part_of_the_full_rank_model():
    rng = np.random.default_rng(0)
    X, y = bumps(300)
    kinds = rng.integers(4, size=300)
    y = y + np.array([0.0, 1.0, -1.0, 2.0])[kinds]
    X = np.column_stack([X, kinds])
    X[rng.uniform(size=300) < 0.1, 0] = np.nan
    model = QTKMRegressor(categorical_features=[2], random_state=0, n_jobs=1)
    model.fit(X[:220], y[:220])
    assert model.history_["path"][-1]["share"] == 1
    assert model.score(X[220:], y[220:]) > 0.95


def test_length_scales_of_many_rows_are_compared_on_a_part_of_them():
    X, y = bumps(1400)
    model = QTKMRegressor(random_state=0, n_jobs=1).fit(X[:1200], y[:1200])
    assert model.history_["path"][-1]["share"] == 1
    assert model.score(X[1200:], y[1200:]) > 0.9999


def test_a_network_that_a_sample_chose_is_fitted_to_all_rows(monkeypatch):
    X, y = table(1500)
    test = table(3000, noise=0.0)
    whole = QTKMRegressor(**settings()).fit(X, y)
    monkeypatch.setattr(held_out, "SAMPLE", 400)
    monkeypatch.setattr(held_out, "LEAST_SAMPLE", 400)
    model = QTKMRegressor(**settings()).fit(X, y)
    first, *_, last = [step["error"] for step in model.history_["path"] if step["rank"] == 8]
    assert last < 0.95 * first  # as all rows tell more
    assert 1 - model.score(*test) < 1.2 * (1 - whole.score(*test))


def test_moments_summed_in_parts_have_the_same_bits_on_any_threads(monkeypatch):
    X, y = table(500)
    given = settings(rank=4, alpha=1e-3, max_iter=3)
    whole = QTKMRegressor(**given).fit(X, y).predict(X)
    monkeypatch.setattr(column_tables, "PARTED", 0)
    one, three = (QTKMRegressor(**given | {"n_jobs": n}).fit(X, y).predict(X) for n in (1, 3))
    np.testing.assert_array_equal(one, three)
    np.testing.assert_allclose(one, whole, atol=1e-7)


def test_the_path_tells_the_weight_of_a_simpler_kernel():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 6))
    y = X @ [1, 2, 0, 0, -1, 0.5] + rng.standard_normal(120)
    model = QTKMRegressor(random_state=0, n_jobs=1).fit(X, y)
    weight = model.history_["path"][-1]["simpler"]
    assert 0.5 < weight <= 0.6
    assert f"simpler kernel make up {100 * weight:.0f} %" in model.message_
