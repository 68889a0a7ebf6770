"""What ``qtkm fit`` and ``qtkm evaluate`` do: read, fit, save, score, and tell about it."""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from .. import interruption, load
from . import output
from .blocks import score_rows
from .formats import check_writable
from .models import find_target, leave, make_model, save_model, tell_fit
from .options import Job
from .reading import find_columns, name_of, open_table, text_columns
from .training import open_rows
from .unseen import Unseen


def fit(
    job: Job,
    parameters: dict[str, Any],
    cache: Path | None,
    quiet: bool,
    as_json: bool = False,
) -> Any:
    """Fit a model to a table, score it on rows set aside, save it.

    Parameters
    ----------
    job : Job
    parameters : dict
        Of the estimator; with `memory_limit` the table is read block by block.
    cache : pathlib.Path or None
        Folder in which coded rows are kept; with one, the table is read block by block.
    quiet : bool
    as_json : bool
        Whether results are told as JSON, also where it is quiet.

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
    with interruption.deferred(lambda: leave(job.out)):  # nothing between a fit and its file
        rows.fit(model, cache)
        seconds = perf_counter() - begin
        save_model(model, job.out)
    if as_json or not quiet:
        tell_fit(model, rows, seconds, job.out, as_json)
    return model


def evaluate(
    model_file: Path,
    data: Sequence[Path],
    target: str | None,
    quiet: bool,
    as_json: bool = False,
    offset: str | None = None,
) -> None:
    """Print the scores of a model on the rows of a table.

    Parameters
    ----------
    model_file : pathlib.Path
    data : sequence of pathlib.Path
        Files, folders and patterns.
    target : str or None
        Column of the truth; None for that of the fit.
    quiet : bool
        Whether neither progress nor remarks are shown.
    as_json : bool
        JSON instead of a table.
    offset : str or None
        Column of offsets.
    """
    model, name = load(model_file), name_of(data)
    target = find_target(model, target, model_file)
    source = open_table(data, text_columns(model))
    unseen = Unseen(
        model, find_columns(model, source, [c for c in (target, offset) if c is not None], name)
    )
    sums = score_rows(model, source, target, name, None, output.is_watched(quiet), unseen, offset)
    if sums.n_rows == 0:
        raise ValueError(f"{name} has no row with a target")
    if as_json:
        output.write_json(sums.facts())
    else:
        output.show(f"{model_file} on {name}", sums.lines())
    for remark in [] if quiet else unseen.remarks():
        output.note(remark)
