"""What is remarked upon columns that tell little, and upon rows that a model is not made for."""

import json

import numpy as np
import pytest
from sklearn import metrics

import qtkm
from tests.cli.commands import FEATURES, TINY, command, make_rows, sentence, write_parts

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

WAYS = pytest.mark.parametrize("limit", [[], ["--memory-limit", "1GB"]], ids=["whole", "blocks"])
FIT = ["fit", "a.csv", "--target", "power", "--out", "a.qtkm", *TINY]


# -- columns ------------------------------------------------------------------------------------


@WAYS
def test_columns_of_one_value_are_named(inside, limit, capsys):
    make_rows().assign(country="UK").to_csv("a.csv", index=False)
    assert command(*FIT, *limit) == 0
    assert "Constant columns have no effect: column 'country'. Remove them." in sentence(capsys)
    rows = make_rows().assign(country="UK", code=7, some="x", flag=True)
    rows.loc[::2, "some"] = None  # whether it is there may tell something
    rows.to_csv("a.csv", index=False)
    assert command(*FIT, *limit, "--category", "code") == 0
    assert sentence(capsys) == (
        "qtkm: Constant columns have no effect: column 'country', column 'code', column 'flag'. "
        "Remove them.\n"
    )
    assert command(*FIT, *limit, "--quiet") == 0
    assert capsys.readouterr().err == ""


@WAYS
def test_numbers_taken_for_many_categories_are_remarked_upon(inside, limit, capsys):
    rows = make_rows()
    rows["lot"] = np.arange(len(rows)) % 120
    rows.to_csv("a.csv", index=False)
    assert command(*FIT, *limit, "--category", "lot") == 0
    said = sentence(capsys)
    assert "column 'lot' has 120 categories in 200 rows" in said
    assert said.endswith("--drop lot\n")
    assert command(*FIT, *limit) == 0
    assert capsys.readouterr().err == ""


def test_categories_of_few_rows_each_are_remarked_upon(inside, capsys):
    rows = make_rows(3000)
    rows["lot"] = [f"lot {i % 151}" for i in range(3000)]
    rows.to_csv("a.csv", index=False)
    assert command(*FIT) == 0
    assert "column 'lot' has 151 categories in 3,000 rows" in sentence(capsys)
    rows["lot"] = [f"lot {i % 150}" for i in range(3000)]
    rows.to_csv("a.csv", index=False)
    assert command(*FIT) == 0
    assert capsys.readouterr().err == ""


# -- rows ---------------------------------------------------------------------------------------


@pytest.fixture
def strange(frame, parts):
    """Files in which 8 rows have other categories and 5 rows other numbers, two of them twice."""
    rows = frame.copy()
    rows.loc[[5, 500, 2500], "kind"] = "moon"
    rows.loc[range(10, 15), "kind"] = None
    rows.loc[[20, 1020, 2020], "wind"] = [2.0, -1.0, 1.5]
    rows.loc[[20, 1020, 30, 31], "sun"] = -0.5
    rows.loc[110, ["kind", "sun"]] = ["moon", 9.0]  # without a target
    write_parts(rows, parts)
    rows.to_csv("one.csv", index=False)
    return rows


TOLD = [
    "qtkm: {} of {} rows have unseen categories, which are predicted as an average "
    "one: 'kind' in {}",
    "qtkm: {} of {} rows have numbers outside the training range, which are "
    "treated as values near its ends: 'sun' in {}, 'wind' in 3",
]


@pytest.mark.parametrize("data", ["parts", "one.csv"])
def test_rows_that_a_model_is_not_made_for_are_counted(strange, models, data, capsys):
    predict, evaluate = ["predict", models.power, data], ["evaluate", models.power, data]
    evaluate += ["--target", "power"]
    for words, counts in ((predict, ("9", "3,000", "6", "5")),
                          ([*predict, "--out", "p.csv"], ("9", "3,000", "6", "5")),
                          (evaluate, ("8", "2,960", "5", "4"))):  # fmt: skip
        new, n_rows, outside, sun = counts
        assert command(*words) == 0
        said = capsys.readouterr().err.splitlines()
        assert said == [TOLD[0].format(new, n_rows, new), TOLD[1].format(outside, n_rows, sun)]
        assert command(*words, "--quiet") == 0
        assert capsys.readouterr().err == ""


def test_rows_of_the_fit_are_not_remarked_upon(inside, capsys):
    assert command("fit", "rows.csv", "--target", "power", "--out", "a.qtkm", "--test-size", 0,
                   *TINY) == 0  # fmt: skip
    for words in (["predict"], ["evaluate", "--target", "power"]):
        assert command(words[0], "a.qtkm", "rows.csv", *words[1:]) == 0
        assert capsys.readouterr().err == ""


def test_scores_as_json_are_numbers(frame, parts, models, capsys):
    rows = frame.dropna()
    assert command("evaluate", models.power, "parts", "--target", "power", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    predicted = qtkm.load(models.power).predict(rows[FEATURES])
    assert {"nll", "crps", "coverage_90", "width_90"} <= found.keys()
    names = ("n_rows", "n_rows_without_target", "r2", "rmse", "mae")
    assert {name: found[name] for name in names} == {
        "n_rows": 2960, "n_rows_without_target": 40,
        "r2": pytest.approx(metrics.r2_score(rows["power"], predicted)),
        "rmse": pytest.approx(np.sqrt(metrics.mean_squared_error(rows["power"], predicted))),
        "mae": pytest.approx(metrics.mean_absolute_error(rows["power"], predicted)),
    }  # fmt: skip
    assert command("evaluate", models.high, "parts", "--target", "high", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    model, often = qtkm.load(models.high), frame["high"].value_counts()
    predicted = model.predict(frame[FEATURES])
    proba = model.predict_proba(frame[FEATURES])
    balanced = metrics.balanced_accuracy_score(frame["high"], predicted)
    assert found == {
        "n_rows": 3000, "n_rows_without_target": 0,
        "accuracy": pytest.approx(np.mean(predicted == frame["high"])),
        "most_frequent_class": often.index[0],
        "accuracy_of_most_frequent_class": pytest.approx(often.iloc[0] / 3000),
        "balanced_accuracy": pytest.approx(balanced),
        "log_loss": pytest.approx(metrics.log_loss(frame["high"], proba)),
    }  # fmt: skip


@WAYS
def test_a_fit_is_told_as_json(inside, limit, capsys):
    assert command("fit", "rows.csv", *FIT[2:], *limit, "--json") == 0
    found, model = json.loads(capsys.readouterr().out), qtkm.load("a.qtkm")
    assert found["file"] == "a.qtkm"
    assert (found["rank"], found["n_parameters"]) == (model.rank_, model.n_parameters_)
    assert found["n_rows"] + found["scores"]["n_rows"] == 200
    again = ["evaluate", "a.qtkm", "rows.csv", "--target", "power", "--json"]
    assert command(*again) == 0
    assert json.loads(capsys.readouterr().out).keys() == found["scores"].keys()


# -- files --------------------------------------------------------------------------------------


def test_a_folder_that_is_missing_is_not_made(inside, capsys):
    for words in (["fit", "rows.csv", "--target", "power", "--out", "new/a.qtkm"],
                  ["tune", "rows.csv", "--target", "power", "--out", "new/a.qtkm"],
                  ["predict", "m.qtkm", "rows.csv", "--out", "new/p.csv"]):  # fmt: skip
        assert command(*words) == 1
        assert (
            "cannot be written to new: No such file or directory; create the folder first"
            in sentence(capsys)
        )
        assert not (inside / "new").exists()


def test_what_may_be_a_mistake_is_remarked_upon(inside, capsys):
    rows = make_rows()
    rows["id"] = range(1, 201)
    rows["grade"] = rows["power"].rank(pct=True).mul(4).round().astype(int)
    rows.to_csv("a.csv", index=False)
    assert command("fit", "a.csv", "--target", "grade", "--out", "a.qtkm", *TINY) == 0
    said = capsys.readouterr().err
    assert "column 'id' numbers the rows" in said
    assert "the target 'grade' has 5 distinct integers" in said
    rows[["wind", "sun", "power"]].to_csv("a.csv", index=False, header=["1.5", "2", "power"])
    assert command(*FIT) == 0
    assert "column names '1.5', '2', … look like values" in capsys.readouterr().err
    text = rows[["wind", "sun", "power"]].assign(wind=rows["wind"].round(1).astype(str))
    text.to_parquet("a.parquet")
    words = ["--target", "power", "--out", "a.qtkm", *TINY]
    assert command("fit", "a.parquet", *words) == 0
    assert "column 'wind' contains numbers stored as text, such as" in capsys.readouterr().err
    assert qtkm.load("a.qtkm").columns_[0]["categories"] is None


@pytest.mark.parametrize("number", ["{:,.2f}", "{:.1f}%", "€{:.2f}", "{:.0f} %"])
def test_text_that_is_almost_a_number_is_remarked_upon(inside, number, capsys):
    rows = make_rows().assign(price=[number.format(7 * n) for n in range(200)])
    rows.to_csv("a.csv", index=False)
    assert command(*FIT) == 0
    assert "column 'price' holds text that is almost a number" in sentence(capsys)


def test_wild_targets_are_remarked_upon_unless_the_loss_bears_them(inside, capsys):
    rows = make_rows()
    rows.loc[7, "power"] = -1e6
    rows.to_csv("a.csv", index=False)
    assert command(*FIT) == 0
    said = sentence(capsys)
    assert "the target 'power' has extreme values up to -1,000,000, while half of" in said
    assert "use --loss huber" in said
    assert command(*FIT, "--loss", "huber") == 0
    assert not capsys.readouterr().err
    # heavy tails as such are not wild
    incomes = np.exp(np.random.default_rng(0).normal(size=len(rows)))
    rows.assign(power=incomes).to_csv("a.csv", index=False)
    assert command(*FIT) == 0
    assert not capsys.readouterr().err


def test_counts_are_not_remarked_upon_where_the_loss_is_one_of_counts(inside, capsys):
    rows = make_rows()
    rows["power"] = rows["power"].rank(pct=True).mul(4).round().astype(int)
    rows.to_csv("a.csv", index=False)
    assert command(*FIT) == 0
    assert "for counts --loss poisson" in sentence(capsys)
    assert command(*FIT, "--loss", "poisson") == 0
    assert not capsys.readouterr().err
