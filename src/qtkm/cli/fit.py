"""``qtkm fit`` and ``tune``: from a table to a saved model."""

from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import FAILED, INTERRUPTED, Job, Json, ModelOptions, Quiet, flattened, option

#: most scores to suggest for a mistyped one
MOST_SCORES = 4


@flattened
def fit(
    *,
    job: Job,
    rank: Annotated[int | None, option("R",
        "Rank of the tensor network; larger ranks learn finer detail and fit more slowly. Default: "
        "chosen on held-out rows.", min=1)] = None,
    n_basis: Annotated[int | None, option("M",
        "Number of basis functions per numeric column; default: 27.", min=1)] = None,
    period: Annotated[float | None, option("L",
        "Period of the Fourier basis, in units of the column's range, at least 1; longer is "
        "smoother. Default: 2.")] = None,
    alpha: Annotated[float | None, option("A",
        "Penalty on large weights, as in ridge regression; default: chosen on held-out rows.",
        min=0.0)] = None,
    model: ModelOptions,
    checkpoint: Annotated[Path | None, option("DIR",
        "Folder for checkpoints; the same command resumes from there.")] = None,
    memory_limit: Annotated[str | None, option("SIZE",
        "Memory for the fit, such as 2GB, in addition to about 250 MB for the program; rows that "
        "do not fit are kept on disk.")] = None,
    cache: Annotated[Path | None, option("DIR",
        "Folder for prepared rows, so that the next fit to the same files starts faster.")] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Fit a model to a table and save it.

    Text columns are categories. Numbers may be missing; dates and booleans are read as numbers.

    Rows without a target are skipped. A fifth of the rows is held out and scored.

    Tables of any length are read block by block.

    Ctrl-C stops the fit and saves the best model so far.

    Example: qtkm fit flights.parquet --target delay --rank 20 --out model.qtkm

    Example: qtkm fit adult.csv --target income --drop id --category zip -q

    Example: qtkm fit "years/*.parquet" --target delay --memory-limit 2GB
    """
    from .. import interruption
    from ..estimators.memory import parse_limit
    from .output import check_writable, is_watched
    from .training import TableRows, leave, make_model, report_fit, save_model

    try:
        parse_limit(memory_limit)
    except ValueError:
        raise typer.BadParameter(
            f"--memory-limit {memory_limit!r} must be an amount such as 500MB, 2GB or 1.5GiB"
        ) from None
    check_writable(job.out)
    shown = is_watched(quiet)
    parameters = model.parameters(
        rank=rank, n_basis=n_basis, period=period, alpha=alpha, memory_limit=memory_limit,
        checkpoint=None if checkpoint is None else str(checkpoint), verbose=int(shown),
    )  # fmt: skip
    rows = TableRows(job, model.random_state, loss=model.loss, quiet=quiet, shown=shown)
    fitted = make_model(rows.survey, parameters)
    with interruption.deferred(lambda: leave(job.out)):  # nothing between a fit and its file
        seconds = rows.fit(fitted, cache)
        save_model(fitted, job.out)
    if as_json or not quiet:
        report_fit(fitted, rows, seconds, job.out, as_json)
    _leave_with(fitted, job.out, checkpoint is not None)


def _leave_with(model: Any, out: Path, has_checkpoint: bool = False) -> None:
    """Exit with a remark if a fit was interrupted or failed."""
    from .output import note

    if model.status_ == "interrupted":
        more = " Run the same command to resume from the checkpoint." if has_checkpoint else ""
        note(f"Interrupted in epoch {model.n_iter_ + 1}; the best model so far is in {out}.{more}")
        raise typer.Exit(INTERRUPTED)
    if model.status_ == "failed":
        note(f"{model.message_} The model is in {out}.")
        raise typer.Exit(FAILED)


@flattened
def tune(
    *,
    job: Job,
    ranks: Annotated[str | None, option("R,…",
        "Ranks to try, separated by commas. Default of this and the next three: chosen by each "
        "fit; without any of them, variations of the defaults are tried.")] = None,
    n_basis: Annotated[str | None, option("M,…",
        "Numbers of basis functions per numeric column.")] = None,
    periods: Annotated[str | None, option("L,…", "Periods of the Fourier basis.")] = None,
    alphas: Annotated[str | None, option("A,…", "Penalties on large weights.")] = None,
    cv: Annotated[str | None, option("FOLDS",
        "Number of folds, or a fraction of rows to hold out, or hold-out for a fifth. Default: 3 "
        "folds, or hold-out for tables with more rows than --sample-rows.")] = None,
    scoring: Annotated[str | None, option("NAME",
        "Score to maximize, by its name in scikit-learn, such as neg_mean_absolute_error; "
        "default: R² or accuracy.")] = None,
    sample_rows: Annotated[int | None, option("N",
        "Number of rows of the search; default: 50,000, or 20,000 of a larger table without "
        "lists.", min=2)] = None,
    max_rows: Annotated[int | None, option("N",
        "Maximum number of rows, drawn at random, to read for the search; the final model is "
        "fitted to all rows. Default: 1,000,000, or as many as fit in memory.", min=2)] = None,
    table: Annotated[Path | None, option("FILE",
        "CSV or Parquet file for the results of all candidates.")] = None,
    plot: Annotated[Path | None, option("FILE", "PNG or PDF file for a plot of them.")] = None,
    model: ModelOptions,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Choose the parameters of a model by cross-validation, fit it and save it.

    Reads tables and holds out test rows as `qtkm fit` does.

    Tries all candidates briefly and fits only the best to convergence.

    Ctrl-C stops the search and saves a model with the best parameters so far.

    Example: qtkm tune flights.parquet --target delay --out model.qtkm

    Example: qtkm tune wine.csv --target quality --ranks 5,10,20 --cv 5 --plot tried.png
    """
    lists = (("ranks", ranks, int), ("n_basis", n_basis, int), ("periods", periods, float),
             ("alphas", alphas, float))  # fmt: skip
    tried = {name: _numbers(name, text, kind) for name, text, kind in lists if text is not None}
    settings = tried | {
        "cv": _folds(cv), "scoring": _scorer(scoring), "sample_rows": sample_rows,
        "random_state": model.random_state, "n_jobs": model.n_jobs,
    }  # fmt: skip
    from . import training
    from .output import is_watched

    fitted, was_interrupted = training.tune(
        job, model.parameters(verbose=int(is_watched(quiet))), settings, max_rows, table, plot,
        quiet, as_json,
    )  # fmt: skip
    _leave_with(fitted, job.out)
    if was_interrupted:
        raise typer.Exit(INTERRUPTED)


def _numbers(name: str, text: str, kind: type) -> list[Any]:
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        option, what = name.replace("_", "-"), "integers" if kind is int else "numbers"
        raise typer.BadParameter(f"--{option} {text!r} must be {what}, such as 5,10,20") from None


def _folds(text: str | None) -> Any:
    if text is None or text == "hold-out":
        return text
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    raise typer.BadParameter(f"--cv {text!r} must be a number of folds, a fraction, or hold-out")


def _scorer(name: str | None) -> str | None:
    """Return the name if scikit-learn has such a score; otherwise suggest similar ones."""
    if name is None:
        return None
    from difflib import get_close_matches

    from sklearn.metrics import get_scorer_names

    known = get_scorer_names()
    if name in known:
        return name
    parts = [other for other in known if name in other]
    near = list(dict.fromkeys([*get_close_matches(name, known), *parts]))[:MOST_SCORES]
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    raise typer.BadParameter(
        f"--scoring {name!r} is not a score of scikit-learn; {hint}"
        "sklearn.metrics.get_scorer_names() lists them all"
    )
