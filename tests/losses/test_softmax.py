"""Softmax loss."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from qtkm.losses import Logistic, Softmax


def draw(n_outputs, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(n_outputs, size=50)
    return rng.normal(size=(50, n_outputs), scale=2), 2 * np.eye(n_outputs)[label] - 1, label


@pytest.mark.parametrize("n_outputs", [2, 3, 12])
def test_the_softmax_loss_is_the_negative_log_probability_of_the_class(n_outputs):
    response, target, label = draw(n_outputs)
    exponentials = np.exp(response)
    probabilities = exponentials / exponentials.sum(axis=1, keepdims=True)
    assert_allclose(Softmax().link(response), probabilities)
    own = probabilities[np.arange(50), label]
    assert_allclose(Softmax().value(response, target), -np.log(own))


def test_the_hessian_is_that_of_the_probabilities():
    response, target, _ = draw(4)
    direction = draw(4, seed=1)[0]
    for n, p in enumerate(Softmax().link(response)):
        row = slice(n, n + 1)
        product = Softmax().curvature_product(response[row], target[row], direction[row])[0]
        assert_allclose(product, (np.diag(p) - np.outer(p, p)) @ direction[n], atol=1e-14)


def test_two_outputs_are_the_logistic_loss_of_their_difference():
    response, target, _ = draw(2)
    difference = response[:, [1]] - response[:, [0]]
    assert_allclose(Softmax().value(response, target), Logistic().value(difference, target[:, [1]]))
    assert_allclose(Softmax().link(response), Logistic().link(difference))


def test_a_number_added_to_all_outputs_changes_nothing():
    response, target, _ = draw(3)
    assert_allclose(
        Softmax().value(response + 1e3, target), Softmax().value(response, target), atol=1e-12
    )


@pytest.mark.parametrize("n_outputs", [2, 5])
def test_equal_outputs_have_the_curvature_of_the_hessian_itself(n_outputs):
    rows = np.zeros((1, n_outputs)), 2 * np.eye(n_outputs)[[0]] - 1
    assert_allclose(Softmax().curvature(*rows), 1 / n_outputs)


def test_the_bound_is_a_half():
    assert (Softmax().bound(*draw(3)[:2]) == 0.5).all()


def test_a_single_output_is_refused_in_favour_of_the_logistic_loss():
    with pytest.raises(ValueError, match=r"one output per class, got 1.*use the logistic loss"):
        Softmax().value(np.zeros((2, 1)), np.ones((2, 1)))
