"""Fitted models in words: numbers as people write them, and a summary, also for notebooks.

Names and categories come from the user's data and may hold anything, so all text is made visible
and, in HTML, escaped.
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
#: characters of a name of a class
LONGEST = 40


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


def _describe_column(column: dict[str, Any], prior: tuple[float, float] | None) -> str:
    """Describe values, basis and prior of a column."""
    basis = column["basis"]
    if column["categories"] is not None:
        count = len(column["categories"])
        return f"{count} categories" if count != 1 else "1 category"
    low, high = column["bounds"]
    if low == high:
        return f"{readable(low)} in every row, so it has no effect"
    inner = basis.inner if basis.has_gaps else basis
    text = f"{readable(low)} to {readable(high)}{' or missing' * basis.has_gaps}, "
    text += f"{inner.n_features} {type(inner).__name__} function{'s' * (inner.n_features != 1)}"
    if hasattr(inner, "period"):
        text += f", period {inner.period:g}"
    if prior is not None:
        text += f"; length scale {prior[0]:.2g}, share {prior[1]:.2g}"
    return text


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
        best = int(np.argmax(scores))
        facts["validation"] = f"best score {readable(scores[best])} after epoch {best + 1}"
    if hasattr(model, "effective_parameters_"):
        text = f"{readable(model.effective_parameters_, 3)} effective parameters"
        if hasattr(model, "noise_"):
            text += f", noise {_list_few([readable(s, 3) for s in np.atleast_1d(model.noise_)], 4)}"
        known = model._uncertainty
        if len(known.scores):
            text += f", calibrated on {len(known.scores):,} rows"
        if known.posterior.n_held:
            text += f"; {known.posterior.n_held:,} weights held fixed"
        facts["posterior"] = text
    return facts


def _list_few(values: Sequence[Any], most: int) -> str:
    return ", ".join(shorten(v, LONGEST) for v in values[:most]) + ", …" * (len(values) > most)


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
    names = [shorten(column["name"], 20) for column in shown]
    width = max(map(len, names))
    lines = [
        f"  {name:<{width}}  {_describe_column(column, prior)}"
        for name, column, prior in zip(names, shown, learned_priors(model), strict=False)
    ]
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
    """An estimator that shows in a notebook what it has learned, below scikit-learn's diagram."""

    def _html_repr(self) -> str:  # from scikit-learn 1.7 on
        text = self._learned()
        below = f'<pre class="qtkm-learned">{escape(text)}</pre>' if text else ""
        return super()._html_repr() + below  # type: ignore[misc]

    def _learned(self) -> str:
        """Return text on what was learned; empty before a fit."""
        raise NotImplementedError
