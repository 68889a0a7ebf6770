"""scikit-learn's own checks of the searches, and their parameters in the docs."""

import inspect
import re

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from qtkm import QTKMClassifier, QTKMClassifierCV, QTKMRegressor, QTKMRegressorCV

#: one candidate: what is chosen among several is the matter of other tests
GRID = {"alphas": [1e-3], "ranks": [2], "n_basis": [4], "periods": [2.0], "cv": 2}
FIT = {"max_iter": 3, "random_state": 0, "penalty": "ridge", "posterior": False}
ESTIMATORS = [
    QTKMRegressorCV(QTKMRegressor(**FIT), **GRID),
    QTKMClassifierCV(QTKMClassifier(loss="squared", **FIT), **GRID),
]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", [QTKMRegressorCV, QTKMClassifierCV])
def test_every_parameter_is_documented_in_order(cls):
    doc = inspect.getdoc(cls)
    section = doc[doc.index("Parameters\n---") : doc.index("Attributes\n---")]
    documented = re.findall(r"^(\w+) : ", section, re.MULTILINE)
    assert documented == list(inspect.signature(cls).parameters)
