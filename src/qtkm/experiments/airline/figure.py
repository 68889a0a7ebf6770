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

#: colour and marker of a family
STYLES = {
    "TKM": (COLOURS["TKM"], "o"),
    "QTKM": (COLOURS["QTKM"], "o"),
    "TKM, defaults": (COLOURS["TKM"], "*"),
    "QTKM, defaults": (COLOURS["QTKM"], "*"),
    "RFF": (COLOURS["RFF"], "s"),
    "RFF, same band": (COLOURS["RFF"], "P"),
    "Nyström": (COLOURS["KRR"], "D"),
    "boosting": ("#2CA02C", "^"),
    "GP": ("#7E2F8E", "v"),
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
    figure = Figure(figsize=(11, 4.2 * len(results) + 0.4), layout="constrained")
    panels = figure.subplots(len(results), 2, squeeze=False, sharey="row")
    for (time, size), (dataset, families) in zip(panels, results.items(), strict=True):
        _draw_panel(time, families, "seconds", "seconds of the fit")
        _draw_panel(size, families, "parameters", "number of parameters P")
        time.set_title(TITLES[dataset], loc="left", fontweight="bold")
        time.set_ylabel("test MSE of the standardized delay")
    handles, labels = panels[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return save_figure(figure, path)


def _draw_panel(axes: Axes, families: Families, value: str, label: str) -> None:
    for family, models in families.items():
        colour, marker = STYLES[family]
        across = [np.mean([row[value] for row in rows]) for rows in models]
        errors = [[row["test_mse"] for row in rows] for rows in models]
        up = [np.mean(each) for each in errors]
        deviations = [np.std(each, ddof=1) if len(each) > 1 else np.nan for each in errors]
        line = "-" if family in ("TKM", "QTKM") else "none"
        axes.errorbar(
            across, up, deviations, color=colour, marker=marker, linestyle=line, capsize=2,
            markersize=12 if marker == "*" else 8, markeredgecolor="white", label=family,
        )  # fmt: skip
        if line == "-":
            for x, y, rows in zip(across, up, models, strict=True):
                axes.annotate(
                    rows[0]["model"].split("R=")[1], (x, y), xytext=(4, 5),
                    textcoords="offset points", fontsize=8, color="0.3",
                )  # fmt: skip
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel(label)
    axes.grid(which="major", color="0.9")
    axes.spines[["top", "right"]].set_visible(False)
