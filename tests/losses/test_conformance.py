"""What every registered loss must do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from qtkm.losses import REGISTRY, Hinge, Huber, Loss, Quantile

BOTH = [{"residual": "complex"}, {"residual": "real"}]
VARIANTS = {
    "huber": [*BOTH, {"delta": 2.0}],
    "quantile": [*BOTH, {"level": 0.9, "smoothing": 0.5}],
    "poisson": BOTH,
    "gamma": BOTH,
    "tweedie": [*BOTH, {"power": 1.0}, {"power": 1.1}, {"power": 2.0}],
    "squared": [{"residual": "complex"}, {"residual": "real"}],
    "hinge": [{}, {"smoothing": 0.5}, {"smoothing": 0.0}, *BOTH],
    **{key: [{}, {"residual": "complex"}] for key in ["logistic", "softmax", "squared_hinge"]},
}
LOSSES = [
    pytest.param(cls(**parameters), id="-".join([name, *map(str, parameters.values())]))
    for name, cls in REGISTRY.items()
    for parameters in VARIANTS.get(name, [{}])
]
every_loss = pytest.mark.parametrize("loss", LOSSES)
bounded_loss = pytest.mark.parametrize("loss", [x for x in LOSSES if x.values[0].has_bound])
several_outputs = pytest.mark.parametrize("n_outputs", [1, 3])
#: an exact hinge is one of half-width 1e-8 near its kink, and departs from it by this much
ROUNDING = 1e-8


def draw(loss, n_outputs=3, n_rows=200, scale=3.0, seed=0):
    """Complex responses, many of them near margin 1, and targets the loss is made for."""
    if n_outputs == 1 and REGISTRY["softmax"] is type(loss):
        pytest.skip("softmax needs an output for every class")
    rng = np.random.default_rng(seed)
    shape = (n_rows, n_outputs)
    if loss.has_log_link:
        target = np.exp(rng.normal(size=shape))
        if getattr(loss, "power", 2) < 2:
            target[rng.uniform(size=shape) < 0.3] = 0
        response = rng.normal(size=shape) * (scale / 3)
        return response + 1j * rng.normal(size=shape), target
    if not loss.is_margin:
        target = rng.normal(size=shape)
    elif n_outputs == 1:
        target = rng.choice([-1.0, 1.0], size=shape)
    else:
        target = 2 * np.eye(n_outputs)[rng.integers(n_outputs, size=n_rows)] - 1
    response = target + rng.normal(size=shape) * scale ** rng.uniform(-2, 2, size=shape)
    return response + 1j * rng.normal(size=shape), target


def away_from_kinks(loss, response, target):
    """Rows none of whose outputs is near a point without a second derivative."""
    if loss.has_log_link:
        distance = np.abs(np.exp(response.real) - target)
    elif isinstance(loss, Huber | Quantile | Hinge):
        seen = response if loss.sees_complex else response.real
        width = loss.delta if isinstance(loss, Huber) else loss.smoothing
        distance = np.abs(np.abs(seen - target) - width)
    else:
        distance = np.abs(1 - target * response.real)
    return (distance > 1e-3).all(axis=1)


def methods(loss):
    """Value and derivatives that the loss has."""
    bound = [loss.bound] if loss.has_bound else []
    return [loss.value, loss.gradient, loss.curvature, *bound]


def slope(function, response, direction, step=1e-5):
    """Central difference of a function of the response along a direction."""
    higher, lower = function(response + step * direction), function(response - step * direction)
    return (higher - lower) / (2 * step)


@every_loss
def test_a_loss_fills_in_the_interface_and_its_default_parameters_are_fine(loss):
    assert isinstance(loss, Loss)
    loss.check()
    assert repr(clone(loss)) == repr(loss)
    for name in ("value", "gradient", "curvature_product"):
        assert getattr(type(loss), name) is not getattr(Loss, name)


@every_loss
@several_outputs
def test_a_loss_has_one_value_a_row_and_is_never_negative(loss, n_outputs):
    response, target = draw(loss, n_outputs)
    values = loss.value(response, target)
    assert values.shape == (len(target),)
    assert values.dtype == np.float64
    assert (values >= 0).all()


@every_loss
@several_outputs
def test_derivatives_have_a_number_a_row_and_output_and_curvatures_one_a_row(loss, n_outputs):
    response, target = draw(loss, n_outputs)
    assert loss.gradient(response, target).shape == target.shape
    assert loss.curvature_product(response, target, response).shape == target.shape
    assert loss.curvature(response, target).shape == (len(target),)
    if loss.has_bound:
        assert loss.bound(response, target).shape == (len(target),)


@every_loss
@several_outputs
def test_a_loss_is_pointwise(loss, n_outputs):
    response, target = draw(loss, n_outputs, n_rows=20)
    for method in methods(loss):
        whole = method(response, target)
        for n in range(len(target)):
            row = slice(n, n + 1)
            alone = method(response[row], target[row])
            assert_allclose(alone, whole[row], rtol=1e-14, atol=1e-15)


@every_loss
def test_a_loss_leaves_what_it_is_given_as_it_was(loss):
    response, target = draw(loss)
    for given_response in (response, response.real.copy()):
        before = given_response.copy(), target.copy()
        for method in methods(loss):
            method(given_response, target)
        loss.curvature_product(given_response, target, given_response)
        loss.link(given_response)
        assert_array_equal(given_response, before[0])
        assert_array_equal(target, before[1])


@every_loss
def test_a_real_response_may_come_as_real_or_as_complex_numbers(loss):
    response, target = draw(loss)
    for method in methods(loss):
        assert_array_equal(method(response.real, target), method(response.real + 0j, target))


@every_loss
def test_a_loss_that_does_not_see_complex_numbers_reads_the_real_part_only(loss):
    default = "real" if loss.is_margin else "complex"
    residual = getattr(loss, "residual", default)
    assert loss.sees_complex == ((default if residual == "auto" else residual) == "complex")
    if loss.sees_complex:
        return
    response, target = draw(loss)
    direction = response[::-1]
    for method in methods(loss):
        assert_array_equal(method(response, target), method(response.real, target))
        assert not np.iscomplexobj(method(response, target))
    product = loss.curvature_product(response, target, direction)
    assert not np.iscomplexobj(product)
    assert_array_equal(product, loss.curvature_product(response.real, target, direction.real))
    if loss.has_probabilities:
        assert_array_equal(loss.link(response), loss.link(response.real))


@every_loss
def test_numbers_of_single_precision_stay_so_and_give_the_same_loss(loss):
    response, target = draw(loss, scale=1.0)
    if isinstance(loss, Hinge):  # its parabola is steeper than single precision can resolve
        clear = away_from_kinks(loss, response, target)
        response, target = response[clear], target[clear]
    single = response.astype(np.complex64), target.astype(np.float32)
    for method in methods(loss):
        result = method(*single)
        assert result.real.dtype == np.float32
        assert_allclose(result, method(response, target), rtol=1e-3, atol=1e-5)


@every_loss
@several_outputs
def test_the_gradient_is_the_slope_of_the_value(loss, n_outputs):
    response, target = draw(loss, n_outputs)
    clear = away_from_kinks(loss, response, target)
    response, target = response[clear], target[clear]
    gradient = loss.gradient(response, target)
    for output in np.eye(n_outputs):
        along_real = slope(lambda f: loss.value(f, target), response, output)
        assert_allclose(gradient.real @ output, along_real, rtol=1e-6, atol=1e-6)
        along_imaginary = slope(lambda f: loss.value(f, target), response, 1j * output)
        assert_allclose(gradient.imag @ output, along_imaginary, rtol=1e-6, atol=1e-6)


@every_loss
@several_outputs
def test_the_curvature_product_is_the_slope_of_the_gradient(loss, n_outputs):
    response, target = draw(loss, n_outputs)
    clear = away_from_kinks(loss, response, target)
    response, target = response[clear], target[clear]
    rng = np.random.default_rng(1)
    direction = rng.normal(size=response.shape) + 1j * rng.normal(size=response.shape)
    product = loss.curvature_product(response, target, direction)
    expected = slope(lambda f: loss.gradient(f, target), response, direction)
    assert_allclose(product, expected, rtol=1e-6, atol=1e-6)


@every_loss
@several_outputs
def test_the_curvature_bounds_the_hessian_where_it_is_taken(loss, n_outputs):
    response, target = draw(loss, n_outputs)
    if not loss.has_bound:
        response = response.real
    curvature = loss.curvature(response, target)
    hessian = np.stack(
        [
            loss.curvature_product(response, target, np.tile(output, (len(target), 1)))
            for output in np.eye(n_outputs)
        ],
        axis=-1,
    )
    assert (np.linalg.eigvalsh(hessian.real)[:, -1] <= curvature * (1 + 1e-12) + 1e-12).all()


@every_loss
@several_outputs
def test_the_curvature_is_zero_only_where_the_gradient_is(loss, n_outputs):
    response, target = draw(loss, n_outputs, n_rows=1000)
    curvature = loss.curvature(response, target)
    assert (curvature >= 0).all()
    assert (loss.gradient(response, target)[curvature == 0] == 0).all()


@bounded_loss
def test_the_curvature_is_never_above_the_bound(loss):
    response, target = draw(loss, 2 if type(loss) is REGISTRY["softmax"] else 1, n_rows=1000)
    curvature, bound = loss.curvature(response, target), loss.bound(response, target)
    assert (curvature <= bound * (1 + 1e-12)).all()


def excess(loss, response, other, target):
    """How far the quadratic at `response` lies above the loss at `other`, and their scale."""
    step = other - response if loss.sees_complex else (other - response).real
    # slopes and steps that are complex are pairs of numbers: Re(conj(g) s) is their dot product
    linear = (loss.gradient(response, target).conj() * step).real.sum(axis=1)
    quadratic = loss.bound(response, target) / 2 * (np.abs(step) ** 2).sum(axis=1)
    start, end = loss.value(response, target), loss.value(other, target)
    scale = start + np.abs(linear) + quadratic + end
    return start + linear + quadratic - end, scale


@bounded_loss
@several_outputs
def test_the_quadratic_of_the_bound_lies_above_the_loss_everywhere(loss, n_outputs):
    for seed in range(4):
        response, target = draw(loss, n_outputs, n_rows=1000, scale=6.0, seed=seed)
        other, _ = draw(loss, n_outputs, n_rows=1000, scale=6.0, seed=100 + seed)
        near = response + 1e-2 * (other - response)
        for end in (other, -response, near, np.zeros_like(response), np.ones_like(response)):
            above, scale = excess(loss, response, end, target)
            assert (above >= -1e-12 * scale - ROUNDING).all()


@bounded_loss
@given(
    start=st.floats(-50, 50),
    end=st.floats(-50, 50),
    sign=st.sampled_from([-1.0, 1.0]),
    other=st.floats(-50, 50),
)
def test_the_bound_holds_for_any_two_responses(loss, start, end, sign, other):
    target = np.array([[sign, -sign]])
    response, end_response = np.array([[start, other]]), np.array([[end, -other]])
    above, scale = excess(loss, response, end_response, target)
    assert above[0] >= -1e-12 * scale[0] - 4 * ROUNDING


@every_loss
@pytest.mark.parametrize("size", [700.0, 1e4])
def test_large_responses_neither_overflow_nor_warn(loss, size):
    target = np.array([[1.0, -1.0], [1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])
    if loss.has_log_link:
        target = np.abs(target) * 1e-300 ** (target < 0)
    response = size * np.array([[1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0], [0.0, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        for method in methods(loss):
            assert np.isfinite(method(response, target)).all()
        assert np.isfinite(loss.curvature_product(response, target, response)).all()
        assert np.isfinite(loss.prediction(response)).all()
        if loss.has_probabilities:
            assert_allclose(loss.link(response).sum(axis=1), 1)


@every_loss
@several_outputs
def test_probabilities_are_numbers_from_0_to_1_that_sum_to_1(loss, n_outputs):
    response, _ = draw(loss, n_outputs)
    probabilities = loss.link(response)
    if not loss.has_probabilities:
        assert probabilities is None
        return
    assert probabilities.shape == (len(response), max(n_outputs, 2))
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert_allclose(probabilities.sum(axis=1), 1)


@bounded_loss
def test_a_quadratic_loss_is_its_own_quadratic(loss):
    response, target = draw(loss)
    above, scale = excess(loss, response, response[::-1], target)
    assert loss.is_quadratic == bool((np.abs(above) <= 1e-12 * scale).all())


@every_loss
def test_a_loss_of_margins_can_serve_a_classifier(loss):
    assert loss.for_classes or not loss.is_margin
    assert loss.for_classes or not loss.has_probabilities


@every_loss
def test_a_loss_of_margins_falls_as_the_margin_grows(loss):
    if not loss.is_margin:
        return
    target = np.tile([[1.0, -1.0]], (100, 1))
    response = np.linspace(-3, 3, 100)[:, None] * target
    values = loss.value(response, target)
    assert (np.diff(values) <= 1e-15).all()
    assert values[-1] < values[0]


@every_loss
def test_a_prediction_is_a_target_of_the_least_loss(loss):
    """Where predictions are targets: not for signs, and up to the tilt of a quantile."""
    if loss.is_margin or (isinstance(loss, Quantile) and loss.level != 0.5):
        return
    response = draw(loss, scale=1.0)[0].real
    target = loss.prediction(response)
    least = loss.value(response, target)
    for shift in (-1.0, -0.1, 0.1, 1.0):
        assert (loss.value(response + shift, target) > least).all()
    assert_allclose(loss.gradient(response, target), 0, atol=1e-12)


@every_loss
def test_without_a_bound_the_parabola_of_a_row_lies_above_the_loss_up_to_its_minimum(loss):
    if loss.has_bound:
        return
    response, target = draw(loss, 1, n_rows=1000, scale=9.0)
    response = response.real
    slope, curvature = loss.gradient(response, target), loss.curvature(response, target)[:, None]
    step = -slope / curvature
    for share in np.linspace(0.01, 1, 20):
        moved = share * step
        model = (slope * moved + curvature / 2 * moved**2)[:, 0] + loss.value(response, target)
        found = loss.value(response + moved, target)
        assert (model >= found - 1e-12 * (1 + found)).all()
