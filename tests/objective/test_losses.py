"""Updates of blocks under every loss: none raises the objective."""

from dataclasses import replace

import numpy as np
import pytest

from qtkm.losses import REGISTRY as LOSSES
from qtkm.losses import Hinge, Poisson, Squared
from qtkm.networks import REGISTRY, flatten, unflatten
from tests import dense
from tests.covering import covered, crossed
from tests.problems import make_cores, make_maps, make_objective

VARIANTS = {
    "squared": {"squared": Squared("complex"), "squared real": Squared("real")},
    "hinge": {"hinge": Hinge(), "exact hinge": Hinge(0.0)},
    **{
        name: {name: LOSSES[name](), f"{name} complex": LOSSES[name]("complex")}
        for name in ("logistic", "softmax", "squared_hinge")
    },
}
KINDS = {
    key: loss
    for name, cls in LOSSES.items()
    for key, loss in VARIANTS.get(name, {name: cls()}).items()
}
CURVED = [kind for kind, loss in KINDS.items() if not loss.is_quadratic]

#: levels, categories and powers on few sites, so that no core is large in any network
SMALL = [("fourier", 4, 2), ("categorical", 3, None), ("power", 2, None)]

each_network = pytest.mark.parametrize("name", REGISTRY)
each_chain = pytest.mark.parametrize("name", ["train", "ring"])
SOME = ["cpd", "tucker"], ["squared real", "logistic complex", "poisson"]
each_pair = pytest.mark.parametrize(("name", "kind"), crossed(REGISTRY, KINDS, *SOME))
each_curved = pytest.mark.parametrize(("name", "kind"), crossed(REGISTRY, CURVED, *SOME))
each_residual = pytest.mark.parametrize("kind", ["squared", "squared real"])
each_output = pytest.mark.parametrize("n_outputs", [1, 3])


def make(name, kind, n_outputs=1, model=SMALL, seed=0, size=1.0, **parameters):
    if kind.startswith("softmax"):
        n_outputs = max(2, n_outputs)
    objective = make_objective(
        make_maps(model), network=name, loss=KINDS[kind], n_outputs=n_outputs, seed=seed,
        **parameters,
    )  # fmt: skip
    return objective, make_cores(objective, seed=10 + seed, size=size)


def relative_error(a, b):
    return np.abs(np.subtract(a, b)).max() / np.abs(b).max()


def updates(objective, iterate, epochs=2, sweeps=1):
    """Update all blocks in turn; (before, values, after) of each."""
    for _ in range(epochs):
        for block in objective.blocks:
            before = objective.value(iterate)
            values = objective.update(iterate, block, sweeps)
            yield before, values, objective.value(iterate)


# -- monotone ---------------------------------------------------------------------------------


@covered
@each_curved
@pytest.mark.parametrize(
    ("seed", "n_outputs", "weighted", "alpha"), [(0, 1, False, 1e-3), (1, 3, True, 1e-2)]
)
def test_no_update_raises_the_objective(name, kind, seed, n_outputs, weighted, alpha):
    objective, cores = make(
        name, kind, n_outputs, seed=seed, weighted=weighted, alpha=alpha, n_rows=40
    )
    iterate = objective.at(cores)
    first = objective.value(iterate)
    for before, values, after in updates(objective, iterate):
        assert after <= before
        assert values[-1] == pytest.approx(after, rel=1e-12)
    assert after < 0.9 * first
    assert after == pytest.approx(dense.value(objective, iterate.cores), rel=1e-9)


@covered
@each_network
@each_residual
@pytest.mark.parametrize(
    ("seed", "n_outputs", "weighted", "alpha"),
    [(0, 1, False, 1e-2), (1, 3, True, 1e-3), (2, 1, True, 0.0), (3, 2, False, 0.0)],
)
def test_no_core_raises_a_squared_objective_and_its_value_is_what_is_said(
    name, kind, seed, n_outputs, weighted, alpha
):
    objective, cores = make(
        name, kind, n_outputs, seed=seed, weighted=weighted, alpha=alpha, n_rows=200
    )
    iterate = objective.at(cores)
    tol = 1e-10 if alpha else 1e-7  # weights that nothing holds back grow, and cancel
    for before, values, after in updates(objective, iterate):
        assert (np.diff([before, *values]) <= tol * before).all()
        assert values[-1] == pytest.approx(after, rel=10 * tol)
    assert after == pytest.approx(dense.value(objective, iterate.cores), rel=10 * tol)


@covered
@each_network
@pytest.mark.parametrize("kind", ["logistic", "exact hinge", "poisson", "gamma", "tweedie"])
@pytest.mark.parametrize("size", [1e-3, 30.0])
def test_no_update_raises_the_objective_from_far_away(name, kind, size):
    objective, cores = make(name, kind, n_rows=40, size=size, alpha=1e-4)
    iterate = objective.at(cores)
    for before, _, after in updates(objective, iterate, epochs=1):
        assert after <= before


class Hasty(Poisson):
    """Poisson loss with a curvature that is far too small, so that first steps go too far."""

    def curvature(self, response, target):
        return 0.02 * super().curvature(response, target)


def test_steps_that_go_too_far_are_damped_until_the_objective_falls():
    maps = make_maps("mixed")
    objective = make_objective(maps, loss=Hasty("real"), n_rows=100, alpha=1e-3)
    iterate = objective.at(make_cores(objective, size=0.1))
    first = objective.value(iterate)
    for before, _, after in updates(objective, iterate):
        assert after < before
    assert after < 0.9 * first


@each_pair
def test_several_sweeps_over_a_block_raise_nothing_and_reach_no_less(name, kind):
    objective, cores = make(name, kind, 2, weighted=True, n_rows=40)
    for block in objective.blocks:
        ends = []
        for sweeps in (1, 3):
            iterate = objective.at(cores)
            before = objective.value(iterate)
            values = objective.update(iterate, block, sweeps)
            assert (np.diff([before, *values]) <= 1e-10 * before).all()
            assert values[-1] == pytest.approx(objective.value(iterate), rel=1e-9)
            ends.append(values[-1])
        if objective.loss.is_quadratic:
            assert ends[1] <= ends[0] * (1 + 1e-10)


@each_network
def test_rows_that_are_few_and_no_regularization_raise_nothing(name):
    objective, cores = make(name, "squared", n_rows=7, n_values=[7, 1, 7], alpha=0.0)
    iterate = objective.at(cores)
    rounding = 1e-9 * objective.constant
    for before, values, after in updates(objective, iterate):
        assert (np.diff([before, *values]) <= rounding).all()
        assert values[-1] == pytest.approx(after, abs=rounding)


# -- trains and rings --------------------------------------------------------------------------


@each_output
def test_single_precision_comes_close(n_outputs):
    parameters = {"rank": 3, "alpha": 0.1, "size": None, "n_rows": 200}
    double, cores = make("train", "squared", n_outputs, **parameters)
    single, _ = make("train", "squared", n_outputs, **parameters, dtype=np.float32)
    for block in (0, 1):
        values = double.update(double.at(cores), block)
        found = single.update(single.at(cores), block)
        assert found == pytest.approx(values, rel=1e-4)
        assert found != values


@each_chain
@each_residual
def test_categories_may_be_solved_some_at_a_time(name, kind, monkeypatch):
    objective, cores = make(name, kind, 2, weighted=True, size=None)
    whole, parts = objective.at(cores), objective.at(cores)
    values = objective.update(whole, 1)
    monkeypatch.setattr("qtkm.networks.problem.CHUNK", 2)
    assert objective.update(parts, 1) == pytest.approx(values, rel=1e-12)
    a, b = (dense.tensor(objective, iterate.cores) for iterate in (whole, parts))
    assert relative_error(a, b) < 1e-12


@each_chain
def test_a_category_without_rows_gets_no_weight(name):
    objective, cores = make(name, "squared", alpha=0.1)
    (shard,) = objective.shards
    rows = np.flatnonzero(shard.codes[:, 1] != 2)
    objective = replace(objective, shards=[shard.take(rows)])
    iterate = objective.at(cores)
    objective.update(iterate, 1)
    found = dense.tensor(objective, iterate.cores).reshape(4, 3, 2)
    np.testing.assert_allclose(found[:, 2], 0, atol=1e-14)
    assert np.abs(found[:, :2]).max() > 1e-3


@each_chain
@each_residual
def test_cores_of_zeros_leave_finite_numbers(name, kind):
    objective, cores = make(name, kind, 2)
    zero = unflatten(cores, [0 * core if i == 2 else core for i, core in enumerate(flatten(cores))])
    iterate = objective.at(zero)
    for before, values, after in updates(objective, iterate, epochs=1):
        assert after <= before * (1 + 1e-12)
        assert values[-1] == pytest.approx(after, rel=1e-10)
    assert all(np.isfinite(core).all() for core in flatten(iterate.cores))
