"""``qtkm inspect``: what a saved model has learned, as text, as JSON and as plots."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from .findings import Findings

#: columns, interactions and effects that are told one by one
MOST_LINES = 10
#: steps of a curve of letters, lowest first
STEPS, MOST_STEPS = "▁▂▃▄▅▆▇█", 40
NEED_ROWS = (
    "Shares, interactions and effects of the columns need rows: add --data FILE, as a rule the "
    "table of the fit. Scores and residuals need --target COLUMN as well."
)


def inspect(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="File of `qtkm fit`.")],
    data: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Table of rows, as a rule that of the fit: adds shares, "
                     "interactions and effects."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Target in the table: adds scores and residuals."),
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder for plots, as PNG files.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Class, or number of an output, where there are several; "
                     "default: the first."),
    ] = None,
    rows: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Of more rows than N, N drawn ones give shares, "
                     "interactions and effects."),
    ] = 20_000,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of text.")] = False,
) -> None:  # fmt: skip
    """Tell what a model has learned.

    The file alone tells columns, network, largest weights and learning curve.

    --data adds shares, interactions and effects; --target scores and residuals.

    Example: qtkm inspect model.qtkm

    Example: qtkm inspect model.qtkm --data rows.csv --target delay --plots plots
    """
    if target is not None and data is None:
        raise typer.BadParameter("--target names a column of a table; add --data FILE")
    if plots is not None:
        from .plots import check_plots  # before anything takes long

        check_plots(plots)
    from .. import load
    from . import findings, reading, scoring

    fitted = load(model)
    X, y = None, None
    if data is not None:
        X = reading.features(fitted, data, target)
        X, y = (X, None) if target is None else X
    found = findings.find(fitted, output, X, rows)
    scores = None if y is None else scoring.scores(fitted, X, y)
    files = []
    if plots is not None:
        from .plots import draw_all

        files = draw_all(found, plots, X, y)
    if as_json:
        facts = {"file": str(model), **findings.to_json(found), "scores": dict(scores or [])}
        json.dump(facts | {"plots": [str(file) for file in files]}, sys.stdout, indent=1)
        sys.stdout.write("\n")
        sys.stdout.flush()
    else:
        _print(found, model, scores, files, has_rows=X is not None)


def _print(found: "Findings", path: Path, scores: Any, files: list[Path], has_rows: bool) -> None:
    from .output import columns, show, write

    write(found.model.summary())
    history = found.history
    for name, label in (("objective", "objective"), ("validation_score", "validation")):
        if len(history[name]) > 1:
            write(f"{label:<12}{curve(history[name])}")
    write("")
    if found.remark:
        write(found.remark)
    if found.output is not None:
        known = _others(found)
        write(f"What follows is about {found.output}; --output tells of {known}.\n")
    if found.coefficients is not None:
        weights = found.coefficients
        columns(_certain(weights), ["basis functions", "magnitude"], [
            (label, f"{abs(value):.4g}")
            for label, value in zip(weights.labels, weights.values, strict=True)
        ])  # fmt: skip
    if found.importances is not None:
        _print_shares(found)
    if scores is not None:
        show(f"{path}", scores)
    for file in files:
        typer.echo(f"{file}")
    if not has_rows:
        write(NEED_ROWS)


def _print_shares(found: "Findings") -> None:
    from .output import columns

    shares, used = found.importances, f"{found.n_used:,} rows"
    if found.n_used < found.n_rows:
        used = f"{found.n_used:,} of {found.n_rows:,} rows"
    lines = [
        (shares.names[d], f"{shares.first_order[d]:.3f}", f"{shares.total[d]:.3f}")
        for d in found.by_importance[:MOST_LINES]
    ]
    columns(f"Shares in the variance of the {shares.response}, from {used}",
            ["column", "alone", "with others"], lines)  # fmt: skip
    if found.strengths is not None:
        strengths = found.strengths
        lines = [
            (f"{shares.names[d]} × {shares.names[e]}", f"{strengths.size[d, e]:.4g}",
             f"{strengths.h[d, e]:.2f}")
            for d, e in found.pairs[:MOST_LINES]
        ]  # fmt: skip
        columns("Strongest interactions", ["columns", "size (rms)", "H"], lines)
    lines = []
    for d in found.by_importance[:MOST_LINES]:
        effect = found.effects[d]
        low, high = int(effect.effect.argmin()), int(effect.effect.argmax())
        lines.append((
            effect.name, *(f"{effect.effect[i]:+.4g} at {_value(effect.values[i])}"
                           for i in (low, high)),
        ))  # fmt: skip
    mean = found.effects[0].mean
    columns(f"Main effects, above the mean {mean:.4g}", ["column", "least", "greatest"], lines)


def curve(values: Any) -> str:
    """A row of numbers as text: the first, steps of different heights, the last."""
    import numpy as np

    values = np.asarray(values, dtype=float)
    picked = values[np.linspace(0, len(values) - 1, min(len(values), MOST_STEPS)).astype(int)]
    low, high = np.nanmin(values), np.nanmax(values)
    part = (picked - low) / (high - low) if high > low else np.zeros(len(picked))
    steps = "".join(STEPS[int(p * (len(STEPS) - 1) + 0.5)] for p in np.nan_to_num(part))
    return f"{values[0]:.4g} {steps} {values[-1]:.4g}"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "missing" if value is None else str(value)


def _certain(weights: Any) -> str:
    if weights.is_exact:
        return "Largest weights"
    if weights.n_certain == 0:
        return "Large weights, as far as they were found"
    return f"Large weights, the first {weights.n_certain} certain to be the largest"


def _others(found: "Findings") -> str:
    from .findings import outputs_of

    known = [str(value) for value in outputs_of(found.model) if value != found.output]
    return ", ".join(known[:8]) + ", …" * (len(known) > 8)
