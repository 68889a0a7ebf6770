"""Scores of predictions with 95 % intervals, from the spread over rows: nothing is drawn."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: standard errors on either side of a score that make 95 %
NORMAL = 1.96
#: least probability that a logarithm is taken of
LEAST = 1e-15


@dataclass
class Score:
    """A score, its standard error for rows like these, and whether less is better."""

    name: str
    value: float
    error: float
    is_loss: bool

    @property
    def interval(self) -> tuple[float, float]:
        """Return the ends of the 95 % interval."""
        return self.value - NORMAL * self.error, self.value + NORMAL * self.error


def score_numbers(observed: NDArray, predicted: NDArray) -> list[Score]:
    """Score predicted numbers: R², root mean squared error, mean absolute error.

    Standard errors of R² and RMSE are those of the delta method.
    """
    n, squares = len(observed), (observed - predicted) ** 2
    spread = (observed - observed.mean()) ** 2
    mse, variance, size = squares.mean(), spread.mean(), np.abs(observed - predicted)
    ratio = mse / variance if variance > 0 else np.nan
    rmse = np.sqrt(mse)
    r2_error = np.std(squares - ratio * spread) / variance if variance > 0 else np.nan
    rmse_error = np.std(squares) / (2 * rmse) if rmse > 0 else 0.0
    rows = [
        ("R²", 1 - ratio, r2_error, False),
        ("root mean squared error", rmse, rmse_error, True),
        ("mean absolute error", size.mean(), np.std(size), True),
    ]
    return [Score(name, float(v), float(e / np.sqrt(n)), less) for name, v, e, less in rows]


def score_classes(
    observed: NDArray, predicted: NDArray, proba: NDArray | None, classes: NDArray
) -> list[Score]:
    """Score predicted classes: accuracy, and with probabilities log loss and ROC AUC of two."""
    n, hits = len(observed), observed == predicted
    scores = [Score("accuracy", float(hits.mean()), float(np.std(hits) / np.sqrt(n)), False)]
    known = np.isin(observed, classes)
    if proba is None or not known.all():
        return scores
    codes = np.searchsorted(classes, observed)
    losses = -np.log(np.clip(proba[np.arange(n), codes], LEAST, 1.0))
    scores.append(Score("log loss", float(losses.mean()), float(np.std(losses) / np.sqrt(n)), True))
    if len(classes) == 2 and 0 < codes.sum() < n:
        scores.append(_auc(codes == 1, proba[:, 1]))
    return scores


def _auc(is_positive: NDArray[np.bool_], score: NDArray) -> Score:
    """Area under the ROC curve, its standard error by Hanley and McNeil."""
    order = np.unique(score, return_inverse=True, return_counts=True)
    ends = np.cumsum(order[2])
    ranks = (ends - (order[2] - 1) / 2)[order[1]]
    p, q = int(is_positive.sum()), int((~is_positive).sum())
    area = float((ranks[is_positive].sum() - p * (p + 1) / 2) / (p * q))
    first, second = area / (2 - area), 2 * area**2 / (1 + area)
    variance = area * (1 - area) + (p - 1) * (first - area**2) + (q - 1) * (second - area**2)
    return Score("ROC AUC", area, float(np.sqrt(max(variance, 0.0) / (p * q))), False)


def reliability(confidence: NDArray, is_true: NDArray[np.bool_], n_bins: int = 10) -> list[Any]:
    """Return mean probability, observed share and number of rows of bins of equal counts."""
    order = np.argsort(confidence, kind="stable")
    parts = [part for part in np.array_split(order, min(n_bins, len(order))) if len(part)]
    return [[float(confidence[p].mean()), float(is_true[p].mean()), len(p)] for p in parts]
