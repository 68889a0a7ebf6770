"""Models of the commands: made, saved, and described."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..estimators import QTKMClassifier, QTKMRegressor


def make_model(task: str, categories: Sequence[str], parameters: dict[str, Any]) -> Any:
    """An estimator that is not fitted yet.

    Parameters
    ----------
    task : {"regression", "classification"}
    categories : sequence of str
        Columns of categories.
    parameters : dict
        All others of the estimator.
    """
    settings = {**parameters, "categorical_features": list(categories) or None}
    if task == "classification":
        return QTKMClassifier(**settings)
    if "loss" in settings and settings["loss"] != "squared":
        raise ValueError(
            f"loss {settings['loss']!r} is one for classes; add --task classification, or leave "
            "it out"
        )
    return QTKMRegressor(**settings)


def save_model(model: Any, out: Path) -> None:
    """Save a model; where that fails, elsewhere, for its fit may have taken long."""
    try:
        model.save(out)
    except OSError as error:
        rescue = Path(tempfile.mkdtemp(prefix="qtkm-")) / out.name
        model.save(rescue)
        raise OSError(
            f"{out} was not written ({error.strerror}); the model is in {rescue}"
        ) from None


def describe_fit(model: Any, task: str, n_rows: int, seconds: float) -> list[tuple[str, str]]:
    """Names and texts that tell of a fit.

    Parameters
    ----------
    model : estimator
    task : str
    n_rows : int
        Rows that it was fitted to.
    seconds : float
    """
    network = type(model.network_).__name__
    lines = [
        ("task", task),
        ("rows, columns", f"{n_rows:,}, {model.n_features_in_:,}"),
        ("network", f"{network}, rank {model.rank_}"),
        ("parameters", f"{model.n_parameters_:,}"),
        ("alpha", f"{model.alpha_:.3g}"),
        ("epochs", f"{model.n_iter_} in {seconds:.1f} s ({model.status_})"),
    ]
    categorical = [column["name"] for column in model.columns_ if column["categories"] is not None]
    if categorical:
        lines.insert(2, ("categories", ", ".join(categorical)))
    return lines
