"""Squared hinge loss."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from qtkm.losses import SquaredHinge

RESPONSE = np.linspace(-2, 3, 51)[:, None]
TARGET = np.ones_like(RESPONSE)
SHORT = np.maximum(0, 1 - RESPONSE)


def test_the_loss_is_the_square_of_what_is_missing_to_margin_1():
    assert_allclose(SquaredHinge().value(RESPONSE, TARGET), SHORT[:, 0] ** 2)
    assert_allclose(SquaredHinge().value(-RESPONSE, -TARGET), SHORT[:, 0] ** 2)
    assert_allclose(SquaredHinge().gradient(RESPONSE, TARGET), -2 * SHORT)


def test_the_curvature_is_2_short_of_the_margin_and_0_beyond_it():
    expected = 2 * (SHORT[:, 0] > 0)
    assert_array_equal(SquaredHinge().curvature(RESPONSE, TARGET), expected)


def test_one_output_short_of_its_margin_gives_the_row_its_curvature():
    response, target = np.array([[2.0, -0.5], [2.0, -2.0]]), np.array([[1.0, -1.0]] * 2)
    assert_array_equal(SquaredHinge().curvature(response, target), [2, 0])


def test_the_bound_is_2_everywhere():
    assert (SquaredHinge().bound(RESPONSE, TARGET) == 2).all()
