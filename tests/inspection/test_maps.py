"""The map of interactions has numbers where they fit, and the columns that interact."""

from itertools import combinations

import numpy as np
import pytest

from qtkm.inspection import Importances, InteractionStrengthsDisplay, importances

plt = pytest.importorskip("matplotlib.pyplot")
pytestmark = pytest.mark.usefixtures("close_figures")


def test_strengths_are_written_into_the_map(cpd, X):
    display = InteractionStrengthsDisplay.from_estimator(cpd, X)
    sizes = importances(cpd, X).interactions
    texts = [text.get_text() for text in display.ax_.texts]
    assert texts == [f"{sizes[pair]:.2g}" for pair in [(1, 0), (2, 0), (2, 1)]]
    np.testing.assert_allclose(display.ax_.images[0].get_array()[0, 0], sizes[1, 0])


def make_strengths(n_columns, length):
    size = 10 ** np.random.default_rng(0).uniform(-4, 1, (n_columns, n_columns))
    size = np.tril(size, -1) + np.tril(size, -1).T
    names = [f"c{d}".ljust(length, "x") for d in range(n_columns)]
    return Importances(names, 1.0, size[0], size[0], size**2, "response")


@pytest.mark.parametrize(("n_columns", "length"), [(8, 20), (12, 8)])
def test_numbers_in_a_map_do_not_touch(n_columns, length):
    display = InteractionStrengthsDisplay(make_strengths(n_columns, length)).plot()
    display.figure_.canvas.draw()
    texts = display.ax_.texts
    assert len(texts) == n_columns * (n_columns - 1) / 2
    boxes = [text.get_window_extent() for text in texts]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_a_map_without_room_has_no_numbers():
    part = plt.figure(figsize=(6, 3)).subfigures(1, 2)[0]
    display = InteractionStrengthsDisplay(make_strengths(10, 10)).plot(part.subplots())
    assert len(display.ax_.texts) == 0


def test_columns_without_interactions_are_left_out_of_the_map():
    strengths = make_strengths(4, 3)
    strengths.second_order[2] = strengths.second_order[:, 2] = 0
    display = InteractionStrengthsDisplay(strengths).plot()
    ticks = [text.get_text() for text in display.ax_.get_xticklabels()]
    assert ticks == ["c0x", "c1x"]
    assert "not shown: 1 column without any" in display.ax_.get_xlabel()
    strengths.second_order[:] = 0
    assert len(InteractionStrengthsDisplay(strengths).plot().ax_.texts) == 6
