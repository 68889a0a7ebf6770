"""``qtkm fit``, ``predict``, ``evaluate``: from a table to a saved model, and back to tables."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .failures import FAILED, INTERRUPTED
from .options import Data, Job, Json, Model, ModelOptions, Offset, Quiet, flattened


@flattened
def fit(
    *,
    job: Job,
    rank: Annotated[
        int | None,
        typer.Option(min=1, metavar="R", help="Rank of the tensor network: the larger, the finer "
                     "what it can learn, and the slower; default: by the number of rows."),
    ] = None,
    n_basis: Annotated[
        int | None,
        typer.Option(min=1, metavar="M", help="Number of basis functions for each numeric column; "
                     "default: by the number of rows."),
    ] = None,
    period: Annotated[
        float | None,
        typer.Option(metavar="L", help="Period of the Fourier basis, in units of a column's range: "
                     "1 or more, longer is smoother; default: by the number of rows."),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(min=0.0, metavar="A", help="Penalty on large weights, as in ridge "
                     "regression; default: by the number of rows."),
    ] = None,
    model: ModelOptions,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to keep progress in; the same command goes on "
                     "from what is there."),
    ] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory that the fit may take, beside some 250 MB for "
                     "the program itself, such as 2GB; rows that have no room go to disk."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to keep the prepared rows in, so that the next "
                     "fit to the same files starts sooner."),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:  # fmt: skip
    """Fit a model to a table and save it.

    Columns of text are categories. Numbers may be missing, and dates and truth values are numbers.

    Rows without a target are left out. A fifth of the rows is not trained on but scored.

    A file that takes less than a quarter of the machine's memory is read as a whole.

    Larger or several files, and any with --memory-limit or --cache, are read piece by piece.

    Ctrl-C ends the fit and saves the best model so far.

    Example: qtkm fit flights.parquet --target delay --rank 20 --out model.qtkm

    Example: qtkm fit adult.csv --target income --drop id --category zip -q

    Example: qtkm fit "years/*.parquet" --target delay --memory-limit 2GB
    """
    from . import jobs
    from .output import is_watched

    _check_limit(memory_limit)
    parameters = model.parameters(
        rank=rank, n_basis=n_basis, period=period, alpha=alpha, memory_limit=memory_limit,
        checkpoint=None if checkpoint is None else str(checkpoint), verbose=int(is_watched(quiet)),
    )  # fmt: skip
    tell_end(jobs.fit(job, parameters, cache, quiet, as_json), job.out, checkpoint is not None)


def _check_limit(text: str | None) -> None:
    """Refuse what is no amount of memory, before anything takes long."""
    from ..estimators.memory import parse_limit

    try:
        parse_limit(text)
    except ValueError:
        raise typer.BadParameter(
            f"--memory-limit {text!r} must be an amount such as 500MB, 2GB or 1.5GiB"
        ) from None


def tell_end(model: Any, out: Path, has_checkpoint: bool = False) -> None:
    """Say how a fit ended that did not end by itself.

    Parameters
    ----------
    model : estimator
    out : pathlib.Path
        Where it was saved.
    has_checkpoint : bool
        Whether the same command goes on from here.

    Raises
    ------
    typer.Exit
        If it was interrupted or failed.
    """
    from .output import note

    if model.status_ == "interrupted":
        more = " The same command goes on from the checkpoint." if has_checkpoint else ""
        note(f"Interrupted in epoch {model.n_iter_ + 1}; the best model so far is in {out}.{more}")
        raise typer.Exit(INTERRUPTED)
    if model.status_ == "failed":
        note(f"{model.message_} The model is in {out}.")
        raise typer.Exit(FAILED)


def predict(
    model: Model,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="CSV or Parquet file to write, by its name; "
                     "default: CSV to the screen."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to copy beside the predictions, such as an "
                     "id; may be repeated."),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities of the classes instead of labels.")
    ] = False,
    std: Annotated[
        bool, typer.Option("--std", help="Standard deviation of every predicted number.")
    ] = False,
    interval: Annotated[
        float | None,
        typer.Option(metavar="COVERAGE", help="Lower and upper ends that so much of new "
                     "observations lie between, such as 0.9; with --proba of probabilities."),
    ] = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show no progress, no number of rows, no "
                           "remarks.")
    ] = False,
) -> None:  # fmt: skip
    """Predict the rows of a table of any length.

    The table needs the columns that the model was fitted to, by name; others are ignored.

    Example: qtkm predict model.qtkm new.csv --out predicted.csv --keep id

    Example: qtkm predict model.qtkm "new/*.parquet" --out predicted.parquet

    Example: qtkm predict model.qtkm new.csv --std --interval 0.9

    Example: qtkm predict model.qtkm new.csv | head
    """
    from . import predictions

    predictions.predict(model, data, out, proba, keep or [], quiet, std, interval)


def evaluate(
    model: Model,
    data: Data,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            metavar="COLUMN",
            help="Column of the true values; default: that of the fit.",
        ),
    ] = None,
    offset: Offset = None,
    as_json: Json = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Show neither progress nor remarks.")
    ] = False,
) -> None:
    """Score a model on the rows of a table of any length.

    Numbers: R² and errors; of models with a posterior also the mean negative log-likelihood,

    the continuous ranked probability score (CRPS), and part and mean width of 90 % intervals.

    Rows without a target are left out.

    Classes: accuracy, that of always guessing the most frequent class, balanced accuracy (the

    mean over the classes of how much of each is found), log-loss.

    Use rows that the model was not fitted to: on its own rows, a model looks better than it is.

    Rows with categories or numbers that the fit has not seen are counted in a remark.

    Example: qtkm evaluate model.qtkm held-out.parquet
    """
    from . import jobs

    jobs.evaluate(model, data, target, quiet, as_json, offset)
