"""Figures 2 and 4 of the paper: test and training error against the number of parameters."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from ..report import COLOURS
from .curves import curve

MODELS = ("RFF", "TKM", "QTKM")
TITLES = {"test_mse": "test", "train_mse": "training"}


def draw(
    rows: Sequence[Mapping[str, Any]],
    krr: Sequence[Mapping[str, Any]],
    sets: Sequence[str],
    error: str,
) -> Any:
    """Draw one panel a set.

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

    n_columns = min(4, len(sets))
    n_lines = -(-len(sets) // n_columns)
    figure = Figure(figsize=(3.3 * n_columns, 2.9 * n_lines + 0.7), layout="constrained")
    axes = figure.subplots(n_lines, n_columns, squeeze=False)
    for ax in axes.flat[len(sets) :]:
        ax.set_visible(False)
    for ax, name in zip(axes.flat, sets, strict=False):
        chosen = [row for row in krr if row["set"] == name]
        _panel(ax, rows, chosen, name, error)
    for ax in axes[:, 0]:
        ax.set_ylabel(f"{TITLES[error]} mean squared error\n(target of variance 1)")
    last = axes.flat[0]
    figure.legend(
        *last.get_legend_handles_labels(),
        loc="outside lower center",
        frameon=False,
        ncols=6 if n_columns > 2 else 3,
    )
    figure.suptitle(f"{TITLES[error].capitalize()} error against the number of parameters")
    return figure


def _panel(
    ax: Any, rows: Iterable[Mapping[str, Any]], krr: Sequence[Mapping[str, Any]], name: str,
    error: str,
) -> None:  # fmt: skip
    rows = list(rows)
    values = []
    for model in MODELS:
        line = curve(rows, name, model, error)
        if not len(line.n_parameters):
            continue
        mean, deviation = line.mean, line.deviation
        values.append(mean)
        low = np.maximum(mean - deviation, mean / 10)
        colour = COLOURS[model]
        ax.fill_between(line.n_parameters, low, mean + deviation, color=colour, alpha=0.2, lw=0)
        ax.plot(line.n_parameters, mean, "o-", ms=2.5, lw=1.4, color=colour, label=model)
    same = curve(rows, name, "RFF same alpha", error)
    if len(same.n_parameters):
        ax.plot(
            same.n_parameters, same.mean, ":", lw=1.1, color=COLOURS["RFF"], label="RFF, same α"
        )
    level = float(np.mean([row[error] for row in krr]))
    n_rows = krr[0]["rows"]
    ax.axhline(level, color=COLOURS["KRR"], lw=1.2, label="KRR, all weights", zorder=1)
    ax.axvline(n_rows, color="0.6", ls=":", lw=1.2, label="P = N", zorder=1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    # random features of one frequency or fits that blew up must not flatten everything else
    highest = min(2.0, 3 * max(float(v.max()) for v in values)) if values else 2.0
    lowest = min([level, *(float(v.min()) for v in values)])
    ax.set_ylim(lowest / 1.5, max(highest, 1.3))
    columns = krr[0]["columns"]
    ax.set_title(f"{name}, N={n_rows:,}, D={columns}", fontsize=10)
    ax.set_xlabel("parameters P")
    ax.tick_params(which="both", labelsize=7)
    ax.grid(True, which="major", alpha=0.25)
