"""One fit of the large problem in a process of its own, so that its memory can be measured.

Called by the benchmarks as ``python -m benchmarks.large_fit FOLDER SETTINGS``: the folder
holds the arrays, the settings are JSON. Prints what was measured as JSON.
"""

import json
import sys
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.machine import peak_memory, resident_memory
from benchmarks.measure import epoch_seconds, fit_epochs, regressor
from benchmarks.problems import random_cores


def measure(folder, settings):
    """Fit, and report seconds per epoch, peak memory and held-out error.

    Parameters
    ----------
    folder : pathlib.Path
        With X.npy, y.npy, X_test.npy and y_test.npy.
    settings : dict
        ``rank`` and the arguments of `benchmarks.measure.regressor`.

    Returns
    -------
    dict
    """
    X, y = np.load(folder / "X.npy"), np.load(folder / "y.npy")
    cores = random_cores(X.shape[1], settings["n_basis"], settings.pop("rank"))
    model = regressor(cores, **settings)
    before = resident_memory()
    with threadpool_limits(settings["threads"]):
        fit_epochs(model, X, y)
    peak = peak_memory()
    residual = model.predict(np.load(folder / "X_test.npy")) - np.load(folder / "y_test.npy")
    return {
        "epoch_seconds": epoch_seconds(model).tolist(),
        "objective": [float(value) for value in model.history_["objective"]],
        "test_mse": float(np.mean(residual**2)),
        "peak_bytes": peak,
        "bytes_before_fit": before,
        "data_bytes": X.nbytes + y.nbytes,
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), json.loads(sys.argv[2]))))
