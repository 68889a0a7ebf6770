"""The page: Table 2 beside what was measured here, the figures, how the fits went."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..report import origin, table, write_page
from . import discussion, published
from .protocol import MOMENTUM, TRACE, Protocol
from .results import Results, Row


def write(
    path: Path,
    results: Results,
    chosen: Protocol,
    *,
    command: str,
    has_new: bool,
    quick: bool,
    figures: Mapping[str, str],
) -> Path:
    """Write the page.

    Parameters
    ----------
    path : pathlib.Path
    results : Results
    chosen : Protocol
        What was run.
    command : str
        What made the page.
    has_new : bool
        Whether fits were made since the page was written last.
    quick : bool
        Whether the run was a quick one.
    figures : mapping of str to str
        File names of "spectra" and "errors"; empty if there are none.

    Returns
    -------
    pathlib.Path
    """
    made = origin(command, results.seconds, None if has_new else path)
    parts = ["# Natural sound: Figure 3 and Table 2 of the paper", made]
    if quick:
        parts.append(
            "**A quick run**: a stretch of the sound, few functions, few epochs. It shows that "
            "everything works; its numbers are not to be compared with the paper's."
        )
    parts += [_describe(results, chosen), "## Table 2", main_table(results), _caption(results)]
    if "spectra" in figures:
        parts += ["## Figure 3", f"![Magnitudes of the weights]({figures['spectra']})", _SPECTRA]
    parts += ["## What the error on the test rows says", *discussion.paragraphs(results)]
    if "errors" in figures:
        parts += [f"![SMAE against the error of the weights]({figures['errors']})", _ERRORS]
    parts += ["## How the fits went", fits_table(results), _convergence(results, chosen)]
    if results.plain:
        parts += ["## With and without momentum", solver_table(results), _SOLVERS]
    parts.append(_TIME)
    return write_page(path, parts)


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
        rank: median(results.by_rank[rank], "weight_error") - paper.weight_error
        for rank, paper in results.published.items()
    }
    listed = ", ".join(f"{value:+.3f} (R={rank})" for rank, value in differences.items())
    return (
        f"{said} Paper: {published.SOURCE}, one start and {published.EPOCHS} sweeps. The median "
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
    """Largest change since at most half of the epochs, over the fits that did not converge."""
    place = TRACE.index(column)
    changes = []
    for row in fits:
        if row["status"] == "converged":
            continue
        trace = results.traces[MOMENTUM, row["rank"], row["start"]]
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


def median(fits: Iterable[Row], column: str) -> float:
    """Median of a column over the starts."""
    return float(np.median([row[column] for row in fits]))


def median_range(fits: Sequence[Row], column: str, form: str = "{:.3f}") -> str:
    """Median and range of a column over the starts, the range in brackets."""
    values = [row[column] for row in fits]
    say: Callable[[Any], str] = form.format
    return f"{say(float(np.median(values)))} ({say(min(values))} – {say(max(values))})"


def _span(values: Sequence[int]) -> str:
    return f"{values[0]}" if values[0] == values[-1] else f"{values[0]} to {values[-1]}"
