"""Altered model files and checkpoints: refused by name, or a model that works; nothing else."""

import json
import warnings

import numpy as np
import pytest

import qtkm
from qtkm import QTKMClassifier, QTKMRegressor, storage
from qtkm.networks import flatten
from qtkm.storage import _checksum

RNG = np.random.default_rng(0)
X = RNG.uniform(size=(40, 2)).astype(object)
X[:, 1] = np.array(["a", "b", None], dtype=object)[RNG.integers(0, 3, 40)]
y = RNG.normal(size=40)
SETTINGS = {"penalty": "ridge",
            "rank": 2, "n_basis": 4, "max_iter": 2, "random_state": 0, "n_jobs": 1,
            "categorical_features": [1], "early_stopping": False}  # fmt: skip
MODELS = {
    "cpd": (QTKMRegressor(**SETTINGS), y),
    "train": (QTKMRegressor(**SETTINGS, network="train"), np.column_stack([y, y])),
    "classes": (QTKMClassifier(**SETTINGS), np.array(["no", "yes", "so"])[np.arange(40) % 3]),
}
#: what is put into texts: numbers and letters that are none, and what readers take for something
TOKENS = ["9" * 5000, "1e999", "-1", "0", "NaN", "Infinity", "null", "true", "[]", "{}", '""',
          "\\ud800", "\\u0000", "\\u202e", "[" * 200, '{"$": "text", "value": [55296]}',
          '{"type": "tuple", "values": []}', '"__import__"', "1.5", '"a"', ","]  # fmt: skip


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Bytes of the file of each model."""
    found, path = {}, tmp_path_factory.mktemp("files") / "a.qtkm"
    for name, (model, target) in MODELS.items():
        model.fit(X, target).save(path)
        found[name] = path.read_bytes()
    return found


def parts(data):
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def joined(header, rest):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + rest


def alter_bytes(data, rng):
    """Flip, cut, double or remove some bytes."""
    data = bytearray(data)
    place = int(rng.integers(len(data)))
    size = int(rng.integers(1, 40))
    kind = rng.integers(4)
    if kind == 0:
        data[place] ^= 1 << int(rng.integers(8))
    elif kind == 1:
        del data[place:]
    elif kind == 2:
        data[place:place] = data[place : place + size]
    else:
        del data[place : place + size]
    return bytes(data)


def alter_text(data, rng):
    """Change the text of a file, and make its checksum right again."""
    header, rest = parts(data)
    metadata = header["__metadata__"]
    text = metadata["json"]
    place = int(rng.integers(len(text)))
    end = place + int(rng.integers(0, 12))
    token = TOKENS[int(rng.integers(len(TOKENS)))]
    if rng.uniform() < 0.5:  # in the place of a whole value, so that it can be read
        place = text.find(": ", place) + 2
        end = min((i for i in (text.find(c, place) for c in ",}]") if i > 0), default=len(text))
    text = text[:place] + token + text[end:]
    arrays = storage.safetensors.load(data)
    return joined(header | {"__metadata__": metadata | resealed(text, arrays)}, rest)


def alter_header(data, rng):
    """Change what stands around the text."""
    header, rest = parts(data)
    names = list(header["__metadata__"])
    values = ["9" * 5000, "", "²", "\ud800", None, 3, [], "2", "model", {}]
    name, value = names[int(rng.integers(len(names)))], values[int(rng.integers(len(values)))]
    return joined(header | {"__metadata__": header["__metadata__"] | {name: value}}, rest)


def attempt(function, *arguments, refusals=(storage.DamagedFileError, storage.ForeignFileError)):
    """Give what a function returns, or None and how it is refused; other errors are raised."""
    try:
        return function(*arguments), ""
    except refusals as error:
        return None, str(error)


def resealed(text, arrays):
    try:
        return {"json": text, "sha256": _checksum(text, arrays)}
    except UnicodeEncodeError:
        return {"json": text}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of types that NumPy had
@pytest.mark.parametrize("alter", [alter_bytes, alter_text, alter_header])
@pytest.mark.parametrize("name", MODELS)
def test_an_altered_file_is_refused_or_is_a_model(
    files, tmp_path, monkeypatch, times, tally, name, alter
):
    monkeypatch.setattr("qtkm.storage.os.fsync", lambda _: None)
    path, rng = tmp_path / "a.qtkm", np.random.default_rng(len(name))
    count, refused = times(60), 0
    for _ in range(count):
        path.write_bytes(alter(files[name], rng))
        model, message = attempt(qtkm.load, path)
        if model is None:
            assert str(path) in message
            assert len(message) < 1000
            refused += 1
            continue
        model.save(path)
        again = qtkm.load(path)
        try:
            expected = model.predict(X)
        except ValueError:  # such as bounds that leave rows outside
            continue
        np.testing.assert_array_equal(again.predict(X), expected)
    assert refused > 0
    tally("altered model files", count)


def test_altered_checkpoints_are_left_for_older_ones_or_refused(tmp_path, times, tally):
    rows, rng = np.column_stack([y, y**2]), np.random.default_rng(0)
    settings = {"rank": 2, "n_basis": 4, "random_state": 0, "n_jobs": 1, "tol": 0}
    whole = QTKMRegressor(**settings, max_iter=4, checkpoint=tmp_path / "whole").fit(rows, y)
    QTKMRegressor(**settings, max_iter=3, checkpoint=tmp_path / "cut").fit(rows, y)
    names = [path.name for path in (tmp_path / "cut").iterdir()]
    kept = {name: (tmp_path / "cut" / name).read_bytes() for name in names}
    count = times(20)
    for turn in range(count):
        folder = tmp_path / str(turn)
        folder.mkdir()
        for name, data in kept.items():
            is_altered = name == max(names) or turn % 2
            (folder / name).write_bytes(alter_bytes(data, rng) if is_altered else data)
        model = QTKMRegressor(**settings, max_iter=4, checkpoint=folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted, message = attempt(model.fit, rows, y, refusals=ValueError)
        if fitted is None:
            assert str(folder) in message
            continue
        for one, other in zip(flatten(model.cores_), flatten(whole.cores_), strict=True):
            np.testing.assert_array_equal(one, other)
    tally("altered checkpoints", count)
