"""What every registered loss must do."""

import numpy as np
import pytest

from qtkm.losses import REGISTRY, Squared

LOSSES = [
    pytest.param(cls(**{"residual": residual} if "residual" in cls().get_params() else {}),
                 id=f"{name}-{residual}")
    for name, cls in REGISTRY.items()
    for residual in ("complex", "real")
]  # fmt: skip


def draw(seed=0):
    rng = np.random.default_rng(seed)
    response = rng.normal(size=(20, 3)) + 1j * rng.normal(size=(20, 3))
    return response, rng.normal(size=(20, 3))


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_has_one_value_a_row_and_output_and_is_never_negative(loss):
    response, target = draw()
    values = loss.value(response, target)
    assert values.shape == target.shape
    assert values.dtype == np.float64
    assert (values >= 0).all()


@pytest.mark.parametrize("loss", LOSSES)
def test_a_loss_is_pointwise(loss):
    response, target = draw()
    values = loss.value(response, target)
    for n in range(len(target)):
        np.testing.assert_array_equal(loss.value(response[n], target[n]), values[n])


@pytest.mark.parametrize("loss", LOSSES)
def test_a_real_response_may_come_as_real_or_as_complex_numbers(loss):
    response, target = draw()
    np.testing.assert_array_equal(
        loss.value(response.real, target), loss.value(response.real + 0j, target)
    )


def test_the_squared_loss_of_a_complex_response_sees_both_of_its_parts():
    response, target = draw()
    np.testing.assert_allclose(
        Squared("complex").value(response, target), np.abs(response - target) ** 2
    )


def test_the_squared_loss_of_the_real_part_is_blind_to_the_imaginary_part():
    response, target = draw()
    np.testing.assert_allclose(
        Squared("real").value(response, target), (response.real - target) ** 2
    )
