"""Displays draw the numbers with labels, on their own axes or on given ones."""

import copy

import numpy as np
import pytest

from qtkm import QTKMClassifier, QTKMRegressor
from qtkm.inspection import (
    CoefficientsDisplay,
    CoverageDisplay,
    HistoryDisplay,
    ImportancesDisplay,
    InteractionDisplay,
    MainEffectDisplay,
    PathDisplay,
    RankOneTermsDisplay,
    ResidualsDisplay,
    SpectrumDisplay,
    explain,
    importances,
    interaction,
    main_effects,
    share_axis,
)
from qtkm.inspection.plotting import FAINT
from qtkm.inspection.results import place
from tests.inspection.conftest import fit, make_effect

plt = pytest.importorskip("matplotlib.pyplot")
to_rgba = pytest.importorskip("matplotlib.colors").to_rgba
pytestmark = pytest.mark.usefixtures("close_figures")

DISPLAYS = {
    "main effect": lambda m, X, y, **k: MainEffectDisplay.from_estimator(m, X, "a", **k),
    "of categories": lambda m, X, y, **k: MainEffectDisplay.from_estimator(m, X, "kind", **k),
    "interaction": lambda m, X, y, **k: InteractionDisplay.from_estimator(m, X, ("a", "b"), **k),
    "with categories": lambda m, X, y, **k: InteractionDisplay.from_estimator(m, X, (2, 0), **k),
    "importances": lambda m, X, y, **k: ImportancesDisplay.from_estimator(m, X, **k),
    "spectrum": lambda m, X, y, **k: SpectrumDisplay.from_estimator(m, "b", **k),
    "coefficients": lambda m, X, y, **k: CoefficientsDisplay.from_estimator(m, 6, **k),
    "sizes": lambda m, X, y, **k: RankOneTermsDisplay.from_estimator(m, **k),
    "history": lambda m, X, y, **k: HistoryDisplay.from_estimator(m, **k),
    "observed": lambda m, X, y, **k: ResidualsDisplay.from_estimator(m, X, y, **k),
    "residuals": lambda m, X, y, **k: ResidualsDisplay.from_estimator(
        m, X, y, kind="residuals", **k
    ),
}


@pytest.mark.parametrize("name", DISPLAYS)
def test_every_display_draws_with_a_title_on_a_figure_of_its_own(name, cpd, X, y):
    display = DISPLAYS[name](cpd, X, y)
    assert display.ax_.get_title()
    assert display.ax_.has_data()
    display.figure_.canvas.draw()
    assert display.figure_ is display.ax_.figure


@pytest.mark.parametrize("name", DISPLAYS)
def test_every_display_draws_on_given_axes(name, cpd, X, y):
    _, ax = plt.subplots()
    assert DISPLAYS[name](cpd, X, y, ax=ax).ax_ is ax
    assert plt.get_fignums() == [ax.figure.number]


def labels(display):
    return display.ax_.get_xlabel(), display.ax_.get_ylabel()


def test_a_main_effect_is_a_curve(cpd, X):
    display = MainEffectDisplay.from_estimator(cpd, X, "a", n_grid=30)
    assert labels(display)[0].splitlines()[0] == "a"
    assert labels(display)[1].startswith("response above its mean")
    curve = display.ax_.lines[1].get_ydata()
    np.testing.assert_array_equal(curve, display.main_effect.effect)


def test_categories_are_ticks(cpd, X):
    display = MainEffectDisplay.from_estimator(cpd, X, "kind")
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["long", "mid", "short"]


def test_of_too_many_categories_those_of_the_largest_effects_are_shown():
    names = np.array([f"kind {i}" for i in range(200)], dtype=object)
    effect = np.random.default_rng(0).normal(size=200)
    display = MainEffectDisplay(make_effect("kind", names, effect)).plot()
    shown = display.ax_.lines[1].get_ydata()
    assert 10 < len(shown) < 50
    largest = effect[np.argsort(-np.abs(effect))[: len(shown)]]
    np.testing.assert_array_equal(shown, np.sort(largest))
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks[0] == names[effect.argmin()]
    assert f"{200 - len(shown)} of 200 with smaller effects not shown" in display.ax_.get_xlabel()


def test_main_effects_can_share_an_axis(cpd, X):
    displays = [MainEffectDisplay.from_estimator(cpd, X, name) for name in ("a", "kind")]
    share_axis(displays)
    assert displays[0].ax_.get_ylim() == displays[1].ax_.get_ylim()
    low, high = displays[0].ax_.get_ylim()
    assert all(low <= d.main_effect.effect[d.main_effect.is_supported].min() for d in displays)
    assert all(high >= d.main_effect.effect[d.main_effect.is_supported].max() for d in displays)


def test_targets_are_named_on_axes(X, y):
    model = fit(X, (X["a"] + y).rename("height"))
    display = MainEffectDisplay.from_estimator(model, X, "a")
    assert display.ax_.get_ylabel().startswith("height above its mean")
    several = X[["a", "b"]].rename(columns={"a": "first", "b": "second"})
    (effect,) = main_effects(fit(X, several), X, "a", output="second")
    assert effect.response == "second"


def test_labels_do_not_overlap_on_small_axes(cpd, X):
    figure, axes = plt.subplots(2, 3, figsize=(7, 4), layout="constrained")
    names = np.array([f"category {i}" for i in range(12)], dtype=object)
    effect = make_effect("kind", names, np.arange(12.0))
    MainEffectDisplay(effect).plot(axes[0, 0])
    figure.canvas.draw()
    labels = [text for text in axes[0, 0].get_xticklabels() if text.get_text()]
    places = [text.get_window_extent().x1 for text in labels]
    assert min(np.diff(places)) >= 0.9 * figure.dpi * plt.rcParams["font.size"] / 72


def test_whole_numbers_have_whole_ticks(cpd):
    months = np.arange(1.0, 13)
    effect = make_effect("month", months, np.sin(months))
    ticks = MainEffectDisplay(effect).plot().ax_.get_xticks()
    np.testing.assert_array_equal(ticks, np.round(ticks))
    epochs = HistoryDisplay.from_estimator(cpd).ax_.get_xticks()
    np.testing.assert_array_equal(epochs, np.round(epochs))


def test_an_interaction_names_both_columns(cpd, X):
    display = InteractionDisplay.from_estimator(cpd, X, ("b", "a"), n_grid=11)
    assert labels(display)[0].splitlines()[0] == "b"
    assert labels(display)[1] == "a"
    drawn = display.ax_.collections[0].get_array()
    effect, supported = display.interaction.effect.T, display.interaction.is_supported.T
    np.testing.assert_array_equal(drawn[supported], effect[supported])
    np.testing.assert_array_equal(np.ma.getmaskarray(drawn), ~supported)


def test_given_numbers_are_sorted(cpd, X):
    found = interaction(cpd, X, ("a", "b"), grid={"a": [1.5, -0.5, 0.5]})
    assert found.values[0].tolist() == [-0.5, 0.5, 1.5]


def test_importances_stand_in_order(cpd, X):
    display = ImportancesDisplay.from_estimator(cpd, X)
    shares = importances(cpd, X)
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    order = np.argsort(-shares.total)
    assert ticks == [shares.names[d] for d in order]
    widths = [bar.get_width() for bar in display.ax_.containers[0]]
    np.testing.assert_allclose(widths, shares.total[order])


def test_a_spectrum_is_logarithmic(cpd):
    display = SpectrumDisplay.from_estimator(cpd, "b")
    assert labels(display) == ("frequency (periods per unit of b)",
                               "norm of the weights\n(units of the response)")  # fmt: skip
    assert display.ax_.get_yscale() == "log"
    assert len(display.ax_.lines) == 1


def test_coefficients_that_are_not_certain_are_grey(cpd):
    display = CoefficientsDisplay.from_estimator(cpd, 4, max_slices=4)
    certain = display.coefficients.n_certain
    colours = [bar.get_facecolor() for bar in display.ax_.containers[0]]
    assert certain < 4
    assert "grey: there may be larger ones" in display.ax_.get_xlabel()
    assert len(set(colours[:certain])) <= 1
    assert set(colours[certain:]) == {to_rgba(FAINT)}


def test_terms_are_counted_from_one(cpd):
    display = RankOneTermsDisplay.from_estimator(cpd)
    low, high = display.ax_.get_xlim()
    assert [tick for tick in display.ax_.get_xticks() if low < tick < high] == [1, 2, 3]


def test_a_history_without_validation_has_one_line(cpd):
    display = HistoryDisplay.from_estimator(cpd)
    assert display.score_ax_ is None
    assert labels(display) == ("epoch", "training objective")
    np.testing.assert_array_equal(display.ax_.lines[0].get_ydata(), cpd.history_["objective"])


def test_validation_scores_have_axes_of_their_own(X, y):
    model = fit(X, y, early_stopping=True)
    display = HistoryDisplay.from_estimator(model)
    assert display.score_ax_.get_ylabel() == "validation score: R²"
    np.testing.assert_array_equal(
        display.score_ax_.lines[0].get_ydata(), model.history_["validation_score"]
    )


def test_the_validation_score_of_a_classifier_is_minus_its_loss(X, y):
    model = fit(X, y > 5, estimator=QTKMClassifier, early_stopping=True, loss="squared_hinge")
    label = HistoryDisplay.from_estimator(model).score_ax_.get_ylabel()
    assert label == "validation score: minus the mean loss (SquaredHinge)"
    bare = HistoryDisplay([2.0, 1.0], [0.1, 0.2]).plot()
    assert bare.score_ax_.get_ylabel() == "validation score"


def test_residuals_are_observed_less_predicted(cpd, X, y):
    display = ResidualsDisplay.from_estimator(cpd, X, y, kind="residuals")
    dots = display.ax_.collections[0].get_offsets()
    np.testing.assert_allclose(dots[:, 0], cpd.predict(X))
    np.testing.assert_allclose(dots[:, 1], y - cpd.predict(X))
    assert labels(display) == ("predicted", "observed - predicted")


@pytest.mark.parametrize("kind", ["observed", "residuals"])
def test_very_many_rows_are_counted_in_cells(kind):
    observed, predicted = np.random.default_rng(0).normal(size=(2, 30_000))
    display = ResidualsDisplay(observed, predicted, kind=kind).plot()
    assert display.ax_.collections[0].get_array().sum() == 30_000


def test_residuals_of_one_output(outputs, X, y):
    both = np.column_stack([y, np.cos(X["b"])])
    display = ResidualsDisplay.from_estimator(outputs, X, both, output=1)
    np.testing.assert_allclose(display.residuals, both[:, 1] - outputs.predict(X)[:, 1])
    with pytest.raises(ValueError, match="output=None is not an output"):
        ResidualsDisplay.from_estimator(outputs, X, both)


def test_history_and_residuals_serve_every_network(tucker, X, y):
    rows = X[["a", "b"]]
    assert len(HistoryDisplay.from_estimator(tucker).ax_.lines) == 1
    assert len(ResidualsDisplay.from_estimator(tucker, rows, y).residuals) == len(y)


# -- errors -----------------------------------------------------------------------------------


def test_classes_have_no_residuals(two_classes, X, y):
    with pytest.raises(ValueError, match="QTKMClassifier is not a regressor"):
        ResidualsDisplay.from_estimator(two_classes, X, y)
    with pytest.raises(ValueError, match="QTKMClassifier is not a regressor"):
        CoverageDisplay.from_estimator(two_classes, X, y)


def test_unknown_kinds_are_refused(cpd, X, y):
    with pytest.raises(ValueError, match="use one of 'observed', 'residuals'"):
        ResidualsDisplay.from_estimator(cpd, X, y, kind="errors")
    with pytest.raises(ValueError, match=r"y has shape \(3,\), expected \(60,\)"):
        ResidualsDisplay.from_estimator(cpd, X, y[:3])
    with pytest.raises(ValueError, match="no column 'z'"):
        MainEffectDisplay.from_estimator(cpd, X, "z")


def test_a_model_without_a_history_has_no_learning_curve(cpd):
    bare = copy.copy(cpd)
    bare.history_ = {}
    with pytest.raises(ValueError, match="no history"):
        HistoryDisplay.from_estimator(bare)


def test_one_column_has_no_interactions(X, y):
    one = fit(X[["a"]], y)
    shares = importances(one, X[["a"]])
    assert shares.first_order[0] == pytest.approx(1)
    assert shares.total[0] == pytest.approx(1)


def test_the_path_shows_every_trial_and_a_fit_without_a_search_says_so(cpd):
    path = [
        {"rank": 0, "alpha": 0.0, "error": 1.0},
        {"rank": 8, "alpha": 1e-3, "error": 0.5},
        {"rank": 8, "alpha": 1e-4, "error": 0.4},
        {"rank": 16, "alpha": 1e-4, "error": 0.3},
        {"rank": 90, "alpha": 1e-5, "error": 0.2, "share": 0.75},
    ]
    labels = [text.get_text() for text in PathDisplay(path).plot().ax_.get_legend().get_texts()]
    assert labels == [
        "rank 8",
        "rank 16",
        "main effects alone",
        "full rank (weight 75 %)",
    ]
    with pytest.raises(ValueError, match="did not search"):
        PathDisplay.from_estimator(cpd)


def test_times_are_times_on_axes_in_frames_and_in_texts():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    when = pandas.Timestamp("2024-02-01") + pandas.to_timedelta(rng.uniform(0, 90, 120), unit="D")
    X = pandas.DataFrame({"when": when, "dose": rng.uniform(size=120)})
    y = np.sin(when.day_of_year / 12) * X["dose"].to_numpy()
    model = QTKMRegressor(rank=2, alpha=1e-3, n_basis=8, max_iter=3, random_state=0).fit(X, y)
    days = pandas.to_datetime(["2024-02-10", "2024-03-20"])
    (effect,) = main_effects(model, X, "when", grid={"when": days}, std=True)
    np.testing.assert_array_equal(effect.values, days.to_numpy())
    expected = [model.predict(X.assign(when=day)).mean() for day in days]
    np.testing.assert_allclose(effect.partial_dependence, expected, rtol=1e-8)
    assert "2024-03-20" in repr(effect)
    assert list(effect.to_frame()["value"]) == list(days)
    found = explain(model, X[:2], X)
    assert abs(found.values[0][0] - X["when"].to_numpy()[0]) < np.timedelta64(2, "ms")
    assert place(np.datetime64("NaT")) == "missing"
    displays = [
        MainEffectDisplay.from_estimator(model, X, "when"),
        InteractionDisplay.from_estimator(model, X, ["when", "dose"]),
    ]
    for display in displays:
        display.figure_.canvas.draw()
        assert "Mar" in [text.get_text() for text in display.ax_.get_xticklabels()]
