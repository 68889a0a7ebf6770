"""The docstring of the regressor names every parameter and every fitted attribute."""

import inspect
import re

import pytest

from qtkm import QTKMRegressor

pd = pytest.importorskip("pandas")


def entries(section):
    """Names that a section of the docstring describes."""
    text = inspect.getdoc(QTKMRegressor)
    body = re.search(rf"^{section}\n-+\n(.*?)(?=^\w[^\n]*\n-+$|\Z)", text, re.DOTALL | re.MULTILINE)
    return re.findall(r"^(\w+) : ", body.group(1), re.MULTILINE)


def test_every_parameter_is_described_in_order():
    assert entries("Parameters") == list(inspect.signature(QTKMRegressor).parameters)


def test_every_default_is_the_one_described():
    text = inspect.getdoc(QTKMRegressor)
    for name, parameter in inspect.signature(QTKMRegressor).parameters.items():
        default = re.search(rf"^{name} : .*default=(.*)$", text, re.MULTILINE).group(1)
        assert eval(default) == parameter.default


def test_every_fitted_attribute_is_described(make, X, y):
    model = make().fit(pd.DataFrame(X, columns=["a", "b", "c"]), y)
    fitted = {name for name in vars(model) if name.endswith("_") and not name.startswith("_")}
    assert set(entries("Attributes")) == fitted


def test_what_the_lists_hold_is_described(make, X, y):
    model = make().fit(X, y)
    text = inspect.getdoc(QTKMRegressor)
    for key in [*model.history_, *model.columns_[0]]:
        assert f"``{key}``" in text
