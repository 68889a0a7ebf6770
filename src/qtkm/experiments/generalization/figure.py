"""Figures 2 and 4 of the paper: test and training error against the number of parameters.

A panel shows where TKM and QTKM can be compared. Models of rank one and random features of few
parameters have errors many times as large: these are written as numbers into a strip above it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..report import COLOURS
from .curves import Curve, curve

MODELS = ("RFF", "TKM", "QTKM")
SAME_ALPHA = "RFF same alpha"
TITLES = {"test_mse": "test", "train_mse": "training"}
NOTE = (
    "grey strip: errors above the scale,\n"
    "written at their P\n"
    "RFF begin at P = 1, left of the panels\n"
    "shaded: one standard deviation\n"
    "both axes are logarithmic"
)
#: share of a panel's height below the strip, and middles of its three lines of numbers
BELOW, LINES = 0.76, {SAME_ALPHA: 0.955, "TKM": 0.88, "QTKM": 0.805}


def draw(
    rows: Sequence[Mapping[str, Any]],
    krr: Sequence[Mapping[str, Any]],
    sets: Sequence[str],
    error: str,
) -> Any:
    """Draw one panel for each set.

    Parameters
    ----------
    rows : sequence of mappings
        Records of the fits.
    krr : sequence of mappings
        Records of kernel ridge regression.
    sets : sequence of str
    error : {"test_mse", "train_mse"}

    Returns
    -------
    matplotlib.figure.Figure
    """
    from matplotlib.figure import Figure

    n_columns = min(3, len(sets) + 1)
    n_lines = -(-(len(sets) + 1) // n_columns)  # one cell more, for the legend
    figure = Figure(figsize=(3.0 * n_columns, 2.6 * n_lines), layout="constrained")
    axes = figure.subplots(n_lines, n_columns, squeeze=False)
    for ax in axes.flat[len(sets) :]:
        ax.axis("off")
    handles: dict[str, Any] = {}
    for ax, name in zip(axes.flat, sets, strict=False):
        curves = {model: curve(rows, name, model, error) for model in (*MODELS, SAME_ALPHA)}
        _panel(ax, curves, [row for row in krr if row["set"] == name], error)
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    for ax in axes[:, 0]:
        ax.set_ylabel(f"{TITLES[error]} mean squared error")
    _legend(axes.flat[len(sets)], handles)
    return figure


def _panel(
    ax: Any, curves: Mapping[str, Curve], krr: Sequence[Mapping[str, Any]], error: str
) -> None:
    level = float(np.mean([row[error] for row in krr]))
    n_rows = krr[0]["rows"]
    for model in MODELS:
        line = curves[model]
        mean, deviation, colour = line.mean, line.deviation, COLOURS[model]
        low = np.maximum(mean - deviation, mean / 10)
        ax.fill_between(line.n_parameters, low, mean + deviation, color=colour, alpha=0.2, lw=0)
        ax.plot(line.n_parameters, mean, "o-", ms=3, lw=1.5, color=colour, label=model)
    ax.axhline(level, color=COLOURS["KRR"], lw=1.2, label="KRR, all weights", zorder=1)
    across, (low, high) = _limits(curves, level)
    if across[0] < n_rows < across[1]:
        ax.axvline(n_rows, color="0.5", ls="--", lw=1.2, label="P = N", zorder=1)
    ax.set(xscale="log", yscale="log", xlim=across, ylim=(low, low * (high / low) ** (1 / BELOW)))
    ax.set_title(f"{krr[0]['set']}, N={n_rows:,}, D={krr[0]['columns']}", fontsize=10)
    ax.set_xlabel("parameters P")
    ax.grid(True, which="major", alpha=0.25)
    _set_ticks(ax, low, high)
    _fill_strip(ax, curves, high)


def _limits(
    curves: Mapping[str, Curve], level: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of P, all of TKM and QTKM, and of errors, up to the largest from TKM's rank 2 on."""
    pair = [curves[model] for model in ("TKM", "QTKM")]
    sizes = np.concatenate([line.n_parameters for line in pair])
    across = float(sizes.min()) / 1.35, float(sizes.max()) * 1.15
    begin = curves["TKM"].n_parameters[:2].max(initial=0)
    compared = np.concatenate([line.mean[line.n_parameters >= begin] for line in pair])
    shown = [line.mean[line.n_parameters > across[0]] for line in (*pair, curves["RFF"])]
    low = min([level, *(float(values.min(initial=np.inf)) for values in shown)])
    high = max(level, float(compared.max()))
    margin = (high / low) ** 0.1
    return across, (low / margin, high * margin)


def _set_ticks(ax: Any, low: float, high: float) -> None:
    """Plain numbers at round values, also where an axis is shorter than a power of ten."""
    from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

    wide = LogLocator(subs=(1, 2, 5))
    ticks = (wide if high > 8 * low else MaxNLocator(5)).tick_values(low, high)
    ax.set_yticks([tick for tick in ticks if low <= tick <= high])
    ax.set_yticks([], minor=True)
    ax.xaxis.set_major_locator(wide)
    ax.xaxis.set_minor_formatter(NullFormatter())
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.tick_params(which="both", labelsize=8)


def _fill_strip(ax: Any, curves: Mapping[str, Curve], high: float) -> None:
    """Write the errors above the scale, one line for each model."""
    left, right = ax.get_xlim()
    ax.axhspan(high, ax.get_ylim()[1], color="0.95", zorder=4)
    style = {"va": "center", "fontsize": 7.5, "zorder": 5, "transform": ax.get_xaxis_transform()}
    for model in ("TKM", "QTKM"):
        for size, value in zip(curves[model].n_parameters, curves[model].mean, strict=True):
            if value > high:
                at, colour = (size, LINES[model], f"{value:.2g}"), COLOURS[model]
                ax.text(*at, color=colour, ha="center", weight="bold", **style)
            else:  # once more, as the strip may cover a part of the point
                ax.plot(size, value, "o", ms=3, color=COLOURS[model], zorder=6)
    same = curves[SAME_ALPHA]
    values = same.mean[same.n_parameters > left]
    if values.min(initial=np.inf) <= high:
        label, colour = "RFF, same α", COLOURS["RFF"]
        ax.plot(same.n_parameters, same.mean, ":", lw=1.3, color=colour, label=label)
    if values.max(initial=0.0) > high:
        text = " to ".join(dict.fromkeys(f"{value:.2g}" for value in (values[0], values[-1])))
        at = (right / 1.03, LINES[SAME_ALPHA], f"RFF, same α: {text}")
        ax.text(*at, color=COLOURS["RFF"], ha="right", weight="bold", **style)


def _legend(ax: Any, handles: Mapping[str, Any]) -> None:
    ax.legend(handles.values(), handles, loc="upper left", frameon=False, fontsize=9)
    ax.text(0.02, 0.02, NOTE, transform=ax.transAxes, va="bottom", fontsize=8.5, linespacing=1.4)
