"""A small table with a model, a table in several files, and models of that."""

import logging
from types import SimpleNamespace

import numpy as np
import pytest

import qtkm
from tests.cli.commands import FEATURES, N_ROWS, SETTINGS, TINY, command, make_rows, write_parts


@pytest.fixture(autouse=True)
def as_if_compiled(monkeypatch):
    """Without the remark of a first run, which some tests would meet and others not."""
    monkeypatch.setattr(logging.getLogger("qtkm.kernels._jit"), "disabled", True)


@pytest.fixture(scope="session")
def small_folder(tmp_path_factory):
    """A small table, and a model of it."""
    folder, rows = tmp_path_factory.mktemp("small"), make_rows()
    rows.to_csv(folder / "rows.csv", index=False)
    words = ["--target", "power", "--out", folder / "m.qtkm", "--quiet", *TINY]
    assert command("fit", folder / "rows.csv", *words) == 0
    return folder


@pytest.fixture
def inside(small_folder, tmp_path, monkeypatch):
    """A folder of its own with the small table and the model, which commands are run in."""
    for name in ("rows.csv", "m.qtkm"):
        (tmp_path / name).write_bytes((small_folder / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def frame():
    """A table with numbers, categories, weights, a label, and 40 rows without a target."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.uniform(size=(N_ROWS, 2)), columns=["wind", "sun"])
    rows["kind"] = rng.choice(["sea", "land"], size=N_ROWS)
    rows["id"] = np.arange(N_ROWS)
    rows["w"] = rng.integers(0, 3, N_ROWS).astype(float)
    rows["power"] = np.sin(5 * rows["wind"]) * rows["sun"] + (rows["kind"] == "sea")
    rows["high"] = np.where(rows["power"] > 0.8, "yes", "no")
    rows.loc[100:139, "power"] = np.nan
    return rows


@pytest.fixture
def parts(frame, tmp_path, monkeypatch):
    """A folder of files, in the folder that commands are run in."""
    pytest.importorskip("pyarrow")
    monkeypatch.chdir(tmp_path)
    return write_parts(frame, tmp_path / "parts")


@pytest.fixture(scope="session")
def models(frame, tmp_path_factory):
    """A model of numbers and one of labels."""
    folder, rows = tmp_path_factory.mktemp("models"), frame.dropna()
    options = {**SETTINGS, "categorical_features": ["kind"], "random_state": 0}
    power = qtkm.QTKMRegressor(**options).fit(rows[FEATURES], rows["power"])
    high = qtkm.QTKMClassifier(**options).fit(rows[FEATURES], rows["high"])
    power.save(folder / "power.qtkm")
    high.save(folder / "high.qtkm")
    return SimpleNamespace(power=folder / "power.qtkm", high=folder / "high.qtkm")
