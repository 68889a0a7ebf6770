"""The display of a search shows all candidates, on its own axes or on given ones."""

import numpy as np
import pytest

from qtkm import QTKMRegressor, QTKMRegressorCV
from qtkm.selection import SearchDisplay
from tests.selection.conftest import GRID, SETTINGS

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def search(X, y):
    return QTKMRegressorCV(QTKMRegressor(**SETTINGS), **GRID).fit(X, y)


def test_a_panel_for_each_parameter_that_was_varied(search):
    display = SearchDisplay.from_estimator(search)
    names = [ax.get_xlabel() for ax in display.axes_]
    assert names == ["alpha", "n_basis", "period", "rank"]
    assert display.axes_[0].get_title(loc="left")
    assert display.axes_[0].get_ylabel()
    display.figure_.canvas.draw()
    ticks = [text.get_text() for text in display.axes_[0].get_xticklabels()]
    assert ticks == ["0.001", "0.1"]


def test_every_candidate_is_a_dot_and_the_chosen_one_a_star(search):
    ax = SearchDisplay.from_estimator(search, parameters=["rank"]).axes_[0]
    *dots, star = (np.asarray(drawn.get_offsets()) for drawn in ax.collections)
    assert sum(map(len, dots)) == 16
    assert star[0, 1] == search.best_score_
    best = ax.lines[0].get_ydata()
    finished = search.cv_results_["finished"]
    assert max(best) == search.cv_results_["mean_test_score"][finished].max()
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == [
        "given up, score\nof few epochs", "fitted to the end", "best of these", "chosen"
    ]  # fmt: skip


def test_poor_candidates_do_not_press_the_others_together(search):
    results = dict(search.cv_results_)
    poor = results["mean_test_score"].copy()
    poor[:2] = -1e6
    display = SearchDisplay(results | {"mean_test_score": poor}, search.best_index_).plot()
    assert display.axes_[0].get_ylim()[0] > -10


def test_panels_divide_given_axes(search):
    figure, (left, _) = plt.subplots(1, 2)
    display = SearchDisplay.from_estimator(search, ax=left)
    assert display.ax_ is left
    assert len(figure.axes) == 6
    assert plt.get_fignums() == [figure.number]


def test_one_value_of_everything_is_drawn_as_well(X, y):
    model = QTKMRegressor(n_basis=4, period=2.0, rank=1, max_iter=2)
    search = QTKMRegressorCV(model, alphas=[1e-3], refit=False).fit(X, y)
    assert [ax.get_xlabel() for ax in SearchDisplay.from_estimator(search).axes_] == ["alpha"]


@pytest.mark.parametrize("parameters", ["rank", ["size"], []])
def test_parameters_that_were_not_tried(search, parameters):
    with pytest.raises(ValueError, match="must be a list of some of 'alpha', 'n_basis'"):
        SearchDisplay.from_estimator(search, parameters=parameters)
