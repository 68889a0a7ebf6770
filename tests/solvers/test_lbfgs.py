"""L-BFGS: SciPy's loop inside of ours."""

import numpy as np
import pytest

from qtkm.networks import flatten, unflatten
from qtkm.solvers import LBFGS, Stopping, solve
from tests.problems import make_cores, make_map, make_objective

MAPS = [make_map("fourier", 6), make_map("power", 3)]


@pytest.mark.parametrize("iterations", [1, 4])
def test_an_epoch_is_so_many_iterations(iterations):
    objective = make_objective(MAPS)
    solver = LBFGS(iterations=iterations)
    history = solve(solver, objective, make_cores(objective), Stopping(3, 0.0)).history
    assert len(history.objective_updates) == 3 * iterations
    assert history.objective == history.objective_updates[iterations - 1 :: iterations]


def test_the_memory_is_kept_from_epoch_to_epoch():
    objective = make_objective(MAPS)
    cores = make_cores(objective)
    many = solve(LBFGS(iterations=2), objective, cores, Stopping(10, 0.0)).history
    one = solve(LBFGS(iterations=20), objective, cores, Stopping(1, 0.0)).history
    assert many.objective_updates == one.objective_updates


def test_where_nothing_is_left_to_gain_it_has_converged():
    objective = make_objective(MAPS, alpha=1e-2)
    start = unflatten(
        make_cores(objective), [0.4 * core for core in flatten(make_cores(objective))]
    )
    result = solve(LBFGS(iterations=100), objective, start, Stopping(9, 0.0))
    assert result.status in ("converged", "stopped early")
    assert "a minimum up to rounding" in result.message
    assert "check_gradient" in result.message
    assert 1 <= result.n_iter < 9
    assert result.history.objective[-1] == result.history.objective_updates[-1]


def test_a_gradient_of_zero_is_called_so():
    objective = make_objective(MAPS)
    zero = unflatten(make_cores(objective), [0 * core for core in flatten(make_cores(objective))])
    result = solve(LBFGS(), objective, zero, Stopping(9, 0.0))
    assert (result.status, result.n_iter) == ("converged", 1)
    assert "gradient is zero" in result.message


def test_a_wrong_gradient_ends_the_fit_and_names_the_check():
    class Wrong:
        def __init__(self, objective):
            self.objective = objective

        def __getattr__(self, name):
            return getattr(self.objective, name)

        def gradient(self, iterate):
            value, gradient = self.objective.gradient(iterate)
            return value, unflatten(gradient, [-part for part in flatten(gradient)])

    objective = make_objective(MAPS)
    cores = make_cores(objective)
    result = solve(LBFGS(), Wrong(objective), cores, Stopping(9, 0.0))
    assert result.status in ("converged", "stopped early")
    assert "check_gradient" in result.message
    assert objective.value(objective.at(result.cores)) == pytest.approx(
        result.history.objective[-1]
    )


def test_a_step_into_an_overflow_is_taken_back():
    class Cliff:
        """An objective that is infinite far from the start."""

        def __init__(self, objective, start):
            self.objective, self.start, self.fell = objective, objective.to_vector(start), False

        def __getattr__(self, name):
            return getattr(self.objective, name)

        def gradient(self, iterate):
            value, gradient = self.objective.gradient(iterate)
            far = np.linalg.norm(self.to_vector(iterate.cores) - self.start) > 0.5
            self.fell |= far
            return (np.inf if far else value), gradient

    objective = make_objective(MAPS)
    cores = make_cores(objective)
    cliff = Cliff(objective, cores)
    result = solve(LBFGS(), cliff, cores, Stopping(3, 0.0))
    assert cliff.fell
    assert result.status in ("max_iter", "converged", "stopped early")
    assert np.isfinite(result.history.objective_updates).all()
    assert result.history.objective[-1] < objective.value(objective.at(cores))


@pytest.mark.parametrize("name", ["memory", "iterations"])
@pytest.mark.parametrize("value", [0, 2.0, "ten", True])
def test_parameters_that_make_no_sense_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r} must be an integer >= 1"):
        LBFGS(**{name: value}).check()
