"""Hinge loss, with its corner rounded or exact."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from qtkm.losses import Hinge

RESPONSE = np.linspace(-2, 3, 101)[:, None]
TARGET = np.ones_like(RESPONSE)
SHORT = 1 - RESPONSE[:, 0]


def test_without_smoothing_the_loss_is_the_exact_hinge():
    assert_allclose(Hinge(0).value(RESPONSE, TARGET), np.maximum(0, SHORT), atol=3e-9)
    assert_allclose(Hinge(0).value(-RESPONSE, -TARGET), np.maximum(0, SHORT), atol=3e-9)


@pytest.mark.parametrize("smoothing", [1e-3, 0.01, 0.5, 4.0])
def test_smoothing_rounds_the_corner_to_a_parabola(smoothing):
    parabola = (SHORT + smoothing) ** 2 / (4 * smoothing)
    expected = np.where(np.abs(SHORT) < smoothing, parabola, np.maximum(0, SHORT))
    assert_allclose(Hinge(smoothing).value(RESPONSE, TARGET), expected, atol=1e-15)


@given(st.floats(-3, 5), st.floats(1e-6, 2))
def test_the_rounded_hinge_is_above_the_exact_one_by_a_quarter_of_the_smoothing(m, smoothing):
    rows = np.array([[m]]), np.ones((1, 1))
    difference = Hinge(smoothing).value(*rows) - Hinge(0).value(*rows)
    assert -1e-14 <= difference[0] <= smoothing / 4 + 1e-14


@pytest.mark.parametrize("smoothing", [0, 0.1])
def test_the_slope_is_full_before_half_on_and_none_behind_the_corner(smoothing):
    response, target = np.array([[0.5], [1.0], [1.5]]), np.ones((3, 1))
    assert_allclose(Hinge(smoothing).gradient(response, target), [[-1], [-0.5], [0]])
    assert_allclose(Hinge(smoothing).gradient(-response, -target), [[1], [0.5], [0]])


@pytest.mark.parametrize("smoothing", [0.01, 0.5])
def test_the_bound_falls_with_the_distance_from_the_corner(smoothing):
    expected = 1 / (2 * np.maximum(np.abs(SHORT), smoothing))
    assert_allclose(Hinge(smoothing).bound(RESPONSE, TARGET), expected)


def test_the_bound_of_the_exact_hinge_is_finite_at_its_corner():
    assert_allclose(Hinge(0).bound(np.ones((1, 1)), np.ones((1, 1))), 5e7)


def test_the_curvature_is_the_bound_where_there_is_a_slope_and_zero_elsewhere():
    loss = Hinge(0.25)
    sloping = loss.gradient(RESPONSE, TARGET)[:, 0] != 0
    expected = np.where(sloping, loss.bound(RESPONSE, TARGET), 0)
    assert_allclose(loss.curvature(RESPONSE, TARGET), expected)
    assert not sloping.all()


def test_the_largest_curvature_of_a_row_counts():
    response, target = np.array([[0.9, -3.0]]), np.array([[1.0, -1.0]])
    assert_allclose(Hinge().bound(response, target), 1 / (2 * 0.1))
    assert_allclose(Hinge().curvature(response, target), 1 / (2 * 0.1))


@pytest.mark.parametrize("smoothing", [-0.1, np.inf, np.nan, "auto", None, True])
def test_a_smoothing_that_makes_no_sense_is_refused_with_one_to_try(smoothing):
    with pytest.raises(ValueError, match=r"smoothing=.*must be a finite number >= 0; try 0.01"):
        Hinge(smoothing).check()


def test_with_the_imaginary_part_the_hinge_is_the_mean_of_shortfall_and_distance():
    rng = np.random.default_rng(0)
    response, target = rng.normal(size=(50, 1)) + 1j * rng.normal(size=(50, 1)), np.ones((50, 1))
    loss = Hinge(1e-6, "complex")
    expected = (1 - response.real + np.abs(1 - response))[:, 0] / 2
    assert_allclose(loss.value(response, target), expected, atol=1e-6)
    assert (loss.value(response, target) >= Hinge(1e-6, "real").value(response, target)).all()


def test_the_parabola_above_the_hinge_has_a_real_minimum():
    rng = np.random.default_rng(1)
    response, target = rng.normal(size=(50, 1)) + 1j * rng.normal(size=(50, 1)), np.ones((50, 1))
    loss = Hinge(residual="complex")
    minimum = response - loss.gradient(response, target) / loss.bound(response, target)[:, None]
    assert_allclose(minimum.imag, 0, atol=1e-12)
