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


def test_the_frequency_of_a_power_is_its_slope_at_the_end_of_the_box():
    feature_map, step = Power(12), 1e-6
    ahead, behind = feature_map.features(np.array([1 + step, 1 - step]))
    slopes = (ahead - behind) / (2 * step)
    np.testing.assert_allclose(feature_map.frequencies, slopes, atol=1e-6)
