"""fit, predict and evaluate on tables that are read block by block: folders, patterns, limits."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn import metrics

import qtkm
from qtkm.cli import main, output, predicting, reading
from qtkm.data.sources.mapped import draw_rows

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

N_ROWS = 3000
FEATURES = ["wind", "sun", "kind"]
SETTINGS = {"rank": 3, "n_basis": 8, "max_iter": 3}
SMALL = ["--rank", 3, "--n-basis", 8, "--max-iter", 3]


def command(*words):
    """Exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return ended.value.code


def sentence(capsys):
    """The one sentence of an error."""
    error = capsys.readouterr().err
    assert error.startswith("qtkm: ")
    assert error.count("\n") == 1
    return error


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.uniform(size=(N_ROWS, 2)), columns=["wind", "sun"])
    rows["kind"] = rng.choice(["sea", "land"], size=N_ROWS)
    rows["id"] = np.arange(N_ROWS)
    rows["w"] = rng.integers(0, 3, N_ROWS).astype(float)
    rows["power"] = np.sin(5 * rows["wind"]) * rows["sun"] + (rows["kind"] == "sea")
    rows["high"] = np.where(rows["power"] > 0.8, "yes", "no")
    rows.loc[100:139, "power"] = np.nan
    return rows


def write_parts(rows, folder, suffix=".parquet"):
    """Write rows to three files."""
    folder.mkdir(exist_ok=True)
    for name, part in zip("abc", np.array_split(np.arange(len(rows)), 3), strict=True):
        if suffix == ".parquet":
            rows.iloc[part].to_parquet(folder / f"{name}{suffix}", row_group_size=400)
        else:
            rows.iloc[part].to_csv(folder / f"{name}{suffix}", index=False)
    return folder


@pytest.fixture
def parts(frame, tmp_path, monkeypatch):
    """A folder of files, in the folder that commands are run in."""
    monkeypatch.chdir(tmp_path)
    return write_parts(frame, tmp_path / "parts")


@pytest.fixture(scope="module")
def models(frame, tmp_path_factory):
    """A model of numbers and one of labels."""
    folder, rows = tmp_path_factory.mktemp("models"), frame.dropna()
    options = {**SETTINGS, "categorical_features": ["kind"], "random_state": 0}
    power = qtkm.QTKMRegressor(**options).fit(rows[FEATURES], rows["power"])
    high = qtkm.QTKMClassifier(**options).fit(rows[FEATURES], rows["high"])
    power.save(folder / "power.qtkm")
    high.save(folder / "high.qtkm")
    return SimpleNamespace(power=folder / "power.qtkm", high=folder / "high.qtkm")


def is_tested(n_rows, share=0.2, seed=0):
    """Rows that are set aside."""
    return draw_rows(SimpleNamespace(first_row=0, n_rows=n_rows), share, seed)


# -- fit ----------------------------------------------------------------------------------------


WORDS = ["--target", "power", "--drop", "high", "--drop", "id", "--out", "m.qtkm", *SMALL]


@pytest.mark.parametrize("data", ["parts", "parts/*.parquet", "csv", "one.parquet"])
@pytest.mark.parametrize("merged", [True, False])
def test_a_fit_is_that_of_the_library_to_the_same_rows(
    frame, parts, data, merged, monkeypatch, capsys
):
    if not merged:  # as if there were many rows
        monkeypatch.setattr("qtkm.data.MERGE_ROWS", 100)
    write_parts(frame, parts.parent / "csv", ".csv")
    frame.to_parquet("one.parquet")
    words = [*WORDS, "--weight", "w", "--memory-limit", "1GB"]
    assert command("fit", data, *words) == 0
    shown = capsys.readouterr().out

    aside = is_tested(N_ROWS)
    train, test = frame[~aside].dropna(), frame[aside].dropna()
    options = {"categorical_features": ["kind"], "random_state": 0, "memory_limit": "1GB"}
    model = qtkm.QTKMRegressor(**SETTINGS, **options)
    model.fit(train[FEATURES], train["power"], train["w"])
    expected = model.predict(frame[FEATURES])
    np.testing.assert_array_equal(qtkm.load("m.qtkm").predict(frame[FEATURES]), expected)

    truth, predicted = test["power"], model.predict(test[FEATURES])
    r2 = metrics.r2_score(truth, predicted, sample_weight=test["w"])
    error = metrics.mean_absolute_error(truth, predicted, sample_weight=test["w"])
    for text in (f"{len(train):,}, 3", f"{len(test):,} ", f"{r2:.4f}", f"{error:.4g}"):
        assert text in shown


def test_the_rows_set_aside_follow_the_seed_and_none_are_if_said_so(parts, capsys):
    counts = []
    for more in (["--random-state", 1], ["--random-state", 1], ["--test-size", 0]):
        assert command("fit", "parts", *WORDS, "--drop", "w", *more) == 0
        counts.append(re.findall(r"rows.*│ *([0-9,]+[0-9])", capsys.readouterr().out))
    assert counts[0] == counts[1]
    assert len(counts[0]) == 2
    assert counts[2] == ["2,960"]


def test_labels_are_told_and_each_is_trained_on(frame, parts, capsys):
    rows = frame.drop(columns=["power", "id", "w"])
    rows.loc[np.flatnonzero(is_tested(N_ROWS))[:3], "high"] = ["rare", "scarce", "rare"]
    write_parts(rows, parts)
    words = ["--target", "high", "--out", "m.qtkm", *SMALL]
    assert command("fit", "parts", *words) == 0
    shown = capsys.readouterr().out
    assert "classification" in shown
    assert "log-loss" in shown
    assert list(qtkm.load("m.qtkm").classes_) == ["no", "rare", "scarce", "yes"]


@pytest.mark.parametrize(
    ("values", "task"),
    [([0, 1], "classification"), ([0.0, 1.0], "classification"), ([0.5, 1.0], "regression"),
     ([0, 1, 2], "regression"), ([False, True], "classification")],
)  # fmt: skip
@pytest.mark.parametrize("limit", [[], ["--memory-limit", "1GB"]])
def test_the_task_is_told_in_the_same_way(frame, parts, values, task, limit, capsys):
    rows = frame[["wind", "sun"]].assign(y=np.resize(values, N_ROWS))
    rows.to_parquet("a.parquet")
    words = ["--target", "y", "--out", "m.qtkm", "--rank", 1, "--n-basis", 2, "--max-iter", 1]
    assert command("fit", "a.parquet", *words, *limit) == 0
    assert task in capsys.readouterr().out


def test_categories_are_told_in_the_same_way(frame, parts):
    rows = frame.drop(columns=["high", "w"]).assign(
        flag=frame["id"] % 2 == 0, zone=frame["id"] % 5, day="2026-01-01"
    )
    rows.loc[rows["id"] % 7 == 0, "day"] = "2026-01-02"
    rows.loc[rows["id"] % 11 == 0, "kind"] = None
    rows = rows.drop(columns="id")
    rows.to_csv("a.csv", index=False)
    words = ["--target", "power", "--category", "zone", "--category", "day", "--quiet", *SMALL]
    assert command("fit", "a.csv", *words, "--out", "whole.qtkm") == 0
    assert command("fit", "a.csv", *words, "--out", "blocks.qtkm", "--memory-limit", "1GB") == 0
    whole, blocks = (qtkm.load(f"{name}.qtkm").columns_ for name in ("whole", "blocks"))
    assert [c["name"] for c in whole] == [c["name"] for c in blocks]
    assert [c["categories"] for c in whole] == [c["categories"] for c in blocks]
    assert sum(c["categories"] is not None for c in whole) == 4


def test_text_that_begins_with_nothing_is_text(frame, parts, monkeypatch, capsys):
    monkeypatch.setattr("qtkm.data.sources.csv_file.PARSED", 4096)
    words = ["--target", "power", "--out", "m.qtkm", "-q", "--memory-limit", "1GB", *SMALL]
    rows = frame[["wind", "power"]].assign(late=[None] * 1500 + ["x", "y"] * 750)
    rows.to_csv("a.csv", index=False)
    assert command("fit", "a.csv", *words) == 0
    assert qtkm.load("m.qtkm").columns_[1]["categories"] == ["x", "y", None]
    rows.assign(late=None).to_csv("a.csv", index=False)
    assert command("fit", "a.csv", *words) == 1
    assert "no number in column 'late'" in sentence(capsys)


def test_names_of_rows_are_remarked_upon(frame, parts, capsys):
    write_parts(frame.assign(name=[f"row {i}" for i in range(N_ROWS)]), parts)
    assert command("fit", "parts", *WORDS, "--memory-limit", "1GB") == 0
    assert "'name' has 2,960 different texts in 2,960 rows" in sentence(capsys)


def test_a_cache_is_used_again(parts, monkeypatch, capsys):
    monkeypatch.setattr("qtkm.data.MERGE_ROWS", 100)
    # so that rows in memory take more than the limit, and those on disk do not
    monkeypatch.setattr("qtkm.estimators.memory.Need.in_memory", lambda need: 10**12)
    shown = []
    for _ in range(2):
        assert command("fit", "parts", *WORDS, "--cache", "kept", "--memory-limit", "1GB") == 0
        shown.append(re.sub(r"in [0-9.]+ s", "", capsys.readouterr().out))
        kept = {path: path.stat().st_mtime_ns for path in parts.parent.glob("kept/*/*")}
        assert len(kept) == 2
    assert shown[0] == shown[1]
    assert "R²" in shown[1]


def test_a_limit_that_is_too_small_says_the_smallest(parts, monkeypatch, capsys):
    monkeypatch.setattr("qtkm.data.MERGE_ROWS", 100)
    assert command("fit", "parts", *WORDS, "--memory-limit", "1MB") == 1
    error = sentence(capsys)
    assert "--memory-limit 1 MB is too small" in error
    least = re.search(r"smallest that works is '(.*?)'", error)[1]
    assert command("fit", "parts", *WORDS, "--memory-limit", least) == 0


@pytest.mark.parametrize("limit", ["much", "0", "-1GB", "1XB"])
def test_a_limit_that_is_none_is_mistyped(parts, limit, capsys):
    assert command("fit", "parts", *WORDS, "--memory-limit", limit) == 2
    assert "must be an amount" in " ".join(capsys.readouterr().err.replace("│", " ").split())


@pytest.mark.parametrize("name", ["one.parquet", "one.csv", "one.csv.gz"])
def test_a_file_that_is_large_for_the_machine_is_not_read_as_a_whole(
    frame, parts, name, monkeypatch, capsys
):
    monkeypatch.setattr(reading, "LARGE", 0)
    monkeypatch.setattr(reading, "read_table", lambda *_: pytest.fail("read as a whole"))
    frame.to_parquet(name) if name == "one.parquet" else frame.to_csv(name, index=False)
    assert command("fit", name, *WORDS) == 0
    assert "is large for the memory of this machine" in sentence(capsys)


# -- predict ------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["parts", "parts/*.parquet", "one.csv", "one.csv.zip"])
def test_predictions_of_many_files_go_to_one(frame, parts, models, data):
    frame.to_csv("one.csv", index=False)
    frame.to_csv("one.csv.zip", index=False)
    words = ["--out", "p.parquet", "--keep", "id", "--keep", "high", "--keep", "id"]
    assert command("predict", models.power, data, *words) == 0
    found = pandas.read_parquet("p.parquet")
    assert list(found.columns) == ["id", "high", "prediction"]
    assert found["id"].tolist() == frame["id"].tolist()
    assert found["high"].tolist() == frame["high"].tolist()
    expected = qtkm.load(models.power).predict(frame[FEATURES])
    np.testing.assert_allclose(found["prediction"], expected, rtol=1e-12)


def test_predictions_go_to_the_screen_block_by_block(frame, parts, models, monkeypatch, capsys):
    monkeypatch.setattr(predicting, "PRINTED_ROWS", 170)
    frame.assign(id=frame["id"].astype("Int64").where(frame["id"] != 5)).to_parquet("a.parquet")
    assert command("predict", models.high, "a.parquet", "--keep", "id", "--proba") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "id,probability of no,probability of yes"
    assert len(lines) == N_ROWS + 1
    rows = [line.split(",") for line in lines[1:]]
    assert [row[0] for row in rows[4:7]] == ["4", "", "6"]
    expected = qtkm.load(models.high).predict_proba(frame[FEATURES])
    found = np.array([row[1:] for row in rows], dtype=float)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_categories_of_a_csv_file_are_those_of_the_fit(frame, parts):
    rows = frame.dropna().assign(kind=np.resize(["007", "8", "2026-01-01"], N_ROWS - 40))
    model = qtkm.QTKMRegressor(**SETTINGS, categorical_features=["kind"], random_state=0)
    model.fit(rows[FEATURES], rows["power"]).save("m.qtkm")
    for text in ("007", "8", "2026-01-01"):  # each looks like something else by itself
        some = rows[rows["kind"] == text]
        some.to_csv("some.csv", index=False)
        assert command("predict", "m.qtkm", "some.csv", "--out", "p.csv") == 0
        found, expected = pandas.read_csv("p.csv")["prediction"], model.predict(some[FEATURES])
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_model_without_names_takes_columns_in_their_order(frame, parts, capsys):
    X, y = frame[["wind", "sun"]].to_numpy(), np.arange(N_ROWS)
    model = qtkm.QTKMRegressor(**SETTINGS).fit(X, y)
    model.save("m.qtkm")
    frame[["id", "wind", "sun"]].to_csv("a.csv", index=False)
    assert command("predict", "m.qtkm", "a.csv", "--keep", "id", "--out", "p.csv") == 0
    found = pandas.read_csv("p.csv")["prediction"]
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-12)
    assert command("evaluate", "m.qtkm", "a.csv", "--target", "id") == 0
    assert f"{model.score(X, y):.4f}" in capsys.readouterr().out
    assert command("predict", "m.qtkm", "a.csv") == 1
    assert "a.csv has 3 columns to predict from, and the model was fitted to 2" in sentence(capsys)


def test_progress_is_shown_to_those_who_watch(parts, models, monkeypatch, capsys):
    monkeypatch.setattr(output, "is_watched", lambda quiet: not quiet)
    for words, what in (
        (["fit", "parts", *WORDS], ["check", "scan", "fit", "score"]),
        (["predict", models.power, "parts", "--out", "p.csv"], ["predict"]),
        (["predict", models.power, "parts"], ["predict"]),
        (["evaluate", models.power, "parts", "--target", "power"], ["score"]),
    ):
        assert command(*words) == 0
        shown = capsys.readouterr().err
        assert all(f"{name}: 100%" in shown or f"{name}:   0%" in shown for name in what)
        assert command(*words, "--quiet") == 0
        assert capsys.readouterr().err == ""


# -- evaluate -----------------------------------------------------------------------------------


@pytest.mark.parametrize("data", ["parts", "one.csv", "one.csv.zip"])
def test_scores_are_those_of_all_rows(frame, parts, models, data, capsys):
    frame.to_csv("one.csv", index=False)
    frame.to_csv("one.csv.zip", index=False)
    rows = frame.dropna()
    assert command("evaluate", models.power, data, "--target", "power") == 0
    predicted = qtkm.load(models.power).predict(rows[FEATURES])
    shown = capsys.readouterr().out
    for text in ("2,960", f"{metrics.r2_score(rows['power'], predicted):.4f}"):
        assert text in shown
    assert command("evaluate", models.high, data, "--target", "high") == 0
    model = qtkm.load(models.high)
    loss = metrics.log_loss(frame["high"], model.predict_proba(frame[FEATURES]))
    shown = capsys.readouterr().out
    for text in ("3,000", f"{model.score(frame[FEATURES], frame['high']):.4f}", f"{loss:.4f}"):
        assert text in shown


# -- what cannot be used ------------------------------------------------------------------------


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
    (spoil("wind", np.nan), "b.parquet, row group 2 of 3: no number in column 'wind' in 1 of 400 "
     "rows, first in row 1,701 of the table"),
    (spoil("wind", np.inf), "infinity in column 'wind' in 1 of 400 rows"),
]  # fmt: skip
BAD_FITS = [
    (spoil("wind", "calm"), "column 'wind' has text among its numbers: 'calm' and the like in 1 "
     "of 2,960 rows; correct them, leave the column out, --drop wind"),
    (lambda rows: rows.assign(when=pandas.Timestamp("2026-01-01")),
     "column 'when' holds times; leave it out (--drop when)"),
    (lambda rows: rows.assign(power=np.nan), "parts has 0 rows with a target"),
    (lambda rows: rows.assign(power=pandas.Timestamp("2026-01-01")),
     "the target 'power' holds times"),
    (spoil("power", np.inf), "infinity in column 'power' in 1 of 400 rows"),
    (lambda rows: rows.assign(power=rows["power"].astype(str).fillna("?")),
     "the target 'power' has text among its numbers: '?'"),
    (lambda rows: rows[["power", "high", "id"]], "parts has no column left to predict 'power'"),
    (lambda rows: rows.rename(columns={"power": "powr"}), "no column 'power'; it has 'powr'"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), BAD_ROWS + BAD_FITS)
def test_rows_that_cannot_be_fitted_to_are_named(frame, parts, change, message, capsys):
    write_parts(change(frame.copy()), parts)
    assert command("fit", "parts", *WORDS) == 1
    assert message in sentence(capsys)
    assert not (parts.parent / "m.qtkm").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [*BAD_ROWS,
     (spoil("wind", "calm"), "parts/a.parquet, row group 1 of 3: text such as '0.6"),
     (lambda rows: rows.assign(wind=pandas.Timestamp("2026-01-01")), "times in column 'wind'")],
)  # fmt: skip
def test_rows_that_cannot_be_predicted_are_named(frame, parts, models, change, message, capsys):
    write_parts(change(frame.copy()), parts)
    for words in (["predict", models.power, "parts"],
                  ["predict", models.power, "parts", "--out", "p.csv"],
                  ["evaluate", models.power, "parts", "--target", "power"]):  # fmt: skip
        assert command(*words) == 1
        assert message in sentence(capsys)
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
    for words in (["fit", "parts", *WORDS],
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
        (["parts", "--proba"], "power.qtkm gives no probabilities; leave out --proba"),
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
    assert "keep names 'prediction', which is a column of predictions" in sentence(capsys)


def test_labels_and_targets_that_are_no_truth_are_named(frame, parts, models, capsys):
    write_parts(frame.assign(high="other", empty=np.nan), parts)
    for words, message in (
        ([models.high, "--target", "high"], "labels that the model does not know: 'other'"),
        ([models.power, "--target", "high"], "the target 'high' must hold numbers"),
        ([models.power, "--target", "empty"], "parts has no row with a target"),
        ([models.power, "--target", "pwer"], "parts has no column 'pwer'; it has 'power'"),
    ):
        assert command("evaluate", words[0], "parts", *words[1:]) == 1
        assert message in sentence(capsys)


def test_only_fits_and_predictions_take_folders(parts, models, capsys):
    assert command("tune", "parts", "--target", "power") == 1
    assert "parts is a folder; this command reads one file" in sentence(capsys)


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "500MB"]], ids=["whole", "blocks"])
def test_dates_written_as_text_are_no_categories(limit, tmp_path, capsys):
    path = tmp_path / "rows.csv"
    days = [f"2016-05-{day:02d}" for day in range(1, 31)]
    pandas.DataFrame({"x": range(30), "sold": days, "y": range(30)}).to_csv(path, index=False)
    words = ["fit", path, "--target", "y", "--out", tmp_path / "m.qtkm", *limit]
    assert command(*words) == 1
    assert "column 'sold' holds times; leave it out (--drop sold)" in sentence(capsys)
    assert command(*words, "--category", "sold", "-q") == 0
