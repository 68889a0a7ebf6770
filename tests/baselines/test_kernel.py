"""The kernel is the inner product of the features."""

from functools import reduce

import numpy as np
import pytest

from qtkm import Categorical, Fourier, Power
from qtkm.baselines.kernel import ProductKernel
from qtkm.penalties import RBF, Matern
from tests.baselines.oracles import explicit_features

MAPS = [
    [Fourier(1, 1.0)],
    [Fourier(8, 1.0)],
    [Fourier(7, 3.5)],
    [Fourier(16, 1.25, None)],
    [Power(1)],
    [Power(13)],
    [Power(4), Power(6)],
    [Fourier(6, 2.0), Power(5)],
    [Fourier(4, 1.0), Fourier(5, 2.0), Fourier(6, 9.0)],
]


def kernel(maps, first, second):
    product = ProductKernel(maps, [None] * len(maps))
    size = np.exp(product.log_size)
    return (
        size * product.phase(first).conj() * product.scaled(first, second) * product.phase(second).T
    )


@pytest.mark.parametrize("maps", MAPS, ids=str)
@pytest.mark.parametrize("reach", [1, 3], ids=["in the box", "beyond the box"])
def test_it_is_the_inner_product_of_explicit_features(maps, reach):
    rng = np.random.default_rng(0)
    first = rng.uniform(1 - reach, reach, size=(20, len(maps)))
    second = rng.uniform(1 - reach, reach, size=(15, len(maps)))
    second[:5] = first[:5]
    second[5:7] = np.array([[0.0], [1.0]])
    first[5:7] = np.array([[1.0], [0.0]])  # a whole period apart where the period is 1
    expected = explicit_features(maps, first).conj() @ explicit_features(maps, second).T
    scale = np.abs(expected).max()
    np.testing.assert_allclose(kernel(maps, first, second), expected, atol=1e-13 * scale)


@pytest.mark.parametrize("distance", [0.0, 5e-324, 1e-200, 1e-17, 1e-12, 1e-9, 1e-7])
@pytest.mark.parametrize("feature_map", [Fourier(16, 2.0), Power(16)])
def test_it_goes_over_into_the_number_of_features_where_values_meet(feature_map, distance):
    end = 1 - distance if isinstance(feature_map, Power) else distance
    far = 1.0 if isinstance(feature_map, Power) else 0.0
    found = kernel([feature_map], np.array([[far]]), np.array([[end]]))
    expected = (
        feature_map.features(np.array([end])) @ feature_map.features(np.array([far]))[0].conj()
    )
    np.testing.assert_allclose(found[0], expected, rtol=1e-13)
    assert abs(found[0, 0] - 16) < 16 * 16 * distance + 1e-12


@pytest.mark.parametrize(
    ("maps", "priors", "is_complex"),
    [
        ([Fourier(7, 3.5)], [Matern(1.5, 0.3, 0.8)], False),
        ([Fourier(8, 3.5)], [Matern(1.5, 0.3, 0.8)], True),
        ([Power(6)], [RBF(0.2, 1.0)], False),
        ([Fourier(6, 2.0), Power(5), Fourier(4, 1.0)], [RBF(0.2, 0.5), None, None], True),
        ([Fourier(301, 2.0)], [Matern(0.5, 0.1, 1.0)], False),
    ],
    ids=str,
)
def test_variances_weigh_the_functions_of_a_column(maps, priors, is_complex):
    variances = [
        None if own is None else own.variances(each.frequencies)
        for own, each in zip(priors, maps, strict=True)
    ]
    product = ProductKernel(maps, variances)
    assert product.is_complex == is_complex
    rng = np.random.default_rng(0)
    first, second = rng.uniform(size=(20, len(maps))), rng.uniform(size=(15, len(maps)))
    found = np.exp(product.log_size) * product.scaled(first, second)
    found = product.phase(first).conj() * found * product.phase(second).T
    roots = [np.ones(each.n_features) if s is None else np.sqrt(s)
             for each, s in zip(maps, variances, strict=True)]  # fmt: skip
    root = reduce(np.kron, roots)
    a, b = (explicit_features(maps, values) * root for values in (first, second))
    expected = a.conj() @ b.T
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


def test_it_does_not_overflow_with_many_columns():
    maps = [Fourier(16, 8.0)] * 400
    values = np.random.default_rng(0).uniform(size=(5, 400))
    matrix = ProductKernel(maps, [None] * len(maps)).scaled(values, values)
    np.testing.assert_allclose(matrix.diagonal(), 1)
    assert ProductKernel(maps, [None] * len(maps)).relative(1.0) == 0.0  # beside 16^400 features


def test_a_map_of_categories_is_refused():
    with pytest.raises(ValueError, match=r"Categorical.* has no kernel .* use one of Fourier, Po"):
        ProductKernel([Categorical(3)], [None])
