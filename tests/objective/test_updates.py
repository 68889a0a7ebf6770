"""One column update from equal cores: by statistics, by rows, and by brute force."""

import numpy as np
import pytest

from tests import dense
from tests.problems import make_cores, make_map, make_objective, update

COLUMNS = {
    "fourier": [("fourier", 8, 2), ("fourier", 6, "prime")],
    "fourier not quantized": [("fourier", 5, None), ("fourier", 4, None)],
    "power": [("power", 8, 2), ("power", 6, "prime")],
    "power not quantized": [("power", 4, None), ("power", 3, None)],
    "mixed": [("fourier", 4, 2), ("power", 4, 2), ("categorical", 3, None)],
    "three fourier": [("fourier", 4, 2), ("fourier", 3, 2), ("fourier", 2, 2)],
    "one column": [("fourier", 12, 2)],
}

each_model = pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
each_residual = pytest.mark.parametrize("residual", ["complex", "real"])
each_output = pytest.mark.parametrize("n_outputs", [1, 3])
each_weight = pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
each_path = pytest.mark.parametrize("path", ["statistics", "rows"])


def make(columns, **parameters):
    objective = make_objective([make_map(*column) for column in columns], **parameters)
    return objective, make_cores(objective)


def numeric_blocks(objective):
    return [d for d, column in enumerate(objective.columns) if not column.is_categorical]


def compare(objective, cores, block, path):
    """Cores and values of a block's levels, in order, each beside the one of brute force."""
    problem = objective.problem(objective.at(cores), block, path)
    for level in range(problem.n_levels):
        is_column = isinstance(cores[block], list)
        now = list(problem.cores) if is_column else problem.cores[0]
        now = [*cores[:block], now, *cores[block + 1 :]]
        core, value = problem.system(level).minimize(problem.cores[level])
        expected, minimum = dense.best_core(objective, now, block, level)
        yield core, expected, value, minimum
        problem.accept(level, core)


def relative_error(a, b):
    return np.abs(np.subtract(a, b)).max() / np.abs(b).max()


@each_model
@each_residual
@each_output
@each_weight
def test_statistics_and_rows_give_the_same_column(columns, residual, n_outputs, weighted):
    objective, cores = make(
        columns, residual=residual, n_outputs=n_outputs, weighted=weighted, rank=3
    )
    for block in numeric_blocks(objective):
        by_statistics, by_rows = objective.at(cores), objective.at(cores)
        values = update(objective, by_statistics, block, "statistics")
        row_values = update(objective, by_rows, block, "rows")
        np.testing.assert_allclose(values, row_values, rtol=1e-10)
        for a, b in zip(by_statistics.cores[block], by_rows.cores[block], strict=True):
            assert relative_error(a, b) < 1e-10
        weights = dense.weights(by_statistics.cores), dense.weights(by_rows.cores)
        assert relative_error(*weights) < 1e-10


@each_model
@each_residual
@each_output
@each_weight
@each_path
def test_an_update_is_the_least_squares_of_its_core(columns, residual, n_outputs, weighted, path):
    objective, cores = make(columns, residual=residual, n_outputs=n_outputs, weighted=weighted)
    for block in objective.blocks:
        if path == "rows" and block not in numeric_blocks(objective):
            continue
        for found, expected, value, minimum in compare(objective, cores, block, path):
            assert value == pytest.approx(minimum, rel=1e-9)
            assert relative_error(found, expected) < 1e-8


@each_model
@each_residual
@each_output
@each_weight
@each_path
def test_values_of_an_update_are_the_objective(columns, residual, n_outputs, weighted, path):
    objective, cores = make(columns, residual=residual, n_outputs=n_outputs, weighted=weighted)
    iterate = objective.at(cores)
    assert objective.value(iterate) == pytest.approx(dense.value(objective, cores), rel=1e-10)
    for block in objective.blocks:
        chosen = path if block in numeric_blocks(objective) else "statistics"
        value = update(objective, iterate, block, chosen)[-1]
        assert value == pytest.approx(objective.value(iterate), rel=1e-10)
        assert value == pytest.approx(dense.value(objective, iterate.cores), rel=1e-10)


@each_model
@each_output
@each_path
def test_levels_follow_each_other_within_a_column(columns, n_outputs, path):
    """Later levels see the new cores of the earlier ones, as in the textbook's algorithm."""
    objective, cores = make(columns, n_outputs=n_outputs)
    iterate = objective.at(cores)
    values = update(objective, iterate, 0, path)
    for level in range(len(cores[0])):
        core, minimum = dense.best_core(objective, cores, 0, level)
        cores = dense.replace(cores, 0, level, core)
        assert values[level] == pytest.approx(minimum, rel=1e-9)
    assert relative_error(dense.weights(iterate.cores), dense.weights(cores)) < 1e-8


@each_path
def test_updated_cores_have_unit_columns_and_the_next_core_takes_the_scale(path):
    objective, cores = make(COLUMNS["fourier"], rank=3)
    iterate = objective.at(cores)
    update(objective, iterate, 0, path)
    for core in iterate.cores[0]:
        np.testing.assert_allclose(np.linalg.norm(core, axis=0), 1)
    scale = np.linalg.norm(iterate.cores[1][0], axis=0) / np.linalg.norm(cores[1][0], axis=0)
    np.testing.assert_allclose(iterate.cores[1][0], cores[1][0] * scale)
    update(objective, iterate, 1, path)
    *inner, last = iterate.cores[1]
    for core in inner:
        np.testing.assert_allclose(np.linalg.norm(core, axis=0), 1)
    assert (np.abs(np.linalg.norm(last, axis=0) - 1) > 1e-3).all()  # the last keeps it


@each_model
@each_residual
@each_output
@each_path
def test_single_precision_comes_close(columns, residual, n_outputs, path):
    parameters = {"residual": residual, "n_outputs": n_outputs, "n_rows": 200, "alpha": 0.1}
    double, cores = make(columns, **parameters)
    single, _ = make(columns, **parameters, dtype=np.float32)
    for block in numeric_blocks(double):
        values = update(double, double.at(cores), block, path)
        assert update(single, single.at(cores), block, path) == pytest.approx(values, rel=1e-4)


@each_path
def test_a_response_that_is_exactly_zero_is_no_obstacle(path):
    """Nothing is divided out, so a core does not matter for its own update."""
    objective, cores = make(COLUMNS["fourier"])
    expected, minimum = dense.best_core(objective, cores, 0, 0)
    zero = dense.replace(cores, 0, 0, np.zeros_like(cores[0][0]))
    iterate = objective.at(zero)
    np.testing.assert_array_equal(iterate.responses(objective.shards[0]), 0)
    core, value = objective.problem(iterate, 0, path).system(0).minimize(zero[0][0])
    assert value == pytest.approx(minimum, rel=1e-9)
    assert relative_error(core, expected) < 1e-8


@each_residual
@each_path
def test_cores_of_zeros_around_a_core_leave_finite_numbers(residual, path):
    objective, cores = make(COLUMNS["fourier"], residual=residual)
    zero = dense.replace(cores, 1, 0, np.zeros_like(cores[1][0]))
    iterate = objective.at(zero)
    values = update(objective, iterate, 0, path)
    assert values[-1] == pytest.approx(objective.constant, rel=1e-12)
    assert all(np.isfinite(core).all() for column in iterate.cores for core in column)


@each_model
@each_residual
@each_path
def test_without_regularization_an_update_is_still_the_least_squares(columns, residual, path):
    objective, cores = make(columns, residual=residual, alpha=0.0, n_rows=200)
    for block in numeric_blocks(objective):
        for _, _, value, minimum in compare(objective, cores, block, path):
            assert value == pytest.approx(minimum, rel=1e-7)


@each_residual
@each_output
@each_path
def test_more_unknowns_than_rows_without_regularization_fit_the_rows(residual, n_outputs, path):
    objective, cores = make(
        [("fourier", 16, None), ("fourier", 4, None)], residual=residual, n_outputs=n_outputs,
        alpha=0.0, n_rows=5, n_values=[5, 5], rank=3,
    )  # fmt: skip
    iterate = objective.at(cores)
    value = update(objective, iterate, 0, path)[-1]
    _, minimum = dense.best_core(objective, cores, 0, 0)
    assert value == pytest.approx(minimum, abs=1e-9 * objective.constant)
    assert objective.value(iterate) == pytest.approx(minimum, abs=1e-9 * objective.constant)


@each_model
@each_path
def test_columns_of_one_row_and_one_value_can_be_updated(columns, path):
    objective, cores = make(columns, n_rows=1)
    iterate = objective.at(cores)
    for block in numeric_blocks(objective):
        value = update(objective, iterate, block, path)[-1]
        assert value == pytest.approx(dense.value(objective, iterate.cores), rel=1e-9)
    assert value < objective.constant
