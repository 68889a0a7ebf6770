"""``qtkm fit``, ``predict``, ``evaluate``: from a table to a saved model, and back to tables."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .codes import FAILED, INTERRUPTED

Target = Annotated[str, typer.Option("--target", metavar="COLUMN", help="Column to predict.")]
Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", help='CSV or Parquet file, folder of such, or pattern: "data/*.parquet".'
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="File of `qtkm fit`.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to save the model.")]


def fit(
    data: Data,
    target: Target,
    out: Out = Path("model.qtkm"),
    task: Annotated[
        str,
        typer.Option(help="regression, classification, or auto: by the target's values."),
    ] = "auto",
    drop: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Leave out a column; repeatable.")
    ] = None,
    category: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Take a column of numbers for categories; repeatable."),
    ] = None,
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of row weights.")
    ] = None,
    test_size: Annotated[
        float, typer.Option(min=0.0, max=0.9, help="Share of rows to test on; 0 tests on none.")
    ] = 0.2,
    rank: Annotated[int | None, typer.Option(min=1, help="Rank of the network.")] = None,
    n_basis: Annotated[int | None, typer.Option(min=1, help="Basis functions a column.")] = None,
    period: Annotated[float | None, typer.Option(help="Period of the Fourier basis.")] = None,
    alpha: Annotated[float | None, typer.Option(min=0.0, help="Penalty.")] = None,
    basis: Annotated[str, typer.Option(help="fourier or power.")] = "fourier",
    network: Annotated[str, typer.Option(help="cpd, train, ring, …")] = "cpd",
    solver: Annotated[str, typer.Option(help="als, lbfgs, adam, …")] = "als",
    loss: Annotated[
        str | None, typer.Option(help="Of a classifier: logistic, squared_hinge, hinge, squared.")
    ] = None,
    max_iter: Annotated[int, typer.Option(min=1, help="Most epochs.")] = 40,
    random_state: Annotated[int, typer.Option(min=0, help="Seed of split and start.")] = 0,
    n_jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of checkpoints; goes on from one that is there."),
    ] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory the fit may take beside Python, such as 2GB."),
    ] = None,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder to keep coded rows in, for the next fit to them."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")] = False,
) -> None:
    """Fit a model to a table and save it.

    Columns of text are taken for categories. Rows without a target are left out.

    A file that takes less than a quarter of the machine's memory is read as a whole.

    Larger files, folders and patterns, and any with --memory-limit or --cache, are read in blocks.

    The rows to test on are then drawn by a hash of their numbers.

    Ctrl-C ends the fit and saves the best cores so far.

    Example: qtkm fit flights.parquet --target delay --rank 20 --out model.qtkm

    Example: qtkm fit adult.csv --target income --drop id --category zip -q

    Example: qtkm fit "years/*.parquet" --target delay --memory-limit 2GB
    """
    from . import jobs
    from .output import is_watched

    if task not in ("auto", "regression", "classification"):
        raise typer.BadParameter(f"{task!r} is not one of auto, regression, classification")
    _check_limit(memory_limit)
    given = {"rank": rank, "n_basis": n_basis, "period": period, "alpha": alpha, "loss": loss,
             "memory_limit": memory_limit}  # fmt: skip
    parameters: dict[str, Any] = {
        **{name: value for name, value in given.items() if value is not None},
        "basis": basis, "network": network, "solver": solver, "max_iter": max_iter,
        "random_state": random_state, "n_jobs": n_jobs, "verbose": int(is_watched(quiet)),
        "checkpoint": None if checkpoint is None else str(checkpoint),
    }  # fmt: skip
    model = jobs.fit(
        data, target, out, task=task, drop=drop or [], weight=weight, test_size=test_size,
        parameters=parameters, quiet=quiet, category=category or [], cache=cache,
    )  # fmt: skip
    _end(model, out, checkpoint is not None)


def _check_limit(text: str | None) -> None:
    """Refuse what is no amount of memory, before anything takes long."""
    from ..estimators.memory import parse_limit

    try:
        parse_limit(text)
    except ValueError:
        raise typer.BadParameter(
            f"--memory-limit {text!r} must be an amount such as 500MB, 2GB or 1.5GiB"
        ) from None


def _end(model: Any, out: Path, has_checkpoint: bool) -> None:
    """Say how a fit ended that did not end by itself."""
    from .output import note

    if model.status_ == "interrupted":
        more = " The same command goes on from the checkpoint." if has_checkpoint else ""
        note(f"Interrupted in epoch {model.n_iter_ + 1}; the best cores so far are in {out}.{more}")
        raise typer.Exit(INTERRUPTED)
    if model.status_ == "failed":
        note(f"{model.message_} They are in {out}.")
        raise typer.Exit(FAILED)


def predict(
    model: Model,
    data: Data,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="CSV or Parquet; default: CSV to the screen."),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Carry a column along; repeatable."),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities of the classes instead of labels.")
    ] = False,
    quiet: Quiet = False,
) -> None:
    """Predict the rows of a table of any length, block by block.

    Example: qtkm predict model.qtkm new.csv --out predicted.csv --keep id

    Example: qtkm predict model.qtkm "new/*.parquet" --out predicted.parquet

    Example: qtkm predict model.qtkm new.csv | head
    """
    from . import predicting
    from .output import is_watched

    predicting.predict(model, data, out, proba, keep or [], is_watched(quiet))


def evaluate(model: Model, data: Data, target: Target, quiet: Quiet = False) -> None:
    """Score a model on the rows of a table of any length, block by block.

    Example: qtkm evaluate model.qtkm held-out.parquet --target delay
    """
    from . import jobs
    from .output import is_watched

    jobs.evaluate(model, data, target, is_watched(quiet))
