"""The model of full rank minimises over all weights, and is a CPD of one term per row."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

from qtkm.engines import Threads
from qtkm.engines.remote import serial
from qtkm.networks import CPD, Additive
from qtkm.objective import sections as sections_of_rows
from qtkm.objective.sections import FullPrior, Part, Sections, factorize, solve
from qtkm.penalties import Matern
from tests import dense
from tests.problems import make_map, make_objective

PRIOR = Matern(nu=1.5, length_scale=0.4, share=0.7)
SIZE = 0.3


def make(loss="squared", n_outputs=1):
    """An objective of three kinds of columns, each with one level."""
    maps = [make_map("fourier", 5, None), make_map("power", 4, None), make_map("categorical", 3)]
    return make_objective(
        maps, n_rows=40, n_outputs=n_outputs, weighted=True, residual="real", loss=loss,
        penalty=PRIOR,
    )  # fmt: skip


def make_prior(objective, has_main=True):
    """A prior with main effects of any size, categories alike, and the product's variance 2."""
    rng = np.random.default_rng(1)
    main, means = [], []
    for column in objective.columns:
        own = rng.uniform(0.1, 1, size=column.n_main)
        main.append(has_main * (np.full_like(own, 0.5) if column.is_categorical else own))
        means.append(0.0 if column.is_categorical else rng.standard_normal(column.n_main))
        means[-1] = np.zeros(column.n_main) + means[-1]
    return FullPrior(objective.precisions, 2.0, main, means, has_main * 0.7)


def full_rank(objective, centres=slice(None), has_main=True):
    """Sections at the rows, and the best coefficients."""
    shard = objective.shards[0]
    prior = make_prior(objective, has_main)
    sections = Sections(objective.columns, prior, shard.codes[centres], serial)
    part = Part.of(sections, shard)
    factor = factorize([part], SIZE, objective.loss, serial)
    return sections, part, solve(factor, [part], SIZE, objective.loss)


def make_kernel(objective, prior):
    """The kernel of the rows from all their functions."""
    phi = dense.rows(objective)[0] / np.sqrt(dense.precisions(objective).reshape(-1))
    kernel = prior.product * (phi @ phi.conj().T).real + prior.constant
    for d, column in enumerate(objective.columns):
        own = column.main_features[objective.shards[0].codes[:, d]] - prior.means[d]
        kernel = kernel + (own * prior.main[d]) @ own.T
    return kernel


@pytest.mark.parametrize("has_main", [True, False])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_it_is_ridge_regression_on_all_functions(n_outputs, has_main):
    objective = make(n_outputs=n_outputs)
    sections, part, found = full_rank(objective, has_main=has_main)
    _, target, weight = dense.rows(objective)
    kernel = make_kernel(objective, sections.prior)
    ridge = kernel @ np.linalg.solve(kernel + SIZE * np.diag(1 / weight), target)
    np.testing.assert_allclose(part.design @ found, ridge, atol=1e-6)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_its_cores_are_those_of_a_cpd_with_the_same_responses(n_outputs):
    objective = make(n_outputs=n_outputs)
    sections, part, found = full_rank(objective, slice(0, 25))
    network = Additive(CPD(25), [column.n_main for column in objective.columns])
    iterate = objective.with_parts(network).at(sections.cores(found))
    response = iterate.responses(objective.shards[0])
    np.testing.assert_allclose(response, part.design @ found, atol=1e-7)


def test_rows_that_are_centres_are_known_already_those_left_out_too():
    objective = make()
    shard = objective.shards[0]
    twice = np.concatenate([shard.codes, shard.codes[:10]])
    sections, _, _ = full_rank(objective)
    sections = Sections(objective.columns, sections.prior, twice, serial)
    assert len(sections.centres) < len(twice)
    np.testing.assert_allclose(sections.own_design, sections.design(twice), atol=1e-5)
    known = Part.of(sections, shard, np.arange(len(shard)))
    assert known.gram == pytest.approx(Part.of(sections, shard).gram, abs=1e-4)


def test_many_centres_are_worked_on_in_blocks_side_by_side(monkeypatch):
    objective = make()
    expected, part, found = full_rank(objective)
    monkeypatch.setattr(sections_of_rows, "BLOCK", 7)
    assert len(expected.centres) % 7 > 0
    engine = Threads(3)
    own = Sections(objective.columns, expected.prior, objective.shards[0].codes, engine.run)
    rows = Part.of(own, objective.shards[0])
    np.testing.assert_allclose(rows.gram, part.gram, rtol=1e-5, atol=1e-6)
    factor = factorize([rows], SIZE, objective.loss, engine.run)
    again = solve(factor, [rows], SIZE, objective.loss)
    np.testing.assert_allclose(rows.design @ again, part.design @ found, rtol=1e-8, atol=1e-9)
    engine.close()


def test_an_offset_is_what_the_targets_have_beyond_the_responses():
    objective = make(n_outputs=2)
    _, part, _ = full_rank(objective)
    factor, loss = factorize([part], SIZE, objective.loss, serial), objective.loss
    offset = np.sin(np.arange(part.target.size)).reshape(part.target.shape)
    found = solve(factor, [part], SIZE, loss, [offset])
    rest = solve(factor, [replace(part, target=part.target - offset)], SIZE, loss)
    np.testing.assert_allclose(found, rest, atol=1e-10)


def test_a_loss_with_a_bound_comes_to_its_minimum():
    objective = make("logistic")
    _, part, found = full_rank(objective)
    loss = objective.loss

    def value(coefficients):
        response = part.design @ coefficients[:, None]
        penalty = SIZE * np.sum(coefficients**2)
        return part.weight @ loss.value(response, part.target) + penalty

    best = minimize(value, found[:, 0]).fun
    assert value(found[:, 0]) == pytest.approx(best, rel=1e-4)
