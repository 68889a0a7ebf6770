"""``qtkm predict``, ``evaluate``, ``inspect``, ``report``, ``export`` and ``compare``."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

import qtkm

from ..escaping import visible_frame
from . import options
from .options import NO_COLUMNS, Data, Job, MaxRows, Model, Output, Truth, Unwatched, flag, option
from .output import check_writable, is_watched, note, show, write, write_json


def predict(
    model: Model,
    data: Data,
    out: Annotated[Path | None, option("FILE",
        "CSV or Parquet file to write; default: CSV to standard output.", "--out")] = None,
    keep: Annotated[list[str], option("COLUMN",
        "Column to copy to the output, such as an id; may be repeated.")] = NO_COLUMNS,
    proba: Annotated[bool, flag(
        "Write class probabilities instead of labels.", "--proba")] = False,
    std: Annotated[bool, flag("Add the standard deviation of each prediction.", "--std")] = False,
    interval: Annotated[float | None, option("COVERAGE",
        "Add the ends of an interval that covers this fraction of new observations, such as 0.9; "
        "with --proba, intervals of the probabilities.")] = None,
    offset: options.Offset = None,
    quiet: Unwatched = False,
) -> None:  # fmt: skip
    """Predict the rows of a table of any length.

    The table must have the columns of the fit, by name; others are ignored.

    Example: qtkm predict model.qtkm new.csv --out predicted.csv --keep id

    Example: qtkm predict model.qtkm "new/*.parquet" --out predicted.parquet

    Example: qtkm predict model.qtkm new.csv --std --interval 0.9

    Example: qtkm predict model.qtkm new.csv | head
    """
    from ..data.sources import MappedSource
    from ..data.sources.files import check_format
    from ..estimators.predicting import predicted_tables
    from ..limits import LIMITS
    from .reading import ModelTable

    if out is not None:  # refused before anything takes long
        if not out.is_dir():
            check_format(out)
        check_writable(out)
    fitted = qtkm.load(model)
    if proba and not hasattr(fitted, "predict_proba"):
        raise ValueError(f"{model} does not predict probabilities; remove --proba")
    keep = list(dict.fromkeys(keep))
    # a bar among rows on a screen would spoil both
    is_screen = out is None and sys.stdout.isatty()
    fitted.verbose = int(is_watched(quiet) and not is_screen)
    table = ModelTable(fitted, data, keep)
    checked = MappedSource(table.source, table.check, needs=table.names)
    wanted: dict[str, Any] = {"proba": proba, "std": std, "interval": interval, "offset": offset}
    if out is None:
        rows = LIMITS.predict_rows  # few, so that the first ones are seen soon
        _print(predicted_tables(fitted, checked, table.names, keep, rows=rows, **wanted), is_screen)
    else:
        n_rows = fitted.predict_dataset(checked, out, columns=table.names, keep=keep, **wanted)
        if not quiet:
            write(f"{n_rows:,} row{'s' * (n_rows != 1)} written to {out}")
    for remark in [] if quiet else table.remarks():
        note(remark)


def _print(parts: Iterator[Any], is_screen: bool) -> None:
    """Print tables of pyarrow as CSV."""
    import pandas

    for number, part in enumerate(parts):
        frame = part.to_pandas(types_mapper=pandas.ArrowDtype)
        frame = visible_frame(frame) if is_screen else frame
        frame.to_csv(sys.stdout, index=False, header=number == 0)
        sys.stdout.flush()


def evaluate(
    model: Model,
    data: Data,
    target: Truth = None,
    offset: options.Offset = None,
    as_json: options.Json = False,
    quiet: Unwatched = False,
) -> None:
    """Score a model on the rows of a table of any length.

    Regression: R² and errors, D² for losses other than squared, and for models with a posterior
    the mean negative log-likelihood, the continuous ranked probability score (CRPS), and coverage
    and mean width of 90 % intervals, from at most 100,000 rows.

    Rows without a target are skipped.

    Classification: accuracy, accuracy of always predicting the most frequent class, balanced
    accuracy (mean recall over the classes), and log-loss.

    Use rows the model was not fitted to; scores on training rows are too good.

    A remark counts rows with unseen categories or values outside the training range.

    Example: qtkm evaluate model.qtkm held-out.parquet
    """
    from .reading import ModelTable, find_target
    from .scoring import score_table

    fitted = qtkm.load(model)
    needed = [find_target(fitted, target, model), *filter(None, [offset])]
    if offset is not None and hasattr(fitted, "classes_"):
        raise ValueError(f"--offset {offset} is for regression, but {model} predicts classes")
    shown = is_watched(quiet)
    table = ModelTable(fitted, data, needed)
    sums = score_table(table, shown, offset=offset)
    if sums.n_rows == 0:
        raise ValueError(f"{table.name} has no row with a target")
    if as_json:
        write_json(sums.facts())
    else:
        show(f"{model} on {table.name}", sums.lines())
    for remark in [] if quiet else table.remarks():
        note(remark)


def inspect(
    model: Model,
    data: Annotated[list[Path] | None, option("DATA",
        "Table, usually that of the fit: a file, a folder or a pattern; may be repeated. Adds "
        "importances, interactions and effects of the columns.")] = None,
    target: Annotated[str | None, option("COLUMN",
        "Column of true values. Adds scores and plots of the errors, which are too good on "
        "training rows.")] = None,
    plots: Annotated[Path | None, option("DIR", "Folder to write plots to, as PNG files.")] = None,
    weights: Annotated[bool, flag(
        "Add the largest weights, spectra and rank-one terms, for specialists.",
        "--weights")] = False,
    output: Output = None,
    max_rows: MaxRows = None,
    rows: Annotated[int, option("N",
        "Maximum number of these rows for shares, interactions and effects, which take longer than "
        "scores.", min=1)] = 20_000,
    as_json: options.AsJson = False,
) -> None:  # fmt: skip
    """Show what a model has learned.

    Without --data, shows columns, network and learning curve.

    --data adds shares, interactions and effects of the columns; --target adds scores and errors.

    Example: qtkm inspect model.qtkm

    Example: qtkm inspect model.qtkm --data rows.csv --target delay --plots plots
    """
    if target is not None and not data:
        raise typer.BadParameter("--target names a column of a table; add --data FILE")
    from . import findings
    from .reading import read_sample
    from .scoring import start_sums

    if plots is not None:
        findings.check_plots(plots / "plot.png")
    fitted, sums, X, y, n_rows = qtkm.load(model), None, None, None, 0
    if data:
        X, y, n_rows = read_sample(fitted, data, target, max_rows, "looked at")
    found = findings.Findings(fitted, output, X, rows, weights)
    if y is not None:
        sums = start_sums(fitted)
        sums.add(X, y)
    files: list[str] = []
    if plots is not None:
        for name, figure in findings.figures(found, X, y):
            files.append(str(plots / f"{name}.png"))
            figure.savefig(files[-1], dpi=findings.DOTS)
    if as_json:
        facts = findings.to_json(found) | {"n_rows_in_table": n_rows, "plots": files}
        write_json({"file": str(model), **facts, "scores": sums.facts() if sums else {}})
        return
    findings.print_findings(found)
    if sums is not None:
        show(f"Scores of {model}", sums.lines())
        write(findings.SEEN)
    for file in files:
        write(file)
    if X is None:
        write(findings.NEED_ROWS)


def report(
    model: Model,
    data: Data,
    out: Annotated[Path, option("FILE",
        "HTML file to write.", "--out", "-o")] = Path("report.html"),
    target: Truth = None,
    output: Output = None,
    max_rows: MaxRows = None,
    rows: Annotated[int, option("N",
        "Maximum number of these rows for shares and effects, which take longer than scores.",
        min=10)] = 5000,
    title: Annotated[str | None, option("TEXT", "Title of the page.")] = None,
) -> None:  # fmt: skip
    """Write a report on a model: one HTML file that opens in any browser.

    It contains scores, importances, effects of columns and pairs, the worst rows with the
    contributions of their columns, what was decided and why, and how to use the model. Use rows
    with targets that the model was not fitted to.

    Example: qtkm report model.qtkm test.csv --out report.html
    """
    from ..report import write_report
    from .findings import choose_output
    from .reading import find_target, read_sample

    check_writable(out, makes_folder=True)
    fitted = qtkm.load(model)
    column = find_target(fitted, target, model)
    X, y, _ = read_sample(fitted, data, column, max_rows, "used")
    chosen = choose_output(fitted, output)
    write_report(fitted, X, y, out, output=chosen, max_rows=rows, title=title, file=model.name)
    write(f"{out}")


def export(
    model: Model,
    to: Annotated[str, option("FORMAT",
        "onnx, or python: a file that only needs NumPy.", "--to")] = "onnx",
    out: Annotated[Path | None, option("FILE",
        "File to write. Default: the name of the model with another extension.",
        "--out", "-o")] = None,
    std: Annotated[bool | None, flag(
        "Include standard deviations, which make the file larger. Default: if the model has them.",
        "--std/--no-std")] = None,
) -> None:  # fmt: skip
    """Write a model as a file that predicts without qtkm.

    Example: qtkm export model.qtkm --to onnx

    Example: qtkm export model.qtkm --to python --out model.py
    """
    from ..export import WRITERS
    from ..export import export as write_file

    if to not in WRITERS:
        raise typer.BadParameter(f"--to {to} is unknown; use one of {', '.join(WRITERS)}")
    path = out or model.with_suffix({"onnx": ".onnx", "python": ".py"}[to])
    check_writable(path, makes_folder=True)
    write(f"{write_file(qtkm.load(model), path, to, std=std)}")


def compare(
    data: Data,
    target: options.Target,
    category: options.Category = NO_COLUMNS,
    drop: options.Drop = NO_COLUMNS,
    folds: Annotated[int | None, option("K",
        "Number of folds; default: 5, or 3 beyond 5,000 rows.", min=2)] = None,
    max_rows: Annotated[int, option("N", "Larger tables are sampled at random.", min=20)] = 8000,
    plot: Annotated[Path | None, option("FILE", "Draw scores against seconds to a file.")] = None,
    as_json: options.AsJson = False,
) -> None:  # fmt: skip
    """Compare the defaults with ridge, boosting and kernel methods on the same folds.

    Use it to decide whether this library suits a table. Gaussian processes and kernel methods run
    only on few rows.

    Example: qtkm compare rows.csv --target delay --plot compare.png
    """
    from ..comparison import compare as run
    from .findings import check_plots
    from .training import TableRows

    if plot is not None:
        check_plots(plot)
    job = Job(data=data, target=target, category=category, drop=drop, test_size=0.0, quiet=True)
    rows = TableRows(job)
    X, y = rows.sample(rows.survey.n_rows)[0][:2]
    found = run(
        X, y, task=rows.survey.task, categorical_features=rows.survey.categories, cv=folds,
        max_rows=max_rows, progress=None if as_json else lambda name: note(f"{name} …"),
    )  # fmt: skip
    if plot is not None:
        found.plot().figure_.savefig(plot, dpi=120)
    if as_json:
        write_json(vars(found))
        return
    part = f"{found.n_used:,} of " * (found.n_used < found.n_rows)
    title = f"{found.scores.shape[1]} folds of {part}{found.n_rows:,} rows, mean and 95 % interval"
    models = found.to_frame().itertuples(index=False)
    lines = [(name, f"{mean:.4f} ± {half:.4f}", f"{time:.3g}") for name, mean, half, time in models]
    show(title, lines, ["model", found.score_name, "seconds for a fold"])
    for remark in found.notes:
        write(remark)
