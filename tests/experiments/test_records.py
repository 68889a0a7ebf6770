"""Raw results that survive whatever ends a run."""

import json

import numpy as np
import pytest

from qtkm.experiments.runs import Fit, Options, Records

KEYS, VALUES = ("set", "seed"), ("error",)


def make(path, **settings):
    return Records(Options(path.parent, command="qtkm"), path.stem, KEYS, VALUES, settings)


def rows_of(records):
    return list(records.frame.itertuples(index=False, name=None))


def test_rows_come_back_as_they_were(tmp_path):
    path = tmp_path / "new" / "raw.csv"
    records = make(path)
    records.append({"set": "yacht, big", "seed": 1, "error": 0.1 + 0.2})
    records.append({"set": "wine", "seed": 2, "error": None})
    again = make(path)
    missing = pytest.approx(np.nan, nan_ok=True)
    assert rows_of(again) == [("yacht, big", 1, 0.1 + 0.2), ("wine", 2, missing)]
    fits = [Fit({"set": name, "seed": 2}, make) for name in ("yacht, big", "wine")]
    assert again.left(fits) == fits[:1]


def test_whatever_ends_a_run_the_file_is_whole(tmp_path, monkeypatch):
    path = tmp_path / "raw.csv"
    records = make(path)
    records.append({"set": "yacht", "seed": 0, "error": 1 / 7})
    whole = rows_of(records)

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", stop)
        with pytest.raises(KeyboardInterrupt):
            records.append({"set": "yacht", "seed": 1, "error": 0.5})
    again = make(path)
    assert rows_of(again) == whole == [("yacht", 0, 1 / 7)]
    again.append({"set": "yacht", "seed": 9, "error": 0.5})
    assert rows_of(make(path)) == [*whole, ("yacht", 9, 0.5)]


def test_other_settings_are_not_mixed(tmp_path):
    path = tmp_path / "raw.csv"
    make(path, tolerance=1e-3).append({"set": "yacht", "seed": 0, "error": 1.0})
    make(path, tolerance=1e-3)
    with pytest.raises(ValueError, match=r"tolerance \(there 0.001, here 0.01\); choose another"):
        make(path, tolerance=1e-2)
    kept = json.loads(path.with_suffix(".settings.json").read_text())
    assert kept.pop("made").startswith("Made by `qtkm` on ")
    assert kept == {"tolerance": 1e-3}


def test_a_file_of_other_columns_is_left_alone(tmp_path):
    path = tmp_path / "raw.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="has columns a, b where set, seed, error were expected"):
        make(path)
    assert path.read_text() == "a,b\n1,2\n"
