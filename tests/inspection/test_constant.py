"""Columns of one basis function or of one value tell nothing, and no drawing says otherwise."""

import numpy as np
import pytest

from qtkm import CPD, Power, QTKMRegressor
from qtkm.inspection import (
    ImportancesDisplay,
    InteractionDisplay,
    MainEffectDisplay,
    RankOneTermsDisplay,
    SpectrumDisplay,
    importances,
    interaction,
    largest_coefficients,
    main_effects,
    spectrum,
)
from tests.inspection.oracles import weight_tensor

pd = pytest.importorskip("pandas")
pytestmark = [
    pytest.mark.usefixtures("close_figures"),
    pytest.mark.filterwarnings("ignore:Constant columns:UserWarning"),
]

CONSTANT = ["year", "country", "power"]


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(80, 2)), columns=["a", "b"])
    return frame.assign(year=2013.0, country="only", power=3.0)


@pytest.fixture(scope="module", params=["cpd", "train", "ring"])
def constant(request, rows):
    """A model in which three of five columns have one function each."""
    basis = ["fourier", "fourier", "fourier", "fourier", Power(n_basis=1)]
    model = QTKMRegressor(
        network=request.param, basis=basis, n_basis=[6, 4, 1, 1, 1], rank=2, alpha=1e-3, period=2.0,
        categorical_features=["country"], max_iter=3, random_state=0, n_jobs=1,
    )  # fmt: skip
    target = 100 * np.sin(4 * rows["a"]) * rows["b"]
    with pytest.warns(UserWarning, match="Constant columns have no effect"):
        return model.fit(rows, target)


def draw(display, model):
    """Draw what a display shows, for one of the networks: it sees their numbers alone."""
    if isinstance(model.network_, CPD):
        display.figure_.canvas.draw()


def test_their_shares_and_strengths_are_zero(constant, rows):
    assert [column["basis"].n_features for column in constant.columns_] == [6, 4, 1, 1, 1]
    shares = importances(constant, rows)
    assert shares.total[2:].tolist() == [0, 0, 0]
    assert shares.total[:2].min() > 0
    assert not shares.interactions[2:].any()
    assert shares.interactions[0, 1] > 0


def test_columns_that_are_the_same_in_these_rows_do_not_interact(cpd, X):
    rows = X.assign(a=0.5, kind="mid")
    shares = importances(cpd, rows)
    assert not shares.interactions.any()
    assert shares.total[[0, 2]].tolist() == [0, 0]


def test_weights_do_not_name_them(constant):
    found = largest_coefficients(constant, 24)
    assert found.is_exact
    np.testing.assert_allclose(
        np.abs(found.values), -np.sort(-np.abs(weight_tensor(constant)).ravel())
    )
    assert not any(name in label for label in found.labels for name in CONSTANT)
    assert len(set(found.labels)) == 24
    assert not found.indices[:, 2:].any()


def test_their_effects_are_one_dot_at_zero(constant, rows):
    for effect in main_effects(constant, rows, CONSTANT):
        assert len(effect.values) == 1
        assert effect.support.tolist() == [len(rows)]
        np.testing.assert_allclose(effect.effect, 0, atol=1e-10)
        display = MainEffectDisplay(effect).plot()
        assert display.ax_.get_ylim() == (-1, 1)
        assert "the only value" in display.ax_.get_xlabel()
        draw(display, constant)


@pytest.mark.parametrize("pair", [("a", "year"), ("country", "b"), ("year", "country")])
def test_their_maps_have_no_colours(constant, rows, pair):
    both = interaction(constant, rows, pair)
    assert both.is_supported.any()
    display = InteractionDisplay(both).plot()
    assert display.ax_.collections[0].get_clim() == (-1, 1)
    assert np.abs(display.ax_.collections[0].get_array()).max() < 1e-10
    draw(display, constant)


def test_a_number_that_is_the_only_one_is_named_on_a_map(constant, rows):
    display = InteractionDisplay.from_estimator(constant, rows, ("a", "year"))
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["2013"]


def test_a_spectrum_of_one_function_is_one_dot(constant):
    found = spectrum(constant, "year")
    assert found.frequencies.tolist() == [0]
    # all weights have this frequency
    assert found.magnitudes[0] == pytest.approx(np.linalg.norm(weight_tensor(constant)))
    display = SpectrumDisplay(found).plot()
    draw(display, constant)
    assert "the only function, a constant" in display.ax_.get_xlabel()


def test_other_displays_draw_them(constant, rows):
    displays = [
        ImportancesDisplay.from_estimator(constant, rows),
    ]
    if type(constant.network_).__name__ == "CPD":
        displays += [RankOneTermsDisplay.from_estimator(constant)]
        assert len(displays[-1].terms.values[2]) == 1
    for display in displays:
        draw(display, constant)
