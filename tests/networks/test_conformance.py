"""What every registered network must do, whatever the features are."""

from functools import cache

import numpy as np
import pytest

from qtkm.networks import REGISTRY, flatten, unflatten
from tests import dense
from tests.covering import covered
from tests.problems import (
    MODELS,
    example_graph,
    make_cores,
    make_maps,
    make_network,
    make_objective,
    random_like,
)

MAPS = make_maps("mixed")
RADICES = [feature_map.radices for feature_map in MAPS]
CONSTANTS = [feature_map.constant() for feature_map in MAPS]
RANKED = [name for name in REGISTRY if name != "graph"]

each_network = pytest.mark.parametrize("name", REGISTRY)
each_ranked = pytest.mark.parametrize("name", RANKED)
each_model = pytest.mark.parametrize("model", MODELS)
real_and_complex = pytest.mark.parametrize("model", ["power", "mixed"])
each_output = pytest.mark.parametrize("n_outputs", [1, 3])
each_start = pytest.mark.parametrize("kind", ["smooth", "random"])


@cache
def make(name, model="mixed", n_outputs=1):
    """Objective, cores and iterate that tests only look at."""
    return make_fresh(name, model, n_outputs)


def make_fresh(name, model="mixed", n_outputs=1):
    objective = make_objective(make_maps(model), n_outputs=n_outputs, network=name, n_rows=40)
    cores = make_cores(objective)
    return objective, cores, objective.at(cores)


def start(name, kind, n_outputs=1, is_complex=True, seed=0):
    rng = np.random.RandomState(seed)
    return make_network(name, 3, RADICES).start(CONSTANTS, n_outputs, is_complex, kind, rng)


def radices_of(objective):
    return [column.radices for column in objective.columns]


def shapes_of(cores):
    return [[c.shape for c in e] if isinstance(e, list) else e.shape for e in cores]


def same(a, b):
    return all((x == y).all() for x, y in zip(flatten(a), flatten(b), strict=True))


def moved(cores, direction, step):
    """Cores after a step; with a direction for one position only, the others stay."""
    flat = [c + step * d for c, d in zip(flatten(cores), flatten(direction), strict=True)]
    return unflatten(cores, flat)


def alone(direction, position):
    """A direction that changes one core and no other."""
    flat = [d if i == position else 0 * d for i, d in enumerate(flatten(direction))]
    return unflatten(direction, flat)


def difference(function, cores, direction, step=1e-5):
    """Central difference of a function of the cores."""
    ahead, behind = (function(moved(cores, direction, s)) for s in (step, -step))
    return (ahead - behind) / (2 * step)


# -- cores ------------------------------------------------------------------------------------


@covered
@each_network
@each_start
@each_output
def test_a_start_has_the_shapes_that_are_promised(name, kind, n_outputs):
    cores = start(name, kind, n_outputs)
    assert shapes_of(cores) == make_network(name, 3, RADICES).shapes(RADICES, n_outputs)


@covered
@each_network
@each_start
@pytest.mark.parametrize(("is_complex", "dtype"), [(True, np.complex128), (False, np.float64)])
def test_cores_are_complex_where_the_features_are(name, kind, is_complex, dtype):
    cores = flatten(start(name, kind, 2, is_complex))
    assert {core.dtype for core in cores} == {np.dtype(dtype)}


@each_network
@each_start
def test_a_start_depends_on_the_seed_and_on_nothing_else(name, kind):
    assert same(start(name, kind, seed=0), start(name, kind, seed=0))
    assert not same(start(name, kind, seed=0), start(name, kind, seed=1))


@covered
@each_network
@each_start
@each_output
def test_a_start_responds_and_no_core_of_it_is_zero(name, kind, n_outputs):
    objective = make_objective(MAPS, n_outputs=n_outputs, network=name, rank=3)
    cores = start(name, kind, n_outputs)
    response = objective.at(cores).responses(objective.shards[0])
    assert all(core.any() for core in flatten(cores))
    assert np.isfinite(response).all()
    assert np.abs(response).max() > 1e-3


@covered
@each_network
@each_model
@each_output
def test_every_site_has_one_leg_of_the_size_of_its_radix(name, model, n_outputs):
    objective, _, _ = make(name, model, n_outputs)
    radices = radices_of(objective)
    structure = objective.network.structure(radices, n_outputs)
    sizes = {site: structure.edges[e].size for site, e in structure.legs.items()}
    expected = {(d, k): q for d, column in enumerate(radices) for k, q in enumerate(column)}
    if n_outputs > 1:
        expected[len(radices), 0] = n_outputs
    assert sizes == expected


@each_network
def test_the_bound_on_the_vc_dimension_is_that_of_the_paper(name):
    objective, cores, _ = make(name)
    structure = objective.network.structure(radices_of(objective), 1)
    count, vertices = sum(core.size for core in flatten(cores)), len(flatten(cores))
    assert objective.network.n_parameters(cores) == count
    assert structure.vc_bound == pytest.approx(2 * count * np.log2(12 * vertices))


@each_ranked
def test_a_rank_that_makes_no_sense_is_refused(name):
    for rank in (0, -1, 2.5, "auto", None, True):
        with pytest.raises(ValueError, match=rf"rank={rank!r} must be an integer >= 1"):
            REGISTRY[name](rank=rank).check()
    for rank in (1, np.int64(7)):
        REGISTRY[name](rank=rank).check()


@each_ranked
@each_output
def test_a_rank_of_one_serves_any_sites(name, n_outputs):
    objective = make_objective(MAPS, n_outputs=n_outputs, network=name, rank=1)
    cores = make_cores(objective)
    phi, _, _ = dense.rows(objective)
    found = objective.at(cores).responses(objective.shards[0])
    np.testing.assert_allclose(found, phi @ dense.tensor(objective, cores), atol=1e-11)


@each_ranked
def test_the_rank_that_auto_stands_for_passes(name):
    for n_rows, n_columns in ((10, 1), (1000, 8), (10**7, 3)):
        REGISTRY[name](rank=REGISTRY[name]().default_rank(n_rows, n_columns)).check()


def test_the_example_graph_passes_and_a_graph_of_nothing_is_refused():
    example_graph(RADICES).check()
    with pytest.raises(ValueError, match="vertices=None must be a mapping"):
        REGISTRY["graph"]().check()


# -- the weight tensor, written out -----------------------------------------------------------


@covered
@each_network
@each_model
@each_output
def test_the_dense_tensor_is_the_sum_over_all_indices(name, model, n_outputs):
    objective, cores, _ = make(name, model, n_outputs)
    found = objective.network.dense(cores, radices_of(objective))
    expected = dense.tensor(objective, cores)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


@each_output
def test_the_sum_over_all_indices_of_a_cpd_is_the_sum_of_its_terms(n_outputs):
    objective, cores, _ = make("cpd", "mixed", n_outputs)
    np.testing.assert_allclose(dense.tensor(objective, cores), dense.weights(cores), atol=1e-12)


@covered
@each_network
@each_model
@each_output
def test_responses_are_features_times_the_weight_tensor(name, model, n_outputs):
    objective, cores, iterate = make(name, model, n_outputs)
    phi, _, _ = dense.rows(objective)
    expected = phi @ dense.tensor(objective, cores)
    found = iterate.responses(objective.shards[0])
    assert np.iscomplexobj(found) == objective.is_complex
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


@covered
@each_network
@each_model
@each_output
def test_the_norm_is_that_of_the_weight_tensor(name, model, n_outputs):
    objective, cores, iterate = make(name, model, n_outputs)
    expected = np.sum(np.abs(dense.tensor(objective, cores)) ** 2)
    assert iterate.penalty() == pytest.approx(expected, rel=1e-11)


@each_network
@each_output
def test_single_precision_gives_nearly_the_same_responses(name, n_outputs):
    objective, cores, iterate = make(name, "mixed", n_outputs)
    single = objective.network.iterate(
        objective.columns, cores, np.dtype(np.float32), objective.engine.run,
        objective.precisions,
    )  # fmt: skip
    (shard,) = objective.shards
    expected = iterate.responses(shard)
    error = np.abs(single.responses(shard) - expected).max()
    assert 0 < error <= 1e-5 * np.abs(expected).max()


@covered
@each_network
@each_model
@each_output
def test_values_on_no_grid_have_the_responses_of_the_weight_tensor(name, model, n_outputs):
    objective, cores, _ = make(name, model, n_outputs)
    rng = np.random.default_rng(5)
    maps = [column.feature_map for column in objective.columns]
    shares = [np.array([0.5, 0.3, 0.2]) if m.is_categorical else None for m in maps]
    values = [
        rng.integers(-1, 3, size=30) if m.is_categorical else rng.uniform(-0.1, 1.1, size=30)
        for m in maps
    ]
    columns = [dense.features(m, v) for m, v in zip(maps, values, strict=True)]
    for column, share, codes in zip(columns, shares, values, strict=True):
        if share is not None:
            assert (codes == -1).any()
            column[codes == -1] = share  # an unknown category is the mean of the known ones
    expected = dense.all_features(columns) @ dense.tensor(objective, cores)
    found = objective.network.evaluator(cores, shares).responses(maps, values)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


@each_network
@each_output
def test_no_rows_have_no_responses(name, n_outputs):
    objective, cores, _ = make(name, "mixed", n_outputs)
    maps = [column.feature_map for column in objective.columns]
    evaluator = objective.network.evaluator(cores, [None, np.ones(3) / 3, None])
    empty = [np.empty(0), np.empty(0, dtype=np.int64), np.empty(0)]
    assert evaluator.responses(maps, empty).shape == (0, n_outputs)


# -- derivatives ------------------------------------------------------------------------------


@covered
@each_network
@each_model
@each_output
def test_the_tangent_is_that_of_finite_differences(name, model, n_outputs):
    objective, cores, iterate = make(name, model, n_outputs)
    (shard,) = objective.shards
    direction = random_like(cores)
    found = iterate.tangent(direction)(shard, run=objective.engine.run)
    phi, _, _ = dense.rows(objective)
    expected = difference(lambda c: phi @ dense.tensor(objective, c), cores, direction)
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@covered
@each_network
@each_model
@each_output
def test_the_sums_of_the_gradient_are_the_adjoint_of_the_tangent(name, model, n_outputs):
    """Re⟨slopes, J·δ⟩ = Re⟨Jᴴ·slopes, δ⟩ for every core by itself."""
    objective, cores, iterate = make(name, model, n_outputs)
    (shard,) = objective.shards
    run, direction = objective.engine.run, random_like(cores)
    (slopes,) = random_like([iterate.responses(shard)])
    gradient = flatten(iterate.gradient(iterate.gradient_pass()(shard, slopes, run=run)))
    for position, delta in enumerate(flatten(direction)):
        change = iterate.tangent(alone(direction, position))(shard, run=run)
        expected = np.vdot(slopes, change).real
        scale = np.linalg.norm(slopes) * np.linalg.norm(change)
        assert np.vdot(gradient[position], delta).real == pytest.approx(expected, abs=1e-11 * scale)


@covered
@each_network
@each_model
@each_output
def test_the_norms_gradient_is_that_of_finite_differences(name, model, n_outputs):
    objective, cores, iterate = make(name, model, n_outputs)
    direction, gradient = random_like(cores), flatten(iterate.penalty_gradient())

    def squared_norm(some):
        return np.sum(np.abs(dense.tensor(objective, some)) ** 2)

    for position, delta in enumerate(flatten(direction)):
        found = np.vdot(gradient[position], delta).real
        expected = difference(squared_norm, cores, alone(direction, position))
        scale = np.linalg.norm(gradient[position]) * np.linalg.norm(delta)
        assert found == pytest.approx(expected, abs=1e-6 * scale)


@covered
@each_network
@real_and_complex
@each_output
def test_the_norms_product_is_its_hessian_one_core_at_a_time(name, model, n_outputs):
    """‖w‖² is quadratic in a core, so its gradient there, 2Γ·core, changes by 2Γ·δ."""
    objective, cores, iterate = make(name, model, n_outputs)
    direction = random_like(cores)
    product = flatten(iterate.penalty_product(direction))
    for position in range(len(product)):
        own = alone(direction, position)

        def gradient(some, position=position):
            return flatten(objective.at(some).penalty_gradient())[position]

        expected = difference(gradient, cores, own)
        scale = np.abs(expected).max()
        np.testing.assert_allclose(product[position], expected, atol=1e-6 * scale)
        assert np.vdot(flatten(own)[position], product[position]).real == pytest.approx(
            2 * objective.at(replaced(cores, own, position)).penalty(), rel=1e-10
        )


def replaced(cores, others, position):
    flat = flatten(cores)
    flat[position] = flatten(others)[position]
    return unflatten(cores, flat)


@each_network
def test_the_norms_gradient_is_its_product_with_the_cores_themselves(name):
    _, cores, iterate = make(name)
    pairs = zip(
        flatten(iterate.penalty_gradient()), flatten(iterate.penalty_product(cores)), strict=True
    )
    for a, b in pairs:
        np.testing.assert_allclose(a, b, atol=1e-12 * np.abs(a).max())


@each_network
@each_output
def test_derivatives_have_the_shapes_of_the_cores(name, n_outputs):
    objective, cores, iterate = make(name, "mixed", n_outputs)
    _, gradient = objective.gradient(iterate)
    for found in (gradient, iterate.penalty_gradient(), iterate.penalty_product(cores)):
        assert shapes_of(found) == shapes_of(cores)


# -- updates ----------------------------------------------------------------------------------


def update_all(objective, iterate):
    for block in objective.blocks:
        objective.update(iterate, block)


@each_network
@each_output
def test_blocks_are_as_many_as_the_entries_of_the_cores(name, n_outputs):
    objective, cores, iterate = make(name, "mixed", n_outputs)
    assert iterate.n_blocks == len(cores) == len(objective.blocks)


@each_network
@each_output
def test_a_snapshot_is_not_touched_by_later_updates_and_can_be_put_back(name, n_outputs):
    objective, cores, iterate = make_fresh(name, "mixed", n_outputs)
    (shard,) = objective.shards
    snapshot, response = iterate.snapshot(), iterate.responses(shard)
    update_all(objective, iterate)
    assert same(snapshot, cores)
    assert not same(iterate.cores, cores)
    assert np.abs(iterate.responses(shard) - response).max() > 1e-3
    iterate.restore(snapshot)
    assert same(iterate.cores, cores)
    np.testing.assert_allclose(iterate.responses(shard), response, atol=1e-12)
    assert iterate.penalty() == pytest.approx(objective.at(cores).penalty(), rel=1e-12)


@each_network
@each_output
def test_cores_that_are_given_are_not_touched_by_updates(name, n_outputs):
    objective, cores, iterate = make_fresh(name, "mixed", n_outputs)
    before = unflatten(cores, [core.copy() for core in flatten(cores)])
    update_all(objective, iterate)
    assert same(before, cores)


@each_network
def test_the_token_changes_with_the_cores_and_only_with_them(name):
    objective, _, iterate = make_fresh(name)
    token, snapshot = iterate.token, iterate.snapshot()
    objective.gradient(iterate)
    objective.value(iterate)
    assert iterate.token == token
    for block in objective.blocks:
        objective.update(iterate, block)
        assert iterate.token != token
        token = iterate.token
    iterate.restore(snapshot)
    assert iterate.token != token


@each_network
@each_output
def test_an_update_keeps_shapes_and_type_of_the_cores(name, n_outputs):
    objective, cores, iterate = make_fresh(name, "mixed", n_outputs)
    update_all(objective, iterate)
    assert shapes_of(iterate.cores) == shapes_of(cores)
    assert {core.dtype for core in flatten(iterate.cores)} == {np.dtype(np.complex128)}


@covered
@each_network
@real_and_complex
@pytest.mark.parametrize(("n_outputs", "residual"), [(1, "real"), (2, "complex")])
def test_the_first_core_of_a_block_is_updated_to_its_least_squares(
    name, model, n_outputs, residual
):
    objective = make_objective(
        make_maps(model), n_outputs=n_outputs, network=name, n_rows=40, weighted=True,
        residual=residual, alpha=0.1,
    )  # fmt: skip
    cores = make_cores(objective)
    for block in objective.blocks:
        _, minimum = dense.best_core(objective, cores, block, 0)
        iterate = objective.at(cores)
        value = objective.update(iterate, block)[0]
        assert value == pytest.approx(minimum, rel=1e-9)
