"""Drawings show every core, bond and leg, and stay readable."""

import itertools
import math
import re
import sys

import matplotlib
import numpy as np
import pytest

from qtkm.drawing import describe, plot
from qtkm.drawing.text import MOST_LINES, WIDTH
from qtkm.networks import CPD, REGISTRY, Additive, Graph, TensorRing, TensorTrain, flatten
from tests.covering import covered

matplotlib.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")

RADICES = [[2, 2, 3], [2, 2], [5]]
MANY = [[2] * 6] * 8
EIGHT = [[3], [4], [2], [5], [3], [4], [3], [2]]
CUSTOM = Graph(
    vertices={"a": [(0, 0)], "b": [(0, 1), (0, 2)], "c": [(1, 0)], "hub": [], "d": [(1, 1)],
              "e": [(2, 0)]},
    edges=[("one", ("a", "b"), 2), ("two", ("a", "hub"), 4), ("three", ("b", "hub"), 3),
           ("four", ("hub", "c"), 2), ("all", ("c", "d", "e"), 7)],
)  # fmt: skip
NAMED = {name: cls(rank=3) for name, cls in REGISTRY.items() if name != "graph"}
SMALL = [(network, RADICES) for network in [*NAMED.values(), CUSTOM]]
# a Tucker core of 48 bonds is refused, so these join fewer sites
LARGE = [(network, EIGHT if name in ("tucker", "block_term") else MANY)
         for name, network in NAMED.items()]  # fmt: skip


def name_of(case):
    return type(case).__name__ if hasattr(case, "structure") else None


each_small = pytest.mark.parametrize(("network", "radices"), SMALL, ids=name_of)
each_case = pytest.mark.parametrize(("network", "radices"), SMALL + LARGE, ids=name_of)
each_count = pytest.mark.parametrize("n_outputs", [1, 3])


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    plt.close("all")


# -- text -----------------------------------------------------------------------------------


@each_case
@each_count
def test_the_first_line_tells_the_size_of_the_network(network, radices, n_outputs):
    constants = [[np.ones(radix) for radix in column] for column in radices]
    start = network.start(constants, n_outputs, False, "random", np.random.RandomState(0))
    sizes = [core.size for core in flatten(start)]
    bound = 2 * sum(sizes) * math.log2(12 * len(sizes))
    assert network.describe(radices, n_outputs).splitlines()[0] == (
        f"{type(network).__name__}: {len(sizes)} cores, P = {sum(sizes):,} parameters, "
        f"VC bound {bound:,.0f}"
    )


@each_case
@each_count
def test_a_text_is_neither_wide_nor_long(network, radices, n_outputs):
    lines = network.describe(radices, n_outputs).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) <= 1 + MOST_LINES


@pytest.mark.parametrize("name", ["cpd", "train", "ring", "hierarchical_tucker", "mera"])
def test_the_text_of_a_huge_network_is_cut_in_the_middle(name):
    radices = [[2, 3]] * 120
    structure = NAMED[name].structure(radices, 3)
    lines = describe(structure, name).splitlines()
    assert max(map(len, lines)) <= WIDTH
    assert len(lines) == 1 + MOST_LINES
    (cut,) = [line for line in lines if re.fullmatch(r"… \d+ more lines …", line)]
    assert 1 < lines.index(cut) < len(lines) - 2


def test_a_train_shows_its_bonds_and_legs_in_order():
    text = TensorTrain(rank=[2, 4, 12, 7, 5]).describe(RADICES)
    assert text.splitlines()[1:4] == [
        "column 0  1─[2]─2─[2]─4─[3]─12",
        "column 1  12─[2]─7─[2]─5",
        "column 2  5─[5]─1",
    ]


def test_a_ring_begins_and_ends_with_the_bond_that_closes_it():
    text = TensorRing(rank=[6, 3, 4, 5, 7, 8]).describe(RADICES)
    assert text.splitlines()[1:] == [
        "column 0  6─[2]─3─[2]─4─[3]─5",
        "column 1  5─[2]─7─[2]─8",
        "column 2  8─[5]─6",
        "[leg]─bond─[leg]; the bond after the last core is the one before the first, 6",
    ]


def test_a_column_of_many_levels_goes_on_in_the_next_line():
    text = TensorTrain(rank=1000).describe([[2] * 40])
    sizes = [1] + [min(2**k, 2 ** (40 - k), 1000) for k in range(1, 40)] + [1]
    drawn = "".join(line[len("column 0  ") :] for line in text.splitlines()[1:-1])
    # a line begins with the bond that the one before has ended with
    drawn = re.sub(r"(?<=─)(\d+)\1(?=─)", r"\1", drawn)
    assert drawn == "─[2]─".join(map(str, sizes))


def test_a_cpd_shows_legs_and_the_shared_rank():
    text = NAMED["cpd"].describe(RADICES, n_outputs=4)
    assert text.splitlines()[1:5] == [
        "column 0  [2] [2] [3] ─┬─ rank = 3, shared by all cores",
        "column 1  [2] [2]     ─┤",
        "column 2  [5]         ─┤",
        "outputs   [4]         ─┘",
    ]


@pytest.mark.parametrize("name", ["tucker", "hierarchical_tucker", "block_term", "grid", "mera"])
@each_count
def test_other_networks_show_the_name_and_shape_of_every_core_once(name, n_outputs):
    structure = NAMED[name].structure(RADICES, n_outputs)
    text = describe(structure, name)
    for vertex, shape in zip(structure.vertices, structure.shapes, strict=True):
        assert text.count(f"{vertex}  ({' × '.join(map(str, shape))})") == 1


def test_a_tree_is_drawn_as_a_tree():
    text = NAMED["hierarchical_tucker"].describe([[2, 3], [4]])
    assert text.splitlines()[1:] == [
        "root  (3 × 3)",
        "├─3─ 1.0  (4 × 3)  leg 4 to column 1, level 0",
        "└─3─ join 3  (2 × 3 × 3)",
        "     ├─2─ 0.0  (2 × 2)  leg 2 to column 0, level 0",
        "     └─3─ 0.1  (3 × 3)  leg 3 to column 0, level 1",
    ]


def test_a_graph_lists_where_the_axes_of_a_core_go():
    text = CUSTOM.describe(RADICES, n_outputs=3)
    assert (
        "b  (2 × 3 × 2 × 3)  leg 2 to column 0, level 1; leg 3 to column 0, level 2; "
        "bonds one = 2 to a,\n    three = 3 to hub"
    ) in text
    assert "hub  (4 × 3 × 2)  bonds two = 4 to a, three = 3 to b, four = 2 to c" in text
    assert "e  (5 × 7 × 3)  leg 5 to column 2, level 0; all = 7 of 3 cores; outputs 3" in text


def test_cores_with_legs_in_two_columns_are_counted_to_both():
    assert "columns 0, 1  2─[3·2]─3" in REGISTRY["mera"](rank=2).describe([[2, 3], [2]])


# -- plot -----------------------------------------------------------------------------------


@pytest.fixture(
    scope="module",
    params=[*((*case, 1) for case in SMALL), *((*case, 3) for case in [*LARGE, SMALL[-1]])],
    ids=lambda case: f"{name_of(case[0])}-{sum(map(len, case[1]))}-{case[2]}",
)
def drawn(request):
    """A structure and the axes that it is plotted on."""
    network, radices, n_outputs = request.param
    ax = network.plot(radices, n_outputs)
    ax.figure.canvas.draw()
    return network.structure(radices, n_outputs), ax


def markers(ax, label):
    return [point for c in ax.collections if c.get_label() == label for point in c.get_offsets()]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def test_a_plot_has_a_marker_a_core_and_a_line_a_bond_and_leg(drawn):
    structure, ax = drawn
    shared = [e for e in structure.edges if e.site is None and len(e.vertices) > 2]
    assert len(markers(ax, "cores")) == len(structure.vertices)
    assert len(markers(ax, "shared indices")) == len(shared)
    others = len(structure.edges) - len(shared)
    assert len(ax.lines) == others + sum(len(edge.vertices) for edge in shared)


def test_every_size_is_written_at_its_bond_or_leg(drawn):
    structure, ax = drawn
    written = [text.split()[-1] for text in texts(ax)]
    for size in {edge.size for edge in structure.edges}:
        expected = sum(edge.size == size for edge in structure.edges)
        assert written.count(str(size)) >= expected


def test_nothing_overlaps_and_letters_are_large_enough(drawn):
    _, ax = drawn
    points = np.array([*markers(ax, "cores"), *markers(ax, "shared indices")])
    assert min(np.linalg.norm(a - b) for a, b in itertools.combinations(points, 2)) > 0.44
    level = [text for text in ax.texts if text.get_rotation() % 180 == 0]
    boxes = [text.get_window_extent() for text in level]
    pairs = itertools.combinations(range(len(boxes)), 2)
    assert [(level[i], level[j]) for i, j in pairs if boxes[i].overlaps(boxes[j])] == []
    assert min(text.get_fontsize() for text in ax.texts) > 6


@each_small
def test_all_texts_are_inside_of_the_plot(network, radices):
    names = ["a column of a long name"] * len(radices)
    ax = network.plot(radices, n_outputs=3, column_names=names)
    ax.figure.canvas.draw()
    frame = ax.figure.bbox
    for text in ax.texts:
        box = text.get_window_extent()
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
        assert frame.y0 <= box.y0 <= box.y1 <= frame.y1


@pytest.mark.parametrize("radices", [[[8]] * 3, [[2, 2, 2]] * 3, [[2] * 16]])
def test_a_cpd_is_a_row_of_cores_below_the_index_they_share(radices):
    ax = NAMED["cpd"].plot(radices)
    cores = np.array(markers(ax, "cores"))
    (hub,) = markers(ax, "shared indices")
    x, y = cores.T
    assert (np.diff(x) > 0).all()
    assert (y < hub[1]).all()
    # no line from the shared index to a core comes near another core
    pairs = itertools.permutations(cores - hub, 2)
    assert min(abs(np.linalg.det(pair)) / np.linalg.norm(pair[0]) for pair in pairs) > 0.3


@pytest.mark.parametrize("name", ["cpd", "train", "tucker", "hierarchical_tucker"])
def test_names_of_columns_with_one_core_do_not_touch(name):
    ax = NAMED[name].plot([[8]] * 4)
    ax.figure.canvas.draw()
    level = [t for t in ax.texts if t.get_text().startswith("column") and not t.get_rotation()]
    boxes = [text.get_window_extent().padded(2) for text in level]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))


@pytest.mark.parametrize("network", NAMED.values(), ids=name_of)
def test_columns_are_called_as_one_likes(network):
    names = ["hour", "distance", "carrier"]
    assert set(names) <= set(texts(network.plot(RADICES, column_names=names)))
    assert {"column 0", "column 1", "column 2"} <= set(texts(network.plot(RADICES)))


def test_a_graph_without_an_order_names_the_site_at_each_leg():
    assert {"0.0 = 2", "0.2 = 3", "2.0 = 5", "out 3"} <= set(texts(CUSTOM.plot(RADICES, 3)))


@each_small
def test_a_plot_goes_where_it_is_told_and_is_the_same_each_time(network, radices):
    _, (one, two) = plt.subplots(1, 2)
    assert network.plot(radices, ax=one) is one
    assert plot(network.structure(radices, 1), two) is two
    assert np.array_equal(markers(one, "cores"), markers(two, "cores"))


@covered
@pytest.mark.parametrize("radices", [[[4]], [[2, 3]], [[2], [3]], [[2, 3], [2]]])
@pytest.mark.parametrize("network", NAMED.values(), ids=name_of)
@each_count
def test_tiny_networks_can_be_drawn(network, radices, n_outputs):
    structure = network.structure(radices, n_outputs)
    assert len(markers(plot(structure), "cores")) == len(structure.vertices)
    assert describe(structure, "tiny").startswith("tiny: ")


def test_two_bonds_between_the_same_cores_are_two_lines():
    first, second, *_ = TensorRing(rank=2).plot([[2, 2]]).lines
    assert not np.allclose(first.get_ydata(), second.get_ydata())


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'matplotlib.*pip install "qtkm\[plot\]"'):
        NAMED["train"].plot(RADICES)


def test_the_repr_of_a_network_stays_short():
    assert repr(NAMED["cpd"]) == "CPD(rank=3)"


@pytest.mark.parametrize("network", [None, CPD(rank=2)])
def test_main_effects_are_drawn_with_and_without_a_network(network):
    radices = [(2, 2), (3,)]
    both = Additive(network, [5, 3])
    assert "main effects of 2 columns: 9 weights" in both.describe(radices)
    ax = both.plot(radices, column_names=["first", "second"])
    words = {text.get_text() for text in ax.texts}
    assert {"first", "second"} <= words
    assert "9 weights of main effects" in ax.get_title()
    plt.close(ax.figure)
