"""Fitted models in words: numbers as people write them, a summary, and HTML for notebooks.

Names and categories come from the user's data and may hold anything, so all text is made visible
and, in HTML, escaped.  The HTML takes the page's own colours, so that it is legible on dark ones.
"""

import math
import textwrap
from collections.abc import Sequence
from html import escape
from numbers import Real
from typing import Any

import numpy as np

from ..escaping import shorten, visible

#: magnitudes between which a number is written out
SMALLEST, LARGEST = 1e-4, 1e10
#: where thousands begin to be separated: 2013 is usually a year, 20,130 never
PARTED = 10_000
#: summary: characters of a line, columns, and lines of the network
WIDTH, MOST_COLUMNS, MOST_LINES = 88, 8, 8
#: HTML: columns, characters of a name, and points of a curve
HTML_COLUMNS, LONGEST, MOST_POINTS = 12, 40, 200
#: pixels of the curve's frame, of the space inside it, and of those beside and below it
FRAME, HEIGHT, MARGIN, SIDE, BELOW = 240, 90, 6, 58, 16
#: colours of objective and validation score, both legible on white and on black
OBJECTIVE, VALIDATION = "#3b7dc4", "#e08a3c"
#: the page's own colour for lines or letters, fainter
GREY = '{0}="currentColor" {0}-opacity="0.6"'

# The first rule removes the scroll bar that scikit-learn's diagram has even where there is
# nothing to scroll.  A class named twice wins against the rules that notebooks have for tables.
STYLE = (
    "<style>.sk-top-container.sk-global:has(~.qtkm-learned){overflow-x:auto!important}"
    ".qtkm-learned{display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start;"
    "margin:.5em 0;font-size:.9em}"
    ".qtkm-learned table{border-collapse:collapse;margin:0;font-size:inherit}"
    ".qtkm-learned.qtkm-learned table :is(td,th,thead,tr){border:0}"
    ".qtkm-learned.qtkm-learned table :is(td,th){text-align:left;padding:.1em .8em .1em 0}"
    ".qtkm-learned.qtkm-learned table tbody tr{background:none}"
    ".qtkm-learned caption,.qtkm-learned figcaption{text-align:left;font-weight:bold;"
    "padding:0 0 .2em;caption-side:top}"
    ".qtkm-learned svg{display:block;font-size:11px}"
    ".qtkm-learned figure{margin:.6em 0 0}</style>"
)


def readable(number: Any, digits: int = 4, sign: str = "-") -> str:
    """Write a number with at most `digits` significant digits: 1,235,000 or 0.5 or 1.234e-5.

    Thousands are separated in large ones; `sign` "+" also writes the sign of positive numbers.
    """
    if not isinstance(number, Real):
        return readable(number.real, digits, sign) + readable(number.imag, digits, "+") + "j"
    number = float(number)
    if not math.isfinite(number):
        return f"{number:{sign}}"
    mantissa, power = f"{number:{sign}.{digits - 1}e}".split("e")
    # adding zero removes the sign of a negative zero
    exponent, rounded = int(power), float(f"{mantissa}e{power}") + 0.0
    if rounded and not SMALLEST <= abs(rounded) < LARGEST:
        return f"{_bare(mantissa)}e{exponent}"
    comma = "," if abs(rounded) >= PARTED else ""
    return _bare(f"{rounded:{sign}{comma}.{max(0, digits - 1 - exponent)}f}")


def _bare(text: str) -> str:
    """Remove the zeros at the end of a decimal fraction."""
    return text.rstrip("0").rstrip(".") if "." in text else text


def name_score(model: Any) -> str:
    """Return the name of a fitted model's validation score."""
    loss = type(model.loss_).__name__
    is_plain = loss == "Squared" and not hasattr(model, "classes_")
    return "R²" if is_plain else f"minus the mean loss ({loss})"


def name_network(network: Any) -> str:
    """Name a network in words, with the main effects beside it."""
    if not network.has_main_effects:
        return type(network).__name__
    inner = network.network
    return "main effects" + (" alone" if inner is None else f" and {type(inner).__name__}")


def _column(column: dict[str, Any]) -> tuple[str, str]:
    """Basis and range of a column."""
    basis = column["basis"]
    if column["categories"] is not None:
        count = len(column["categories"])
        return type(basis).__name__, f"{count} categories" if count != 1 else "1 category"
    low, high = column["bounds"]
    if low == high:
        return "constant", readable(low)
    inner = basis.inner if basis.has_gaps else basis
    functions = f"{inner.n_features} {type(inner).__name__} function{'s' * (inner.n_features != 1)}"
    period = f", period {inner.period:g}" if hasattr(inner, "period") else ""
    missing = " or missing" * basis.has_gaps
    return f"{functions}{period}", f"{readable(low)} to {readable(high)}{missing}"


def _facts(model: Any) -> dict[str, str]:
    """Loss, epochs, validation score and errors; a loaded model may have no history."""
    history = model.history_
    epochs = f"{model.n_iter_} epoch{'s' * (model.n_iter_ != 1)}"
    if history.get("seconds"):
        epochs += f" in {readable(history['seconds'][-1], 3)} s"
    facts = {
        "loss": f"{model.loss_.describe()}, alpha {readable(model.alpha_, 3)}",
        "fit": epochs,
        "status": visible(model.status_),
    }
    if history.get("objective"):
        first, last = (readable(history["objective"][i]) for i in (0, -1))
        facts["objective"] = f"{first} after the first epoch, {last} at the end"
    if scores := history.get("validation_score"):
        best = max(range(len(scores)), key=scores.__getitem__)
        facts["validation"] = f"best score {readable(scores[best])} after epoch {best + 1}"
    if hasattr(model, "effective_parameters_"):
        facts["posterior"] = _errors(model)
    return facts


def _list_few(values: Sequence[Any], most: int) -> str:
    return ", ".join(shorten(v, LONGEST) for v in values[:most]) + ", …" * (len(values) > most)


def _errors(model: Any) -> str:
    text = f"{readable(model.effective_parameters_, 3)} effective parameters"
    if hasattr(model, "noise_"):
        text += f", noise {_list_few([readable(s, 3) for s in np.atleast_1d(model.noise_)], 4)}"
    known = model._uncertainty
    if len(known.scores):
        text += f", calibrated on {len(known.scores):,} rows"
    if known.posterior.n_held:
        text += f"; {known.posterior.n_held:,} weights held fixed"
    return text


def summarize(model: Any, is_whole: bool = False) -> str:
    """Describe a fitted model; `is_whole` lists all columns and the whole network."""
    count, n_outputs = len(model.columns_), model._reading.n_outputs
    text = f"{count} column{'s' * (count > 1)}, "
    if hasattr(model, "classes_"):
        text += f"{len(model.classes_)} classes ({_list_few(model.classes_, 5)})"
    else:
        text += f"{n_outputs} output{'s' * (n_outputs > 1)}"
    facts = [f"{name:<12}{fact}" for name, fact in _facts(model).items()]
    return "\n".join([
        f"{type(model).__name__}: {text}", "", *_column_lines(model, is_whole), "",
        *_network_lines(model, is_whole), "", *facts,
        *textwrap.wrap(visible(model.message_), WIDTH),
    ])  # fmt: skip


def _column_lines(model: Any, is_whole: bool) -> list[str]:
    shown = model.columns_ if is_whole else model.columns_[:MOST_COLUMNS]
    priors = learned_priors(model)
    names, lines = [shorten(column["name"], 20) for column in shown], []
    for name, column, prior in zip(names, shown, priors, strict=False):
        basis, text = _column(column)
        if basis == "constant":
            text += " in every row, so it has no effect"
        elif column["categories"] is None:
            text += f", {basis}"
            if prior is not None:
                text += f"; length scale {prior[0]:.2g}, share {prior[1]:.2g}"
        lines.append(f"  {name:<{max(map(len, names))}}  {text}")
    left_out = len(model.columns_) - len(shown)
    return [*lines, f"  … {left_out} more, see columns_"] if left_out else lines


def learned_priors(model: Any) -> list[Any]:
    """Return length scale and share of each column, of the full-rank model if it has one."""
    known, path = model.history_.get("prior"), model.history_.get("path")
    if known and path and path[-1].get("share"):
        return [(own["length_scale"], own["share"]) for own in known[1:]]
    return [
        (own.length_scale, own.share) if hasattr(own, "length_scale") else None
        for own in model.penalties_ or [None] * len(model.columns_)
    ]


def _network_lines(model: Any, is_whole: bool) -> list[str]:
    radices = [column["basis"].radices for column in model.columns_]
    text = model.network_.describe(radices, model._reading.n_outputs).splitlines()
    if is_whole:
        return text
    lines = [textwrap.shorten(line, WIDTH, placeholder=" …") if len(line) > WIDTH else line
             for line in text[: MOST_LINES + 1 + (len(text) == MOST_LINES + 2)]]  # fmt: skip
    left_out = len(text) - len(lines)
    return [*lines, f"… {left_out} more lines, see network_.describe"] if left_out else lines


class Shown:
    """An estimator that shows more than scikit-learn's diagram in a notebook, below it."""

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._learned_html()
        return bundle

    @property
    def _repr_html_(self) -> Any:
        # raises an AttributeError where no diagram is wanted
        diagram = super()._repr_html_  # type: ignore[misc]
        return lambda: diagram() + self._learned_html()

    def _learned_html(self) -> str:
        raise NotImplementedError


def learned(model: Any) -> str:
    """Return HTML on a fitted model: its columns, how the fit ended, and its learning curve."""
    rank = "" if model.rank_ in (None, 0) else f", rank {shorten(model.rank_, LONGEST)}"
    facts = {
        "network": f"{name_network(model.network_)}{rank}",
        "parameters": f"{model.n_parameters_:,}",
    } | _facts(model)
    facts.pop("objective", None)  # the curve shows it
    if hasattr(model, "classes_"):
        facts = {"classes": f"{len(model.classes_)}: {_list_few(model.classes_, 5)}"} | facts
    shown = model.columns_[:HTML_COLUMNS]
    lines = [(shorten(each["name"], LONGEST), *_column(each)) for each in shown]
    if left_out := len(model.columns_) - len(lines):
        lines.append((f"… {left_out} more, see columns_", "", ""))
    fit = _table("Fit", list(facts.items())) + _curve(model.history_, name_score(model))
    columns = _table("Columns", lines, ("column", "basis", "range"))
    return f'{STYLE}<div class="qtkm-learned"><div>{fit}</div>{columns}</div>'


def found(facts: Sequence[tuple[str, Any]]) -> str:
    """Return HTML on a fitted search, one line per fact."""
    lines = [(name, shorten(str(value), LONGEST)) for name, value in facts]
    return f'{STYLE}<div class="qtkm-learned">{_table("Search", lines)}</div>'


def _table(caption: str, lines: Sequence[Sequence[str]], names: Sequence[str] = ()) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    rows = ("".join(f"<td>{escape(cell)}</td>" for cell in line) for line in lines)
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    return f"<table><caption>{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>"


def _curve(history: dict[str, Any], score: str | None = None) -> str:
    """Draw the learning curve as SVG; empty without a history."""
    validation = f"validation score ({score})" if score else "validation score"
    drawn, words, n_epochs = "", "", 0
    for key, name, colour, anchor, x in (
        ("objective", "objective", OBJECTIVE, "end", -5),
        ("validation_score", validation, VALIDATION, "start", FRAME + 5),
    ):
        values = np.asarray(history.get(key) or [], dtype=np.float64)
        finite = values[np.isfinite(values)]
        if len(finite) == 0:
            continue
        n_epochs = max(n_epochs, len(values))
        drawn += _line(values, colour)
        ends = {finite.min(): HEIGHT - MARGIN + 4} | {finite.max(): MARGIN + 4}
        for end, y in sorted(ends.items(), reverse=True):
            drawn += _label(x, y, anchor, f'fill="{colour}"', readable(end, 3))
        text = f"{readable(finite[0])} at first, {readable(finite[-1])} at the end"
        words += f'<div style="color:{colour}">{escape(name)}: {text}</div>'
    if not drawn:
        return ""
    places = {MARGIN: "1", FRAME / 2: "epoch"}
    if n_epochs > 1:
        places[FRAME - MARGIN] = f"{n_epochs}"
    for place, text in places.items():
        drawn += _label(place, HEIGHT + 13, "middle", GREY.format("fill"), text)
    frame = f'<path d="M0.5 0V{HEIGHT - 0.5}H{FRAME}" fill="none" {GREY.format("stroke")}/>'
    width, height = FRAME + 2 * SIDE, HEIGHT + BELOW
    return (
        "<figure><figcaption>Learning curve</figcaption>"
        f'<svg role="img" aria-label="Learning curve of {n_epochs} epochs" width="{width}" '
        f'height="{height}" viewBox="{-SIDE} 0 {width} {height}">{frame}{drawn}</svg>{words}'
        "</figure>"
    )


def _label(x: float, y: float, anchor: str, style: str, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" {style}>{text}</text>'


def _line(values: Any, colour: str) -> str:
    """Draw numbers from left to right, between the least and the greatest of them."""
    where = np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).astype(int)
    where = where[np.isfinite(values[where])]
    low, high = np.min(values[where]), np.max(values[where])
    x = MARGIN + (FRAME - 2 * MARGIN) * where / max(len(values) - 1, 1)
    y = MARGIN + (HEIGHT - 2 * MARGIN) * (high - values[where]) / ((high - low) or 1.0)
    if len(x) == 1:
        return f'<circle cx="{x[0]:.1f}" cy="{y[0]:.1f}" r="2.5" fill="{colour}"/>'
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
