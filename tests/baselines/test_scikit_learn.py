"""scikit-learn's own checks of the baselines."""

import inspect
import re

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from qtkm.baselines import ProductKernelRidge, ProductKernelRidgeCV, RandomFourierRidge

ESTIMATORS = [
    ProductKernelRidge(),
    ProductKernelRidgeCV(n_basis=4, periods=(1.25, 9.0), alphas=(1e-2, 1.0)),
    RandomFourierRidge(60, kind="real"),
]


@parametrize_with_checks(ESTIMATORS)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("cls", [ProductKernelRidge, ProductKernelRidgeCV, RandomFourierRidge])
def test_every_parameter_is_documented_in_order(cls):
    doc = inspect.getdoc(cls)
    section = doc[doc.index("Parameters\n---") : doc.index("Attributes\n---")]
    heads = re.findall(r"^(\w+(?:, \w+)*) : ", section, re.MULTILINE)
    documented = [name for head in heads for name in head.split(", ")]
    assert documented == list(inspect.signature(cls).parameters)
