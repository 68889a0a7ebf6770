"""Files that were altered, damaged or made to do harm: a ValueError that names the file, no more.

The checksum of an altered tree is right again, so that it is the loader which must notice.
"""

import copy

import numpy as np
import pytest

import qtkm
from qtkm import storage
from qtkm.estimators.saving import KIND
from tests.estimators.test_saving import GRAPH, SETTINGS, THREE, X, Y, case, with_categories, y

LABELS = np.array(["no", "yes", "maybe"])[THREE]
CATEGORIES = with_categories(["a" if k % 2 else None for k in range(60)])
MODELS = {
    "cpd": case(basis=[qtkm.Fourier(4), qtkm.Power(4), "fourier"], n_basis=["auto", "auto", 4]),
    "train": case(CATEGORIES, Y, network="train", rank=[2, 2, 2, 2, 2], categorical_features=[1]),
    "graph": case(target=Y, network=GRAPH, rank="auto"),
    "classifier": case(
        target=LABELS, kind=qtkm.QTKMClassifier, random_state=np.random.RandomState(0)
    ),
}  # fmt: skip
#: what stands in place of a value
OTHERS = [
    None, True, -1, 0, 1, 2, 3.5, 10**30, 10**400, float("nan"), float("inf"), 1j, "", "power",
    "als",
    "__import__('os').abort()", [], [1], [[2, 2], [2]], {}, {"type": "tuple", "values": [1, "a"]},
    {"type": "dict", "values": [[[], 1]]}, {"type": "eval", "value": "1"}, {"type": "tuple"},
    {"type": "part", "kind": "networks", "name": "ring", "parameters": {"rank": "auto"}},
    {"type": "part", "kind": "solvers", "name": "os", "parameters": {}},
    {"type": "array", "dtype": "<U999999999", "shape": [1], "values": ["a"]},
    {"type": "scalar", "value": np.zeros(2)},
    np.zeros(3), np.zeros((2, 2)) * 1j, np.array(2), np.array([np.nan]),
    np.zeros((0, 2), dtype=bool),
]  # fmt: skip


def paths(tree, start=()):
    """Find all places of a tree, as tuples of keys."""
    entries = tree.items() if isinstance(tree, dict) else ()
    entries = enumerate(tree) if isinstance(tree, list) else entries
    for key, value in entries:
        yield (*start, key)
        yield from paths(value, (*start, key))


def copied(tree):
    if isinstance(tree, dict):
        return {key: copied(value) for key, value in tree.items()}
    return [copied(value) for value in tree] if isinstance(tree, list) else tree


def altered(tree, path, change):
    """Copy a tree and change it at a place: change(container, key)."""
    tree = place = copied(tree)
    for key in path[:-1]:
        place = place[key]
    change(place, path[-1])
    return tree


def put(value):
    return lambda place, key: place.__setitem__(key, value)


def drop(place, key):
    del place[key]


def double(place, key):
    if isinstance(place, list):
        place.insert(key, copy.copy(place[key]))
    else:
        place[f"{key} of a later version"] = place[key]


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """Rows and tree of each model."""
    path, result = tmp_path_factory.mktemp("models") / "a.qtkm", {}
    for name, (rows, target, model) in MODELS.items():
        model.fit(rows, target).save(path)
        result[name] = rows, storage.read(path, KIND)
    return result


def refusal(function, *arguments):
    """Call a function; the ValueError that it raises as text, or what it returns."""
    try:
        return "", function(*arguments)
    except ValueError as error:
        return f"{type(error).__name__}: {error}", None


def load_altered(tree, path, rows):
    """Load a tree from a file; True if it is a model, which then works."""
    storage.write(path, KIND, tree)
    message, model = refusal(qtkm.load, path)
    if message:
        assert message.startswith((f"DamagedFileError: {path} is", f"ForeignFileError: {path} c"))
        assert message.endswith(".")
        return False
    message, predicted = refusal(model.predict, rows)
    # finite numbers may still be so large, and bounds so narrow, that rows are refused
    assert "overflows" in message or "outside of its range" in message or len(predicted) == 60
    model.save(path)
    return True


def changes_of(trees, name):
    """Yield every place that no model before has with a change, another one at each place."""
    kinds, before = [drop, put, double, put], list(trees)[: list(trees).index(name)]
    known = {path for other in before for path in paths(trees[other][1])}
    for number, path in enumerate(path for path in paths(trees[name][1]) if path not in known):
        kind = kinds[number % len(kinds)]
        yield path, put(OTHERS[number * 5 % len(OTHERS)]) if kind is put else kind


@pytest.fixture
def path(tmp_path, monkeypatch):
    """Name a file that need not outlive a loss of power: thousands of them are written here."""
    monkeypatch.setattr("qtkm.storage.os.fsync", lambda _: None)
    return tmp_path / "a.qtkm"


@pytest.mark.parametrize("name", MODELS)
def test_an_altered_tree_is_refused_or_works(trees, path, name):
    rows, tree = trees[name]
    outcomes = [
        load_altered(altered(tree, place, change), path, rows)
        for place, change in changes_of(trees, name)
    ]
    # both must happen, or this test would look at nothing
    assert 0.05 < np.mean(outcomes) < 0.95


def test_parameters_of_a_later_version_are_passed_over(trees, path):
    rows, tree = trees[next(iter(trees))]
    storage.write(path, KIND, altered(tree, ("parameters", "spell"), put({"type": "magic"})))
    assert len(qtkm.load(path).predict(rows)) == 60


REFUSED = {
    "period=0.5 of column 0": (("columns", 0, "basis", "parameters", "period"), 0.5),
    r"n_basis=0 must be": (("columns", 0, "basis", "parameters", "n_basis"), 0),
    "column 0 has the basis Categorical": (
        ("columns", 0, "basis"),
        {"type": "part", "kind": "features", "name": "categorical", "parameters": {}},
    ),
    "expected a part of 'features'": (("columns", 0, "basis", "kind"), "solvers"),
    "the bounds of column 0 are .2, 1.": (("columns", 0, "bounds"), [2, 1]),
    "the bounds of column 0 are not finite": (("columns", 0, "bounds", 1), float("inf")),
    "extrapolation='run' of column 0": (("columns", 0, "extrapolation"), "run"),
    "has a category twice": (("columns", 1, "categories"), ["a", "a"]),
    "column 1 has 2 categories, its basis not": (
        ("columns", 1, "basis", "parameters", "n_categories"), 3,
    ),
    "the counts of column 1 has shape": (("columns", 1, "counts"), np.ones(3)),
    "the counts of column 1 are negative": (("columns", 1, "counts"), np.array([-1.0, 2])),
    "do not agree": (("feature_names",), ["a", "b"]),
    "the scale of y has shape": (("target", "scale"), np.ones(5)),
    "the mean of y has entries that are not finite": (("target", "mean"), np.array([np.nan, 1])),
    "a core has shape": (("cores", 0, 0), np.zeros((1, 3, 2), dtype=complex)),
    "a core is not an array of numbers of the right": (("cores", 0, 0), np.zeros((1, 2, 2))),
    "layout of its network": (("cores",), []),
    "rank=0 must be": (("network", "parameters", "rank"), 0),
    "rank has 2 entries, but": (("network", "parameters", "rank"), [2, 2]),
    "residual='x' is unknown": (("loss", "parameters", "residual"), "x"),
    "the loss Hinge is not one of regression": (
        ("loss",), {"type": "part", "kind": "losses", "name": "hinge", "parameters": {}},
    ),
    "its summary cannot be read": (("summary", "history", "values", 1), ["objective", ["low"]]),
    "alpha=-1 is not a number": (("alpha",), -1),
    "max_iter='many' must be": (("parameters", "max_iter"), "many"),
    "y with 1 dimensions and 2 outputs": (("target", "ndim"), 1),
    "it needs 'os' of qtkm.networks.REGISTRY": (("network", "name"), "os"),
    "it contains a Popen, which": (("class",), "Popen"),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_wrong_is_named(trees, path, message):
    _, tree = trees["train"]
    place, value = REFUSED[message]
    storage.write(path, KIND, altered(tree, place, put(value)))
    with pytest.raises(ValueError, match=rf"a\.qtkm (is damaged|cannot be loaded): .*{message}"):
        qtkm.load(path)


@pytest.mark.parametrize("position", [-1, 625, 10**9, 1.5])
def test_a_generator_reads_nothing_beyond_its_numbers(trees, path, position):
    _, tree = trees["classifier"]
    place = ("parameters", "random_state", "position")
    storage.write(path, KIND, altered(tree, place, put(position)))
    with pytest.raises(ValueError, match="a state that cannot be"):
        qtkm.load(path)


@pytest.mark.parametrize("name", MODELS)
def test_files_of_other_minor_versions_are_read(trees, path, name):
    rows, tree = trees[name]
    storage.write(path, KIND, tree)
    expected = qtkm.load(path).predict(rows)
    for key in ("versions", "summary", "parameters", "feature_names"):
        tree = altered(tree, (key,), drop)
    for column in range(3):
        tree = altered(tree, ("columns", column, "grid"), drop)
        tree = altered(tree, ("columns", column, "new"), put([1]))
    tree = altered(tree, ("network", "parameters", "new"), put({"type": "new"}))
    storage.write(path, KIND, {**tree, "new": 3})
    loaded = qtkm.load(path)
    np.testing.assert_array_equal(loaded.predict(rows), expected)
    assert (loaded.n_iter_, loaded.status_, loaded.history_["objective"]) == (0, "unknown", [])
    assert loaded.max_iter == type(loaded)().max_iter


def test_cut_and_flipped_files_are_refused(path):
    model = qtkm.QTKMRegressor(**SETTINGS).fit(X, y)
    model.save(path)
    data, expected = path.read_bytes(), model.predict(X)
    for place in range(0, len(data), 97):
        path.write_bytes(data[:place])
        with pytest.raises(ValueError, match=r"is damaged|is not a file of qtkm"):
            qtkm.load(path)
        flipped = bytearray(data)
        flipped[place] ^= 1 << place % 8
        path.write_bytes(flipped)
        message, found = refusal(qtkm.load, path)
        if found is None:
            assert str(path) in message
        else:  # white space of the header may change without consequence
            np.testing.assert_array_equal(found.predict(X), expected)


def test_a_checkpoint_is_no_model(tmp_path):
    qtkm.QTKMRegressor(**SETTINGS, checkpoint=tmp_path).fit(X, y)
    with pytest.raises(ValueError, match="holds a checkpoint, not a model"):
        qtkm.load(next(tmp_path.glob("*.qtkm")))


@pytest.mark.parametrize("tree", [None, 3, [], {}, "model", np.zeros(2)], ids=repr)
def test_a_file_of_something_else_is_refused(path, tree):
    storage.write(path, KIND, tree)
    with pytest.raises(ValueError, match=r"a\.qtkm is damaged"):
        qtkm.load(path)
