"""What the error on the test rows says: where it comes from, and why it differs from the paper's.

Every sentence is made from the numbers of the run.
"""

import numpy as np
from numpy.typing import NDArray

from ..report import table
from .protocol import MOMENTUM, TRACE
from .results import Results

#: points on the courses of fits are compared with the paper's table if so near in weight error
NEAR = 0.01


def paragraphs(results: Results) -> list[str]:
    """Write the paragraphs of the discussion.

    Parameters
    ----------
    results : Results

    Returns
    -------
    list of str
    """
    parts = [_gaps(results), ratio_table(results), _starts(results)]
    if results.published:
        parts += [_paper(results), near_table(results), _energy(results)]
    return parts


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
        str(rank): (_median(results, rank, "smae"), _median(results, rank, "train_smae"))
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
    rows = [row for fits in results.by_rank.values() for row in fits]
    errors = np.array([[row["weight_error"], row["smae"]] for row in rows])
    ranks = np.array([row["rank"] for row in rows])
    within = errors.copy()
    for rank in results.by_rank:
        within[ranks == rank] -= within[ranks == rank].mean(axis=0)
    widths = ", ".join(
        f"{_width(results, rank, 'weight_error'):.3f} and {_width(results, rank, 'smae'):.3f} "
        f"(R={rank})"
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
        values = [row["smae"] for row in results.by_rank[rank]]
        is_inside = min(values) <= paper.smae <= max(values)
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
            _near(results.traces[MOMENTUM, rank, row["start"]], paper.weight_error)
            for row in results.by_rank[rank]
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
    objective = float(np.median([row["objective"] for row in results.by_rank[rank]]))
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


def _column(results: Results, rank: int, column: str) -> NDArray:
    return np.array([row[column] for row in results.by_rank[rank]])


def _median(results: Results, rank: int, column: str) -> float:
    return float(np.median(_column(results, rank, column)))


def _width(results: Results, rank: int, column: str) -> float:
    return float(np.ptp(_column(results, rank, column)))


def _correlation(pairs: NDArray) -> float:
    """Pearson's, of two columns; 0 where one does not vary."""
    if (np.ptp(pairs, axis=0) == 0).any():
        return 0.0
    return float(np.corrcoef(pairs.T)[0, 1])


def _list(names: list[str]) -> str:
    return ", ".join(names) if names else "none"
