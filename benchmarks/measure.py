"""How both sides are timed: the same work, taking turns, the best time of each kept."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

__all__ = ["best_of", "epoch_seconds", "fit_epochs", "regressor"]


def regressor(cores, *, n_basis, period, alpha, max_iter, threads, **parameters):
    """A qtkm regressor that runs ``max_iter`` epochs of the paper's algorithm from ``cores``.

    Inputs and targets are used as given, nothing is binned, and nothing stops it early.
    """
    from qtkm import QTKMRegressor

    settings = {
        "basis": "fourier",
        "quantization": 2,
        "rank": cores[0][0].shape[1],
        "init": cores,
        "tol": 0,
        "max_bins": None,
        "bounds": (0, 1),
        "extrapolation": "continue",
        "normalize_y": False,
        "early_stopping": False,
        "n_jobs": threads,
    }
    settings |= {"n_basis": n_basis, "period": period, "alpha": alpha, "max_iter": max_iter}
    return QTKMRegressor(**(settings | parameters))


def fit_epochs(model, X, y):
    """Fit, without the warning that so few epochs do not converge."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(X, y)


def epoch_seconds(model):
    """Seconds of each epoch of a fitted model, preparation of the data excluded."""
    return np.diff(np.asarray(model.history_["seconds"], dtype=float), prepend=0.0)


def best_of(tasks, repetitions, threads):
    """Run tasks in turn, several times, and keep the shortest time of each.

    Parameters
    ----------
    tasks : dict of callable
        Each returns the seconds of what it measured, one number or an array of them.
    repetitions : int or dict of int
        Rounds; a task with fewer of its own sits out the later ones.
    threads : int
        BLAS threads for all of them.

    Returns
    -------
    dict of float
    """
    if isinstance(repetitions, int):
        repetitions = dict.fromkeys(tasks, repetitions)
    best = dict.fromkeys(tasks, np.inf)
    with threadpool_limits(threads):
        for turn in range(max(repetitions.values())):
            for name, task in tasks.items():
                if turn < repetitions[name]:
                    best[name] = min(best[name], float(np.min(task())))
    return best
