"""What ``qtkm fit`` and ``qtkm evaluate`` do: read, fit, save, score, and tell about it."""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from .. import load
from .models import describe_fit, make_model, save_model
from .options import Job
from .output import show
from .reading import name_of, open_table, text_columns
from .streaming import score_rows
from .tables import check_writable
from .training import open_rows


def fit(job: Job, parameters: dict[str, Any], cache: Path | None, quiet: bool) -> Any:
    """Fit a model to a table, score it on rows set aside, save it.

    Parameters
    ----------
    job : Job
    parameters : dict
        Of the estimator; with `memory_limit` the table is read block by block.
    cache : pathlib.Path or None
        Folder in which coded rows are kept; with one, the table is read block by block.
    quiet : bool

    Returns
    -------
    The fitted model; `status_` tells whether it was interrupted.
    """
    check_writable(job.out)
    in_blocks = cache is not None or parameters.get("memory_limit") is not None
    rows = open_rows(
        job, parameters["random_state"], in_blocks=in_blocks, quiet=quiet,
        shown=bool(parameters["verbose"]),
    )  # fmt: skip
    model = make_model(rows.survey, parameters)
    begin = perf_counter()
    rows.fit(model, cache)
    seconds = perf_counter() - begin
    save_model(model, job.out)
    if not quiet:
        show(f"Model saved to {job.out}", describe_fit(model, rows, seconds))
    return model


def evaluate(model_file: Path, data: Sequence[Path], target: str, shown: bool = False) -> None:
    """Print the scores of a model on the rows of a table.

    Parameters
    ----------
    model_file : pathlib.Path
    data : sequence of pathlib.Path
        Files, folders and patterns.
    target : str
        Column of the truth.
    shown : bool
        Whether progress is shown.
    """
    model, name = load(model_file), name_of(data)
    source = open_table(data, text_columns(model))
    sums = score_rows(model, source, target, name, None, shown)
    if sums.n_rows == 0:
        raise ValueError(f"{name} has no row with a target")
    show(f"{model_file} on {name}", sums.lines())
