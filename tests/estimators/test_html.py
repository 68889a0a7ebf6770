"""In notebooks a fitted model shows what was learned, below scikit-learn's diagram."""

from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn

from qtkm import QTKMClassifier, QTKMRegressor
from qtkm.estimators.html import learned

#: elements that have no end
VOID = {"path", "polyline", "circle", "meta", "link", "br", "img", "input"}
SETTINGS = {"rank": 2, "n_basis": 4, "max_iter": 3, "random_state": 0, "n_jobs": 1}


class Reader(HTMLParser):
    """Elements and text of a page whose elements all end where they should."""

    def __init__(self, page):
        super().__init__()
        self.open, self.seen, self.words = [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def points(self):
        """Points of the curves."""
        return [
            [tuple(map(float, pair.split(","))) for pair in attrs["points"].split()]
            for tag, attrs in self.seen if tag == "polyline"
        ]  # fmt: skip


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).uniform(size=(60, 2))


@pytest.fixture(scope="module")
def model(X):
    return QTKMRegressor(**SETTINGS).fit(X, X[:, 0] * X[:, 1])


def frame(X, names):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=names)


def test_the_table_tells_columns_network_and_fit(model):
    words = Reader(learned(model)).words
    assert {"x0", "x1", "CPD, rank 2", f"{model.n_parameters_:,}", model.status_} <= set(words)
    assert any(word.startswith("Fourier, 4 functions, period") for word in words)
    assert any(word.startswith(f"{model.n_iter_} in ") for word in words)


def test_the_diagram_stays_and_what_was_learned_follows(model):
    page = model._repr_mimebundle_()["text/html"]
    assert "sk-top-container" in page or "sk-container" in page
    assert page.endswith(learned(model))
    assert model._repr_html_().endswith(learned(model))


def test_an_unfitted_model_has_the_diagram_only():
    fresh = QTKMRegressor()
    assert "qtkm-learned" not in fresh._repr_mimebundle_()["text/html"]
    assert "qtkm-learned" not in fresh._repr_html_()


def test_no_diagram_means_no_table(model):
    with sklearn.config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(model, "_repr_html_")


def test_names_and_labels_are_text_and_never_markup(X):
    names = ["<script>alert(1)</script>", 'a" onload="b&c']
    labels = np.where(X[:, 0] > 0.5, "<img src=x onerror=alert(1)>", "plain")
    model = QTKMClassifier(**SETTINGS).fit(frame(X, names), labels)
    reader = Reader(learned(model))
    assert {"script", "img"}.isdisjoint(tag for tag, _ in reader.seen)
    assert not any("onload" in attrs or "onerror" in attrs for _, attrs in reader.seen)
    assert set(names) <= set(reader.words)
    assert any("<img src=x onerror=alert(1)>" in word for word in reader.words)
    whole = model._repr_mimebundle_()["text/html"]
    assert "<script>alert" not in whole
    assert "<img src=x" not in whole


def test_the_curve_follows_the_history(model):
    (points,) = Reader(learned(model)).points()
    assert len(points) == model.n_iter_
    x, y = np.transpose(points)
    assert np.all(np.diff(x) > 0)
    # down the page is down the axis: the objective falls
    heights, objective = y - y.min(), -np.array(model.history_["objective"])
    objective -= objective.min()
    np.testing.assert_allclose(
        heights / heights.max(), objective / objective.max(), rtol=0, atol=2e-3
    )


def test_a_validation_score_is_a_second_curve(X):
    settings = SETTINGS | {"early_stopping": True}
    model = QTKMRegressor(**settings).fit(X, X[:, 0])
    assert len(Reader(learned(model)).points()) == 2


def test_long_histories_and_odd_values_make_a_short_curve(model):
    from qtkm.estimators.html import MOST_POINTS, _curve

    history = {"objective": [1 / (1 + t) for t in range(5000)]}
    (points,) = Reader(_curve(history)).points()
    assert len(points) == MOST_POINTS
    (points,) = Reader(_curve({"objective": [3.0, float("nan"), 1.0, float("inf")]})).points()
    assert len(points) == 2
    assert [tag for tag, _ in Reader(_curve({"objective": [2.0]})).seen].count("circle") == 1
    assert _curve({"objective": [float("nan")]}) == ""
    assert _curve({}) == ""


def test_many_columns_are_cut_and_categories_counted():
    rng = np.random.default_rng(0)
    many = rng.uniform(size=(40, 30))
    many[:, 0] = rng.integers(0, 3, 40)
    model = QTKMRegressor(**SETTINGS, categorical_features=[0]).fit(many, many[:, 1])
    words = Reader(learned(model)).words
    assert "3 categories" in words
    assert "… 18 more, see columns_" in words
    assert "x11" in words
    assert "x12" not in words
