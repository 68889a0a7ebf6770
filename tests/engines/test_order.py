"""The order in which every engine adds: one tree, whatever arrives when."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtkm.engines import add, add_in_order


class Term:
    """A summand that remembers how it was added: its text, its depth, how many are alive."""

    alive = 0

    def __init__(self, text):
        self.text, self.depth = str(text), 0
        Term.alive += 1

    def __iadd__(self, other):
        self.text = f"({self.text}+{other.text})"
        self.depth = 1 + max(self.depth, other.depth)
        Term.alive -= 1
        return self


@pytest.mark.parametrize(
    ("n", "tree"),
    [
        (1, "0"),
        (2, "(0+1)"),
        (3, "((0+1)+2)"),
        (5, "(((0+1)+(2+3))+4)"),
        (7, "(((0+1)+(2+3))+((4+5)+6))"),
    ],
)
def test_the_tree_is_that_of_a_binary_counter(n, tree):
    assert add_in_order([Term(i) for i in range(n)]).text == tree


@given(st.integers(1, 200))
def test_results_are_added_in_order_and_in_a_shallow_tree(n):
    total = add_in_order(Term(i) for i in range(n))
    assert total.text.replace("(", "").replace(")", "") == "+".join(map(str, range(n)))
    assert total.depth <= math.ceil(math.log2(n))


def test_few_partial_sums_are_held_while_results_arrive():
    Term.alive = most = 0

    def arrive():
        nonlocal most
        for i in range(1000):
            most = max(most, Term.alive)
            yield Term(i)

    add_in_order(arrive())
    assert Term.alive == 1
    assert most <= 10


@given(st.integers(1, 40), st.integers(0, 1000))
def test_a_list_and_a_generator_give_the_same_bits(n, seed):
    terms = np.random.default_rng(seed).normal(size=(n, 3)) * 10.0 ** np.arange(n)[:, None]
    one = add_in_order([term.copy() for term in terms])
    other = add_in_order(term.copy() for term in terms)
    assert one.tobytes() == other.tobytes()
    np.testing.assert_allclose(one, terms.sum(axis=0), rtol=1e-12)


def test_tuples_are_added_part_by_part():
    a = (np.array([1.0, 2.0]), (np.array([3]), 4.0))
    b = (np.array([10.0, 20.0]), (np.array([30]), 40.0))
    first, (second, third) = add(a, b)
    np.testing.assert_array_equal(first, [11, 22])
    np.testing.assert_array_equal(second, [33])
    assert third == 44


def test_results_of_different_length_are_not_added_in_silence():
    with pytest.raises(ValueError, match="zip"):
        add((1.0, 2.0), (1.0,))
