"""Files come back bit for bit, and nothing that is not one is read."""

import contextlib
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numpy_strategies
from safetensors import numpy as safetensors

from qtkm import storage

ARRAYS = st.one_of(
    [
        numpy_strategies.arrays(kind, numpy_strategies.array_shapes(min_dims=0, min_side=0))
        for kind in (np.float64, np.float32, np.complex128, np.uint16, np.int64, np.bool_)
    ]
)
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(st.characters()), ARRAYS,
    st.complex_numbers(),
)  # fmt: skip
TREES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text().filter(lambda key: key != "$"), inner, max_size=3),
    ),
    max_leaves=8,
)


def assert_equal(a, b):
    if isinstance(a, np.ndarray):
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tobytes() == b.tobytes()
    elif isinstance(a, list):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            assert_equal(one, other)
    elif isinstance(a, dict):
        assert a.keys() == b.keys()
        for key in a:
            assert_equal(a[key], b[key])
    else:
        assert type(a) is type(b)
        assert repr(a) == repr(b)


@given(TREES)
def test_what_is_taken_apart_is_put_together_the_same(tree):
    plain, arrays = storage.split(tree)
    assert_equal(storage.join(json.loads(json.dumps(plain)), arrays), tree)


@settings(max_examples=20)
@given(TREES)
def test_a_file_comes_back_bit_for_bit(tmp_path_factory, tree):
    path = tmp_path_factory.mktemp("files") / "new" / "a.qtkm"
    storage.write(path, "test", tree)
    assert_equal(storage.read(path, "test"), tree)


TREE = {"cores": [np.arange(6.0).reshape(2, 3), np.ones(3) * 1j], "name": "ärger", "n": 3}


@pytest.fixture
def file(tmp_path):
    storage.write(tmp_path / "a.qtkm", "test", TREE)
    return tmp_path / "a.qtkm"


def test_every_cut_and_a_flipped_bit_anywhere_are_noticed(file):
    data = file.read_bytes()
    for length in range(len(data)):
        file.write_bytes(data[:length])
        message = f"is damaged: it ends after {length:,} bytes" if length > 23 else "is not a file"
        with pytest.raises(ValueError, match=message):
            storage.read(file, "test")
    for place in range(len(data)):
        altered = bytearray(data)
        altered[place] ^= 1 << place % 8
        file.write_bytes(altered)
        # white space of the header may change without consequence
        with contextlib.suppress(storage.DamagedFileError, storage.ForeignFileError):
            assert_equal(storage.read(file, "test"), TREE)


def test_a_newer_format_asks_for_an_upgrade(file):
    arrays = {"0": np.zeros(1)}
    metadata = {"qtkm": "3", "kind": "test", "json": "{}", "sha256": ""}
    file.write_bytes(safetensors.save(arrays, metadata=metadata))
    with pytest.raises(storage.ForeignFileError, match=r"format 3.*reads up to 2: upgrade qtkm"):
        storage.read(file, "test")


def test_another_kind_is_refused(file):
    with pytest.raises(storage.ForeignFileError, match="holds a test, not a model"):
        storage.read(file, "model")


@pytest.mark.parametrize(
    ("entry", "value"),
    [("qtkm", "1" * 5000), ("qtkm", "one"), ("json", "\ud800"), ("json", 3), ("sha256", "\ud800")],
    ids=["long version", "no version", "no Unicode", "no text", "no checksum"],
)
def test_a_header_that_makes_no_sense_is_damage(file, entry, value):
    data = file.read_bytes()
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"][entry] = value
    text = json.dumps(header).encode()
    file.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + length :])
    with pytest.raises(storage.DamagedFileError, match=r"a\.qtkm is damaged: .{3,310}\.$"):
        storage.read(file, "test")


@pytest.mark.parametrize("data", [b"", b"{}", b"PAR1" * 10, b"\xff" * 100, b"\x80\x04K\x01."])
def test_other_files_are_refused(file, data):
    file.write_bytes(data)
    with pytest.raises(storage.ForeignFileError, match="is not a file of qtkm"):
        storage.read(file, "test")


def hostile(file, text, arrays=None):
    from qtkm.storage import _checksum

    arrays = arrays or {}
    metadata = {"qtkm": "1", "kind": "test", "json": text, "sha256": _checksum(text, arrays)}
    file.write_bytes(safetensors.save(arrays, metadata=metadata))


@pytest.mark.parametrize(
    "text",
    [
        "[" * 5000 + "]" * 5000,
        "{",
        '{"$": "pickle"}',
        '{"$": "array", "name": "7"}',
        '{"$": "float", "value": "__import__"}',
        '{"$": "complex", "value": [1, 2, 3]}',
        '{"$": "array", "name": "0", "complex": true}',
        '{"$": "text", "value": [1114112]}',
        '{"$": "text", "value": "abc"}',
        '{"n": ' + "1" * 5000 + "}",
    ],
)
def test_hostile_texts_are_refused(file, text):
    hostile(file, text, {"0": np.zeros(3)})
    with pytest.raises(storage.DamagedFileError, match="is damaged"):
        storage.read(file, "test")


def test_a_write_that_fails_leaves_the_old_file(file, monkeypatch):
    before = file.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("qtkm.storage.os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        storage.write(file, "test", {"big": np.zeros(1000)})
    assert file.read_bytes() == before
    assert [path.name for path in file.parent.iterdir()] == ["a.qtkm"]


@pytest.mark.parametrize(
    "value", [object(), {1: 2}, {"$": 1}, {"\ud800": 1}, np.array(["text"]), {1, 2}]
)
def test_what_cannot_be_stored_is_refused(tmp_path, value):
    with pytest.raises(TypeError, match="cannot be stored"):
        storage.write(tmp_path / "a.qtkm", "test", value)
    assert list(tmp_path.iterdir()) == []
