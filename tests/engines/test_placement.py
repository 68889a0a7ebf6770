"""Parts of the rows and their workers: neighbours together, in balance."""

from qtkm.engines.remote import spread


def test_neighbours_are_together_and_threads_count():
    assert spread([5] * 8, {"b": 2, "a": 1, "c": 1}) == list("aabbbbcc")
    assert spread([1000, 1, 1, 1], {"a": 1, "b": 1}) == list("abbb")
    assert spread([], {"a": 1, "b": 1}) == []


def test_parts_without_rows_do_no_harm():
    assert spread([0, 0], {"a": 1, "b": 1}) == list("aa")
