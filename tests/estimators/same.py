"""Whether two models, or any two values, are the same: types, bits and all."""

from typing import Any

import numpy as np


def assert_same(one: Any, other: Any, where: str = "it") -> None:
    """Compare two values and all they are made of."""
    assert type(one) is type(other), where
    if isinstance(one, np.ndarray):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), where
        if one.dtype.hasobject:
            assert_same(one.tolist(), other.tolist(), where)
        else:
            assert one.tobytes() == other.tobytes(), where
            assert one.flags.c_contiguous == other.flags.c_contiguous, where
    elif isinstance(one, list | tuple):
        assert len(one) == len(other), where
        for i, pair in enumerate(zip(one, other, strict=True)):
            assert_same(*pair, f"{where}[{i}]")
    elif isinstance(one, dict):
        assert_same(list(one), list(other), f"keys of {where}")
        for key in one:
            assert_same(one[key], other[key], f"{where}[{key!r}]")
    elif isinstance(one, np.random.RandomState):
        assert_same(one.get_state(), other.get_state(), where)
    elif hasattr(one, "__dict__") and not isinstance(one, type):
        # the order in which attributes were set is no difference
        assert_same(sorted(vars(one)), sorted(vars(other)), f"attributes of {where}")
        for name in vars(one):
            assert_same(getattr(one, name), getattr(other, name), f"{where}.{name}")
    else:
        assert repr(one) == repr(other), where
