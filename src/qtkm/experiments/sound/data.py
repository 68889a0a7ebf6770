"""The sound as the experiment sees it: amplitudes standardized by the training rows."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...datasets import load_sound
from ..options import Options

#: a quick run takes the samples up to this position
QUICK_SAMPLES = 6000


@dataclass(frozen=True)
class Sound:
    """Training rows around the gaps, test rows inside of them.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (n_rows, 1)
        Positions of the samples.
    y_train, y_test : ndarray of shape (n_rows,)
        Amplitudes, standardized by mean and deviation (ddof=1) of the training rows.
    """

    X_train: NDArray
    X_test: NDArray
    y_train: NDArray
    y_test: NDArray

    def turns(self, X: NDArray) -> NDArray:
        """Positions scaled to [0, 1] by the least and the greatest of the training rows."""
        low, high = self.X_train.min(), self.X_train.max()
        return (X[:, 0] - low) / (high - low)

    @property
    def gaps(self) -> list[int]:
        """Lengths of the gaps in samples: runs of test rows without a training row between."""
        between = np.searchsorted(np.sort(self.X_train[:, 0]), np.sort(self.X_test[:, 0]))
        return np.unique(between, return_counts=True)[1].tolist()


def load(options: Options) -> Sound:
    """Read and standardize the sound; a quick run takes the beginning of it.

    Parameters
    ----------
    options : Options

    Returns
    -------
    Sound
    """
    X_train, y_train = _read("train", options)
    X_test, y_test = _read("test", options)
    if len(y_test) == 0:
        raise ValueError(
            f"the sound has no test row among its first {QUICK_SAMPLES} samples, so a quick run "
            "has nothing to test; run it without the quick option"
        )
    mean, scale = y_train.mean(), y_train.std(ddof=1)
    return Sound(X_train, X_test, (y_train - mean) / scale, (y_test - mean) / scale)


def _read(subset: Literal["train", "test"], options: Options) -> tuple[NDArray, NDArray]:
    X, y = load_sound(subset=subset, return_X_y=True, as_frame=False, data_home=options.data_home)
    if not options.quick:
        return X, y
    rows = X[:, 0] <= QUICK_SAMPLES
    return X[rows], y[rows]
