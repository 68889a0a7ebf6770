"""Standard deviations and intervals from fit to file, table and command line."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from typer.testing import CliRunner

import qtkm
from qtkm import QTKMRegressor
from qtkm.cli.app import app
from qtkm.estimators import uncertainty

SEARCHED = {
    "main_effects": True, "penalty": "matern", "scaling": "half", "n_basis": 9,
    "quantization": [3, 3], "period": 2.0, "random_state": 0,
}  # fmt: skip


@pytest.fixture(scope="module")
def table():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(600, 2))
    y = np.sin(5 * X[:, 0]) + X[:, 1] + (0.05 + 0.1 * X[:, 1]) * rng.standard_normal(600)
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y})


@pytest.fixture(scope="module")
def model(table):
    return QTKMRegressor(**SEARCHED).fit(table[["a", "b"]][:300], table["y"][:300])


@pytest.mark.parametrize("method", ["posterior", "conformal", "auto"])
def test_intervals_after_a_search_hold_what_they_say(model, table, method):
    X, y = table[["a", "b"]][300:], table["y"][300:].to_numpy()
    widths = []
    for coverage in (0.5, 0.8, 0.95):
        low, high = model.predict_interval(X, coverage, method).T
        assert np.mean((low <= y) & (y <= high)) == pytest.approx(coverage, abs=0.08)
        widths.append(np.mean(high - low))
    assert widths == sorted(widths)


def test_calibration_finds_noise_spread_and_tails():
    rng = np.random.RandomState(0)
    variance, weight = rng.uniform(0, 4, 20_000), np.ones(20_000)
    for tail in (np.inf, 5.0):
        drawn = rng.standard_normal(20_000)
        if np.isfinite(tail):
            drawn = rng.standard_t(tail, 20_000) * np.sqrt((tail - 2) / tail)
        found = uncertainty.calibrate(drawn * np.sqrt(0.5 + 2 * variance), variance, weight)
        np.testing.assert_allclose(found[:2], [0.5, 2], rtol=0.25)
        assert found[2] == pytest.approx(tail, rel=0.3) or np.isinf(found[2]) == np.isinf(tail)


@pytest.mark.parametrize("tail", [np.inf, 5.0])
def test_crps_is_the_integral_of_squared_differences(tail):
    scale = 1.5 * (1 if np.isinf(tail) else np.sqrt((tail - 2) / tail))
    law = stats.norm(scale=scale) if np.isinf(tail) else stats.t(tail, scale=scale)
    for error in (-2.0, 0.3):
        parts = [
            integrate.quad(lambda x: law.cdf(x) ** 2, -np.inf, error)[0],
            integrate.quad(lambda x: law.sf(x) ** 2, error, np.inf)[0],
        ]
        found = uncertainty.crps(np.array([error]), np.array([1.5]), tail)
        np.testing.assert_allclose(found, sum(parts), rtol=1e-6)


def test_files_tables_and_commands_say_the_same(model, table, tmp_path):
    model.save(tmp_path / "model.qtkm")
    loaded = qtkm.load(tmp_path / "model.qtkm")
    X = table[["a", "b"]][300:400]
    prediction, deviation = model.predict(X, return_std=True)
    np.testing.assert_array_equal(loaded.predict(X, return_std=True)[1], deviation)
    ends = loaded.predict_interval(X, 0.8)
    table[300:400].to_csv(tmp_path / "new.csv", index=False)
    out = tmp_path / "out.csv"
    loaded.predict_dataset(tmp_path / "new.csv", out, keep=["y"], std=True, interval=0.8)
    found = pd.read_csv(out)
    assert list(found) == ["y", "prediction", "std", "lower", "upper"]
    expected = np.column_stack([prediction, deviation, ends])
    np.testing.assert_allclose(found[["prediction", "std", "lower", "upper"]], expected, rtol=1e-9)
    runner, files = CliRunner(), [str(tmp_path / "model.qtkm"), str(tmp_path / "new.csv")]
    printed = runner.invoke(app, ["predict", *files, "--std", "--interval", "0.8", "-q"])
    assert printed.stdout.splitlines()[0] == "prediction,std,lower,upper"
    scored = runner.invoke(app, ["evaluate", *files, "--target", "y", "--json", "-q"])
    assert '"coverage_90"' in scored.stdout
    with pytest.raises(ValueError, match="column of predictions"):
        loaded.predict_dataset(tmp_path / "new.csv", out, keep=["std"], std=True)


def test_collections_have_deviations_and_intervals(model, table):
    frames = pytest.importorskip("dask.dataframe")
    X = table[["a", "b"]][300:340]
    there = frames.from_pandas(X, npartitions=3)
    expected = *model.predict(X, return_std=True), model.predict_interval(X, 0.8)
    found = *model.predict(there, return_std=True), model.predict_interval(there, 0.8)
    for lazy, values in zip(found, expected, strict=True):
        computed = lazy.compute(scheduler="synchronous")
        assert computed.index.equals(X.index)
        np.testing.assert_allclose(computed, values, rtol=1e-6)
    with pytest.raises(ValueError, match="not available for Dask"):
        model.predict(there, return_cov=True)


def test_rows_on_disk_have_the_same_posterior(table, tmp_path):
    table.to_csv(tmp_path / "rows.csv", index=False)
    given = SEARCHED | {"rank": 2, "alpha": 1e-3, "max_iter": 3}
    here = QTKMRegressor(**given).fit(table[["a", "b"]], table["y"])
    there = QTKMRegressor(**given).fit_dataset(tmp_path / "rows.csv", target="y")
    X = table[["a", "b"]][:20]
    results = [model.predict(X, return_std=True)[1] for model in (here, there)]
    np.testing.assert_allclose(*results, rtol=1e-6)


def test_distant_rows_are_sampled_by_what_they_hold():
    from qtkm.data import Shard
    from qtkm.engines import Threads

    rng = np.random.RandomState(0)
    codes = rng.randint(50, size=(9000, 2)).astype(np.uint16)
    target = rng.standard_normal((9000, 1))

    class Elsewhere(list):
        are_here = False

    def split(count):
        parts = np.array_split(np.arange(9000), count)
        return Elsewhere(Shard(codes[p], target[p], None, (50, 50)) for p in parts)

    engine = Threads(1)
    one, four = (
        uncertainty.sampled(split(n), 1000, engine, np.random.RandomState(0)) for n in (1, 4)
    )
    assert 800 < len(one) < 1200
    np.testing.assert_array_equal(one.target, four.target)
    rows = {(a, b): t for (a, b), (t,) in zip(codes.tolist(), target.tolist(), strict=True)}
    assert {t for (t,) in one.target.tolist()} <= {t for (t,) in target.tolist()}
    assert {tuple(c) for c in one.codes.tolist()} <= set(rows)
    assert one.n_codes == (50, 50)


def few_values(seed, n_rows=1200):
    """Rows of few inputs and targets, so that most of them repeat others."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, (n_rows, 2)).astype(float)
    p = 0.5 + 0.4 * np.sin(1.2 * X[:, 0]) * np.cos(0.2 * X[:, 1])
    return X, (rng.random(n_rows) < p).astype(float), p


def test_rows_of_few_values_are_told_from_duplicates():
    X, y, p = few_values(0)
    model = QTKMRegressor(random_state=0, n_jobs=1).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - p) ** 2)) < 0.1
    noise = np.sqrt(np.mean(p * (1 - p)))
    assert 0.8 * noise < model.noise_ < 1.2 * noise
    low, high = model.predict_interval(X, coverage=0.9).T
    new = np.random.default_rng(1).random(len(p)) < p
    assert np.mean((low <= new) & (new <= high)) > 0.85


@pytest.mark.parametrize("weight", [2.0, None])
def test_duplicates_do_not_make_intervals_narrow(weight):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (1300, 2))
    y = np.sin(3 * X[:, 0]) * X[:, 1] + 0.1 * rng.standard_normal(1300)
    times = 2 if weight is None else 1
    rows, target = np.repeat(X[:300], times, axis=0), np.repeat(y[:300], times)
    weights = None if weight is None else np.full(300, weight)
    model = QTKMRegressor(random_state=0, n_jobs=1).fit(rows, target, sample_weight=weights)
    low, high = model.predict_interval(X[300:], coverage=0.9).T
    assert np.mean((low <= y[300:]) & (y[300:] <= high)) > 0.82
