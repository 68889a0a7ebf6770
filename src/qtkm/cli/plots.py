"""The plots of ``qtkm inspect``: one PNG file for each display that applies."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sklearn.base import is_regressor

from .. import inspection
from ..estimators.wording import name_score
from ..inspection.displays import share_axis
from ..inspection.plotting import written
from .findings import SEEN, Findings
from .formats import check_writable

#: panels of a figure of many: the most important columns, the strongest interactions
MOST_PANELS, MOST_PAIRS = 12, 4
#: inches of a panel, of one of a few, and dots an inch
PANEL, WIDE, DOTS = (3.6, 2.8), (4.8, 3.8), 120
INSTALL = 'pip install "qtkm[plot]"'


def check_plots(folder: Path) -> None:
    """Refuse plots that cannot be drawn or written, before anything takes long.

    Raises
    ------
    ModuleNotFoundError
        Without matplotlib.
    OSError
        If there can be no file in the folder.
    """
    try:
        import matplotlib.figure  # noqa: F401
    except ModuleNotFoundError:
        raise ModuleNotFoundError(f"plots are drawn with matplotlib; try: {INSTALL}") from None
    check_writable(folder / "plot.png", makes_folder=True)


def draw_all(found: Findings, folder: Path, X: Any, y: Any) -> list[Path]:
    """Draw all displays that apply.

    Parameters
    ----------
    found : Findings
    folder : pathlib.Path
        Made if it is missing.
    X, y : frame and series, or None
        Rows and their targets.

    Returns
    -------
    list of pathlib.Path
        The files, in the order in which they are best looked at.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, figure in _figures(found, X, y):
        path = folder / f"{name}.png"
        figure.savefig(path, dpi=DOTS)
        files.append(path)
    return files


def _figures(found: Findings, X: Any, y: Any) -> Iterator[tuple[str, Any]]:
    """Names and figures, one after the other: only one is held at a time."""
    if found.history["objective"]:
        score = name_score(found.model)
        yield "learning-curve", _alone(inspection.HistoryDisplay(**found.history, score_name=score))
    if found.importances is not None:
        yield "importances", _alone(inspection.ImportancesDisplay(found.importances))
    if found.importances is not None and found.varying:
        effects = [found.effects[d] for d in found.varying[:MOST_PANELS]]
        displays = [inspection.MainEffectDisplay(e) for e in effects]
        figure = _panels(displays)
        share_axis(displays)
        yield "main-effects", figure
    if found.strengths is not None:
        strengths = inspection.InteractionStrengthsDisplay(found.strengths)
        yield "interaction-strengths", _alone(strengths)
        yield "interactions", _panels(_interactions(found))
    if y is not None:
        yield from _errors(found, X, y)
    if found.coefficients is not None:
        yield "largest-weights", _alone(inspection.CoefficientsDisplay(found.coefficients))
    if found.has_weights:
        yield from _weights(found)


def _weights(found: Findings) -> Iterator[tuple[str, Any]]:
    """Spectra of the Fourier columns, and the rank-one terms of a CPD."""
    columns = found.model.columns_
    fourier = [d for d in found.varying if columns[d]["basis"].is_complex][:MOST_PANELS]
    if fourier:
        spectra = [inspection.spectrum(found.model, d, output=found.output) for d in fourier]
        yield "spectra", _panels([inspection.SpectrumDisplay(s) for s in spectra])
    try:
        terms = inspection.rank_one_terms(found.model, output=found.output)
    except ValueError:  # not a CPD
        return
    if len(terms.sizes):
        yield "rank-one-terms", _alone(inspection.RankOneTermsDisplay(terms))


def _interactions(found: Findings) -> list[Any]:
    return [
        inspection.InteractionDisplay(
            inspection.interaction(found.model, found.rows, pair, output=found.output)
        )
        for pair in found.pairs[:MOST_PAIRS]
    ]


def _errors(found: Findings, X: Any, y: Any) -> Iterator[tuple[str, Any]]:
    """Residuals of a regressor, the confusion of a classifier."""
    model = found.model
    if not is_regressor(model):
        from sklearn.metrics import ConfusionMatrixDisplay

        figure, axes = _figure(1, (5.6, 4.8))
        ConfusionMatrixDisplay.from_predictions(
            y.to_numpy(), model.predict(X), labels=model.classes_,
            display_labels=[written(label) for label in model.classes_], normalize="true",
            cmap="Blues", values_format=".2f",
            im_kw={"vmin": 0, "vmax": 1}, ax=axes[0],
            xticks_rotation=45 if len(model.classes_) > 4 else "horizontal",
        )  # fmt: skip
        axes[0].set_title("Predicted classes, as shares of each true one")
        figure.supxlabel(SEEN, fontsize="small")
        yield "confusion", figure
        return
    observed, predicted = y.to_numpy(dtype=float), model.predict(X)
    displays = [
        inspection.ResidualsDisplay(observed, predicted, kind=kind)
        for kind in ("observed", "residuals")
    ]
    figure = _panels(displays)
    figure.supxlabel(SEEN, fontsize="small")
    yield "residuals", figure


# -- figures ----------------------------------------------------------------------------------


def _figure(n_panels: int, size: Sequence[float], n_across: int = 1) -> tuple[Any, list[Any]]:
    # without pyplot, so that nothing depends on a screen
    from matplotlib.figure import Figure

    n_down = -(-n_panels // n_across)
    figure = Figure(figsize=(size[0] * n_across, size[1] * n_down), layout="constrained")
    axes = figure.subplots(n_down, n_across, squeeze=False).ravel().tolist()
    for ax in axes[n_panels:]:
        ax.remove()
    return figure, axes[:n_panels]


def _alone(display: Any) -> Any:
    figure, axes = _figure(1, display.figure_size)
    display.plot(axes[0])
    return figure


def _panels(displays: Sequence[Any]) -> Any:
    """Arrange displays of one kind in a grid."""
    import matplotlib

    if len(displays) == 1:
        return _alone(displays[0])
    few = len(displays) <= MOST_PAIRS
    with matplotlib.rc_context({} if few else {"font.size": 8.5}):
        figure, axes = _figure(len(displays), WIDE if few else PANEL, 2 if few else 3)
        for display, ax in zip(displays, axes, strict=True):
            display.plot(ax)
        _share_words(figure, displays, axes)
    return figure


def _share_words(figure: Any, displays: Sequence[Any], axes: Sequence[Any]) -> None:
    """Write once beside and below all panels what is said of all of them."""
    for display, ax in zip(displays, axes, strict=True):
        ax.set_xlabel(ax.get_xlabel().removesuffix("\n" + "; ".join(display.notes)))
    notes = list(dict.fromkeys(note for display in displays for note in display.notes))
    if notes:
        figure.supxlabel("; ".join(notes), fontsize="medium")
    labels = {ax.get_ylabel() for ax in axes}
    if len(labels) == 1:
        figure.supylabel(f"each panel: {labels.pop()}", fontsize="medium")
        for ax in axes:
            ax.set_ylabel("")
