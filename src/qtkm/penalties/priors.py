"""Penalties of one column: prior variances of the weights of its functions, and their families.

The penalty of a model is α·Σ_m |w_m|² / Π_d s_d[m_d]: the weight of function m of column d has
the prior variance s_d[m].  A penalty gives these variances from what a feature map says of its
functions.  It knows no rows and no network.

A parameter that is "auto" is learned: all members of a family have variances that sum to 1, so
that the one under which some weights cost least can be chosen at any time, and a fit never costs
more than before.
"""

from collections.abc import Sequence
from itertools import product
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..parameters import is_number, keep_parameters

#: columns of more functions keep the penalty they start with: their weights are too many
MOST_FUNCTIONS = 4096
#: how much a member gains by variances that are small throughout, which keeps columns alive: with
#: 0 the one under which the weights cost least is chosen, with 1 the likeliest given the weights
FLATTENING = 0.1
#: precisions of families that were asked for, by penalty and functions
_KNOWN: dict[object, NDArray[np.float64]] = {}
#: variances below this fraction of the largest are raised to it, so that weights stay finite
LEAST_VARIANCE = 1e-13
#: part of its variance in which a missing value differs from a typical one; see record 0017. With
#: the share of the column instead, gaps at random cost 10 % more error than the mean filled in
GAP_SHARE = 0.1


class Penalty(BaseEstimator):
    """Interface of a column's prior; parameters are those of the constructor."""

    def variances(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the prior variance of the weight of each function; they sum to 1.

        Parameters
        ----------
        frequencies : (M,) array
            Angular frequency of every function, see `FeatureMap.frequencies`.

        Returns
        -------
        (M,) array, or None to treat all functions alike.
        """
        raise NotImplementedError(f"{type(self).__name__} has no variances.")

    def variances_of(self, feature_map: Any) -> NDArray[np.float64] | None:
        """Return the prior variance of the weight of each function of a map, or None for 1.

        Pooled categories have k = (1 - a) + a·δ with a the share of the penalty, and so have a
        value that is present and one that is missing, with a = `GAP_SHARE`. A map whose functions
        have no frequencies is treated alike by all penalties.
        """
        if feature_map.is_categorical:
            share = getattr(self.settled(), "share", None)
            if share is None or feature_map.is_one_hot:
                return None
            found = np.full(feature_map.n_features, float(share))
            found[0] = max(1 - share, 1e-3)
            return found
        own = feature_map.inner if feature_map.has_gaps else feature_map
        variances = None if own.frequencies is None else self.variances(own.frequencies)
        if variances is None or not feature_map.has_gaps:
            return variances
        return np.kron(np.array([1 - GAP_SHARE / 2, GAP_SHARE / 2]), variances)

    def precision(self, feature_map: Any) -> NDArray[np.float64] | None:
        """Return what multiplies the squared weight of each function, or None for 1."""
        variances = self.variances_of(feature_map)
        return None if variances is None else 1 / variances

    def members(self) -> "list[Penalty]":
        """Return the members of the family among which a fit chooses; itself if there is one."""
        return [self]

    def settled(self) -> "Penalty":
        """Return the same penalty with parameters that are learned at their start."""
        return self

    def check(self, name: str) -> None:
        """Raise a ValueError for parameters that make no sense; `name` is the column's."""


class Ridge(Penalty):
    """Squared norm of the weights.

    Notes
    -----
    α‖w‖² is the penalty of the paper.  It is the prior of a kernel machine whose kernel is a
    product of Dirichlet kernels: all frequencies are alike, so that smoothness comes from the
    number of functions alone.
    """

    def variances(self, frequencies: NDArray[np.float64]) -> None:
        return None


class SpectralPenalty(Penalty):
    """A prior whose variances are a density over frequencies, mixed with a constant.

    k = (1 - share) + share·k_ℓ is the kernel of a column.  The product over the columns is an
    ANOVA kernel: interactions of order j carry share^j, so small shares pull towards additive
    models.
    """

    length_scale: Any
    share: Any
    #: for every parameter that may be learned: where it starts, what there is to choose from, its
    #: greatest value, and what it must be
    choices: ClassVar[dict[str, tuple[float, tuple[float, ...], float, str]]] = {
        "length_scale": (
            0.4, (0.1, 0.2, 0.4, 0.8, 1.6, 3.2), np.inf,
            "a finite number > 0, in units of the box, such as 0.3;",
        ),
        "share": (
            0.6, (0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0), 1,
            "a number > 0 and <= 1: the part of the variance that is not constant;",
        ),
    }  # fmt: skip

    def density(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the spectral density up to a factor."""
        raise NotImplementedError

    def settled(self) -> Any:
        learned = self._learned()
        return self._with([each[0] for each in learned.values()]) if learned else self

    def members(self) -> list[Penalty]:
        choices = product(*(each[1] for each in self._learned().values()))
        return [self._with(values) for values in choices]

    def _learned(self) -> dict[str, Any]:
        return {name: c for name, c in self.choices.items() if isinstance(getattr(self, name), str)}

    def _with(self, values: Sequence[float]) -> Any:
        other = object.__new__(type(self))  # scikit-learn's copies cost ten times as much
        other.__dict__.update(self.__dict__, **dict(zip(self._learned(), values, strict=True)))
        return other

    def variances(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        own = self.settled()
        density = own.density(frequencies)
        variances = own.share * density / density.sum()
        variances[np.abs(frequencies) == np.abs(frequencies).min()] += 1 - own.share
        return np.maximum(variances, LEAST_VARIANCE * variances.max())

    def check(self, name: str) -> None:
        for parameter, (_, _, most, what) in self.choices.items():
            value = getattr(self, parameter)
            is_valid = is_number(value, Real) and 0 < value <= most and value < np.inf
            if not is_valid and not (isinstance(value, str) and value == "auto"):
                raise ValueError(
                    f"{parameter}={value!r} of {name} must be {what} or 'auto' to learn it."
                )


class Matern(SpectralPenalty):
    """Spectral density of the Matérn kernel in one dimension.

    Parameters
    ----------
    nu : float or "auto"
        Smoothness: functions drawn from the prior have about `nu` derivatives. 0.5 suits rough
        data, 1.5 and 2.5 smooth data; "auto" learns which.
    length_scale : float or "auto"
        Distance over which the function changes, in units of the box; "auto" learns it.
    share : float or "auto"
        Part of the variance that is not constant, > 0 and <= 1; "auto" learns it.

    Notes
    -----
    s(ω) ∝ (2ν/ℓ² + ω²)^-(ν + 1/2) [1]_.

    References
    ----------
    .. [1] Rasmussen, Williams, "Gaussian Processes for Machine Learning", MIT Press, 2006,
       Section 4.2.
    """

    choices = SpectralPenalty.choices | {
        "nu": (1.5, (0.5, 1.5, 2.5), np.inf, "a finite number > 0, such as 0.5, 1.5 or 2.5;")
    }

    def __init__(self, nu="auto", length_scale="auto", share="auto"):
        keep_parameters(self, locals())

    def density(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        inverse = 2 * self.nu / self.length_scale**2
        return (1 + frequencies**2 / inverse) ** -(self.nu + 0.5)


class RBF(SpectralPenalty):
    """Spectral density of the squared-exponential kernel.

    Parameters
    ----------
    length_scale : float or "auto"
        Distance over which the function changes, in units of the box; "auto" learns it.
    share : float or "auto"
        Part of the variance that is not constant, > 0 and <= 1; "auto" learns it.

    Notes
    -----
    s(ω) ∝ exp(-ω²ℓ²/2).
    """

    def __init__(self, length_scale="auto", share="auto"):
        keep_parameters(self, locals())

    def density(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-0.5 * (self.length_scale * frequencies) ** 2)


class Family:
    """Members of a column's penalty, and their precisions (n_members, M) if there is a choice."""

    def __init__(self, penalty: Any, feature_map: Any):
        self.start = penalty.precision(feature_map)
        self.members = [penalty.settled()]
        self.precisions: NDArray[np.float64] | None = None
        is_categorical, count = feature_map.is_categorical, feature_map.n_features
        if self.start is None or (count > MOST_FUNCTIONS and not is_categorical):
            return
        members = penalty.members()
        if is_categorical:  # shares alone make a difference
            members = list({member.share: member for member in members}.values())
        if len(members) == 1:
            return
        frequencies = feature_map.frequencies
        functions = b"" if frequencies is None else frequencies.tobytes()
        key = repr(penalty), count, feature_map.has_gaps, functions
        if key not in _KNOWN:
            if len(_KNOWN) > 64:
                _KNOWN.clear()
            _KNOWN[key] = 1 / np.array([member.variances_of(feature_map) for member in members])
        self.members, self.precisions = members, _KNOWN[key]
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
