"""Scores of predictions with 95 % intervals from standard errors, without resampling."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score

#: standard errors on either side of a score that make 95 %
NORMAL = 1.96
#: least probability that a logarithm is taken of
LEAST = 1e-15


def _score(name: str, value: Any, error: Any) -> dict[str, Any]:
    """Return a score with its 95 % interval, from its standard error."""
    low, high = value - NORMAL * error, value + NORMAL * error
    return {"name": name, "value": float(value), "low": float(low), "high": float(high)}


def score_numbers(observed: NDArray, predicted: NDArray) -> list[dict[str, Any]]:
    """Score predicted numbers: R², root mean squared error, mean absolute error.

    Standard errors of R² and RMSE use the delta method.
    """
    root, squares = np.sqrt(len(observed)), (observed - predicted) ** 2
    spread = (observed - observed.mean()) ** 2
    mse, variance, size = squares.mean(), spread.mean(), np.abs(observed - predicted)
    ratio = mse / variance if variance > 0 else np.nan
    rmse = np.sqrt(mse)
    r2_error = np.std(squares - ratio * spread) / variance if variance > 0 else np.nan
    rmse_error = np.std(squares) / (2 * rmse) if rmse > 0 else 0.0
    return [
        _score("R²", 1 - ratio, r2_error / root),
        _score("root mean squared error", rmse, rmse_error / root),
        _score("mean absolute error", size.mean(), np.std(size) / root),
    ]


def score_classes(
    observed: NDArray, predicted: NDArray, proba: NDArray | None, classes: NDArray
) -> list[dict[str, Any]]:
    """Score predicted classes: accuracy and, with probabilities, log loss and ROC AUC.

    The ROC AUC is for two classes, its standard error that of Hanley and McNeil.
    """
    n, hits = len(observed), observed == predicted
    scores = [_score("accuracy", hits.mean(), np.std(hits) / np.sqrt(n))]
    if proba is None or not np.isin(observed, classes).all():
        return scores
    codes = np.searchsorted(classes, observed)
    losses = -np.log(np.clip(proba[np.arange(n), codes], LEAST, 1.0))
    scores.append(_score("log loss", losses.mean(), np.std(losses) / np.sqrt(n)))
    if len(classes) == 2 and 0 < codes.sum() < n:
        area, p, q = roc_auc_score(codes, proba[:, 1]), codes.sum(), n - codes.sum()
        first, second = area / (2 - area), 2 * area**2 / (1 + area)
        variance = area * (1 - area) + (p - 1) * (first - area**2) + (q - 1) * (second - area**2)
        scores.append(_score("ROC AUC", area, np.sqrt(max(variance, 0.0) / (p * q))))
    return scores


def reliability(confidence: NDArray, is_true: NDArray[np.bool_], n_bins: int = 10) -> list[Any]:
    """Return mean probability, observed share and number of rows of bins of equal counts."""
    order = np.argsort(confidence, kind="stable")
    parts = [part for part in np.array_split(order, min(n_bins, len(order))) if len(part)]
    return [[float(confidence[p].mean()), float(is_true[p].mean()), len(p)] for p in parts]
