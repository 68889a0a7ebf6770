"""Squared loss of the complex response or of its real part."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from qtkm.losses import Squared


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    response = rng.normal(size=(20, 3)) + 1j * rng.normal(size=(20, 3))
    return response, rng.normal(size=(20, 3))


@pytest.mark.parametrize("residual", ["complex", "auto"])
def test_the_squared_loss_of_a_complex_response_sees_both_of_its_parts(rows, residual):
    response, target = rows
    loss = Squared(residual)
    assert_allclose(loss.value(response, target), (np.abs(response - target) ** 2).sum(axis=1))
    assert_allclose(loss.gradient(response, target), 2 * (response - target))
    assert_allclose(loss.curvature_product(response, target, 1j * response), 2j * response)
    assert loss.sees_complex


def test_the_squared_loss_of_the_real_part_is_blind_to_the_imaginary_part(rows):
    response, target = rows
    loss = Squared("real")
    assert_allclose(loss.value(response, target), ((response.real - target) ** 2).sum(axis=1))
    assert_allclose(loss.gradient(response, target), 2 * (response.real - target))
    assert not loss.sees_complex


@pytest.mark.parametrize("residual", ["complex", "real"])
def test_the_curvature_of_the_squared_loss_is_2(rows, residual):
    loss = Squared(residual)
    assert (loss.curvature(*rows) == 2).all()
    assert (loss.bound(*rows) == 2).all()


def test_arrays_may_be_ordered_by_columns(rows):
    response, target = rows
    columns = np.asfortranarray(response), np.asfortranarray(target)
    assert_allclose(Squared().value(*columns), Squared().value(response, target))


@pytest.mark.parametrize("residual", ["imaginary", None, 1])
def test_an_unknown_residual_is_refused_with_the_ones_there_are(residual):
    with pytest.raises(ValueError, match=r"residual=.*is unknown; use 'complex'"):
        Squared(residual).check()
