"""Penalties of one column: prior variances of the weights of its functions, and their families.

The penalty of a model is α·Σ_m |w_m|² / Π_d s_d[m_d]: the weight of function m of column d has
the prior variance s_d[m].  A penalty computes these variances from the frequencies of a feature
map; it depends neither on rows nor on the network.

Parameters that are "auto" are learned: the variances of all members of a family sum to 1, so the
member under which the weights cost least can be chosen at any time, and the objective never rises.
"""

from functools import cached_property
from itertools import product
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..parameters import is_number, keep_parameters

Choices = dict[str, tuple[float, tuple[float, ...], float, str]]

#: columns of more functions keep the penalty they start with: their weights are too many
MOST_FUNCTIONS = 4096
#: how much a member gains by variances that are small throughout, which keeps columns alive: with
#: 0 the one under which the weights cost least is chosen, with 1 the likeliest given the weights
FLATTENING = 0.1
#: variances below this fraction of the largest are raised to it, so that weights stay finite
LEAST_VARIANCE = 1e-13
#: part of its variance in which a missing value differs from a typical one; see record 0017. With
#: the share of the column instead, gaps at random cost 10 % more error than the mean filled in
GAP_SHARE = 0.1


class Penalty(BaseEstimator):
    """Interface of a column's prior; parameters are those of the constructor."""

    #: for every parameter that may be learned: where it starts, what there is to choose from, its
    #: greatest value, and what it must be
    choices: ClassVar[Choices] = {}

    def variances(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the prior variances (M,) of the weights, which sum to 1; None for all alike.

        `frequencies` (M,) are the angular ones of the functions, see `FeatureMap.frequencies`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no variances.")

    def variances_of(self, feature_map: Any) -> NDArray[np.float64] | None:
        """Return the prior variance of the weight of each function of a map, or None for 1.

        Pooled categories have k = (1 - a) + a·δ with a the share of the penalty; so do present and
        missing values, with a = `GAP_SHARE`. Maps whose functions have no frequencies are treated
        alike by all penalties.
        """
        if feature_map.is_categorical:
            share = getattr(self.settled(), "share", None)
            if share is None or feature_map.is_one_hot:
                return None
            found = share * np.ones(feature_map.n_features)
            found[..., :1] = np.maximum(1 - share, 1e-3)
            return found
        own = feature_map.inner if feature_map.has_gaps else feature_map
        variances = None if own.frequencies is None else self.variances(own.frequencies)
        if variances is None or not feature_map.has_gaps:
            return variances
        return np.kron(np.array([1 - GAP_SHARE / 2, GAP_SHARE / 2]), variances)

    def precision(self, feature_map: Any) -> NDArray[np.float64] | None:
        """Return the factor of the squared weight of each function, or None for 1."""
        variances = self.variances_of(feature_map)
        return None if variances is None else 1 / variances

    def learned(self) -> Choices:
        """Return the entries of `choices` whose parameters are "auto"."""
        return {name: c for name, c in self.choices.items() if isinstance(getattr(self, name), str)}

    def settled(self, **values: Any) -> Any:
        """Return the same penalty with learned parameters as given, or where they start."""
        other = object.__new__(type(self))  # scikit-learn's copies cost ten times as much
        start = {name: choice[0] for name, choice in self.learned().items()}
        other.__dict__.update(self.__dict__ | start | values)
        return other

    def check(self, name: str) -> None:
        """Raise a ValueError for invalid parameters; `name` is that of the column."""
        for parameter, (_, _, most, what) in self.choices.items():
            value = getattr(self, parameter)
            is_valid = is_number(value, Real) and 0 < value <= most and value < np.inf
            if not is_valid and not (isinstance(value, str) and value == "auto"):
                raise ValueError(
                    f"{parameter}={value!r} of {name} must be {what} or 'auto' to learn it."
                )


class Ridge(Penalty):
    """Squared norm of the weights, the penalty of the paper.

    It is the prior of a kernel machine whose kernel is a product of Dirichlet kernels: all
    frequencies are alike, so smoothness depends only on the number of functions.
    """

    def variances(self, frequencies: NDArray[np.float64]) -> None:
        return None

    def variances_of(self, feature_map: Any) -> None:
        return None  # without the frequencies, which may be too many to list


class SpectralPenalty(Penalty):
    """Prior whose variances are a density over frequencies, mixed with a constant.

    k = (1 - share) + share·k_ℓ is the kernel of a column.  The product over the columns is an
    ANOVA kernel: interactions of order j have weight share^j, so small shares favour additive
    models.
    """

    length_scale: Any
    share: Any
    choices: ClassVar[Choices] = {
        "length_scale": (
            0.4, (0.1, 0.2, 0.4, 0.8, 1.6, 3.2), np.inf,
            "a finite number > 0, in units of the box, such as 0.3;",
        ),
        "share": (
            0.6, (0.003, 0.01, 0.03, 0.1, 0.3, 0.6, 1.0), 1,
            "a number > 0 and <= 1: the fraction of the variance that is not constant;",
        ),
    }  # fmt: skip

    def density(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the spectral density up to a factor."""
        raise NotImplementedError

    def variances(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        own = self.settled()  # parameters are numbers, or (n_members, 1) for a whole family
        density = own.density(frequencies)
        variances = own.share * density / density.sum(axis=-1, keepdims=True)
        variances[..., np.abs(frequencies) == np.abs(frequencies).min()] += 1 - own.share
        return np.maximum(variances, LEAST_VARIANCE * variances.max(axis=-1, keepdims=True))


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
    s(ω) ∝ (2ν/ℓ² + ω²)^-(ν + 1/2); Rasmussen, Williams, "Gaussian Processes for Machine Learning",
    MIT Press, 2006, Section 4.2.
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
        self.penalty, self.start = penalty, penalty.precision(feature_map)
        self.precisions: NDArray[np.float64] | None = None
        is_categorical = feature_map.is_categorical  # whose shares alone make a difference
        choices = {
            n: c[1] for n, c in penalty.learned().items() if n == "share" or not is_categorical
        }
        few = is_categorical or feature_map.n_features <= MOST_FUNCTIONS
        self.names, self.values = list(choices), list(product(*choices.values()))
        if self.start is not None and choices and few:
            columns = np.array(self.values).T[:, :, None]
            whole = penalty.settled(**dict(zip(choices, columns, strict=True)))
            self.precisions = 1 / whole.variances_of(feature_map)
            self.sizes = np.log(self.precisions).mean(axis=1)
            self.start = self.precision_of(penalty.settled())

    @cached_property
    def members(self) -> list[Penalty]:
        """Penalties that a fit chooses from."""
        if self.precisions is None:
            return [self.penalty.settled()]
        pairs = (zip(self.names, each, strict=True) for each in self.values)
        return [self.penalty.settled(**dict(each)) for each in pairs]

    def choose(self, energies: NDArray[np.float64], most: float) -> NDArray[np.float64]:
        """Return the precision of the member that suits weights with these energies.

        It minimizes log(cost) + FLATTENING·mean(log variances) among members with a cost of at
        most `most`, or has the least cost if there are none. Energies (M,) are the factors of the
        precisions in the penalty.
        """
        assert self.precisions is not None
        costs = self.precisions @ energies
        merits = np.log(np.maximum(costs, 1e-300)) - FLATTENING * self.sizes
        merits[costs > max(most, costs.min())] = np.inf
        return self.precisions[int(np.argmin(merits))]

    def precision_of(self, member: Penalty) -> NDArray[np.float64] | None:
        """Return the precision of a member."""
        wanted = vars(member)
        found = [i for i, each in enumerate(self.members) if vars(each) == wanted]
        return self.precisions[found[0]] if found and self.precisions is not None else self.start

    def member_of(self, precision: NDArray[np.float64] | None) -> Penalty:
        """Return the member that a precision belongs to."""
        if self.precisions is None or precision is None:
            return self.members[0]
        return self.members[int(np.argmin(np.abs(np.log(self.precisions / precision)).sum(axis=1)))]
