"""Parts of the rows and their workers: together where they can be, in balance, seldom moved."""

from qtkm.engines.remote import settle, spread

TWO = {"a": 1, "b": 1}


def test_neighbours_are_together_and_threads_count():
    assert spread([5] * 8, {"b": 2, "a": 1, "c": 1}) == list("aabbbbcc")
    assert spread([1000, 1, 1, 1], TWO) == list("abbb")
    assert spread([], TWO) == []


def test_nothing_moves_without_need():
    assert settle(list("aabb"), list("aabb"), [1] * 4, TWO) == list("aabb")
    assert settle(list("aabbb"), list("aabbb"), [1] * 5, TWO) == list("aabbb")


def test_a_copy_elsewhere_does_not_matter():
    assert settle(list("ab"), ["ab", "ab"], [1, 1], TWO) == list("ab")


def test_parts_are_taken_to_be_where_they_are_found():
    assert settle(list("ab"), ["b", "a"], [1, 1], TWO) == list("ba")
    assert settle([None, None], ["b", "a"], [1, 1], TWO) == list("ba")


def test_what_is_about_to_be_made_stays_where_it_was_meant_to_be():
    assert settle(list("ab"), ["", ""], [1, 1], TWO) == list("ab")
    assert settle([None, None], ["", ""], [1, 1], TWO) == list("ab")


def test_a_lost_worker_leaves_its_parts_to_those_with_the_least():
    left = {"a": 1, "b": 1, "c": 2}
    holders = [*"aabbccc", "", "", ""]
    assert settle(list("aabbcccddd"), holders, [1] * 10, left) == list("aabbccccca")


def test_a_new_worker_gets_a_share_and_no_more_moves_than_needed():
    found = settle(list("aaaabbbb"), list("aaaabbbb"), [1] * 8, {**TWO, "c": 2})
    assert sorted(found) == list("aabbcccc")
    assert sum(x != y for x, y in zip(found, "aaaabbbb", strict=True)) == 4


def test_all_on_one_worker_is_put_right():
    found = settle(list("aaaa"), list("aaaa"), [1] * 4, TWO)
    assert sorted(found) == list("aabb")


def test_parts_without_rows_do_no_harm():
    assert settle(list("aa"), list("aa"), [0, 0], TWO) == list("aa")
    assert settle([], [], [], TWO) == []
