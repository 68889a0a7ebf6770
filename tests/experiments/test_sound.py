"""The sound experiment: its files, its numbers, and that finished fits are not repeated."""

import csv
import os
import shutil
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from qtkm.experiments import sound as experiment
from qtkm.experiments.runs import Options, Split
from qtkm.experiments.sound import SoundProtocol, find_gaps, load, respond, run, solve_free

REAL_HOME = os.environ.get("QTKM_DATA_HOME")
SAMPLES = 2400
TINY = SoundProtocol(n_basis=64, epochs={2: 12, 4: 12})


def make_home(folder):
    """A data home with a made-up sound: three tones, one of them fading, and two gaps."""
    x = np.arange(1, SAMPLES + 1)
    t = (x - 1) / (SAMPLES - 1)
    y = np.sin(2 * np.pi * 7 * t) + np.exp(-3 * t) * np.cos(2 * np.pi * 21 * t)
    y += 0.3 * np.sin(2 * np.pi * 25.5 * t) + 0.01 * np.random.default_rng(0).normal(size=len(x))
    in_gap = ((x > 500) & (x <= 512)) | ((x > 1500) & (x <= 1515))
    (folder / "sound").mkdir(parents=True)
    for name, rows in (("train", ~in_gap), ("test", in_gap)):
        file = folder / "sound" / f"sound_{name}.csv.gz"
        table = np.column_stack([x[rows], y[rows]])
        np.savetxt(file, table, "%.17g", ",", header="x,y", comments="")
    return folder


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """Options of a run that was made once, to be read and not to be written to."""
    folder = tmp_path_factory.mktemp("sound")
    options = Options(
        folder / "out",
        quick=True,
        data_home=str(make_home(folder / "home")),
        n_jobs=1,
        progress=False,
        command="qtkm sound",
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "QUICK", TINY)
        run(options)
    return options


@pytest.fixture
def options(finished, tmp_path, monkeypatch):
    """Options of a run that begins."""
    monkeypatch.setattr(experiment, "QUICK", TINY)
    return replace(finished, output=tmp_path / "out")


@pytest.fixture
def resumed(finished, options):
    """Options of a run that was finished before."""
    shutil.copytree(finished.output, options.output)
    return options


def read_rows(output):
    with (output / "sound.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def medians(rows, rank, column):
    values = [float(r[column]) for r in rows if r["rank"] == rank]
    return np.median(values), min(values), max(values)


def test_a_run_writes_page_table_and_figures(finished):
    page = finished.output / "sound.md"
    for name in ("sound", "sound_errors"):
        assert (page.parent / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (page.parent / f"{name}.pdf").read_bytes().startswith(b"%PDF")
    names = [(int(row["rank"]), int(row["start"])) for row in read_rows(page.parent)]
    assert sorted(names) == [(rank, start) for rank in (2, 4) for start in (0, 1)]
    text = page.read_text()
    assert "`qtkm sound`" in text
    assert "A quick run" in text
    assert "(sound.png)" in text
    assert f"{SAMPLES - 27:,} samples train, 27 samples in 2 gaps of 12 to 15 test" in text


def test_the_page_has_the_numbers_of_the_records(finished):
    text = (finished.output / "sound.md").read_text()
    rows = read_rows(finished.output)
    for rank in ("2", "4"):
        names = ("weight_error", "smae", "train_smae")
        cells = ["{:.3f} ({:.3f} – {:.3f})".format(*medians(rows, rank, name)) for name in names]
        parameters = 2 * 6 * int(rank)
        line = [rank, parameters, f"{64 / parameters:.1f}", "–", cells[0], "–", *cells[1:]]
        assert "| " + " | ".join(map(str, line)) + " |" in text


def test_the_papers_numbers_stand_only_beside_its_own_models(resumed, monkeypatch):
    row = experiment.TableTwoRow(24, 2.7, 0.123, 0.456)
    monkeypatch.setattr(experiment, "PUBLISHED", {2: row, 4: row})  # 4 has 48 parameters
    lines = run(resumed).read_text().splitlines()
    beside = [line for line in lines if "| 0.123 |" in line and "(" in line]
    assert len(beside) == 1
    assert beside[0].startswith("| 2 | 24 | 2.7 | 0.123 |")
    assert "| 0.456 |" in beside[0]


def test_finished_fits_are_not_repeated(options, monkeypatch):
    fitted, fit_one = [], experiment.fit_one

    def fit_or_stop(rank, start, **arguments):
        if len(fitted) == 3:
            raise KeyboardInterrupt
        return fit(rank, start, **arguments)

    def fit(rank, start, **arguments):
        fitted.append((rank, start))
        return fit_one(rank, start, **arguments)

    monkeypatch.setattr(experiment, "fit_one", fit_or_stop)
    with pytest.raises(KeyboardInterrupt):
        run(options)
    before = read_rows(options.output)
    assert len(before) == 3
    assert not (options.output / "sound.md").exists()

    monkeypatch.setattr(experiment, "fit_one", fit)
    run(options)
    assert len(fitted) == len(set(fitted)) == 4
    assert read_rows(options.output)[:3] == before


def test_a_finished_run_is_drawn_again_without_a_fit(finished, resumed, monkeypatch):
    def refuse(**_):
        raise AssertionError("fitted again")

    for file in resumed.output.glob("*.png"):
        file.unlink()
    monkeypatch.setattr(experiment, "fit_one", refuse)
    page = run(resumed)
    assert page == resumed.output / "sound.md"
    for name in ("sound.md", "sound.png", "sound_errors.png"):
        assert (resumed.output / name).read_bytes() == (finished.output / name).read_bytes()


def test_a_page_is_about_the_starts_of_its_run(resumed):
    text = run(resumed, starts=1).read_text()
    first = next(
        float(row["smae"])
        for row in read_rows(resumed.output)
        if (row["rank"], row["start"]) == ("4", "0")
    )
    assert f"| {first:.3f} ({first:.3f} – {first:.3f}) |" in text


def test_a_model_that_was_taken_away_is_named(resumed):
    for start in (0, 1):
        (resumed.output / "sound_fits" / f"rank2_start{start}.npz").unlink()
    with pytest.raises(FileNotFoundError, match="rank2_start"):
        run(resumed)


def turns(sound, X):
    low, high = sound.X_train.min(), sound.X_train.max()
    return (X[:, 0] - low) / (high - low)


def test_the_unconstrained_weights_are_those_of_least_squares(finished):
    sound = load(finished)
    t = turns(sound, sound.X_train)
    features = np.exp(2j * np.pi * np.outer(t, np.arange(64) - 32))
    expected = np.linalg.lstsq(features, sound.y_train.astype(complex), rcond=None)[0]
    weights = solve_free(sound, 64)
    np.testing.assert_allclose(weights, expected, atol=1e-10)
    response = respond(weights, sound, sound.X_train)
    np.testing.assert_allclose(response, features @ expected, atol=1e-10)


def some_samples(n_rows):
    X = np.arange(3.0, 3 + n_rows)[:, None]
    return Split.standardize(X, X, np.sin(X[:, 0]), np.sin(X[:, 0]))


@pytest.mark.parametrize("n_basis", [1, 2, 5, 12])
def test_responses_for_any_number_of_functions(n_basis):
    rng = np.random.default_rng(n_basis)
    weights = rng.normal(size=n_basis) + 1j * rng.normal(size=n_basis)
    sound, X = some_samples(9), np.array([[4.0], [11.0], [8.0], [3.0]])
    features = np.exp(2j * np.pi * np.outer(turns(sound, X), np.arange(n_basis) - n_basis // 2))
    np.testing.assert_allclose(respond(weights, sound, X), features @ weights, atol=1e-14)


def test_a_model_of_full_rank_recovers_the_weights(finished, tmp_path):
    # eight terms, one for each value of three of the four digits, hold any 16 weights
    sound = load(finished)
    free = solve_free(sound, 16)
    found = experiment.fit_one(8, 0, sound=sound, free=free, max_iter=20, folder=tmp_path)
    test = respond(free, sound, sound.X_test).real
    assert found["weight_error"] < 1e-6
    assert found["smae"] == pytest.approx(np.abs(sound.y_test - test).mean(), abs=1e-6)
    assert found["compression"] == 16 / (2 * 4 * 8)


def test_what_is_kept_of_a_fit_is_the_model_that_was_measured(finished):
    sound = load(finished)
    free = solve_free(sound, TINY.n_basis)
    for row in read_rows(finished.output):
        weights = experiment.read_kept(finished.output / "sound_fits", row)
        error = np.linalg.norm(weights - free) / np.linalg.norm(free)
        assert error == pytest.approx(float(row["weight_error"]))
        for X, y, name in (
            (sound.X_train, sound.y_train, "train_smae"), (sound.X_test, sound.y_test, "smae")
        ):  # fmt: skip
            found = np.abs(respond(weights, sound, X).real - y).mean()
            assert found == pytest.approx(float(row[name]), rel=1e-9)
        objective = np.mean(np.abs(respond(weights, sound, sound.X_train) - sound.y_train) ** 2)
        assert objective == pytest.approx(float(row["objective"]), rel=1e-6)


def test_without_matplotlib_there_is_a_page_without_figures(resumed, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    text = run(resumed).read_text()
    assert "![" not in text
    assert 'pip install "qtkm[plot]"' in capsys.readouterr().out


@pytest.mark.skipif(
    not REAL_HOME or not Path(REAL_HOME, "sound").is_dir(),
    reason="QTKM_DATA_HOME names no folder with the sound",
)
def test_the_real_sound_without_constraint(tmp_path):
    sound = load(Options(tmp_path, data_home=REAL_HOME))
    weights = solve_free(sound, experiment.FULL.n_basis)
    response = respond(weights, sound, sound.X_test).real
    assert np.abs(sound.y_test - response).mean() == pytest.approx(0.180, abs=5e-4)
    assert len(sound.y_test) == 691
    assert set(find_gaps(sound)) == {12, 15, 17, 18}
