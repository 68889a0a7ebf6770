"""``qtkm fit``, ``predict``, ``evaluate``: from a table to a saved model, and back to tables."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .codes import FAILED, INTERRUPTED

Target = Annotated[str, typer.Option("--target", metavar="COLUMN", help="Column to predict.")]
Out = Annotated[Path, typer.Option("--out", metavar="FILE", help="Where to save the model.")]


def fit(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV or Parquet file.")],
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
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")] = False,
) -> None:
    """Fit a model to a table and save it.

    Columns of text are taken for categories. Rows without a target are left out.

    Ctrl-C ends the fit and saves the best cores so far.

    Example: qtkm fit flights.parquet --target delay --rank 20 --out model.qtkm

    Example: qtkm fit adult.csv --target income --drop id --category zip -q
    """
    from . import jobs

    if task not in ("auto", "regression", "classification"):
        raise typer.BadParameter(f"{task!r} is not one of auto, regression, classification")
    given = {"rank": rank, "n_basis": n_basis, "period": period, "alpha": alpha, "loss": loss}
    # a bar that draws over itself is for terminals, not for files
    is_watched = not quiet and sys.stderr.isatty()
    parameters: dict[str, Any] = {
        **{name: value for name, value in given.items() if value is not None},
        "basis": basis, "network": network, "solver": solver, "max_iter": max_iter,
        "random_state": random_state, "n_jobs": n_jobs, "verbose": int(is_watched),
        "checkpoint": None if checkpoint is None else str(checkpoint),
    }  # fmt: skip
    model = jobs.fit(
        data, target, out, task=task, drop=drop or [], weight=weight, test_size=test_size,
        parameters=parameters, quiet=quiet, category=category or [],
    )  # fmt: skip
    _end(model, out, checkpoint is not None)


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
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File of `qtkm fit`.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV or Parquet file.")],
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="FILE", help="CSV or Parquet; default: CSV to the screen."),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Probabilities of the classes instead of labels.")
    ] = False,
) -> None:
    """Predict the rows of a table.

    Example: qtkm predict model.qtkm new.csv --out predicted.csv

    Example: qtkm predict model.qtkm new.csv | head
    """
    from . import jobs

    jobs.predict(model, data, out, proba)


def evaluate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File of `qtkm fit`.")],
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV or Parquet file.")],
    target: Target,
) -> None:
    """Score a model on the rows of a table.

    Example: qtkm evaluate model.qtkm held-out.parquet --target delay
    """
    from . import jobs

    jobs.evaluate(model, data, target)
