"""What a fit has learned, as HTML to stand below scikit-learn's diagram in a notebook.

Names and categories come from the user's data and may hold anything, so all text is escaped.
Colours are those of the page, so that it can be read on a dark one, too.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

#: columns that are told one by one, letters of a name, and points of a curve
MOST_COLUMNS, LONGEST, MOST_POINTS = 12, 40, 200
#: pixels of the curve, and of the space around it
WIDTH, HEIGHT, MARGIN = 280, 90, 6
#: colours of objective and validation score, both legible on white and on black
OBJECTIVE, VALIDATION = "#3b7dc4", "#e08a3c"

STYLE = (
    "<style>.qtkm-learned{display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start;"
    "margin:.5em 0;font-size:.9em}"
    ".qtkm-learned table{border-collapse:collapse;margin:0;font-size:inherit}"
    ".qtkm-learned td,.qtkm-learned th{text-align:left;padding:.1em .8em .1em 0;border:0;"
    "background:none}"
    ".qtkm-learned caption,.qtkm-learned figcaption{text-align:left;font-weight:bold;"
    "padding:0 0 .2em;caption-side:top}"
    ".qtkm-learned figure{margin:.6em 0 0}</style>"
)


def learned(model: Any) -> str:
    """HTML about a fitted model: its columns, how the fit ended, and its learning curve.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
    """
    fit = _table("Fit", _facts(model)) + _curve(model.history_)
    return f'{STYLE}<div class="qtkm-learned"><div>{fit}</div>{_columns(model)}</div>'


def _facts(model: Any) -> list[tuple[str, str]]:
    rank = "" if model.rank_ is None else f", rank {_text(model.rank_)}"
    seconds = model.history_.get("seconds")
    time = f" in {seconds[-1]:.3g} s" if seconds else ""
    facts = [
        ("network", f"{type(model.network_).__name__}{rank}"),
        ("parameters", f"{model.n_parameters_:,}"),
        ("loss", f"{type(model.loss_).__name__}, alpha {model.alpha_:.3g}"),
        ("epochs", f"{model.n_iter_}{time}"),
        ("status", model.status_),
    ]
    classes = getattr(model, "classes_", None)
    if classes is not None:
        shown = ", ".join(_text(label) for label in classes[:5]) + ", …" * (len(classes) > 5)
        facts.insert(0, ("classes", f"{len(classes)}: {shown}"))
    return facts


def _columns(model: Any) -> str:
    shown = model.columns_[:MOST_COLUMNS]
    lines = [(_text(column["name"]), *_describe(column)) for column in shown]
    left_out = len(model.columns_) - len(shown)
    if left_out:
        lines.append((f"… {left_out} more, see columns_", "", ""))
    return _table("Columns", lines, ("column", "basis", "range"))


def _describe(column: dict[str, Any]) -> tuple[str, str]:
    """Basis and range of a column, in words."""
    basis, name = column["basis"], type(column["basis"]).__name__
    if column["categories"] is not None:
        return name, f"{len(column['categories'])} categories"
    period = f", period {basis.period:g}" if hasattr(basis, "period") else ""
    low, high = column["bounds"]
    return f"{name}, {basis.n_features} functions{period}", f"{low:.4g} to {high:.4g}"


def _table(caption: str, lines: Sequence[Sequence[str]], names: Sequence[str] = ()) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines
    )
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table><caption>{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    """A name of no more than LONGEST letters."""
    text = str(value)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


# -- the learning curve -----------------------------------------------------------------------


def _curve(history: dict[str, Any]) -> str:
    """Learning curve as a small drawing, empty for a model without a history."""
    kinds = [
        ("objective", "objective", OBJECTIVE),
        ("validation_score", "validation score", VALIDATION),
    ]
    lines, words = [], []
    for key, name, colour in kinds:
        values = np.asarray(history.get(key) or [], dtype=np.float64)
        finite = values[np.isfinite(values)]
        if len(finite):
            lines.append(_line(values, colour))
            ends = f"{finite[0]:.4g} to {finite[-1]:.4g}"
            words.append(f'<div style="color:{colour}">{name} {ends}</div>')
    if not lines:
        return ""
    return (
        f"<figure><figcaption>Learning curve</figcaption>"
        f'<svg role="img" aria-label="Learning curve" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}"><path d="M0.5 0V{HEIGHT - 0.5}H{WIDTH}" fill="none" '
        f'stroke="currentColor" stroke-opacity="0.4"/>{"".join(lines)}</svg>{"".join(words)}'
        "</figure>"
    )


def _line(values: Any, colour: str) -> str:
    """Numbers from left to right, each line between its own least and greatest."""
    where = np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).astype(int)
    where = where[np.isfinite(values[where])]
    low, high = np.nanmin(values[where]), np.nanmax(values[where])
    x = MARGIN + (WIDTH - 2 * MARGIN) * where / max(len(values) - 1, 1)
    y = MARGIN + (HEIGHT - 2 * MARGIN) * (high - values[where]) / ((high - low) or 1.0)
    if len(where) == 1:
        return f'<circle cx="{x[0]:.1f}" cy="{y[0]:.1f}" r="2.5" fill="{colour}"/>'
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
