"""Sources of some rows of another, and rows drawn by their numbers."""

import numpy as np
import pandas
import pytest

from qtkm.data.sources import DataFileError, open_source
from qtkm.data.sources.files import FileSource, find_files
from qtkm.data.sources.source import MappedSource, draw_rows, take_rows

N_ROWS = 1000


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    kinds = np.array(["x", "y", "z"])[rng.integers(0, 3, N_ROWS)]
    return pandas.DataFrame({"a": np.arange(N_ROWS), "b": rng.normal(size=N_ROWS), "kind": kinds})


def drawn(source, rows, share=0.3, seed=1):
    """Numbers of the rows that are drawn from a source."""
    parts = [block.first_row + np.flatnonzero(draw_rows(block, share, seed))
             for block in source.blocks(["a"], rows)]  # fmt: skip
    return np.concatenate(parts)


def test_the_same_rows_are_drawn_whatever_the_blocks(frame):
    source = open_source(frame)
    expected = drawn(source, N_ROWS)
    for rows in (1, 7, 400):
        np.testing.assert_array_equal(drawn(source, rows), expected)


def test_rows_are_drawn_as_if_at_random():
    source = open_source({"a": np.arange(200_000)})
    first, second = (drawn(source, 100_000, 0.3, seed) for seed in (1, 2))
    for rows in (first, second):
        assert abs(len(rows) / 200_000 - 0.3) < 0.005
    both = len(np.intersect1d(first, second)) / 200_000
    assert abs(both - 0.09) < 0.005
    # a row says nothing of the next one
    neighbours = len(np.intersect1d(first, first + 1)) / 200_000
    assert abs(neighbours - 0.09) < 0.005
    assert len(drawn(source, 100_000, 0.0)) == 0


@pytest.mark.parametrize("rows", [50, 2000])
def test_some_rows_of_a_source_are_a_source(frame, rows, tmp_path):
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=300)

    def few(block):
        return take_rows(block, block.columns["a"] >= 310)

    source = MappedSource(open_source(tmp_path / "a.parquet"), few, needs=["a"], share=0.5)
    assert source.expected_rows() == 500
    for _ in range(2):
        blocks = list(source.blocks(["kind", "b"], rows, carry=["a"]))
        assert all(set(block.columns) == {"kind", "b"} for block in blocks)
        assert [block.first_row for block in blocks] == [
            sum(block.n_rows for block in blocks[:k]) for k in range(len(blocks))
        ]
        texts = pandas.concat([block.columns["kind"].astype(str) for block in blocks])
        assert texts.tolist() == frame["kind"][310:].tolist()
        carried = np.concatenate([block.carried["a"].to_numpy() for block in blocks])
        np.testing.assert_array_equal(carried, np.arange(310, N_ROWS))
        assert source.expected_rows() == source.n_rows == 690
    assert source.paths == [tmp_path / "a.parquet"]


def test_other_rows_have_another_fingerprint(frame, tmp_path):
    frame.to_parquet(tmp_path / "a.parquet")
    inner = open_source(tmp_path / "a.parquet")
    prints = {MappedSource(inner, lambda b: b, rule=rule).fingerprint() for rule in ("", "x", "y")}
    assert len(prints) == 3
    assert MappedSource(open_source(frame), lambda b: b).fingerprint() is None


def test_changes_are_told_from_within(frame, tmp_path):
    frame.to_parquet(tmp_path / "a.parquet")
    source = MappedSource(open_source(tmp_path / "a.parquet"), lambda block: block)
    frame[:10].to_parquet(tmp_path / "a.parquet")
    with pytest.raises(DataFileError, match="has changed"):
        source.refuse_changes()


# -- columns of text ----------------------------------------------------------------------------


def read(source, name):
    """A column, as a list."""
    return [value for block in source.blocks([name]) for value in list(block.columns[name])]


def test_csv_columns_are_what_pandas_takes_them_for(frame, tmp_path):
    frame["day"] = "2026-01-01"
    frame["time"] = "05:30:00"
    frame.to_csv(tmp_path / "a.csv")  # with row numbers that have no name
    source = FileSource(*find_files([tmp_path / "a.csv"]))
    expected = pandas.read_csv(tmp_path / "a.csv")
    assert source.names == list(expected.columns)
    for name in expected:
        if name not in ("day", "time"):  # which pandas leaves as text
            assert read(source, name) == expected[name].tolist()
    assert read(source, "day")[0] == np.datetime64("2026-01-01")


def test_numbers_are_text_where_asked_for(tmp_path):
    # text far behind the rows by which types are told
    values = ["1"] * 400_000 + ["one"]
    (tmp_path / "a.csv").write_text("\n".join(["a,b", *(f"{value},2" for value in values)]))
    files = find_files([tmp_path / "a.csv"])
    assert read(FileSource(*files, ["a"]), "a") == values
    with pytest.raises(DataFileError, match=r"holds numbers .* and then 'one'"):
        read(FileSource(*files), "a")
    assert set(read(FileSource(*files, ["a"]), "b")) == {2}


def test_a_parquet_file_says_itself_what_it_holds(frame, tmp_path):
    frame.to_parquet(tmp_path / "a.parquet")
    source = FileSource(*find_files([tmp_path / "a.parquet"]), ["a"])
    assert read(source, "a") == frame["a"].tolist()
