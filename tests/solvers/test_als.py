"""Alternating least squares: every core to its exact minimum, so the objective never rises."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qtkm.networks import REGISTRY as NETWORKS
from qtkm.networks import flatten, unflatten
from qtkm.penalties import REGISTRY
from qtkm.solvers import ALS, Stopping, solve
from tests import dense
from tests.problems import make_cores, make_map, make_objective, make_penalty

MAPS = st.one_of(
    st.builds(
        make_map,
        st.sampled_from(["fourier", "power"]),
        st.integers(1, 8),
        st.sampled_from([2, "prime", None]),
        st.sampled_from([1.0, 1.7, 10.0]),
    ),
    st.builds(make_map, st.just("categorical"), st.integers(1, 4)),
)
OBJECTIVES = st.fixed_dictionaries(
    {
        "maps": st.lists(MAPS, min_size=1, max_size=3),
        "n_rows": st.integers(1, 40),
        "n_outputs": st.sampled_from([1, 2]),
        "weighted": st.booleans(),
        "residual": st.sampled_from(["complex", "real"]),
        "rank": st.integers(1, 3),
        "penalty": st.sampled_from([None, *(make_penalty(name) for name in REGISTRY)]),
        "seed": st.integers(0, 1000),
    }
)


def run(objective, n_epochs=3, inner_sweeps=1, cores=None, momentum=False):
    cores = make_cores(objective) if cores is None else cores
    return solve(ALS(inner_sweeps, momentum), objective, cores, Stopping(n_epochs, 0.0))


# the less is regularized the larger weights can grow, and with them what rounding leaves
@pytest.mark.parametrize(
    ("alpha", "tolerance"), [(1.0, 1e-10), (1e-3, 1e-10), (1e-8, 1e-6), (0.0, 1e-6)]
)
@settings(max_examples=40)
@given(OBJECTIVES, st.sampled_from([1, 2]), st.booleans())
def test_the_objective_never_rises(alpha, tolerance, parameters, inner_sweeps, momentum):
    objective = make_objective(**parameters, alpha=alpha)
    cores = make_cores(objective)
    result = run(objective, 5 if momentum else 3, inner_sweeps, cores, momentum)
    values = [objective.value(objective.at(cores)), *result.history.objective_updates]
    if any(precision is not None for precision in objective.precisions):
        tolerance = max(tolerance, 1e-8)  # smooth functions cost little: terms grow that cancel
    rounding = tolerance * objective.constant
    assert (np.diff(values[1:]) <= rounding).all()
    assert values[1] <= values[0] * (1 + tolerance) + rounding
    assert values[-1] >= -rounding


@pytest.mark.parametrize("alpha", [1.0, 1e-3, 1e-6])
@settings(max_examples=20)
@given(OBJECTIVES)
def test_the_history_ends_with_the_objective_of_the_cores(alpha, parameters):
    objective = make_objective(**parameters, alpha=alpha)
    result = run(objective)
    learned = replace(objective, penalties=objective.learned_penalties(result.precisions))
    expected = dense.value(learned, result.cores)
    tolerance = 1e-8 * objective.constant
    assert result.history.objective[-1] == pytest.approx(expected, rel=1e-6, abs=tolerance)
    assert objective.value(objective.at(result.cores, result.precisions)) == pytest.approx(
        expected, rel=1e-6, abs=tolerance
    )


def test_without_regularization_the_history_tells_the_true_objective():
    """Terms that almost cancel have huge weights, which a Gram matrix squares."""
    maps = [
        make_map("fourier", 8, "prime", 10.0),
        make_map("power", 6),
        make_map("fourier", 8, None, 10.0),
    ]
    objective = make_objective(maps, n_rows=21, alpha=0.0, seed=326)
    values = []

    def note(progress):
        if progress.event == "epoch":
            values.append(dense.value(objective, progress.cores))

    cores = make_cores(objective)
    result = solve(ALS(), objective, cores, Stopping(4, 0.0), callbacks=[note])
    tolerance = 1e-3 * objective.constant
    assert result.history.objective == pytest.approx(values, abs=tolerance)
    assert (np.diff(values) <= tolerance).all()


def make_fourier(**parameters):
    maps = [make_map("fourier", 8, 2), make_map("fourier", 6, 2), make_map("categorical", 3)]
    return make_objective(maps, alpha=1e-3, **parameters)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize("inner_sweeps", [1, 3])
def test_every_core_update_is_recorded(n_outputs, inner_sweeps):
    history = run(make_fourier(n_outputs=n_outputs), 2, inner_sweeps).history
    n_updates = inner_sweeps * (3 + 2) + 1 + (n_outputs > 1)  # levels, category, output core
    assert len(history.objective_updates) == 2 * n_updates
    assert history.objective == history.objective_updates[n_updates - 1 :: n_updates]


@pytest.mark.usefixtures("loops")
def test_inner_sweeps_go_on_within_a_column_as_repeated_updates_would():
    maps = [make_map("fourier", 8, 2)]
    objective = make_objective(maps, alpha=1e-3, n_values=[40])
    cores = make_cores(objective)
    one = run(objective, 6, 1, cores).history.objective_updates
    inner = run(objective, 2, 3, cores).history.objective_updates
    np.testing.assert_allclose(inner, one, rtol=1e-8)


@pytest.mark.parametrize("inner_sweeps", [0, -1, 1.5, "two", True])
def test_a_number_of_sweeps_that_makes_no_sense_is_refused(inner_sweeps):
    with pytest.raises(ValueError, match=r"inner_sweeps=.* must be an integer >= 1"):
        ALS(inner_sweeps).check()


@pytest.mark.parametrize("inner_sweeps", [1, np.int64(2)])
def test_a_whole_number_of_sweeps_passes(inner_sweeps):
    ALS(inner_sweeps).check()


def test_momentum_gets_further_in_as_many_epochs_and_says_so_once_an_epoch():
    objective = make_objective(
        [make_map("fourier", 8, 2, 2.0) for _ in range(3)], n_rows=150, alpha=1e-5, rank=3, seed=3
    )
    cores = make_cores(objective)
    plain, fast = (run(objective, 120, cores=cores, momentum=m) for m in (False, True))
    assert fast.history.objective[-1] < 0.99 * plain.history.objective[-1]
    assert fast.history.objective_updates == fast.history.objective
    assert fast.history.objective[-1] == pytest.approx(objective.value(objective.at(fast.cores)))


def test_momentum_is_yes_or_no():
    with pytest.raises(ValueError, match=r"momentum=0\.9 must be True or False"):
        ALS(momentum=0.9).check()


def test_the_cores_given_as_a_start_are_left_alone():
    objective = make_fourier(n_outputs=2)
    cores, same = make_cores(objective), make_cores(objective)
    run(objective, cores=cores)
    np.testing.assert_array_equal(dense.weights(cores), dense.weights(same))


def test_going_on_from_the_cores_of_a_result_is_like_never_having_stopped():
    objective = make_fourier()
    whole = run(objective, 4)
    first = run(objective, 2)
    second = run(objective, 2, cores=first.cores)
    np.testing.assert_allclose(
        second.history.objective_updates, whole.history.objective_updates[-12:], rtol=1e-8
    )


@pytest.mark.parametrize("network", ["cpd", "train", "ring", "tucker"])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_a_core_of_zeros_does_not_stop_the_fit(network, n_outputs):
    maps = [make_map("fourier", 4), make_map("power", 3)]
    objective = make_objective(maps, network=NETWORKS[network](2), n_outputs=n_outputs)
    cores = make_cores(objective, size=0.5)
    for k in range(len(flatten(cores))):
        start = unflatten(cores, [core * (i != k) for i, core in enumerate(flatten(cores))])
        result = solve(ALS(), objective, start, Stopping(3, 0.0))
        assert result.history.objective[-1] < 0.99 * objective.constant
