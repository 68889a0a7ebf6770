"""The page of the sound: Table 2 beside what was measured here, the figures, how the fits went.

What the error on the test rows says, where it comes from and why it differs from the paper's: every
sentence is made from the numbers of the run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import report
from .report import COLOURS, new_figure, save_figure, table
from .runs import Options, Row, Split
from .sound import (
    KEYS,
    MOMENTUM,
    PLAIN,
    TRACE,
    Protocol,
    find_gaps,
    mean_error,
    read_kept,
    respond,
    turns,
)

#: points on the courses of fits are compared with the paper's table if so near in weight error
NEAR = 0.01
#: colour of the unconstrained spectrum, and the share of its energy in the drawn band
FREE, ENERGY = "#202020", 0.999


class Published(NamedTuple):
    """A row of the paper's Table 2, from one start and `SWEEPS` sweeps over all cores."""

    parameters: int
    compression: float
    weight_error: float
    smae: float


SWEEPS = 5000
#: rank → row of Table 2 in the supplement of the paper
PUBLISHED = {
    10: Published(260, 31.5, 0.841, 0.579),
    25: Published(650, 12.6, 0.712, 0.571),
    50: Published(1300, 6.3, 0.528, 0.451),
    100: Published(2600, 3.1, 0.310, 0.182),
}


@dataclass(frozen=True)
class Reference:
    """What needs no fit of low rank, in standard deviations of the training rows.

    `silence` is the error of predicting the mean, `objective` the mean squared complex residual of
    the unconstrained model.
    """

    smae: float
    train_smae: float
    objective: float
    silence: float
    train_silence: float
    n_train: int
    n_test: int
    gaps: list[int]

    @classmethod
    def measure(cls, sound: Split, free: NDArray) -> "Reference":
        """Measure the unconstrained weights on the sound."""
        train, test = (respond(free, turns(sound, X)) for X in (sound.X_train, sound.X_test))
        return cls(
            smae=mean_error(sound.y_test, test.real),
            train_smae=mean_error(sound.y_train, train.real),
            objective=float(np.mean(np.abs(train - sound.y_train) ** 2)),
            silence=float(np.abs(sound.y_test).mean()),
            train_silence=float(np.abs(sound.y_train).mean()),
            n_train=len(sound.y_train),
            n_test=len(sound.y_test),
            gaps=find_gaps(sound),
        )


@dataclass(frozen=True)
class Results:
    """Records, courses and spectra of the fits.

    Attributes
    ----------
    by_rank : dict
        Rank → records of the starts with momentum, by start.
    plain : dict
        Rank → record of the first start without momentum.
    traces : dict
        (solver, rank, start) → course of the fit, columns as in `TRACE`.
    spectra : dict
        Rank → magnitudes (M,) of the weights of its median start.
    free : ndarray of shape (M,)
        Magnitudes of the unconstrained weights.
    reference : Reference
    """

    by_rank: dict[int, list[Row]]
    plain: dict[int, Row]
    traces: dict[tuple[str, int, int], NDArray]
    spectra: dict[int, NDArray]
    free: NDArray
    reference: Reference

    @classmethod
    def collect(
        cls, rows: Iterable[Row], names: Sequence[Row], sound: Split, free: NDArray, folder: Path
    ) -> "Results":
        """Take the records of the named fits, and what was kept of them."""
        named = {tuple(name[key] for key in KEYS) for name in names}
        found = {key: row for row in rows if (key := tuple(row[k] for k in KEYS)) in named}
        by_rank: dict[int, list[Row]] = {}
        for _, row in sorted(found.items()):
            if row["solver"] == MOMENTUM:
                by_rank.setdefault(row["rank"], []).append(row)
        return cls(
            by_rank=by_rank,
            plain={row["rank"]: row for row in found.values() if row["solver"] == PLAIN},
            traces={key: read_kept(folder, row)[1] for key, row in found.items()},
            spectra={r: np.abs(read_kept(folder, median_row(f))[0]) for r, f in by_rank.items()},
            free=np.abs(free),
            reference=Reference.measure(sound, free),
        )

    @property
    def published(self) -> dict[int, Published]:
        """Rows of the paper's table whose models have the same numbers of parameters."""
        return {
            rank: row
            for rank, row in PUBLISHED.items()
            if rank in self.by_rank and self.by_rank[rank][0]["parameters"] == row.parameters
        }

    @property
    def rows(self) -> list[Row]:
        """Records of all starts with momentum."""
        return [row for fits in self.by_rank.values() for row in fits]

    def column(self, rank: int, name: str) -> NDArray:
        """Return a column of the records of a rank."""
        return np.array([row[name] for row in self.by_rank[rank]])

    def trace(self, row: Row) -> NDArray:
        """Return the course of a fit with momentum."""
        return self.traces[MOMENTUM, row["rank"], row["start"]]


def median_row(rows: Sequence[Row]) -> Row:
    """Return the start with the median weight error, the better of two in the middle."""
    return sorted(rows, key=lambda row: row["weight_error"])[(len(rows) - 1) // 2]


def write(options: Options, results: Results, chosen: Protocol, has_new: bool) -> Path:
    """Draw the figures and write the page; `has_new` tells whether fits were made since."""
    path = options.output / "sound.md"
    figures = report.try_to_draw(
        lambda: {
            "spectra": draw_spectra(results, options.output / "sound")[0].name,
            "errors": draw_errors(results, options.output / "sound_errors")[0].name,
        }
    )
    seconds = sum(row["seconds"] for row in [*results.rows, *results.plain.values()])
    made = report.origin(options.command_line, seconds, None if has_new else path)
    parts = ["# Natural sound: Figure 3 and Table 2 of the paper", made]
    if options.quick:
        parts.append(report.quick_note("a stretch of the sound, few functions, few epochs"))
    parts += [_describe(results, chosen), "## Table 2", main_table(results), _caption(results)]
    if "spectra" in figures:
        parts += ["## Figure 3", f"![Magnitudes of the weights]({figures['spectra']})", _SPECTRA]
    parts += ["## What the error on the test rows says"]
    parts += [_gaps(results), ratio_table(results), _starts(results)]
    if results.published:
        parts += [_paper(results), near_table(results), _energy(results)]
    if "errors" in figures:
        parts += [f"![SMAE against the error of the weights]({figures['errors']})", _ERRORS]
    parts += ["## How the fits went", fits_table(results), _convergence(results, chosen)]
    if results.plain:
        parts += ["## With and without momentum", solver_table(results), _SOLVERS]
    return report.write_page(path, [*parts, _TIME])


_SPECTRA = (
    "Of each rank the start with the median error of the weights. What stays black is not "
    "recovered; the frequencies outside of the figure hold less than 0.1 % of the energy."
)
_ERRORS = (
    "Points are the ends of the fits, lines their courses from the first epoch on; crosses are "
    "the paper's, and the star is the unconstrained model."
)
_SOLVERS = (
    "Both begin at the same cores, of seed 0. They need not end in the same minimum: the problem "
    "has many, and the starts above show by how much these differ."
)
_TIME = (
    "Times are those of single fits, each on one thread while others ran beside it; the time at "
    "the top is their sum. The unconstrained weights are a Toeplitz system, which takes seconds."
)


def _describe(results: Results, chosen: Protocol) -> str:
    reference = results.reference
    samples = reference.n_train + reference.n_test
    gaps = sorted(set(reference.gaps))
    return (
        f"{reference.n_train:,} samples train, {reference.n_test:,} samples in "
        f"{len(reference.gaps)} gaps of {_span(gaps)} test. M = {chosen.n_basis:,} Fourier "
        f"functions, Q = 2, L = 1, no penalty; positions are scaled by the training minimum and "
        "maximum, amplitudes standardized by the training mean and deviation. The weights of a "
        "CPD of rank R are compared with all M weights, found by least squares: *weight error* is "
        "‖w − w_ls‖ / ‖w_ls‖. *SMAE* is the mean of |y − Re f| over the test rows. The functions "
        f"tell apart {samples / chosen.n_basis:.1f} samples, so a gap is a stretch about which "
        "the data say little."
    )


def main_table(results: Results) -> str:
    """Table 2, the paper's numbers beside median and range over the starts."""
    headers = ["R", "P", "M/P", "weight error, paper", "here", "SMAE, paper", "here"]
    rows = []
    for rank, fits in results.by_rank.items():
        paper = results.published.get(rank)
        rows.append([
            rank, f"{fits[0]['parameters']:,}", f"{fits[0]['compression']:.1f}",
            f"{paper.weight_error:.3f}" if paper else "–", median_range(fits, "weight_error"),
            f"{paper.smae:.3f}" if paper else "–", median_range(fits, "smae"),
        ])  # fmt: skip
    reference = results.reference
    free = f"{len(results.free):,}"
    rows.append(["all weights", free, "1.0", "–", "0", "–", f"{reference.smae:.3f}"])
    return table(headers, rows)


def _caption(results: Results) -> str:
    starts = max(len(fits) for fits in results.by_rank.values())
    said = f"Here: median over {starts} starts, in brackets the least and the greatest."
    if not results.published:
        return said
    differences = {
        rank: np.median(results.column(rank, "weight_error")) - paper.weight_error
        for rank, paper in results.published.items()
    }
    listed = ", ".join(f"{value:+.3f} (R={rank})" for rank, value in differences.items())
    return (
        f"{said} Paper: {report.PAPER}, Table 2, one start and {SWEEPS} sweeps. The median "
        f"weight errors differ from the paper's by {listed}."
    )


def fits_table(results: Results) -> str:
    """Epochs, times and what the second half of the epochs changed."""
    headers = ["R", "epochs", "converged", "seconds", "objective", "SMAE of training rows",
               "second half: weight error", "second half: SMAE"]  # fmt: skip
    rows = []
    for rank, fits in results.by_rank.items():
        done = sum(row["status"] == "converged" for row in fits)
        rows.append([
            rank, median_range(fits, "epochs", "{:,.0f}"), f"{done} of {len(fits)}",
            median_range(fits, "seconds", "{:.3g}"), median_range(fits, "objective", "{:.4f}"),
            median_range(fits, "train_smae"), _second_half(results, fits, "weight_error"),
            _second_half(results, fits, "smae"),
        ])  # fmt: skip
    return table(headers, rows)


def _second_half(results: Results, fits: Sequence[Row], column: str) -> str:
    """Return the largest change since at most half of the epochs, of fits not converged."""
    place = TRACE.index(column)
    changes = []
    for row in fits:
        if row["status"] != "converged":
            trace = results.trace(row)
            before = trace[trace[:, 0] <= max(1, row["epochs"] / 2)][-1]
            changes.append(abs(trace[-1, place] - before[place]))
    return f"{max(changes):.4f}" if changes else "–"


def _convergence(results: Results, chosen: Protocol) -> str:
    limits = ", ".join(f"{epochs:,} (R={rank})" for rank, epochs in chosen.epochs.items())
    said = (
        f"A fit ends when an epoch lowers the objective by less than {chosen.tol:g} of it, or "
        f"after so many epochs: {limits}. “Second half” is the largest change in the second half "
        "of the epochs, over the fits that ran into the limit."
    )
    if not results.published:
        return said
    return said + (
        " The tolerance is small because the objective rests on plateaus: the first start of "
        "R=10 creeps at 1.1e-6 an epoch for sixty epochs, and then falls by another 2.5 %. It is "
        "small enough: measured once without it, three starts of R=10 over 400 epochs and one of "
        "R=25 over 700 changed the weight error by less than 1e-6 and the SMAE by less than 3e-5."
    )


def solver_table(results: Results) -> str:
    """First starts with momentum and without."""
    headers = ["R", "solver", "epochs", "seconds", "objective", "weight error", "SMAE"]
    rows = []
    for rank, plain in sorted(results.plain.items()):
        first = next(row for row in results.by_rank[rank] if row["start"] == 0)
        rows += [
            [rank, row["solver"], f"{row['epochs']:,}", f"{row['seconds']:.3g}",
             f"{row['objective']:.5f}", f"{row['weight_error']:.3f}", f"{row['smae']:.3f}"]
            for row in (first, plain)
        ]  # fmt: skip
    return table(headers, rows)


def median_range(fits: Sequence[Row], column: str, form: str = "{:.3f}") -> str:
    """Format median and range of a column over the starts, the range in brackets."""
    values = [row[column] for row in fits]
    least, greatest = form.format(min(values)), form.format(max(values))
    return f"{form.format(float(np.median(values)))} ({least} – {greatest})"


def _span(values: Sequence[int]) -> str:
    return f"{values[0]}" if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def _gaps(results: Results) -> str:
    """Compare the error of the gaps with that of the model."""
    reference = results.reference
    louder = reference.silence / reference.train_silence
    return (
        "**Gaps.** The error on the training rows is that of the model; what the test rows have "
        "beyond it is due to the gaps, but for a factor of "
        f"{louder:.2f} by which the sound in the gaps is louder. Medians over the starts:"
    )


def ratio_table(results: Results) -> str:
    """SMAE of test and training rows, and their ratio."""
    pairs = {
        str(rank): tuple(np.median(results.column(rank, n)) for n in ("smae", "train_smae"))
        for rank in results.by_rank
    }
    reference = results.reference
    pairs["all weights"] = reference.smae, reference.train_smae
    pairs["predicting the mean"] = reference.silence, reference.train_silence
    rows = [
        [name, f"{test:.3f}", f"{train:.3f}", f"{test / train:.2f}"]
        for name, (test, train) in pairs.items()
    ]
    return table(["R", "SMAE, test rows", "SMAE, training rows", "ratio"], rows)


def _starts(results: Results) -> str:
    """How the two errors go together over starts, and over all fits."""
    errors = np.array([[row["weight_error"], row["smae"]] for row in results.rows])
    ranks = np.array([row["rank"] for row in results.rows])
    within = errors.copy()
    for rank in results.by_rank:
        within[ranks == rank] -= within[ranks == rank].mean(axis=0)
    widths = ", ".join(
        "{:.3f} and {:.3f} ".format(
            *(np.ptp(results.column(rank, n)) for n in ("weight_error", "smae"))
        )
        + f"(R={rank})"
        for rank in results.by_rank
    )
    return (
        "**Starts.** From the least to the greatest over the starts, weight error and SMAE differ "
        f"by {widths}. Over all fits the two errors have a correlation of "
        f"{_correlation(errors):.2f}; within a rank, that is after each rank's means are "
        f"subtracted, of {_correlation(within):.2f}."
    )


def _paper(results: Results) -> str:
    """Whether the paper's errors lie among those of the starts."""
    inside: list[str] = []
    outside: list[str] = []
    for rank, paper in results.published.items():
        values = results.column(rank, "smae")
        is_inside = values.min() <= paper.smae <= values.max()
        (inside if is_inside else outside).append(f"R={rank}")
    return (
        "**The paper's SMAE** is that of one start. It lies within the range of the starts here "
        f"for {_list(inside)}, and outside of it for {_list(outside)}. The table below takes all "
        f"points on the courses of the fits of a rank that are within {NEAR:g} of the paper's "
        "weight error: if SMAE followed from the weights as it does here, the paper's would be "
        "among them."
    )


def near_table(results: Results) -> str:
    """SMAE of all points whose weight error is near the paper's."""
    rows = []
    for rank, paper in results.published.items():
        found = np.concatenate([
            _near(results.trace(row), paper.weight_error) for row in results.by_rank[rank]
        ])  # fmt: skip
        span = f"{found.min():.3f} – {found.max():.3f}" if len(found) else "no such point"
        rows.append([rank, f"{paper.weight_error:.3f}", len(found), span, f"{paper.smae:.3f}"])
    headers = ["R", "weight error, paper", "points here", "their SMAE", "SMAE, paper"]
    return table(headers, rows)


def _near(trace: NDArray, error: float) -> NDArray:
    """SMAE where the weight error is near a given one."""
    errors, smae = trace[:, TRACE.index("weight_error")], trace[:, TRACE.index("smae")]
    return smae[np.abs(errors - error) <= NEAR]


def _energy(results: Results) -> str:
    """Explain what the highest rank leaves, and why it cannot match all weights."""
    rank = max(results.published)
    paper, reference = results.published[rank], results.reference
    norm = float(np.sum(results.free**2))
    expected = reference.objective + paper.weight_error**2 * norm
    objective = float(np.median(results.column(rank, "objective")))
    return (
        f"**R={rank}.** The functions are nearly orthogonal over the training rows, so a weight "
        "error e adds about e²·‖w_ls‖² to the mean squared residual: the paper's "
        f"{paper.weight_error:.3f} raises it from {reference.objective:.3f}, that of the "
        f"unconstrained model, to {expected:.3f}; the median here is {objective:.3f}. With "
        f"{expected / reference.objective:.1f} times the squared residual one expects a larger "
        f"error on the test rows too, yet the paper's SMAE of {paper.smae:.3f} is within "
        f"{abs(paper.smae - reference.smae):.3f} of the {reference.smae:.3f} of the unconstrained "
        "model. What lies behind it cannot be told from the paper."
    )


def _correlation(pairs: NDArray) -> float:
    """Pearson's, of two columns; 0 where one does not vary."""
    if (np.ptp(pairs, axis=0) == 0).any():
        return 0.0
    return float(np.corrcoef(pairs.T)[0, 1])


def _list(names: list[str]) -> str:
    return ", ".join(names) if names else "none"


def draw_spectra(results: Results, path: Path) -> list[Path]:
    """Draw magnitudes of the weights against frequency, a panel for each rank."""
    from matplotlib.lines import Line2D

    ranks = sorted(results.spectra)
    rows = -(-len(ranks) // 2)
    figure = new_figure(11, 3.1 * rows + 0.6)
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


def _draw_spectrum(axes: Any, results: Results, rank: int) -> None:
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
    report.open_frame(axes)


def band_limit(magnitudes: np.ndarray) -> int:
    """Highest frequency of the band around 0 that holds nearly all energy, in round hundreds."""
    distance = np.abs(np.arange(len(magnitudes)) - len(magnitudes) // 2)
    energy = np.bincount(distance, magnitudes**2).cumsum()
    needed = int(np.searchsorted(energy, ENERGY * energy[-1]))
    return min(len(magnitudes) // 2, -(-needed // 100) * 100)


def draw_errors(results: Results, path: Path) -> list[Path]:
    """Draw the error on the test rows against that of the weights, along every fit."""
    from matplotlib import colormaps

    figure = new_figure(7, 4.6)
    axes = figure.subplots()
    across, up = TRACE.index("weight_error"), TRACE.index("smae")
    last = max(1, len(results.by_rank) - 1)
    for k, (rank, rows) in enumerate(sorted(results.by_rank.items())):
        colour = colormaps["viridis_r"](0.1 + 0.8 * k / last)  # from light to dark with the rank
        for row in rows:
            trace = results.trace(row)
            axes.plot(trace[:, across], trace[:, up], color=colour, linewidth=0.8, alpha=0.6)
        axes.plot(
            [row["weight_error"] for row in rows], [row["smae"] for row in rows], "o",
            color=colour, markeredgecolor="white", markersize=7, label=f"R = {rank}",
        )  # fmt: skip
    axes.plot(0, results.reference.smae, "*", color=FREE, markersize=12, label="unconstrained")
    if paper := list(results.published.values()):
        axes.plot(
            [row.weight_error for row in paper], [row.smae for row in paper], "x",
            color=FREE, markersize=8, markeredgewidth=1.8, label="paper",
        )  # fmt: skip
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
    report.open_frame(axes)
    return save_figure(figure, path)
