"""The airline table, built from small files in the format of the ASA Data Expo 2009."""

import bz2
import gzip

import numpy as np
import pandas as pd
import pytest

from qtkm.datasets import _files, flights, load_airline

NAMES = ["Month", "DayofMonth", "DayOfWeek", "plane_age"]
NAMES += ["AirTime", "Distance", "ArrTime", "DepTime"]

# Whole rows of N1 and N5, around flights that were cancelled, diverted, of planes with no year
# (None, blank, 0000, not in the register, no tail number) or with no time in the air.
FLIGHTS = """\
Year,Month,DayofMonth,DayOfWeek,DepTime,ArrTime,TailNum,AirTime,ArrDelay,Distance,Cancelled,\
CancellationCode,Diverted
2008,1,3,4,2003,2211,N1,116,-14,810,0,,0
2008,1,3,4,NA,NA,N1,NA,NA,810,1,A,0
2008,1,3,4,754,NA,N1,NA,NA,810,0,,1
2008,1,3,4,628,804,N2,76,14,515,0,,0
2008,1,3,4,926,1054,N3,78,-6,515,0,,0
2008,1,3,4,1829,1959,N4,77,34,515,0,,0
2008,1,3,4,1940,2121,N9,87,11,688,0,,0
2008,1,3,4,1937,2037,,230,57,1591,0,,0
2008,1,3,4,1039,1132,N5,NA,1,828,0,,0
2008,12,31,3,2400,5,N5,98,123,1009,0,,0
"""
PLANES = """\
tailnum,type,manufacturer,issue_date,model,status,aircraft_type,engine_type,year
N1,Corporation,BOEING,01/26/1998,737,Valid,Fixed Wing Multi-Engine,Turbo-Fan,1998
N2,Corporation,BOEING,01/26/1998,737,Valid,Fixed Wing Multi-Engine,Turbo-Fan,None
N3,Corporation,BOEING,01/26/1998,737,Valid,Fixed Wing Multi-Engine,Turbo-Fan,0000
N4
N5,Corporation,BOEING,01/26/1998,737,Valid,Fixed Wing Multi-Engine,Turbo-Fan,2008
"""
TABLE = pd.DataFrame(
    [[1, 3, 4, 10, 116, 810, 1331, 1203, -14], [12, 31, 3, 0, 98, 1009, 5, 1440, 123]],
    columns=[*NAMES, "ArrDelay"],
    dtype=np.int32,
)
KEPT = "airline_2008_8feat.parquet"


@pytest.fixture
def home(tmp_path):
    (tmp_path / "flights").mkdir()
    (tmp_path / "flights" / "2008.csv").write_text(FLIGHTS)
    (tmp_path / "flights" / "plane-data.csv").write_text(PLANES)
    return tmp_path


def test_table(home):
    flights = load_airline(data_home=home, expected_rows=2)
    pd.testing.assert_frame_equal(flights.frame, TABLE)
    assert flights.feature_names == list(flights.data.columns) == NAMES
    assert flights.target.tolist() == [-14, 123]
    assert "2008.csv" in flights.source
    assert "plane_age " in flights.DESCR


def test_arrays(home):
    X, y = load_airline(data_home=home, expected_rows=2, as_frame=False, return_X_y=True)
    assert X.dtype == y.dtype == np.float64
    np.testing.assert_array_equal(X, TABLE[NAMES])


@pytest.mark.parametrize(("suffix", "compress"), [("bz2", bz2.compress), ("gz", gzip.compress)])
def test_compressed_files(home, suffix, compress):
    (home / "flights" / "2008.csv").unlink()
    (home / "flights" / f"2008.csv.{suffix}").write_bytes(compress(FLIGHTS.encode()))
    pd.testing.assert_frame_equal(load_airline(data_home=home, expected_rows=2).frame, TABLE)


@pytest.mark.parametrize("n_rows", [1, 3, 4])
def test_blocks_do_not_matter(home, monkeypatch, n_rows):
    monkeypatch.setattr(flights, "_BLOCK", n_rows)
    pd.testing.assert_frame_equal(load_airline(data_home=home, expected_rows=2).frame, TABLE)


def test_another_number_of_rows_is_an_error_with_the_reasons(home):
    expected = (
        r"give 2 rows, expected 5929413; skipped were 2 cancelled or diverted, "
        r"5 without year, 1 without a value\."
    )
    with pytest.raises(ValueError, match=expected):
        load_airline(data_home=home)
    assert not (home / "flights" / KEPT).exists()


def test_no_expectation_takes_what_there_is(home):
    assert len(load_airline(data_home=home, expected_rows=None).data) == 2


class TestKept:
    @pytest.fixture(autouse=True)
    def parquet(self):
        pytest.importorskip("pyarrow")

    def test_the_built_table_is_read_the_next_time(self, home):
        load_airline(data_home=home, expected_rows=2)
        for name in ("2008.csv", "plane-data.csv"):
            (home / "flights" / name).unlink()
        again = load_airline(data_home=home, expected_rows=2)
        pd.testing.assert_frame_equal(again.frame, TABLE)
        assert again.source == str(home / "flights" / KEPT)
        assert [file.name for file in (home / "flights").iterdir()] == [KEPT]

    def test_a_table_of_another_size_is_built_again(self, home):
        TABLE.iloc[:1].to_parquet(home / "flights" / KEPT)
        assert len(load_airline(data_home=home, expected_rows=2).data) == 2
        assert len(pd.read_parquet(home / "flights" / KEPT)) == 2

    def test_without_expectation_nothing_is_kept(self, home):
        load_airline(data_home=home, expected_rows=None)
        assert not (home / "flights" / KEPT).exists()

    def test_without_pyarrow_it_is_built_every_time(self, home, hide):
        hide("pyarrow")
        pd.testing.assert_frame_equal(load_airline(data_home=home, expected_rows=2).frame, TABLE)
        assert not (home / "flights" / KEPT).exists()

    def test_a_home_that_cannot_be_written_to_is_no_obstacle(self, home, monkeypatch):
        def refuse(*_):
            raise PermissionError

        monkeypatch.setattr("os.replace", refuse)
        before = sorted(home.rglob("*"))
        assert len(load_airline(data_home=home, expected_rows=2).data) == 2
        assert sorted(home.rglob("*")) == before


class TestDownload:
    @pytest.fixture
    def public(self, site, monkeypatch):
        """The addresses in the Dataverse lead to the site on this machine."""
        site.files = {"EIR0RA": bz2.compress(FLIGHTS.encode()), "XXSL8A": PLANES.encode()}
        fetch = _files.fetch

        def redirect(url, file):
            assert url.startswith("https://dataverse.harvard.edu/")
            fetch(f"{site.url}/{url.rpartition('/')[2]}", file)

        monkeypatch.setattr(_files, "fetch", redirect)
        return site

    def test_both_files_are_fetched_once(self, public, tmp_path):
        first = load_airline(data_home=tmp_path / "new", download=True, expected_rows=None)
        pd.testing.assert_frame_equal(first.frame, TABLE)
        again = load_airline(data_home=tmp_path / "new", download=True, expected_rows=None)
        pd.testing.assert_frame_equal(again.frame, TABLE)
        assert public.asked == ["EIR0RA", "XXSL8A"]

    def test_only_what_is_missing_is_fetched(self, public, home):
        (home / "flights" / "plane-data.csv").unlink()
        load_airline(data_home=home, download=True, expected_rows=2)
        assert public.asked == ["XXSL8A"]

    def test_a_changed_file_is_noticed(self, public, tmp_path):
        load_airline(data_home=tmp_path, download=True, expected_rows=None)
        (tmp_path / "downloads" / "plane-data.csv").write_text(PLANES.replace("1998", "1997"))
        with pytest.raises(OSError, match="when it was downloaded"):
            load_airline(data_home=tmp_path, expected_rows=None)


@pytest.mark.parametrize(
    ("name", "address"), [("2008.csv", "EIR0RA"), ("plane-data.csv", "XXSL8A")]
)
def test_a_missing_file_is_named_with_its_address(home, name, address):
    (home / "flights" / name).unlink()
    with pytest.raises(FileNotFoundError, match=rf"none of {name}.*{address}.*download=True"):
        load_airline(data_home=home, expected_rows=2)
