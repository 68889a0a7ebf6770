"""In notebooks a fitted model shows what was learned, below scikit-learn's diagram."""

from html.parser import HTMLParser

import numpy as np
import pytest
import sklearn

from qtkm import QTKMClassifier, QTKMRegressor
from qtkm.estimators.wording import MOST_POINTS, _curve, learned

#: elements that have no end
VOID = {"path", "polyline", "circle", "meta", "link", "br", "img", "input"}
SETTINGS = {
    "penalty": "ridge",
    "rank": 2,
    "n_basis": 4,
    "max_iter": 3,
    "random_state": 0,
    "n_jobs": 1,
}


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
    assert any(word.startswith("4 Fourier functions, period") for word in words)
    assert any(word.startswith(f"{model.n_iter_} epochs in ") for word in words)


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


def test_the_curve_has_the_numbers_of_its_axes():
    reader = Reader(_curve({"objective": [30_000.0, 2.0, 4.0], "validation_score": [0.1, 0.7]}))
    labels = [attrs for tag, attrs in reader.seen if tag == "text"]
    texts = dict(zip(reader.words[1 : len(labels) + 1], labels, strict=True))
    assert list(texts) == ["30,000", "2", "0.7", "0.1", "1", "epoch", "3"]
    # the greatest number above the least, objective to the left, score to the right
    assert float(texts["30,000"]["y"]) < float(texts["2"]["y"])
    assert texts["2"]["text-anchor"] == "end"
    assert texts["0.1"]["text-anchor"] == "start"
    assert float(texts["1"]["x"]) < float(texts["epoch"]["x"]) < float(texts["3"]["x"])
    assert "objective: 30,000 at first, 4 at the end" in reader.words
    # all of it inside the drawing
    (box,) = [attrs["viewbox"] for tag, attrs in reader.seen if tag == "svg"]
    left, top, width, height = map(float, box.split())
    for attrs in labels:
        assert left < float(attrs["x"]) < left + width
        assert top < float(attrs["y"]) < top + height


def test_a_curve_of_one_epoch_or_one_value_says_each_number_once():
    words = Reader(_curve({"objective": [2.0]})).words
    assert [word for word in words if word in "12"] == ["2", "1"]
    words = Reader(_curve({"objective": [5.0, 5.0]})).words
    assert words.count("5") == 1


def test_the_diagram_has_a_scroll_bar_only_if_it_needs_one(model):
    page = model._repr_mimebundle_()["text/html"]
    rule = ".sk-top-container.sk-global:has(~.qtkm-learned){overflow-x:auto!important}"
    assert rule in page
    # the rule is about what stands before it, as a sibling
    assert page.index('<div class="qtkm-learned">') > page.index("sk-container")


@pytest.mark.filterwarnings("ignore:Constant columns", "ignore:X has one row")
def test_a_column_of_one_value_is_called_constant(X):
    rows = frame(np.column_stack([X, np.full(len(X), 81_900.0)]), ["a", "b", "year"])
    rows["kind"] = "only"
    model = QTKMRegressor(**SETTINGS, categorical_features=["kind"]).fit(rows, X[:, 0])
    words = Reader(learned(model)).words
    assert words[words.index("year") + 1 : words.index("year") + 3] == ["constant", "81,900"]
    assert "1 category" in words


def test_long_histories_and_odd_values_make_a_short_curve(model):
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


def test_a_model_without_a_posterior_is_shown_too(X):
    model = QTKMRegressor(loss="huber", **SETTINGS).fit(X, X[:, 0])
    assert "huber" in model._repr_html_()
