"""Local systems: quadratics and their minima, singular ones too."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtkm.networks import LocalSystem
from qtkm.networks.problem import least_squares

SHAPE = (2, 3)


def draw(seed, is_complex, *shape):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=shape)
    return a + 1j * rng.normal(size=shape) if is_complex else a


def make_system(seed, is_complex=True, n_parts=1, rank=6, alpha=0.1):
    """‖Aw - y‖² + α‖w‖² with designs of a given rank, one a part."""
    n = 6 // n_parts
    design = draw(seed, is_complex, n_parts, 20, rank) @ draw(seed + 1, is_complex, rank, n)
    target = draw(seed + 2, False, n_parts, 20)
    adjoint = design.conj().transpose(0, 2, 1)
    matrix = adjoint @ design + alpha * np.eye(n)
    rhs = (adjoint @ target[:, :, None])[:, :, 0]
    system = LocalSystem(matrix, rhs, float((target**2).sum()), SHAPE, False, alpha > 0)
    return system, design, target


def explicit_value(design, target, alpha, block):
    parts = block.reshape(len(design), -1)
    error = (design @ parts[:, :, None])[:, :, 0] - target
    return np.sum(np.abs(error) ** 2) + alpha * np.sum(np.abs(parts) ** 2)


@given(st.integers(0, 1000), st.booleans(), st.sampled_from([1, 2]))
def test_the_value_is_the_sum_of_squares_behind_it(seed, is_complex, n_parts):
    system, design, target = make_system(seed, is_complex, n_parts)
    block = draw(seed + 3, is_complex, *SHAPE)
    expected = explicit_value(design, target, 0.1, block)
    assert system.value_of(block) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("alpha", [0.1, 0.0])
@given(
    st.integers(0, 1000),
    st.booleans(),
    st.sampled_from([1, 2]),
    st.floats(-6, 0),
    st.integers(1, 6),
)
def test_no_perturbation_is_better_than_the_minimum(alpha, seed, is_complex, n_parts, size, rank):
    system, design, target = make_system(seed, is_complex, n_parts, rank, alpha)
    block, value = system.minimize(draw(seed + 3, is_complex, *SHAPE))
    assert block.shape == SHAPE
    scale = explicit_value(design, target, 0, np.zeros(SHAPE))
    assert value == pytest.approx(explicit_value(design, target, alpha, block), abs=1e-9 * scale)
    step = 10.0**size * draw(seed + 4, is_complex, *SHAPE)
    moved = explicit_value(design, target, alpha, block + step)
    assert moved >= value - 1e-9 * scale


@pytest.mark.parametrize("is_complex", [False, True])
@pytest.mark.parametrize("n_parts", [1, 2])
def test_a_singular_system_without_regularization_has_the_minimum_of_least_squares(
    is_complex, n_parts
):
    system, design, target = make_system(5, is_complex, n_parts, rank=2, alpha=0.0)
    block, value = system.minimize(np.zeros(SHAPE, dtype=design.dtype))
    expected = sum(
        np.linalg.norm(d @ np.linalg.lstsq(d, t, rcond=1e-10)[0] - t) ** 2
        for d, t in zip(design, target, strict=True)
    )
    assert value == pytest.approx(expected, rel=1e-9)
    assert np.abs(block).max() < 1e3  # what no row sees stays small


def test_a_given_block_is_kept_where_nothing_better_is_found():
    system, _, _ = make_system(0)
    best, least = system.minimize(np.zeros(SHAPE, dtype=complex))
    broken = replace(system, rhs=np.full_like(system.rhs, np.nan))
    kept, _ = broken.minimize(best)
    np.testing.assert_array_equal(kept, best)
    assert system.value_of(best) == pytest.approx(least, rel=1e-12)


def test_a_given_block_is_kept_where_a_truncated_solution_is_worse():
    # the direction (1, -1) is too weak to be solved for, but the given block is right in it
    weak = 1e-14
    matrix = np.array([[[1.0, 1 - weak], [1 - weak, 1.0]]])
    right = 1e7 * np.array([[1.0], [-1.0]])
    system = LocalSystem(matrix, weak * right.T, 5.0, (2, 1), False, False)
    block, value = system.minimize(right)
    np.testing.assert_array_equal(block, right)
    assert value == pytest.approx(3, abs=0.2)
    other, value = system.minimize(np.zeros((2, 1)))
    assert np.abs(other).max() < 1
    assert value == pytest.approx(5)


def test_sums_of_single_precision_do_not_blow_up_what_no_row_sees():
    # two equal columns, whose right-hand sides differ by rounding
    design = np.random.default_rng(0).normal(size=(20, 6))
    design[:, 1] = design[:, 0]
    target = design.sum(axis=1)
    matrix, rhs = design.T @ design, design.T @ target
    matrix[1], matrix[:, 1] = matrix[0], matrix[:, 0]
    rhs[1] = rhs[0] * (1 + 1e-8)
    system = LocalSystem(matrix[None], rhs[None], float(target @ target), SHAPE, False, False)
    block, _ = system.minimize(np.zeros(SHAPE))
    np.testing.assert_allclose(design @ block.ravel(), target, atol=1e-6)
    assert np.abs(block).max() < 10


def test_a_system_of_zeros_leaves_nothing_to_fit():
    system = LocalSystem(np.zeros((1, 6, 6)), np.zeros((1, 6)), 3.0, SHAPE, False, True)
    block, value = system.minimize(np.ones(SHAPE))
    assert np.isfinite(block).all()
    assert value == 3.0


@given(st.integers(0, 1000), st.sampled_from([1, 2]))
def test_the_real_part_is_fitted_through_real_and_imaginary_parts(seed, n_parts):
    n = 6 // n_parts
    design = draw(seed, True, n_parts, 20, n)
    target = draw(seed + 1, False, n_parts, 20)
    hermitian = design.conj().transpose(0, 2, 1) @ design
    symmetric = design.transpose(0, 2, 1) @ design
    products = (design.conj().transpose(0, 2, 1) @ target[:, :, None])[:, :, 0]
    penalty = draw(seed + 2, True, n, n)
    penalty = penalty.conj().T @ penalty
    scale = (4.0, 0.1, float((target**2).sum()) / 4)
    system = least_squares([hermitian, symmetric], products, penalty[None, None], scale, SHAPE)

    def value(block):
        parts = block.reshape(n_parts, n)
        error = (design @ parts[:, :, None])[:, :, 0].real - target
        norm = np.einsum("pi,ij,pj", parts.conj(), penalty, parts).real
        return np.sum(error**2) / 4 + 0.1 * norm

    start = draw(seed + 3, True, *SHAPE)
    np.testing.assert_array_equal(system.unpack(system.pack(start)), start)
    assert system.value_of(start) == pytest.approx(value(start), rel=1e-10)
    best, least = system.minimize(start)
    assert least == pytest.approx(value(best), rel=1e-9)
    assert value(best + 0.01 * draw(seed + 4, True, *SHAPE)) > least
