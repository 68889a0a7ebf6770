"""The course of the paper's own program, reproduced through the estimator."""

from pathlib import Path

import numpy as np
import pytest

from qtkm import QTKMRegressor
from qtkm.features import Fourier, Power
from qtkm.networks import CPD, Evaluator
from tests import dense

FILES = sorted((Path(__file__).parent / "data").glob("*.npz"))

each_trace = pytest.mark.parametrize(
    "trace", FILES, ids=[file.stem for file in FILES], indirect=True
)
both_loops = pytest.mark.usefixtures("loops")  # NumPy, and compiled


@pytest.fixture
def trace(request):
    with np.load(request.param) as file:
        return dict(file)


def make_regressor(trace, **parameters):
    """X and y as they are, every distinct value kept, the given number of epochs."""
    if trace["kind"] == "fourier":
        parameters["period"] = float(trace["L"])
    return QTKMRegressor(
        basis=str(trace["kind"]), n_basis=int(trace["M"]), rank=int(trace["R"]),
        alpha=float(trace["alpha"]), max_iter=int(trace["sweeps"]), tol=0, bounds=(0, 1),
        extrapolation="continue", normalize_y=False, early_stopping=False, max_bins=None,
        penalty="ridge", quantization=parameters.pop("quantization", 2), **parameters,
    )  # fmt: skip


def quantized_start(trace):
    return [[level[d] for level in trace["W0"]] for d in range(trace["X"].shape[1])]


def full_start(trace):
    return [[core] for core in trace["V0"]]


def test_there_are_traces_of_both_bases():
    assert {file.stem.split("_")[0] for file in FILES} == {"fourier", "power"}


@each_trace
@both_loops
def test_quantized_objectives_after_every_core_update(trace):
    model = make_regressor(trace, init=quantized_start(trace)).fit(trace["X"], trace["y"])
    objectives = model.history_["objective_updates"]
    np.testing.assert_allclose(objectives, trace["loss_quantized"], rtol=1e-6)


@each_trace
@both_loops
def test_quantized_predictions(trace):
    model = make_regressor(trace, init=quantized_start(trace)).fit(trace["X"], trace["y"])
    expected = trace["pred_quantized"]
    tolerance = 1e-6 * np.abs(expected).max()
    np.testing.assert_allclose(model.predict(trace["Xt"]), expected, rtol=1e-6, atol=tolerance)


@each_trace
@both_loops
def test_losses_of_the_real_part_without_quantization(trace):
    losses = []
    feature_map = (
        Fourier(int(trace["M"]), float(trace["L"]), None)
        if trace["kind"] == "fourier"
        else Power(int(trace["M"]), None)
    )
    n_columns = trace["X"].shape[1]

    def note(progress):
        if progress.event == "block":
            evaluator = Evaluator(CPD(), progress.cores, [None] * n_columns)
            response = evaluator.responses([feature_map] * n_columns, list(trace["X"].T))
            error = response[:, 0].real - trace["y"]
            norm = np.sum(np.abs(dense.weights(progress.cores)) ** 2)
            losses.append(np.mean(error**2) + float(trace["alpha"]) * norm)

    model = make_regressor(trace, quantization=None, init=full_start(trace), callbacks=[note])
    model.fit(trace["X"], trace["y"])
    np.testing.assert_allclose(losses, trace["loss_full"], rtol=1e-6)


@each_trace
@both_loops
def test_predictions_without_quantization(trace):
    model = make_regressor(trace, quantization=None, init=full_start(trace))
    expected = trace["pred_full"]
    tolerance = 1e-6 * np.abs(expected).max()
    found = model.fit(trace["X"], trace["y"]).predict(trace["Xt"])
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=tolerance)
