"""Errors against the number of parameters, and what they say about the paper's claims."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Curve:
    """Errors of one model on one set, by number of parameters.

    Attributes
    ----------
    n_parameters : (n,) array
        Ascending.
    errors : list of arrays
        For each number of parameters, the errors over splits and seeds.
    """

    n_parameters: NDArray
    errors: list[NDArray]

    @property
    def mean(self) -> NDArray:
        """Mean error at each number of parameters."""
        return np.array([e.mean() for e in self.errors])

    @property
    def deviation(self) -> NDArray:
        """Standard deviation over splits and seeds."""
        return np.array([e.std(ddof=1) if e.size > 1 else 0.0 for e in self.errors])

    @property
    def standard_error(self) -> NDArray:
        """Standard error of the mean."""
        return self.deviation / np.sqrt([e.size for e in self.errors])

    def below(self, limit: float) -> "Curve":
        """Return the part with fewer than `limit` parameters."""
        keep = self.n_parameters < limit
        errors = [e for e, wanted in zip(self.errors, keep, strict=True) if wanted]
        return Curve(self.n_parameters[keep], errors)


def curve(rows: Iterable[Row], name: str, model: str, error: str = "test_mse") -> Curve:
    """Collect the errors of a model on a set."""
    found: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row["set"] == name and row["model"] == model:
            found[row["n_parameters"]].append(row[error])
    sizes = sorted(found)
    return Curve(np.array(sizes, dtype=int), [np.array(found[size]) for size in sizes])


@dataclass(frozen=True)
class Comparison:
    """QTKM beside TKM at equal numbers of parameters below the number of rows.

    Attributes
    ----------
    n_compared, n_ahead : int
        Numbers of parameters that both have, and those where QTKM's mean is not above TKM's.
    n_clearly_behind : int
        Those where it is above by more than two standard errors of the difference.
    gap : float
        Mean of 1 - QTKM/TKM: positive where QTKM is ahead.
    """

    n_compared: int
    n_ahead: int
    n_clearly_behind: int
    gap: float

    @property
    def holds(self) -> bool:
        """Whether QTKM is at or below TKM everywhere."""
        return self.n_compared > 0 and self.n_ahead == self.n_compared


def compare(quantized: Curve, full: Curve, n_rows: int) -> Comparison:
    """Compare two curves at the numbers of parameters that both have, below `n_rows`."""
    quantized, full = quantized.below(n_rows), full.below(n_rows)
    _, first, second = np.intersect1d(
        quantized.n_parameters, full.n_parameters, return_indices=True
    )
    ours, theirs = quantized.mean[first], full.mean[second]
    error = np.hypot(quantized.standard_error[first], full.standard_error[second])
    gap = float(np.mean(1 - ours / theirs)) if len(ours) else float("nan")
    behind = int(np.sum(ours - theirs > 2 * error))
    return Comparison(len(ours), int(np.sum(ours <= theirs)), behind, gap)


def turning_point(line: Curve) -> int | None:
    """Return the number of parameters with the least mean error, None if it is the largest."""
    best = int(np.argmin(line.mean))
    return None if best == len(line.mean) - 1 else int(line.n_parameters[best])


def descends_twice(line: Curve) -> bool:
    """Whether the error falls, rises, and falls again, by more than two standard errors each."""
    mean, error = line.mean, line.standard_error
    for peak in range(1, len(mean) - 1):
        before = int(np.argmin(mean[:peak]))
        after = peak + 1 + int(np.argmin(mean[peak + 1 :]))
        if (
            before > 0
            and mean[0] - mean[before] > 2 * np.hypot(error[0], error[before])
            and mean[peak] - mean[before] > 2 * np.hypot(error[peak], error[before])
            and mean[peak] - mean[after] > 2 * np.hypot(error[peak], error[after])
        ):
            return True
    return False
