"""``qtkm tune``: from a table to a saved model whose parameters were chosen by its rows."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from .codes import INTERRUPTED
from .fit import Out, Target

_LIST = "Separated by commas; a few around the default if left out."


def tune(
    data: Annotated[Path, typer.Argument(metavar="DATA", help="CSV or Parquet file.")],
    target: Target,
    out: Out = Path("model.qtkm"),
    ranks: Annotated[str | None, typer.Option(metavar="R,…", help=f"Ranks. {_LIST}")] = None,
    n_basis: Annotated[
        str | None, typer.Option(metavar="M,…", help="Numbers of basis functions a column.")
    ] = None,
    periods: Annotated[
        str | None, typer.Option(metavar="L,…", help="Periods of the Fourier basis.")
    ] = None,
    alphas: Annotated[str | None, typer.Option(metavar="A,…", help="Penalties.")] = None,
    cv: Annotated[
        str | None,
        typer.Option(metavar="FOLDS", help="Number of folds, hold-out, or share to hold out; "
                     "default: 3, and a hold-out of large tables."),
    ] = None,
    scoring: Annotated[
        str | None, typer.Option(help="scikit-learn's name of a score; default: R² or accuracy.")
    ] = None,
    sample_rows: Annotated[
        int | None, typer.Option(min=2, metavar="N", help="Rows of the search; default: 50,000.")
    ] = None,
    table: Annotated[
        Path | None, typer.Option(metavar="FILE", help="CSV or Parquet of all that was tried.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot of all that was tried.")
    ] = None,
    task: Annotated[
        str, typer.Option(help="regression, classification, or auto: by the target's values.")
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
    basis: Annotated[str, typer.Option(help="fourier or power.")] = "fourier",
    network: Annotated[str, typer.Option(help="cpd, train, ring, …")] = "cpd",
    solver: Annotated[str, typer.Option(help="als, lbfgs, adam, …")] = "als",
    loss: Annotated[
        str | None, typer.Option(help="Of a classifier: logistic, squared_hinge, hinge, squared.")
    ] = None,
    max_iter: Annotated[int, typer.Option(min=1, help="Most epochs of a fit.")] = 40,
    random_state: Annotated[int, typer.Option(min=0, help="Seed of splits and starts.")] = 0,
    n_jobs: Annotated[int | None, typer.Option(help="Threads; all cores by default.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no table.")] = False,
) -> None:  # fmt: skip
    """Choose the parameters of a model by cross-validation, fit it and save it.

    Rows and columns are read as by `qtkm fit`. Folds are drawn at random.

    Ctrl-C ends the search and saves a model with the best parameters so far.

    Example: qtkm tune flights.parquet --target delay --out model.qtkm

    Example: qtkm tune wine.csv --target quality --ranks 5,10,20 --cv 5 --plot tried.png
    """
    if task not in ("auto", "regression", "classification"):
        raise typer.BadParameter(f"{task!r} is not one of auto, regression, classification")
    lists = {
        "ranks": _numbers("--ranks", ranks, int),
        "n_basis": _numbers("--n-basis", n_basis, int),
        "periods": _numbers("--periods", periods, float),
        "alphas": _numbers("--alphas", alphas, float),
    }
    parameters: dict[str, Any] = {
        "basis": basis, "network": network, "solver": solver, "max_iter": max_iter,
        "random_state": random_state, "n_jobs": n_jobs,
    } | ({} if loss is None else {"loss": loss})  # fmt: skip
    is_watched = not quiet and sys.stderr.isatty()
    settings = {name: values for name, values in lists.items() if values is not None} | {
        "cv": _folds(cv), "scoring": scoring, "sample_rows": sample_rows or "auto",
        "random_state": random_state, "n_jobs": n_jobs, "verbose": int(is_watched),
    }  # fmt: skip
    from . import tuning

    was_interrupted = tuning.tune(
        data, target, out, task=task, drop=drop or [], category=category or [], weight=weight,
        test_size=test_size, parameters=parameters, settings=settings, table=table, plot=plot,
        quiet=quiet,
    )  # fmt: skip
    if was_interrupted:
        raise typer.Exit(INTERRUPTED)


def _numbers(option: str, text: str | None, kind: type) -> list[Any] | None:
    """Numbers that are separated by commas."""
    if text is None:
        return None
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        what = "whole numbers" if kind is int else "numbers"
        raise typer.BadParameter(f"{option} {text!r} must be {what}, such as 5,10,20") from None


def _folds(text: str | None) -> Any:
    if text is None or text == "hold-out":
        return text
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    raise typer.BadParameter(f"--cv {text!r} must be a number of folds, a share, or hold-out")
