"""``qtkm report`` and ``qtkm export``: a model for people and places without qtkm."""

from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Model


def report(
    model: Model,
    data: Annotated[
        list[Path],
        typer.Argument(metavar="DATA...", help="Table of rows with their targets, best rows that "
                       "the fit has not seen: files, folders or patterns."),
    ],
    out: Annotated[
        Path, typer.Option("--out", "-o", metavar="FILE", help="HTML file to write.")
    ] = Path("report.html"),
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the true values. Default: the column that "
                     "the model was fitted to."),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Class that effects are about, by its name. Default: "
                     "the first, or the second of two classes."),
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Largest number of rows to read into memory; larger "
                     "tables are sampled at random. Default: 1,000,000, or what fits."),
    ] = None,
    rows: Annotated[
        int,
        typer.Option(min=10, metavar="N", help="Largest number of these rows to use for shares "
                     "and effects, which take longer than scores."),
    ] = 5000,
    title: Annotated[str | None, typer.Option(metavar="TEXT", help="Title of the page.")] = None,
) -> None:  # fmt: skip
    """Write a report on a model: one HTML file that opens in any browser.

    It has scores, importances, effects of columns and pairs, the worst rows with the
    contributions of their columns, what was decided and why, and how to use the model.

    Example: qtkm report model.qtkm test.csv --out report.html
    """
    from .. import load
    from ..report import write_report
    from .blocks import read_sample
    from .findings import choose_output
    from .formats import check_writable
    from .output import is_watched, note, write

    check_writable(out, makes_folder=True)
    fitted = load(model)
    column = target or _target_of(fitted)
    X, y, n_rows = read_sample(fitted, data, column, max_rows, is_watched(False))
    if len(X) < n_rows:
        note(f"{len(X):,} of {n_rows:,} rows are used, drawn at random (--max-rows)")
    chosen = None if output is None else choose_output(fitted, output)
    write_report(
        fitted, X, y, out, output=chosen, max_rows=rows, title=title, file=model.name
    )  # fmt: skip
    write(f"{out}")


def export(
    model: Model,
    to: Annotated[
        str, typer.Option("--to", metavar="FORMAT", help="onnx, or python: a file that needs "
                          "NumPy alone.")
    ] = "onnx",
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="File to write. Default: the name of the "
                     "model with another ending."),
    ] = None,
) -> None:  # fmt: skip
    """Write a model as a file that predicts without qtkm.

    Example: qtkm export model.qtkm --to onnx

    Example: qtkm export model.qtkm --to python --out model.py
    """
    from .. import load
    from ..export import WRITERS
    from ..export import export as write_file
    from .formats import check_writable
    from .output import write

    if to not in WRITERS:
        raise typer.BadParameter(f"--to {to} is unknown; use one of {', '.join(WRITERS)}")
    path = out or model.with_suffix({"onnx": ".onnx", "python": ".py"}[to])
    check_writable(path, makes_folder=True)
    write(f"{write_file(load(model), path, to)}")


def _target_of(model: Any) -> str:
    names = model.target_names_
    if not names or len(names) > 1:
        raise ValueError(
            "the model file does not name its target, or names several; add --target COLUMN"
        )
    return names[0]
