"""The kernel of the features, a product over columns, and linear systems with it.

A Fourier kernel is complex, but mostly by a phase of either argument alone.  What is left is then
real and symmetric, which makes solving with it four times as cheap.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack

from ..features import FeatureMap, Fourier, Power
from .baseline import blocks

Array = NDArray[np.float64]
#: reciprocal condition down to which a Cholesky factor gives at least seven digits
LEAST_CONDITION = 1e-8
#: rank, as a share of the rows, up to which eigenvectors are sought in the range of the kernel
LARGEST_SHARE = 0.5


@dataclass(frozen=True)
class ProductKernel:
    """Kernel of all products of the columns' features.

    Parameters
    ----------
    maps : sequence of Fourier or Power
        One per column.
    variances : sequence of (M,) arrays or None
        Prior variances s of every column's weights; None stands for 1, the paper's penalty.

    Notes
    -----
    With v the features of a column,

        k(x, x') = Π_d Σ_m s_dm conj(v_dm(x_d)) v_dm(x'_d) = conj(p(x)) κ S(x, x') p(x'),

    where κ is the product of the M_d of columns without variances, p is `phase` and S is `scaled`.
    The mean frequency of an even number of Fourier functions is -1/2: p turns it away, so that S
    is real, but for variances of an even number of frequencies, one of which has no counterpart.
    S stays near 1 whatever the number of columns, where k may overflow.
    """

    maps: Sequence[FeatureMap]
    variances: Sequence[Array | None]

    def __post_init__(self) -> None:
        for feature_map in self.maps:
            if not isinstance(feature_map, Fourier | Power):
                raise ValueError(
                    f"basis={feature_map!r} has no kernel here; use one of Fourier, Power."
                )

    @property
    def log_size(self) -> float:
        """Logarithm of κ, the number of features where no column has variances."""
        pairs = zip(self.maps, self.variances, strict=True)
        return float(sum(np.log(each.n_features) for each, prior in pairs if prior is None))

    @property
    def is_complex(self) -> bool:
        """Whether S is complex."""
        return any(map(_is_unpaired, self.maps, self.variances))

    def relative(self, ridge: float) -> float:
        """Return the diagonal term of S that corresponds to adding `ridge` to that of k."""
        return float(np.exp(np.log(ridge) - self.log_size)) if ridge > 0 else 0.0

    def phase(self, values: Array) -> NDArray:
        """Phase p of rows (n, n_columns) in the unit box: (n, 1); real ones if all are powers."""
        turns = np.zeros(len(values))
        for feature_map, prior, column in zip(self.maps, self.variances, values.T, strict=True):
            even = isinstance(feature_map, Fourier) and feature_map.n_basis % 2 == 0
            if even and prior is None:
                turns -= column / (2 * feature_map.period)
        if not any(feature_map.is_complex for feature_map in self.maps):
            return np.ones((len(values), 1))
        return np.exp(2j * np.pi * turns)[:, None]

    def scaled(self, first: Array, second: Array) -> NDArray:
        """Kernel S between rows (n, n_columns) and (m, n_columns): (n, m)."""
        kernel = np.ones((len(first), len(second)), dtype=complex if self.is_complex else float)
        columns = zip(self.maps, self.variances, first.T, second.T, strict=True)
        for feature_map, prior, a, b in columns:
            left, right = (_features(feature_map, prior, values) for values in (a, b))
            for part in blocks(len(a), len(b)):
                kernel[part] *= left[part].conj() @ right.T
        return kernel


def _features(feature_map: FeatureMap, prior: Array | None, values: Array) -> NDArray:
    """Features whose inner products are a column of S: (n, M or 2M), real where S is."""
    features = feature_map.features(values)
    if feature_map.is_complex and not _is_unpaired(feature_map, prior):
        # frequencies around zero: the imaginary parts of their products cancel
        phase = ProductKernel([feature_map], [prior]).phase(values[:, None])
        features = features * phase.conj()
        features = np.hstack([features.real, features.imag])
        prior = None if prior is None else np.tile(prior, 2)
    return features * np.sqrt(1 / feature_map.n_features if prior is None else prior)


def _is_unpaired(feature_map: FeatureMap, prior: Array | None) -> bool:
    """Whether some frequency of a column has no counterpart of the same variance."""
    if prior is None or not isinstance(feature_map, Fourier):
        return False
    return feature_map.n_basis % 2 == 0 or not np.allclose(prior, prior[::-1], rtol=1e-12, atol=0)


def solve(kernel: NDArray, ridge: float, right: NDArray) -> NDArray:
    """Solve (K + ridge·I) c = right, by least squares of least norm where that is singular.

    The (n, n) kernel is Hermitian, positive semidefinite but for rounding, and of the order of 1.
    """
    shifted = kernel.copy(order="F")
    shifted.flat[:: len(kernel) + 1] += ridge
    norm = np.abs(shifted).sum(axis=0).max()
    try:
        factor = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return Eigenpairs(kernel).solve(ridge, right)
    estimate = lapack.zpocon if np.iscomplexobj(kernel) else lapack.dpocon
    if estimate(factor[0], norm, uplo="L")[0] < LEAST_CONDITION:
        return Eigenpairs(kernel).solve(ridge, right)
    return _by_parts(lambda array: cho_solve(factor, array, check_finite=False), kernel, right)


class Eigenpairs:
    """Eigenvectors of a kernel matrix, with which every ridge is solved in no time.

    Directions in which the kernel is nothing but rounding are left out: the functions there are
    smaller than their errors, which a small ridge would blow up.
    """

    def __init__(self, kernel: NDArray):
        values, vectors = _eigenvectors(kernel)
        least = len(kernel) * np.finfo(np.float64).eps * max(values[-1], 0.0)
        first = int(np.searchsorted(values, least, side="right"))
        self.values = values[first:]  # (rank,)
        self.vectors = vectors[:, first:]  # (n, rank)

    def solve(self, ridge: float, right: NDArray) -> NDArray:
        """Solve (K + ridge·I) c = right (n, k) in the directions that are left."""
        return self.scale(ridge, self.turn(right))

    def turn(self, right: NDArray) -> NDArray:
        """Return the coordinates of a right side: (rank, k)."""
        return times(self.vectors.conj().T, right)

    def scale(self, ridge: float, turned: NDArray) -> NDArray:
        """Solve for a right side that has been turned."""
        return times(self.vectors, turned / (self.values + ridge)[:, None])


def _eigenvectors(kernel: NDArray) -> tuple[NDArray, NDArray]:
    """Return ascending eigenvalues and eigenvectors, of a matrix of low rank those of its range."""
    factorize = lapack.zpstrf if np.iscomplexobj(kernel) else lapack.dpstrf
    triangle, order, rank, _ = factorize(kernel, lower=1)  # K = L Lᴴ, rows in another order
    if rank == 0 or rank > LARGEST_SHARE * len(kernel):
        return np.linalg.eigh(kernel)
    root = np.empty((len(kernel), rank), dtype=kernel.dtype)
    root[order - 1] = np.tril(triangle)[:, :rank]
    orthogonal, small = np.linalg.qr(root)
    values, vectors = np.linalg.eigh(small @ small.conj().T)
    return values, orthogonal @ vectors


def times(matrix: NDArray, array: NDArray) -> NDArray:
    """Multiply a matrix by an array; a real matrix need not become complex for it."""
    return _by_parts(lambda part: matrix @ part, matrix, array)


def _by_parts(linear: Callable[[NDArray], NDArray], matrix: NDArray, array: NDArray) -> NDArray:
    """Apply a linear map given by `matrix`; a real one to real and imaginary parts side by side."""
    if np.iscomplexobj(matrix) or not np.iscomplexobj(array):
        return linear(array)
    parts = linear(np.ascontiguousarray(array).view(np.float64))
    return np.ascontiguousarray(parts).view(array.dtype)
