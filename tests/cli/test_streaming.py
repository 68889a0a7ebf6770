"""fit on tables that are read block by block: folders, patterns, limits."""

import re

import numpy as np
import pytest
from sklearn import metrics

import qtkm
from qtkm.limits import LIMITS
from tests.cli.commands import (
    FEATURES,
    FIT,
    N_ROWS,
    SETTINGS,
    SMALL,
    command,
    is_tested,
    misuse,
    write_parts,
)

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    ("data", "merged"),
    [
        ("parts", True),
        ("parts", False),
        ("parts/*.parquet", False),
        ("csv", True),
        ("one.parquet", False),
    ],
)
def test_a_fit_is_that_of_the_library_to_the_same_rows(
    frame, parts, data, merged, monkeypatch, capsys
):
    if not merged:  # as if there were many rows
        monkeypatch.setattr(LIMITS, "merge_rows", 100)
    write_parts(frame, parts.parent / "csv", ".csv")
    frame.to_parquet("one.parquet")
    words = [*FIT, "--weight", "w", "--memory-limit", "1GB"]
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
        assert command("fit", "parts", *FIT, "--drop", "w", *more) == 0
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
    words = ["--target", "y", "--out", "m.qtkm", "--rank", 1, "--alpha", 1, "--max-iter", 1]
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
    assert sum(c["categories"] is not None for c in whole) == 3


def test_text_that_begins_with_nothing_is_text(frame, parts, monkeypatch, capsys):
    monkeypatch.setattr(LIMITS, "parsed_bytes", 4096)
    words = ["--target", "power", "--out", "m.qtkm", "-q", "--memory-limit", "1GB", *SMALL]
    rows = frame[["wind", "power"]].assign(late=[None] * 1500 + ["x", "y"] * 750)
    rows.to_csv("a.csv", index=False)
    assert command("fit", "a.csv", *words) == 0
    assert qtkm.load("m.qtkm").columns_[1]["categories"] == ["x", "y", None]
    rows.assign(late=None).to_csv("a.csv", index=False)
    words.remove("-q")
    assert command("fit", "a.csv", *words) == 0
    assert "no effect: column 'late'" in capsys.readouterr().err


def test_names_of_rows_are_remarked_upon(frame, parts, capsys):
    write_parts(frame.assign(name=[f"row {i}" for i in range(N_ROWS)]), parts)
    words = [*FIT, "--max-iter", "1", "--rank", "1", "--memory-limit", "1GB"]
    assert command("fit", "parts", *words) == 0
    remarks = capsys.readouterr().err.splitlines()
    assert remarks[0] == (
        "qtkm: 40 of 3,000 rows have no 'power' and are skipped: rows 101, 102, 103, …"
    )
    assert "'name' has 2,960 categories in 2,960 rows" in remarks[1]


def test_a_cache_is_used_again(parts, monkeypatch, capsys):
    monkeypatch.setattr(LIMITS, "merge_rows", 100)
    # so that rows in memory take more than the limit, and those on disk do not
    monkeypatch.setattr("qtkm.estimators.memory.Need.in_memory", lambda need: 10**12)
    shown, kept = [], []
    for _ in range(2):
        assert command("fit", "parts", *FIT, "--cache", "kept", "--memory-limit", "1GB") == 0
        shown.append(re.sub(r"in [0-9.]+ s", "", capsys.readouterr().out))
        (folder,) = parts.parent.glob("kept/*/shards-*")
        kept.append((folder, folder.stat().st_mtime_ns))
    assert shown[0] == shown[1]
    assert kept[0] == kept[1]
    assert "R²" in shown[1]


def test_a_limit_that_is_too_small_says_the_smallest(parts, monkeypatch, capsys):
    monkeypatch.setattr(LIMITS, "merge_rows", 100)
    assert command("fit", "parts", *FIT, "--memory-limit", "1MB") == 1
    error = capsys.readouterr().err
    assert "--memory-limit 1 MB is too small" in error
    least = re.search(r"smallest that works is '(.*?)'", error)[1]
    assert command("fit", "parts", *FIT, "--memory-limit", least) == 0


@pytest.mark.parametrize("limit", ["much", "0", "-1GB", "1XB"])
def test_a_limit_that_is_none_is_mistyped(parts, limit, capsys):
    assert command("fit", "parts", *FIT, "--memory-limit", limit) == 2
    assert "must be an amount" in misuse(capsys)
