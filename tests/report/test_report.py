"""A report is one file that shows the model's own numbers, and runs nothing that data hold."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import qtkm
from qtkm import QTKMClassifier, QTKMRegressor
from qtkm.inspection import effects, explain, importances, main_effects
from qtkm.report import facts as contents
from qtkm.report import page
from qtkm.report.scores import reliability, score_classes, score_numbers
from tests.cli.commands import command

pandas = pytest.importorskip("pandas")

HOSTILE = "</script><script>document.title='run'</script><b>&amp;"
SETTINGS = {"rank": 2, "alpha": 1e-3, "n_basis": 9, "quantization": 3, "main_effects": True,
            "max_iter": 3, "random_state": 0, "n_jobs": 1}  # fmt: skip


def make_rows(n=150):
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.uniform(size=(n, 2)), columns=["wind", HOSTILE])
    rows["kind"] = rng.choice(["sea", "<img src=x onerror=alert(1)>"], size=n)
    rows["power"] = np.sin(5 * rows["wind"]) * rows[HOSTILE] + (rows["kind"] == "sea")
    rows["level"] = np.digitize(rows["power"], [0.2, 0.8])
    return rows


@pytest.fixture(scope="module")
def rows():
    return make_rows()


def fit(kind, rows, target, **changes):
    model = kind(**SETTINGS | {"categorical_features": ["kind"]} | changes)
    return model.fit(rows[["wind", HOSTILE, "kind"]], rows[target])


def read(path):
    """The data of a page."""
    text = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S).group(1)), text


def test_a_report_has_the_numbers_of_the_library(rows, tmp_path):
    model = fit(QTKMRegressor, rows, "power")
    X = rows[["wind", HOSTILE, "kind"]]
    facts, text = read(model.report(X, rows["power"], tmp_path / "new" / "report.html"))
    assert facts["target"] == facts["response"] == "power"
    r2 = {score["name"]: score for score in facts["scores"]}["R²"]
    assert r2["value"] == pytest.approx(model.score(X, rows["power"]), rel=1e-5)
    assert r2["low"] < r2["value"] < r2["high"]
    shares = importances(model, X)
    assert [c["name"] for c in facts["columns"]] == [
        shares.names[d] for d in np.argsort(-shares.total, kind="stable")
    ]
    error = np.abs(rows["power"] - model.predict(X)).to_numpy()
    worst = facts["rows"][0]
    assert worst["n"] == error.argmax()
    expected = explain(model, X.iloc[[worst["n"]]], X).contributions[0]
    np.testing.assert_allclose(worst["parts"], expected, rtol=1e-4, atol=1e-6)
    assert worst["base"] + sum(worst["parts"]) == pytest.approx(worst["predicted"], abs=1e-4)
    assert len(text) < 3_000_000
    assert "src=" not in re.sub(r'id="data">.*?</script>', "", text, flags=re.S)


@pytest.mark.parametrize("changes", [{"rank": 0}, {"main_effects": False}, {"network": "train"}])
def test_every_kind_of_model_has_a_report(rows, tmp_path, changes):
    model = fit(QTKMRegressor, rows, "power", **changes)
    facts, _ = read(model.report(rows[["wind", HOSTILE, "kind"]], rows["power"], tmp_path / "r"))
    assert len(facts["effects"]) == 3


def test_bands_are_those_of_the_categories_that_are_shown(monkeypatch):
    rng, seen, std = np.random.default_rng(0), [], effects.effect_std
    frame = pandas.DataFrame({"shop": rng.integers(0, 60, 300).astype(str)})
    y = rng.standard_normal(60)[frame["shop"].astype(int)]
    model = QTKMRegressor(**SETTINGS, categorical_features=["shop"]).fit(frame, y)
    (effect,) = main_effects(model, frame, std=True)
    for module in (effects, contents):
        watched = lambda *given: seen.append(given[2]) or std(*given)  # noqa: E731
        monkeypatch.setattr(module, "effect_std", watched, raising=False)
    (fact,) = contents.collect(model, frame, y, None, 1000, None)["effects"]
    assert [len(values) for (values,) in seen] == [contents.CATEGORIES]
    expected = dict(zip(effect.values, effect.std, strict=True))
    expected = [expected[name] for name in fact["x"]]
    np.testing.assert_allclose(fact["band"], expected, rtol=1e-4)


def test_classes_have_calibration_and_confusion(rows, tmp_path):
    model = fit(QTKMClassifier, rows, "level")
    X = rows[["wind", HOSTILE, "kind"]]
    facts, _ = read(model.report(X, rows["level"], tmp_path / "r.html", output=2, max_rows=60))
    assert facts["response"] == "log-odds of 2 against the rest"
    assert (facts["n_rows"], facts["n_used"]) == (150, 60)
    assert np.sum(facts["confusion"]["counts"]) == 150
    assert facts["scores"][0]["value"] == pytest.approx(model.score(X, rows["level"]), abs=1e-5)
    assert sum(n for _, _, n in facts["calibration"]["bins"]) == 150


def test_of_several_targets_one_is_shown(rows, tmp_path):
    X = rows[["wind", HOSTILE, "kind"]]
    model = QTKMRegressor(**SETTINGS, categorical_features=["kind"])
    model.fit(X, rows[["power", "level"]])
    path = model.report(X, rows[["power", "level"]], tmp_path / "r.html", output="level")
    facts, _ = read(path)
    assert facts["response"] == "level"
    assert facts["rows"][0]["observed"] in (0, 1, 2)


def test_names_cannot_end_the_data_of_a_page():
    text = page({"title": HOSTILE, "x": HOSTILE + "\u2028"})
    assert HOSTILE not in text
    assert text.count("</script>") == 2
    assert "\u2028" not in text


def test_the_command_takes_the_target_from_the_model(rows, tmp_path, capsys):
    rows.to_csv(tmp_path / "rows.csv", index=False)
    fit(QTKMRegressor, rows, "power").save(tmp_path / "model.qtkm")
    out = tmp_path / "report.html"
    assert command("report", tmp_path / "model.qtkm", tmp_path / "rows.csv", "--out", out) == 0
    facts, _ = read(out)
    assert "model.qtkm" in facts["code"]["shell"]
    assert qtkm.load(tmp_path / "model.qtkm").target_names_ == ["power"]


def test_intervals_of_scores_cover_what_is_found_on_other_rows():
    rng = np.random.default_rng(0)
    hits = {name: 0 for name in ("R²", "root mean squared error", "mean absolute error")}
    truth = dict(zip(hits, (0.8, 0.5, 0.5 * np.sqrt(2 / np.pi)), strict=True))
    for _ in range(400):
        signal, noise = rng.normal(size=(2, 300))
        for score in score_numbers(signal + 0.5 * noise, signal):
            name = score["name"]
            hits[name] += score["low"] <= truth[name] <= score["high"]
    assert all(0.9 < count / 400 <= 1 for count in hits.values())


def test_scores_of_classes_are_those_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    truth, p = rng.integers(0, 2, 200), np.round(rng.uniform(0.01, 0.99, 200), 2)
    proba = np.column_stack([1 - p, p])
    found = {s["name"]: s["value"] for s in score_classes(truth, p > 0.5, proba, np.array([0, 1]))}
    assert found["accuracy"] == pytest.approx(metrics.accuracy_score(truth, p > 0.5))
    assert found["log loss"] == pytest.approx(metrics.log_loss(truth, p))
    assert found["ROC AUC"] == pytest.approx(metrics.roc_auc_score(truth, p))
    bins = reliability(p, truth == 1)
    assert sum(n for _, _, n in bins) == 200


def make_times():
    rng = np.random.default_rng(0)
    when = pandas.Timestamp("2023-11-01") + pandas.to_timedelta(rng.uniform(0, 300, 150), unit="D")
    X = pandas.DataFrame({"when": when, "dose": rng.uniform(size=150)})
    y = np.sin(when.day_of_year.to_numpy() / 30) * X["dose"]
    return QTKMRegressor(**SETTINGS).fit(X, y), X, y


def test_times_are_told_as_such(tmp_path):
    model, X, y = make_times()
    facts, _ = read(model.report(X, y, tmp_path / "r.html"))
    (line,) = (column for column in facts["columns"] if column["name"] == "when")
    assert line["kind"] == "times"
    assert line["range"].startswith("2023-11-0")
    (effect,) = (effect for effect in facts["effects"] if effect["name"] == "when")
    assert effect["time"]
    seconds = (X["when"] - pandas.Timestamp(0)).dt.total_seconds()
    assert seconds.min() - 1 <= effect["x"][0] < effect["x"][-1] <= seconds.max() + 1
    assert "parse_dates=['when']" in facts["code"]["python"]
    assert any(str(value).startswith("202") for value in facts["rows"][0]["values"])


CHROME = shutil.which("chromium") or shutil.which("google-chrome")


def drawn(path):
    """The page as a browser makes it of a report."""
    words = [CHROME, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom",
             "--virtual-time-budget=4000", f"--user-data-dir={path.parent / 'chrome'}",
             path.as_uri()]  # fmt: skip
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.skipif(CHROME is None, reason="no chromium to open the page with")
def test_a_browser_writes_dates_at_the_ticks_of_times(tmp_path):
    model, X, y = make_times()
    dom = drawn(model.report(X, y, tmp_path / "r.html"))
    assert 'data-ready="yes"' in dom
    assert re.search(r'text-anchor="middle">2024-0[1-8]</text>', dom)
    assert not re.search(r'text-anchor="middle">1,[67]\d\d,000,000</text>', dom)


@pytest.mark.skipif(CHROME is None, reason="no chromium to open the page with")
@pytest.mark.parametrize("target", ["power", "level"])
def test_a_browser_draws_the_page_and_runs_nothing_of_the_data(rows, tmp_path, target):
    kind = QTKMRegressor if target == "power" else QTKMClassifier
    model = fit(kind, rows, target)
    path = model.report(rows[["wind", HOSTILE, "kind"]], rows[target], tmp_path / "r.html")
    dom = drawn(path)
    assert 'data-ready="yes"' in dom  # the script came to its end
    body = re.sub(r"<script.*?</script>", "", dom, flags=re.S)
    assert body.count("<svg") >= 6
    assert body.count("<path") >= 3
    bands = [points.split() for points in re.findall(r'<polygon points="([^"]+)"', body)]
    facts, _ = read(path)
    numeric = [e for e in facts["effects"] if e["band"] and "edges" in e]
    if numeric:  # a band ends where rows do, below the drawing and above it
        assert max(map(len, bands)) <= 2 * max(sum(e["sure"]) for e in numeric)
    assert "<title>run</title>" not in dom
    assert "<img" not in body
    assert "&lt;img src=x onerror=alert(1)&gt;" in body
    assert 'aria-label="Effect of' in body
    assert "Contributions to" in body
