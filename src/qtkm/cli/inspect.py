"""``qtkm inspect``: what a saved model has learned, as text, as JSON and as plots."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .options import Model

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
    model: Model,
    data: Annotated[
        list[Path] | None,
        typer.Option(metavar="DATA", help="Table of rows, usually the one of the fit: a file, a "
                     "folder or a pattern; may be repeated. Adds how much each column matters, "
                     "which columns act together, and how."),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the true values in the table. Adds scores "
                     "and plots of the errors, which look better than they are on rows of the "
                     "fit."),
    ] = None,
    plots: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder to write plots to, as PNG files.")
    ] = None,
    weights: Annotated[
        bool,
        typer.Option("--weights", help="Add what specialists look at: the largest weights, "
                     "spectra and rank-one terms."),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Class or target to describe, by its name, or by its "
                     "number from 0. Default: the first, or the second of two classes."),
    ] = None,
    max_rows: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Largest number of rows to read into memory; larger "
                     "tables are sampled at random. Default: 1,000,000, or what fits."),
    ] = None,
    rows: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Largest number of these rows to use for shares, "
                     "interactions and effects, which take longer than scores."),
    ] = 20_000,
    as_json: Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")] = False,
) -> None:  # fmt: skip
    """Show what a model has learned.

    The file alone has the columns, the network and the learning curve.

    --data adds shares, interactions and effects of the columns; --target adds scores and errors.

    Example: qtkm inspect model.qtkm

    Example: qtkm inspect model.qtkm --data rows.csv --target delay --plots plots
    """
    if target is not None and not data:
        raise typer.BadParameter("--target names a column of a table; add --data FILE")
    if plots is not None:
        from .plots import check_plots  # before anything takes long

        check_plots(plots)
    from .. import load
    from . import blocks, findings
    from .output import is_watched, note, write_json
    from .scoring import start_sums

    fitted = load(model)
    X, y, n_rows = None, None, 0
    if data:
        X, y, n_rows = blocks.read_sample(fitted, data, target, max_rows, is_watched(False))
        if len(X) < n_rows:
            note(f"{len(X):,} of {n_rows:,} rows are looked at, drawn at random (--max-rows)")
    found = findings.find(fitted, output, X, rows, weights)
    sums = None
    if y is not None:
        sums = start_sums(fitted)
        sums.add(X, y)
    files = []
    if plots is not None:
        from .plots import draw_all

        files = draw_all(found, plots, X, y)
    if as_json:
        facts = {"file": str(model), **findings.to_json(found), "n_rows_in_table": n_rows,
                 "scores": sums.facts() if sums else {},
                 "plots": [str(file) for file in files]}  # fmt: skip
        write_json(facts)
    else:
        scores = None if sums is None else sums.lines()
        _print(found, model, scores, files, has_rows=X is not None)


def _print(found: "Findings", path: Path, scores: Any, files: list[Path], has_rows: bool) -> None:
    from ..estimators.wording import readable, summarize
    from .findings import SEEN
    from .output import columns, show, write

    write(summarize(found.model, is_whole=True))
    history = found.history
    for name, label in (("objective", "objective"), ("validation_score", "validation")):
        if len(history[name]) > 1:
            write(f"{label:<12}{curve(history[name])}")
    write("")
    if found.remark:
        write(found.remark)
    if found.output is not None:
        known = _others(found)
        write(f"The rest is about {found.output}; use --output for {known}.\n")
    if found.coefficients is not None:
        weights = found.coefficients
        columns(_certain(weights), ["basis functions", "magnitude"], [
            (label, readable(abs(value)))
            for label, value in zip(weights.labels, weights.values, strict=True)
        ])  # fmt: skip
    if found.importances is not None:
        _print_shares(found)
    if scores is not None:
        show(f"Scores of {path}", scores)
        write(SEEN)
    for file in files:
        write(f"{file}")
    if not has_rows:
        write(NEED_ROWS)


def _print_shares(found: "Findings") -> None:
    from ..estimators.wording import readable
    from ..inspection.plotting import the
    from .output import columns

    shares, used = found.importances, f"{found.n_used:,} rows"
    if found.n_used < found.n_rows:
        used = f"{found.n_used:,} of {found.n_rows:,} rows"
    lines = [
        (shares.names[d], f"{shares.first_order[d]:.3f}", f"{shares.total[d]:.3f}")
        for d in found.by_importance[:MOST_LINES]
    ]
    columns(f"Shares in the variance of {the(shares.response)}, from {used}",
            ["column", "alone", "with others"], lines)  # fmt: skip
    if found.strengths is not None:
        strengths = found.strengths
        lines = [
            (f"{shares.names[d]} × {shares.names[e]}", readable(strengths.size[d, e]),
             f"{strengths.h[d, e]:.2f}")
            for d, e in found.pairs[:MOST_LINES]
        ]  # fmt: skip
        title = "Strongest interactions: root mean square, and H, its share of what both do"
        columns(title, ["columns", "size", "H"], lines)
    effects = [found.effects[d] for d in found.varying[:MOST_LINES]]
    title = f"Main effects, above the mean {readable(found.effects[0].mean)}"
    columns(
        title, ["column", "least", "greatest", "missing"], [_ends(effect) for effect in effects]
    )


def _ends(effect: Any) -> tuple[str, str, str, str]:
    """Where the effect of a column is least and greatest, among values that rows are near to."""
    import numpy as np

    from ..estimators.wording import readable

    among = np.flatnonzero(effect.is_supported)
    among = among if len(among) else np.arange(len(effect.effect))
    order = among[np.argsort(effect.effect[among], kind="stable")]
    least, greatest = (
        f"{readable(effect.effect[i], sign='+')} at {_value(effect.values[i])}"
        for i in (order[0], order[-1])
    )
    gaps = effect.missing
    return (
        effect.name,
        least,
        greatest,
        "" if gaps is None else readable(gaps - effect.mean, sign="+"),
    )


def curve(values: Any) -> str:
    """Format numbers as the first, a line of steps of different heights, and the last."""
    import numpy as np

    from ..estimators.wording import readable

    values = np.asarray(values, dtype=float)
    picked = values[np.linspace(0, len(values) - 1, min(len(values), MOST_STEPS)).astype(int)]
    low, high = np.nanmin(values), np.nanmax(values)
    part = (picked - low) / (high - low) if high > low else np.zeros(len(picked))
    steps = "".join(STEPS[int(p * (len(STEPS) - 1) + 0.5)] for p in np.nan_to_num(part))
    return f"{readable(values[0])} {steps} {readable(values[-1])}"


def _value(value: Any) -> str:
    from ..estimators.wording import readable

    if isinstance(value, float):
        return readable(value)
    return "missing" if value is None else str(value)


def _certain(weights: Any) -> str:
    if weights.is_exact:
        return "Largest weights of the basis functions, by column and frequency, power or category"
    if weights.n_certain == 0:
        return "Large weights, as far as they were found"
    return f"Large weights, the first {weights.n_certain} certain to be the largest"


def _others(found: "Findings") -> str:
    from .findings import outputs_of

    known = [str(value) for value in outputs_of(found.model) if value != found.output]
    return ", ".join(known[:8]) + ", …" * (len(known) > 8)
