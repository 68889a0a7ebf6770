"""One column update from equal cores: by moments, and by dense normal equations."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from qtkm.engines import Threads
from qtkm.features import Categorical, Fourier, Power, WithGaps
from qtkm.networks import REGISTRY, moments
from qtkm.networks.chain import ChainNetwork
from qtkm.penalties import RBF, Matern, Ridge
from tests import dense
from tests.covering import cover, covered
from tests.problems import (
    Bumps,
    Chirps,
    Damped,
    make_cores,
    make_maps,
    make_objective,
    random_like,
    update,
    use_loops,
)

COLUMNS = {
    "fourier": [("fourier", 12, [3, 2, 2]), ("fourier", 6, "prime")],
    "fourier not quantized": [("fourier", 5, None), ("fourier", 4, None)],
    "power": [("power", 8, 2), ("power", 6, "prime")],
    "power not quantized": [("power", 4, None), ("power", 3, None)],
    "mixed": [("fourier", 4, 2), ("power", 4, 2), ("categorical", 3, None)],
    "three fourier": [("fourier", 4, 2), ("fourier", 3, 2), ("fourier", 2, 2)],
    "one column": [("fourier", 12, 2)],
    "own": [Bumps(), ("power", 3, None)],
    "own and complex": [Bumps([2, 3]), ("fourier", 3, None)],
    "own complex": [Chirps(), ("categorical", 3, None)],
    "gaps": [WithGaps(Fourier(12, 1.7, [3, 4]), 0.3), WithGaps(Power(4, 2), 0.6)],
    "own with gaps": [WithGaps(Bumps([2, 3])), WithGaps(Fourier(3, 1.7, None))],
    "pooled": [Categorical(4, pooled=True), ("fourier", 4, 2)],
    "all kinds": [Categorical(3, pooled=True), WithGaps(Fourier(3, 2.0, None)), ("power", 3, None)],
}
PENALTIES = {
    "none": None,
    "ridge": Ridge(),
    "matern": Matern(0.5, 0.2, 1.0),
    "share": Matern(1.5, 0.1, 0.6),
    "rbf": RBF(0.1, 0.8),
    "one each": [RBF(0.15, 1.0), Matern(2.5, 0.1, 1.0), Ridge()],
}
CHAINS = [name for name, cls in REGISTRY.items() if issubclass(cls, ChainNetwork)]

each_model = pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
each_network = pytest.mark.parametrize("network", REGISTRY)
each_chain = pytest.mark.parametrize("network", CHAINS)
each_penalty = pytest.mark.parametrize("penalty", PENALTIES)
each_residual = pytest.mark.parametrize("residual", ["complex", "real"])
each_output = pytest.mark.parametrize("n_outputs", [1, 3])
each_weight = pytest.mark.parametrize("weighted", [False, True], ids=["", "weighted"])
LOOPS = ["numpy", "compiled"]
each_loop = pytest.mark.parametrize("loops", LOOPS)
both_loops = pytest.mark.usefixtures("loops")


def make(columns, penalty="none", **parameters):
    chosen = PENALTIES[penalty]
    chosen = chosen[: len(columns)] if isinstance(chosen, list) else chosen
    objective = make_objective(make_maps(columns), penalty=chosen, **parameters)
    return objective, make_cores(objective)


def numeric_blocks(objective):
    return [d for d, column in enumerate(objective.columns) if not column.is_categorical]


def compare(objective, cores, block):
    """Weights and values after a block's levels, in order, each beside those of brute force."""
    iterate = objective.at(cores)
    problem = iterate.problem(block, objective.setting)
    if not hasattr(problem, "solve"):  # a vertex of a graph, whose norms are shared out after it
        expected, minimum = dense.best_core(objective, cores, block, 0)
        (value,) = problem.sweep()
        problem.finish()
        expected = dense.tensor(objective, dense.replace(cores, block, 0, expected))
        yield dense.tensor(objective, iterate.cores), expected, value, minimum
        return
    for level in range(problem.n_levels):
        now = iterate.snapshot()
        now[block] = list(problem.cores) if isinstance(now[block], list) else problem.cores[0]
        core, value = problem.solve(level)
        expected, minimum = dense.best_core(objective, now, block, level)
        weights = [
            dense.tensor(objective, dense.replace(now, block, level, some))
            for some in (core, expected)
        ]
        yield *weights, value, minimum
        problem.accept(level, core)


def relative_error(a, b):
    return np.abs(np.subtract(a, b)).max() / np.abs(b).max()


# -- against dense equations ------------------------------------------------------------------


@covered
@each_model
@each_network
@each_penalty
@each_residual
@each_output
@each_weight
@each_loop
def test_an_update_is_the_least_squares_of_its_core(
    columns, network, penalty, residual, n_outputs, weighted, loops, monkeypatch
):
    use_loops(monkeypatch, loops)
    objective, cores = make(
        columns, penalty, network=network, residual=residual, n_outputs=n_outputs,
        weighted=weighted,
    )  # fmt: skip
    for block in objective.blocks:
        for found, expected, value, minimum in compare(objective, cores, block):
            assert value == pytest.approx(minimum, rel=1e-9)
            assert relative_error(found, expected) < 1e-9
    iterate = objective.at(cores)
    assert objective.value(iterate) == pytest.approx(dense.value(objective, cores), rel=1e-10)
    for block in objective.blocks:
        value = update(objective, iterate, block)[-1]
        # powers under a prior are ill-conditioned: weights of 1e3 cancel in the response
        assert value == pytest.approx(objective.value(iterate), rel=3e-9)
        assert value == pytest.approx(dense.value(objective, iterate.cores), rel=3e-9)


@each_chain
@each_loop
@each_residual
def test_products_of_damped_waves_are_no_conjugates(network, loops, residual, monkeypatch):
    use_loops(monkeypatch, loops)
    columns = [Damped(), ("fourier", 4, None)]
    objective, cores = make(columns, network=network, residual=residual, n_outputs=2)
    for found, expected, value, minimum in compare(objective, cores, 0):
        assert value == pytest.approx(minimum, rel=1e-9)
        assert relative_error(found, expected) < 1e-8


@covered
@each_model
@each_output
@each_penalty
def test_levels_follow_each_other_within_a_column(columns, n_outputs, penalty):
    """Later levels see the new cores of the earlier ones, as in the textbook's algorithm."""
    objective, cores = make(columns, penalty, n_outputs=n_outputs)
    iterate = objective.at(cores)
    values = update(objective, iterate, 0)
    for level in range(len(cores[0])):
        core, minimum = dense.best_core(objective, cores, 0, level)
        cores = dense.replace(cores, 0, level, core)
        assert values[level] == pytest.approx(minimum, rel=1e-9)
    assert relative_error(dense.weights(iterate.cores), dense.weights(cores)) < 1e-8


# -- NumPy and compiled loops -----------------------------------------------------------------


def is_compiled_in_single_precision(columns, network, residual):
    """Choose variants of the loops that take seconds to compile, each of them for one family.

    Tables of singles are read as doubles, by the same source for real functions, for complex ones
    and for their real parts alone; each of these three meets singles once, and each family does.
    """
    if columns in ("power", "power not quantized", "own"):  # all functions are real
        return network == "cpd"
    return (network == "cpd") == (residual == "complex")


def everything(objective, cores):
    """Value, gradient, a product with the curvature, and updates of all blocks."""
    iterate = objective.at(cores)
    value, gradient = objective.gradient(iterate)
    curved = objective.curvature(iterate)(random_like(cores))
    found = [np.array([value, objective.value(iterate)])]
    found += [objective.to_vector(gradient), objective.to_vector(curved)]
    for block in objective.blocks:
        moved = objective.at(cores)
        found.append(np.array(update(objective, moved, block)))
        found.append(dense.tensor(objective, moved.cores))
    return found


#: rows of (columns, network, residual, dtype, loops) that are compiled or run in NumPy
VARIANTS = [
    row
    for row in product(COLUMNS, CHAINS, ["complex", "real"], ["float64", "float32"], LOOPS)
    if row[3] == "float64" or row[4] == "numpy" or is_compiled_in_single_precision(*row[:3])
]


@pytest.mark.parametrize(
    ("columns", "network", "residual", "dtype", "n_outputs", "weighted"),
    cover(
        (*row[:4], *others)
        for row in VARIANTS
        if row[4] == "compiled"
        for others in product([1, 3], [False, True])
    ),
)
def test_compiled_loops_agree_with_numpy(
    columns, network, residual, dtype, n_outputs, weighted, monkeypatch
):
    objective, cores = make(
        COLUMNS[columns], network=network, residual=residual, n_outputs=n_outputs,
        weighted=weighted, dtype=dtype, rank=3, alpha=0.1,
    )  # fmt: skip
    use_loops(monkeypatch, "numpy")
    expected = everything(objective, cores)
    use_loops(monkeypatch, "compiled")
    again = replace(objective, engine=Threads(1))
    for a, b in zip(everything(again, cores), expected, strict=True):
        assert relative_error(a, b) < (1e-11 if dtype == "float64" else 1e-4)


@pytest.mark.parametrize(
    ("columns", "network", "residual", "loops", "n_outputs"),
    cover(
        (*row[:3], row[4], n_outputs)
        for row in VARIANTS
        if row[3] == "float32"
        for n_outputs in (1, 3)
    ),
)
def test_single_precision_comes_close(columns, network, residual, loops, n_outputs, monkeypatch):
    use_loops(monkeypatch, loops)
    parameters = {
        "network": network, "residual": residual, "n_outputs": n_outputs, "n_rows": 200,
        "alpha": 0.1,
    }  # fmt: skip
    double, cores = make(COLUMNS[columns], **parameters)
    single, _ = make(COLUMNS[columns], **parameters, dtype=np.float32)
    for block in numeric_blocks(double):
        values = update(double, double.at(cores), block)
        assert update(single, single.at(cores), block) == pytest.approx(values, rel=1e-4)


# -- gauge and hard cases ---------------------------------------------------------------------


@both_loops
def test_updated_cores_have_unit_columns_and_the_next_core_takes_the_scale():
    objective, cores = make(COLUMNS["fourier"], rank=3)
    iterate = objective.at(cores)
    update(objective, iterate, 0)
    for core in iterate.cores[0]:
        np.testing.assert_allclose(np.linalg.norm(core, axis=0), 1)
    scale = np.linalg.norm(iterate.cores[1][0], axis=0) / np.linalg.norm(cores[1][0], axis=0)
    np.testing.assert_allclose(iterate.cores[1][0], cores[1][0] * scale)
    update(objective, iterate, 1)
    *inner, last = iterate.cores[1]
    for core in inner:
        np.testing.assert_allclose(np.linalg.norm(core, axis=0), 1)
    assert (np.abs(np.linalg.norm(last, axis=0) - 1) > 1e-3).all()  # the last keeps it


@both_loops
def test_a_response_that_is_exactly_zero_is_no_obstacle():
    """Nothing is divided out, so a core does not matter for its own update."""
    objective, cores = make(COLUMNS["fourier"])
    expected, minimum = dense.best_core(objective, cores, 0, 0)
    zero = dense.replace(cores, 0, 0, np.zeros_like(cores[0][0]))
    iterate = objective.at(zero)
    np.testing.assert_array_equal(iterate.responses(objective.shards[0]), 0)
    core, value = iterate.problem(0, objective.setting).solve(0)
    assert value == pytest.approx(minimum, rel=1e-9)
    assert relative_error(core, expected) < 1e-8


@both_loops
@each_residual
def test_cores_of_zeros_around_a_core_leave_finite_numbers(residual):
    objective, cores = make(COLUMNS["fourier"], residual=residual)
    zero = dense.replace(cores, 1, 0, np.zeros_like(cores[1][0]))
    iterate = objective.at(zero)
    values = update(objective, iterate, 0)
    assert values[-1] == pytest.approx(objective.constant, rel=1e-12)
    assert all(np.isfinite(core).all() for column in iterate.cores for core in column)


@covered
@each_model
@each_chain
@each_residual
@each_loop
def test_without_regularization_an_update_is_still_the_least_squares(
    columns, network, residual, loops, monkeypatch
):
    use_loops(monkeypatch, loops)
    objective, cores = make(columns, network=network, residual=residual, alpha=0.0, n_rows=200)
    for block in numeric_blocks(objective):
        for _, _, value, minimum in compare(objective, cores, block):
            assert value == pytest.approx(minimum, rel=1e-7)


@both_loops
@each_residual
@each_output
def test_more_unknowns_than_rows_without_regularization_fit_the_rows(residual, n_outputs):
    objective, cores = make(
        [("fourier", 16, None), ("fourier", 4, None)], residual=residual, n_outputs=n_outputs,
        alpha=0.0, n_rows=5, n_values=[5, 5], rank=3,
    )  # fmt: skip
    iterate = objective.at(cores)
    value = update(objective, iterate, 0)[-1]
    _, minimum = dense.best_core(objective, cores, 0, 0)
    # normal equations square the numbers, so what is left is their rounding
    assert value == pytest.approx(minimum, abs=1e-7 * objective.constant)
    assert objective.value(iterate) == pytest.approx(minimum, abs=1e-7 * objective.constant)


@both_loops
@each_model
def test_columns_of_one_row_and_one_value_can_be_updated(columns):
    objective, cores = make(columns, n_rows=1)
    iterate = objective.at(cores)
    for block in numeric_blocks(objective):
        value = update(objective, iterate, block)[-1]
        assert value == pytest.approx(dense.value(objective, iterate.cores), rel=1e-9)
    assert value < objective.constant


# -- one column -------------------------------------------------------------------------------


class Turned(Fourier):
    """Exponentials times a phase of every level, which no product of two of them sees."""

    def factors(self, values):
        factors = super().factors(values)
        for k, level in enumerate(self.slices):
            factors[:, level] *= np.exp(1j * (k + 1) * values)[:, None]
        return factors


@covered
@pytest.mark.parametrize("most", [0, 20, 60, 150, 10**6])
@pytest.mark.parametrize("cls", [Fourier, Turned])
@pytest.mark.parametrize("quantization", [[3, 2, 2], [2, 3, 2], [12], [2, 2, 3]], ids=str)
@each_chain
@each_residual
@each_penalty
def test_a_column_of_many_exponentials_is_updated_from_their_lags(
    most, cls, quantization, network, residual, penalty, monkeypatch
):
    """Where environments of all lags would be too large, transforms stand for some of them."""
    monkeypatch.setattr(moments, "MOST_PLACES", most)
    monkeypatch.setattr("qtkm.features.feature_map.MOST_IN_GROUP", 4)
    objective, cores = make(
        [cls(12, 1.7, quantization)], penalty, network=network, residual=residual, rank=3,
        n_values=[50],
    )  # fmt: skip
    for found, expected, value, minimum in compare(objective, cores, 0):
        assert value == pytest.approx(minimum, rel=1e-9)
        assert relative_error(found, expected) < 1e-9
    iterate = objective.at(cores)
    values = objective.update(iterate, 0, sweeps=3)
    assert values[-1] == pytest.approx(dense.value(objective, iterate.cores), rel=1e-9)


class Counting(Threads):
    """Threads that count the passes over the rows."""

    n_passes = 0

    def sum(self, function, shards):
        self.n_passes += 1
        return super().sum(function, shards)


@both_loops
@each_chain
@each_residual
def test_the_rows_of_a_single_column_are_read_once_for_all_updates(network, residual):
    """Nothing but the rows has a part in its moments."""
    objective, cores = make(COLUMNS["one column"], network=network, residual=residual)
    objective = replace(objective, engine=Counting(1))
    iterate = objective.at(cores)
    before = objective.engine.n_passes
    values = [value for _ in range(4) for value in objective.update(iterate, 0)]
    assert objective.engine.n_passes == before + 1
    assert values[-1] == pytest.approx(dense.value(objective, iterate.cores), rel=1e-10)
    assert (np.diff(values) <= 1e-12).all()
