"""Files that are damaged, missing, or do not go together: each is told by its name."""

import os
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from qtkm.data.sources import DataFileError, open_source
from qtkm.limits import LIMITS


def write(path, columns, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.table(columns), path, **options)
    return path


def scan(source, *names):
    source = open_source(source)
    return sum(block.n_rows for block in source.blocks(names or source.names))


# -- files that cannot be read ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.parquet", b"", "is empty: it has 0 bytes"),
        ("a.csv", b"", "is empty: it has 0 bytes"),
        ("a.parquet", b"a,b\n1,2\n3,4\n", "is not a Parquet file: it begins with b'a,b"),
        ("a.csv", b"PAR1 and more PAR1", "is a Parquet file, but its name says CSV"),
        ("a.parquet", b"PAR1" + 50 * b"x", "is cut off after 54 bytes"),
        ("a.parquet", b"PAR1" + 8 * b"x" + b"\x08\0\0\0PAR1", "its footer cannot be read"),
        ("a.csv", b"a,b\n1,2\n3\n", "cannot be read as CSV: .*Expected 2 columns, got 1"),
        ("a.csv", b"a,a\n1,2\n", "several columns of the name 'a'"),
        ("a.csv.gz", b"not packed at all", "cannot be read as CSV"),
        ("a.txt", b"a,b\n", "is neither CSV nor Parquet by its name"),
        ("a.csv", b"a,b\n", "has columns but no rows"),
    ],
)
def test_a_file_that_is_no_table_is_told(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataFileError, match=message) as info:
        open_source(path)
    assert str(path) in str(info.value)


def test_a_parquet_file_that_was_cut_off_is_told(tmp_path):
    path = write(tmp_path / "a.parquet", {"a": np.arange(1000)})
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(DataFileError, match=r"a\.parquet is cut off"):
        open_source(path)


def test_columns_of_equal_names_are_refused(tmp_path):
    table = pyarrow.table([[1], [2]], names=["a", "a"])
    parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(DataFileError, match=r"a\.parquet has several columns of the name 'a'"):
        open_source(tmp_path)
    with pytest.raises(DataFileError, match="batch 1 has several columns of the name 'a'"):
        open_source(table)


@pytest.mark.parametrize("checksum", [True, False])
def test_a_damaged_row_group_is_told_and_those_before_it_are_read(tmp_path, checksum):
    values = np.random.default_rng(0).normal(size=900)
    path = write(
        tmp_path / "a.parquet", {"a": values}, row_group_size=300, use_dictionary=False,
        write_page_checksum=checksum, compression="gzip",
    )  # fmt: skip
    chunk = parquet.read_metadata(path).row_group(1).column(0)
    content = bytearray(path.read_bytes())
    middle = chunk.data_page_offset + chunk.total_compressed_size // 2
    for k in range(middle, middle + 50):
        content[k] ^= 0xFF
    path.write_bytes(content)
    blocks = open_source(path).blocks(["a"])
    np.testing.assert_array_equal(next(blocks).columns["a"], values[:300])
    with pytest.raises(DataFileError, match=r"a\.parquet, row group 2 of 3, cannot be read"):
        next(blocks)


def test_a_packed_file_that_was_cut_off_is_told(tmp_path):
    path = tmp_path / "a.csv.gz"
    numbers = np.random.default_rng(0).normal(size=100_000)
    pandas.DataFrame({"a": numbers}).to_csv(path, index=False, compression={"method": "gzip"})
    path.write_bytes(path.read_bytes()[:-2000])
    with pytest.raises(DataFileError, match=r"a\.csv\.gz.* cannot be read as CSV"):
        scan(path)


def test_a_broken_line_far_down_is_told_with_its_row(tmp_path, monkeypatch):
    monkeypatch.setattr(LIMITS, "parsed_bytes", 200)
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + 200 * "1,2\n" + "1,2,3\n" + 10 * "1,2\n")
    with pytest.raises(DataFileError, match=r"a\.csv, after row \d+, .* Row #202: Expected 2"):
        scan(path)


def test_bytes_that_are_no_text_are_told(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("a,b\n1,Köln\n".encode("latin-1"))
    with pytest.raises(DataFileError, match=r"a\.csv is text in another encoding; save"):
        scan(path)


@pytest.fixture
def open_folder():
    """A folder that other users may look into."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="permissions are those of Unix")
@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_file_that_may_not_be_read_is_told(open_folder, name):
    path = open_folder / name
    path.write_text("a\n1\n")
    path.chmod(0)
    user = os.geteuid()
    if user == 0:  # who may read everything
        os.seteuid(65534)
    try:
        with pytest.raises(DataFileError, match=rf"{name} may not be read by this user"):
            open_source(path)
    finally:
        os.seteuid(user)


# -- paths ------------------------------------------------------------------------------------


def test_paths_without_files_are_told(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nothing\.csv does not exist"):
        open_source(tmp_path / "nothing.csv")
    with pytest.raises(FileNotFoundError, match="is a folder without CSV and Parquet files"):
        open_source(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"No file matches the pattern .*\*\.csv"):
        open_source(f"{tmp_path}/*.csv")
    with pytest.raises(ValueError, match="list of files is empty"):
        open_source([])


def test_formats_are_not_mixed(tmp_path):
    write(tmp_path / "a.parquet", {"a": [1]})
    (tmp_path / "b.csv").write_text("a\n1\n")
    with pytest.raises(DataFileError, match=r"b\.csv is CSV and .*a\.parquet is Parquet"):
        open_source(tmp_path)
    assert scan(f"{tmp_path}/*.parquet") == 1


def test_a_name_with_signs_of_a_pattern_is_a_file_if_it_is_there(tmp_path):
    path = write(tmp_path / "a[1].parquet", {"a": [1]})
    assert scan(str(path)) == 1


# -- files that do not go together ------------------------------------------------------------


def test_a_column_that_one_file_lacks_is_told_unless_nobody_asks_for_it(tmp_path):
    write(tmp_path / "1.parquet", {"a": [1], "b": [1]})
    write(tmp_path / "2.parquet", {"a": [1], "c": [1]})
    source = open_source(tmp_path)
    with pytest.raises(DataFileError, match=r"2\.parquet has no column 'b'; it has 'a', 'c'"):
        source.blocks(["a", "b"])
    assert scan(source, "a") == 2


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_numbers_in_one_file_and_text_in_another_are_told(tmp_path, suffix):
    for k, values in enumerate([[1, 2], ["x", "y"]]):
        frame = pandas.DataFrame({"a": values, "b": 1})
        path = tmp_path / f"{k}.{suffix}"
        frame.to_parquet(path) if suffix == "parquet" else frame.to_csv(path, index=False)
    source = open_source(tmp_path)
    message = (
        rf"'a' holds numbers \(int64\) in .*0\.{suffix} and text \(.*string\) in .*1\.{suffix}"
    )
    with pytest.raises(DataFileError, match=message):
        source.blocks(["a"])
    assert scan(source, "b") == 4


def test_numbers_and_then_text_in_one_csv_file_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(LIMITS, "parsed_bytes", 200)
    path = tmp_path / "a.csv"
    path.write_text("a\n" + 500 * "1\n" + "word\n")
    with pytest.raises(DataFileError, match=r"column 'a' holds numbers .* and then 'word'"):
        scan(path)


def test_numbers_in_one_batch_and_text_in_another_are_told():
    batches = [{"a": [None, None]}, {"a": [1, 2]}, {"a": ["x"]}]
    with pytest.raises(DataFileError, match=r"numbers \(int64\) in batch 2 and text .* in batch 3"):
        scan(batches)


def test_a_column_that_one_batch_lacks_is_told():
    with pytest.raises(DataFileError, match="batch 2 has no column 'a'; it has 'b'"):
        scan([{"a": [1]}, {"b": [1]}])


def test_columns_of_lists_are_refused_unless_nobody_asks_for_them(tmp_path):
    path = write(tmp_path / "a.parquet", {"a": [[1, 2]], "b": [1]})
    with pytest.raises(DataFileError, match=r"column 'a' holds list<.*> in .*a\.parquet; only"):
        open_source(path).blocks(["a"])
    assert scan(path, "b") == 1


def test_files_without_rows_are_passed_over_unless_all_are_such(tmp_path):
    write(tmp_path / "1.parquet", {"a": pyarrow.array([], pyarrow.string())})
    with pytest.raises(DataFileError, match=r"1\.parquet has columns but no rows"):
        open_source(tmp_path)
    write(tmp_path / "2.parquet", {"a": [1, 2]})
    assert scan(tmp_path) == 2
    (tmp_path / "1.csv").write_text("a,b\n")
    (tmp_path / "2.csv").write_text("a,b\n1,2\n")
    assert scan(f"{tmp_path}/*.csv") == 1
    with pytest.raises(DataFileError, match="no rows"):
        scan([{"a": []}, {"a": []}])


# -- changes between the scans ----------------------------------------------------------------


def make_file(tmp_path, name, values):
    path = tmp_path / name
    frame = pandas.DataFrame({"a": values})
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_file_that_changes_is_noticed(tmp_path, name):
    path = make_file(tmp_path, name, [1, 2, 3])
    source = open_source(path)
    source.refuse_changes()
    assert scan(source) == 3
    make_file(tmp_path, name, [1, 2, 3, 4])
    with pytest.raises(DataFileError, match=rf"{name} has changed since the source was opened"):
        source.refuse_changes()
    with pytest.raises(DataFileError, match="has changed"):
        scan(source)
    path.unlink()
    with pytest.raises(DataFileError, match=rf"{name} has vanished"):
        source.refuse_changes()
    with pytest.raises(DataFileError, match=rf"{name} has vanished"):
        scan(source)


def test_other_contents_of_the_same_size_and_time_are_noticed_by_the_footer(tmp_path):
    path = make_file(tmp_path, "a.parquet", [1, 2, 3])
    source, before = open_source(path), path.stat()
    make_file(tmp_path, "a.parquet", [1, 2, 4])
    assert path.stat().st_size == before.st_size
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(DataFileError, match="has changed since the source was opened"):
        source.refuse_changes()


def test_the_fingerprint_tells_files_from_their_later_selves(tmp_path):
    path = make_file(tmp_path, "a.csv", [1, 2])
    first = open_source(path)
    assert first.fingerprint() == open_source(str(path)).fingerprint()
    path.write_text("a\n1\n3\n")
    os.utime(path, ns=(1, 1))
    assert first.fingerprint() != open_source(path).fingerprint()
    assert open_source(np.ones((3, 2))).fingerprint() is None
    assert open_source({"a": [1]}).fingerprint() is None


def test_batches_that_give_other_rows_the_second_time_are_noticed():
    batches = [{"a": [1]}, {"a": [2, 3]}]
    source = open_source(lambda: iter(batches))
    assert scan(source) == 3
    batches.pop()
    with pytest.raises(DataFileError, match="gave 1 rows where it gave 3 before"):
        scan(source)


# -- what is no source ------------------------------------------------------------------------


def generate():
    yield {"a": [1]}


class Same:
    """Gives the same iterator every time."""

    def __init__(self):
        self.iterator = generate()

    def __iter__(self):
        return self.iterator


@pytest.mark.parametrize("make", [generate, lambda: map(dict, [[("a", [1])]]), lambda: iter([])])
def test_what_can_be_read_only_once_is_refused_with_what_to_pass(make):
    with pytest.raises(TypeError, match=r"only once, but at least two scans .* Pass a list"):
        open_source(make())


def test_the_same_iterator_twice_is_refused():
    source, iterator = open_source(Same()), generate()
    with pytest.raises(TypeError, match="only once"):
        scan(source)
    source = open_source(lambda: iterator)
    with pytest.raises(TypeError, match="only once"):
        scan(source)


@pytest.mark.parametrize(
    ("source", "error", "message"),
    [
        (3, TypeError, "The source is a int; expected a path"),
        ([np.ones((2, 2))], TypeError, "batch 1 is a ndarray; expected a frame"),
        ([{"a": [1]}, "a.csv"], TypeError, "mixes paths and batches"),
        (polars.LazyFrame({"a": [1]}), TypeError, "holds no rows yet; .*sink_parquet"),
        (lambda: [], DataFileError, "No batches were given"),
        ([{}], DataFileError, "batch 1 has no columns"),
        ({"a": [1, 2], "b": [1]}, DataFileError, "2 rows in column 'a' and 1 in 'b'"),
        ({"a": 1}, DataFileError, "column 'a' of batch 1 is 1; expected an array"),
        ({"a": "text"}, DataFileError, "column 'a' of batch 1 is 'text'; expected an array"),
        ({"a": np.ones((2, 2))}, DataFileError, r"column 'a' of batch 1 has shape \(2, 2\)"),
    ],
    ids=lambda value: None if isinstance(value, type) else str(value)[:20],
)
def test_what_is_no_source_is_told(source, error, message):
    with pytest.raises(error, match=message):
        scan(source)
