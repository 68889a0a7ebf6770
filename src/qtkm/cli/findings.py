"""Findings of ``qtkm inspect`` as text, JSON and plots."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_regressor

from .. import inspection
from ..data.sources.conversion import shorten as listed
from ..estimators.wording import name_network, name_score, readable, summarize
from ..extras import need
from ..inspection.plotting import new_figure, the, written
from ..inspection.response import Response, default_output, outputs_of, take_rows
from ..inspection.results import place
from .output import check_writable, show, write

#: number of largest weights; most columns, interactions and effects to list
COEFFICIENTS, MOST_LINES = 10, 10
#: steps of a curve of letters, lowest first
STEPS, MOST_STEPS = "▁▂▃▄▅▆▇█", 40
#: panels of a figure of many: the most important columns, the strongest interactions
MOST_PANELS, MOST_PAIRS = 12, 4
#: inches of a panel, of one of a few, and dots per inch
PANEL, WIDE, DOTS = (3.6, 2.8), (4.8, 3.8), 120
#: shown with scores and errors, because a model file does not contain its training rows
SEEN = "If the model was fitted to these rows, expect larger errors on new ones."
NEED_ROWS = (
    "Shares, interactions and effects of the columns need rows: add --data FILE, usually the table "
    "of the fit. Scores and residuals also need --target COLUMN."
)


class Findings:
    """Numbers that describe a model; those that do not apply are None.

    `remark` explains why numbers are missing; `rows` are at most `most_rows` rows of X, from which
    shares, interactions and effects are computed.
    """

    def __init__(self, model: Any, output: Any, X: Any, most_rows: int, has_weights: bool = False):
        self.model, self.output = model, choose_output(model, output)
        self.remark: str | None = None
        self.coefficients: Any = None
        self.importances: Any = None
        self.effects: list[Any] = []
        self.history: dict[str, Any] = {key: model.history_.get(key) or []
                        for key in ("objective", "validation_score", "seconds")}  # fmt: skip
        options = {"output": self.output}
        try:
            Response(model, self.output)
        except ValueError as error:  # a network that inspection does not serve
            self.remark, X, has_weights = str(error), None, False
        self.has_weights = has_weights
        if has_weights and model.rank_ != 0:  # main effects alone have no products of functions
            self.coefficients = inspection.largest_coefficients(model, COEFFICIENTS, **options)
        self.n_rows, self.rows = 0 if X is None else len(X), X
        self.n_used = min(self.n_rows, most_rows)
        if X is None:
            return
        if self.n_used < self.n_rows:
            drawn = np.random.RandomState(0).choice(self.n_rows, most_rows, replace=False)
            self.rows = take_rows(X, drawn)
        self.importances = inspection.importances(model, self.rows, **options)
        self.effects = inspection.main_effects(model, self.rows, **options)

    @property
    def by_importance(self) -> list[int]:
        """Indices of the columns, most important first if there are rows."""
        if self.importances is None:
            return list(range(len(self.model.columns_)))
        return self.importances.order.tolist()

    @property
    def varying(self) -> list[int]:
        """Indices in `by_importance` of columns with several functions and values."""
        columns = [(d, self.model.columns_[d]) for d in self.by_importance]
        return [d for d, c in columns if c["basis"].n_features > 1
                and (c["bounds"] is None or c["bounds"][0] < c["bounds"][1])]  # fmt: skip

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of varying columns, strongest interaction first."""
        shares, varying = self.importances, set(self.varying)
        return [] if shares is None else [p for p in shares.pairs if varying.issuperset(p)]


def choose_output(model: Any, text: str | None) -> Any:
    """Return the class or output named by `text`; by default the first, or the second of two."""
    known = outputs_of(model)
    if text is None:
        return default_output(model)
    if not known:
        raise ValueError(f"--output {text} given, but the model has one response; remove it")
    for number, value in enumerate(known):
        if text in (str(value), *[f"{number}"][: not hasattr(model, "classes_")]):
            return value
    shown = listed([*map(str, known)], 20, plain=True)
    raise ValueError(f"--output {text} is not an output of the model; use one of {shown}")


def to_json(found: Findings) -> dict[str, Any]:
    """Return findings by their names in JSON."""
    model, weights = found.model, found.coefficients
    facts: dict[str, Any] = {
        "estimator": type(model).__name__, "columns": [_column(c) for c in model.columns_],
        "classes": getattr(model, "classes_", None), "network": name_network(model.network_),
        "rank": model.rank_, "n_parameters": model.n_parameters_,
        "loss": type(model.loss_).__name__, "alpha": model.alpha_, "n_iter": model.n_iter_,
        "status": model.status_, "message": model.message_, "history": found.history,
        "output": found.output, "remark": found.remark,
        "coefficients": None, "importances": None, "interactions": None, "effects": None,
        "n_rows": found.n_rows, "n_rows_used": found.n_used,
    }  # fmt: skip
    if weights is not None:
        facts["coefficients"] = [
            {"functions": label, "real": value.real, "imaginary": value.imag,
             "certain": i < weights.n_certain}
            for i, (label, value) in enumerate(zip(weights.labels, weights.values, strict=True))
        ]  # fmt: skip
    if (shares := found.importances) is not None:
        kept = ("values", "effect", "mean", "missing")
        facts |= {
            "importances": shares.to_frame().to_dict("records"),
            "interactions": [
                {"columns": [shares.names[d], shares.names[e]],
                 "size": shares.interactions[d, e], "share": shares.second_order[d, e]}
                for d, e in found.pairs],
            "effects": [{"column": effect.name, **{key: getattr(effect, key) for key in kept}}
                        for effect in found.effects],
        }  # fmt: skip
    return facts


def _column(column: dict[str, Any]) -> dict[str, Any]:
    basis = column["basis"].inner if column["basis"].has_gaps else column["basis"]
    own = {"basis": type(basis).__name__, "n_functions": basis.n_features,
           "period": getattr(basis, "period", None)}  # fmt: skip
    return column | own


def print_findings(found: Findings) -> None:
    """Print findings as text."""
    write(summarize(found.model, is_whole=True))
    for name, label in (("objective", "objective"), ("validation_score", "validation")):
        if len(found.history[name]) > 1:
            write(f"{label:<12}{curve(found.history[name])}")
    write("")
    if found.remark:
        write(found.remark)
    if found.output is not None:
        others = [str(value) for value in outputs_of(found.model) if value != found.output]
        known = listed(others, 8, plain=True)
        write(f"What follows describes {found.output}; use --output for {known}.\n")
    if found.coefficients is not None:
        weights = found.coefficients
        title = "Large weights, possibly not the largest"
        if weights.is_exact:
            title = "Largest weights of the basis functions, by column and frequency, power or " \
                "category"  # fmt: skip
        elif weights.n_certain:
            title = f"Large weights; the first {weights.n_certain} are the largest"
        magnitudes = map(readable, np.abs(weights.values))
        lines: list[Any] = list(zip(weights.labels, magnitudes, strict=True))
        show(title, lines, ["basis functions", "magnitude"])
    if found.importances is None:
        return
    shares, part = found.importances, f"{found.n_used:,} of " * (found.n_used < found.n_rows)
    lines = [(shares.names[d], f"{shares.first_order[d]:.3f}", f"{shares.total[d]:.3f}")
             for d in found.by_importance[:MOST_LINES]]  # fmt: skip
    title = f"Shares in the variance of {the(shares.response)}, from {part}{found.n_rows:,} rows"
    show(title, lines, ["column", "alone", "with others"])
    if found.pairs:
        lines = [(f"{shares.names[d]} × {shares.names[e]}",
                  readable(shares.interactions[d, e]), f"{shares.second_order[d, e]:.3f}")
                 for d, e in found.pairs[:MOST_LINES]]  # fmt: skip
        title = "Strongest interactions: standard deviation, and share in the variance"
        show(title, lines, ["columns", "size", "share"])
    show(
        f"Main effects, above the mean {readable(found.effects[0].mean)}",
        [_ends(found.effects[d]) for d in found.varying[:MOST_LINES]],
        ["column", "least", "greatest", "missing"],
    )


def _ends(effect: Any) -> tuple[str, ...]:
    """Return where the effect of a column is least and greatest, among values near rows."""
    among = np.flatnonzero(effect.is_supported)
    among = among if len(among) else np.arange(len(effect.effect))
    order = among[np.argsort(effect.effect[among], kind="stable")]
    ends = [(effect.effect[i], effect.values[i]) for i in (order[0], order[-1])]
    told = [f"{readable(size, sign='+')} at {'missing' if at is None else place(at)}"
            for size, at in ends]  # fmt: skip
    gaps = "" if effect.missing is None else readable(effect.missing - effect.mean, sign="+")
    return effect.name, *told, gaps


def curve(values: Any) -> str:
    """Format numbers as the first, a sparkline, and the last."""
    values = np.asarray(values, dtype=float)
    picked = values[np.linspace(0, len(values) - 1, min(len(values), MOST_STEPS)).astype(int)]
    low, high = np.nanmin(values), np.nanmax(values)
    part = (picked - low) / (high - low) if high > low else np.zeros(len(picked))
    steps = "".join(STEPS[int(p * (len(STEPS) - 1) + 0.5)] for p in np.nan_to_num(part))
    return f"{readable(values[0])} {steps} {readable(values[-1])}"


def check_plots(path: Path) -> None:
    """Raise an error if a plot cannot be drawn or written, before anything takes long."""
    need("matplotlib.figure", "plots are drawn", "plot")
    check_writable(path, makes_folder=True)


def figures(found: Findings, X: Any, y: Any) -> Iterator[tuple[str, Any]]:
    """Yield names and figures, most useful first; only one is held in memory at a time."""
    options = {"output": found.output}
    if found.history["objective"]:
        score = name_score(found.model)
        lines = found.history["objective"], found.history["validation_score"]
        yield "learning-curve", draw([inspection.HistoryDisplay(*lines, score)])
    if found.importances is not None:
        yield "importances", draw([inspection.ImportancesDisplay(found.importances)])
        effects = [found.effects[d] for d in found.varying[:MOST_PANELS]]
        displays = [inspection.MainEffectDisplay(e) for e in effects]
        if displays:
            figure = draw(displays)
            inspection.share_axis(displays)
            yield "main-effects", figure
    if found.pairs:
        pairs = [inspection.interaction(found.model, found.rows, pair, **options)
                 for pair in found.pairs[:MOST_PAIRS]]  # fmt: skip
        yield "interactions", draw([inspection.InteractionDisplay(pair) for pair in pairs])
    if y is not None:
        yield _errors(found.model, X, y)
    if found.coefficients is not None:
        yield "largest-weights", draw([inspection.CoefficientsDisplay(found.coefficients)])
    if not found.has_weights:
        return
    bases = [column["basis"] for column in found.model.columns_]
    fourier = [d for d in found.varying if bases[d].is_complex][:MOST_PANELS]
    spectra = [inspection.spectrum(found.model, d, **options) for d in fourier]
    if spectra:
        yield "spectra", draw([inspection.SpectrumDisplay(s) for s in spectra])
    try:
        terms = inspection.rank_one_terms(found.model, **options)
    except ValueError:  # not a CPD
        return
    if len(terms.sizes):
        yield "rank-one-terms", draw([inspection.RankOneTermsDisplay(terms)])


def _errors(model: Any, X: Any, y: Any) -> tuple[str, Any]:
    """Return name and figure: residuals of a regressor, or a classifier's confusion matrix."""
    if is_regressor(model):
        observed, predicted = y.to_numpy(dtype=float), model.predict(X)
        name, figure = "residuals", draw([
            inspection.ResidualsDisplay(observed, predicted, kind=kind)
            for kind in ("observed", "residuals")
        ])  # fmt: skip
    else:
        from sklearn.metrics import ConfusionMatrixDisplay

        name, figure = "confusion", new_figure(5.6, 4.8)
        axes = figure.subplots()
        ConfusionMatrixDisplay.from_predictions(
            y.to_numpy(), model.predict(X), labels=model.classes_,
            display_labels=[written(label) for label in model.classes_], normalize="true",
            cmap="Blues", values_format=".2f", im_kw={"vmin": 0, "vmax": 1}, ax=axes,
            xticks_rotation=45 if len(model.classes_) > 4 else "horizontal",
        )  # fmt: skip
        axes.set_title("Predicted classes, as shares of each true class")
    figure.supxlabel(SEEN, fontsize="small")
    return name, figure


def draw(displays: Sequence[Any]) -> Any:
    """Arrange displays of one kind in a grid, with notes and labels they share written once."""
    import matplotlib

    count, is_few = len(displays), len(displays) <= MOST_PAIRS
    size, across = (WIDE, 2) if is_few else (PANEL, 3)
    size, across = (displays[0].figure_size, 1) if count == 1 else (size, across)
    down = -(-count // across)
    with matplotlib.rc_context({} if is_few else {"font.size": 8.5}):
        figure = new_figure(size[0] * across, size[1] * down)
        axes = figure.subplots(down, across, squeeze=False).ravel().tolist()
        for ax in axes[count:]:
            ax.remove()
        for display, ax in zip(displays, axes, strict=False):
            display.writes_notes = count == 1
            display.plot(ax)
        notes = list(dict.fromkeys(note for display in displays for note in display.notes))
        if count > 1 and notes:
            figure.supxlabel("; ".join(notes), fontsize="medium")
        labels = {ax.get_ylabel() for ax in axes[:count]}
        if count > 1 and len(labels) == 1:
            figure.supylabel(f"each panel: {labels.pop()}", fontsize="medium")
            for ax in axes[:count]:
                ax.set_ylabel("")
    return figure
