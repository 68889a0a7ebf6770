"""What every registered solver must do."""

import numpy as np
import pytest

from qtkm.networks import flatten
from qtkm.solvers import REGISTRY, Stopping, solve
from tests import dense
from tests.problems import make_cores, make_map, make_objective

PROBLEMS = {
    "fourier": {"maps": [make_map("fourier", 6), make_map("fourier", 4)]},
    "power": {"maps": [make_map("power", 4), make_map("power", 3, None)]},
    "mixed": {"maps": [make_map("fourier", 4), make_map("categorical", 3), make_map("power", 2)]},
    "real part": {"maps": [make_map("fourier", 6)], "residual": "real"},
    "several outputs": {"maps": [make_map("fourier", 6), make_map("power", 3)], "n_outputs": 3},
    "weighted": {"maps": [make_map("fourier", 6), make_map("power", 3)], "weighted": True},
}

each_solver = pytest.mark.parametrize("solver", [cls() for cls in REGISTRY.values()])
each_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


@each_solver
@each_problem
def test_a_solver_lowers_the_objective_and_says_by_how_much(solver, problem):
    objective = make_objective(**problem, alpha=1e-2)
    cores = make_cores(objective)
    solver.check()
    result = solve(solver, objective, cores, Stopping(5, 0.0))
    reached = dense.value(objective, result.cores)
    assert reached < dense.value(objective, cores)
    assert reached < objective.constant
    assert result.history.objective[-1] == pytest.approx(reached, rel=1e-6)
    assert result.n_iter == len(result.history.objective) == len(result.history.seconds) == 5


@each_solver
@each_problem
def test_a_solver_ends_where_no_small_step_is_better(solver, problem):
    objective = make_objective(**problem, alpha=0.1)
    result = solve(solver, objective, make_cores(objective), Stopping(300, 1e-14))
    reached = dense.value(objective, result.cores)
    rng = np.random.default_rng(0)
    for _ in range(10):
        moved = [
            [core + 1e-3 * rng.normal(size=core.shape) for core in entry]
            if isinstance(entry, list)
            else entry + 1e-3 * rng.normal(size=entry.shape)
            for entry in result.cores
        ]
        assert dense.value(objective, moved) >= reached * (1 - 1e-6)


@each_solver
def test_two_runs_from_one_start_give_the_same_bits(solver):
    objective = make_objective(**PROBLEMS["mixed"])
    cores = make_cores(objective)
    one, other = (solve(solver, objective, cores, Stopping(3, 0.0)) for _ in range(2))
    for a, b in zip(flatten(one.cores), flatten(other.cores), strict=True):
        assert a.tobytes() == b.tobytes()
    assert one.history.objective_updates == other.history.objective_updates
