"""Design rows and contraction trees against arrays written out."""

import numpy as np
import pytest

from qtkm.networks import design
from tests.covering import covered

SIZES = [(3,), (2, 4), (2, 1, 3), (1,)]
N_ROWS = 23

each_size = pytest.mark.parametrize("sizes", SIZES, ids=str)
each_kind = pytest.mark.parametrize("kinds", ["real", "complex", "mixed"])


def draw(rng, shape, is_complex):
    array = rng.normal(size=shape)
    return array + 1j * rng.normal(size=shape) if is_complex else array


def make_parts(sizes, kinds, seed=0):
    rng = np.random.default_rng(seed)
    return [
        draw(rng, (N_ROWS, size), kinds == "complex" or (kinds == "mixed" and i % 2 == 0))
        for i, size in enumerate(sizes)
    ]


def written_out(parts):
    rows = []
    for n in range(N_ROWS):
        row = np.ones(1)
        for part in parts:
            row = np.kron(row, part[n])
        rows.append(row)
    return np.array(rows)


@pytest.fixture(params=[1 << 18, 20], ids=["one block", "many blocks"])
def blocks(request, monkeypatch):
    monkeypatch.setattr(design, "BLOCK_ENTRIES", request.param)
    monkeypatch.setattr(design, "BLOCK_ROWS", 1)


@each_size
@each_kind
def test_a_design_row_is_the_kronecker_product_of_its_parts(sizes, kinds):
    parts = make_parts(sizes, kinds)
    np.testing.assert_allclose(design.rows(parts), written_out(parts), atol=1e-14)
    assert design.rows(parts).shape[1] == np.prod(sizes)


@covered
@each_size
@each_kind
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("both", [False, True])
@pytest.mark.usefixtures("blocks")
def test_the_gram_holds_the_sums_of_a_least_squares_problem(sizes, kinds, weighted, both):
    parts, rng = make_parts(sizes, kinds), np.random.default_rng(1)
    root = rng.uniform(0.5, 2, size=N_ROWS) if weighted else np.empty(0)
    target = rng.normal(size=(N_ROWS, 2))
    z = written_out(parts) * (root[:, None] if weighted else 1)
    hermitian, *symmetric, products = design.gram(parts, root, target, both)
    np.testing.assert_allclose(hermitian, z.conj().T @ z, atol=1e-12)
    np.testing.assert_allclose(products, target.T @ z, atol=1e-12)
    assert len(symmetric) == both
    for found in symmetric:
        np.testing.assert_allclose(found, z.T @ z, atol=1e-12)


def test_sums_over_parts_in_single_precision_are_double():
    parts = [part.astype(np.complex64) for part in make_parts((2, 3), "complex")]
    target = np.ones((N_ROWS, 1))
    hermitian, symmetric, products = design.gram(parts, np.empty(0), target, True)
    assert {a.dtype for a in (hermitian, symmetric, products)} == {np.dtype(np.complex128)}


# indices 0…5, the outputs 6 and the rows -1; 2 is shared by three arrays, the last has no rows
TERMS = [(-1, 0, 1), (-1, 1, 2), (-1, 2, 3, 0), (-1, 2, 4, 6), (3, 4)]
SIZES_OF = {-1: 7, 0: 2, 1: 3, 2: 2, 3: 4, 4: 3, 6: 5}


def make_tree(output=(-1, 6)):
    rng = np.random.default_rng(0)
    leaves = [draw(rng, [SIZES_OF[i] for i in term], True) for term in TERMS]
    return design.Tree(TERMS, set(output), SIZES_OF), leaves


def einsum(leaves, terms, output):
    pairs = [x for leaf, term in zip(leaves, terms, strict=True)
             for x in (leaf, [i + 1 for i in term])]  # fmt: skip
    return np.einsum(*pairs, [i + 1 for i in output])


def test_a_tree_contracts_all_arrays_at_once():
    tree, leaves = make_tree()
    expected = einsum(leaves, TERMS, (-1, 6))
    np.testing.assert_allclose(tree.up(leaves)[-1], expected, atol=1e-12)


def test_a_tree_of_one_array_is_that_array():
    tree = design.Tree([(-1, 0)], {-1, 0}, {-1: 3, 0: 2})
    leaf = np.arange(6.0).reshape(3, 2)
    assert tree.up([leaf])[-1] is leaf
    assert tree.down([leaf], leaf, [0])[0] is leaf


@pytest.mark.parametrize("leaf", range(len(TERMS)))
def test_the_derivative_to_an_array_is_the_contraction_of_the_others_and_the_seed(leaf):
    tree, leaves = make_tree()
    seed = np.random.default_rng(1).normal(size=(7, 5))
    found = tree.down(tree.up(leaves), seed, [leaf])[leaf]
    others = [x for i, x in enumerate(leaves) if i != leaf]
    terms = [t for i, t in enumerate(TERMS) if i != leaf]
    output = (-1, *(i for i in TERMS[leaf] if i != -1))
    np.testing.assert_allclose(
        found, einsum([*others, seed], [*terms, (-1, 6)], output), atol=1e-11
    )


@pytest.mark.parametrize("leaf", range(len(TERMS)))
def test_a_free_index_stays_an_axis_of_the_environment(leaf):
    tree, leaves = make_tree()
    skip = tree.lineage([leaf])
    values = tree.up([None if i == leaf else x for i, x in enumerate(leaves)], skip)
    found = tree.down(values, np.ones(7), [leaf], (6,))[leaf]
    others = [x for i, x in enumerate(leaves) if i != leaf]
    terms = [t for i, t in enumerate(TERMS) if i != leaf]
    own = [i for i in TERMS[leaf] if i not in (-1, 6)]
    output = (-1, *([] if 6 in TERMS[leaf] else [6]), *own)
    np.testing.assert_allclose(found, einsum(others, terms, output), atol=1e-11)


def test_a_tangent_is_the_sum_of_contractions_with_one_array_changed():
    tree, leaves = make_tree()
    rng = np.random.default_rng(2)
    changes = [draw(rng, leaf.shape, True) for leaf in leaves]
    expected = sum(
        einsum([*leaves[:i], change, *leaves[i + 1 :]], TERMS, (-1, 6))
        for i, change in enumerate(changes)
    )
    np.testing.assert_allclose(tree.tangent(tree.up(leaves), changes), expected, atol=1e-11)


def test_a_contraction_that_takes_too_much_memory_is_refused():
    every_pair = [(a, b) for a in range(8) for b in range(8, 16)]
    terms = [tuple(i for i, pair in enumerate(every_pair) if v in pair) for v in range(16)]
    with pytest.raises(ValueError, match="fewer loops, such as a tensor train"):
        design.Tree(terms, set(), dict.fromkeys(range(64), 4))
