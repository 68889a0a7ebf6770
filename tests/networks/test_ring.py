"""Tensor rings: what they have in common with trains, balanced norms, and ranks."""

import numpy as np
import pytest

from qtkm.networks import TensorRing, TensorTrain, flatten, unflatten
from qtkm.networks.train import gauge as algebra
from tests import dense
from tests.problems import make_cores, make_maps, make_objective

SIZES = [2, 3, 2]

both_loops = pytest.mark.usefixtures("loops")  # NumPy, and compiled
each_output = pytest.mark.parametrize("n_outputs", [1, 3])


def make(columns, rank=3, **parameters):
    objective = make_objective(make_maps(columns), network=TensorRing(rank), **parameters)
    return objective, make_cores(objective)


# -- closed and open ends ---------------------------------------------------------------------


@each_output
def test_a_ring_whose_outer_bond_is_one_is_a_train(n_outputs):
    maps = make_maps("mixed")
    inner = [2, 3, 3, 2]
    ring = make_objective(
        maps, n_outputs=n_outputs, network=TensorRing([1, *inner, *([2] if n_outputs > 1 else [])])
    )
    train = make_objective(
        maps, n_outputs=n_outputs, network=TensorTrain([*inner, *([2] if n_outputs > 1 else [])])
    )
    cores = make_cores(ring)
    assert ring.shapes == train.shapes
    (shard,) = ring.shards
    a, b = ring.at(cores), train.at(cores)
    np.testing.assert_allclose(a.responses(shard), b.responses(shard), atol=1e-12)
    assert a.penalty() == pytest.approx(b.penalty(), rel=1e-12)
    for block in train.blocks:
        values = ring.update(a, block)
        assert values == pytest.approx(train.update(b, block), rel=1e-8)


def test_turning_a_ring_changes_no_response():
    """A trace does not know where the ring begins."""
    maps = make_maps([("fourier", 4, None), ("power", 3, None), ("fourier", 3, None)])
    objective = make_objective(maps, network=TensorRing([2, 3, 2]), n_values=[5, 5, 5])
    cores = make_cores(objective)
    turned = make_objective(maps, network=TensorRing([3, 2, 2]))
    turned.columns = [*objective.columns[1:], objective.columns[0]]
    (shard,) = objective.shards
    other = type(shard)(
        np.ascontiguousarray(np.roll(shard.codes, -1, axis=1)), shard.target, shard.weight,
        (*shard.n_codes[1:], shard.n_codes[0]),
    )  # fmt: skip
    a, b = objective.at(cores), turned.at([*cores[1:], cores[0]])
    np.testing.assert_allclose(a.responses(shard), b.responses(other), atol=1e-12)
    assert a.penalty() == pytest.approx(b.penalty(), rel=1e-12)


@both_loops
@pytest.mark.parametrize("residual", ["complex", "real"])
def test_a_ring_of_ample_rank_comes_down_to_ridge_regression(residual):
    objective, cores = make(
        [("fourier", 3, None), ("power", 2, None)], rank=3, residual=residual, alpha=0.05,
        n_values=[30, 30],
    )  # fmt: skip
    phi, target, _ = dense.rows(objective)
    seen = np.hstack([phi.real, -phi.imag]) if residual == "real" else phi
    matrix = seen.conj().T @ seen + 0.05 * len(phi) * np.eye(seen.shape[1])
    expected = seen @ np.linalg.solve(matrix, seen.conj().T @ target)
    iterate = objective.at(cores)
    for _ in range(20):
        for block in objective.blocks:
            objective.update(iterate, block)
    found = iterate.responses(objective.shards[0])
    found = found.real if residual == "real" else found
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


# -- norms ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["smooth", "random"])
@each_output
def test_the_cores_of_a_start_have_one_norm(kind, n_outputs):
    constants = [feature_map.constant() for feature_map in make_maps("mixed")]
    cores = TensorRing(3).start(constants, n_outputs, True, kind, np.random.RandomState(0))
    norms = [np.linalg.norm(core) for core in flatten(cores)]
    np.testing.assert_allclose(norms, norms[0])


@each_output
def test_an_epoch_begins_with_balanced_norms_and_the_same_ring(n_outputs):
    objective, cores = make("mixed", n_outputs=n_outputs)
    first, *others = flatten(cores)
    uneven = unflatten(cores, [1e3 * first, *others])
    iterate = objective.at(uneven)
    iterate.problem(0, objective.setting)
    norms = [np.linalg.norm(core) for core in iterate.sites]
    np.testing.assert_allclose(norms, norms[0])
    expected = dense.tensor(objective, uneven)
    found = dense.tensor(objective, iterate.cores)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())


@both_loops
@each_output
def test_cores_that_are_left_behind_have_norm_one(n_outputs):
    objective, cores = make("mixed", n_outputs=n_outputs)
    iterate = objective.at(cores)
    behind = 0
    for block in objective.blocks:
        objective.update(iterate, block)
        behind += len(cores[block]) if isinstance(cores[block], list) else 1
        center = min(behind, len(flatten(cores)) - 1)
        norms = [np.linalg.norm(core) for core in iterate.sites[:center]]
        np.testing.assert_allclose(norms, 1)


def test_balancing_keeps_the_product_and_leaves_zeros_alone():
    rng = np.random.default_rng(0)
    sites = [10.0**k * rng.normal(size=(2, 3, 2)) for k in (-3, 0, 4)]
    even = algebra.balance(sites)
    norms = [np.linalg.norm(core) for core in even]
    np.testing.assert_allclose(norms, norms[0])
    product, expected = (np.prod([np.linalg.norm(core) for core in s]) for s in (even, sites))
    assert product == pytest.approx(expected)
    zeros = algebra.balance([sites[0], 0 * sites[1]])
    np.testing.assert_array_equal(zeros[0], sites[0])


@both_loops
def test_several_epochs_of_a_ring_stay_balanced_and_monotone():
    objective, cores = make("fourier", rank=4, alpha=1e-4)
    iterate = objective.at(cores)
    before = objective.value(iterate)
    for _ in range(5):
        for block in objective.blocks:
            (*_, value) = objective.update(iterate, block)
            assert value <= before * (1 + 1e-9)
            before = value
    assert value == pytest.approx(dense.value(objective, iterate.cores), rel=1e-8)
    iterate.settle()
    norms = [np.linalg.norm(core) for core in iterate.sites]
    np.testing.assert_allclose(norms, norms[0])


# -- ranks ------------------------------------------------------------------------------------


@pytest.mark.parametrize("rank", [1, np.int64(4)])
def test_one_number_is_the_size_of_all_bonds(rank):
    assert TensorRing(rank).bonds(SIZES) == [rank] * 4


@pytest.mark.parametrize("rank", [[2, 3, 4], (1, 2, 1), np.array([4, 2, 2])])
def test_a_sequence_has_the_bond_before_every_site(rank):
    TensorRing(rank).check()
    assert TensorRing(rank).bonds(SIZES) == [*rank, rank[0]]


def test_a_sequence_is_used_for_cores_and_outputs():
    objective, cores = make([("fourier", 4, 2), ("power", 3, None)], rank=[2, 3, 2, 3], n_outputs=2)
    assert [core.shape for core in flatten(cores)] == [(2, 2, 3), (3, 2, 2), (2, 3, 3), (3, 2, 2)]
    phi, _, _ = dense.rows(objective)
    found = objective.at(cores).responses(objective.shards[0])
    np.testing.assert_allclose(found, phi @ dense.tensor(objective, cores), atol=1e-12)
    assert objective.network.rank_of(cores) == [2, 3, 2, 3]


@pytest.mark.parametrize("rank", [[2, 2], [2, 2, 2, 2], [3]])
def test_a_sequence_of_the_wrong_length_is_refused(rank):
    with pytest.raises(ValueError, match=rf"rank has {len(rank)} entries, but 3 are needed"):
        TensorRing(rank).bonds(SIZES)


@pytest.mark.parametrize(
    ("rank", "message"),
    [([5, 2, 4], "ranks 5 and 2 at site 0 of size 2 do not fit.*use at most 4"),
     ([1, 2, 7], "ranks 2 and 7 at site 1 of size 3 do not fit.*use at most 6"),
     ([2, 2, 5], "ranks 5 and 2 at site 2 of size 2 do not fit.*use at most 4")],
)  # fmt: skip
def test_a_bond_larger_than_the_unfolding_of_a_core_is_refused(rank, message):
    with pytest.raises(ValueError, match=message):
        TensorRing(rank).bonds(SIZES)


def test_a_single_site_needs_no_bond():
    assert TensorRing(3).bonds([5]) == TensorRing([1]).bonds([5]) == [1, 1]
    assert TensorRing(3).structure([[5]], 1).shapes == [(5,)]
    with pytest.raises(ValueError, match=r"rank\[0\]=2 joins the only site to itself.*use 1"):
        TensorRing([2]).bonds([5])


@pytest.mark.parametrize("columns", [[("fourier", 5, None)], [("fourier", 4, 2)]])
def test_rings_of_one_and_two_sites_close_on_themselves(columns):
    objective, cores = make(columns, rank=2)
    phi, _, _ = dense.rows(objective)
    iterate = objective.at(cores)
    expected = phi @ dense.tensor(objective, cores)
    np.testing.assert_allclose(iterate.responses(objective.shards[0]), expected, atol=1e-12)
    radices = [column.radices for column in objective.columns]
    structure = objective.network.structure(radices, 1)
    assert structure.n_parameters == objective.network.n_parameters(cores)
    value = objective.update(iterate, 0)[-1]
    assert value == pytest.approx(dense.value(objective, iterate.cores), rel=1e-9)


def test_ranks_of_given_cores_can_be_seen():
    _, cores = make("mixed", rank=2)
    assert TensorRing().rank_of(cores) == [2] * 5
    assert TensorRing().rank_of(None) is None
