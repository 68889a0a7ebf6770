"""The figures: spectra of low rank over the unconstrained one, and how both errors go together."""

from pathlib import Path

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ..report import COLOURS, save_figure
from .protocol import MOMENTUM, TRACE
from .results import Results, median_row

FREE = "#202020"
#: share of the unconstrained spectrum's energy that the drawn band holds
ENERGY = 0.999


def draw_spectra(results: Results, path: Path) -> list[Path]:
    """Draw magnitudes of the weights against frequency, a panel for each rank.

    Parameters
    ----------
    results : Results
    path : pathlib.Path
        The file without its ending.

    Returns
    -------
    list of pathlib.Path
        The files.
    """
    ranks = sorted(results.spectra)
    # A Figure of its own needs no display and leaves pyplot's state alone.
    rows = -(-len(ranks) // 2)
    figure = Figure(figsize=(11, 3.1 * rows + 0.6), layout="constrained")
    panels = figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False)
    for axes, rank in zip(panels.flat, ranks, strict=False):
        _draw_spectrum(axes, results, rank)
    for axes in panels.flat[len(ranks) :]:
        axes.set_visible(False)
    figure.supxlabel("frequency, cycles in the whole stretch", fontsize=10)
    figure.supylabel("|w|, standard deviations of the sound", fontsize=10)
    handles = [
        Line2D([], [], color=FREE, label=f"unconstrained, all {len(results.free):,} weights"),
        Line2D([], [], color=COLOURS["TKM"], label="quantized, rank R"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, path)


def _draw_spectrum(axes: Axes, results: Results, rank: int) -> None:
    n_basis = len(results.free)
    frequencies = np.arange(n_basis) - n_basis // 2
    row = median_row(results.by_rank[rank])
    axes.plot(frequencies, results.free, color=FREE, linewidth=0.6)
    axes.plot(frequencies, results.spectra[rank], color=COLOURS["TKM"], linewidth=0.6)
    axes.set_title(
        f"R = {rank}: P = {row['parameters']:,}, compression {row['compression']:.1f}, "
        f"weight error {row['weight_error']:.3f}",
        fontsize=10,
    )
    band = band_limit(results.free)
    axes.set(xlim=(-band, band), ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)


def band_limit(magnitudes: np.ndarray) -> int:
    """Highest frequency of the band around 0 that holds nearly all energy, in round hundreds."""
    distance = np.abs(np.arange(len(magnitudes)) - len(magnitudes) // 2)
    energy = np.bincount(distance, magnitudes**2).cumsum()
    needed = int(np.searchsorted(energy, ENERGY * energy[-1]))
    return min(len(magnitudes) // 2, -(-needed // 100) * 100)


def draw_errors(results: Results, path: Path) -> list[Path]:
    """Draw the error on the test rows against that of the weights, along every fit.

    Parameters
    ----------
    results : Results
    path : pathlib.Path
        The file without its ending.

    Returns
    -------
    list of pathlib.Path
        The files.
    """
    figure = Figure(figsize=(7, 4.6), layout="constrained")
    axes = figure.subplots()
    across, up = TRACE.index("weight_error"), TRACE.index("smae")
    colours = _colours(len(results.by_rank))
    for (rank, rows), colour in zip(sorted(results.by_rank.items()), colours, strict=True):
        for row in rows:
            trace = results.traces[MOMENTUM, rank, row["start"]]
            axes.plot(trace[:, across], trace[:, up], color=colour, linewidth=0.8, alpha=0.6)
        axes.plot(
            [row["weight_error"] for row in rows], [row["smae"] for row in rows], "o",
            color=colour, markeredgecolor="white", markersize=7, label=f"R = {rank}",
        )  # fmt: skip
    axes.plot(0, results.reference.smae, "*", color=FREE, markersize=12, label="unconstrained")
    _add_paper(axes, results)
    axes.axhline(results.reference.silence, color="0.6", linestyle=":", linewidth=1)
    axes.annotate(
        "predicting the mean", (0, results.reference.silence), xytext=(4, 4),
        textcoords="offset points", color="0.4", fontsize=8,
    )  # fmt: skip
    axes.set(
        xlabel="relative error of the weights",
        ylabel="SMAE on the test rows, standard deviations",
        xlim=(-0.03, 1),
        ylim=(0, None),
    )
    axes.grid(color="0.92")
    axes.legend(frameon=False, loc="lower right")
    axes.spines[["top", "right"]].set_visible(False)
    return save_figure(figure, path)


def _add_paper(axes: Axes, results: Results) -> None:
    """Crosses for the paper's table, where the models are the paper's."""
    found = list(results.published.values())
    if found:
        axes.plot(
            [row.weight_error for row in found], [row.smae for row in found], "x",
            color=FREE, markersize=8, markeredgewidth=1.8, label="paper",
        )  # fmt: skip


def _colours(count: int) -> list[tuple[float, ...]]:
    """From light to dark with the rank."""
    return [colormaps["viridis_r"](0.1 + 0.8 * k / max(1, count - 1)) for k in range(count)]
