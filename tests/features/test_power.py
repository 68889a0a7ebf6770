import numpy as np
import pytest

from qtkm.features import Power

VALUES = np.linspace(-1, 1, 21)


@pytest.mark.parametrize("quantization", [2, "prime", None])
@pytest.mark.parametrize("n_basis", [1, 2, 7, 8, 24, 60])
def test_features_are_the_powers_from_zero_up(n_basis, quantization):
    expected = VALUES[:, None] ** np.arange(n_basis)
    features = Power(n_basis, quantization).features(VALUES)
    np.testing.assert_allclose(features, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("conjugate", [True, False])
def test_distinct_products_depend_on_the_sum_of_digits(conjugate):
    pairs, _ = Power(12, None).products(0, conjugate)
    assert len(pairs) == 23
