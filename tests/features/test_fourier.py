import numpy as np
import pytest

from qtkm.features import Fourier
from tests.covering import covered

VALUES = np.linspace(-0.2, 1.3, 31)


@covered
@pytest.mark.parametrize("period", [1, 1.5, 10.0])
@pytest.mark.parametrize("quantization", [2, "prime", None])
@pytest.mark.parametrize("n_basis", [1, 2, 7, 8, 24, 60])
def test_frequencies_run_from_minus_half_of_them_upwards(n_basis, quantization, period):
    frequencies = np.arange(n_basis) - n_basis // 2
    expected = np.exp(2j * np.pi * VALUES[:, None] * frequencies / period)
    features = Fourier(n_basis, period, quantization).features(VALUES)
    np.testing.assert_allclose(features, expected, rtol=0, atol=1e-12)


def test_features_repeat_after_a_period():
    fourier = Fourier(24, period=1.5)
    np.testing.assert_allclose(
        fourier.features(VALUES + 1.5), fourier.features(VALUES), rtol=0, atol=1e-11
    )


def test_all_around_the_circle_no_digit_is_lost():
    turn = np.linspace(-2, 2, 4001)
    features = Fourier(3, period=1).features(turn)
    np.testing.assert_allclose(features[:, 2], np.exp(2j * np.pi * turn), rtol=0, atol=1e-14)


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e9, 1e15])
def test_far_outside_of_the_box_only_the_rounding_of_the_value_counts(scale):
    """Whole periods are nothing, however many: 3/8 of a period more is 3/8 of a turn."""
    values = np.array([np.floor(scale), np.floor(scale) + 0.375])
    expected = np.exp(2j * np.pi * np.outer([0, 0.375], np.arange(-4, 4)))
    np.testing.assert_allclose(Fourier(8, 1).features(values), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize("value", [1e300, -1e300, 5e-324, -1e-300])
def test_the_largest_and_smallest_values_stay_on_the_unit_circle(value):
    features = Fourier(60, 1.7).features(np.array([value]))
    np.testing.assert_allclose(np.abs(features), 1, rtol=1e-12)


@pytest.mark.parametrize("n_basis", [1, 7, 12])
def test_every_function_turns_at_its_frequency(n_basis):
    feature_map, values = Fourier(n_basis, 2.5), np.linspace(0, 1, 7)
    expected = np.exp(1j * np.outer(values, feature_map.frequencies))
    np.testing.assert_allclose(feature_map.features(values), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("period", [0.5, 0.999, 0, -1, np.nan, np.inf])
def test_a_period_shorter_than_the_box_is_refused_with_the_columns_name(period):
    with pytest.raises(ValueError, match=rf"period={period} of height .*>= 1"):
        Fourier(8, period).check("height")
