"""fit, predict and evaluate from end to end, and what goes wrong with files."""

import json
import os
from datetime import date
from decimal import Decimal

import numpy as np
import pytest

import qtkm
from tests.cli.commands import command, sentence

pandas = pytest.importorskip("pandas")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.uniform(size=(240, 2)), columns=["wind", "sun"])
    rows["kind"] = rng.choice(["sea", "land"], size=240)
    rows["power"] = np.sin(5 * rows["wind"]) * rows["sun"] + (rows["kind"] == "sea")
    rows["high"] = np.where(rows["power"] > rows["power"].median(), "yes", "no")
    return rows


SMALL = ["--rank", 3, "--alpha", 1e-4, "--n-basis", 8, "--max-iter", 8]


@pytest.mark.parametrize("suffix", [".parquet", ".csv.gz", ".tsv"])
def test_a_table_becomes_a_model_that_predicts(tmp_path, frame, suffix, capsys):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(tmp_path / f"data{suffix}")
    else:
        frame.to_csv(tmp_path / f"data{suffix}", index=False, sep="\t" if suffix == ".tsv" else ",")
    data, model, out = (tmp_path / name for name in (f"data{suffix}", "m.qtkm", f"out{suffix}"))
    words = ["--target", "power", "--drop", "high", "--out", model, *SMALL]
    assert command("fit", data, *words) == 0
    shown = capsys.readouterr().out
    for text in ("regression", "192, 3", "kind", "R²", "root mean squared error"):
        assert text in shown
    assert command("predict", model, data, "--out", out) == 0
    if suffix == ".parquet":
        predicted = pandas.read_parquet(out)
    else:
        predicted = pandas.read_csv(out, sep="\t" if suffix == ".tsv" else ",")
    expected = qtkm.load(model).predict(frame[["wind", "sun", "kind"]])
    np.testing.assert_allclose(predicted["prediction"], expected, rtol=1e-12)
    assert command("evaluate", model, data, "--target", "power") == 0
    assert "240" in capsys.readouterr().out


def test_a_target_of_text_is_classified(tmp_path, frame, capsys):
    frame.to_csv(tmp_path / "data.csv", index=False)
    model = tmp_path / "m.qtkm"
    words = ["--target", "high", "--drop", "power", "--out", model, *SMALL]
    assert command("fit", tmp_path / "data.csv", *words) == 0
    shown = capsys.readouterr().out
    assert "classification" in shown
    assert "accuracy" in shown
    assert "log-loss" in shown
    assert command("predict", model, tmp_path / "data.csv") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "prediction"
    assert set(lines[1:]) == {"yes", "no"}
    assert command("predict", model, tmp_path / "data.csv", "--proba") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "probability of no,probability of yes"
    assert sum(map(float, lines[1].split(","))) == pytest.approx(1)


def test_rows_without_a_target_are_left_out_and_weights_are_used(tmp_path, frame, capsys):
    frame["w"] = 1.0
    frame.loc[:39, "power"] = np.nan
    frame.drop(columns="high").to_csv(tmp_path / "data.csv", index=False)
    words = ["--target", "power", "--weight", "w", "--test-size", 0, "--out", tmp_path / "m.qtkm"]
    assert command("fit", tmp_path / "data.csv", *words, *SMALL) == 0
    assert "200, 3" in capsys.readouterr().out


def test_quiet_says_nothing(tmp_path, frame, capsys):
    frame.to_csv(tmp_path / "data.csv", index=False)
    words = ["--target", "power", "--drop", "high", "--out", tmp_path / "m.qtkm", "--quiet"]
    assert command("fit", tmp_path / "data.csv", *words, *SMALL) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "1GB"]], ids=["whole", "blocks"])
def test_many_classes_are_remarked_upon(tmp_path, monkeypatch, limit, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("qtkm.cli.survey.MANY_CLASSES", 20)
    rows = pandas.DataFrame({"x": np.arange(120.0), "few": np.arange(120) % 19})
    rows["code"] = np.arange(120) % 20
    rows["name"] = "n" + rows["code"].astype(str)
    rows.to_csv("a.csv", index=False)
    for target, task, remark in (
        ("name", "auto", "the 20 distinct texts of the target 'name' are read as classes; "
         "fitting this many takes long\n"),
        ("code", "classification", "the 20 distinct numbers of the target 'code' are read as "
         "classes; fitting this many takes long. Use --task regression to predict numbers\n"),
        ("code", "auto", ""),
        ("few", "classification", ""),
    ):  # fmt: skip
        others = [word for name in {"few", "code", "name"} - {target} for word in ("--drop", name)]
        words = ["a.csv", "--target", target, "--task", task, *others, "--out", "m.qtkm", *limit]
        few = ["--penalty", "ridge", "--rank", 1, "--alpha", 1, "--max-iter", 1]
        assert command("fit", *words, *few) == 0
        assert capsys.readouterr().err == f"qtkm: {remark}" * bool(remark)


def test_fractions_are_no_classes(tmp_path, frame, capsys):
    frame.to_csv(tmp_path / "a.csv", index=False)
    words = ["--target", "power", "--task", "classification", "--out", tmp_path / "m.qtkm"]
    assert command("fit", tmp_path / "a.csv", *words) == 1
    assert "the target 'power' has non-integer values, which cannot be classes" in sentence(capsys)


def test_a_target_of_text_is_no_number(tmp_path, frame, capsys):
    frame.to_csv(tmp_path / "a.csv", index=False)
    words = ["--target", "high", "--task", "regression", "--out", tmp_path / "m.qtkm"]
    assert command("fit", tmp_path / "a.csv", *words) == 1
    error = sentence(capsys)
    assert "the target 'high' has text: 'no' in row 1, and text in 240 of 240 rows; " in error
    assert "use --task classification" in error


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_truth_values_with_gaps_are_numbers(tmp_path, frame, suffix):
    frame["dry"] = [True, False, None] * 80
    path, model = tmp_path / f"a{suffix}", tmp_path / "m.qtkm"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    words = ["--target", "power", "--drop", "high", "--out", model, "--quiet", *SMALL]
    assert command("fit", path, *words) == 0
    column = qtkm.load(model).columns_[3]
    assert (column["bounds"], column["gaps"]) == ((0.0, 1.0), True)


def test_decimal_numbers_are_numbers_and_dates_are_dates(tmp_path, frame, capsys):
    pytest.importorskip("pyarrow")
    path, model = tmp_path / "a.parquet", tmp_path / "m.qtkm"
    frame["price"] = [Decimal(k) / 4 for k in range(240)]
    frame.to_parquet(path)
    words = ["--target", "power", "--drop", "high", "--out", model, "--quiet", *SMALL]
    assert command("fit", path, *words) == 0
    assert qtkm.load(model).columns_[3]["bounds"] == (0.0, 59.75)
    frame["price"] = [date(2013, 5, 1 + k % 30) for k in range(240)]
    frame.to_parquet(path)
    assert command("fit", path, *words, "--cyclic", "price=week") == 0
    column = qtkm.load(model).columns_[3]
    assert (column["holds"], column["bounds"]) == ("times", (0.0, 7 * 86400.0))


def write_bytes(path, data):
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("a.csv", b"", "a.csv is empty"),
        ("a.csv", b"wind,power\n", "a.csv has columns but no rows"),
        ("a.csv", b"wind,powr\n1,2\n", "a.csv has no column 'power'; it has 'powr'"),
        ("a.csv", b'wind,power\n"1,2\n', "a.csv cannot be read as CSV"),
        ("a.csv", b"power\n1\n2\n3\n", "no columns left to predict 'power' from"),
        ("a.csv", b"wind,power\n1,\n2,\n", "a.csv has 0 rows with a target"),
        ("a.parquet", b"PAR1 nonsense", "a.parquet is cut off after 13 bytes"),
        ("a.xlsx", b"x", "a.xlsx is neither CSV nor Parquet by its name"),
        (
            "a.csv",
            b"wind,wind,power\n1,2,3\n4,5,6\n",
            "a.csv has several columns of the name 'wind'",
        ),
        ("a.csv", "wind,power\n1,2\n".encode("utf-16"), "in another encoding than UTF-8; save it"),
        (
            "a.csv",
            "wind,power\nétale,2\n".encode("latin-1"),
            "in another encoding; save it as UTF-8",
        ),
        (
            "a.csv",
            b"wind,power\n1,2\n1,2,3\n",
            "a.csv cannot be read as CSV: CSV parse error: Row #3: Expected 2",
        ),
        ("a.csv", b"wind:power\n1:2\n", "a.csv has no column 'power'; it has 'wind:power'"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path, name, data, message, capsys):
    path, model = write_bytes(tmp_path / name, data), tmp_path / "m.qtkm"
    assert command("fit", path, "--target", "power", "--out", model) == 1
    error = capsys.readouterr().err
    assert error.startswith("qtkm: ")
    assert message in error
    assert error.count("\n") == 1
    assert not model.exists()


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path, frame, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame.to_csv("a.csv", index=False, encoding="utf-8-sig")
    words = ["--target", "power", "--drop", "high", "--quiet", *SMALL, "--out"]
    assert command("fit", "a.csv", *words, "m.qtkm") == 0
    assert command("fit", "a.csv", *words, "blocks.qtkm", "--memory-limit", "1GB") == 0
    assert command("evaluate", "m.qtkm", "a.csv", "--target", "power") == 0
    for name in ("m.qtkm", "blocks.qtkm"):
        assert qtkm.load(name).columns_[0]["name"] == "wind"


def test_a_file_that_is_not_there_and_a_folder(tmp_path, capsys):
    assert command("fit", tmp_path / "no.csv", "--target", "y") == 1
    assert "no.csv does not exist" in capsys.readouterr().err
    (tmp_path / "folder.csv").mkdir()
    assert command("fit", tmp_path / "folder.csv", "--target", "y") == 1
    assert "folder.csv is a folder without CSV and Parquet files" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path, frame, capsys):
    frame.to_csv(tmp_path / "a.csv")
    (tmp_path / "a.csv").chmod(0)
    assert command("fit", tmp_path / "a.csv", "--target", "power") == 1
    assert "may not be read" in capsys.readouterr().err


def test_a_loss_for_classes_does_not_fit_numbers(tmp_path, frame, capsys):
    frame.to_csv(tmp_path / "a.csv", index=False)
    words = ["--target", "power", "--loss", "hinge"]
    assert command("fit", tmp_path / "a.csv", *words) == 1
    assert "use --task classification, or one of 'squared'" in capsys.readouterr().err
    assert command("fit", tmp_path / "a.csv", "--target", "power", "--task", "guess") == 2


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "1GB"]], ids=["whole", "blocks"])
def test_an_offset_is_an_exposure(tmp_path, limit, capsys):
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame({"x": rng.uniform(size=300), "years": rng.uniform(0.1, 9, size=300)})
    rows["claims"] = rng.poisson(rows["years"] * np.exp(rows["x"]))
    rows.assign(years=np.log(rows["years"])).to_csv(tmp_path / "a.csv", index=False)
    words = ["--target", "claims", "--offset", "years", "--loss", "poisson", *SMALL, *limit]
    model = tmp_path / "m.qtkm"
    assert command("fit", tmp_path / "a.csv", *words, "--out", model, "-q") == 0
    assert list(qtkm.load(model).feature_names_in_) == ["x"]
    assert command("evaluate", model, tmp_path / "a.csv", "--offset", "years", "--json") == 0
    scores = json.loads(capsys.readouterr().out)
    assert scores["r2"] > 0.7
    loaded, years = qtkm.load(model), np.log(rows["years"])
    X, y = rows[["x"]], rows["claims"]
    assert scores["d2"] == pytest.approx(loaded.score(X, y, offset=years), rel=1e-6)
    words = ["predict", model, tmp_path / "a.csv", "--offset", "years"]
    assert command(*words, "--out", tmp_path / "p.csv", "-q") == 0
    expected = loaded.predict(X, offset=years)
    written = pandas.read_csv(tmp_path / "p.csv")["prediction"]
    assert written.to_numpy() == pytest.approx(expected, rel=1e-9)
    assert command(*words, "-q") == 0
    shown = np.array(capsys.readouterr().out.split()[1:], dtype=float)
    assert shown == pytest.approx(expected, rel=1e-9)
    assert command(*words, "--std", "-q") == 1
    assert "offset applies only to predictions of numbers" in capsys.readouterr().err


def test_a_search_with_an_exposure_is_one_of_rates(tmp_path, capsys):
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame({"x": rng.uniform(size=300), "log_years": rng.normal(size=300)})
    rows["claims"] = rng.poisson(np.exp(rows["log_years"] + 2 * rows["x"]))
    rows.to_csv(tmp_path / "a.csv", index=False)
    words = ["--target", "claims", "--offset", "log_years", "--loss", "poisson", "--ranks", "1,2",
             "--n-basis", 4, "--penalty", "ridge", "--max-iter", 3, "--json"]  # fmt: skip
    assert command("tune", tmp_path / "a.csv", *words, "--out", tmp_path / "m.qtkm") == 0
    assert json.loads(capsys.readouterr().out)["scores"]["d2"] > 0.3
    model = qtkm.load(tmp_path / "m.qtkm")
    assert list(model.feature_names_in_) == ["x"]


def test_a_loss_for_counts_fits_counts(tmp_path, frame, capsys):
    counts = frame.assign(power=np.arange(len(frame)) % 7)
    counts.to_csv(tmp_path / "a.csv", index=False)
    words = ["--target", "power", "--task", "regression", "--loss", "poisson", *SMALL]
    assert command("fit", tmp_path / "a.csv", *words, "--out", tmp_path / "m.qtkm") == 0
    capsys.readouterr()
    assert type(qtkm.load(tmp_path / "m.qtkm").loss_).__name__ == "Poisson"
    counts.assign(power=counts["power"] - 1).to_csv(tmp_path / "b.csv", index=False)
    assert command("fit", tmp_path / "b.csv", *words) == 1
    assert "Poisson needs y >= 0" in capsys.readouterr().err
