"""predict and evaluate on tables of any length."""

import numpy as np
import pytest
from sklearn import metrics

import qtkm
from qtkm.limits import LIMITS
from tests.cli.commands import FEATURES, FIT, N_ROWS, SETTINGS, command, sentence

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


FILES = [f"parts/{name}.parquet" for name in "abc"]


@pytest.mark.parametrize("data", [["parts"], ["parts/*.parquet"], FILES, ["one.csv"]], ids="+".join)
def test_predictions_of_many_files_go_to_one(frame, parts, models, data, capsys):
    frame.to_csv("one.csv", index=False)
    words = ["--out", "p.parquet", "--keep", "id", "--keep", "high", "--keep", "id"]
    assert command("predict", models.power, *data, *words, "--quiet") == 0
    assert capsys.readouterr().out == ""
    assert command("predict", models.power, *data, *words) == 0
    assert capsys.readouterr().out == "3,000 rows written to p.parquet\n"
    found = pandas.read_parquet("p.parquet")
    assert list(found.columns) == ["id", "high", "prediction"]
    assert found["id"].tolist() == frame["id"].tolist()
    assert found["high"].tolist() == frame["high"].tolist()
    expected = qtkm.load(models.power).predict(frame[FEATURES])
    np.testing.assert_allclose(found["prediction"], expected, rtol=1e-12)


def test_predictions_go_to_the_screen_block_by_block(frame, parts, models, monkeypatch, capsys):
    monkeypatch.setattr(LIMITS, "predict_rows", 170)
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
    assert "a.csv has 3 feature columns, but the model was fitted to 2" in sentence(capsys)


def test_progress_is_shown_to_those_who_watch(parts, models, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    for words, what in (
        (["fit", "parts", *FIT], ["check", "scan", "fit", "score"]),
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


@pytest.mark.parametrize("data", ["parts", "one.csv"])
def test_scores_are_those_of_all_rows(frame, parts, models, data, capsys):
    frame.to_csv("one.csv", index=False)
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
