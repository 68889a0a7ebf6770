"""``qtkm report``, ``export`` and ``compare``: a model for people and places without qtkm."""

from pathlib import Path
from typing import Annotated

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
    from .models import find_target
    from .output import is_watched, note, write

    check_writable(out, makes_folder=True)
    fitted = load(model)
    column = find_target(fitted, target, model)
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
    std: Annotated[
        bool | None,
        typer.Option("--std/--no-std", help="Include standard deviations, which make the file "
                     "larger. Default: if the model has them."),
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
    write(f"{write_file(load(model), path, to, std=std)}")


def compare(
    data: Annotated[
        list[Path], typer.Argument(metavar="DATA...", help="Table: a file, a folder or a pattern.")
    ],
    target: Annotated[str, typer.Option(metavar="COLUMN", help="Column to predict.")],
    category: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to take for categories beside those of text; "
                     "may be repeated."),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated."),
    ] = None,
    folds: Annotated[
        int | None, typer.Option(min=2, metavar="K", help="Default: 5, or 3 beyond 5,000 rows.")
    ] = None,
    max_rows: Annotated[
        int, typer.Option(min=20, metavar="N", help="Larger tables are sampled at random.")
    ] = 20_000,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw scores against seconds to a file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")] = False,
) -> None:  # fmt: skip
    """Compare the defaults with ridge, boosting and kernel methods on the same folds.

    The honest answer to whether to use this library for a table. Gaussian processes and kernel
    methods are tried where rows are few enough for them.

    Example: qtkm compare rows.csv --target delay --plot compare.png
    """
    from ..comparison import compare as run
    from .options import Job
    from .output import columns, note, write, write_json
    from .reading import open_table
    from .training import RowsInMemory

    job = Job(data=data, target=target, category=category or [], drop=drop or [])
    rows = RowsInMemory(job, open_table(data), 0)
    survey = rows.survey
    tell = None if as_json else lambda name: note(f"{name} …")
    found = run(
        rows._X, rows._y, task=survey.task, categorical_features=survey.categories, cv=folds,
        max_rows=max_rows, progress=tell,
    )  # fmt: skip
    if plot is not None:
        plot.parent.mkdir(parents=True, exist_ok=True)
        found.plot().figure_.savefig(plot, dpi=120)
    if as_json:
        write_json({"score": found.score_name, "n_rows": found.n_rows, "n_used": found.n_used,
                    "models": [{"name": name, "scores": scores.tolist(), "seconds": s.tolist()}
                               for name, scores, s in
                               zip(found.names, found.scores, found.seconds, strict=True)],
                    "notes": found.notes})  # fmt: skip
        return
    used = f"{found.n_used:,} of {found.n_rows:,} rows" if found.n_used < found.n_rows else (
        f"{found.n_rows:,} rows")  # fmt: skip
    columns(
        f"{found.scores.shape[1]} folds of {used}, mean and 95 % interval",
        ["model", found.score_name, "seconds for a fold"], found.lines(),
    )  # fmt: skip
    for remark in found.notes:
        write(remark)
