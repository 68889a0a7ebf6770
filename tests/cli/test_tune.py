"""``qtkm tune`` from end to end."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import qtkm
from qtkm.cli import training
from qtkm.cli.training import remark_on_edges
from qtkm.selection.search import SearchCV
from tests.cli.commands import command

pandas = pytest.importorskip("pandas")

SMALL = ["--ranks", "1,3", "--n-basis", "4,8", "--periods", "2", "--alphas", "1e-3,1e-1",
         "--max-iter", 6, "--penalty", "ridge"]  # fmt: skip
#: for classes, whose fits take longer
SMALLER = ["--ranks", "1,3", "--n-basis", "4", "--periods", "2", "--alphas", "1e-3,1e-1",
           "--max-iter", 6, "--penalty", "ridge"]  # fmt: skip


@pytest.fixture
def data(tmp_path):
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.uniform(size=(240, 2)), columns=["wind", "sun"])
    rows["kind"] = rng.choice(["sea", "land"], size=240)
    rows["power"] = np.sin(5 * rows["wind"]) * rows["sun"] + (rows["kind"] == "sea")
    rows["high"] = np.where(rows["power"] > rows["power"].median(), "yes", "no")
    # sorted, as tables often are: folds in this order would be of no use
    rows = rows.sort_values("power")
    rows.to_csv(tmp_path / "data.csv", index=False)
    return tmp_path / "data.csv"


def test_a_table_becomes_a_tuned_model(tmp_path, data, capsys):
    model = tmp_path / "m.qtkm"
    words = ["--target", "power", "--drop", "high", "--out", model, *SMALL]
    assert command("tune", data, *words) == 0
    shown = capsys.readouterr().out
    for text in ("8 candidates, ", "rank 3", "R² in the search", "192, 3", "R²"):
        assert text in shown
    loaded = qtkm.load(model)
    assert loaded.rank_ == 3
    assert loaded.alpha_ == 1e-3
    frame = pandas.read_csv(data)
    assert loaded.score(frame[["wind", "sun", "kind"]], frame["power"]) > 0.9


@pytest.mark.parametrize(("lists", "expected"), [([], 40), (["--ranks", "1,2"], 100)])
def test_a_search_from_the_defaults_samples_fewer_rows(data, monkeypatch, lists, expected):
    for module in (training, sys.modules[SearchCV.__module__]):
        monkeypatch.setattr(module, "SAMPLE_ROWS", 100)
    monkeypatch.setattr(training, "FEW_ROWS", 40)
    sizes = []

    def stop(search, trial, *_):
        sizes.append(100 if search.sample_rows == "auto" else search.sample_rows)
        raise ValueError("enough")

    monkeypatch.setattr(SearchCV, "_search", stop)
    assert command("tune", data, "--target", "power", "--drop", "high", *lists) == 1
    assert sizes == [expected]


def test_a_table_and_a_plot_of_what_was_tried(tmp_path, data):
    pytest.importorskip("matplotlib")
    table, plot = tmp_path / "new" / "tried.csv", tmp_path / "tried.png"
    words = ["--target", "high", "--drop", "power", "--out", tmp_path / "m.qtkm", *SMALLER]
    words += ["--table", table, "--plot", plot, "--cv", "hold-out", "--scoring", "neg_log_loss"]
    assert command("tune", data, *words, "-q") == 0
    tried = pandas.read_csv(table)
    assert len(tried) == 4
    assert set(tried["param_rank"]) == {1, 3}
    assert tried["rank_test_score"].tolist() == sorted(tried["rank_test_score"])
    assert (tried["mean_test_score"] < 0).all()
    assert "split1_test_score" not in tried
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert hasattr(qtkm.load(tmp_path / "m.qtkm"), "classes_")


def test_the_best_at_an_edge_is_remarked_upon(tmp_path, data, capsys):
    words = ["--target", "power", "--drop", "high", "--out", tmp_path / "m.qtkm", "--max-iter", 6]
    lists = ["--ranks", "1,3", "--n-basis", "4,8,16", "--periods", "2", "--alphas", "1e-3,10"]
    assert command("tune", data, *words, *lists) == 0
    said = capsys.readouterr().err
    assert said.startswith("qtkm: the best value of rank and of ")
    assert "alpha is at an end of those tried; --ranks 3,6 " in said
    assert said.endswith("--alphas 0.0001,0.001 may be better\n")
    assert "period" not in said


@pytest.mark.parametrize(
    ("name", "values", "best", "remark"),
    [
        ("rank", [1, 2], 1, None),
        ("rank", [7, 14], 7, "the best value of rank is at an end of those tried; --ranks 3,7 may"),
        ("rank", [7, 14, 28], 14, None),
        ("period", [1.0, 2.0], 1.0, None),
        ("period", [1.5, 2.0], 1.5, "--periods 1,1.5 may be better"),
        ("alpha", [0.0, 1.0], 0.0, None),
        ("n_basis", [8, 16], 16, "the best value of n_basis is at an end of those tried; "),
        ("n_basis", [16], 16, None),
        ("period", ["auto", 4.0], "auto", None),
    ],
)  # fmt: skip
def test_only_what_lies_beyond_an_edge_is_proposed(name, values, best, remark):
    results = {f"param_{name}": np.array(values)}
    said = remark_on_edges(SimpleNamespace(cv_results_=results, best_params_={name: best}))
    assert said is None if remark is None else remark in said


def test_json_tells_the_choice_and_the_scores(tmp_path, data, capsys):
    words = ["--target", "high", "--drop", "power", "--out", tmp_path / "m.qtkm", *SMALLER]
    assert (
        command("tune", data, *words, "--cv", 2, "--scoring", "roc_auc", "--json", "--quiet") == 0
    )
    shown = capsys.readouterr()
    assert shown.err == ""
    found, model = json.loads(shown.out), qtkm.load(tmp_path / "m.qtkm")
    # of 48 drawn rows, the first of a label is trained on
    assert (found["n_rows"], found["scores"]["n_rows"]) == (193, 47)
    assert found["search"]["n_candidates"] == found["search"]["n_tried"] == 4
    assert found["rank"] == found["search"]["parameters"]["rank"] == model.rank_
    assert 0.5 < found["scores"]["balanced_accuracy"] <= 1


def test_quiet_says_nothing(tmp_path, data, capsys):
    words = ["--target", "power", "--drop", "high", "--out", tmp_path / "m.qtkm", *SMALL]
    assert command("tune", data, *words, "--quiet", "--cv", 2) == 0
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


def test_ctrl_c_saves_the_best_so_far(tmp_path, data, monkeypatch, capsys):
    search = SearchCV._search

    def interrupted(self, race):
        search(self, race)
        for candidate in sorted(race.candidates, key=lambda candidate: candidate.place)[-3:]:
            candidate.share[:] = candidate.n_rows[:] = 0
        raise KeyboardInterrupt

    monkeypatch.setattr(training.QTKMRegressorCV, "_search", interrupted)
    words = ["--target", "power", "--drop", "high", "--out", tmp_path / "m.qtkm", *SMALL]
    assert command("tune", data, *words) == 130
    shown = capsys.readouterr()
    assert "Interrupted after 5 of 8 candidates" in shown.err
    assert "5 of 8 candidates, " in shown.out
    assert "may be better" not in shown.err  # of so few, nothing is known
    assert qtkm.load(tmp_path / "m.qtkm").rank_ == 3


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--ranks", "1,two"], 2, "'--ranks': '1,two' must be integers, such as 5,10,20"),
        (["--alphas", ""], 2, "'--alphas': '' must be numbers"),
        (["--cv", "all"], 2, "'--cv': 'all' must be a number of folds, a fraction, or hold-out"),
        (["--task", "guess"], 2, "'guess' is not one of"),
        (["--cv", "1"], 1, "--cv 1 must be at least 2 folds"),
        (["--ranks", "0"], 1, "an entry of ranks=0 must be an integer >= 1"),
        (["--table", "tried.xlsx"], 1, "is neither CSV nor Parquet"),
        (
            ["--scoring", "auc"],
            2,
            "'--scoring': 'auc' is not a score of scikit-learn; did you mean roc_auc? ",
        ),
        (["--loss", "hinge"], 1, "use --task classification"),
    ],
)
def test_what_cannot_be_used_is_said(words, code, message, tmp_path, data, capsys):
    model = tmp_path / "m.qtkm"
    given = ["--target", "power", "--drop", "high", "--out", model]
    assert command("tune", data, *given, *words) == code
    error = " ".join(capsys.readouterr().err.replace("│", " ").split())
    assert message in error
    assert not model.exists()


def test_few_rows_are_no_choice(tmp_path, data, capsys):
    pandas.read_csv(data)[:12].to_csv(tmp_path / "few.csv", index=False)
    words = ["--target", "power", "--drop", "high", "--out", tmp_path / "m.qtkm"]
    assert command("tune", tmp_path / "few.csv", *words) == 1
    assert "few.csv has 10 rows to choose parameters on; at least 12" in capsys.readouterr().err


def test_a_plot_without_matplotlib_is_refused_at_once(tmp_path, data, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    words = ["--target", "power", "--out", tmp_path / "m.qtkm", "--plot", tmp_path / "a.png"]
    assert command("tune", data, *words) == 1
    assert "matplotlib" in capsys.readouterr().err
