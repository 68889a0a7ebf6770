"""The airline experiment: what it writes, how it goes on, which data it takes."""

import csv
import sys
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from qtkm import QTKMRegressor
from qtkm.datasets import REGISTRY
from qtkm.experiments import airline, airline_models
from qtkm.experiments.runs import Options, count_parameters, draw_rows, fit_timed


def flights(n_columns=8, n_rows=600):
    """Made-up flights: few distinct values, a smooth delay and noise."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, size=(n_rows, n_columns)).astype(float)
    return X, np.sin(X[:, 0] / 2) * X[:, 1] + rng.normal(size=n_rows)


def missing(**_):
    raise FileNotFoundError("there is no such file; try another")


@pytest.fixture(autouse=True)
def small_data(monkeypatch):
    """Made-up flights in place of the substitutes; the paper's data are not there."""
    draw_rows.cache_clear()
    monkeypatch.setitem(REGISTRY, "airline", missing)
    monkeypatch.setitem(REGISTRY, "nyc_flights", lambda **_: flights())
    monkeypatch.setitem(REGISTRY, "flights_2001", lambda **_: flights(9))
    yield
    draw_rows.cache_clear()


@pytest.fixture
def new_york(monkeypatch):
    """The smaller substitute alone."""
    monkeypatch.setitem(REGISTRY, "flights_2001", missing)


@pytest.fixture
def few_models(monkeypatch):
    """Two quick models of the table, and one other."""

    def make(n_columns, seed, rank):
        return QTKMRegressor(
            n_basis=8, rank=rank, max_iter=1, random_state=seed, penalty="ridge", alpha=1e-3
        )

    found = {
        "TKM R=8": airline.Contender("TKM", partial(make, rank=2), None),
        "QTKM R=40": airline.Contender("QTKM", partial(make, rank=1), None),
        "linear": airline.Contender("boosting", lambda **_: LinearRegression()),
        airline.GAUSSIAN_PROCESS: airline.contenders(True)[airline.GAUSSIAN_PROCESS],
    }
    monkeypatch.setattr(airline, "contenders", lambda quick: found)
    for module in (airline, airline_models):
        monkeypatch.setattr(module, "PACKAGE", "no_such_package")


@pytest.fixture
def no_figure(monkeypatch):
    """Saves the time that drawing takes."""
    monkeypatch.setattr(airline.runs, "save_figures", lambda folder, drawn: {})


def options(folder, **changes):
    return Options(folder, progress=False, n_jobs=1, command="qtkm airline", **changes)


def read(folder):
    with (folder / "airline.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_a_quick_run_writes_results_figure_and_page(tmp_path, monkeypatch):
    monkeypatch.setattr(airline, "QUICK_EPOCHS", 1)
    monkeypatch.setattr(airline, "QUICK_COMPONENTS", 20)
    given = {"alpha": 1e-3, "max_iter": 1, "posterior": False}  # a search takes seconds
    quick = airline.contenders(True)
    for name, one in quick.items():
        if "TKM" in one.family:
            make = partial(lambda make, **to: make(**to).set_params(**given), one.make)
            quick[name] = one._replace(make=make)
    monkeypatch.setattr(airline, "contenders", lambda quick_run: quick)
    page = airline.run(options(tmp_path, quick=True))

    rows, text = read(tmp_path), page.read_text(encoding="utf-8")
    assert page == tmp_path / "airline.md"
    assert [row["model"] for row in rows] == [n for n in quick if n != airline.GAUSSIAN_PROCESS]
    for row in rows:
        error = f"{float(row['test_mse']):.4f}"
        assert any(row["model"] in line and error in line for line in text.splitlines())
        assert float(row["seconds"]) > 0
    assert (tmp_path / "airline.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "airline.pdf").read_bytes().startswith(b"%PDF")
    assert "A quick run" in text


def test_models_of_the_table_have_the_parameters_of_the_paper(tmp_path):
    halves = airline.rows_of("nyc_flights", 0, options(tmp_path))
    every = airline.contenders(True)
    published = {"TKM R=4": 2048, "TKM R=6": 3072, "TKM R=8": 4096,
                 "QTKM R=20": 1920, "QTKM R=30": 2880, "QTKM R=40": 3840}  # fmt: skip
    for name, n_parameters in published.items():
        model = every[name].make(n_columns=8, seed=0).set_params(max_iter=1)
        model.fit(halves.X_train[:40], halves.y_train[:40])
        assert count_parameters(model) == n_parameters


def test_all_splits_of_both_substitutes_are_run_once(tmp_path, few_models, no_figure):
    airline.run(options(tmp_path), splits=2)
    models = ["TKM R=8", "QTKM R=40", "linear"]
    expected = [("nyc_flights", name, str(split)) for split in range(2) for name in models]
    expected += [("flights_2001", name, "0") for name in models]
    assert [tuple(row[key] for key in airline.KEYS) for row in read(tmp_path)] == expected


def test_an_interrupted_run_goes_on_after_the_last_finished_fit(
    tmp_path, few_models, no_figure, new_york, monkeypatch
):
    started, fit_one = [], airline.fit_one

    def interrupted(dataset, model, split, **arguments):
        started.append((model, split))
        if len(started) == 3:
            raise KeyboardInterrupt
        return fit_one(dataset, model, split, **arguments)

    monkeypatch.setattr(airline, "fit_one", interrupted)
    with pytest.raises(KeyboardInterrupt):
        airline.run(options(tmp_path), splits=2)
    assert len(read(tmp_path)) == 2

    page = airline.run(options(tmp_path), splits=2)
    assert len(started) == 7  # six, and the one that was interrupted twice
    rows = [(row["model"], row["split"]) for row in read(tmp_path)]
    assert len(rows) == len(set(rows)) == 6

    written = page.read_text(encoding="utf-8")
    airline.run(options(tmp_path), splits=2)
    assert len(started) == 7
    assert page.read_text(encoding="utf-8") == written


def test_a_fit_that_was_cut_short_is_no_result(tmp_path):
    def stop(_):
        raise KeyboardInterrupt

    model = QTKMRegressor(n_basis=8, rank=2, callbacks=stop, penalty="ridge")
    with pytest.warns(ConvergenceWarning), pytest.raises(KeyboardInterrupt):
        fit_timed(model, airline.rows_of("nyc_flights", 0, options(tmp_path)))


def test_without_the_extra_the_page_says_what_to_install(tmp_path, few_models, no_figure):
    text = airline.run(options(tmp_path), splits=2).read_text(encoding="utf-8")
    assert 'pip install "qtkm[gp]"' in text
    assert "| linear |" in text
    with pytest.raises(ModuleNotFoundError, match=r"qtkm\[gp\]"):
        airline_models.SparseGaussianProcess().fit(*flights())


def test_without_matplotlib_the_page_has_no_figure(
    tmp_path, few_models, new_york, monkeypatch, capsys
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = airline.run(options(tmp_path), splits=1)
    assert "## Figure" not in page.read_text(encoding="utf-8")
    assert 'pip install "qtkm[plot]"' in capsys.readouterr().out


def test_results_of_other_settings_are_not_continued(tmp_path, few_models, no_figure):
    airline.run(options(tmp_path, quick=True))
    with pytest.raises(ValueError, match=r"other settings: .*quick"):
        airline.run(options(tmp_path), splits=1)


def test_the_paper_s_data_come_first(tmp_path, few_models, no_figure, monkeypatch):
    page = airline.run(options(tmp_path / "without"), splits=1)
    assert "was not used" in page.read_text(encoding="utf-8")

    monkeypatch.setitem(REGISTRY, "airline", lambda **_: flights())
    draw_rows.cache_clear()
    page = airline.run(options(tmp_path / "with"), splits=1)
    assert {row["dataset"] for row in read(tmp_path / "with")} == {"airline"}
    assert "the paper's own data" in page.read_text(encoding="utf-8")


def test_a_substitute_that_is_missing_is_left_out(tmp_path, monkeypatch):
    monkeypatch.setitem(REGISTRY, "flights_2001", missing)
    assert airline.choose(options(tmp_path)) == ["nyc_flights"]
    monkeypatch.setitem(REGISTRY, "nyc_flights", missing)
    with pytest.raises(FileNotFoundError, match="try another"):
        airline.choose(options(tmp_path, data_home="another"))


def test_two_thirds_train_and_give_the_scale(tmp_path):
    _, y = flights()
    halves = airline.rows_of("nyc_flights", 3, options(tmp_path))
    assert len(halves.y_train) == 400
    assert len(halves.y_test) == 200
    assert halves.y_train.mean() == pytest.approx(0, abs=1e-12)
    assert halves.y_train.std(ddof=1) == pytest.approx(1)
    both = np.concatenate([halves.y_train, halves.y_test])
    np.testing.assert_allclose(np.sort(halves.mean + halves.scale * both), np.sort(y), atol=1e-9)
    other = airline.rows_of("nyc_flights", 4, options(tmp_path))
    assert not np.array_equal(other.X_test, halves.X_test)


def test_a_quick_run_takes_some_of_many_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(airline, "QUICK_ROWS", 90)
    rows = airline.rows_of("nyc_flights", 0, options(tmp_path, quick=True))
    assert len(rows.y_train) + len(rows.y_test) == 90
