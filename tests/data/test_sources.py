"""Sources: every row once, in order, in blocks of bounded size, as often as one likes."""

import sys

import numpy as np
import pandas
import polars
import pyarrow
import pyarrow.dataset
import pytest

from qtkm.data.sources import ArraySource, Block, DataFileError, Source, open_source

N_ROWS = 1000


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame(
        {
            "number": rng.normal(size=N_ROWS),
            "single": rng.normal(size=N_ROWS).astype(np.float32),
            "count": rng.integers(0, 9, N_ROWS),
            "yes": rng.random(N_ROWS) < 0.5,
            "text": np.array(["x", "y", "z"])[rng.integers(0, 3, N_ROWS)],
        }
    )
    frame["gaps"] = frame["count"].astype("Int64").where(frame["count"] > 2)
    frame["words"] = frame["text"].where(frame["text"] != "z")
    return frame


def write_parquet(frame, folder):
    path = folder / "table.parquet"
    frame.to_parquet(path, row_group_size=300)
    return path


def write_csv(frame, folder, name="table.csv"):
    path = folder / name
    frame.to_csv(path, index=False)
    return path


def write_parts(frame, folder):
    for k, name in enumerate(["b.parquet", "a.parquet", "c/a.parquet"]):
        path = folder / "parts" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        # in the order of their names: a, b, c/a
        begin, end = [(400, 700), (0, 400), (700, N_ROWS)][k]
        frame[begin:end].to_parquet(path)
    (folder / "parts" / "_SUCCESS").touch()
    (folder / "parts" / ".hidden.parquet").write_text("nothing")
    (folder / "parts" / "README.txt").write_text("nothing")
    return folder / "parts"


class Batches:
    """An object that gives its batches whenever it is iterated."""

    def __init__(self, frame):
        self.frame = frame

    def __iter__(self):
        yield self.frame[:10]
        yield self.frame[:0]
        yield self.frame[10:]


SOURCES = {
    "parquet": write_parquet,
    "csv": write_csv,
    "text path": lambda frame, folder: str(write_csv(frame, folder)),
    "csv.gz": lambda frame, folder: write_csv(frame, folder, "table.csv.gz"),
    "csv.bz2": lambda frame, folder: write_csv(frame, folder, "table.CSV.bz2"),
    "folder": write_parts,
    "pattern": lambda frame, folder: f"{write_parts(frame, folder)}/**/[abc].parquet",
    "list of files": lambda frame, folder: [
        write_parts(frame, folder) / name for name in ("a.parquet", "b.parquet", "c/a.parquet")
    ],
    "frame": lambda frame, folder: frame,
    "polars": lambda frame, folder: polars.from_pandas(frame),
    "polars in batches": lambda frame, folder: [
        polars.from_pandas(frame[:500]), polars.from_pandas(frame[500:]),
    ],
    "table": lambda frame, folder: pyarrow.Table.from_pandas(frame),
    "record batches": lambda frame, folder: pyarrow.Table.from_pandas(frame).to_batches(300),
    "dict of arrays": lambda frame, folder: {name: frame[name].to_numpy() for name in frame},
    "dict of lists": lambda frame, folder: frame.to_dict("list"),
    "list of dicts": lambda frame, folder: [
        frame[:77].to_dict("series"), frame[77:].to_dict("series"),
    ],
    "object": lambda frame, folder: Batches(frame),
    "function": lambda frame, folder: lambda: iter(Batches(frame)),
}  # fmt: skip


@pytest.fixture(params=SOURCES)
def source(request, frame, tmp_path):
    return open_source(SOURCES[request.param](frame, tmp_path))


def values_of(column):
    return column.astype(object).to_numpy() if hasattr(column, "cat") else column


def read(source, names, rows=1 << 17):
    blocks = list(source.blocks(names, rows))
    return {
        name: np.concatenate([values_of(block.columns[name]) for block in blocks])
        for name in names
    }  # fmt: skip


def expect(frame, name):
    """Values of a column: numbers, or text with None for missing entries."""
    if name in ("text", "words"):
        return [None if pandas.isna(value) else value for value in frame[name]]
    return frame[name].to_numpy(dtype=float, na_value=np.nan)


def assert_equal(frame, found):
    for name, values in found.items():
        if name in ("text", "words"):
            values = [None if pandas.isna(value) else value for value in values]
            assert values == expect(frame, name)
        elif name == "single":  # text has fewer digits where the file is CSV
            np.testing.assert_array_equal(values.astype(np.float32), frame[name])
        else:
            np.testing.assert_array_equal(values.astype(float), expect(frame, name))


@pytest.mark.parametrize("rows", [17, 300, 5000])
def test_a_source_gives_every_row_in_order_in_blocks_of_at_most_so_many(source, frame, rows):
    assert source.names == list(frame)
    assert_equal(frame, read(source, source.names, rows))
    first = 0
    for block in source.blocks(["count"], rows):
        assert 1 <= block.n_rows <= rows
        assert block.first_row == first
        assert len(block.columns["count"]) == block.n_rows
        first += block.n_rows
    assert first == N_ROWS


def test_numbers_are_arrays_and_text_is_a_series_of_categories(source):
    for block in source.blocks(source.names, 250):
        for name, column in block.columns.items():
            if name in ("text", "words"):
                assert isinstance(column.dtype, pandas.CategoricalDtype)
            else:
                assert isinstance(column, np.ndarray)
                assert column.dtype.kind in "biuf"
        assert block.columns["count"].dtype.kind in "iu"
        assert block.columns["yes"].dtype == bool
        assert block.columns["gaps"].dtype == np.float64


def test_only_the_columns_that_are_named_are_given_in_that_order(source):
    block = next(source.blocks(["yes", "number"]))
    assert list(block.columns) == ["yes", "number"]


def test_several_scans_may_run_at_a_time_and_be_given_up(source, frame):
    one, two = source.blocks(["number"], 100), source.blocks(["number"], 100)
    next(one)
    n_rows = next(two).n_rows + next(two).n_rows
    one.close()
    assert sum(block.n_rows for block in two) == N_ROWS - n_rows
    assert_equal(frame, read(source, ["number"]))


def test_columns_that_are_carried_keep_their_type(source, frame):
    blocks = list(source.blocks(["number"], 300, carry=["count", "text"]))
    assert list(blocks[0].columns) == ["number"]
    carried = pyarrow.chunked_array([block.carried["count"] for block in blocks])
    assert carried.to_pylist() == frame["count"].to_list()
    text = [value for block in blocks for value in block.carried["text"].to_pylist()]
    assert text == frame["text"].to_list()


def test_an_unknown_column_is_refused_before_anything_is_read(source):
    with pytest.raises(DataFileError, match=r"no column 'numbr'; it has 'number'"):
        source.blocks(["numbr"])
    with pytest.raises(ValueError, match="rows=0"):
        source.blocks(["number"], 0)
    with pytest.raises(ValueError, match="No column"):
        source.blocks([])


def test_the_number_of_rows_is_known_for_parquet_and_guessed_for_csv(frame, tmp_path):
    assert open_source(write_parquet(frame, tmp_path)).n_rows == N_ROWS
    assert open_source(write_parts(frame, tmp_path)).n_rows == N_ROWS
    assert open_source([frame, frame]).n_rows == 2 * N_ROWS
    source = open_source(write_csv(frame, tmp_path))
    assert source.n_rows is None
    assert source.expected_rows() == N_ROWS
    packed = open_source(write_csv(frame, tmp_path, "packed.csv.gz"))
    assert packed.expected_rows() is None


def test_blocks_tell_where_they_stand(frame, tmp_path):
    path = write_parquet(frame, tmp_path)
    wheres = [block.where for block in open_source(path).blocks(["count"], 200)]
    assert wheres[:3] == [f"{path}, row group {k} of 4" for k in (1, 1, 2)]
    path = write_csv(frame, tmp_path)
    wheres = [block.where for block in open_source(path).blocks(["count"], 600)]
    assert wheres == [f"{path}, rows 1 to 600", f"{path}, rows 601 to 1,000"]
    wheres = [block.where for block in open_source([frame, frame]).blocks(["count"])]
    assert wheres == ["batch 1", "batch 2"]


def test_a_source_is_passed_through(frame):
    source = open_source(frame)
    assert open_source(source) is source

    class Mine(Source):
        names = ("a",)

        def blocks(self, columns, rows=10, carry=()):
            yield Block({"a": np.arange(3)}, 3, 0, "mine")

    mine = Mine()
    assert open_source(mine) is mine


# -- arrays -----------------------------------------------------------------------------------


def test_arrays_and_memory_maps_are_sources(tmp_path):
    rng = np.random.default_rng(0)
    X, y, weight = rng.normal(size=(50, 3)), rng.normal(size=(50, 2)), rng.random(50)
    source = ArraySource(X, y, weight)
    assert source.names == ["x0", "x1", "x2", "y0", "y1", "weight"]
    found = read(source, source.names, 7)
    np.testing.assert_array_equal(np.column_stack(list(found.values())), np.c_[X, y, weight])
    for name, array in {"X": X, "y": y[:, 0]}.items():
        np.save(tmp_path / f"{name}.npy", array)
    mapped = [np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in "Xy"]
    source = open_source(tuple(mapped))
    assert source.names == ["x0", "x1", "x2", "y"]
    np.testing.assert_array_equal(read(source, ["x1"], 7)["x1"], X[:, 1])
    block = next(source.blocks(["x0"]))
    assert type(block.columns["x0"]) is np.ndarray
    assert open_source(X).names == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.ones(3),), "X has 1 dimensions; expected 2"),
        ((np.ones((3, 2)), np.ones(4)), "X has 3 rows and y has 4"),
        ((np.ones((0, 2)),), "no rows"),
    ],
)
def test_arrays_that_do_not_go_together_are_refused(arrays, message):
    with pytest.raises(ValueError, match=message):
        ArraySource(*arrays)


def test_a_dataset_of_pyarrow_is_refused_because_it_may_filter_rows(frame, tmp_path):
    path = write_parquet(frame, tmp_path)
    some = pyarrow.dataset.dataset(path).filter(pyarrow.dataset.field("a") > 0)
    with pytest.raises(TypeError, match=r"may filter rows.* pass source\.files"):
        open_source(some)
    assert open_source(some.files).paths == [path]


def test_folders_that_links_lead_to_are_not_read_again(tmp_path):
    for name, target in (("2024", "."), ("2025", "../2024")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "rows.csv").write_text("a\n1\n")
        (tmp_path / name / "linked").symlink_to(target)
    expected = [tmp_path / "2024" / "rows.csv", tmp_path / "2025" / "rows.csv"]
    assert open_source(tmp_path).paths == expected


# -- packages ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.parquet", "a.csv"])
def test_a_missing_package_is_told_with_what_to_install(frame, tmp_path, monkeypatch, name):
    path = tmp_path / name
    frame.to_parquet(path) if name.endswith("parquet") else frame.to_csv(path)
    found = __import__("importlib.util").util.find_spec
    hide = lambda module, *rest: None if module == "pyarrow" else found(module, *rest)  # noqa: E731
    monkeypatch.setattr("importlib.util.find_spec", hide)
    with pytest.raises(ModuleNotFoundError, match=r'with pyarrow.*pip install "qtkm\[data\]"'):
        open_source(path)


def test_the_library_alone_loads_neither_pyarrow_nor_pandas():
    import subprocess

    program = "import sys, qtkm, qtkm.data.sources; print({'pyarrow', 'pandas'} & set(sys.modules))"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.strip() == "set()", run.stderr


def test_the_index_of_a_frame_is_no_column_unless_it_is_asked_for(frame, tmp_path):
    plain = frame[["number", "count"]]
    for name, kept in (("unnamed", plain[3::2]), ("named", plain.set_index("count"))):
        kept.to_parquet(tmp_path / f"{name}.parquet")
    unnamed, named = (open_source(tmp_path / f"{name}.parquet") for name in ("unnamed", "named"))
    assert unnamed.names == ["number", "count"]
    assert named.names == ["number"]
    index = np.concatenate([block.columns["count"] for block in named.blocks(["count"])])
    np.testing.assert_array_equal(index, frame["count"])
