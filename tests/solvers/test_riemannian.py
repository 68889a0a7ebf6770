"""Trains of fixed ranks as a manifold: tangent vectors, retraction, transport, descent."""

import numpy as np
import pytest

from qtkm.networks import TensorTrain, flatten, unflatten
from qtkm.networks.train.gauge import TrainFrame, tangent_train
from qtkm.penalties import Matern, Ridge
from qtkm.solvers import Riemannian, Stopping, solve
from tests.problems import make_cores, make_map, make_objective

MAPS = [make_map("fourier", 8), make_map("power", 4), make_map("categorical", 3)]
each_output = pytest.mark.parametrize("n_outputs", [1, 3])


def make(n_outputs=1, **parameters):
    objective = make_objective(
        MAPS, network=TensorTrain(2), n_outputs=n_outputs, alpha=0.01, **parameters
    )
    return objective, make_cores(objective)


def draw(objective, frame, seed):
    """A random tangent vector."""
    rng = np.random.default_rng(seed)
    size = objective.to_vector(frame.cores).size
    deltas = objective.from_vector(rng.normal(size=size))
    return unflatten(frame.cores, frame.project(flatten(deltas)))


def whole(objective, sites):
    """Dense weights of a train."""
    radices = [column.radices for column in objective.columns]
    cores = unflatten(objective.shapes, sites)
    return objective.network.dense(cores, radices)


@each_output
def test_coordinates_have_the_inner_products_of_the_weights(n_outputs):
    objective, cores = make(n_outputs)
    frame = TrainFrame(objective.at(cores))
    a, b = (draw(objective, frame, seed) for seed in (1, 2))
    x, y = (whole(objective, tangent_train(frame.left, frame.right, flatten(z))) for z in (a, b))
    expected = objective.to_vector(a) @ objective.to_vector(b)
    assert np.vdot(x, y).real == pytest.approx(expected, rel=1e-10)


@each_output
def test_the_frame_leaves_the_train_as_it_is(n_outputs):
    objective, cores = make(n_outputs)
    before = whole(objective, flatten(cores))
    frame = TrainFrame(objective.at(cores))
    np.testing.assert_allclose(whole(objective, frame.left), before, atol=1e-10)
    np.testing.assert_allclose(whole(objective, frame.right), before, atol=1e-10)


@each_output
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_the_gradient_is_the_slope_along_retractions(n_outputs, loss):
    objective, cores = make(n_outputs, loss=loss)
    iterate = objective.at(cores)
    frame = TrainFrame(iterate)
    _, gradient = objective.gradient(frame)
    direction = draw(objective, frame, 3)
    h = 1e-6
    ahead, behind = (
        objective.value(objective.at(unflatten(cores, frame.retract(direction, t))))
        for t in (h, -h)
    )
    expected = (ahead - behind) / (2 * h)
    slope = objective.to_vector(gradient) @ objective.to_vector(direction)
    assert slope == pytest.approx(expected, rel=1e-5)


@each_output
def test_a_change_of_the_responses_is_that_along_retractions(n_outputs):
    objective, cores = make(n_outputs)
    frame = TrainFrame(objective.at(cores))
    direction = draw(objective, frame, 4)
    (shard,) = objective.shards
    h = 1e-6
    ahead, behind = (
        objective.at(unflatten(cores, frame.retract(direction, t))).responses(shard)
        for t in (h, -h)
    )
    change = frame.tangent(direction)(shard, run=objective.engine.run)
    np.testing.assert_allclose(change, (ahead - behind) / (2 * h), atol=1e-5)


def test_transport_to_the_same_frame_changes_nothing_and_shrinks_elsewhere():
    objective, cores = make()
    frame = TrainFrame(objective.at(cores))
    direction = draw(objective, frame, 5)
    same = objective.to_vector(frame.transport(frame.left, frame.right, direction))
    np.testing.assert_allclose(same, objective.to_vector(direction), atol=1e-10)
    other = TrainFrame(objective.at(make_cores(objective, seed=9)))
    moved = objective.to_vector(other.transport(frame.left, frame.right, direction))
    assert np.linalg.norm(moved) < np.linalg.norm(objective.to_vector(direction))


def test_a_retraction_keeps_the_ranks():
    objective, cores = make()
    frame = TrainFrame(objective.at(cores))
    sites = frame.retract(draw(objective, frame, 6), 0.3)
    assert [site.shape for site in sites] == [core.shape for core in flatten(cores)]
    assert all(site.any() for site in sites)


@pytest.mark.parametrize(
    ("loss", "n_outputs"),
    [("squared", 1), ("squared", 3), ("logistic", 3), ("squared_hinge", 1)],
)
def test_the_objective_never_rises_and_the_gradient_vanishes(n_outputs, loss):
    objective, cores = make(n_outputs, loss=loss)
    result = solve(Riemannian(), objective, cores, Stopping(30, 1e-12))
    assert np.all(np.diff(result.history.objective_updates) <= 0)
    norms = result.history.records["gradient_norm"]
    assert min(norms) < 0.05 * norms[0]


def test_a_penalty_that_weighs_functions_apart_is_refused():
    objective, cores = make(penalty=[Ridge(), Matern(0.5), Ridge()])
    message = r"Riemannian\(\) only supports .* 'column 1' has Matern.*; use Ridge\(\), or"
    with pytest.raises(ValueError, match=message):
        solve(Riemannian(), objective, cores, Stopping(2, 0.0))


def test_ridge_is_the_norm_of_the_weights():
    objective, cores = make(penalty=Ridge())
    plain, _ = make()
    found, expected = (
        solve(Riemannian(), some, cores, Stopping(3, 0.0)).history.objective_updates
        for some in (objective, plain)
    )
    assert found == expected


def test_iterations_must_be_a_number():
    with pytest.raises(ValueError, match="iterations=0 must be an integer >= 1"):
        Riemannian(0).check()
