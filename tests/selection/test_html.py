"""In notebooks a fitted search shows what it has chosen, below scikit-learn's diagram."""

import sklearn

from qtkm import QTKMClassifierCV, QTKMRegressorCV
from qtkm.estimators.wording import readable
from tests.selection.conftest import GRID

LISTS = {"ranks": [2], "alphas": [1e-3], "n_basis": [4], "periods": [2.0]}


def table(search):
    """What stands below the diagram."""
    shown = []
    for page in (search._repr_html_(), search._repr_mimebundle_()["text/html"]):
        diagram, _, below = page.partition('<pre class="qtkm-learned">')
        assert "sk-container" in diagram
        shown.append(below.removesuffix("</pre>"))
    assert shown[0] == shown[1]
    return shown[0]


def line(name, value):
    return f"{name:<12}{value}"


def test_the_choice_and_its_score_stand_in_a_table(regressor, X, y):
    search = QTKMRegressorCV(regressor, **GRID, random_state=0).fit(X, y)
    text = table(search)
    for name, value in search.best_params_.items():
        assert line(name, f"{value:g}") in text
    assert line("R²", f"{search.best_score_:.4g}, mean of 3 folds") in text
    ended = search.cv_results_["finished"].sum()
    assert line("candidates", f"16 tried, {ended} fitted to convergence") in text
    assert line("search", f"{readable(search.search_time_, 3)} s") in text
    assert line("last fit", f"{readable(search.refit_time_, 3)} s") in text


def test_sequences_are_shown_and_no_model_is_needed(regressor, X, y):
    lists = LISTS | {"periods": [(2.0, 4.0, 2.0)]}
    search = QTKMRegressorCV(regressor, **lists, cv=0.3, refit=False).fit(X, y)
    text = table(search)
    assert line("period", "(2.0, 4.0, 2.0)") in text
    assert "1 fold\n" in text
    assert "last fit" not in text


def test_names_of_scores_are_text_and_never_markup(classifier, X, labels):
    def score(model, X, y):
        return 1.0

    score.__name__ = "<script>alert(1)</script>"
    search = QTKMClassifierCV(classifier, **LISTS, scoring=score).fit(X, labels)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;  1" in table(search)


def test_before_a_fit_there_is_the_diagram_only(regressor):
    assert table(QTKMRegressorCV(regressor)) == ""


def test_no_diagram_means_no_table(regressor):
    with sklearn.config_context(display="text"):
        assert not hasattr(QTKMRegressorCV(regressor), "_repr_html_")
