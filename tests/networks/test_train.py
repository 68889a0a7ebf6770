"""Tensor trains: ridge regression at full rank, gauges, and ranks."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from qtkm.networks import TensorRing, TensorTrain, flatten, unflatten
from qtkm.networks.train import gauge as algebra
from tests import dense
from tests.covering import covered
from tests.problems import make_cores, make_maps, make_objective, use_loops

#: (2, 2), (2, 3): full bonds are 2, 4, 3
FULL = {
    "fourier": [("fourier", 4, 2), ("fourier", 6, "prime")],
    "power": [("power", 4, 2), ("power", 3, None)],
    "mixed": [("fourier", 4, 2), ("categorical", 3, None)],
    "one column": [("fourier", 12, 2)],
}
SIZES = [2, 3, 2, 4]

each_full = pytest.mark.parametrize("columns", FULL.values(), ids=FULL)
both_loops = pytest.mark.usefixtures("loops")  # NumPy, and compiled
each_output = pytest.mark.parametrize("n_outputs", [1, 3])


def make(columns, rank=3, **parameters):
    objective = make_objective(make_maps(columns), network=TensorTrain(rank), **parameters)
    return objective, make_cores(objective)


def is_left_orthogonal(core):
    matrix = core.reshape(-1, core.shape[2])
    return np.allclose(matrix.conj().T @ matrix, np.eye(core.shape[2]), atol=1e-12)


def is_right_orthogonal(core):
    matrix = core.reshape(core.shape[0], -1)
    return np.allclose(matrix @ matrix.conj().T, np.eye(core.shape[0]), atol=1e-12)


# -- full rank --------------------------------------------------------------------------------


def ridge(objective):
    """Responses of ridge regression on explicit features, (n, n_outputs)."""
    phi, target, weight = dense.rows(objective)
    alpha = objective.alpha * weight.sum()
    if objective.loss.residual == "real" and np.iscomplexobj(phi):
        phi = np.hstack([phi.real, -phi.imag])
    if np.iscomplexobj(phi):
        matrix = phi.conj().T @ (weight[:, None] * phi) + alpha * np.eye(phi.shape[1])
        return phi @ np.linalg.solve(matrix, phi.conj().T @ (weight[:, None] * target))
    model = Ridge(alpha, fit_intercept=False, solver="svd").fit(phi, target, sample_weight=weight)
    return model.predict(phi).reshape(target.shape)


def fit(objective, cores, epochs):
    iterate = objective.at(cores)
    for _ in range(epochs):
        for block in objective.blocks:
            objective.update(iterate, block)
    return iterate.responses(objective.shards[0])


@covered
@each_full
@each_output
@pytest.mark.parametrize("residual", ["complex", "real"])
@pytest.mark.parametrize("loops", ["numpy", "compiled"])
def test_a_train_of_full_rank_is_ridge_regression_on_explicit_features(
    columns, n_outputs, residual, loops, monkeypatch
):
    use_loops(monkeypatch, loops)
    objective, cores = make(
        columns, rank=100, n_outputs=n_outputs, residual=residual, weighted=True, alpha=0.05,
        n_values=[20] * len(columns), n_rows=80,
    )  # fmt: skip
    found = fit(objective, cores, 5)
    found = found.real if residual == "real" else found
    np.testing.assert_allclose(found, ridge(objective), rtol=0, atol=1e-8)


@both_loops
def test_with_all_bonds_full_one_core_in_the_middle_is_enough():
    """Around a core of full bonds the other cores are unitary, so it can be any tensor."""
    objective, cores = make([("fourier", 3, None), ("power", 6, None), ("fourier", 2, None)],
                            rank=100, alpha=0.05)  # fmt: skip
    assert cores[1][0].shape == (3, 6, 2)
    iterate = objective.at(unflatten(cores, algebra.center_at(flatten(cores), 1)))
    objective.update(iterate, 1)
    found = iterate.responses(objective.shards[0])
    np.testing.assert_allclose(found, ridge(objective), rtol=0, atol=1e-9)


@both_loops
def test_a_train_of_rank_one_is_a_cpd_of_rank_one():
    train, cores = make(FULL["fourier"], rank=1)
    cpd = make_objective(make_maps(FULL["fourier"]), rank=1)
    same = unflatten(cores, [core.reshape(-1, 1) for core in flatten(cores)])
    a, b = train.at(cores), cpd.at(same)
    (shard,) = train.shards
    np.testing.assert_allclose(a.responses(shard), b.responses(shard), atol=1e-12)
    for block in (0, 1):
        values = train.update(a, block)
        assert values == pytest.approx(cpd.update(b, block), rel=1e-8)


# -- gauges -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["smooth", "random"])
@each_output
def test_a_start_is_right_orthogonal_after_its_first_core(kind, n_outputs):
    constants = [feature_map.constant() for feature_map in make_maps("mixed")]
    cores = TensorTrain(3).start(constants, n_outputs, True, kind, np.random.RandomState(0))
    assert all(is_right_orthogonal(core) for core in flatten(cores)[1:])


@each_output
def test_the_first_block_begins_with_right_orthogonal_cores_ahead(n_outputs):
    objective, cores = make("mixed", n_outputs=n_outputs)
    iterate = objective.at(cores)
    assert not is_right_orthogonal(flatten(cores)[1])
    problem = iterate.problem(0, objective.setting)
    first, *others = problem.iterate.sites
    assert all(is_right_orthogonal(core) for core in others)
    assert np.linalg.norm(first) ** 2 == pytest.approx(iterate.penalty(), rel=1e-12)
    before, after = (dense.tensor(objective, some) for some in (cores, iterate.cores))
    np.testing.assert_allclose(after, before, atol=1e-11)


@both_loops
@each_output
def test_cores_are_left_orthogonal_behind_and_right_orthogonal_ahead(n_outputs):
    objective, cores = make("mixed", n_outputs=n_outputs)
    iterate = objective.at(cores)
    behind = 0
    for _ in range(2):
        for block in objective.blocks:
            objective.update(iterate, block)
            entry = cores[block]
            behind += len(entry) if isinstance(entry, list) else 1
            center = min(behind, len(flatten(cores)) - 1)
            sites = iterate.sites
            assert all(is_left_orthogonal(core) for core in sites[:center])
            assert all(is_right_orthogonal(core) for core in sites[center + 1 :])
            norm = np.linalg.norm(sites[center]) ** 2
            assert norm == pytest.approx(iterate.penalty(), rel=1e-11)
            expected = np.sum(np.abs(dense.tensor(objective, iterate.cores)) ** 2)
            assert norm == pytest.approx(expected, rel=1e-11)
        behind = 0


@both_loops
def test_inside_a_block_the_penalty_is_the_norm_of_the_core_at_hand():
    plain, cores = make([("fourier", 8, 2), ("power", 4, 2)], alpha=0.0)
    objective = replace(plain, alpha=3.0)
    iterate = objective.at(cores)
    for block in (0, 1):
        problem, other = (iterate.problem(block, some.setting) for some in (objective, plain))
        for level in range(problem.n_levels):
            penalty = problem.system(level).matrix - other.system(level).matrix
            np.testing.assert_allclose(penalty[0], 3 * np.eye(len(penalty[0])), atol=1e-10)
            other.accept(level, problem.solve(level)[0])
            problem.accept(level, problem.solve(level)[0])
        problem.finish()


@both_loops
def test_another_sweep_begins_with_the_same_train():
    objective, cores = make([("fourier", 8, 2), ("power", 4, 2)])
    iterate = objective.at(cores)
    problem = iterate.problem(0, objective.setting)
    problem.sweep()
    problem.restart()
    again = [problem.cores, *iterate.cores[1:]]
    expected = dense.value(objective, again)
    assert all(is_right_orthogonal(core) for core in problem.cores[1:])
    values = problem.sweep()
    assert values[0] <= expected * (1 + 1e-12)
    problem.finish()
    assert values[-1] == pytest.approx(dense.value(objective, iterate.cores), rel=1e-9)


@pytest.mark.parametrize("center", [0, 2, 4])
def test_moving_the_center_changes_no_weight(center):
    objective, cores = make("mixed")
    moved = algebra.center_at(flatten(cores), center)
    assert all(is_left_orthogonal(core) for core in moved[:center])
    assert all(is_right_orthogonal(core) for core in moved[center + 1 :])
    expected = dense.tensor(objective, cores)
    np.testing.assert_allclose(
        dense.tensor(objective, unflatten(cores, moved)), expected, atol=1e-11
    )


# -- ranks ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rank", "bonds"),
    [(1, [1, 1, 1, 1, 1]), (3, [1, 2, 3, 3, 1]), (np.int64(5), [1, 2, 5, 4, 1]),
     (10**9, [1, 2, 6, 4, 1])],
)  # fmt: skip
def test_one_number_is_cut_to_what_the_unfoldings_allow(rank, bonds):
    assert TensorTrain(rank).bonds(SIZES) == bonds


@pytest.mark.parametrize("rank", [[2, 5, 4], (1, 2, 1), np.array([2, 6, 4])])
def test_a_sequence_gives_the_bonds_themselves(rank):
    TensorTrain(rank).check()
    assert TensorTrain(rank).bonds(SIZES) == [1, *rank, 1]


def test_a_sequence_is_used_for_cores_and_outputs():
    objective, cores = make([("fourier", 4, 2), ("power", 3, None)], rank=[2, 4, 2], n_outputs=2)
    assert [core.shape for core in flatten(cores)] == [(1, 2, 2), (2, 2, 4), (4, 3, 2), (2, 2, 1)]
    phi, _, _ = dense.rows(objective)
    found = objective.at(cores).responses(objective.shards[0])
    np.testing.assert_allclose(found, phi @ dense.tensor(objective, cores), atol=1e-12)
    assert objective.network.rank_of(cores) == [2, 4, 2]


@pytest.mark.parametrize("rank", [[2, 5], [2, 5, 4, 1], [3]])
def test_a_sequence_of_the_wrong_length_is_refused(rank):
    with pytest.raises(ValueError, match=rf"rank has {len(rank)} entries, but 3 are needed"):
        TensorTrain(rank).bonds(SIZES)


@pytest.mark.parametrize(
    ("rank", "message"),
    [([3, 3, 3], r"rank\[0\]=3 between sites 0 and 1 .* larger than 2, the rank"),
     ([1, 4, 3], r"rank\[1\]=4 between sites 1 and 2 .* larger than 3, the rank"),
     ([2, 5, 2], r"rank\[1\]=5 between sites 1 and 2 .* larger than 4, the rank"),
     ([2, 6, 5], r"rank\[2\]=5 between sites 2 and 3 .* larger than 4, the rank")],
)  # fmt: skip
def test_a_bond_larger_than_its_unfolding_is_refused(rank, message):
    with pytest.raises(ValueError, match=message):
        TensorTrain(rank).bonds(SIZES)


@pytest.mark.parametrize("network", [TensorTrain, TensorRing])
def test_a_sequence_that_is_not_of_whole_numbers_is_refused(network):
    for rank in ([2, 0, 2], [2, -1], [], [2.5, 1], "23", [True, 2], [[2, 2]]):
        with pytest.raises(ValueError, match="must be an integer >= 1, or a sequence of these"):
            network(rank).check()


def test_a_single_site_needs_no_bond():
    objective, cores = make([("fourier", 5, None)], rank=4)
    assert [core.shape for core in flatten(cores)] == [(1, 5, 1)]
    found = fit(objective, cores, 1)
    np.testing.assert_allclose(found, ridge(objective), atol=1e-9)


def test_ranks_of_given_cores_can_be_seen():
    _, cores = make("mixed")
    assert TensorTrain().rank_of(cores) == [2, 3, 3, 2]
    assert TensorTrain().rank_of("nonsense") is None
    assert TensorTrain().rank_of(None) is None
