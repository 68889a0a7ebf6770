"""What is said of a small table with mistakes, and of a model file that is none."""

import re

import numpy as np
import pytest

import qtkm
from tests.cli.commands import TINY, command, make_rows, sentence

pandas = pytest.importorskip("pandas")


def write(name, **columns):
    """Write a table with some columns changed or added: their first entries are given."""
    rows = make_rows().astype(object)
    for column, entries in columns.items():
        if column not in rows:
            rows[column] = pandas.Series(range(len(rows)), dtype=object)
        rows.loc[: len(entries) - 1, column] = entries
    rows.to_csv(name, index=False)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"wind": ["calm", "calm", "gust"]}, "column 'wind' has text among its numbers: 'calm' in "
         "row 1, and text in 3 of 200 rows"),
        ({"power": ["?"]}, "the target 'power' has text among its numbers: '?'"),
        ({"power": [None] * 200}, "a.csv has 0 rows with a target"),
        ({"wind": [0, 0, np.inf]}, "'wind' has infinite values in 1 of 200 rows, first in row 3"),
        ({"wind": [None, np.inf]},
         "'wind' has infinite values in 1 of 200 rows, first in row 2"),
        ({"wind": ["5/20/2013"] * 200}, "column 'wind' holds dates or times as text; write"),
        ({"power": ["2013-05-20"] * 200}, "the target 'power' holds dates or times"),
        ({"power": ["high"] * 200}, "the target 'power' is 'high' in all rows; at least two"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_table_is_named(inside, columns, message, capsys):
    write("a.csv", **columns)
    assert command("fit", "a.csv", "--target", "power", "--out", "a.qtkm") == 1
    assert message in sentence(capsys)
    assert not (inside / "a.qtkm").exists()


#: rows without a target do not count
TOLD = [
    "column 'sun' has infinite values in 1 of 195 rows, first in row 8; correct them, remove ",
    "column 'when' holds dates or times as text; write them as 2013-05-20 or ",
    "column 'speed' has text among its numbers: 'fast' in row 7; correct them, or use ",
    "5 of 200 rows have no 'power' and are skipped: rows 1, 2, 3, …",
    "to drop all of these columns: --drop sun --drop when --drop speed",
]


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "1GB"]], ids=["whole", "blocks"])
def test_all_mistakes_are_told_at_once(inside, limit, capsys):
    late = {"wind": [None], "sun": [None, np.inf], "speed": ["fast"]}
    columns = {name: [0] * 5 + [1] + entries for name, entries in late.items()}
    write("a.csv", power=[None] * 5, when=["20.5.2013"] * 200, **columns)
    assert command("fit", "a.csv", "--target", "power", "--out", "a.qtkm", *limit) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "qtkm: a.csv: 3 problems"
    assert len(lines) == 1 + len(TOLD)
    for line, text in zip(lines[1:], TOLD, strict=True):
        assert line.startswith(f"  {text}")


def test_of_very_many_mistakes_the_first_are_told(inside, capsys):
    columns = {f"c{k:02d}": [0, np.inf] for k in range(13)}
    write("a.csv", **columns)
    assert command("fit", "a.csv", "--target", "power", "--out", "a.qtkm") == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "qtkm: a.csv: 13 problems"
    assert [line.split()[1] for line in lines[1:11]] == [f"'c{k:02d}'" for k in range(10)]
    assert lines[11] == "  … and 3 more"


def test_all_mistakes_in_new_rows_are_told_at_once(inside, capsys):
    write("a.csv", power=[None] * 3, wind=[0] * 5 + [np.inf], sun=[0] * 9 + ["dark"])
    assert command("evaluate", "m.qtkm", "a.csv") == 1
    first, wind, sun = capsys.readouterr().err.splitlines()
    assert first == "qtkm: a.csv, rows 1 to 200: 2 problems"
    assert "infinity: 1 of the 197 values of column 'wind'" in wind
    assert "column 'sun' holds values such as 'dark', but the model was fitted to numbers" in sun


def test_gaps_in_new_rows_are_remarked_upon(inside, capsys):
    write("a.csv", wind=[0, None, None])
    for words in (
        ["evaluate", "m.qtkm", "a.csv"],
        ["predict", "m.qtkm", "a.csv", "--out", "p.csv"],
    ):
        assert command(*words) == 0
        said = capsys.readouterr().err
        assert said.count("Values are missing in column 'wind', but none were in the fit") == 1


@pytest.mark.parametrize("limit", [[], ["--memory-limit", "1GB"]], ids=["whole", "blocks"])
def test_rows_without_a_target_are_counted(inside, limit, capsys):
    write("a.csv", power=[0, None, 0, None], w=[1, 1, None] + [1] * 197)
    words = ["fit", "a.csv", "--target", "power", "--out", "a.qtkm", *TINY, *limit]
    assert command(*words, "--drop", "w") == 0
    assert sentence(capsys) == "qtkm: 2 of 200 rows have no 'power' and are skipped: rows 2, 4\n"
    assert command(*words, "--weight", "w") == 0
    assert "3 of 200 rows have no 'power' or no 'w' and are skipped: rows 2, 3, 4" in sentence(
        capsys
    )
    assert command(*words, "--weight", "w", "--quiet") == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            ["much"] * 200,
            "the weights in column 'w' must be numbers, not text or times such as 'much'",
        ),
        (
            [1, -1] * 100,
            "'w' must be 0 or more, and finite, but are not in 100 of 200 rows, first in row 2",
        ),
        ([0] * 200, "the source has no rows of positive weight"),
        (
            [1, np.inf] * 100,
            "'w' must be 0 or more, and finite, but are not in 100 of 200 rows, first in row 2",
        ),
    ],
)
@pytest.mark.parametrize("limit", [[], ["--memory-limit", "1GB"]], ids=["whole", "blocks"])
def test_weights_that_are_none_are_named(inside, weights, message, limit, capsys):
    write("a.csv", w=weights)
    words = ["--target", "power", "--weight", "w", "--out", "a.qtkm", *limit]
    assert command("fit", "a.csv", *words) == 1
    assert message in sentence(capsys)


def test_truth_values_are_weights(inside):
    write("a.csv", w=[True, False] * 100)
    words = ["--target", "power", "--weight", "w", "--out", "a.qtkm", "--quiet", *TINY]
    assert command("fit", "a.csv", *words) == 0


def test_scores_tell_how_many_rows_have_no_target(inside, capsys):
    write("a.csv", power=[0, None, 0, None])
    assert command("evaluate", "m.qtkm", "a.csv", "--target", "power") == 0
    shown = capsys.readouterr().out
    assert re.search("rows scored +│ 198 ", shown)
    assert re.search("rows without a target +│ 2 ", shown)


def test_numbers_are_categories_if_said_so(inside, capsys):
    write("a.csv", wind=["calm"] * 20)
    words = ["--target", "power", "--category", "wind", "--out", "a.qtkm", "--quiet", *TINY]
    assert command("fit", "a.csv", *words) == 0
    assert "calm" in qtkm.load("a.qtkm").columns_[0]["categories"]
    words[3] = "wnd"
    assert command("fit", "a.csv", *words) == 1
    assert "no column 'wnd'; it has 'wind'" in sentence(capsys)


def test_the_only_row_of_a_class_is_trained_on(inside, capsys):
    write("a.csv", power=["rare"] + ["high"] * 100 + ["low"] * 99)
    for seed in range(4):
        words = ["--target", "power", "--random-state", seed, "--out", "a.qtkm", *TINY]
        assert command("fit", "a.csv", *words) == 0
        assert "accuracy" in capsys.readouterr().out
        assert "rare" in qtkm.load("a.qtkm").classes_


@pytest.mark.parametrize("suffix", [".csv.gz", ".csv.bz2"])
def test_a_file_of_another_kind_than_its_name_is_named(inside, suffix, capsys):
    (inside / f"a{suffix}").write_bytes((inside / "rows.csv").read_bytes())
    assert command("fit", f"a{suffix}", "--target", "power") == 1
    assert f"a{suffix} cannot be read as" in sentence(capsys)


@pytest.mark.parametrize(
    ("separator", "decimal"), [(";", "."), (";", ","), ("\t", ","), ("|", ".")]
)
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz"])
def test_other_separators_and_decimal_commas_are_read(inside, separator, decimal, name, capsys):
    rows = make_rows().round(6)
    rows.loc[3, "wind"] = 1  # in a line with one comma less
    rows.to_csv("plain.csv", index=False)
    rows.astype(object).to_csv(name, index=False, sep=separator, decimal=decimal)
    for table in ("plain.csv", name):
        assert command("predict", "m.qtkm", table) == 0
        assert command("evaluate", "m.qtkm", table, "--json") == 0
    predicted, scores, again, same = capsys.readouterr().out.replace("}", "{").split("{")[:4]
    assert scores == same
    assert predicted.split() == again.split()


def test_target_and_weight_are_two_columns(inside, capsys):
    assert command("fit", "rows.csv", "--target", "power", "--weight", "power") == 1
    assert "use two columns" in sentence(capsys)


@pytest.mark.parametrize("kind", ["cut", "altered", "empty", "folder", "none"])
def test_a_model_file_that_is_no_good_is_named(inside, kind, capsys):
    whole, bad = (inside / "m.qtkm").read_bytes(), inside / "bad.qtkm"
    if kind == "folder":
        bad.mkdir()
    elif kind != "none":
        altered = whole[:-9] + bytes([whole[-9] ^ 255]) + whole[-8:]
        bad.write_bytes({"cut": whole[:-100], "altered": altered, "empty": b""}[kind])
    for words in (["predict", bad, "rows.csv"], ["inspect", bad],
                  ["evaluate", bad, "rows.csv", "--target", "power"]):  # fmt: skip
        assert command(*words) == 1
        said = sentence(capsys)
        assert "bad.qtkm" in said
        assert kind != "none" or said.endswith("bad.qtkm does not exist\n")  # as of tables
