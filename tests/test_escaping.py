"""Nothing that data hold is obeyed: not by a terminal, not by a page, not by a figure."""

import html
import io
import json
import unicodedata

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qtkm
from qtkm import QTKMClassifier, QTKMRegressor, inspection
from qtkm.escaping import visible
from tests.cli.commands import command

#: escape, its short form, delete, right-to-left override, end of a line, half of a letter, formula
HOSTILE = "a\x1b[31m\x9b\x7f\u202e\n<b>$\\frac$"
LONE = HOSTILE + "\ud800"


def assert_harmless(text):
    text.encode()
    kinds = {letter: unicodedata.category(letter) for letter in text if letter != "\n"}
    assert [repr(letter) for letter, kind in kinds.items() if kind[0] == "C"] == []


@given(st.text(st.characters()))
def test_what_is_visible_stays_and_all_else_is_escaped(text):
    shown = visible(text)
    assert_harmless(shown.replace("\n", "\x00") or " ")
    if text.isprintable():
        assert shown == text
    assert visible(shown) == shown


def test_escapes_tell_what_was_there():
    assert visible("a\x1b\x9b\u202e\ud800\n") == r"a\x1b\x9b\u202e\ud800\n"
    assert visible("a\n\x1b", keep="\n") == "a\n\\x1b"
    assert visible("Köln 東京 4\xa0km") == "Köln 東京 4\xa0km"


@pytest.fixture(scope="module", params=[HOSTILE, LONE], ids=["hostile", "lone"])
def rows(request):
    rng = np.random.default_rng(0)
    name = request.param
    kinds = np.array([f"{name} {k}" for k in range(3)], dtype=object)[rng.integers(0, 3, 60)]
    columns = {name: rng.uniform(size=60), f"kind {name}": kinds}
    frame = pandas.DataFrame(
        {d: pandas.Series(values, dtype=values.dtype) for d, values in enumerate(columns.values())}
    )
    frame.columns = pandas.Index(list(columns), dtype=object)
    return frame


@pytest.fixture(scope="module")
def models(rows):
    settings = {"rank": 2, "alpha": 1e-3, "n_basis": 4, "max_iter": 2}
    settings |= {"categorical_features": [1]}
    y = rows.iloc[:, 0].to_numpy()
    labels = np.where(y > 0.5, f"yes {rows.columns[0]}", "no")
    return [
        QTKMRegressor(**settings, random_state=0).fit(rows, y),
        QTKMClassifier(**settings, random_state=0).fit(rows, labels),
    ]


def test_a_summary_and_the_results_of_an_inspection_are_harmless(rows, models):
    for model in models:
        assert_harmless(model.summary())
        for result in (
            inspection.main_effects(model, rows)[1],
            inspection.importances(model, rows),
            inspection.largest_coefficients(model),
        ):
            assert_harmless(repr(result))


def test_a_page_is_harmless(models):
    for model in models:
        text = model._html_repr().partition('<pre class="qtkm-learned">')[2]
        assert_harmless(text)
        assert "<b>" not in text
        assert visible(HOSTILE)[:10] in html.unescape(text)


def test_figures_draw_names_as_they_are(rows, models):
    from matplotlib.figure import Figure

    for model in models:
        effects = inspection.main_effects(model, rows)
        for display in (
            *map(inspection.MainEffectDisplay, effects),
            inspection.InteractionDisplay(inspection.interaction(model, rows, (0, 1))),
            inspection.ImportancesDisplay(inspection.importances(model, rows)),
            inspection.SpectrumDisplay(inspection.spectrum(model, 0)),
            inspection.CoefficientsDisplay(inspection.largest_coefficients(model)),
        ):
            figure = Figure(dpi=20)
            display.plot(figure.subplots())
            figure.savefig(io.BytesIO())  # raises for a formula, warns of what has no shape


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_inspect_prints_nothing_that_a_terminal_obeys(tmp_path, rows, models, capsys, words):
    for model in models:
        model.save(tmp_path / "a.qtkm")
        data = []
        if rows.columns[0].isascii() or "\ud800" not in rows.columns[0]:
            rows.to_parquet(tmp_path / "rows.parquet")
            data = ["--data", str(tmp_path / "rows.parquet")]
            data += [] if words else ["--plots", str(tmp_path)]  # the same figures with JSON
        assert command("inspect", str(tmp_path / "a.qtkm"), *data, *words) == 0
        shown = capsys.readouterr()
        assert_harmless(shown.out + shown.err)
        assert r"\x1b[31m" in shown.out or r"\u001b[31m" in shown.out
        if words:
            names = [column["name"] for column in json.loads(shown.out)["columns"]]
            assert names == list(rows.columns)


def test_other_commands_print_nothing_that_a_terminal_obeys(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame({HOSTILE: rng.uniform(size=40), "one": 1.0})
    rows["y"] = np.where(rows[HOSTILE] > 0.5, HOSTILE, "no")
    rows.to_parquet("rows.parquet")
    words = ["rows.parquet", "--target", "y"]
    assert command("fit", *words, "--out", "m.qtkm", "--rank", 1, "--alpha", 1) == 0
    assert command("evaluate", "m.qtkm", *words) == 0
    rows.drop(columns=HOSTILE).to_parquet("rows.parquet")
    assert command("evaluate", "m.qtkm", *words) == 1
    rows.assign(**{HOSTILE: "x" + rows["y"]}).to_parquet("rows.parquet")
    assert command("fit", *words, "--out", "m.qtkm", "--drop", f"{HOSTILE}?") == 1
    shown = capsys.readouterr()
    assert_harmless(shown.out + shown.err)


def test_predictions_on_a_screen_are_harmless_and_in_a_pipe_exact(
    tmp_path, monkeypatch, capsys, rows, models
):
    model = models[1]
    if "\ud800" in rows.columns[0]:
        pytest.skip("no file holds such a name")
    monkeypatch.chdir(tmp_path)
    model.save("m.qtkm")
    rows.to_parquet("rows.parquet")
    words = ["m.qtkm", "rows.parquet", "-q", "--keep", rows.columns[1]]
    assert command("predict", *words) == 0
    piped = pandas.read_csv(io.StringIO(capsys.readouterr().out))
    assert piped["prediction"].tolist() == model.predict(rows).tolist()
    assert piped.columns[0] == rows.columns[1]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert command("predict", *words) == 0
    assert_harmless(capsys.readouterr().out)


def test_a_loaded_model_is_harmless_whatever_its_file_says(tmp_path, models):
    model = models[0]
    model.message_ = model.status_ = LONE
    model.save(tmp_path / "a.qtkm")
    assert_harmless(qtkm.load(tmp_path / "a.qtkm").summary())
