"""Paths through the candidates, and starts from a neighbour's cores."""

import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid

from qtkm import QTKMRegressor
from qtkm.engines import Threads
from qtkm.networks import flatten, unflatten
from qtkm.selection.path import find_adjacent, make_paths, start_from
from qtkm.selection.posed import Posed


def test_neighbours_come_first_and_differ_in_one_step():
    grid = {"alpha": [0.1, 10.0, 1.0], "n_basis": [4, 8], "rank": [5, 2]}
    candidates = list(ParameterGrid(grid))
    paths = make_paths(candidates)
    assert len(paths) == 2
    assert sorted(number for path in paths for number, _ in path) == list(range(12))
    for path in paths:
        seen = set()
        for number, neighbour in path:
            assert neighbour is None or neighbour in seen
            seen.add(number)
        steps = [(candidates[n]["rank"], candidates[n]["alpha"]) for n, _ in path]
        assert steps == [(2, 10.0), (2, 1.0), (2, 0.1), (5, 10.0), (5, 1.0), (5, 0.1)]
        assert path[0][1] is None
        assert path[3][1] == path[0][0]  # a larger rank begins at the largest alpha


def test_without_ranks_and_alphas_every_candidate_is_a_path():
    candidates = [{"period": 2.0}, {"period": 4.0}]
    assert make_paths(candidates) == [[(0, None)], [(1, None)]]


def test_adjacent_candidates_are_one_step_away():
    grid = {"alpha": [0.1, 10.0, 1.0], "n_basis": [(4, 2), 8], "rank": [5]}
    candidates = list(ParameterGrid(grid))
    adjacent = find_adjacent(candidates)
    ends = [(candidates[i]["alpha"], candidates[i]["n_basis"]) for i in adjacent[0]]
    assert (candidates[0]["alpha"], candidates[0]["n_basis"]) == (0.1, (4, 2))
    assert sorted(ends, key=repr) == [(0.1, 8), (1.0, (4, 2))]
    for number, others in enumerate(adjacent):
        assert all(number in adjacent[other] for other in others)


def prepared(X, y, network, rank):
    model = QTKMRegressor(
        network=network, rank=rank, n_basis=4, period=2.0, random_state=0, penalty="ridge"
    )
    posed, engine = Posed(model, X, y, None), Threads(1)
    return posed.prepared(posed.model({}), engine)


def test_added_columns_of_a_cpd_change_the_response_little(X, y):
    narrow = prepared(X, y, "cpd", 2)
    cores = narrow.start("smooth")
    wide, other = prepared(X, y, "cpd", 5), prepared(X, y, "cpd", 5)
    start = start_from(cores, "smooth")(wide)
    assert [core.shape for core in flatten(start)] == flatten(wide.objective.shapes)

    def responses(fit, at):
        return fit.objective.at(at).responses(fit.objective.shards[0])

    before, after = responses(narrow, cores), responses(wide, start)
    drawn = responses(other, other.start("smooth"))
    assert np.abs(after - before).max() < 0.5 < np.abs(drawn - before).max()
    for core, wider in zip(flatten(cores), flatten(start), strict=True):
        np.testing.assert_array_equal(wider[:, :2], core)
        assert wider[:, 2:].any(axis=0).all()


@pytest.mark.parametrize("kind", ["of another shape", "fewer", "of zeros"])
def test_cores_that_do_not_fit_are_drawn_anew(X, y, kind):
    cores, rank = prepared(X, y, "train", 2).start("smooth"), 3
    if kind == "fewer":
        cores = cores[:-1]
    elif kind == "of zeros":
        cores, rank = unflatten(cores, [0 * core for core in flatten(cores)]), 2
    start = start_from(cores, "smooth")(prepared(X, y, "train", rank))
    drawn = prepared(X, y, "train", rank).start("smooth")
    for core, own in zip(flatten(start), flatten(drawn), strict=True):
        np.testing.assert_array_equal(core, own)


def test_cores_of_the_same_shape_are_copied(X, y):
    fit = prepared(X, y, "train", 2)
    cores = fit.start("smooth")
    start = start_from(cores, "smooth")(fit)
    for core, copy in zip(flatten(cores), flatten(start), strict=True):
        np.testing.assert_array_equal(core, copy)
        assert core is not copy
