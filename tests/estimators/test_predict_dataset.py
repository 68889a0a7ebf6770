"""Predictions from disk to disk: those of `predict`, whole or not at all."""

import datetime
import os

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from pyarrow import parquet

from qtkm.data.sources import ArraySource, DataFileError
from qtkm.limits import LIMITS

NAMES = ["a", "b", "c", "kind"]


@pytest.fixture(autouse=True)
def _short_steps(monkeypatch):
    """Let a small table have many steps."""
    monkeypatch.setattr(LIMITS, "predict_rows", 16)


@pytest.fixture(scope="module")
def frame(X):
    rng = np.random.default_rng(1)
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    frame["c"] = np.round(frame["c"] * 5).astype(int)
    frame["kind"] = np.array(["x", "y", "z"])[rng.integers(0, 3, len(X))]
    frame["id"] = np.arange(len(X)) + 2**60
    frame["day"] = [datetime.date(2020, 1, 1 + k % 30) for k in range(len(X))]
    return frame


@pytest.fixture
def fitted(frame, y, make):
    model = make(categorical_features=["kind"])
    return model.fit(frame[NAMES], y)


@pytest.fixture
def table(frame, tmp_path):
    path = tmp_path / "table.parquet"
    frame.to_parquet(path, row_group_size=37)
    return path


def left_in(folder):
    return sorted(path.name for path in folder.iterdir())


# -- the same as predict ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("network", "out"),
    [("cpd", "out.parquet"), ("train", "out.csv"), ("tucker", "new/out.csv.gz"), ("cpd", "a.pq")],
)
def test_predictions_are_those_of_the_whole_table_bit_for_bit(
    frame, y, make, table, tmp_path, network, out
):
    model = make(categorical_features=["kind"], network=network, rank=2).fit(frame[NAMES], y)
    n_rows = model.predict_dataset(table, tmp_path / out)
    assert n_rows == len(frame)
    read = pandas.read_csv if ".csv" in out else pandas.read_parquet
    found = read(tmp_path / out)
    assert list(found) == ["prediction"]
    expected = model.predict(frame[NAMES])
    if ".csv" in out:  # pandas rounds what it reads, Python does not
        text = pandas.read_csv(tmp_path / out, dtype=str)["prediction"]
        np.testing.assert_array_equal([float(entry) for entry in text], expected)
    else:
        np.testing.assert_array_equal(found["prediction"], expected)


def cut_csv(frame, folder):
    frame.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def cut_parts(frame, folder):
    for k, (begin, end) in enumerate([(0, 1), (1, 3), (3, 90), (90, 91), (91, 120)]):
        frame[begin:end].to_parquet(folder / f"part-{k}.parquet")
    return f"{folder}/part-*.parquet"


SOURCES = {
    "csv": cut_csv,
    "parts": cut_parts,
    "frame": lambda frame, folder: frame,
    "batches": lambda frame, folder: [frame[:5], frame[5:50], frame[50:]],
    "polars": lambda frame, folder: [polars.from_pandas(frame[:5]), polars.from_pandas(frame[5:])],
    "function": lambda frame, folder: lambda: (frame[k : k + 11] for k in range(0, 120, 11)),
}


@pytest.mark.parametrize("name", SOURCES)
def test_however_the_rows_come_the_predictions_are_the_same(fitted, frame, tmp_path, name):
    source = SOURCES[name](frame, tmp_path)
    assert fitted.predict_dataset(source, tmp_path / "out.parquet", keep=["id", "kind"]) == 120
    found = pandas.read_parquet(tmp_path / "out.parquet")
    assert list(found) == ["id", "kind", "prediction"]
    np.testing.assert_array_equal(found["prediction"], fitted.predict(frame[NAMES]))
    assert found["id"].tolist() == frame["id"].tolist()
    assert found["kind"].tolist() == frame["kind"].tolist()


def test_columns_that_are_kept_keep_type_and_gaps(fitted, frame, tmp_path):
    frame = frame.assign(
        seen=pandas.array([None, *range(119)], dtype="Int64"),
        when=pandas.date_range("2020", periods=120, tz="Europe/Berlin"),
        note=[None] * 100 + ["late"] * 20,
    )
    frame.to_parquet(tmp_path / "in.parquet", row_group_size=50)
    keep = ["seen", "when", "day", "note", "a"]
    fitted.predict_dataset(tmp_path / "in.parquet", tmp_path / "out.parquet", keep=keep)
    given = parquet.read_table(tmp_path / "in.parquet").select(keep)
    found = parquet.read_table(tmp_path / "out.parquet")
    assert found.column_names == [*keep, "prediction"]
    for name in keep:
        assert found.column(name).type == given.column(name).type
        assert found.column(name).to_pylist() == given.column(name).to_pylist()


def test_missing_entries_that_become_text_later_are_kept(fitted, frame, tmp_path, monkeypatch):
    monkeypatch.setattr(LIMITS, "parsed_bytes", 400)
    frame.assign(note=[None] * 100 + ["late"] * 20).to_csv(tmp_path / "in.csv", index=False)
    batches = [frame[:50].assign(note=None), frame[50:].assign(note="late")]
    fitted.predict_dataset(batches, tmp_path / "out.parquet", keep="note")
    notes = parquet.read_table(tmp_path / "out.parquet").column("note").to_pylist()
    assert notes == [None] * 50 + ["late"] * 70
    fitted.predict_dataset(tmp_path / "in.csv", tmp_path / "out.parquet", keep="note")
    notes = parquet.read_table(tmp_path / "out.parquet").column("note").to_pylist()
    assert notes == [None] * 100 + ["late"] * 20


def test_a_kept_column_that_changes_its_type_is_told(fitted, frame, tmp_path):
    batches = [frame[:50].assign(note=1), frame[50:].assign(note="late")]
    with pytest.raises(DataFileError, match=r"'note' of keep is .*string in batch 2, but int64"):
        fitted.predict_dataset(batches, tmp_path / "out.parquet", keep=["note"])
    assert left_in(tmp_path) == []


def test_several_outputs_have_a_column_each(make, X, y, tmp_path):
    model = make().fit(X, np.column_stack([y, -y]))
    model.predict_dataset(X, tmp_path / "out.parquet")
    found = pandas.read_parquet(tmp_path / "out.parquet")
    assert list(found) == ["prediction 0", "prediction 1"]
    np.testing.assert_array_equal(found, model.predict(X))


@pytest.mark.parametrize("labels", ["two", "three"])
def test_classes_are_labels_or_probabilities(classify, X, labels, request, tmp_path):
    target = request.getfixturevalue(labels)
    model = classify().fit(X, target)
    out = tmp_path / "out.parquet"
    model.predict_dataset(X, out)
    found = pandas.read_parquet(out)["prediction"].to_numpy()
    np.testing.assert_array_equal(found, model.predict(X))
    model.predict_dataset(X, out, proba=True)
    found = pandas.read_parquet(out)
    assert list(found) == [f"probability of {label}" for label in model.classes_]
    np.testing.assert_array_equal(found, model.predict_proba(X))


# -- which columns ----------------------------------------------------------------------------


def test_a_model_without_names_takes_columns_by_their_place(make, X, y, tmp_path):
    model, out = make().fit(X, y), tmp_path / "out.parquet"
    frame = pandas.DataFrame(X, columns=["p", "q", "r"]).assign(id=range(len(X)))
    model.predict_dataset(frame, out, keep=["id"])
    np.testing.assert_array_equal(pandas.read_parquet(out)["prediction"], model.predict(X))
    with pytest.raises(ValueError, match="source has 4 columns, but the model was fitted to 3"):
        model.predict_dataset(frame, out)
    model.predict_dataset(frame, out, columns=["r", "q", "p"])
    found = pandas.read_parquet(out)["prediction"]
    np.testing.assert_array_equal(found, model.predict(X[:, ::-1]))
    model.predict_dataset(ArraySource(X, y), out, columns=["x0", "x1", "x2"], keep=["y"])
    assert list(pandas.read_parquet(out)) == ["y", "prediction"]


def test_text_serves_a_model_without_names(make, X, y, tmp_path):
    rows = np.column_stack([X[:, :2].round(2).astype(object), np.repeat(["u", "v", None], 40)])
    model = make(categorical_features=[2]).fit(rows, y)
    model.predict_dataset(rows, tmp_path / "out.parquet")
    found = pandas.read_parquet(tmp_path / "out.parquet")["prediction"]
    np.testing.assert_array_equal(found, model.predict(rows))


def test_columns_of_other_names_may_stand_for_those_of_the_fit(fitted, frame, tmp_path):
    other = frame.rename(columns={name: f"my {name}" for name in NAMES})
    columns = [f"my {name}" for name in NAMES]
    fitted.predict_dataset(other, tmp_path / "out.parquet", columns=columns)
    found = pandas.read_parquet(tmp_path / "out.parquet")["prediction"]
    np.testing.assert_array_equal(found, fitted.predict(frame[NAMES]))


def test_what_cannot_be_asked_for_is_told_and_nothing_is_written(fitted, frame, tmp_path):
    (tmp_path / "empty").mkdir()
    out = tmp_path / "empty" / "out.parquet"
    with pytest.raises(ValueError, match=r"columns names 2 columns, but .* fitted to 4"):
        fitted.predict_dataset(frame, out, columns=["a", "b"])
    with pytest.raises(DataFileError, match="no column 'kind'"):
        fitted.predict_dataset(frame.drop(columns="kind"), out)
    with pytest.raises(DataFileError, match="no column 'nothing'"):
        fitted.predict_dataset(frame, out, keep=["nothing"])
    with pytest.raises(ValueError, match=r"proba=True is not available: .* is not a classifier"):
        fitted.predict_dataset(frame, out, proba=True)
    with pytest.raises(ValueError, match="keep contains 'prediction'"):
        fitted.predict_dataset(frame.assign(prediction=1), out, keep=["prediction"])
    with pytest.raises(ValueError, match=r"out\.txt is neither CSV nor Parquet"):
        fitted.predict_dataset(frame, out.with_suffix(".txt"))
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        fitted.predict_dataset(frame, tmp_path / "empty")
    assert left_in(tmp_path / "empty") == []


def test_a_classifier_without_probabilities_says_so(classify, X, two, tmp_path):
    model = classify(loss="hinge").fit(X, two)
    with pytest.raises(ValueError, match="loss='hinge' has no probabilities; use one of"):
        model.predict_dataset(X, tmp_path / "out.csv", proba=True)


# -- whole or not at all ----------------------------------------------------------------------


def test_rows_that_cannot_be_predicted_are_told_with_their_place(fitted, frame, table, tmp_path):
    frame = frame.copy()
    frame.loc[100, "b"] = np.inf
    frame.to_parquet(table, row_group_size=37)
    out = tmp_path / "out.parquet"
    out.write_text("what was there before")
    message = r"infinity.*1 of .*'b'.* The rows are in .*table\.parquet, row group 3 of 4"
    with pytest.raises(ValueError, match=message):
        fitted.predict_dataset(table, out)
    assert out.read_text() == "what was there before"
    assert left_in(tmp_path) == ["out.parquet", "table.parquet"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.csv.gz"])
def test_an_interruption_leaves_nothing_behind(
    fitted, frame, tmp_path, error, name, monkeypatch
):  # fmt: skip
    monkeypatch.setattr(LIMITS, "group_rows", 20)

    def interrupted():
        yield frame[:70]
        if batches.begun:
            raise error
        yield frame[70:]

    class Batches:
        begun = False

        def __iter__(self):
            return interrupted()

    batches = Batches()
    assert fitted.predict_dataset(batches, tmp_path / name) == 120
    before = (tmp_path / name).read_bytes()
    batches.begun = True
    with pytest.raises(error):
        fitted.predict_dataset(batches, tmp_path / name)
    assert left_in(tmp_path) == [name]
    assert (tmp_path / name).read_bytes() == before


def test_a_file_that_changes_meanwhile_leaves_nothing_behind(fitted, frame, table, tmp_path):
    def change(*_):
        frame[:50].to_parquet(table)
        return np.zeros(16)

    fitted.predict = change
    with pytest.raises(DataFileError, match=r"table\.parquet"):
        fitted.predict_dataset(table, tmp_path / "out.parquet")
    assert left_in(tmp_path) == ["table.parquet"]


def test_no_file_is_written_over_that_the_rows_come_from(fitted, table, tmp_path, monkeypatch):
    before = table.read_bytes()
    (tmp_path / "link.parquet").symlink_to(table)
    monkeypatch.chdir(tmp_path)
    for out in (table, "table.parquet", f"{tmp_path}/../{tmp_path.name}/table.parquet",
                tmp_path / "link.parquet"):  # fmt: skip
        with pytest.raises(ValueError, match="is one of the files that are read"):
            fitted.predict_dataset(table, out)
    assert table.read_bytes() == before


def test_a_folder_that_cannot_be_made_is_told(fitted, frame, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="The rows were not written"):
        fitted.predict_dataset(frame, tmp_path / "file" / "out.csv")


# -- what a user sees -------------------------------------------------------------------------


def test_the_progress_is_shown_when_verbose(fitted, table, tmp_path, capsys):
    fitted.predict_dataset(table, tmp_path / "out.csv")
    assert capsys.readouterr().err == ""
    fitted.set_params(verbose=1).predict_dataset(table, tmp_path / "out.csv")
    shown = capsys.readouterr().err
    assert "predict: 100%" in shown
    assert "120/120" in shown


def test_row_groups_of_the_output_are_large_where_blocks_are_small(fitted, frame, tmp_path):
    batches = [frame[k : k + 3] for k in range(0, 120, 3)]
    fitted.predict_dataset(batches, tmp_path / "out.parquet")
    assert parquet.read_metadata(tmp_path / "out.parquet").num_row_groups == 1


def test_a_model_that_was_not_fitted_says_so(make, table, tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        make().predict_dataset(table, tmp_path / "out.csv")
    assert not os.path.exists(tmp_path / "out.csv")


def test_first_rows_have_the_same_bits_in_a_table_of_any_length(X, y, make):
    model = make(network="train", rank=3).fit(X, y)
    whole = model.predict(X)
    for n_rows in (1, 7, 16, 32, 80):
        np.testing.assert_array_equal(model.predict(X[:n_rows]), whole[:n_rows])


def test_text_is_written_as_text(classify, X, three, tmp_path):
    classify().fit(X, three).predict_dataset(X, tmp_path / "out.parquet")
    assert parquet.read_schema(tmp_path / "out.parquet").field("prediction").type in (
        pyarrow.string(), pyarrow.large_string(),
    )  # fmt: skip
