"""A graph against the dense contraction of its cores."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtkm.data import Shard
from qtkm.engines import Threads
from qtkm.networks.graph import (
    MERA,
    BlockTerm,
    Graph,
    Grid2D,
    HierarchicalTucker,
    Tucker,
    vertices,
)
from qtkm.networks.graph import graph as graph_module
from tests import dense
from tests.covering import covered
from tests.problems import make_cores, make_map, make_objective, random_like

#: all have the radices (2, 2), (3,), (2,)
COLUMNS = {
    "fourier": [("fourier", 4, 2), ("fourier", 3, 2), ("fourier", 2, None)],
    "power": [("power", 4, 2), ("power", 3, 2), ("power", 2, None)],
    "mixed": [("fourier", 4, 2), ("categorical", 3), ("power", 2, None)],
    "categories": [("power", 4, 2), ("categorical", 3), ("categorical", 2)],
}
LEGS = {"a": [(0, 0)], "b": [(0, 1)], "c": [(1, 0)], "d": [(2, 0)]}

GRAPHS = {
    "one vertex": Graph({"a": [(0, 0), (0, 1), (1, 0), (2, 0)]}, []),
    "cpd": Graph(LEGS, [("rank", "abcd", 3)]),
    "train": Graph(LEGS, [("ab", "ab", 2), ("bc", "bc", 3), ("cd", "cd", 2)]),
    "ring": Graph(LEGS, [("ab", "ab", 2), ("bc", "bc", 3), ("cd", "cd", 3), ("da", "da", 2)]),
    "legless core": Graph(
        {**LEGS, "e": []}, [("ae", "ae", 2), ("be", "be", 2), ("ce", "ce", 3), ("de", "de", 2)]
    ),
    "outputs at a legless core": Graph(
        {"e": ["outputs"], **LEGS}, [("ae", "ae", 2), ("be", "be", 2), ("cd", "cd", 2),
                                     ("de", "de", 2)]
    ),
    "two legs": Graph(
        {"a": [(0, 0), (2, 0)], "c": [(1, 0), (0, 1)]}, [("ac", "ac", 4)]
    ),
    "two bonds between a pair": Graph(
        {"a": [(0, 0), (2, 0)], "c": [(1, 0), (0, 1)]}, [("one", "ac", 2), ("two", "ca", 2)]
    ),
    "bonds and a hyperedge": Graph(
        LEGS, [("ab", "ab", 2), ("shared", "abcd", 2), ("cd", "cd", 2), ("bc", "bc", 2)]
    ),
    "tucker": Tucker(2),
    "block term": BlockTerm(2, n_terms=2),
    "hierarchical tucker": HierarchicalTucker(3),
    "grid": Grid2D(2),
    "mera": MERA(2),
}  # fmt: skip

each_graph = pytest.mark.parametrize("network", GRAPHS.values(), ids=GRAPHS)
each_model = pytest.mark.parametrize("columns", COLUMNS.values(), ids=COLUMNS)
each_output = pytest.mark.parametrize("n_outputs", [1, 3])
some_graphs = pytest.mark.parametrize(
    "network", [GRAPHS[name] for name in ("cpd", "ring", "outputs at a legless core", "two legs")]
)


def make(network, columns, **parameters):
    objective = make_objective([make_map(*column) for column in columns], **parameters)
    objective.network = network
    cores = make_cores(objective)
    return objective, cores, objective.at(cores)


def radices_of(objective):
    return [column.radices for column in objective.columns]


# -- responses, norms and derivatives ---------------------------------------------------------


@st.composite
def graphs(draw):
    """Graphs of the sites above: a leg or more a vertex, a path of bonds, and edges of any kind."""
    names = "abcd"[: draw(st.integers(1, 4))]
    sites = draw(st.permutations([(0, 0), (0, 1), (1, 0), (2, 0)]))
    vertices = {name: [site] for name, site in zip(names, sites, strict=False)}
    for site in [*sites[len(names) :], *(["outputs"] if draw(st.booleans()) else [])]:
        vertices[draw(st.sampled_from(names))].append(site)
    sizes = st.integers(1, 2)  # larger ones than a leg's may be of no use, which is refused
    edges = [(a + b, (a, b), draw(sizes)) for a, b in pairwise(names)]
    if len(names) > 2 and draw(st.booleans()):
        vertices["without a leg"] = []
        edges += [(f"to {name}", (name, "without a leg"), 2) for name in names[:3]]
    for k in range(draw(st.integers(0, 2)) if len(names) > 1 else 0):
        ends = draw(st.lists(st.sampled_from(names), min_size=2, unique=True))
        edges.append((f"more {k}", ends, draw(sizes)))
    return Graph(vertices, edges)


def assert_is_its_tensor(network, columns, n_outputs):
    """Compare with the weight tensor written out, which is linear in every core."""
    objective, cores, iterate = make(network, columns, n_outputs=n_outputs)
    (shard,) = objective.shards
    run, phi, weights = (
        objective.engine.run,
        dense.rows(objective)[0],
        dense.tensor(objective, cores),
    )
    size = np.abs(weights).sum()
    np.testing.assert_allclose(
        network.dense(cores, radices_of(objective)), weights, atol=1e-12 * size
    )
    np.testing.assert_allclose(iterate.responses(shard), phi @ weights, atol=1e-11 * size)
    squared = np.sum(np.abs(weights) ** 2)
    assert iterate.penalty() == pytest.approx(squared, rel=1e-11)

    (slopes,) = random_like([iterate.responses(shard)])
    direction = random_like(cores)
    change = iterate.tangent(direction)(shard, run=run)
    gradient = iterate.gradient(iterate.gradient_pass()(shard, slopes, run=run))
    norm_gradient, products = iterate.penalty_gradient(), iterate.penalty_product(direction)
    assert [g.shape for g in gradient] == [core.shape for core in cores]
    expected = 0
    for block, core in enumerate(direction):
        moved = dense.tensor(objective, [*cores[:block], core, *cores[block + 1 :]])
        own, scale = phi @ moved, np.abs(moved).sum() * np.abs(slopes).sum()
        expected = expected + own
        assert np.vdot(gradient[block], core).real == pytest.approx(
            np.vdot(slopes, own).real, abs=1e-10 * scale
        )
        scale = np.linalg.norm(weights) * np.linalg.norm(moved)
        assert np.vdot(norm_gradient[block], core).real == pytest.approx(
            2 * np.vdot(weights, moved).real, abs=1e-11 * scale
        )
        assert np.vdot(core, products[block]).real == pytest.approx(
            2 * np.sum(np.abs(moved) ** 2), rel=1e-10
        )
    np.testing.assert_allclose(change, expected, atol=1e-10 * np.abs(expected).max())


@each_graph
@each_output
def test_a_graph_is_its_tensor(network, n_outputs):
    assert_is_its_tensor(network, COLUMNS["mixed"], n_outputs)


@given(graphs(), st.sampled_from(list(COLUMNS)), st.sampled_from([1, 3]))
def test_any_graph_is_its_tensor(network, columns, n_outputs):
    assert_is_its_tensor(network, COLUMNS[columns], n_outputs)


@each_output
def test_a_hyperedge_of_all_vertices_is_a_cpd(n_outputs):
    objective, cores, _ = make(GRAPHS["cpd"], COLUMNS["fourier"], n_outputs=n_outputs)
    a, b, c, d = cores
    if n_outputs == 1:
        expected = dense.weights([[a, b], [c], [d]])
    else:  # the last vertex has a leg for the outputs
        outputs = [dense.weights([[a, b], [c], [d[:, :, k]]])[:, 0] for k in range(n_outputs)]
        expected = np.column_stack(outputs)
    found = objective.network.dense(cores, radices_of(objective))
    np.testing.assert_allclose(found, expected, atol=1e-12)


# -- local problems ---------------------------------------------------------------------------


@covered
@each_graph
@each_output
@pytest.mark.parametrize(
    ("columns", "residual"),
    [(COLUMNS["fourier"], "complex"), (COLUMNS["mixed"], "complex"), (COLUMNS["mixed"], "real"),
     (COLUMNS["categories"], "real")],
)  # fmt: skip
def test_an_update_is_the_least_squares_solution(network, columns, n_outputs, residual):
    objective, cores, _ = make(
        network, columns, n_outputs=n_outputs, weighted=n_outputs > 1, residual=residual,
        alpha=0.1, n_rows=25,
    )  # fmt: skip
    for block in objective.blocks:
        iterate = objective.at(cores)
        expected, minimum = dense.best_core(objective, cores, block, 0)
        (value,) = objective.update(iterate, block)
        assert value == pytest.approx(minimum, rel=1e-9)
        whole = dense.tensor(objective, [*cores[:block], expected, *cores[block + 1 :]])
        np.testing.assert_allclose(dense.tensor(objective, iterate.cores), whole, atol=1e-7)


def test_updates_without_regularization_keep_to_least_squares():
    objective, _, iterate = make(GRAPHS["ring"], COLUMNS["power"], alpha=0.0, n_rows=100)
    for block in objective.blocks:
        _, minimum = dense.best_core(objective, iterate.cores, block, 0)
        assert objective.update(iterate, block)[0] == pytest.approx(minimum, rel=1e-8)


@some_graphs
def test_updates_leave_all_cores_of_one_norm(network):
    objective, _, iterate = make(network, COLUMNS["fourier"])
    objective.update(iterate, 1)
    norms = [np.linalg.norm(core) for core in iterate.cores]
    np.testing.assert_allclose(norms, norms[0])


def test_a_core_of_zeros_stays_where_it_is():
    objective, cores, _ = make(GRAPHS["train"], COLUMNS["power"])
    iterate = objective.at([0 * cores[0], *cores[1:]])
    objective.update(iterate, 1)
    assert not iterate.cores[0].any()
    assert all(np.isfinite(core).all() for core in iterate.cores)


def test_a_core_too_large_for_least_squares_is_refused(monkeypatch):
    objective, _, iterate = make(GRAPHS["train"], COLUMNS["power"])
    monkeypatch.setattr(vertices, "LARGEST_MATRIX", 20)
    with pytest.raises(ValueError, match=r"vertex 'b' has 12 weights.*solver='lbfgs'"):
        objective.update(iterate, 1)


# -- blocks of rows and threads ---------------------------------------------------------------


def all_sums(objective, iterate):
    (shard,) = objective.shards
    run, both = objective.engine.run, objective.setting.real_part
    slopes = iterate.responses(shard)
    arrays = [slopes, iterate.tangent(iterate.cores)(shard, run=run)]
    arrays.extend(iterate.gradient_pass()(shard, slopes, run=run))
    for block in objective.blocks:
        problem = iterate.problem(block, objective.setting)
        assert problem.split == both
        arrays.extend(problem.sums)
    return arrays


@some_graphs
def test_sums_do_not_depend_on_blocks_of_rows_but_for_rounding(network, monkeypatch):
    objective, _, iterate = make(
        network, COLUMNS["mixed"], n_outputs=2, weighted=True, residual="real"
    )
    expected = all_sums(objective, iterate)
    monkeypatch.setattr(vertices, "BLOCK_ENTRIES", 500)
    monkeypatch.setattr(Shard, "parts", lambda shard, n: [(0, 13), (13, 40), (40, len(shard))])
    for found, array in zip(all_sums(objective, iterate), expected, strict=True):
        np.testing.assert_allclose(found, array, atol=1e-10)


@pytest.mark.parametrize(("entries", "n_tasks"), [(1, 1), (10**9, 4)])
def test_tasks_are_as_many_as_their_sums_have_room_for(entries, n_tasks, monkeypatch):
    objective, _, iterate = make(GRAPHS["train"], COLUMNS["power"])
    counts = []
    monkeypatch.setattr(vertices, "SUM_ENTRIES", entries)
    monkeypatch.setattr(Shard, "parts", lambda shard, n: [counts.append(n)] and [(0, len(shard))])
    iterate.problem(1, objective.setting)
    assert counts == [n_tasks]


@some_graphs
def test_threads_do_not_change_a_bit(network, monkeypatch):
    objective, _, iterate = make(network, COLUMNS["mixed"], n_outputs=2, residual="real")
    monkeypatch.setattr(Shard, "parts", lambda shard, n: [(0, 13), (13, 40), (40, len(shard))])
    expected = all_sums(objective, iterate)
    objective.engine = Threads(3)
    del objective.__dict__["setting"]
    for found, array in zip(all_sums(objective, iterate), expected, strict=True):
        np.testing.assert_array_equal(found, array)
    objective.engine.close()


def test_passes_can_be_sent_to_another_process():
    objective, cores, iterate = make(GRAPHS["ring"], COLUMNS["mixed"])
    (shard,) = objective.shards
    run, slopes = objective.engine.run, iterate.responses(shard)
    gradient, tangent = iterate.gradient_pass(), iterate.tangent(cores)
    sent = pickle.loads(pickle.dumps((gradient, tangent)))
    for a, b in zip(sent[0](shard, slopes, run=run), gradient(shard, slopes, run=run),
                    strict=True):  # fmt: skip
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(sent[1](shard, run=run), tangent(shard, run=run))


# -- starts -----------------------------------------------------------------------------------


def start(network, columns, kind, n_outputs=1, is_complex=True, seed=0):
    constants = [make_map(*column).constant() for column in columns]
    return network.start(constants, n_outputs, is_complex, kind, np.random.RandomState(seed))


@covered
@each_graph
@each_model
@each_output
def test_a_smooth_start_is_constant_but_for_its_noise(network, columns, n_outputs, monkeypatch):
    monkeypatch.setattr(graph_module, "SMOOTH_NOISE", 1e-12)
    objective, _, _ = make(network, columns, n_outputs=n_outputs)
    cores = start(network, columns, "smooth", n_outputs)
    response = objective.at(cores).responses(objective.shards[0])
    np.testing.assert_allclose(response, response[:1].repeat(len(response), axis=0), atol=1e-8)
    assert np.mean(np.abs(response[0]) ** 2) == pytest.approx(1)


@each_graph
@each_output
def test_a_random_start_has_responses_of_order_one(network, n_outputs):
    objective, _, _ = make(network, COLUMNS["fourier"], n_outputs=n_outputs)
    squares = [
        np.mean(np.abs(objective.at(cores).responses(objective.shards[0])) ** 2)
        for cores in (start(network, COLUMNS["fourier"], "random", n_outputs, seed=s)
                      for s in range(30))
    ]  # fmt: skip
    assert 0.3 < np.mean(squares) < 3
