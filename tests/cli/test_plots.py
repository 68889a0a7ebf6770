"""The figures of qtkm inspect: words that all panels share, and columns that tell nothing."""

import numpy as np
import pytest

from qtkm import QTKMClassifier, QTKMRegressor
from qtkm.cli.findings import SEEN, Findings
from qtkm.cli.findings import figures as draw

pandas = pytest.importorskip("pandas")
pytest.importorskip("matplotlib")

SETTINGS = {
    "penalty": "ridge",
    "rank": 2,
    "n_basis": 4,
    "max_iter": 3,
    "random_state": 0,
    "n_jobs": 1,
}


pytestmark = pytest.mark.filterwarnings("ignore:Constant columns", "ignore:X has one row")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(rng.uniform(size=(90, 4)), columns=["a", "b", "c", "d"])
    return frame.assign(year=2013.0, country="only", kind=rng.choice(["x", "y"], 90))


@pytest.fixture(scope="module")
def target(rows):
    return pandas.Series(80_000 * rows["a"] * (rows["kind"] == "x") + 1000 * rows["b"])


def fit(rows, target, estimator=QTKMRegressor):
    kinds = [name for name in ("country", "kind") if name in rows]
    return estimator(**SETTINGS, categorical_features=kinds or None).fit(rows, target)


@pytest.fixture(scope="module")
def figures(rows, target):
    found = Findings(fit(rows, target), None, rows, 1000)
    return dict(draw(found, rows, target))


def titles(figure):
    return [ax.get_title() for ax in figure.axes if ax.get_title()]


def test_columns_of_one_value_have_no_panels(rows, target, figures):
    found = Findings(fit(rows, target), None, rows, 1000)
    assert [found.model.columns_[d]["name"] for d in sorted(found.varying)] == [*"abcd", "kind"]
    assert len(found.pairs) == 10
    sizes = [found.importances.second_order[pair] for pair in found.pairs]
    assert sizes == sorted(sizes, reverse=True)
    for name, panels in (("main-effects", 5), ("interactions", 4)):
        shown = titles(figures[name])
        assert len(shown) == panels
        assert not any("year" in title or "country" in title for title in shown)
    ticks = figures["importances"].axes[0].get_yticklabels()
    assert {"year", "country"} <= {text.get_text() for text in ticks}


def test_one_label_for_all_panels_says_what_they_measure(figures):
    figure = figures["main-effects"]
    label = " ".join(figure.get_supylabel().split())
    assert label.startswith("each panel: response above its mean ")
    assert not any(ax.get_ylabel() for ax in figure.axes)
    assert "deciles" in figure.get_supxlabel()
    assert not any("deciles" in ax.get_xlabel() for ax in figure.axes)
    assert {ax.get_xlabel() for ax in figure.axes} == {*"abcd", "kind"}


def test_errors_say_that_the_rows_may_be_those_of_the_fit(figures, rows):
    assert figures["residuals"].get_supxlabel() == SEEN
    classes = pandas.Series(np.where(rows["a"] > 0.5, "yes", "no"))
    model = fit(rows[["a", "b"]], classes, QTKMClassifier)
    found = Findings(model, None, rows[["a", "b"]], 1000)
    drawn = dict(draw(found, rows[["a", "b"]], classes))
    assert drawn["confusion"].get_supxlabel() == SEEN


def test_a_model_of_nothing_but_constants_is_drawn(rows, target):
    X = rows[["year", "country"]]
    found = Findings(fit(X, target), None, X, 1000)
    assert found.varying == []
    assert found.pairs == []
    assert {"main-effects", "interactions", "spectra"}.isdisjoint(dict(draw(found, X, target)))


def test_one_column_that_varies_has_no_interactions(rows, target):
    X = rows[["a", "year"]]
    drawn = dict(draw(Findings(fit(X, target), None, X, 1000), X, target))
    assert titles(drawn["main-effects"]) == ["Main effect of a"]
    assert "interactions" not in drawn
