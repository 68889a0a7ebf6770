"""A CPD against the dense contraction of its weight tensor."""

import numpy as np
import pytest

from qtkm.networks import CPD
from qtkm.networks.cpd import SMOOTH_NOISE
from tests import dense
from tests.covering import covered
from tests.problems import make_cores, make_map, make_objective, use_loops

COLUMNS = {
    "fourier": [("fourier", 8, 2), ("fourier", 6, "prime")],
    "fourier not quantized": [("fourier", 5, None), ("fourier", 4, None)],
    "power": [("power", 8, 2), ("power", 6, "prime"), ("power", 3, None)],
    "mixed": [("fourier", 4, 2), ("categorical", 3, None), ("power", 4, 2)],
    "categories": [("categorical", 3, None), ("categorical", 4, None)],
    "one column": [("fourier", 12, 2)],
    "one basis function": [("fourier", 1, 2), ("power", 1, None), ("fourier", 3, 2)],
}

each_model = pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
each_output = pytest.mark.parametrize("n_outputs", [1, 3])


def make(columns, **parameters):
    objective = make_objective([make_map(*column) for column in columns], rank=3, **parameters)
    cores = make_cores(objective)
    return objective, cores, objective.at(cores)


@each_model
@each_output
def test_responses_are_features_times_the_weight_tensor(columns, n_outputs):
    objective, cores, iterate = make(columns, n_outputs=n_outputs)
    phi, _, _ = dense.rows(objective)
    expected = phi @ dense.weights(cores)
    np.testing.assert_allclose(iterate.responses(objective.shards[0]), expected, atol=1e-11)


@each_model
def test_a_table_is_features_times_the_columns_own_weights(columns):
    objective, cores, iterate = make(columns)
    for d, column in enumerate(objective.columns):
        own = np.column_stack(
            [dense.weights([[core[:, [r]] for core in cores[d]]])[:, 0] for r in range(3)]
        )
        expected = dense.features(column.feature_map, column.values) @ own
        np.testing.assert_allclose(iterate.tables.elements[d], expected, atol=1e-12)


@covered
@each_model
@each_output
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [60, 1000])
@pytest.mark.parametrize("loops", ["numpy", "compiled"])
def test_statistics_are_sums_of_environments_over_the_rows_of_a_grid_value(
    columns, n_outputs, weighted, n_rows, loops, monkeypatch
):
    use_loops(monkeypatch, loops)
    objective, cores, iterate = make(
        columns, n_outputs=n_outputs, weighted=weighted, n_rows=n_rows, residual="real",
        n_values=[3, 60, 10][: len(columns)],
    )  # fmt: skip
    (shard,) = objective.shards
    root = np.sqrt(shard.weight) if weighted else np.ones(n_rows)
    target = shard.scaled[1]
    if n_outputs > 1:
        target = target @ cores[-1]
    for d, column in enumerate(objective.columns):
        g = np.repeat(root[:, None], 3, axis=1)
        for e in set(range(len(columns))) - {d}:
            g = g * iterate.tables.elements[e][shard.codes[:, e]]
        sums = iterate.statistics(d, objective.setting)
        hermitian, *symmetric = sums.matrices(slice(0, len(column)))
        assert len(symmetric) == objective.is_complex
        mixing = cores[-1] if n_outputs > 1 else np.ones((1, 3))
        for u in range(len(column)):
            mine = shard.codes[:, d] == u
            expected = (g[mine].conj().T @ g[mine]) * (mixing.conj().T @ mixing)
            np.testing.assert_allclose(np.broadcast_to(hermitian[u], (3, 3)), expected, atol=1e-9)
            for found in symmetric:
                expected = (g[mine].T @ g[mine]) * (mixing.T @ mixing)
                np.testing.assert_allclose(np.broadcast_to(found[u], (3, 3)), expected, atol=1e-9)
            expected = (g[mine] * target[mine]).sum(axis=0)
            np.testing.assert_allclose(np.broadcast_to(sums.rhs[u], 3), expected, atol=1e-9)


def test_a_smooth_start_is_the_constant_function_but_for_its_noise(monkeypatch):
    monkeypatch.setattr("qtkm.networks.cpd.SMOOTH_NOISE", 1e-12)
    maps = [make_map("fourier", 12, 2), make_map("power", 6, "prime")]
    objective = make_objective(maps, rank=3)
    constants = [feature_map.constant() for feature_map in maps]
    cores = CPD(3).start(constants, 1, True, "smooth", np.random.RandomState(0))
    response = objective.at(cores).responses(objective.shards[0])
    np.testing.assert_allclose(response, 3, atol=1e-9)
    assert SMOOTH_NOISE > 0  # equal terms would stay equal for ever


@pytest.mark.parametrize("kind", ["smooth", "random"])
def test_terms_of_a_start_have_unit_norm_and_differ(kind):
    constants = [make_map("fourier", 12, 2).constant(), make_map("categorical", 5).constant()]
    cores = CPD(3).start(constants, 2, True, kind, np.random.RandomState(0))
    for core in (*cores[0], *cores[1], cores[2]):
        np.testing.assert_allclose(np.linalg.norm(core, axis=0), 1)
        assert np.abs(np.diff(core, axis=1)).max() > 0.01


def test_a_random_start_of_complex_cores_is_real_as_in_the_paper():
    cores = CPD(3).start([[np.eye(4)[0]]], 1, True, "random", np.random.RandomState(0))
    np.testing.assert_array_equal(cores[0][0].imag, 0)
