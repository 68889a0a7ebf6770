"""Exported models predict as the library does."""

import importlib.util
import subprocess
import sys

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from qtkm import Power, QTKMClassifier, QTKMRegressor
from qtkm.export import export
from tests.cli.commands import command

pandas = pytest.importorskip("pandas")

QUOTED = 'a "quoted\\ name'
SETTINGS = {"rank": 3, "alpha": 1e-3, "n_basis": 9, "quantization": 3, "max_iter": 3,
            "random_state": 0, "n_jobs": 1, "categorical_features": ["kind", QUOTED]}  # fmt: skip
FULL = {"main_effects": True, "penalty": "matern", "scaling": "half", "period": 2.0}
CASES = {
    "plain": {},
    "main effects": FULL,
    "gam": FULL | {"rank": 0},
    "train": {"network": "train"},
    "ring with main effects": FULL | {"network": "ring"},
    "power": {"basis": [Power(n_basis=4), "fourier", "fourier", "fourier"], "n_basis": "auto",
              "main_effects": True},
    "counts": FULL | {"loss": "poisson"},
    "margin": {"prediction_margin": 0.0},
}  # fmt: skip


def make_rows(n=200, has_gaps=True):
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame({"wind": rng.gamma(2, 3, n), "angle": rng.uniform(-4, 4, n)})
    rows["kind"] = rng.choice(["sea", "land", "lake"], n)
    rows[QUOTED] = rng.integers(3, 6, n)
    if has_gaps:
        rows.loc[rng.random(n) < 0.2, "angle"] = np.nan
    target = np.sin(rows["wind"]) * rows["angle"].fillna(1) + (rows["kind"] == "sea")
    return rows, target + 5


def new_rows(n=120):
    """Rows that leave the range of the fit, with categories it has not seen."""
    rows, _ = make_rows(n)
    return rows.assign(wind=rows["wind"] * 1.5, kind=rows["kind"].where(rows.index % 7 > 0, "new"))


def load_module(path):
    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run_onnx(path, X, dtype=np.float64):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path, providers=["CPUExecutionProvider"])
    given = {}
    for each in session.get_inputs():
        values = X[each.name].to_numpy()[:, None]
        kinds = {"tensor(string)": object, "tensor(int64)": np.int64}
        given[each.name] = values.astype(kinds.get(each.type, dtype))
    names = [each.name for each in session.get_outputs()]
    return dict(zip(names, session.run(None, given), strict=True))


@pytest.fixture(scope="module", params=CASES)
def regressor(request):
    X, y = make_rows(has_gaps=request.param != "plain")
    return QTKMRegressor(**SETTINGS | CASES[request.param]).fit(X, y)


@pytest.mark.parametrize("cyclic", [None, {"when": "day", "since": 5000.0}])
def test_times_are_exported_as_seconds(tmp_path, cyclic):
    rng = np.random.default_rng(1)
    hours = pandas.to_timedelta(rng.uniform(0, 500, 150), unit="h")
    X = pandas.DataFrame({"when": pandas.Timestamp("2024-05-01") + hours})
    X["since"] = pandas.to_timedelta(rng.uniform(0, 9000, 150), unit="s")
    X.loc[::9, "since"] = pandas.NaT
    y = np.sin(np.asarray(hours.total_seconds()) / 13_000) + X["since"].isna()
    settings = {key: SETTINGS[key] for key in ("rank", "alpha", "n_basis", "max_iter", "n_jobs")}
    model = QTKMRegressor(**settings, cyclic=cyclic, random_state=0).fit(X, y)
    expected, std = model.predict(X, return_std=True)
    module = load_module(export(model, tmp_path / "model.py", "python"))
    np.testing.assert_array_equal(module.predict(X), expected)
    zoned = X.assign(when=X["when"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"))
    np.testing.assert_array_equal(module.predict(zoned), expected)
    as_text = {"when": X["when"].astype(str).tolist(), "since": X["since"]}
    np.testing.assert_array_equal(module.predict(as_text), expected)
    since = X["since"].dt.total_seconds()
    seconds = X.assign(when=(X["when"] - pandas.Timestamp(0)).dt.total_seconds(), since=since)
    np.testing.assert_allclose(module.predict(seconds), expected, atol=1e-7)
    pytest.importorskip("onnx")
    for dtype, close in {"float64": 1e-6, "float32": 1e-4}.items():
        path = export(model, tmp_path / "model.onnx", "onnx", dtype=dtype)
        found = run_onnx(path, seconds, np.float64)
        np.testing.assert_allclose(found["prediction"][:, 0], expected, atol=close * y.std())
        np.testing.assert_allclose(found["std"][:, 0], std, atol=close * y.std())


def test_a_python_file_predicts_the_same_bits(regressor, tmp_path):
    module = load_module(export(regressor, tmp_path / "model.py", "python"))
    with pytest.warns(UserWarning, match="missing") if not regressor.columns_[1]["gaps"] else (
        np.errstate()):  # fmt: skip
        expected = regressor.predict(new_rows())
    np.testing.assert_array_equal(module.predict(new_rows()), expected)


@pytest.mark.filterwarnings("ignore:Values are missing")
def test_a_python_file_has_the_standard_deviations(regressor, tmp_path):
    module = load_module(export(regressor, tmp_path / "model.py", "python"))
    if not hasattr(regressor, "noise_"):
        with pytest.raises(TypeError, match="without standard deviations"):
            module.predict(new_rows(), return_std=True)
        return
    expected = regressor.predict(new_rows(), return_std=True)
    for found, each in zip(module.predict(new_rows(), return_std=True), expected, strict=True):
        np.testing.assert_array_equal(found, each)
    bare = load_module(export(regressor, tmp_path / "bare.py", "python", std=False))
    with pytest.raises(TypeError, match="without standard deviations"):
        bare.predict(new_rows(), return_std=True)


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-9), ("float32", 1e-4)])
@pytest.mark.filterwarnings("ignore:Values are missing")
def test_an_onnx_file_predicts_the_same(regressor, tmp_path, dtype, rtol):
    pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    regressor.to_onnx(path, dtype=dtype)
    found = run_onnx(path, new_rows(), np.dtype(dtype))["prediction"][:, 0]
    expected = regressor.predict(new_rows())
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


@pytest.mark.parametrize(("dtype", "rtol"), [("float64", 1e-6), ("float32", 1e-4)])
@pytest.mark.filterwarnings("ignore:Values are missing")
def test_an_onnx_file_has_the_standard_deviations(regressor, tmp_path, dtype, rtol):
    pytest.importorskip("onnx")
    path = tmp_path / "model.onnx"
    if not hasattr(regressor, "noise_"):
        with pytest.raises(ValueError, match="has no posterior: loss='poisson' does not support"):
            regressor.to_onnx(path, dtype=dtype, std=True)
        return
    regressor.to_onnx(path, dtype=dtype)
    found = run_onnx(path, new_rows(), np.dtype(dtype))["std"][:, 0]
    np.testing.assert_allclose(found, regressor.predict(new_rows(), return_std=True)[1], rtol=rtol)


@pytest.mark.parametrize(("network", "rank", "noise", "precision"), [
    ("cpd", 9, 1.0, "float32"), ("cpd", 9, 0.0, "float64"), ("train", 5, 1.0, "float32"),
])  # fmt: skip
def test_standard_deviations_of_large_posteriors_are_exported(
    tmp_path, network, rank, noise, precision
):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    y = np.sin(6 * X[:, 0]) * X[:, 1] + X[:, 2] + noise * rng.normal(size=400)
    alpha = 1e-2 if noise else 1e-4
    model = QTKMRegressor(
        network=network, rank=rank, n_basis=27, alpha=alpha, max_iter=5, random_state=0
    ).fit(X, y)
    chain = model._known_uncertainty().posterior.chain
    assert len(chain) > 512
    assert chain.dtype == precision  # as the noise allows
    Z = rng.uniform(size=(2000, 3))
    expected = model.predict(Z, return_std=True)[1]
    module = load_module(export(model, tmp_path / "model.py", "python"))
    with threadpool_limits(1):
        found = module.predict(Z, return_std=True)[1]
    np.testing.assert_array_equal(found, expected)
    pytest.importorskip("onnx")
    model.to_onnx(tmp_path / "model.onnx")
    names = [spec["name"] for spec in module.COLUMNS]
    found = run_onnx(tmp_path / "model.onnx", pandas.DataFrame(Z, columns=names))
    np.testing.assert_allclose(found["std"][:, 0], expected, rtol=1e-6)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes_and_probabilities_are_exported(tmp_path, n_classes):
    X, y = make_rows()
    labels = np.array(["low", "mid", "top"])[np.digitize(y, [5, 6][: n_classes - 1])]
    model = QTKMClassifier(**SETTINGS | FULL).fit(X, labels)
    Z = new_rows()
    module = load_module(export(model, tmp_path / "model.py", "python"))
    assert module.predict(Z).tolist() == model.predict(Z).tolist()
    np.testing.assert_allclose(module.predict_proba(Z), model.predict_proba(Z), rtol=1e-12)
    pytest.importorskip("onnx")
    model.to_onnx(tmp_path / "model.onnx")
    found = run_onnx(tmp_path / "model.onnx", Z)
    assert found["label"].tolist() == model.predict(Z).tolist()
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(Z), atol=1e-9)


def test_several_outputs_are_exported(tmp_path):
    X, y = make_rows()
    model = QTKMRegressor(**SETTINGS | FULL).fit(X, np.column_stack([y, 2 * y + 1]))
    module = load_module(export(model, tmp_path / "model.py", "python"))
    expected = model.predict(X, return_std=True)
    for found, each in zip(module.predict(X, return_std=True), expected, strict=True):
        np.testing.assert_array_equal(found, each)
    pytest.importorskip("onnx")
    model.to_onnx(tmp_path / "model.onnx")
    found = run_onnx(tmp_path / "model.onnx", X)
    np.testing.assert_allclose(found["prediction"], expected[0], rtol=1e-8)
    np.testing.assert_allclose(found["std"], expected[1], rtol=1e-6)


def test_a_python_file_runs_without_the_library(tmp_path):
    X, y = make_rows(20, has_gaps=False)
    X, y = X[["wind", "angle"]], y
    settings = SETTINGS | {"categorical_features": None}
    model = QTKMRegressor(**settings).fit(X, y)
    model.save(tmp_path / "model.qtkm")
    X.to_csv(tmp_path / "rows.csv", index=False)
    words = [tmp_path / "model.qtkm", "--to", "python", "--out", tmp_path / "alone.py"]
    assert command("export", *words) == 0
    words = [sys.executable, "-I", str(tmp_path / "alone.py"), str(tmp_path / "rows.csv")]
    found = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    np.testing.assert_allclose([float(v) for v in found.stdout.split()], model.predict(X))
    assert "qtkm" not in [line.split()[1] for line in
                          (tmp_path / "alone.py").read_text().splitlines()
                          if line.startswith(("import ", "from "))]  # fmt: skip


def test_what_cannot_be_exported_says_so(tmp_path):
    X, y = make_rows(has_gaps=False)
    tucker = QTKMRegressor(network="tucker", rank=2, n_basis=2, max_iter=1).fit(
        X[["wind", "angle"]], y
    )
    with pytest.raises(ValueError, match="Tucker, and exports serve CPD"):
        export(tucker, tmp_path / "model.py", "python")
    with pytest.raises(ValueError, match="format 'pmml' is unknown; use one of onnx, python"):
        export(tucker, tmp_path / "model.py", "pmml")
