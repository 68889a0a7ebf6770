"""What is said of tables that cannot be used, or only in part."""

import numpy as np
import pytest

from tests.cli.commands import FIT, command, sentence, write_parts

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def spoil(column, value):
    """A change of one entry in the middle."""

    def change(rows):
        rows[column] = rows[column].astype(object) if isinstance(value, str) else rows[column]
        rows.loc[1700, column] = value
        if isinstance(value, str):
            rows[column] = rows[column].astype(str)
        return rows

    return change


BAD_ROWS = [
    (spoil("wind", np.inf), "'wind' has infinite values in {}, first in row 1,701 of the table"),
]  # fmt: skip
BAD_FITS = [
    (spoil("wind", "calm"), "column 'wind' has text among its numbers: 'calm' in row 1,701 of "
     "the table, in parts/b.parquet, row group 2 of 3; correct them, or use --category wind or "
     "--drop wind"),
    (lambda rows: rows.assign(power=np.nan), "parts has 0 rows with a target"),
    (lambda rows: rows.assign(power=pandas.Timestamp("2026-01-01")),
     "the target 'power' holds dates or times"),
    (spoil("power", np.inf),
     "the target 'power' has infinite values in 1 of 2,960 rows, first in row 1,701 of the table"),
    (lambda rows: rows.assign(power=rows["power"].astype(str).fillna("?")),
     "the target 'power' has text among its numbers: '?'"),
    (lambda rows: rows[["power", "high", "id"]], "parts has no columns left to predict 'power'"),
    (lambda rows: rows.rename(columns={"power": "powr"}), "no column 'power'; it has 'powr'"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD_ROWS + BAD_FITS)
def test_rows_that_cannot_be_fitted_to_are_named(frame, parts, change, message, capsys):
    write_parts(change(frame.copy()), parts)
    assert command("fit", "parts", *FIT) == 1
    assert message.format("1 of 2,960 rows") in capsys.readouterr().err
    assert not (parts.parent / "m.qtkm").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [(spoil("wind", np.inf), "infinity: 1 of the 400 values of column 'wind', the first in row 1,"),
     (spoil("wind", "calm"), "column 'wind' holds values such as 'calm', but the model was "
      "fitted to numbers.\n"),
     (lambda rows: rows.assign(wind=pandas.Timestamp("2026-01-01")),
      "column 'wind' holds times, but the model was fitted to numbers")],
)  # fmt: skip
def test_rows_that_cannot_be_predicted_are_named(frame, parts, models, change, message, capsys):
    write_parts(change(frame.copy()), parts)
    for words in (["predict", models.power, "parts"],
                  ["predict", models.power, "parts", "--out", "p.csv"],
                  ["evaluate", models.power, "parts", "--target", "power"]):  # fmt: skip
        assert command(*words) == 1
        assert message.format("1 of 400 rows") in sentence(capsys)
        assert not (parts.parent / "p.csv").exists()


def make_mixed(parts):
    (parts / "d.csv").write_text("wind\n1\n")


def make_short(parts):
    rows = pandas.read_parquet(parts / "b.parquet")
    rows.drop(columns="sun").to_parquet(parts / "b.parquet")


def make_text(parts):
    rows = pandas.read_parquet(parts / "b.parquet")
    rows.assign(wind="calm").to_parquet(parts / "b.parquet")


def cut_off(parts):
    (parts / "b.parquet").write_bytes((parts / "b.parquet").read_bytes()[:-50])


def make_empty(parts):
    (parts / "b.parquet").write_bytes(b"")


def remove_all(parts):
    for path in parts.iterdir():
        path.unlink()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (make_mixed, "The source mixes formats: parts/d.csv is CSV"),
        (make_short, "parts/b.parquet has no column 'sun'; it has 'wind', 'kind'"),
        (make_text, "column 'wind' holds numbers (double) in parts/a.parquet and text"),
        (cut_off, "parts/b.parquet is cut off"),
        (make_empty, "parts/b.parquet is empty"),
        (remove_all, "parts is a folder without CSV and Parquet files"),
    ],
)
def test_files_that_cannot_be_used_are_named(parts, models, change, message, capsys):
    change(parts)
    for words in (["fit", "parts", *FIT],
                  ["predict", models.power, "parts"],
                  ["predict", models.power, "parts", "--out", "p.csv"],
                  ["evaluate", models.power, "parts", "--target", "power"]):  # fmt: skip
        assert command(*words) == 1
        assert message in sentence(capsys)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no/*.parquet"], "No file matches the pattern 'no/*.parquet'"),
        (["parts", "--keep", "idd"], "parts has no column 'idd'; it has 'id'"),
        (["parts", "--proba"], "power.qtkm does not predict probabilities; remove --proba"),
        (["parts", "--out", "p.xlsx"], "p.xlsx is neither CSV nor Parquet by its name"),
        (["parts", "--out", "parts"], "parts is a folder; name a file in it"),
        (["parts", "--out", "parts/b.parquet"], "parts/b.parquet is one of the files that are"),
    ],
)
def test_predictions_that_cannot_be_made_are_refused(parts, models, words, message, capsys):
    assert command("predict", models.power, *words) == 1
    assert message in sentence(capsys)


@pytest.mark.parametrize("out", [[], ["--out", "p.csv"]])
def test_a_kept_column_is_no_prediction(frame, parts, models, out, capsys):
    frame.assign(prediction=1).to_parquet("a.parquet")
    assert command("predict", models.power, "a.parquet", "--keep", "prediction", *out) == 1
    assert "keep contains 'prediction', the name of a column of predictions" in sentence(capsys)


def test_labels_and_targets_that_are_no_truth_are_named(frame, parts, models, capsys):
    write_parts(frame.assign(high="other", empty=np.nan), parts)
    for words, message in (
        ([models.high, "--target", "high"], "labels that are unknown to the model: 'other'"),
        ([models.power, "--target", "high"], "the target 'high' must be numeric"),
        ([models.power, "--target", "empty"], "parts has no row with a target"),
        ([models.power, "--target", "pwer"], "parts has no column 'pwer'; it has 'power'"),
    ):
        assert command("evaluate", words[0], "parts", *words[1:]) == 1
        assert message in sentence(capsys)


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "500MB"]], ids=["whole", "blocks"])
def test_dates_in_other_ways_are_no_categories(limit, tmp_path, capsys):
    path = tmp_path / "rows.csv"
    days = [f"{day:02d}.05.2016" for day in range(1, 31)]
    pandas.DataFrame({"x": range(30), "sold": days, "y": range(30)}).to_csv(path, index=False)
    words = ["fit", path, "--target", "y", "--out", tmp_path / "m.qtkm", *limit]
    assert command(*words) == 1
    assert "column 'sold' holds dates or times as text; write them as 2013-05" in sentence(capsys)
    assert command(*words, "--category", "sold", "-q", "--rank", 1, "--alpha", 1) == 0
