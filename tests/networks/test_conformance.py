"""What every registered network must do."""

import numpy as np
import pytest

from qtkm.networks import REGISTRY, flatten
from tests.problems import make_cores, make_map, make_objective, update

MAPS = [make_map("fourier", 6), make_map("power", 4, None), make_map("categorical", 3)]
RADICES = [feature_map.radices for feature_map in MAPS]
CONSTANTS = [feature_map.constant() for feature_map in MAPS]

each_network = pytest.mark.parametrize("network", [cls(rank=3) for cls in REGISTRY.values()])
each_start = pytest.mark.parametrize("kind", ["smooth", "random"])


def start(network, kind, n_outputs=1, is_complex=True, seed=0):
    rng = np.random.RandomState(seed)
    return network.start(CONSTANTS, n_outputs, is_complex, kind, rng)


def shapes_of(cores):
    return [[c.shape for c in e] if isinstance(e, list) else e.shape for e in cores]


@each_network
@each_start
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_start_has_the_shapes_that_are_promised(network, kind, n_outputs):
    cores = start(network, kind, n_outputs)
    assert shapes_of(cores) == network.shapes(RADICES, n_outputs)


@each_network
@each_start
@pytest.mark.parametrize(("is_complex", "dtype"), [(True, np.complex128), (False, np.float64)])
def test_cores_are_complex_where_the_features_are(network, kind, is_complex, dtype):
    assert {core.dtype for core in flatten(start(network, kind, 2, is_complex))} == {
        np.dtype(dtype)
    }


@each_network
@each_start
def test_a_start_depends_on_the_seed_and_on_nothing_else(network, kind):
    one, same, other = (flatten(start(network, kind, seed=seed)) for seed in (0, 0, 1))
    assert all((a == b).all() for a, b in zip(one, same, strict=True))
    assert any((a != b).any() for a, b in zip(one, other, strict=True))


@each_network
def test_parameters_are_counted_once_each_a_complex_number_as_one(network):
    cores = start(network, "random", 2)
    assert network.n_parameters(cores) == sum(core.size for core in flatten(cores))


@each_network
@pytest.mark.parametrize("rank", [0, -1, 2.5, "auto", None, True])
def test_a_rank_that_makes_no_sense_is_refused(network, rank):
    with pytest.raises(ValueError, match=rf"rank={rank!r} must be a whole number >= 1"):
        type(network)(rank=rank).check()


@each_network
@pytest.mark.parametrize("rank", [1, np.int64(7)])
def test_a_sensible_rank_passes(network, rank):
    type(network)(rank=rank).check()


def test_a_snapshot_is_not_touched_by_later_updates():
    objective = make_objective(MAPS, n_outputs=2)
    iterate = objective.at(make_cores(objective))
    snapshot = iterate.snapshot()
    before = [core.copy() for core in flatten(snapshot)]
    for block in objective.blocks:
        update(objective, iterate, block)
    assert all((a == b).all() for a, b in zip(before, flatten(snapshot), strict=True))
    assert any((a != b).any() for a, b in zip(before, flatten(iterate.cores), strict=True))


def test_cores_that_are_given_are_not_touched_by_updates():
    objective = make_objective(MAPS, n_outputs=2)
    cores = make_cores(objective)
    before = [core.copy() for core in flatten(cores)]
    iterate = objective.at(cores)
    for block in objective.blocks:
        update(objective, iterate, block)
    assert all((a == b).all() for a, b in zip(before, flatten(cores), strict=True))
