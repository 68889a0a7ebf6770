"""Graphs as a user gives them, and those that are drawn from the sites of a fit."""

import doctest
import math

import numpy as np
import pytest
from sklearn.base import clone

from qtkm import QTKMRegressor
from qtkm.networks import CPD
from qtkm.networks.graph import (
    MERA,
    BlockTerm,
    Drawing,
    Graph,
    GraphNetwork,
    Grid2D,
    HierarchicalTucker,
    Tucker,
)
from qtkm.networks.graph import graph as graph_module
from tests.covering import covered
from tests.problems import make_cores, make_map, make_objective

BUILDERS = [Tucker, BlockTerm, HierarchicalTucker, Grid2D, MERA]
SITES = {
    "one site": [(3,)],
    "two sites of one column": [(2, 3)],
    "three sites": [(2,), (3,), (2,)],
    "uneven levels": [(2, 2, 2), (3,), (2, 2)],
    "a column of one function": [(1,), (2, 2), (1,)],
    "eight sites": [(2, 2, 2, 2), (2, 2, 2, 2)],
}

LEGS = {"a": [(0, 0)], "b": [(0, 1)], "c": [(1, 0)], "d": [(2, 0)]}
RING = Graph(LEGS, [("ab", "ab", 2), ("bc", "bc", 3), ("cd", "cd", 3), ("da", "da", 2)])

each_builder = pytest.mark.parametrize("builder", BUILDERS)
each_layout = pytest.mark.parametrize("radices", SITES.values(), ids=SITES)
each_output = pytest.mark.parametrize("n_outputs", [1, 3])


def bonds(structure):
    return {edge.name: edge for edge in structure.edges if len(edge.vertices) == 2}


@covered
@each_builder
@each_layout
@each_output
@pytest.mark.parametrize("rank", [1, 2, 5])
def test_a_drawing_fits_any_sites(builder, radices, n_outputs, rank):
    structure = builder(rank).structure(radices, n_outputs)
    sites = {(d, k) for d, column in enumerate(radices) for k in range(len(column))}
    assert set(structure.legs) == sites | ({(len(radices), 0)} if n_outputs > 1 else set())
    assert [edge.size for edge in structure.edges[: len(sites)]] == [
        radix for column in radices for radix in column
    ]
    assert all(edge.size <= max(rank, 3) for edge in bonds(structure).values())
    assert builder(rank).shapes(radices, n_outputs) == structure.shapes


@each_builder
def test_a_rank_too_large_is_cut_to_what_the_cores_have_use_for(builder):
    radices = [(2,), (2,), (2,)]
    structure = builder(100).structure(radices, 1)
    assert max(edge.size for edge in bonds(structure).values()) <= 4


@pytest.mark.parametrize("n_terms", [0, 1.5, None])
def test_a_number_of_terms_that_makes_no_sense_is_refused(n_terms):
    with pytest.raises(ValueError, match=rf"n_terms={n_terms!r} must be an integer >= 1"):
        BlockTerm(2, n_terms).check()


@each_builder
def test_a_builder_is_cloned_with_its_parameters(builder):
    assert clone(builder(3)).get_params() == builder(3).get_params()


class Fork(GraphNetwork):
    """A family of one's own that says nothing about ranks: a core of three bonds in the middle."""

    def __init__(self, rank="auto"):
        self.rank = rank

    def build(self, radices, n_outputs):
        drawing = Drawing(radices)
        ends = []
        for d, (site,) in enumerate(drawing.sites):
            ends.append(drawing.wire(f"bond {d}", self.rank))
            drawing.vertex(f"core {d}", [site, ends[-1]])
        return drawing.finish(n_outputs, drawing.vertex("middle", ends))


@pytest.mark.parametrize("n_rows", [10, 1000, 100_000, 10**8])
def test_auto_makes_a_core_of_three_bonds_about_as_large_as_one_of_a_cpd(n_rows):
    radices = [[8], [8], [8]]
    rank, other = (network.default_rank(n_rows, 3) for network in (Fork(), CPD()))
    *_, middle = Fork(rank).shapes(radices, 1)
    (core,), *_ = CPD(other).shapes(radices, 1)
    assert 8 <= math.prod(middle) <= math.prod(core)


def test_auto_makes_a_family_of_ones_own_fit_many_rows():
    X = np.random.default_rng(0).uniform(size=(3000, 3))
    model = QTKMRegressor(network=Fork(), n_basis=8, quantization=None, max_iter=2, random_state=0)
    model.fit(X, X.prod(axis=1))
    assert model.network_.rank == 2
    assert model.score(X, X.prod(axis=1)) > 0.5


@pytest.mark.parametrize("network", [Tucker(2), BlockTerm(2, 2)])
@pytest.mark.parametrize("n_sites", [24, 200])
def test_a_core_with_an_axis_a_site_is_refused_for_many_sites(network, n_sites):
    with pytest.raises(ValueError, match="such as HierarchicalTucker or a tensor train"):
        network.structure([(2,)] * n_sites, 1)


def test_tucker_has_a_matrix_a_site_and_one_core():
    shapes = Tucker(2).shapes([(3, 2), (4,)], 5)
    assert shapes == [(3, 2), (2, 2), (4, 2), (2, 2, 2, 5)]


def test_block_terms_share_the_index_of_the_terms_everywhere():
    structure = BlockTerm(2, n_terms=7).structure([(3, 2), (4,)], 1)
    assert structure.shapes == [(3, 7, 2), (2, 7, 2), (4, 7, 2), (7, 2, 2, 2)]


def weights(network, cores, radices=((2, 2), (3,))):
    return network.dense(cores, radices)


def draw(shapes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


def test_block_terms_are_a_sum_of_tucker_decompositions():
    block = BlockTerm(2, n_terms=3)
    cores = draw(block.shapes([(2, 2), (3,)], 1))
    terms = [
        weights(Tucker(2), [*(core[:, t] for core in cores[:-1]), cores[-1][t]]) for t in range(3)
    ]
    np.testing.assert_allclose(weights(block, cores), sum(terms), atol=1e-13)


def test_hierarchical_tucker_is_a_tree_of_columns_over_trees_of_levels():
    structure = HierarchicalTucker(3).structure([(2, 2), (2, 2), (2,)], 1)
    assert len(structure.vertices) == 5 + 2 + 1 + 1
    assert len(bonds(structure)) == len(structure.vertices) - 1
    assert structure.shapes[-1] == (2, 2)  # no more than the last column has use for


def test_a_grid_joins_neighbouring_levels_and_columns_where_both_are_there():
    structure = Grid2D(2).structure([(2, 2, 2), (2,), (2, 2, 2)], 1)
    assert set(bonds(structure)) == {
        "0.0-0.1", "0.1-0.2", "0.0-1.0", "1.0-2.0", "2.0-2.1", "2.1-2.2",
    }  # fmt: skip
    full = Grid2D(2).structure([(2, 2, 2)] * 4, 1)
    assert len(bonds(full)) == 4 * 2 + 3 * 3


def test_mera_mixes_neighbours_that_different_vertices_join():
    structure = MERA(2).structure([(2,) * 8], 1)
    mixers = [name for name in structure.vertices if name.startswith("mix")]
    joins = [name for name in structure.vertices if name.startswith("join")]
    assert (len(mixers), len(joins)) == (3 + 1, 4 + 2)
    assert {len(structure.shapes[structure.vertices.index(name)]) for name in mixers} == {4}


@each_builder
def test_alternating_updates_fit_what_the_graph_can_represent(builder):
    network = builder(2)
    maps = [make_map("fourier", 4), make_map("power", 4)]
    objective = make_objective(maps, n_rows=200, n_values=[100, 100], alpha=1e-12)
    objective.network = network
    goal = objective.at(make_cores(objective, seed=3)).responses(objective.shards[0])
    objective.shards[0].target = goal.real / np.abs(goal).max()
    objective.__post_init__()
    constants = [feature_map.constant() for feature_map in maps]
    iterate = objective.at(network.start(constants, 1, True, "smooth", np.random.RandomState(0)))
    start = objective.value(iterate)
    for _ in range(5):
        for block in objective.blocks:
            objective.update(iterate, block)
    assert objective.value(iterate) < 0.1 * start
    assert math.isfinite(iterate.penalty())


# -- what a user gives ------------------------------------------------------------------------


def test_a_graph_is_cloned_with_its_parameters():
    network = clone(RING)
    assert network.get_params() == RING.get_params()
    assert network.shapes([(2, 2), (3,), (2,)], 1) == [(2, 2, 2), (2, 2, 3), (3, 3, 3), (2, 3, 2)]


def test_axes_are_legs_by_site_then_bonds_then_outputs():
    network = Graph({"e": ["outputs", (1, 0), (0, 1)], "f": [(0, 0)]}, [("x", ("f", "e"), 2)])
    structure = network.structure([(2, 3), (4,)], 5)
    assert structure.shapes == [(3, 4, 2, 5), (2, 2)]
    assert structure.vertices == ("e", "f")
    assert structure.legs[2, 0] == len(structure.edges) - 1
    assert network.structure([(2, 3), (4,)], 1).shapes == [(3, 4, 2), (2, 2)]


def test_the_last_vertex_gets_the_outputs_if_none_asks_for_them():
    assert Graph(LEGS, [("x", "ab", 2), ("y", "bc", 3), ("z", "cd", 2)]).shapes(
        [(2, 2), (3,), (2,)], 7
    )[-1] == (2, 2, 7)


def test_the_example_of_the_docstring_runs():
    assert doctest.testmod(graph_module).failed == 0
    assert doctest.testmod(graph_module).attempted > 0


class Drawn:
    """What is used of a networkx graph."""

    def __init__(self, nodes, edges):
        self.given = nodes, edges

    def nodes(self, data):
        return self.given[0]

    def edges(self, data):
        return self.given[1]


def test_a_networkx_graph_gives_vertices_and_bonds():
    drawn = Drawn(
        [("a", {"legs": [(0, 0), (0, 1)]}), ("b", {"legs": [(1, 0)]}), (3, {"legs": [(2, 0)]})],
        [("a", "b", {"size": 2}), ("a", "b", {"size": 1}), ("b", 3, {"size": 2})],
    )
    structure = Graph.from_networkx(drawn).structure([(2, 2), (3,), (2,)], 1)
    assert structure.vertices == ("a", "b", "3")
    assert [edge.name for edge in structure.edges[4:]] == ["a-b", "a-b (2)", "b-3"]
    assert structure.shapes == [(2, 2, 2, 1), (3, 2, 1, 2), (2, 2)]


def test_networkx_itself_is_understood():
    networkx = pytest.importorskip("networkx")
    drawn = networkx.path_graph(3)
    networkx.set_edge_attributes(drawn, 2, "size")
    for node, legs in enumerate([[(0, 0), (0, 1)], [(1, 0)], [(2, 0)]]):
        drawn.nodes[node]["legs"] = legs
    assert Graph.from_networkx(drawn).shapes([(2, 2), (3,), (2,)], 1) == [
        (2, 2, 2), (3, 2, 2), (2, 2),
    ]  # fmt: skip


def test_a_networkx_edge_without_a_size_is_refused():
    with pytest.raises(ValueError, match="Edge a-b has no attribute 'size'"):
        Graph.from_networkx(Drawn([("a", {}), ("b", {})], [("a", "b", {})]))


REFUSED = {
    "no vertices": ({}, [], "must be a mapping from the name of every vertex to its legs"),
    "vertices without legs": (["a"], [], "must be a mapping from the name of every vertex"),
    "a leg of lists": ({"a": [(0, (1, 2))]}, [], "must be a site"),
    "a leg that is no site": ({"a": ["b"]}, [], "Leg 'b' of vertex 'a' must be a site"),
    "a leg with a negative level": ({"a": [(0, -1)]}, [], r"Leg \(0, -1\) of vertex 'a' must be"),
    "an edge that is no triple": (LEGS, ["ab"], r"Edge 'ab' must be a tuple \(name, vertices"),
    "an edge with a size for vertices": (LEGS, [("x", 3, "ab")], r"must be a tuple \(name"),
    "an edge of an unknown vertex": (LEGS, [("x", "az", 1)], "joins 'z', which is none of the"),
    "an edge of one vertex": (LEGS, [("x", "a", 1)], "must join two or more different vertices"),
    "an edge of no vertex": (LEGS, [("x", "", 1)], "different vertices, but joins none"),
    "a loop": (LEGS, [("x", "aa", 1)], "'x' must join two or more different vertices"),
    "an edge of size 0": (LEGS, [("x", "ab", 0)], "size of edge 'x'=0 must be an integer"),
    "an edge of size 1.5": (LEGS, [("x", "ab", 1.5)], "=1.5 must be an integer >= 1"),
    "two edges of one name": (
        LEGS, [("x", "ab", 1), ("x", "cd", 1)], "2 edges are called 'x'; give each its own name"
    ),
    "a site without a leg": (
        {"a": [(0, 0)], "b": [(0, 1)], "c": [(1, 0)]}, [("x", "abc", 2)],
        r"The site 'column 2, level 0' has 0 vertices \(none\); put exactly one on every site",
    ),
    "a site with two legs": (
        {**LEGS, "e": [(0, 1)]}, [("x", "abcde", 2)],
        r"The site 'column 0, level 1' has 2 vertices \('b', 'e'\); put exactly one on every site",
    ),
    "outputs with two legs": (
        {**LEGS, "e": ["outputs"], "f": ["outputs"]}, [("x", "abcdef", 2)],
        "The outputs are a leg of 'e' and 'f'; keep one of them",
    ),
    "a leg to no site": (
        {**LEGS, "e": [(1, 1)]}, [("x", "abcde", 2)],
        "'e' has a leg to level 1 of column 1, but the columns have 2, 1, 1 levels",
    ),
    "parts that nothing joins": (
        LEGS, [("x", "ab", 2), ("y", "cd", 2)], "Nothing joins vertex 'c' to vertex 'a'; add a bond"
    ),
    "a bond with entries to spare": (
        LEGS, [("x", "ab", 2), ("y", "bc", 5), ("z", "cd", 2)],
        "Bond 'y' has the size 5, but .* no more than 4; give it that size",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("vertices", "edges", "message"), REFUSED.values(), ids=REFUSED)
def test_a_graph_that_makes_no_sense_is_refused_with_a_reason(vertices, edges, message):
    with pytest.raises(ValueError, match=message):
        Graph(vertices, edges).structure([(2, 2), (3,), (2,)], 1)


def test_a_core_of_too_many_entries_is_refused():
    network = Graph({"a": [(0, 0), (1, 0)]}, [])
    with pytest.raises(ValueError, match=r"'a' has 2 axes and about 10\^8.0 entries"):
        network.shapes([(10_000,), (10_000,)], 1)


def test_a_core_of_too_many_axes_is_refused():
    network = Graph({"a": [(0, k) for k in range(31)]}, [])
    with pytest.raises(ValueError, match=r"31 axes .* more than 30 axes"):
        network.shapes([(1,) * 31], 1)


@pytest.mark.parametrize("n_vertices", [0, 2])
def test_a_site_needs_exactly_one_vertex(n_vertices):
    drawing = Drawing([(2,), (3,)])
    bond = drawing.wire("bond", 2)
    first = drawing.vertex("first", [drawing.sites[0][0], bond])
    drawing.vertex("second", [drawing.sites[1][0], bond] if n_vertices else [bond])
    if n_vertices == 2:
        drawing.vertex("third", [drawing.sites[1][0], bond])
    with pytest.raises(ValueError, match=rf"has {n_vertices} vertices \(.*\); put exactly one"):
        drawing.finish(1, first)


class Own(GraphNetwork):
    """A network of one's own whose `build` is given."""

    def __init__(self, build=None):
        self.build = build


@pytest.mark.parametrize("n_vertices", [0, 1])
def test_a_wire_that_joins_nothing_is_told(n_vertices):
    def build(radices, n_outputs):
        drawing = Drawing(radices)
        loose = [drawing.wire("loose", 3)] * n_vertices
        return drawing.finish(n_outputs, drawing.vertex("all", [*drawing.sites[0], *loose]))

    with pytest.raises(ValueError, match=f"wire 'loose' has {n_vertices} vertices, and joins two"):
        Own(build).structure([[2, 3]], 1)


def test_a_build_that_returns_nothing_is_told():
    with pytest.raises(TypeError, match="does it end with return"):
        Own(lambda radices, n_outputs: None).structure([[2, 3]], 1)


@pytest.mark.parametrize("network", [CPD(), Tucker(), Grid2D("auto")])
@pytest.mark.parametrize("draw", ["describe", "plot"])
def test_a_network_whose_rank_is_not_chosen_yet_is_not_drawn(network, draw):
    with pytest.raises(ValueError, match="rank='auto' is only known after a fit; set a number"):
        getattr(network, draw)([[2, 2], [3]])
