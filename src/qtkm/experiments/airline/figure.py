"""The figure: test error against the time of a fit, and against the number of parameters."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from ..report import COLOURS, save_figure
from .data import TITLES

#: colour, marker and its size in points, and whether it is filled, of a family
STYLES = {
    "TKM": (COLOURS["TKM"], "o", 14, True),
    "QTKM": (COLOURS["QTKM"], "o", 14, True),
    # rings: where they coincide with a point of the same colour, both can be seen
    "TKM, defaults": (COLOURS["TKM"], "o", 19, False),
    "QTKM, defaults": (COLOURS["QTKM"], "o", 19, False),
    "RFF": (COLOURS["RFF"], "s", 11, False),
    "RFF, same band": (COLOURS["RFF"], "P", 9, True),
    "Nyström": (COLOURS["KRR"], "D", 6, True),
    "boosting": ("#2CA02C", "^", 9, False),
    "more boosting": ("#2CA02C", "^", 9, True),
    "GP": ("#7E2F8E", "v", 9, True),
}

#: results of a data set: a family, and the rows of each of its models
Families = Mapping[str, Sequence[Sequence[Mapping[str, Any]]]]


def draw(results: Mapping[str, Families], path: Path) -> list[Path]:
    """Draw two panels for each data set and save them.

    Parameters
    ----------
    results : mapping
        Data set → family → one list of records for each of its models.
    path : pathlib.Path
        The file without its ending.

    Returns
    -------
    list of pathlib.Path
        The files.
    """
    # A Figure of its own needs no display and leaves pyplot's state alone.
    figure = Figure(figsize=(9.5, 4.4 * len(results) + 0.8), layout="constrained")
    panels = figure.subplots(len(results), 2, squeeze=False, sharey="row")
    handles: dict[str, Any] = {}
    for (time, size), (dataset, families) in zip(panels, results.items(), strict=True):
        _draw_panel(time, families, "seconds", "seconds of the fit")
        _draw_panel(size, families, "parameters", "number of parameters P")
        time.set_title(TITLES[dataset], loc="left", fontweight="bold")
        time.set_ylabel("test MSE of the standardized delay")
        handles |= dict(zip(*time.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=3, frameon=False,
        labelspacing=0.9, markerscale=0.8,
    )  # fmt: skip
    return save_figure(figure, path)


def _draw_panel(axes: Axes, families: Families, value: str, label: str) -> None:
    for family, models in families.items():
        colour, marker, size, is_filled = STYLES[family]
        across = [float(np.mean([row[value] for row in rows])) for rows in models]
        errors = [[row["test_mse"] for row in rows] for rows in models]
        up = [float(np.mean(each)) for each in errors]
        deviations = [np.std(each, ddof=1) if len(each) > 1 else np.nan for each in errors]
        has_ranks = family in ("TKM", "QTKM")
        axes.errorbar(across, up, deviations, color=colour, fmt="none", capsize=2, zorder=2)
        axes.plot(
            across, up, color=colour, linestyle="-" if has_ranks else "none", zorder=3,
            marker=marker, markersize=size, markeredgecolor="white" if is_filled else colour,
            markerfacecolor=colour if is_filled else "none",
            label=f"{family}, rank inside" if has_ranks else models[0][0]["model"],
        )  # fmt: skip
        if has_ranks:
            for x, y, rows in zip(across, up, models, strict=True):
                text = rows[0]["model"].partition("R=")[2]
                colour = "white" if family == "TKM" else "black"
                axes.text(
                    x, y, text, color=colour, ha="center", va="center_baseline", fontsize=7.5,
                    zorder=4,
                )  # fmt: skip
    axes.set_xscale("log")
    axes.margins(x=0.08, y=0.08)
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(label)
    axes.grid(which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
