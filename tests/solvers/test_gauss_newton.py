"""Gauss-Newton: exact on a quadratic, damped elsewhere."""

import numpy as np
import pytest

from qtkm.networks import flatten, unflatten
from qtkm.solvers import GaussNewton, Stopping, solve
from qtkm.solvers.gauss_newton import Directions
from tests import dense
from tests.problems import make_cores, make_map, make_objective

MAPS = [make_map("fourier", 6), make_map("power", 3)]


@pytest.fixture
def system():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(12, 12))
    return root @ root.T + np.eye(12), rng.normal(size=12)


@pytest.mark.parametrize("damping", [1e-12, 0.3, 100.0])
def test_the_step_solves_the_damped_system(system, damping):
    matrix, gradient = system
    directions = Directions(lambda v: matrix @ v, gradient)
    directions.extend(damping, 12, 1e-14)
    change, promise = directions.minimum(damping)
    expected = np.linalg.solve(matrix + damping * np.eye(12), -gradient)
    np.testing.assert_allclose(change, expected, rtol=1e-9)
    assert promise == pytest.approx(-gradient @ change - 0.5 * change @ matrix @ change)


def test_more_damping_costs_no_more_products(system):
    matrix, gradient = system
    products = []

    def multiply(vector):
        products.append(vector)
        return matrix @ vector

    directions = Directions(multiply, gradient)
    directions.extend(0.01, 6, 1e-14)
    lengths = [np.linalg.norm(directions.minimum(damping)[0]) for damping in (0.01, 1, 100)]
    assert len(products) == 6
    assert lengths == sorted(lengths, reverse=True)


def test_a_loose_tolerance_ends_the_iterations_early(system):
    matrix, gradient = system
    directions = Directions(lambda v: matrix @ v, gradient)
    directions.extend(1.0, 12, 0.5)
    change, _ = directions.minimum(1.0)
    assert len(directions.matrix) < 12
    residual = np.linalg.norm((matrix + np.eye(12)) @ change + gradient)
    assert residual <= 0.5 * np.linalg.norm(gradient)


def test_one_step_solves_a_linear_model():
    """One column of one level is linear in its core, so the model of a step is exact."""
    objective = make_objective([make_map("fourier", 5, None)], rank=1, n_values=[30])
    cores = make_cores(objective)
    result = solve(GaussNewton(100, 1e-12, 1e-12), objective, cores, Stopping(1, 0.0))
    _, minimum = dense.best_core(objective, cores, 0, 0)
    assert result.history.objective[-1] == pytest.approx(minimum, rel=1e-8)


def test_the_damping_is_recorded_and_raised_where_it_is_too_small():
    objective = make_objective(MAPS, alpha=1e-3)
    solver = GaussNewton(damping=1e-9)
    history = solve(solver, objective, make_cores(objective), Stopping(10, 0.0)).history
    damping = history.records["damping"]
    assert len(damping) == len(history.records["products"]) == 10
    assert max(damping) > 100 * damping[0] or damping[0] > 1e-9
    assert (np.diff(history.objective) < 0).all()


def test_at_a_minimum_it_says_that_no_step_is_better():
    objective = make_objective(MAPS, alpha=1e-2)
    result = solve(GaussNewton(), objective, make_cores(objective), Stopping(200, 0.0))
    assert result.status == "converged"
    assert "No step lowers the objective" in result.message


def test_a_start_of_zeros_is_a_point_without_a_step():
    objective = make_objective(MAPS)
    zero = unflatten(make_cores(objective), [0 * core for core in flatten(make_cores(objective))])
    result = solve(GaussNewton(), objective, zero, Stopping(9, 0.0))
    assert (result.status, result.n_iter) == ("converged", 1)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("cg_iterations", 0, "cg_iterations=0 must be an integer >= 1; 20 to 50 is usual"),
        ("cg_tol", 1, "cg_tol=1 must be a number > 0 and < 1; 0.1 is usual"),
        ("cg_tol", "small", "cg_tol='small' must be"),
        ("damping", 0.0, "damping=0.0 must be a finite number > 0; 0.01 is usual"),
        ("damping", np.nan, "damping=nan must be"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(name, value, message):
    with pytest.raises(ValueError, match=message):
        GaussNewton(**{name: value}).check()
