"""The model of full rank minimises over all weights, and is a CPD of one term per row."""

import numpy as np
import pytest
from scipy.optimize import minimize

from qtkm.networks import CPD
from qtkm.objective.sections import Part, Sections, solve
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


def full_rank(objective, centres=slice(None)):
    """Sections at the rows, and cores of the best weights."""
    shard = objective.shards[0]
    sections = Sections(objective.columns, objective.precisions, shard.codes[centres])
    part = Part.of(sections, [shard])
    base = np.zeros_like(part.target)
    found = solve([part], [base], SIZE, objective.loss)
    return sections, part, found


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_it_is_ridge_regression_on_all_products_of_functions(n_outputs):
    objective = make(n_outputs=n_outputs)
    _, part, found = full_rank(objective)
    phi, target, weight = dense.rows(objective)
    root = phi / np.sqrt(dense.precisions(objective).reshape(-1))
    root = np.concatenate([root.real, root.imag], axis=1)
    gram = root @ root.T
    ridge = gram @ np.linalg.solve(gram + SIZE * np.diag(1 / weight), target)
    np.testing.assert_allclose(part.design @ found, ridge, atol=1e-6)


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_its_cores_are_those_of_a_cpd_with_the_same_responses(n_outputs):
    objective = make(n_outputs=n_outputs)
    sections, part, found = full_rank(objective, slice(0, 25))
    cores = sections.cores(found)
    iterate = objective.with_parts(CPD(25)).at(cores)
    response = iterate.responses(objective.shards[0])
    np.testing.assert_allclose(response, part.design @ found, atol=1e-7)


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
