"""Models of the commands: made, saved, and described."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from ..estimators import QTKMClassifier, QTKMRegressor
from ..estimators.wording import name_network, readable
from ..losses import REGISTRY
from .findings import plain
from .output import note, show, write_json
from .survey import Survey

#: how a fit ended, where the name of that is not a word
ENDS = {"max_iter": "all that --max-iter allows"}


def make_model(survey: Survey, parameters: dict[str, Any]) -> Any:
    """Return an unfitted estimator for the task of a table.

    Parameters
    ----------
    survey : Survey
        Tells the task, and the columns of categories.
    parameters : dict
        All others of the estimator.
    """
    settings = {**parameters, "categorical_features": survey.categories or None}
    if survey.task == "classification":
        return QTKMClassifier(**settings)
    kind = REGISTRY.get(settings.get("loss", ""))
    if kind is not None and kind.is_margin:
        raise ValueError(
            f"loss {settings['loss']!r} is one for classes; add --task classification, or leave "
            "it out"
        )
    return QTKMRegressor(**settings)


def find_target(model: Any, target: str | None, model_file: Path) -> str:
    """Return the column of the truth: as given, or as the model knows it."""
    known = model.target_names_ or []
    if target is None and len(known) != 1:
        raise ValueError(f"{model_file} does not say which column it predicts; add --target COLUMN")
    return known[0] if target is None else target


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


def leave(out: Path) -> NoReturn:
    """Say where the model is after a Ctrl-C that came when it was complete, and raise that."""
    note(f"the model is complete and in {out}")
    raise KeyboardInterrupt


def tell_fit(
    model: Any,
    rows: Any,
    seconds: float,
    out: Path,
    as_json: bool,
    more: Sequence[tuple[str, str]] = (),
    **facts: Any,
) -> None:
    """Print how a model was fitted, and how well it does on the rows to test on.

    Parameters
    ----------
    model : estimator
    rows : RowsInMemory or RowsInBlocks
        Those that it was fitted to.
    seconds : float
        That the fit took.
    out : pathlib.Path
        Where the model is.
    as_json : bool
        JSON instead of a table.
    more : sequence of (str, str)
        Names and texts to begin the table with.
    **facts
        More for JSON.
    """
    try:
        sums = rows.score(model)
    except KeyboardInterrupt:
        leave(out)
    if as_json:
        found = {"file": str(out), **_facts(model, rows, sums, seconds), **facts}
        write_json({**found, "scores": sums.facts()})
    else:
        show(f"Model saved to {out}", [*more, *_describe(model, rows, sums, seconds)])


def _facts(model: Any, rows: Any, sums: Any, seconds: float) -> dict[str, Any]:
    return {
        "task": rows.survey.task,
        "n_rows": rows.survey.n_rows - sums.n_rows,
        "n_columns": model.n_features_in_,
        "network": name_network(model.network_),
        "rank": plain(model.rank_),
        "n_parameters": model.n_parameters_,
        "alpha": plain(model.alpha_),
        "n_iter": model.n_iter_,
        "status": model.status_,
        "seconds": seconds,
    }


def _describe(model: Any, rows: Any, sums: Any, seconds: float) -> list[tuple[str, str]]:
    n_rows, network = rows.survey.n_rows - sums.n_rows, name_network(model.network_)
    end = ENDS.get(model.status_, model.status_)
    categorical = [column["name"] for column in model.columns_ if column["categories"] is not None]
    return [
        ("task", rows.survey.task),
        ("rows, columns", f"{n_rows:,}, {model.n_features_in_:,}"),
        *([("categories", ", ".join(categorical))] if categorical else []),
        ("network", f"{network}, rank {model.rank_}"),
        ("parameters", f"{model.n_parameters_:,}"),
        ("penalty alpha", readable(model.alpha_, 3)),
        ("epochs", f"{model.n_iter_} in {seconds:.1f} s ({end})"),
        *(sums.lines() if sums.n_rows else []),
    ]
