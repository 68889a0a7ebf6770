"""``qtkm report``: what a model gives to people and places without the library."""

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


def _target_of(model: Any) -> str:
    names = model.target_names_
    if not names or len(names) > 1:
        raise ValueError(
            "the model file does not name its target, or names several; add --target COLUMN"
        )
    return names[0]
