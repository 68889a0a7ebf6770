"""The docstrings of the estimators name every parameter and every fitted attribute."""

import inspect
import re

import pytest

from qtkm import QTKMClassifier, QTKMRegressor

pd = pytest.importorskip("pandas")
every_estimator = pytest.mark.parametrize("estimator", [QTKMRegressor, QTKMClassifier])


def entries(estimator, section):
    """Names that a section of the docstring describes."""
    text = inspect.getdoc(estimator)
    body = re.search(rf"^{section}\n-+\n(.*?)(?=^\w[^\n]*\n-+$|\Z)", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"^(\w+) : ", body.group(1), re.MULTILINE)


def fitted(estimator, X, y):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = estimator(rank=2, alpha=1e-3, n_basis=4, max_iter=2)
    return model.fit(frame, y if estimator is QTKMRegressor else y > 0)


@every_estimator
def test_every_parameter_is_described_in_order(estimator):
    assert entries(estimator, "Parameters") == list(inspect.signature(estimator).parameters)


@every_estimator
def test_every_default_is_the_one_described(estimator):
    text = inspect.getdoc(estimator)
    for name, parameter in inspect.signature(estimator).parameters.items():
        default = re.search(rf"^{name} : .*default=(.*)$", text, re.MULTILINE).group(1)
        assert eval(default) == parameter.default


@every_estimator
def test_every_fitted_attribute_is_described(estimator, X, y):
    model = fitted(estimator, X, y)
    names = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    described = set(entries(estimator, "Attributes"))
    assert names <= described
    assert all(hasattr(model, name) for name in described - {"noise_"})  # numbers alone have noise


@every_estimator
def test_what_the_lists_hold_is_described(estimator, X, y):
    model = fitted(estimator, X, y)
    text = inspect.getdoc(estimator)
    for key in [*model.history_, *model.columns_[0]]:
        assert f"``{key}``" in text


@every_estimator
def test_sections_stand_in_the_order_of_numpydoc(estimator):
    sections = re.findall(r"^(\w+)\n-+$", inspect.getdoc(estimator), re.MULTILINE)
    assert sections == ["Parameters", "Attributes", "Notes", "References", "Examples"]


def test_what_differs_in_a_classifier_is_described_for_classes():
    text = inspect.getdoc(QTKMClassifier)
    assert "normalize_y" not in text
    assert text.count("\nearly_stopping : ") == 1
