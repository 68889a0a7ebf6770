"""Merging equal rows: the same sums of squares, blind to order and repetition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtkm.data import merge


def draw_rows(seed, n_rows=40, n_outputs=1):
    """Rows with many equal codes, some of them with equal targets too."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=(n_rows, 2)).astype(np.uint16)
    target = rng.choice(rng.normal(size=4), size=(n_rows, n_outputs))
    return codes, target, rng


def assert_same_bits(a, b):
    for x, y in zip(a, b, strict=True):
        assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_merged_rows_are_distinct_and_weigh_as_much(n_outputs):
    codes, target, rng = draw_rows(0, n_outputs=n_outputs)
    weight = rng.uniform(size=len(codes))
    new_codes, mean, total, _ = merge(codes, target, weight)
    assert len(np.unique(new_codes, axis=0)) == len(new_codes) == len(np.unique(codes, axis=0))
    for row, m, w in zip(new_codes, mean, total, strict=True):
        same = (codes == row).all(axis=1)
        np.testing.assert_allclose(w, weight[same].sum(), rtol=1e-14)
        np.testing.assert_allclose(m, np.average(target[same], axis=0, weights=weight[same]))


@given(st.integers(0, 1000), st.floats(-5, 5))
def test_any_response_has_the_same_sum_of_squares_before_and_after(seed, slope):
    codes, target, rng = draw_rows(seed)
    weight = rng.uniform(size=len(codes))

    def respond(rows):
        return slope * rows[:, :1] - rows[:, 1:].astype(float) ** 2

    new_codes, mean, total, scatter = merge(codes, target, weight)
    before = np.sum(weight[:, None] * (respond(codes) - target) ** 2)
    after = np.sum(total[:, None] * (respond(new_codes) - mean) ** 2) + scatter.sum()
    assert after == pytest.approx(before, rel=1e-12)


@pytest.mark.parametrize("weights", ["none", "whole", "fractional"])
@given(st.integers(0, 1000))
def test_the_order_of_rows_changes_no_bit(weights, seed):
    codes, target, rng = draw_rows(seed)
    weight = {
        "none": None,
        "whole": rng.integers(1, 5, size=len(codes)).astype(float),
        "fractional": rng.uniform(size=len(codes)),
    }[weights]
    order = rng.permutation(len(codes))
    shuffled = merge(codes[order], target[order], None if weight is None else weight[order])
    assert_same_bits(merge(codes, target, weight), shuffled)


@given(st.integers(0, 1000))
def test_repeated_rows_equal_whole_weights_to_the_bit(seed):
    codes, target, rng = draw_rows(seed)
    times = rng.integers(1, 5, size=len(codes))
    repeated = merge(np.repeat(codes, times, axis=0), np.repeat(target, times, axis=0), None)
    assert_same_bits(merge(codes, target, times.astype(float)), repeated)


def test_one_row_is_its_own_mean():
    codes, target, weight, scatter = merge(
        np.array([[4, 2]], dtype=np.uint16), np.array([[1.5]]), np.array([0.3])
    )
    np.testing.assert_array_equal(codes, [[4, 2]])
    assert (target[0, 0], weight[0], scatter[0]) == (1.5, 0.3, 0)


def test_a_constant_target_has_no_scatter():
    codes = np.zeros((30, 2), dtype=np.uint16)
    _, mean, _, scatter = merge(codes, np.full((30, 1), 1e15 / 3), None)
    assert (mean[0, 0], scatter[0]) == (1e15 / 3, 0)
