"""What a fit has learned, as HTML to stand below scikit-learn's diagram in a notebook.

Names and categories come from the user's data and may hold anything, so all text is escaped.
Colours are those of the page, so that it can be read on a dark one, too.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from ..escaping import visible
from .wording import readable

#: columns that are told one by one, letters of a name, and points of a curve
MOST_COLUMNS, LONGEST, MOST_POINTS = 12, 40, 200
#: pixels of the frame of the curve, of the space inside it, and of those beside and below it
WIDTH, HEIGHT, MARGIN, SIDE, BELOW = 240, 90, 6, 58, 16
#: colours of objective and validation score, both legible on white and on black
OBJECTIVE, VALIDATION = "#3b7dc4", "#e08a3c"
#: the page's own colour for lines or letters, fainter
GREY = '{0}="currentColor" {0}-opacity="0.6"'

# The first rule takes away the scroll bar that scikit-learn's diagram has even where there is
# nothing to scroll.  A class named twice wins against the rules that notebooks have for tables.
STYLE = (
    "<style>.sk-top-container.sk-global:has(~.qtkm-learned){overflow-x:auto!important}"
    ".qtkm-learned{display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start;"
    "margin:.5em 0;font-size:.9em}"
    ".qtkm-learned table{border-collapse:collapse;margin:0;font-size:inherit}"
    ".qtkm-learned.qtkm-learned table td,.qtkm-learned.qtkm-learned table th{text-align:left;"
    "padding:.1em .8em .1em 0;border:0}"
    ".qtkm-learned.qtkm-learned table thead,.qtkm-learned.qtkm-learned table tr{border:0}"
    ".qtkm-learned.qtkm-learned table tbody tr{background:none}"
    ".qtkm-learned caption,.qtkm-learned figcaption{text-align:left;font-weight:bold;"
    "padding:0 0 .2em;caption-side:top}"
    ".qtkm-learned svg{display:block;font-size:11px}"
    ".qtkm-learned figure{margin:.6em 0 0}</style>"
)


class Shown:
    """An estimator that shows more than scikit-learn's diagram in a notebook, below it."""

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        # what notebooks ask an object for
        bundle = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] += self._learned_html()
        return bundle

    @property
    def _repr_html_(self) -> Any:
        # what else shows HTML asks for this; it is missing where no diagram is wanted
        diagram = super()._repr_html_  # type: ignore[misc]
        return lambda: diagram() + self._learned_html()

    def _learned_html(self) -> str:
        raise NotImplementedError


def learned(model: Any) -> str:
    """HTML about a fitted model: its columns, how the fit ended, and its learning curve.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
    """
    fit = _table("Fit", _facts(model)) + _curve(model.history_, name_score(model))
    return f'{STYLE}<div class="qtkm-learned"><div>{fit}</div>{_columns(model)}</div>'


def found(facts: Sequence[tuple[str, Any]]) -> str:
    """HTML about a fitted search.

    Parameters
    ----------
    facts : sequence of (str, object)
        What there is to tell, line by line.
    """
    lines = [(name, _text(value)) for name, value in facts]
    return f'{STYLE}<div class="qtkm-learned">{_table("Search", lines)}</div>'


def name_score(model: Any) -> str:
    """Return the name of a fitted model's validation score.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
    """
    loss = type(model.loss_).__name__
    if loss == "Squared" and not hasattr(model, "classes_"):
        return "R²"
    return f"minus the mean loss ({loss})"


def name_network(network: Any) -> str:
    """Name a network in words, with the main effects beside it."""
    if not network.has_main_effects:
        return type(network).__name__
    inner = network.network
    return "main effects" + (" alone" if inner is None else f" and {type(inner).__name__}")


def _facts(model: Any) -> list[tuple[str, str]]:
    rank = "" if model.rank_ in (None, 0) else f", rank {_text(model.rank_)}"
    seconds = model.history_.get("seconds")
    time = f" in {readable(seconds[-1], 3)} s" if seconds else ""
    facts = [
        ("network", f"{name_network(model.network_)}{rank}"),
        ("parameters", f"{model.n_parameters_:,}"),
        ("loss", f"{model.loss_.describe()}, alpha {readable(model.alpha_, 3)}"),
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
    gaps = " or missing" * column["basis"].has_gaps
    basis = column["basis"].inner if gaps else column["basis"]
    name = type(basis).__name__
    if column["categories"] is not None:
        count = len(column["categories"])
        return name, f"{count} categories" if count != 1 else "1 category"
    low, high = column["bounds"]
    if low == high:
        return "constant", readable(low)
    period = f", period {basis.period:g}" if hasattr(basis, "period") else ""
    functions = f"{basis.n_features} function{'s' * (basis.n_features != 1)}"
    return f"{name}, {functions}{period}", f"{readable(low)} to {readable(high)}{gaps}"


def _table(caption: str, lines: Sequence[Sequence[str]], names: Sequence[str] = ()) -> str:
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in line) + "</tr>" for line in lines
    )
    head = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table><caption>{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>"


def _text(value: Any) -> str:
    """Shorten a name to LONGEST characters."""
    text = visible(str(value))
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


# -- the learning curve -----------------------------------------------------------------------


def _curve(history: dict[str, Any], score: str | None = None) -> str:
    """Learning curve as a small drawing, empty for a model without a history."""
    validation = f"validation score ({score})" if score else "validation score"
    kinds = [
        ("objective", "objective", OBJECTIVE, 0),
        ("validation_score", validation, VALIDATION, WIDTH),
    ]
    drawn, words, n_epochs = [], [], 0
    for key, name, colour, side in kinds:
        values = np.asarray(history.get(key) or [], dtype=np.float64)
        finite = values[np.isfinite(values)]
        if len(finite):
            n_epochs = max(n_epochs, len(values))
            drawn += [_line(values, colour), *_ends(finite, colour, side)]
            ends = f"{readable(finite[0])} at first, {readable(finite[-1])} at the end"
            words.append(f'<div style="color:{colour}">{escape(name)}: {ends}</div>')
    if not drawn:
        return ""
    frame = f'<path d="M0.5 0V{HEIGHT - 0.5}H{WIDTH}" fill="none" {GREY.format("stroke")}/>'
    size = (WIDTH + 2 * SIDE, HEIGHT + BELOW)
    return (
        "<figure><figcaption>Learning curve</figcaption>"
        f'<svg role="img" aria-label="Learning curve of {n_epochs} epochs" width="{size[0]}" '
        f'height="{size[1]}" viewBox="{-SIDE} 0 {size[0]} {size[1]}">{frame}'
        f"{''.join([*drawn, *_epochs(n_epochs)])}</svg>{''.join(words)}</figure>"
    )


def _place(values: Any, where: Any) -> tuple[Any, Any]:
    """Pixels of some of the numbers, between the least and the greatest of them."""
    low, high = np.min(values[where]), np.max(values[where])
    x = MARGIN + (WIDTH - 2 * MARGIN) * where / max(len(values) - 1, 1)
    y = MARGIN + (HEIGHT - 2 * MARGIN) * (high - values[where]) / ((high - low) or 1.0)
    return x, y


def _line(values: Any, colour: str) -> str:
    """Numbers from left to right, each line between its own least and greatest."""
    where = np.linspace(0, len(values) - 1, min(len(values), MOST_POINTS)).astype(int)
    x, y = _place(values, where[np.isfinite(values[where])])
    if len(x) == 1:
        return f'<circle cx="{x[0]:.1f}" cy="{y[0]:.1f}" r="2.5" fill="{colour}"/>'
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'


def _ends(finite: Any, colour: str, side: int) -> list[str]:
    """Greatest and least number of a line, beside the frame and in its colour."""
    anchor, x = ("start", side + 5) if side else ("end", -5)
    ends = {MARGIN + 4: finite.max(), HEIGHT - MARGIN + 4: finite.min()}
    if finite.min() == finite.max():
        del ends[HEIGHT - MARGIN + 4]
    return [
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="{colour}">{readable(end, 3)}</text>'
        for y, end in ends.items()
    ]


def _epochs(n_epochs: int) -> list[str]:
    """First and last epoch, below the frame."""
    texts = {MARGIN: "1", WIDTH / 2: "epoch", WIDTH - MARGIN: f"{n_epochs}"}
    if n_epochs == 1:
        del texts[WIDTH - MARGIN]
    return [
        f'<text x="{x}" y="{HEIGHT + 13}" text-anchor="middle" {GREY.format("fill")}>{text}</text>'
        for x, text in texts.items()
    ]
