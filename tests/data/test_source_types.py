"""Types of columns: what each becomes in a block, and what a CSV file is taken to hold."""

import datetime
import decimal

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from qtkm.data.sources import DataFileError, open_source
from qtkm.limits import LIMITS


def values_of(column):
    return column.astype(object).to_numpy() if hasattr(column, "cat") else column


def read(source, name, rows=1 << 17):
    blocks = source.blocks([name], rows)
    return np.concatenate([values_of(block.columns[name]) for block in blocks])


# -- types ------------------------------------------------------------------------------------


def test_integers_in_one_file_and_fractions_in_another_have_one_type(tmp_path):
    whole, parts = pandas.DataFrame({"a": [1, 2]}), pandas.DataFrame({"a": [0.5, 1.5]})
    whole.to_parquet(tmp_path / "1.parquet")
    parts.to_parquet(tmp_path / "2.parquet")
    blocks = list(open_source(tmp_path).blocks(["a"], carry=["a"]))
    assert [block.columns["a"].dtype for block in blocks] == [np.float64, np.float64]
    assert {block.carried["a"].type for block in blocks} == {pyarrow.float64()}
    np.testing.assert_array_equal(read(open_source(tmp_path), "a"), [1, 2, 0.5, 1.5])


def test_large_integers_of_another_type_keep_their_sign(tmp_path):
    for name, column in (("1", np.array([2**64 - 1], np.uint64)), ("2", [-1])):
        pandas.DataFrame({"a": column}).to_parquet(tmp_path / f"{name}.parquet")
    np.testing.assert_array_equal(read(open_source(tmp_path), "a"), [2.0**64, -1])


COLUMNS = {
    "decimal": ([decimal.Decimal("1.5"), None], None, np.float64, [1.5, np.nan]),
    "bool": ([True, None], None, np.float64, [1, np.nan]),
    "null": ([None, None], None, np.float64, [np.nan, np.nan]),
    "half": ([1, 2], pyarrow.float16(), np.float16, [1, 2]),
    "unsigned": ([1, 2], pyarrow.uint8(), np.uint8, [1, 2]),
    "date": ([datetime.date(2020, 1, 2)], None, "M8[ms]", [np.datetime64("2020-01-02")]),
    "time zone": (
        [datetime.datetime(2020, 1, 2)], pyarrow.timestamp("ms", "UTC"), "M8[ms]",
        [np.datetime64("2020-01-02")],
    ),
    "span": ([1000, None], pyarrow.duration("ms"), "m8[ms]", [np.timedelta64(1, "s"), "NaT"]),
    "time of day": ([datetime.time(0, 0, 1)], None, "m8[us]", [np.timedelta64(1, "s")]),
    "time in nanoseconds": (
        [1_000_000_001, None], pyarrow.time64("ns"), "m8[us]", [np.timedelta64(1, "s"), "NaT"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", COLUMNS)
def test_types_of_parquet_become_those_of_numpy(case, tmp_path):
    values, arrow_type, dtype, expected = COLUMNS[case]
    table = pyarrow.table({"a": pyarrow.array(values, type=arrow_type)})
    parquet.write_table(table, tmp_path / "a.parquet")
    (block,) = open_source(tmp_path / "a.parquet").blocks(["a"])
    assert block.columns["a"].dtype == dtype
    np.testing.assert_array_equal(block.columns["a"], np.array(expected, dtype))


@pytest.mark.parametrize(
    "column",
    [
        pyarrow.array(["a", None, "b"]).dictionary_encode(),
        pyarrow.array(["a", None, "b"], type=pyarrow.large_string()),
        pyarrow.array(["a", None, "b"], type=pyarrow.string_view()),
        pyarrow.DictionaryArray.from_arrays([0, 1, 2], ["a", None, "b"]),
        pyarrow.DictionaryArray.from_arrays([0, None, 2], ["a", "a", "b"]),
        pandas.Categorical(["a", None, "b"]),
        polars.Series(["a", None, "b"], dtype=polars.Categorical),
        polars.Series(["a", None, "b"], dtype=polars.Enum(["b", "a"])),
        pandas.Series(["a", None, "b"], dtype=object),
        pandas.Series(["a", None, "b"], dtype="string"),
        ["a", None, "b"],
        ["a", float("nan"), "b"],
    ],
    ids=lambda column: f"{type(column).__name__} {getattr(column, 'type', '')}",
)
def test_text_of_every_kind_is_categories(column):
    (block,) = open_source({"a": pandas.Series(column) if isinstance(column, pandas.Categorical)
                            else column}).blocks(["a"])  # fmt: skip
    values = block.columns["a"]
    assert isinstance(values.dtype, pandas.CategoricalDtype)
    assert values.isna().tolist() == [False, True, False]
    assert values.astype(object)[[0, 2]].tolist() == ["a", "b"]


def test_coded_numbers_stay_categories_if_a_code_is_there_twice():
    numbers = pyarrow.DictionaryArray.from_arrays([0, 1, 2], pyarrow.array([5, 5, 7]))
    assert read(open_source({"a": numbers}), "a").tolist() == [5, 5, 7]
    (block,) = open_source({"a": numbers}).blocks(["a"])
    assert isinstance(block.columns["a"].dtype, pandas.CategoricalDtype)


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pandas.Series([1, 2], dtype="Int32"), np.array([1, 2], np.int32)),
        (pandas.Series([1, None], dtype="Int32"), np.array([1, np.nan])),
        (pandas.Series([1, None], dtype="double[pyarrow]"), np.array([1, np.nan])),
        (pandas.Series([True, False], dtype=object), np.array([True, False])),
        (pandas.Series([decimal.Decimal(1), None]), np.array([1, np.nan])),
        (pandas.Series([None, None], dtype=object), np.array([np.nan, np.nan])),
        (
            pandas.Series(pandas.to_datetime(["2020"]).tz_localize("Europe/Berlin")),
            np.array(["2019-12-31T23"], "M8[us]"),
        ),
        (pandas.Series([datetime.date(2020, 1, 1)]), np.array(["2020-01-01"], "M8[us]")),
        (
            pandas.Series([datetime.date(2020, 1, 1)], dtype="date32[pyarrow]"),
            np.array(["2020-01-01"], "M8[us]"),
        ),
        (np.ma.masked_array([1, 2], [False, True]), np.array([1, np.nan])),
        (polars.Series([1, None]), np.array([1, np.nan])),
    ],
    ids=str,
)
def test_columns_of_frames_become_those_of_numpy(column, expected):
    (block,) = open_source([{"a": column}]).blocks(["a"])
    np.testing.assert_array_equal(block.columns["a"], expected)
    assert block.columns["a"].dtype.kind == expected.dtype.kind


def test_values_that_can_be_no_categories_are_refused():
    with pytest.raises(DataFileError, match=r"column 'a' of batch 1 holds values that can be no"):
        list(open_source({"a": pandas.Series([["x"], ["y"]])}).blocks(["a"]))


# -- CSV --------------------------------------------------------------------------------------


@pytest.fixture
def small_steps(monkeypatch):
    """Let the types of a CSV file follow from its first few rows."""
    monkeypatch.setattr(LIMITS, "parsed_bytes", 200)


def read_text(tmp_path, text, name="a", rows=37):
    path = tmp_path / "a.csv"
    path.write_text(text)
    source = open_source(path)
    first, again = read(source, name, rows), read(source, name, rows)
    # what the first scan has learned of the types changes no value
    pandas.testing.assert_series_equal(
        pandas.Series(first, dtype=object), pandas.Series(again, dtype=object)
    )
    return again


@pytest.mark.usefixtures("small_steps")
def test_fractions_after_many_integers_are_read(tmp_path):
    values = [*range(500), 0.5, *range(10)]
    text = "a,b\n" + "".join(f"{value},x\n" for value in values)
    np.testing.assert_array_equal(read_text(tmp_path, text), values)


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize(("late", "expected"), [("word", "word"), ("2.5", 2.5), ("7", 7)])
def test_what_comes_after_many_missing_entries_is_read(tmp_path, late, expected):
    text = "a,b\n" + 300 * ",1\n" + f"{late},1\n" + 5 * ",1\n"
    values = read_text(tmp_path, text)
    assert values[300] == expected
    assert pandas.isna(values).sum() == 305


@pytest.mark.usefixtures("small_steps")
def test_categories_may_grow_from_step_to_step(tmp_path):
    words = [f"word {k % 97}" for k in range(400)]
    text = "a\n" + "".join(f"{word}\n" for word in words)
    for rows in (1, 10, 1000):
        assert read_text(tmp_path, text, rows=rows).tolist() == words


@pytest.mark.usefixtures("small_steps")
def test_numbers_after_text_are_text(tmp_path):
    words = [*(100 * ["x"]), *(100 * ["1"])]
    text = "a\n" + "".join(f"{word}\n" for word in words)
    assert read_text(tmp_path, text).tolist() == words


@pytest.mark.usefixtures("small_steps")
def test_text_may_have_lines_quotes_and_commas(tmp_path):
    words = [f'line {k}\nnext, "quoted"' for k in range(100)]
    pandas.DataFrame({"a": words, "b": 1}).to_csv(tmp_path / "a.csv", index=False)
    text = (tmp_path / "a.csv").read_text()
    assert read_text(tmp_path, text).tolist() == words


def test_entries_that_pandas_takes_for_missing_are_missing(tmp_path):
    text = "a,b\n1,x\nNA,None\nnan,<NA>\n,\n"
    np.testing.assert_array_equal(read_text(tmp_path, text), [1, np.nan, np.nan, np.nan])
    assert pandas.isna(read_text(tmp_path, text, "b")).tolist() == [False, True, True, True]


def test_tabs_separate_what_is_named_tsv(tmp_path):
    (tmp_path / "a.tsv").write_text("a\tb\n1\tx,y\n")
    (block,) = open_source(tmp_path / "a.tsv").blocks(["a", "b"])
    assert block.columns["b"].tolist() == ["x,y"]


def test_spans_of_time_are_read_from_text_of_csv_files(tmp_path):
    spans = pandas.Series(pandas.to_timedelta([90_061.5, None, -3600, 0], unit="s"))
    spans.to_frame("a").assign(b=["PT1H", "P2D", "-PT1.5S", ""]).to_csv(tmp_path / "a.csv")
    source = open_source(tmp_path / "a.csv")
    np.testing.assert_array_equal(read(source, "a"), spans.to_numpy().astype("m8[us]"))
    seconds = read(source, "b")[:3] / np.timedelta64(1, "s")
    np.testing.assert_array_equal(seconds, [3600, 2 * 86_400, -1.5])


def test_text_after_spans_of_time_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(LIMITS, "parsed_bytes", 1 << 10)
    lines = ["a", *["0 days 00:00:01"] * 500, "soon", *["0 days 00:00:01"] * 500]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(DataFileError, match=r"column 'a' holds .* and .* make it the same kind"):
        list(open_source(tmp_path / "a.csv").blocks(["a"], rows=100))


def test_decimals_are_the_nearest_floats():
    numbers = [decimal.Decimal(n) / 100 for n in range(-500, 500)]
    frame = pyarrow.table({"a": pyarrow.array([*numbers, None])})
    expected = [*map(float, numbers), np.nan]
    np.testing.assert_array_equal(read(open_source(frame), "a"), expected)
