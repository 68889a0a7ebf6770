"""Which member of a family of penalties a column's weights ask for."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .priors import Penalty

#: columns of more functions keep the penalty they start with: their weights are too many
MOST_FUNCTIONS = 4096
#: how much a member gains by variances that are small throughout, which keeps columns alive: with
#: 0 the one under which the weights cost least is chosen, with 1 the likeliest given the weights
FLATTENING = 0.1
#: precisions of families that were asked for, by penalty and functions
_KNOWN: dict[object, NDArray[np.float64]] = {}


class Family:
    """Members of a column's penalty, and their precisions (n_members, M) if there is a choice."""

    def __init__(self, penalty: Any, feature_map: Any):
        self.start = penalty.precision(feature_map)
        self.members = [penalty.settled()]
        self.precisions: NDArray[np.float64] | None = None
        is_categorical = feature_map.is_categorical
        if self.start is not None and (is_categorical or feature_map.n_features <= MOST_FUNCTIONS):
            members = penalty.members()
            if is_categorical:  # shares alone make a difference
                members = list({member.share: member for member in members}.values())
            if len(members) > 1:
                self.members = members
                frequencies = feature_map.frequencies
                functions = b"" if frequencies is None else frequencies.tobytes()
                key = repr(penalty), feature_map.n_features, feature_map.has_gaps, functions
                if key not in _KNOWN:
                    if len(_KNOWN) > 64:
                        _KNOWN.clear()
                    _KNOWN[key] = 1 / np.array([m.variances_of(feature_map) for m in members])
                self.precisions = _KNOWN[key]
                self.sizes = np.log(self.precisions).mean(axis=1)
                self.start = self.precision_of(penalty.settled())

    def choose(self, energies: NDArray[np.float64], most: float) -> NDArray[np.float64]:
        """Return the precision of the member that suits weights of some energies.

        It minimises log(cost) + FLATTENING·mean(log variances) among those of a cost of `most` at
        most; if there is none, it is the one of the least cost. Energies (M,) are what precisions
        multiply in the penalty.
        """
        assert self.precisions is not None
        costs = self.precisions @ energies
        merits = np.log(np.maximum(costs, 1e-300)) - FLATTENING * self.sizes
        merits[costs > max(most, costs.min())] = np.inf
        return self.precisions[int(np.argmin(merits))]

    def precision_of(self, member: Penalty) -> NDArray[np.float64] | None:
        """Return the precision of a member."""
        if self.precisions is None:
            return self.start
        wanted = vars(member)
        found = [vars(each) == wanted for each in self.members]
        return self.precisions[found.index(True)] if any(found) else self.start

    def member_of(self, precision: NDArray[np.float64] | None) -> Penalty:
        """Return the member that a precision belongs to."""
        if self.precisions is None or precision is None:
            return self.members[0]
        return self.members[int(np.argmin(np.abs(np.log(self.precisions / precision)).sum(axis=1)))]
