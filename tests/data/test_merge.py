"""Merging equal rows: blind to their order, and to whether they are repeated or weighted."""

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
    before, after = np.hstack([codes, target]), np.hstack(merge(codes, target, weight)[:2])
    total = merge(codes, target, weight)[2]
    assert len(np.unique(after, axis=0)) == len(after) == len(np.unique(before, axis=0))
    for row, own in zip(after, total, strict=True):
        same = (before == row).all(axis=1)
        np.testing.assert_allclose(own, weight[same].sum(), rtol=1e-14)


def test_rows_with_equal_codes_and_other_targets_stay_apart():
    codes = np.zeros((4, 2), dtype=np.uint16)
    _, target, weight = merge(codes, np.array([[1.0], [2.0], [1.0], [1.0]]), None)
    assert (target.ravel().tolist(), weight.tolist()) == ([1.0, 2.0], [3.0, 1.0])


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
