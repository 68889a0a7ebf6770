"""All levels of a column in one call, against the same levels one by one."""

import numpy as np
import pytest

from qtkm.kernels import column as kernels
from qtkm.networks.cpd_column import Problem
from tests.problems import make_cores, make_map, make_objective

COLUMNS = {
    "quantized": [("fourier", 16, 2), ("fourier", 6, "prime")],
    "not quantized": [("fourier", 7, None), ("fourier", 6, None)],
    "mixed": [("fourier", 12, 2), ("power", 8, 2), ("power", 3, None), ("categorical", 3, None)],
}

each_model = pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)


def make(columns, **parameters):
    objective = make_objective([make_map(*column) for column in columns], **parameters)
    iterate = objective.at(make_cores(objective))
    numbers = [d for d, column in enumerate(objective.columns) if not column.is_categorical]
    return objective, iterate, numbers


def sweep(problem, cores):
    """Levels in one call; objectives, norms, Gram matrix and table."""
    setting = problem.setting
    return kernels.sweep_statistics(
        problem.packed, problem.sums, problem.outside, *problem.column.lines, cores,
        setting.alpha, setting.total_weight, setting.constant, True,
    )  # fmt: skip


def assert_close(found, expected):
    assert np.abs(found - expected).max() <= 1e-10 * np.abs(expected).max()


@each_model
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("rank", [1, 3, 5])
def test_levels_in_one_call_are_those_of_steps(columns, weighted, n_outputs, rank):
    objective, iterate, numbers = make(columns, weighted=weighted, n_outputs=n_outputs, rank=rank)
    for block in numbers:
        problem = objective.problem(iterate, block)
        cores = np.concatenate(problem.cores)
        values, norm, gram, table = sweep(problem, cores)
        assert values == pytest.approx(Problem.sweep(problem), rel=1e-10)
        assert_close(cores, np.concatenate(problem.cores))
        assert_close(norm, problem.scale)
        assert_close(table, problem.prefix)
        expected = np.prod([core.conj().T @ core for core in problem.cores], axis=0)
        assert_close(gram, expected)


@each_model
def test_cores_tables_and_norm_agree_after_every_column(columns):
    objective, iterate, numbers = make(columns, rank=3)
    for block in [*numbers, *numbers]:
        values = objective.update(iterate, block, "statistics", sweeps=2)
        again = objective.at(iterate.cores)
        assert_close(iterate.table, again.table)
        assert iterate.squared_norm() == pytest.approx(again.squared_norm(), rel=1e-12)
        assert values[-1] == pytest.approx(objective.value(again), rel=1e-10)


def test_a_singular_system_raises_and_the_steps_take_over():
    # with no other column the terms can take each other's place
    objective, iterate, _ = make([("fourier", 4, None)], rank=3)
    problem = objective.problem(iterate, 0)
    with pytest.raises(np.linalg.LinAlgError):
        sweep(problem, np.concatenate(problem.cores))
    before = objective.value(iterate)
    assert objective.update(iterate, 0, "statistics")[-1] < before
