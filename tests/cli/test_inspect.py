"""qtkm inspect: what a file alone tells, what rows add, and plots."""

import json
import sys

import numpy as np
import pytest

import qtkm
from qtkm import QTKMClassifier, QTKMRegressor, inspection
from qtkm.cli.findings import curve
from tests.cli.commands import command

pandas = pytest.importorskip("pandas")

SETTINGS = {
    "penalty": "ridge",
    "rank": 3,
    "n_basis": 4,
    "max_iter": 3,
    "random_state": 0,
    "n_jobs": 1,
}
FEATURES = ["wind", "[red]sun", "kind"]


def make_rows():
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.uniform(size=(120, 2)), columns=FEATURES[:2])
    rows["kind"] = rng.choice(["sea", "land"], size=120)
    rows["power"] = np.sin(5 * rows["wind"]) * rows["[red]sun"] + (rows["kind"] == "sea")
    rows["level"] = np.digitize(rows["power"], [0.2, 0.8])
    rows["high"] = np.where(rows["power"] > 0.5, "yes", "no")
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table and a model of every kind."""
    folder, rows = tmp_path_factory.mktemp("inspect"), make_rows()
    rows.to_csv(folder / "rows.csv", index=False)
    X, options = rows[FEATURES], {**SETTINGS, "categorical_features": ["kind"]}
    QTKMRegressor(**options).fit(X, rows["power"]).save(folder / "power.qtkm")
    QTKMClassifier(**options).fit(X, rows["high"]).save(folder / "high.qtkm")
    QTKMClassifier(**options).fit(X, rows["level"]).save(folder / "level.qtkm")
    tucker = QTKMRegressor(**options | {"network": "tucker", "rank": 2, "n_basis": 2})
    tucker.fit(X, rows["power"]).save(folder / "tucker.qtkm")
    QTKMRegressor(**SETTINGS).fit(X[["wind"]], rows["power"]).save(folder / "one.qtkm")
    return folder


def test_a_file_alone_tells_summary_weights_and_learning_curve(folder, capsys):
    assert command("inspect", folder / "power.qtkm") == 0
    assert "Largest weights" not in capsys.readouterr().out
    assert command("inspect", folder / "power.qtkm", "--weights") == 0
    shown = capsys.readouterr().out
    model = qtkm.load(folder / "power.qtkm")
    assert model.summary() in shown
    assert "[red]sun" in shown
    assert curve(model.history_["objective"]) in shown
    largest = inspection.largest_coefficients(model, 10)
    assert f"{abs(largest.values[0]):.4g}" in shown
    assert "need rows: add --data FILE" in shown
    assert "Shares in the variance" not in shown


def test_rows_add_shares_interactions_and_effects(folder, capsys):
    assert command("inspect", folder / "power.qtkm", "--data", folder / "rows.csv") == 0
    shown = capsys.readouterr().out
    model = qtkm.load(folder / "power.qtkm")
    shares = inspection.importances(model, make_rows()[FEATURES])
    first = int(np.argmax(shares.total))
    part = shown[shown.index("from 120 rows") : shown.index("Strongest")].splitlines()
    line = part[3].split()
    assert line == [shares.names[first], f"{shares.first_order[first]:.3f}",
                    f"{shares.total[first]:.3f}"]  # fmt: skip
    assert "[red]sun × kind" in shown
    assert "Main effects" in shown
    assert "at sea" in shown
    assert "need rows" not in shown
    assert "rows scored" not in shown


def test_a_target_adds_scores(folder, capsys):
    words = ["--data", folder / "rows.csv", "--target"]
    assert command("inspect", folder / "power.qtkm", *words, "power") == 0
    assert "R²" in capsys.readouterr().out
    assert command("inspect", folder / "high.qtkm", *words, "high") == 0
    assert "accuracy" in capsys.readouterr().out


def test_json_has_the_numbers_of_the_library(folder, capsys):
    words = ["--data", folder / "rows.csv", "--target", "power", "--json"]
    assert command("inspect", folder / "power.qtkm", *words) == 0
    facts = json.loads(capsys.readouterr().out)
    model, X = qtkm.load(folder / "power.qtkm"), make_rows()[FEATURES]
    assert facts["network"] == "CPD"
    assert facts["n_parameters"] == model.n_parameters_
    assert [column["name"] for column in facts["columns"]] == FEATURES
    assert facts["columns"][2]["categories"] == ["land", "sea"]
    assert facts["history"]["objective"] == model.history_["objective"]
    shares = inspection.importances(model, X)
    told = {share["column"]: share["total"] for share in facts["importances"]}
    np.testing.assert_allclose([told[name] for name in FEATURES], shares.total)
    strongest = facts["interactions"][0]
    assert strongest["size"] == pytest.approx(shares.interactions.max())
    assert strongest["share"] == pytest.approx(shares.second_order.max())
    effect = inspection.main_effects(model, X, "kind")[0]
    np.testing.assert_allclose(facts["effects"][2]["effect"], effect.effect)
    assert facts["scores"].keys() >= {"n_rows", "n_rows_without_target", "r2", "rmse", "mae"}
    assert (facts["n_rows"], facts["n_rows_used"]) == (120, 120)


def test_json_of_a_file_alone_says_what_is_missing_by_null(folder, capsys):
    assert command("inspect", folder / "level.qtkm", "--json", "--weights") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["importances"] is None
    assert facts["effects"] is None
    assert facts["classes"] == [0, 1, 2]
    assert facts["output"] == 0
    assert len(facts["coefficients"]) == 10


def test_of_many_rows_some_are_drawn(folder, capsys):
    words = ["--data", folder / "rows.csv", "--rows", 50]
    assert command("inspect", folder / "power.qtkm", *words) == 0
    assert "from 50 of 120 rows" in capsys.readouterr().out


def test_of_many_rows_of_a_model_without_names_some_are_drawn(folder, tmp_path, capsys):
    rows = make_rows()[FEATURES[:2]]
    QTKMRegressor(**SETTINGS).fit(rows.to_numpy(), rows["wind"]).save(tmp_path / "array.qtkm")
    rows.to_csv(tmp_path / "rows.csv", index=False)
    words = ["--data", tmp_path / "rows.csv", "--rows", 50]
    assert command("inspect", tmp_path / "array.qtkm", *words) == 0
    assert "from 50 of 120 rows" in capsys.readouterr().out


def test_of_two_classes_either_is_told(folder, capsys):
    assert command("inspect", folder / "high.qtkm") == 0
    assert "What follows describes yes; use --output for no." in capsys.readouterr().out
    effects = []
    for name in ("yes", "no"):
        words = ["--output", name, "--data", folder / "rows.csv", "--json"]
        assert command("inspect", folder / "high.qtkm", *words) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["output"] == name
        effects.append(facts["effects"][0]["effect"])
    np.testing.assert_allclose(effects[0], -np.array(effects[1]), atol=1e-12)
    assert np.abs(effects[0]).max() > 0.1


def test_one_of_several_classes_is_chosen_by_its_name(folder, capsys):
    assert command("inspect", folder / "level.qtkm") == 0
    assert "What follows describes 0; use --output for 1, 2." in capsys.readouterr().out
    words = ["--output", "2", "--data", folder / "rows.csv", "--json"]
    assert command("inspect", folder / "level.qtkm", *words) == 0
    facts = json.loads(capsys.readouterr().out)
    model = qtkm.load(folder / "level.qtkm")
    shares = inspection.importances(model, make_rows()[FEATURES], output=2)
    assert facts["importances"][0]["total"] == pytest.approx(shares.total.max())


def is_png(path):
    return path.read_bytes().startswith(b"\x89PNG")


WEIGHTS = {"learning-curve", "largest-weights", "spectra", "rank-one-terms"}
ROWS = {"importances", "main-effects", "interactions"}


@pytest.mark.parametrize(
    ("model", "words", "expected"),
    [
        ("power", ["power"], {"learning-curve"} | ROWS | {"residuals"}),
        ("high", ["--weights"], WEIGHTS),
        ("tucker", ["power"], {"learning-curve", "residuals"}),
        ("one", ["power", "--weights"], WEIGHTS | {"importances", "main-effects", "residuals"}),
    ],
)
def test_plots_are_drawn_for_what_applies(folder, tmp_path, model, words, expected, capsys):
    pytest.importorskip("matplotlib")
    plots = tmp_path / "new" / "plots"
    more = words if words[0] == "--weights" else ["--data", folder / "rows.csv", "--target", *words]
    assert command("inspect", folder / f"{model}.qtkm", "--plots", plots, *more) == 0
    files = {path.stem: path for path in plots.iterdir()}
    assert set(files) == expected
    assert all(is_png(path) for path in files.values())
    shown = capsys.readouterr().out.splitlines()
    assert {str(path) for path in files.values()} <= set(shown)


def test_a_network_that_is_not_served_says_so_and_tells_the_rest(folder, capsys):
    words = ["--data", folder / "rows.csv", "--target", "power"]
    assert command("inspect", folder / "tucker.qtkm", *words) == 0
    shown = capsys.readouterr().out
    assert "supports only CPD, TensorTrain and TensorRing" in shown
    assert "R²" in shown


def test_without_matplotlib_the_extra_is_named(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    plots = tmp_path / "plots"
    assert command("inspect", folder / "power.qtkm", "--plots", plots) == 1
    shown = capsys.readouterr()
    assert 'with matplotlib, which is not installed; try: pip install "qtkm[plot]"' in shown.err
    assert shown.out == ""
    assert not plots.exists()


@pytest.mark.parametrize(
    ("model", "words", "message"),
    [
        ("power", ["--output", "1"], "the model has one response; remove it"),
        (
            "level",
            ["--output", "5"],
            "5 is not an output of the model; use one of 0, 1, 2",
        ),
        ("power", ["--plots", "rows.csv"], "plot.png cannot be written to rows.csv: File exists"),
        ("power", ["--data", "rows.csv", "--target", "powr"], "no column 'powr'; it has 'power'"),
        ("power", ["--data", "none.csv"], "none.csv does not exist"),
        ("none", [], "none.qtkm"),
    ],
)
def test_an_error_is_one_sentence(folder, monkeypatch, model, words, message, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(folder)
    assert command("inspect", f"{model}.qtkm", *words) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_target_without_a_table_is_a_misuse(folder, capsys):
    assert command("inspect", folder / "power.qtkm", "--target", "power") == 2
    assert "add --data FILE" in " ".join(capsys.readouterr().err.replace("│", " ").split())


def test_a_curve_of_letters_falls_as_its_numbers():
    assert curve([4.0, 3.0, 2.0, 1.0]) == "4 █▆▃▁ 1"
    assert curve([2.0, 2.0]) == "2 ▁▁ 2"
    assert len(curve(np.linspace(1, 0, 1000)).split()[1]) == 40
