"""Scores of a model on the rows of a table, as texts."""

from typing import Any

import numpy as np
from sklearn import metrics


def scores(model: Any, X: Any, y: Any, weight: Any = None) -> list[tuple[str, str]]:
    """Scores of a model on rows.

    Parameters
    ----------
    model : estimator
    X, y : frame and series
    weight : array or None

    Returns
    -------
    list of (name, text)
    """
    predicted = model.predict(X)
    options = {"sample_weight": weight}
    if not hasattr(model, "classes_"):
        truth = _numbers(y)
        error = metrics.mean_squared_error(truth, predicted, **options)
        return [
            ("rows scored", f"{len(truth):,}"),
            ("R²", f"{metrics.r2_score(truth, predicted, **options):.4f}"),
            ("root mean squared error", f"{np.sqrt(error):.4g}"),
            ("mean absolute error",
             f"{metrics.mean_absolute_error(truth, predicted, **options):.4g}"),
        ]  # fmt: skip
    truth = y.to_numpy()
    unknown = sorted({str(label) for label in set(truth) - set(model.classes_)})
    if unknown:
        raise ValueError(f"the target has labels that the model does not know: {unknown[0]!r}")
    lines = [
        ("rows scored", f"{len(truth):,}"),
        ("accuracy", f"{metrics.accuracy_score(truth, predicted, **options):.4f}"),
    ]
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X)
        loss = metrics.log_loss(truth, proba, labels=model.classes_, **options)
        lines.append(("log-loss", f"{loss:.4f}"))
    return lines


def _numbers(y: Any) -> Any:
    try:
        return y.to_numpy(dtype=float)
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"the target {y.name!r} must hold numbers, for the model predicts some ({error})"
        ) from None
