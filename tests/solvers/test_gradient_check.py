"""The public gradient check: quiet about what is right, loud about what is wrong."""

from dataclasses import replace

import numpy as np
import pytest

from qtkm.losses import REGISTRY as LOSSES
from qtkm.losses import Squared
from qtkm.networks import CPD
from qtkm.networks.chain import ChainIterate
from qtkm.solvers import check_gradient
from tests.problems import make_cores, make_map, make_objective

MAPS = [make_map("fourier", 6), make_map("power", 4), make_map("categorical", 3)]
PROBLEMS = {
    "complex": {},
    "real part": {"residual": "real"},
    "real": {"maps": MAPS[1:]},
    "several outputs": {"n_outputs": 3},
    "weighted, not regularized": {"weighted": True, "alpha": 0.0},
    "single precision": {"dtype": np.float32},
}


def make(**parameters):
    return make_objective(**{"maps": MAPS, **parameters})


@pytest.mark.parametrize("parameters", PROBLEMS.values(), ids=PROBLEMS)
def test_right_derivatives_pass(parameters):
    objective = make(**parameters)
    check = check_gradient(objective, make_cores(objective))
    assert check.ok
    assert check.gradient.shape == check.tangent.shape == check.curvature.shape == (5,)
    assert max(check.gradient.max(), check.tangent.max(), check.curvature.max()) < 1e-7
    assert repr(check).startswith("GradientCheck: ok")


@pytest.mark.parametrize("name", [name for name, cls in LOSSES.items() if cls.for_classes])
def test_right_losses_pass(name):
    objective = make(n_outputs=3)
    (shard,) = objective.shards
    is_class = shard.target == shard.target.max(axis=1, keepdims=True)
    signs = shard.reweighted(None, np.where(is_class, 1.0, -1.0))
    objective = replace(objective, loss=LOSSES[name](), shards=[signs])
    assert check_gradient(objective, make_cores(objective)).ok


class WrongSlope(Squared):
    def gradient(self, response, target):
        return 1.01 * super().gradient(response, target)


class WrongCurvature(Squared):
    def curvature_product(self, response, target, direction):
        return 0.99 * super().curvature_product(response, target, direction)


class NoCurvature(Squared):
    def curvature_product(self, response, target, direction):
        raise NotImplementedError


class WrongIterate(ChainIterate):
    """Forgets that the gradient of a complex number is conjugate to its slope.

    A product with the Gauss-Newton matrix and the change of the gradient are wrong alike.
    """

    def gradient(self, sums):
        return [[core.conj() for core in entry] for entry in super().gradient(sums)]


class WrongNetwork(CPD):
    def iterate(self, *parts):
        return WrongIterate(self, *parts)


class WrongPenalty(CPD):
    def iterate(self, *parts):
        iterate = ChainIterate(self, *parts)
        iterate.penalty_gradient = lambda: iterate.penalty_product(
            [[2 * core for core in entry] for entry in iterate.cores]
        )
        return iterate


@pytest.mark.parametrize(
    ("parts", "wrong"),
    [
        ({"loss": WrongSlope()}, {"gradient", "curvature"}),
        ({"loss": WrongCurvature()}, {"curvature"}),
        ({"network": WrongNetwork(2)}, {"gradient"}),
        ({"network": WrongPenalty(2), "alpha": 0.1}, {"gradient", "curvature"}),
    ],
)
def test_wrong_derivatives_are_found(parts, wrong):
    objective = replace(make(), **parts)
    check = check_gradient(objective, make_cores(objective))
    assert not check.ok
    assert "not ok" in repr(check)
    for name in ("gradient", "tangent", "curvature"):
        assert (getattr(check, name).max() > 1e-4) == (name in wrong)


def test_a_wrong_tangent_is_found():
    class Network(CPD):
        def iterate(self, *parts):
            iterate = ChainIterate(self, *parts)
            right = iterate.tangent
            iterate.tangent = lambda d: right([[0 * core for core in d[0]], *d[1:]])
            return iterate

    check = check_gradient(replace(make(), network=Network(2)), make_cores(make()))
    assert not check.ok
    assert check.gradient.max() < 1e-7 < check.tangent.min()


def test_a_loss_without_curvature_is_checked_for_the_rest():
    objective = replace(make(), loss=NoCurvature())
    check = check_gradient(objective, make_cores(objective))
    assert check.ok
    assert check.curvature is None
    assert "curvature not implemented" in repr(check)


def test_directions_follow_from_the_seed():
    objective = make()
    cores = make_cores(objective)
    one, same, other = (
        check_gradient(objective, cores, n_directions=2, random_state=seed) for seed in (0, 0, 1)
    )
    assert len(one.gradient) == 2
    np.testing.assert_array_equal(one.gradient, same.gradient)
    assert (one.gradient != other.gradient).any()


def test_a_minimum_is_no_reason_for_doubt():
    objective = make_objective([make_map("power", 3, None)], rank=1, alpha=0.1)
    iterate = objective.at(make_cores(objective))
    objective.update(iterate, 0, "statistics")
    assert check_gradient(objective, iterate.snapshot()).ok
