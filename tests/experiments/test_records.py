"""Raw results that survive whatever ends a run."""

import json

import numpy as np
import pytest

from qtkm.experiments.runs import Fit, Records

KEYS, VALUES = ("set", "seed"), ("error",)


def make(path, **settings):
    return Records(path, KEYS, VALUES, settings)


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


def test_a_line_that_was_cut_off_is_dropped_and_the_file_goes_on(tmp_path):
    path = tmp_path / "raw.csv"
    records = make(path)
    for seed in range(3):
        records.append({"set": "yacht", "seed": seed, "error": seed / 7})
    text, whole = path.read_text(), rows_of(records)
    for length in range(len(text)):
        path.write_text(text[:length])
        again = make(path)
        before = rows_of(again)
        assert before == whole[: len(before)]
        again.append({"set": "yacht", "seed": 9, "error": 0.5})
        assert rows_of(make(path)) == [*before, ("yacht", 9, 0.5)]


def test_other_settings_are_not_mixed(tmp_path):
    path = tmp_path / "raw.csv"
    make(path, tolerance=1e-3).append({"set": "yacht", "seed": 0, "error": 1.0})
    make(path, tolerance=1e-3)
    with pytest.raises(ValueError, match=r"tolerance \(there 0.001, here 0.01\); choose another"):
        make(path, tolerance=1e-2)
    assert json.loads(path.with_suffix(".settings.json").read_text()) == {"tolerance": 1e-3}


def test_a_file_of_other_columns_is_left_alone(tmp_path):
    path = tmp_path / "raw.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="has columns a, b where set, seed, error were expected"):
        make(path)
    assert path.read_text() == "a,b\n1,2\n"
