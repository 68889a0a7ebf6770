"""The display of a search shows all candidates, on its own axes or on given ones."""

from copy import copy

import numpy as np
import pytest
from sklearn.metrics import make_scorer, mean_absolute_error, r2_score

from qtkm import QTKMClassifierCV, QTKMRegressor, QTKMRegressorCV
from qtkm.selection import SearchDisplay
from qtkm.selection.search import name_score
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


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_every_candidate_is_a_dot_and_the_chosen_one_a_star(search):
    ax = SearchDisplay.from_estimator(search).axes_[-1]
    *dots, star = (np.asarray(drawn.get_offsets()) for drawn in ax.collections)
    assert sum(map(len, dots)) == 15
    assert star[0, 1] == search.best_score_


def draw(search, **changes):
    results = dict(search.cv_results_) | changes
    return SearchDisplay(results, search.best_index_).plot().axes_[-1]


def test_the_legend_names_what_is_drawn_and_nothing_else(search):
    n, best = len(search.cv_results_["params"]), search.best_index_
    scores, finished = np.full(n, 0.5), np.zeros(n, dtype=bool)
    scores[best], finished[best] = 0.7, True
    given_up = "abandoned, score\nof few epochs"
    # the only one that was fitted to the end is the star
    ax = draw(search, mean_test_score=scores, finished=finished)
    assert legend(ax) == [given_up, "chosen"]
    assert len(ax.lines) == 0
    ranks = search.cv_results_["param_rank"]
    other = np.flatnonzero(ranks != ranks[best])[-1]
    finished[other] = True
    ax = draw(search, mean_test_score=scores, finished=finished)
    assert legend(ax) == [given_up, "fitted to convergence", "best of these", "chosen"]
    np.testing.assert_array_equal(np.sort(ax.lines[0].get_ydata()), [scores[other], 0.7])
    scores[[i for i in range(n) if i not in (best, other)][:2]] = -1e6
    ax = draw(search, mean_test_score=scores, finished=finished)
    assert ax.get_ylim()[0] > -10


@pytest.mark.parametrize(
    ("scoring", "name"),
    [
        (None, "R²"),
        ("neg_mean_squared_error", "neg_mean_squared_error"),
        (make_scorer(mean_absolute_error, greater_is_better=False), "minus mean_absolute_error"),
        (make_scorer(r2_score), "r2_score"),
        (len, "len"),
    ],
)
def test_the_axis_names_the_score(search, scoring, name):
    other = copy(search).set_params(scoring=scoring)
    label = SearchDisplay.from_estimator(other).axes_[0].get_ylabel()
    assert label == f"{name} of the test rows,\nmean of the folds"


def test_of_classes_the_score_is_the_accuracy():
    assert name_score(QTKMClassifierCV()) == "accuracy"


def test_panels_divide_given_axes(search):
    figure, (left, _) = plt.subplots(1, 2)
    display = SearchDisplay.from_estimator(search, ax=left)
    assert display.ax_ is left
    assert len(figure.axes) == 6
    assert plt.get_fignums() == [figure.number]


def test_one_value_of_everything_is_drawn_as_well(X, y):
    model = QTKMRegressor(n_basis=4, period=2.0, rank=1, max_iter=2, penalty="ridge")
    search = QTKMRegressorCV(model, alphas=[1e-3], refit=False).fit(X, y)
    assert [ax.get_xlabel() for ax in SearchDisplay.from_estimator(search).axes_] == ["alpha"]
