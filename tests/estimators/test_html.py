"""In notebooks a fitted model shows its summary, below scikit-learn's diagram."""

from html import escape

import numpy as np
import pytest
import sklearn

from qtkm import QTKMClassifier, QTKMRegressor

SETTINGS = {
    "penalty": "ridge",
    "rank": 2,
    "n_basis": 4,
    "max_iter": 3,
    "random_state": 0,
    "n_jobs": 1,
}


def below(model):
    """What stands below the diagram."""
    pages = model._repr_html_(), model._repr_mimebundle_()["text/html"]
    diagram, _, text = pages[0].partition('<pre class="qtkm-learned">')
    assert "sk-container" in diagram
    assert pages[1].endswith(text)
    return text


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).uniform(size=(60, 2))


@pytest.fixture(scope="module")
def model(X):
    return QTKMRegressor(**SETTINGS).fit(X, X[:, 0] * X[:, 1])


def frame(X, names):
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame(X, columns=names)


def test_the_summary_stands_below_the_diagram(model):
    assert below(model) == escape(model.summary()) + "</pre>"


def test_an_unfitted_model_has_the_diagram_only():
    assert below(QTKMRegressor()) == ""


def test_no_diagram_means_no_summary(model):
    with sklearn.config_context(display="text"):
        assert set(model._repr_mimebundle_()) == {"text/plain"}
        assert not hasattr(model, "_repr_html_")


def test_names_and_labels_are_text_and_never_markup(X):
    names = ["<script>alert(1)</script>", 'a" onload="b&c']
    labels = np.where(X[:, 0] > 0.5, "<img src=x onerror=alert(1)>", "plain")
    model = QTKMClassifier(**SETTINGS).fit(frame(X, names), labels)
    text = below(model).removesuffix("</pre>")
    assert "<" not in text
    assert "&lt;script" in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in text
    whole = model._repr_mimebundle_()["text/html"]
    assert "<script>alert" not in whole
    assert "<img src=x" not in whole


@pytest.mark.filterwarnings("ignore:Constant columns", "ignore:X has one row")
def test_a_column_of_one_value_has_no_effect(X):
    rows = frame(np.column_stack([X, np.full(len(X), 81_900.0)]), ["a", "b", "year"])
    rows["kind"] = "only"
    model = QTKMRegressor(**SETTINGS, categorical_features=["kind"]).fit(rows, X[:, 0])
    lines = model.summary().splitlines()
    assert "  year  81,900 in every row, so it has no effect" in lines
    assert "  kind  1 category" in lines


def test_a_model_without_a_posterior_is_shown_too(X):
    model = QTKMRegressor(loss="huber", **SETTINGS).fit(X, X[:, 0])
    assert "loss        Huber" in below(model)
