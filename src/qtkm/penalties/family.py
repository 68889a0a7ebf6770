"""Which member of a family of penalties a column's weights ask for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .base import Penalty

#: columns of more functions keep the penalty they start with: their weights are too many
MOST_FUNCTIONS = 4096
#: families whose precisions are kept
MOST_KNOWN = 64


#: precisions of families that were asked for, by penalty and frequencies
_KNOWN: dict[Any, NDArray[np.float64]] = {}


def _precisions(
    name: str, members: list[Penalty], frequencies: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Precisions of all members, kept for columns with the same frequencies."""
    key = name, frequencies.tobytes()
    if key not in _KNOWN:
        if len(_KNOWN) > MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[key] = 1 / np.array([member.variances(frequencies) for member in members])
    return _KNOWN[key]


class Family:
    """Members of a column's penalty at the functions of its feature map.

    Parameters
    ----------
    penalty : Penalty
    feature_map : FeatureMap

    Attributes
    ----------
    members : list of Penalty
    precisions : (n_members, M) array, or None
        None where there is nothing to choose.
    """

    def __init__(self, penalty: Penalty, feature_map: Any):
        self.start = penalty.precision(feature_map)
        self.members = [penalty]
        self.precisions: NDArray[np.float64] | None = None
        if self.start is not None and feature_map.n_features <= MOST_FUNCTIONS:
            members = penalty.members()
            if len(members) > 1:
                self.members = members
                self.precisions = _precisions(repr(penalty), members, feature_map.frequencies)

    def cheapest(self, energies: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the precision of the member under which weights of some energies cost least.

        Parameters
        ----------
        energies : (M,) array
            Of every function Σ |w|² over all else: what its precision multiplies in the penalty.
        """
        assert self.precisions is not None
        return self.precisions[int(np.argmin(self.precisions @ energies))]

    def member_of(self, precision: NDArray[np.float64] | None) -> Penalty:
        """Return the member that a precision belongs to."""
        if self.precisions is None or precision is None:
            return self.members[0]
        return self.members[int(np.argmin(np.abs(np.log(self.precisions / precision)).sum(axis=1)))]
