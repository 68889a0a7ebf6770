"""What every registered solver must do."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from qtkm.losses import REGISTRY as LOSSES
from qtkm.networks import Network, flatten, unflatten
from qtkm.solvers import REGISTRY, Solver, Stopping, solve
from tests import dense
from tests.problems import make_cores, make_map, make_objective

PROBLEMS = {
    "fourier": {"maps": [make_map("fourier", 6), make_map("fourier", 4)]},
    "power": {"maps": [make_map("power", 4), make_map("power", 3, None)]},
    "mixed": {
        "maps": [make_map("fourier", 4), make_map("categorical", 3), make_map("power", 2)],
        "weighted": True,
    },
    "real part": {"maps": [make_map("fourier", 6)], "residual": "real"},
    "several outputs": {"maps": [make_map("fourier", 6), make_map("power", 3)], "n_outputs": 3},
}
# Solvers that sweep a train of cores need one; the others take any network.
SOLVERS = {name: cls() for name, cls in REGISTRY.items() if Network in cls.fits}
EXACT = {name: solver for name, solver in SOLVERS.items() if solver.is_monotone}

each_solver = pytest.mark.parametrize("solver", SOLVERS.values(), ids=SOLVERS)
each_monotone = pytest.mark.parametrize("solver", EXACT.values(), ids=EXACT)
each_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS)


def value(objective, cores):
    return objective.value(objective.at(cores))


def make_start(objective):
    """Gaussian cores of a size that makes responses about as large as targets."""
    cores = make_cores(objective)
    return unflatten(cores, [0.4 * core for core in flatten(cores)])


def slope(objective, cores):
    """Norm of the gradient, times that of the cores: the gain a relative step promises."""
    gradient = objective.to_vector(objective.gradient(objective.at(cores))[1])
    return np.linalg.norm(gradient) * np.linalg.norm(objective.to_vector(cores))


def classify(objective, name):
    """The same rows with a loss for classes, and signs as targets."""
    shards = []
    for shard in objective.shards:
        largest = shard.target == shard.target.max(axis=1, keepdims=True)
        if shard.target.shape[1] == 1:
            largest = shard.target > 0
        shards.append(shard.reweighted(shard.weight, np.where(largest, 1.0, -1.0)))
    return replace(objective, loss=LOSSES[name](), shards=shards)


@each_solver
@each_problem
def test_a_solver_lowers_the_objective_and_says_by_how_much(solver, problem):
    objective = make_objective(**problem, alpha=1e-2)
    cores, n_epochs = make_cores(objective), 5 if solver.is_monotone else 20
    solver.check()
    result = solve(solver, objective, cores, Stopping(n_epochs, 0.0))
    history, reached = result.history, dense.value(objective, result.cores)
    assert reached < dense.value(objective, cores)
    assert reached < objective.constant
    told = history.objective[-1] if solver.is_monotone else min(history.objective)
    assert told == pytest.approx(reached, rel=1e-6)
    assert result.n_iter == len(history.objective) == len(history.seconds)
    assert result.n_iter == n_epochs or result.status == "converged"
    assert all(len(values) == result.n_iter for values in history.records.values())


@each_monotone
@each_problem
def test_a_solver_ends_where_no_small_step_is_better(solver, problem):
    objective = make_objective(**problem, alpha=1e-2)
    result = solve(solver, objective, make_start(objective), Stopping(60, 1e-12))
    reached = dense.value(objective, result.cores)
    rng = np.random.default_rng(0)
    for _ in range(10):
        moved = unflatten(
            result.cores,
            [core + 1e-3 * rng.normal(size=core.shape) for core in flatten(result.cores)],
        )
        assert dense.value(objective, moved) >= reached * (1 - 1e-6)


@pytest.mark.parametrize("name", ["lbfgs", "gauss_newton"])
@each_problem
def test_second_order_solvers_end_where_the_gradient_vanishes(name, problem):
    objective = make_objective(**problem, alpha=1e-3)
    result = solve(REGISTRY[name](), objective, make_start(objective), Stopping(60, 0.0))
    assert slope(objective, result.cores) < 1e-4 * result.history.objective[-1]


@each_problem
def test_adam_comes_close_to_where_the_gradient_vanishes(problem):
    objective = make_objective(**problem, alpha=0.1)
    cores = make_cores(objective)
    result = solve(REGISTRY["adam"](), objective, cores, Stopping(100, 0.0))
    assert slope(objective, result.cores) < 0.05 * slope(objective, cores)


@each_monotone
@each_problem
def test_a_monotone_solver_never_raises_the_objective(solver, problem):
    objective = make_objective(**problem, alpha=1e-3)
    cores = make_cores(objective)
    history = solve(solver, objective, cores, Stopping(8, 0.0)).history
    rounding = 1e-10 * objective.constant
    values = [value(objective, cores), *history.objective_updates]
    assert all(later <= earlier + rounding for earlier, later in pairwise(values))


@each_solver
def test_going_on_from_the_cores_of_a_fit_never_ends_above_them(solver):
    objective = make_objective(**PROBLEMS["mixed"], alpha=1e-3)
    first = solve(REGISTRY["als"](), objective, make_cores(objective), Stopping(5, 0.0))
    result = solve(solver, objective, first.cores, Stopping(2, 0.0))
    assert value(objective, result.cores) <= first.history.objective[-1] * (1 + 1e-9)


@each_solver
@pytest.mark.parametrize("loss", [name for name, cls in LOSSES.items() if cls.for_classes])
def test_a_solver_lowers_every_loss(solver, loss):
    problem = PROBLEMS["several outputs" if loss == "softmax" else "fourier"]
    objective = classify(make_objective(**problem, alpha=1e-3), loss)
    cores = make_cores(objective)
    result = solve(solver, objective, cores, Stopping(5, 0.0))
    assert value(objective, result.cores) < 0.9 * value(objective, cores)
    assert result.status in ("max_iter", "converged")


@each_solver
def test_two_runs_from_one_start_give_the_same_bits(solver):
    objective = make_objective(**PROBLEMS["mixed"])
    cores = make_cores(objective)
    one, other = (solve(solver, objective, cores, Stopping(3, 0.0)) for _ in range(2))
    for a, b in zip(flatten(one.cores), flatten(other.cores), strict=True):
        assert a.tobytes() == b.tobytes()
    assert one.history.objective_updates == other.history.objective_updates


@each_solver
def test_the_cores_given_as_a_start_are_left_alone(solver):
    objective = make_objective(**PROBLEMS["several outputs"])
    cores, same = make_cores(objective), make_cores(objective)
    solve(solver, objective, cores, Stopping(2, 0.0))
    for a, b in zip(flatten(cores), flatten(same), strict=True):
        np.testing.assert_array_equal(a, b)


@each_solver
def test_the_state_of_an_epoch_has_the_cores_that_callbacks_are_told(solver):
    objective = make_objective(**PROBLEMS["mixed"])
    scored, told = [], []

    def score(state):
        scored.append(value(objective, state.iterate.snapshot()))
        assert objective.value(state.iterate) == pytest.approx(scored[-1], rel=1e-9)
        return 0.0

    def note(progress):
        if progress.event == "epoch":
            told.append(value(objective, progress.cores))

    cores = make_cores(objective)
    result = solve(solver, objective, cores, Stopping(3, 0.0), score, callbacks=[note])
    assert scored == told
    assert result.history.objective == pytest.approx(told, rel=1e-9)


@each_solver
@pytest.mark.parametrize("event", ["block", "epoch"])
def test_an_interruption_keeps_the_best_cores(solver, event):
    objective = make_objective(**PROBLEMS["mixed"])

    def press(progress):
        if (progress.event, progress.epoch) == (event, 2):
            raise KeyboardInterrupt

    cores = make_cores(objective)
    result = solve(solver, objective, cores, Stopping(9, 0.0), callbacks=[press])
    assert result.status == "interrupted"
    assert result.n_iter == (1 if event == "block" else 2)
    assert value(objective, result.cores) <= min(result.history.objective) * (1 + 1e-9)


@each_solver
def test_a_callback_ends_a_solver_after_the_epoch(solver):
    objective = make_objective(**PROBLEMS["mixed"])
    result = solve(
        solver, objective, make_cores(objective), Stopping(9, 0.0),
        callbacks=[lambda progress: progress.epoch == 2],
    )  # fmt: skip
    assert (result.status, result.n_iter) == ("stopped early", 2)


@each_solver
def test_a_solver_converges_by_tol(solver):
    objective = make_objective(**PROBLEMS["power"], alpha=0.1)
    result = solve(solver, objective, make_cores(objective), Stopping(1000, 1e-4))
    assert result.status == "converged"
    assert "tol=0.0001" in result.message


@each_solver
def test_an_overflow_is_a_failure_and_no_error(solver):
    objective = make_objective(**PROBLEMS["fourier"])
    huge = make_cores(objective)
    huge = unflatten(huge, [1e120 * core for core in flatten(huge)])
    result = solve(solver, objective, huge, Stopping(3, 0.0))
    assert (result.status, result.n_iter) == ("failed", 0)
    assert result.cores is huge
    assert "Try a larger alpha" in result.message


@each_solver
def test_a_start_of_zeros_stays_and_ends(solver):
    objective = make_objective(**PROBLEMS["fourier"])
    zero = make_cores(objective)
    zero = unflatten(zero, [0 * core for core in flatten(zero)])
    result = solve(solver, objective, zero, Stopping(3, 0.0))
    assert result.history.objective[-1] == pytest.approx(objective.constant)
    assert result.n_iter >= 1


@each_solver
def test_a_solver_takes_tables_of_single_precision(solver):
    objective = make_objective(**PROBLEMS["fourier"], dtype=np.float32)
    cores = make_cores(objective)
    result = solve(solver, objective, cores, Stopping(3, 0.0))
    assert value(objective, result.cores) < value(objective, cores)
    assert flatten(result.cores)[0].dtype == np.complex128


def test_registered_solvers_are_solvers_that_say_what_their_parameters_are():
    for cls in REGISTRY.values():
        assert issubclass(cls, Solver)
        for name in cls().get_params():
            assert name in cls.__doc__
