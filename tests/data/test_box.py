"""The unit box, for ordinary ranges and for the largest and smallest there are."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtkm.data import EXTRAPOLATIONS, Box

NORMAL = st.floats(-1e300, 1e300)
VALUES = np.array([-7.0, -2.0, 0.0, 1.0, 3.0, 8.0])


def make_box(extrapolation="clip", low=-2.0, high=3.0):
    return Box(low, high, extrapolation, "height")


def test_the_ends_go_to_zero_and_one_and_all_else_in_proportion():
    unit = make_box("continue").to_unit(VALUES)
    np.testing.assert_allclose(unit, (VALUES + 2) / 5, rtol=1e-15)


def test_the_unit_box_itself_is_left_as_given():
    np.testing.assert_array_equal(make_box("continue", 0.0, 1.0).to_unit(VALUES), VALUES)


def test_a_column_of_one_value_goes_to_zero():
    np.testing.assert_array_equal(make_box(low=3.0, high=3.0).to_unit(np.full(4, 3.0)), np.zeros(4))


def check_unit_interval(low, high, fractions):
    between = [low * (1 - t) + high * t for t in fractions]
    values = np.clip(np.sort([low, *between, high]), low, high)
    unit = make_box("clip", low, high).to_unit(values)
    assert (np.diff(unit) >= 0).all()
    assert unit[0] == 0
    assert unit[-1] == 1
    np.testing.assert_allclose(unit[1:-1], np.sort(fractions), atol=1e-6)


@given(NORMAL, st.floats(1e-6, 1), st.lists(st.floats(0, 1), max_size=4))
def test_any_range_is_mapped_in_order_onto_the_unit_interval(low, width, fractions):
    check_unit_interval(low, low + width * max(1, abs(low)), fractions)


@pytest.mark.parametrize(
    ("low", "high"),
    [(-1.5e308, 1.5e308), (0.0, 1.7e308), (1e300, 1.1e300), (-1e-300, 1e-300), (0.0, 1e-310)],
)
def test_the_largest_and_smallest_ranges_are_mapped_too(low, high):
    check_unit_interval(low, high, [0.25, 0.5])


@pytest.mark.parametrize(("low", "high"), [(0.0, 5e-324), (1.5e-323, 2.5e-323)])
def test_neighbouring_denormal_numbers_are_told_apart(low, high):
    check_unit_interval(low, high, [])


def test_values_outside_are_clipped_to_the_nearest_end():
    np.testing.assert_array_equal(make_box("clip").contain(VALUES), [-2, -2, 0, 1, 3, 3])


def test_values_outside_are_kept_where_the_basis_continues():
    np.testing.assert_array_equal(make_box("continue").contain(VALUES), VALUES)


@pytest.mark.parametrize(
    ("values", "worst"), [([0, 3.5, 8], "8"), ([-2.5, 3], "-2.5"), ([-9, 0, 8], "-9")]
)
def test_values_outside_are_refused_by_the_worst_of_them(values, worst):
    with pytest.raises(ValueError, match=rf"height has the value {worst}, .*\[-2, 3\].*clip"):
        make_box("error").contain(np.array(values, dtype=float))


@pytest.mark.parametrize("extrapolation", EXTRAPOLATIONS)
@pytest.mark.parametrize("scale", [1.0, 1e300, 1.7e308, 1e-300, 5e-324])
def test_values_inside_are_left_alone_whatever_their_size(extrapolation, scale):
    values = np.array([-1.0, 0.0, 1.0]) * scale
    contained = make_box(extrapolation, -scale, scale).contain(values)
    np.testing.assert_array_equal(contained, values)


@pytest.mark.parametrize("extrapolation", EXTRAPOLATIONS)
def test_no_rows_are_no_error(extrapolation):
    assert len(make_box(extrapolation).contain(np.empty(0))) == 0


@pytest.mark.parametrize("extrapolation", EXTRAPOLATIONS)
def test_single_precision_values_meet_a_range_that_it_cannot_hold(extrapolation):
    values = np.array([0.0, 1.0], dtype=np.float32)
    contained = make_box(extrapolation, -1e300, 1e300).contain(values)
    np.testing.assert_array_equal(contained, values)


def test_clipped_values_keep_their_distance_up_to_the_reach():
    box = Box(0.0, 10.0, "clip", "column", reach=0.1)
    np.testing.assert_array_equal(box.contain(np.array([-5.0, -0.5, 3.0, 10.5, 99.0])),
                                  [-1.0, -0.5, 3.0, 10.5, 11.0])  # fmt: skip
