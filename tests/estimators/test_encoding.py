"""Values of parameters come back from a tree with the types they had."""

import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qtkm
from qtkm import storage
from qtkm.estimators.encoding import REGISTRIES, decode, encode
from tests.estimators.same import assert_same

LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.complex_numbers(), st.binary(),
    st.text(st.characters()), st.dates(), st.datetimes(),
    st.sampled_from([np.float32, np.float64, np.dtype("float32")]),
    st.floats(width=32).map(np.float32), st.floats(width=16).map(np.float16),
    st.integers(0, 255).map(np.uint8), st.booleans().map(np.bool_), st.just(np.str_("ä")),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.one_of(st.text("a$é"), st.integers(), st.booleans()), inner, max_size=3),
    ),
    max_leaves=6,
)


def through_a_file(value):
    return decode(storage.join(*storage.split(encode(value))))


@given(VALUES)
def test_values_come_back_as_they_were(value):
    assert_same(through_a_file(value), value)


@pytest.mark.parametrize(
    "value",
    [
        np.array(["a", "bcd"]),
        np.array(["a"], dtype="<U9"),
        np.array([["a", None], [(1, 2), [3]]], dtype=object),
        np.array([], dtype=str),
        np.arange(3, dtype=np.complex64),
        np.arange(40.0).tolist(),
        [float("nan")] * 20,
        np.random.RandomState(4),
    ],
    ids=str,
)
def test_arrays_and_lists_come_back_as_they_were(value):
    assert_same(through_a_file(value), value)


@pytest.mark.parametrize("kind", REGISTRIES)
def test_every_registered_part_comes_back(kind):
    for cls in REGISTRIES[kind].values():
        part = cls()
        assert_same(through_a_file([part, (part,)]), [part, (part,)])


def test_bytes_of_the_other_order_are_numbers_all_the_same():
    back = through_a_file(np.array([1, 300], dtype=">i4"))
    assert back.tolist() == [1, 300]
    assert back.dtype == np.int32


def test_ranges_and_other_sequences_are_lists():
    assert through_a_file(range(3)) == [0, 1, 2]


@pytest.mark.parametrize(
    "value",
    [
        {1, 2}, print, object(), qtkm, np.random.default_rng(0), np.array(["2024"], "M8[D]"), int,
        datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC), np.longdouble(1),
        np.random.RandomState(np.random.PCG64(0)),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_a_file_cannot_hold_is_refused(value):
    with pytest.raises(TypeError, match="a file cannot hold"):
        encode([1, (value,)])
