"""Logistic loss."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from qtkm.losses import Logistic

RESPONSE = np.linspace(-6, 6, 25)[:, None]


def test_the_logistic_loss_is_the_negative_log_probability_of_the_sign():
    for sign in (-1.0, 1.0):
        target = np.full_like(RESPONSE, sign)
        expected = np.log(1 + np.exp(-sign * RESPONSE[:, 0]))
        assert_allclose(Logistic().value(RESPONSE, target), expected)
        column = 1 if sign > 0 else 0
        assert_allclose(-np.log(Logistic().link(RESPONSE)[:, column]), expected)


def test_with_one_output_the_probabilities_are_of_the_first_and_second_class():
    second = 1 / (1 + np.exp(-RESPONSE))
    assert_allclose(Logistic().link(RESPONSE), np.hstack([1 - second, second]))


def test_with_several_outputs_the_probabilities_are_one_vs_rest_scaled_to_sum_to_1():
    response = np.random.default_rng(0).normal(size=(20, 4), scale=3)
    each = 1 / (1 + np.exp(-response))
    assert_allclose(Logistic().link(response), each / each.sum(axis=1, keepdims=True))


def test_probabilities_survive_outputs_that_all_say_no():
    probabilities = Logistic().link(np.array([[-2000.0, -2001.0]]))
    assert_allclose(probabilities, [[1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))]])


def test_with_several_outputs_the_losses_add_up():
    rng = np.random.default_rng(0)
    response, target = rng.normal(size=(20, 3)), rng.choice([-1.0, 1.0], size=(20, 3))
    each = [Logistic().value(response[:, [j]], target[:, [j]]) for j in range(3)]
    assert_allclose(Logistic().value(response, target), sum(each))


def test_the_bound_is_that_of_jaakkola_and_jordan():
    response = np.array([[0.5], [-3.0], [20.0]])
    size = np.abs(response[:, 0])
    expected = np.tanh(size / 2) / (2 * size)
    assert_allclose(Logistic().bound(response, np.ones((3, 1))), expected)


@pytest.mark.parametrize("response", [0.0, 1e-300, -1e-9])
def test_near_zero_curvature_and_bound_are_a_quarter(response):
    rows = np.array([[response]]), np.ones((1, 1))
    assert_allclose(Logistic().bound(*rows), 0.25)
    assert_allclose(Logistic().curvature(*rows), 0.25)


def test_the_curvature_is_the_second_derivative():
    second = (1 / (2 + np.exp(RESPONSE) + np.exp(-RESPONSE)))[:, 0]
    assert_allclose(Logistic().curvature(RESPONSE, np.ones_like(RESPONSE)), second)
