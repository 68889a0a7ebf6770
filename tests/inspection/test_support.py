"""Effects tell where the rows are, and displays show where they are not."""

import tracemalloc

import numpy as np
import pytest

from qtkm.inspection import (
    Interaction,
    InteractionDisplay,
    MainEffectDisplay,
    interaction,
    main_effects,
)
from qtkm.inspection.support import NEAR, count_near, inner_range, shown_range, steps
from tests.inspection.conftest import fit, make_effect

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.usefixtures("close_figures")


def near(grid, rows, reach):
    """Which rows are near which values: by the value that each row is closest to."""
    closest = grid[np.abs(rows[:, None] - grid).argmin(axis=1)]
    return np.abs(grid[:, None] - closest) <= NEAR * reach


@pytest.mark.parametrize("is_weighted", [False, True])
def test_support_counts_the_rows_near_every_value(cpd, X, weight, is_weighted):
    counts = weight if is_weighted else np.ones(len(X))
    options = {"n_grid": 9, "sample_weight": weight if is_weighted else None}
    (effect,) = main_effects(cpd, X, "a", **options)
    rows = X["a"].to_numpy()
    np.testing.assert_allclose(effect.support, near(effect.values, rows, np.ptp(rows)) @ counts)
    (kinds,) = main_effects(cpd, X, "kind", **options)
    expected = [counts[X["kind"] == kind].sum() for kind in kinds.values]
    np.testing.assert_allclose(kinds.support, expected)


def test_support_of_many_categories_takes_little_memory():
    codes = np.arange(3000)
    tracemalloc.start()
    counts = count_near([(codes, np.repeat(codes, 2), 0.0)], np.ones(6000))
    assert tracemalloc.get_traced_memory()[1] < 10_000_000  # not 3,000²
    tracemalloc.stop()
    assert (counts == 2).all()


@pytest.mark.parametrize("is_weighted", [False, True])
def test_support_of_a_pair_counts_the_rows_near_both_values(cpd, X, weight, is_weighted):
    counts = weight if is_weighted else np.ones(len(X))
    sample_weight = weight if is_weighted else None
    rows = X[["a", "b"]].to_numpy().T
    both = interaction(cpd, X, ("b", "a"), n_grid=30, sample_weight=sample_weight)
    first = near(both.values[0], rows[1], np.ptp(rows[1]))
    second = near(both.values[1], rows[0], np.ptp(rows[0]))
    np.testing.assert_allclose(both.support, (first * counts) @ second.T, atol=1e-12)
    assert 0 < both.is_supported.mean() < 1
    mixed = interaction(cpd, X, ("kind", "a"), n_grid=30, sample_weight=sample_weight)
    first = mixed.values[0][:, None] == X["kind"].to_numpy()
    second = near(mixed.values[1], rows[0], np.ptp(rows[0]))
    np.testing.assert_allclose(mixed.support, (first * counts) @ second.T, atol=1e-12)


def test_rows_beyond_a_given_grid_do_not_count(cpd, X):
    grid = {"a": [0.5, 0.4, 0.6], "kind": ["mid", "never seen"]}
    inside = X["a"].between(0.35, 0.65)
    both = interaction(cpd, X, ("a", "kind"), grid=grid)
    assert both.support[:, 0].max() == np.sum(inside & (X["kind"] == "mid"))
    assert both.support[:, 1].max() == 0


def inner_of(values):
    """The inner range of rows without weights."""
    return inner_range(values, np.ones(len(values)))


def test_inner_numbers_leave_a_hundredth_of_the_rows_on_either_side():
    rng = np.random.default_rng(0)
    values = rng.permutation(np.arange(1.0, 1001))
    assert inner_of(values) == (10, 990)
    weight = rng.integers(0, 4, 1000)
    assert inner_range(values, weight.astype(float)) == inner_of(np.repeat(values, weight))
    # each of a few values stands for itself
    assert inner_of(np.array([1.0] * 999 + [7.0])) == (1, 7)


def test_heavy_tails_are_cut_and_their_columns_looked_at_more_closely():
    values = np.append(np.linspace(0, 10, 999), 500.0)
    inner = inner_of(values)
    low, high = shown_range(values, inner)
    assert low == 0
    assert inner[1] < high < 12
    grid = steps(values, inner, 50)
    assert (grid[0], grid[-1]) == (0, 500)
    assert np.sum(grid <= inner[1]) >= 25
    assert len(grid) <= 50
    light = values[:-1]
    assert shown_range(light, inner_of(light)) == (0, 10)
    np.testing.assert_allclose(steps(light, inner_of(light), 11), np.arange(11.0))


# -- displays ---------------------------------------------------------------------------------


def make_curve(values, effect, inner, **changes):
    return make_effect("a", values, effect, deciles=values[1:10], inner=inner, **changes)


def test_the_wild_ends_of_a_curve_are_dashed_and_do_not_set_the_scale():
    values = np.linspace(0, 10, 101)
    effect = np.where(values > 9, 1000.0 * (values - 9), np.sin(values))
    display = MainEffectDisplay(make_curve(values, effect, (0.0, 9.0))).plot()
    low, high = display.ax_.get_ylim()
    assert low < effect[values <= 9].min()
    assert 1 < high < 2
    guessed, solid = display.ax_.lines[1:3]
    assert guessed.get_linestyle() == "--"
    np.testing.assert_array_equal(guessed.get_ydata(), effect)
    np.testing.assert_array_equal(np.isnan(solid.get_ydata()), values > 9)
    assert display.ax_.get_xlabel() == "a\nticks: deciles; dashed: outermost 1% of rows, or none"


def test_tame_ends_of_a_curve_stay_in_sight():
    values = np.linspace(0, 10, 101)
    display = MainEffectDisplay(make_curve(values, values / 10, (1.0, 9.0))).plot()
    low, high = display.ax_.get_ylim()
    assert low <= 0
    assert high >= 1


def test_a_gap_in_the_rows_is_a_guess():
    values = np.linspace(0, 10, 101)
    support = np.where((values > 4) & (values < 6), 0.0, 3.0)
    effect = np.where(support == 0, 50.0, 1.0)
    display = MainEffectDisplay(make_curve(values, effect, (0.0, 10.0), support=support)).plot()
    assert display.ax_.get_ylim()[1] < 2
    assert np.isnan(display.ax_.lines[2].get_ydata()).sum() == np.sum(support == 0)


def test_heavy_tails_of_a_column_leave_the_axis_to_the_other_rows(X, y):
    rows = X.assign(a=np.where(np.arange(len(X)) == 0, 400.0, X["a"]))
    rows = rows.loc[np.repeat(rows.index, 3)].iloc[2:]  # one row in 178 is far out
    model = fit(rows, make_long(rows))
    display = MainEffectDisplay.from_estimator(model, rows, "a")
    assert display.ax_.get_xlim()[1] < 5
    assert "(all rows: " in display.ax_.get_xlabel()
    assert "to 400)" in display.ax_.get_xlabel()
    pair = InteractionDisplay.from_estimator(model, rows, ("b", "a"))
    assert pair.ax_.get_ylim()[1] < 5


def make_long(rows):
    return np.sin(rows["b"].to_numpy())


def test_a_category_without_rows_is_pale(cpd, X):
    display = MainEffectDisplay.from_estimator(cpd, X[X["kind"] != "mid"], "kind")
    full, pale = display.ax_.lines[1:3]
    assert full.get_xdata().tolist() == [0, 2]
    assert pale.get_xdata().tolist() == [1]
    assert "pale: no rows" in display.ax_.get_xlabel()
    assert "pale" not in MainEffectDisplay.from_estimator(cpd, X, "kind").ax_.get_xlabel()


def make_map(effect, support):
    sizes = effect.shape
    return Interaction(
        ("a", "b"), (np.arange(1.0, sizes[0] + 1), np.arange(sizes[1]) / 2.0), effect,
        (np.zeros(sizes[0]), np.zeros(sizes[1])), 0.0, "response", (None, None), support,
    )  # fmt: skip


def test_a_map_is_grey_without_rows_and_its_colours_follow_the_rows():
    effect = np.random.default_rng(0).uniform(-1, 1, (20, 20))
    effect[3, 4], effect[10, 11] = 500.0, 30.0
    support = np.full(effect.shape, 8.0)
    support[3, 4], support[10, 11] = 0.0, 1.0
    display = InteractionDisplay(make_map(effect, support)).plot()
    mesh = display.ax_.collections[0]
    assert np.ma.getmaskarray(mesh.get_array()).sum() == 1
    assert mesh.get_array().mask[4, 3]
    # neither the guess nor the single row sets the scale
    assert mesh.get_clim()[1] == pytest.approx(1.25, rel=0.02)
    assert display.ax_.get_xlabel() == "a\ngrey: no rows"
    red, green, blue, _ = mesh.get_cmap().get_bad()
    assert red == green == blue < 0.9


def test_a_map_with_rows_everywhere_has_no_grey():
    display = InteractionDisplay(make_map(np.eye(5), np.ones((5, 5)))).plot()
    assert "grey" not in display.ax_.get_xlabel()
    assert not np.ma.getmaskarray(display.ax_.collections[0].get_array()).any()
