"""What came out of the fits, put in order for the page and the figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import published
from .data import Sound
from .protocol import KEYS, MOMENTUM, PLAIN, mean_error, read_kept
from .unconstrained import respond

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Reference:
    """Errors that need no fit of low rank, in standard deviations of the training rows.

    Attributes
    ----------
    smae, train_smae : float
        Of the unconstrained model, on test and training rows.
    objective : float
        Its mean squared complex residual.
    silence, train_silence : float
        SMAE of predicting the mean, on test and training rows.
    n_train, n_test : int
        Numbers of rows.
    gaps : tuple of int
        Lengths of the gaps, in samples.
    """

    smae: float
    train_smae: float
    objective: float
    silence: float
    train_silence: float
    n_train: int
    n_test: int
    gaps: tuple[int, ...]

    @classmethod
    def measure(cls, sound: Sound, free: NDArray) -> "Reference":
        """Measure the unconstrained weights on the sound."""
        train, test = (respond(free, sound.turns(X)) for X in (sound.X_train, sound.X_test))
        return cls(
            smae=mean_error(sound.y_test, test.real),
            train_smae=mean_error(sound.y_train, train.real),
            objective=float(np.mean(np.abs(train - sound.y_train) ** 2)),
            silence=float(np.abs(sound.y_test).mean()),
            train_silence=float(np.abs(sound.y_train).mean()),
            n_train=len(sound.y_train),
            n_test=len(sound.y_test),
            gaps=tuple(sound.gaps),
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
        (solver, rank, start) → course of the fit, columns as in `protocol.TRACE`.
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
        cls,
        rows: Iterable[Row],
        names: Sequence[Mapping[str, Any]],
        sound: Sound,
        free: NDArray,
        folder: Path,
    ) -> "Results":
        """Take the records of the named fits, and what was kept of them.

        Parameters
        ----------
        rows : iterable of mappings
            Records; those of fits that are not named are left out.
        names : sequence of mappings
            The fits of this run.
        sound : Sound
        free : ndarray of shape (M,)
            The unconstrained weights.
        folder : pathlib.Path
            Where models are kept.

        Returns
        -------
        Results
        """
        named = {tuple(name[key] for key in KEYS) for name in names}
        found = {key: row for row in rows if (key := tuple(row[k] for k in KEYS)) in named}
        by_rank: dict[int, list[Row]] = {}
        for _, row in sorted(found.items()):
            if row["solver"] == MOMENTUM:
                by_rank.setdefault(row["rank"], []).append(row)
        spectra = {
            rank: np.abs(read_kept(folder, median_row(fits))[0]) for rank, fits in by_rank.items()
        }
        return cls(
            by_rank=by_rank,
            plain={row["rank"]: row for row in found.values() if row["solver"] == PLAIN},
            traces={key: read_kept(folder, row)[1] for key, row in found.items()},
            spectra=spectra,
            free=np.abs(free),
            reference=Reference.measure(sound, free),
        )

    @property
    def published(self) -> dict[int, published.Row]:
        """Rows of the paper's table whose models have the same numbers of parameters."""
        return {
            rank: row
            for rank, row in published.TABLE.items()
            if rank in self.by_rank and self.by_rank[rank][0]["parameters"] == row.parameters
        }

    @property
    def seconds(self) -> float:
        """Time of all fits, added up over the processes."""
        rows = [row for fits in self.by_rank.values() for row in fits]
        return sum(row["seconds"] for row in [*rows, *self.plain.values()])


def median_row(rows: Sequence[Row]) -> Row:
    """Return the start with the median weight error, the better of two in the middle."""
    return sorted(rows, key=lambda row: row["weight_error"])[(len(rows) - 1) // 2]
