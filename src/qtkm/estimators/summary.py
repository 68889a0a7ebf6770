"""What a fit has learned, in a text of one screen."""

import textwrap
from typing import Any

from sklearn.utils.validation import check_is_fitted

from ..escaping import visible
from .html import Shown, learned
from .wording import readable

#: characters of a line, and columns and lines of the network that are told one by one
WIDTH, MOST_COLUMNS, MOST_LINES = 88, 8, 8


class Summarized(Shown):
    """An estimator that describes what it has learned, in notebooks below its diagram."""

    def summary(self) -> str:
        """Describe what was learned in a text of one screen.

        The columns, the network with its parameters, the penalty, and how the fit ended.
        `qtkm.inspection` tells which columns matter; that needs rows.

        Returns
        -------
        str
        """
        check_is_fitted(self)
        return summarize(self)

    def _learned_html(self) -> str:
        return learned(self) if hasattr(self, "history_") else ""


def summarize(model: Any, is_whole: bool = False) -> str:
    """Text about a fitted model: columns, network, penalty, and how the fit ended.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
    is_whole : bool
        All columns and the whole network, however many lines that takes.
    """
    lines = [f"{type(model).__name__}: {_outputs(model)}", ""]
    lines += [*_columns(model, is_whole), "", *_network(model, is_whole), "", *_fit(model)]
    return "\n".join(lines)


def _outputs(model: Any) -> str:
    count = len(model.columns_)
    text = f"{count} column{'s' * (count > 1)}"
    classes = getattr(model, "classes_", None)
    if classes is not None:
        named = ", ".join(visible(str(label)) for label in classes[:5]) + ", …" * (len(classes) > 5)
        return f"{text}, {len(classes)} classes ({named})"
    n_outputs = model._reading.n_outputs
    return f"{text}, {n_outputs} output{'s' * (n_outputs > 1)}"


def _columns(model: Any, is_whole: bool) -> list[str]:
    shown = model.columns_ if is_whole else model.columns_[:MOST_COLUMNS]
    said = [_column(c) for c in shown]
    if model.penalties_ is not None:
        pairs = zip(said, shown, model.penalties_, strict=False)
        said = [
            text if column["categories"] is not None else f"{text}{_prior(penalty)}"
            for text, column, penalty in pairs
        ]
    names = [_cut(visible(str(column["name"]))) for column in shown]
    width = max(map(len, names))
    lines = [f"  {name:<{width}}  {text}" for name, text in zip(names, said, strict=True)]
    left_out = len(model.columns_) - len(shown)
    return [*lines, f"  … {left_out} more, see columns_"] if left_out else lines


def _cut(name: str, most: int = 20) -> str:
    """Return a name, or as much of it as there is room for."""
    return name if len(name) <= most else name[: most - 1] + "…"


def _column(column: dict[str, Any]) -> str:
    if column["categories"] is not None:
        return f"{len(column['categories'])} categories"
    low, high = column["bounds"]
    basis = column["basis"]
    if low == high:
        return f"{readable(low)} in every row, so it tells nothing"
    inner = basis.inner if basis.has_gaps else basis
    functions = f"{inner.n_features} {type(inner).__name__} functions"
    text = f"{readable(low)} to {readable(high)}{' or missing' * basis.has_gaps}, {functions}"
    if hasattr(basis, "period"):
        text += f", period {basis.period:g}"
    return text


def _prior(penalty: Any) -> str:
    """Format a penalty's parameters, which are numbers once a fit has learned them."""
    if not hasattr(penalty, "length_scale"):
        return ""
    return f"; length scale {penalty.length_scale:g}, share {penalty.share:g}"


def _network(model: Any, is_whole: bool) -> list[str]:
    radices = [column["basis"].radices for column in model.columns_]
    n_outputs = model._reading.n_outputs
    text = model.network_.describe(radices, n_outputs).splitlines()
    if is_whole:
        return text
    lines = [textwrap.shorten(line, WIDTH, placeholder=" …") if len(line) > WIDTH else line
             for line in text[: MOST_LINES + 1 + (len(text) == MOST_LINES + 2)]]  # fmt: skip
    left_out = len(text) - len(lines)
    return [*lines, f"… {left_out} more lines, see network_.describe"] if left_out else lines


def _errors(model: Any) -> list[tuple[str, str]]:
    """Say what is known of the errors: noise and effective parameters."""
    if not hasattr(model, "effective_parameters_"):
        return []
    text = f"{readable(model.effective_parameters_, 3)} effective parameters"
    if hasattr(model, "noise_"):
        noise = model.noise_ if isinstance(model.noise_, float) else model.noise_.tolist()
        each = noise if isinstance(noise, list) else [noise]
        shown = ", ".join(readable(sigma, 3) for sigma in each[:4]) + ", …" * (len(each) > 4)
        text += f", noise {shown}"
    known = model._uncertainty
    if len(known.scores):
        text += f", calibrated on {len(known.scores):,} rows"
    if known.posterior.n_held:
        text += f"; {known.posterior.n_held:,} weights held fixed"
    return [("posterior", text)]


def _fit(model: Any) -> list[str]:
    # a model that was loaded may come without a history
    history, loss = model.history_, model.loss_.describe()
    epochs = f"{model.n_iter_} epoch{'s' * (model.n_iter_ != 1)}"
    facts = [("loss", f"{loss}, alpha {readable(model.alpha_, 3)}")]
    if history.get("seconds"):
        epochs += f" in {readable(history['seconds'][-1], 3)} s"
    facts.append(("fit", f"{epochs}, {visible(model.status_)}"))
    if history.get("objective"):
        first, last = (readable(history["objective"][i]) for i in (0, -1))
        facts.append(("objective", f"{first} after the first epoch, {last} at the end"))
    if history.get("validation_score"):
        scores = history["validation_score"]
        best = max(range(len(scores)), key=scores.__getitem__)
        facts.append(("validation", f"best score {readable(scores[best])} after epoch {best + 1}"))
    facts += _errors(model)
    lines = [f"{name:<12}{text}" for name, text in facts]
    return lines + textwrap.wrap(visible(model.message_), WIDTH)
