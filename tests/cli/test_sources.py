"""tune and inspect on files, folders and patterns, and on samples of their rows."""

import json
import os
import re

import numpy as np
import pytest

import qtkm
from qtkm.cli.reading import draw_sample as draw
from qtkm.data.sources import Block
from qtkm.limits import LIMITS
from tests.cli.commands import FEATURES, N_ROWS, command, is_tested, sentence, write_parts

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

TUNE = ["--target", "power", "--drop", "high", "--drop", "id", "--drop", "w", "--out", "m.qtkm",
        "--ranks", "1,4", "--n-basis", "8", "--periods", "2", "--alphas", "1e-4",
        "--max-iter", 4, "--penalty", "ridge"]  # fmt: skip
#: the table of `parts`, in other words
SOURCES = [["parts/*.parquet"], [f"parts/{name}.parquet" for name in "abc"], ["csv"]]
names = "+".join


# -- tune ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("data", SOURCES, ids=names)
def test_a_search_takes_many_files(frame, parts, data, capsys):
    write_parts(frame, parts.parent / "csv", ".csv")
    assert command("tune", *data, *TUNE) == 0
    shown = capsys.readouterr()
    assert "rows of the search" not in shown.out
    assert "rank 4" in shown.out
    train = frame[~is_tested(N_ROWS)].dropna()
    assert f"{len(train):,}, 3" in shown.out
    model = qtkm.QTKMRegressor(
        rank=4, n_basis=8, period=2, alpha=1e-4, max_iter=4, random_state=0,
        categorical_features=["kind"], penalty="ridge",
    ).fit(train[FEATURES], train["power"])  # fmt: skip
    found = qtkm.load("m.qtkm").predict(frame[FEATURES])
    np.testing.assert_array_equal(found, model.predict(frame[FEATURES]))


@pytest.mark.parametrize("data", ["parts", "one.csv"])
def test_a_search_on_a_sample_ends_in_a_fit_to_all_rows(frame, parts, data, capsys):
    frame.to_csv("one.csv", index=False)
    assert command("tune", data, *TUNE, "--max-rows", 300, "--table", "tried.csv") == 0
    shown = capsys.readouterr().out
    n_train = len(frame[~is_tested(N_ROWS)].dropna())
    assert f"300 of {n_train:,}, drawn at random (--max-rows)" in shown
    assert f"{n_train:,}, 3" in shown
    assert pandas.read_csv("tried.csv")["n_rows"].max() <= 300


def test_a_search_tells_how_many_rows_it_has_looked_at(frame, parts, capsys):
    words = [*TUNE, "--max-rows", 300, "--sample-rows", 200, "--table", "tried.csv"]
    assert command("tune", "parts", *words) == 0
    n_train = len(frame[~is_tested(N_ROWS)].dropna())
    assert f"200 of {n_train:,}, drawn at random (--sample-rows)" in capsys.readouterr().out
    assert pandas.read_csv("tried.csv")["n_rows"].max() < 200


def test_a_search_on_a_table_larger_than_memory_takes_what_has_room(parts, monkeypatch, capsys):
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.setattr(LIMITS, "table_share", 16 * 4 * 399.5 / memory)
    assert command("tune", "parts", *TUNE) == 0
    assert "400 of" in capsys.readouterr().out


def test_labels_are_searched_for_in_many_files(parts, capsys):
    words = ["--target", "high", "--drop", "power", "--weight", "w", *TUNE[4:]]
    assert command("tune", "parts", *words) == 0
    assert "classification" in capsys.readouterr().out
    assert list(qtkm.load("m.qtkm").classes_) == ["no", "yes"]


# -- inspect ------------------------------------------------------------------------------------


def inspected(models, capsys, *words):
    """What is told of a model, as JSON."""
    assert command("inspect", models.power, *words, "--target", "power", "--json") == 0
    shown = capsys.readouterr()
    return json.loads(shown.out), shown.err


@pytest.mark.parametrize("data", SOURCES, ids=names)
def test_many_files_are_inspected_like_one(frame, parts, models, data, capsys):
    write_parts(frame, parts.parent / "csv", ".csv")
    frame.to_parquet("one.parquet")
    one, _ = inspected(models, capsys, "--data", "one.parquet")
    options = [word for path in data for word in ("--data", path)]
    found, remark = inspected(models, capsys, *options)
    assert remark == ""
    assert (found["n_rows"], found["n_rows_in_table"]) == (2960, 2960)
    assert found["scores"] == one["scores"]
    told, expected = ({s["column"]: s["total"] for s in f["importances"]} for f in (found, one))
    assert told == pytest.approx(expected)


def test_of_a_large_table_a_sample_is_inspected(frame, parts, models, capsys):
    frame.to_csv("one.csv", index=False)
    found, remark = inspected(models, capsys, "--data", "parts", "--max-rows", 700)
    assert remark == "qtkm: 700 of 2,960 rows are looked at, drawn at random (--max-rows)\n"
    assert (found["n_rows"], found["n_rows_in_table"]) == (700, 2960)
    assert found["scores"]["n_rows"] == 700
    again, _ = inspected(models, capsys, "--data", "one.csv", "--max-rows", 700)
    assert again["scores"] == found["scores"]
    every, _ = inspected(models, capsys, "--data", "parts")
    assert found["scores"]["r2"] == pytest.approx(every["scores"]["r2"], abs=0.02)


def test_a_model_without_names_is_inspected(frame, parts, capsys):
    pytest.importorskip("matplotlib")
    X, y = frame[["wind", "sun"]].to_numpy(), np.arange(N_ROWS)
    qtkm.QTKMRegressor(rank=2, n_basis=4, max_iter=2, penalty="ridge").fit(X, y).save("m.qtkm")
    frame[["wind", "sun", "id"]].to_csv("a.csv", index=False)
    words = ["--data", "a.csv", "--target", "id", "--plots", "plots"]
    assert command("inspect", "m.qtkm", *words) == 0
    assert re.search("rows scored +│ 3,000 ", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["no/*.parquet"], "No file matches the pattern 'no/*.parquet'"),
        (["parts", "--data", "no.parquet"], "no.parquet does not exist"),
        (["empty.csv"], "empty.csv has no row with a target"),
    ],
)
def test_what_cannot_be_inspected_is_said(frame, parts, models, words, message, capsys):
    frame.assign(power=np.nan).to_csv("empty.csv", index=False)
    assert command("inspect", models.power, "--target", "power", "--data", *words) == 1
    assert message in sentence(capsys)


# -- samples ------------------------------------------------------------------------------------


def cut(n_rows, size):
    """Blocks of so many rows that hold their numbers."""
    for begin in range(0, n_rows, size):
        rows = np.arange(begin, min(begin + size, n_rows))
        yield Block({"row": rows}, len(rows), begin, "here")


def test_a_sample_has_different_rows_in_their_order_whatever_the_blocks():
    drawn = draw(cut(400, 400), 60, seed=3)[0]["row"].to_numpy()
    assert len(drawn) == 60
    assert (np.diff(drawn) > 0).all()
    for size in (1, 64, 150):
        block, n_seen = draw(cut(400, size), 60, seed=3)
        assert n_seen == 400
        np.testing.assert_array_equal(block["row"], drawn)
    other = draw(cut(400, 64), 60, seed=4)[0]["row"].to_numpy()
    assert len(set(drawn) & set(other)) < 20  # 9 by chance


def test_every_row_has_the_same_chance():
    times = np.zeros(200)
    for seed in range(100):
        times[draw(cut(200, 30), 50, seed)[0]["row"].to_numpy()] += 1
    # of ten rows in turn a quarter is drawn, give or take four standard deviations
    assert abs(times.reshape(20, 10).sum(axis=1) - 250).max() < 4 * np.sqrt(1000 * 0.25 * 0.75)


def test_a_sample_of_few_rows_has_all_of_them():
    assert draw(cut(50, 7), 50, seed=0)[0]["row"].to_numpy().tolist() == list(range(50))


def test_texts_of_different_blocks_are_joined():
    texts = [["x", "y"], ["z", None], ["x", "z"]]
    blocks = [Block({"t": pandas.Series(t, dtype="category")}, 2, 2 * k, "here")
              for k, t in enumerate(texts)]  # fmt: skip
    blocks.append(Block({"t": np.full(2, np.nan)}, 2, 6, "here"))  # a block without any text
    joined = draw(blocks, 10, seed=0)[0]["t"]
    assert joined.astype(object).fillna("-").tolist() == ["x", "y", "z", "-", "x", "z", "-", "-"]
