"""Derivatives of the objective against differences of the model written out."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from qtkm.data import ShardList, merge
from qtkm.limits import LIMITS
from qtkm.losses import REGISTRY as LOSSES
from qtkm.losses import Hinge, Squared
from qtkm.networks import REGISTRY, flatten, unflatten
from qtkm.penalties import REGISTRY as PENALTIES
from tests import dense
from tests.coded import build
from tests.covering import covered, crossed
from tests.problems import (
    MODELS,
    Bumps,
    Chirps,
    make_cores,
    make_map,
    make_maps,
    make_objective,
    make_penalty,
    random_like,
)

VARIANTS = {
    "squared": {"squared": Squared("complex"), "squared real": Squared("real")},
    "hinge": {"hinge": Hinge(), "wide hinge": Hinge(0.5), "exact hinge": Hinge(0.0)},
}
KINDS = {
    key: loss
    for name, cls in LOSSES.items()
    for key, loss in VARIANTS.get(name, {name: cls()}).items()
}
#: small enough for the whole matrix of second derivatives
TINY = [("fourier", 4, 2), ("power", 2, None)]
OWN = [Chirps([3, 2]), Bumps([2, 2])]

each_pair = pytest.mark.parametrize(
    ("name", "kind"),
    crossed(REGISTRY, KINDS, ["cpd", "tucker"], ["squared", "logistic", "poisson"]),
)
each_network = pytest.mark.parametrize("name", REGISTRY)
each_loss = pytest.mark.parametrize("kind", KINDS)
each_weight = pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
each_penalty = pytest.mark.parametrize("penalty", PENALTIES)
each_model = pytest.mark.parametrize("model", MODELS)
smooth_losses = pytest.mark.parametrize("kind", [k for k in KINDS if "hinge" not in k])


@cache
def make(
    name, kind="squared", model="mixed", weighted=False, n_outputs=None, alpha=0.02, penalty=None
):
    """Objective, cores with responses of order one, iterate; no row is near a kink."""
    if n_outputs is None:
        n_outputs = 3 if kind == "softmax" else 1 + weighted
    maps = make_maps({"tiny": TINY, "own": OWN}.get(model, model))
    objective = make_objective(
        maps, n_outputs=n_outputs, weighted=weighted, network=name, loss=KINDS[kind], alpha=alpha,
        n_rows=40, penalty=make_penalty(penalty) if penalty else None,
    )  # fmt: skip
    cores = make_cores(objective, size=1.0)
    (shard,) = objective.shards
    response = objective.at(cores).responses(shard)
    far = dense.distance_to_kinks(objective.loss, response, shard.target) > 1e-3
    objective = replace(objective, shards=[shard.take(np.flatnonzero(far))])
    assert objective.n_rows > 25
    return objective, cores, objective.at(cores)


def assert_close(found, expected, tol):
    """Compare core by core, each on the scale of its largest entry."""
    for a, b in zip(flatten(found), flatten(expected), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, atol=tol * np.abs(b).max(), rtol=0)


def inner(a, b):
    return sum(np.vdot(x, y).real for x, y in zip(flatten(a), flatten(b), strict=True))


# -- gradients --------------------------------------------------------------------------------


@covered
@each_pair
@each_weight
def test_value_and_gradient_are_those_of_the_model_written_out(name, kind, weighted):
    objective, cores, iterate = make(name, kind, weighted=weighted)
    value, gradient = objective.gradient(iterate)
    assert value == pytest.approx(dense.value(objective, cores), rel=1e-11)
    assert value == pytest.approx(objective.value(iterate), rel=1e-12)
    assert_close(gradient, dense.gradient(objective, cores), 1e-6)


@covered
@each_network
@each_model
@pytest.mark.parametrize("kind", ["squared", "squared real", "logistic"])
def test_the_gradient_is_that_of_finite_differences_for_any_features(name, kind, model):
    objective, cores, iterate = make(name, kind, model, weighted=True, n_outputs=3)
    _, gradient = objective.gradient(iterate)
    assert_close(gradient, dense.gradient(objective, cores), 1e-6)


@each_network
def test_without_regularization_the_gradient_is_that_of_the_loss_alone(name):
    objective, cores, iterate = make(name, "squared", weighted=True, alpha=0.0)
    value, gradient = objective.gradient(iterate)
    assert value == pytest.approx(dense.value(objective, cores), rel=1e-11)
    assert_close(gradient, dense.gradient(objective, cores), 1e-6)


@covered
@each_network
@each_penalty
@pytest.mark.parametrize("model", ["mixed", "own"])
@pytest.mark.parametrize("kind", ["squared", "squared real", "logistic"])
def test_value_and_gradient_under_every_penalty(name, penalty, model, kind):
    objective, cores, iterate = make(name, kind, model, weighted=True, penalty=penalty)
    value, gradient = objective.gradient(iterate)
    assert value == pytest.approx(dense.value(objective, cores), rel=1e-11)
    assert value == pytest.approx(objective.value(iterate), rel=1e-12)
    assert_close(gradient, dense.gradient(objective, cores), 1e-6)


@each_network
@each_weight
def test_gradients_of_parts_of_the_rows_average_to_that_of_all(name, weighted):
    objective, _, iterate = make(name, "squared", weighted=weighted, n_outputs=2)
    (shard,) = objective.shards
    total, gradient = objective.gradient(iterate)
    value, sums = 0.0, [0 * core for core in flatten(gradient)]
    for rows in np.array_split(np.random.default_rng(3).permutation(len(shard)), 3):
        part = shard.take(rows)
        share = len(rows) if part.weight is None else part.weight.sum()
        share /= objective.total_weight
        own_value, own = objective.gradient(iterate, [part])
        value += share * own_value
        sums = [a + share * b for a, b in zip(sums, flatten(own), strict=True)]
    assert value == pytest.approx(total, rel=1e-12)
    assert_close(unflatten(gradient, sums), gradient, 1e-12)


@each_network
def test_cutting_the_rows_into_shards_changes_gradient_and_curvature_only_by_rounding(
    name, monkeypatch
):
    objective, cores, iterate = make(name, "logistic", weighted=True)
    (whole,) = objective.shards
    monkeypatch.setattr(LIMITS, "shard_rows", 11)
    cut = replace(objective, shards=build(whole.codes, whole.target, whole.weight, whole.n_codes))
    assert len(cut.shards) == 4
    direction = random_like(cores)
    assert_close(cut.gradient(cut.at(cores))[1], objective.gradient(iterate)[1], 1e-12)
    found = cut.curvature(cut.at(cores))(direction)
    assert_close(found, objective.curvature(iterate)(direction), 1e-12)


@each_network
@pytest.mark.parametrize("residual", ["complex", "real"])
def test_merging_equal_rows_changes_value_and_gradient_only_by_rounding(name, residual):
    objective = make_objective(
        make_maps("mixed"), n_outputs=2, weighted=True, network=name, residual=residual,
        n_values=[3, 1, 2], n_rows=80,
    )  # fmt: skip
    cores = make_cores(objective, size=1.0)
    (whole,) = objective.shards
    twice = whole.take(np.repeat(np.arange(80), 2))
    codes, target, weight = merge(twice.codes, twice.target, twice.weight)
    assert len(codes) == 80
    objective = replace(objective, shards=ShardList([twice]))
    merged = replace(objective, shards=build(codes, target, weight, whole.n_codes))
    value, gradient = objective.gradient(objective.at(cores))
    merged_value, merged_gradient = merged.gradient(merged.at(cores))
    assert merged_value == pytest.approx(value, rel=1e-12)
    assert merged_value == pytest.approx(merged.value(merged.at(cores)), rel=1e-12)
    assert_close(merged_gradient, gradient, 1e-11)


@each_network
def test_cores_as_one_vector_of_numbers_come_back_as_they_were(name):
    objective, cores, _ = make(name)
    vector = objective.to_vector(cores)
    assert vector.dtype == np.float64
    assert vector.size == 2 * objective.network.n_parameters(cores)
    assert_close(objective.from_vector(vector), cores, 0.0)


# -- curvature --------------------------------------------------------------------------------


def jacobian(objective, cores):
    """Change of all responses by every entry of all cores, [Re | Im] of both: real."""
    phi, _, _ = dense.rows(objective)
    blocks = []
    for position, core in enumerate(flatten(cores)):
        units = (phi @ dense.tangents(objective, cores, position)).reshape(core.size, -1).T
        change = np.stack([units, 1j * units], axis=-1).reshape(len(units), -1)
        blocks.append(change if np.iscomplexobj(core) else units)
    whole = np.hstack(blocks)
    return np.vstack([whole.real, whole.imag])


def penalty_blocks(objective, cores):
    """Matrix of δ ↦ Σ_cores penalty of w with that core replaced by δ, one block a core."""
    size, root = len(objective.to_vector(cores)), np.sqrt(dense.precisions(objective))
    matrix, first = np.zeros((size, size)), 0
    for position, core in enumerate(flatten(cores)):
        units = (root * dense.tangents(objective, cores, position)).reshape(core.size, -1)
        if np.iscomplexobj(core):
            units = np.stack([units, 1j * units], axis=1).reshape(2 * core.size, -1)
        last = first + len(units)
        matrix[first:last, first:last] = (units.conj() @ units.T).real
        first = last
    return matrix


def matrix_of(objective, cores):
    """The matrix of the curvature, column by column."""
    product = objective.curvature(objective.at(cores))
    size = len(objective.to_vector(cores))
    columns = [objective.to_vector(product(objective.from_vector(e))) for e in np.eye(size)]
    return np.column_stack(columns)


@covered
@each_network
@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("kind", ["squared", "squared real"])
@each_penalty
def test_the_curvature_of_the_squared_loss_is_the_gauss_newton_matrix(
    name, kind, n_outputs, penalty
):
    """2·Jᵀ·ω·J/Σω + 2α·Γ: the responses are linear in every entry, so J is exact."""
    objective, cores, _ = make(
        name, kind, "tiny", weighted=True, n_outputs=n_outputs, penalty=penalty
    )
    _, _, weight = dense.rows(objective)
    seen = np.repeat(weight / weight.sum(), n_outputs)
    seen = np.concatenate([seen, seen if kind == "squared" else 0 * seen])
    change = jacobian(objective, cores)
    expected = 2 * change.T @ (seen[:, None] * change)
    expected += 2 * objective.alpha * penalty_blocks(objective, cores)
    found = matrix_of(objective, cores)
    np.testing.assert_allclose(found, expected, atol=1e-10 * np.abs(expected).max())


@each_network
@pytest.mark.parametrize("kind", ["logistic", "softmax", "squared_hinge", "wide hinge"])
def test_the_curvature_of_any_loss_is_its_hessian_between_the_jacobians(name, kind):
    objective, cores, iterate = make(name, kind, "tiny", weighted=True)
    (shard,) = objective.shards
    response, direction = iterate.responses(shard).real, random_like(cores)
    change = jacobian(objective, cores)[: response.size]  # Re f alone counts
    moved = (change @ objective.to_vector(direction)).reshape(response.shape)
    step = 1e-6
    slopes = [objective.loss.gradient(response + s * moved, shard.target) for s in (step, -step)]
    second = (slopes[0] - slopes[1]) / (2 * step) * (shard.weight / shard.weight.sum())[:, None]
    expected = change.T @ second.ravel()
    expected += (
        2 * objective.alpha * penalty_blocks(objective, cores) @ objective.to_vector(direction)
    )
    found = objective.to_vector(objective.curvature(iterate)(direction))
    np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max())


@covered
@each_pair
@each_weight
def test_the_curvature_is_symmetric_and_nowhere_negative(name, kind, weighted):
    objective, cores, iterate = make(name, kind, weighted=weighted)
    product = objective.curvature(iterate)
    one, two = random_like(cores, 5), random_like(cores, 6)
    image_one, image_two = product(one), product(two)
    scale = np.sqrt(inner(one, image_one) * inner(two, image_two))
    assert inner(one, image_one) > 0  # the penalty sees every direction
    assert inner(one, image_two) == pytest.approx(inner(two, image_one), abs=1e-11 * scale)
    assert abs(inner(one, image_two)) <= scale * (1 + 1e-11)


@each_network
@smooth_losses
def test_the_curvature_is_linear_in_the_direction(name, kind):
    objective, cores, iterate = make(name, kind)
    product = objective.curvature(iterate)
    one, two = random_like(cores, 5), random_like(cores, 6)
    both = unflatten(one, [2 * a - 3 * b for a, b in zip(flatten(one), flatten(two), strict=True)])
    pairs = zip(flatten(product(one)), flatten(product(two)), strict=True)
    assert_close(product(both), unflatten(one, [2 * a - 3 * b for a, b in pairs]), 1e-11)


# -- a CPD does not know the order of its columns ---------------------------------------------


@each_loss
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_cpd_with_permuted_columns_has_the_same_response_objective_and_gradient(kind, n_outputs):
    if kind == "softmax" and n_outputs == 1:
        n_outputs = 2
    maps = [make_map("fourier", 4, 2), make_map("categorical", 3), make_map("power", 4, 2),
            make_map("fourier", 3, None)]  # fmt: skip
    objective = make_objective(
        maps, n_outputs=n_outputs, weighted=True, loss=KINDS[kind], rank=3, alpha=0.1
    )
    cores = make_cores(objective, size=1.0)
    (shard,) = objective.shards
    value, gradient = objective.gradient(objective.at(cores))
    response = objective.at(cores).responses(shard)
    for order in ([3, 1, 0, 2], [2, 3, 1, 0]):
        turned = replace(
            objective,
            columns=[objective.columns[d] for d in order],
            shards=build(
                shard.codes[:, order], shard.target, shard.weight,
                tuple(shard.n_codes[d] for d in order),
            ),
        )  # fmt: skip
        iterate = turned.at([*(cores[d] for d in order), *cores[4:]])
        other_value, other = turned.gradient(iterate)
        assert other_value == pytest.approx(value, rel=1e-12)
        assert turned.value(iterate) == pytest.approx(objective.value(objective.at(cores)))
        assert_close(other, [*(gradient[d] for d in order), *gradient[4:]], 1e-11)
        same_rows = type(shard)(
            np.ascontiguousarray(shard.codes[:, order]), shard.target, shard.weight,
            tuple(shard.n_codes[d] for d in order),
        )  # fmt: skip
        np.testing.assert_allclose(iterate.responses(same_rows), response, atol=1e-12)
