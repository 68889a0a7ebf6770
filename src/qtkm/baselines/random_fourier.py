"""Ridge regression on random Fourier features from the band of the library's Fourier features."""

from collections.abc import Iterable, Iterator
from numbers import Integral

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from ..estimators.model import filled_from
from ..parameters import as_random_state, check_number, check_option, keep_parameters
from .baseline import Baseline, ScaledRows, blocks
from .kernel import solve

#: features of a block and their targets, each times the root of the row's weight
Block = tuple[NDArray, NDArray]
#: ridge per row from which the normal equations of features of norm 1 give at least seven digits
LEAST_RIDGE = 1e-8


@filled_from(Baseline)
class RandomFourierRidge(Baseline):
    """Ridge regression on random Fourier features.

    `QTKMRegressor` learns a few of the product features from data; this model draws features at
    random, from the band of the same `n_basis` and `period`.

    Parameters
    ----------
    n_components : int, default=100
        Number P of random features, and of weights per output.
    kind : {"complex", "real"}, default="complex"
        Complex exponentials, or cosines with half their band.
    random_state : int, RandomState or None, default=None
        Seed for the features. Up to their scale, the first features are the same for every
        `n_components`.

    Attributes
    ----------
    frequencies_ : array of shape (n_features_in_, n_components)
        Angular frequencies w of columns in the unit box.
    offsets_ : array of shape (n_components,)
        Phases b.
    coef_ : array of shape (n_components, n_outputs)
        Weights, for the scaled targets; complex if `kind` is.

    Notes
    -----
    With u and t uniform on [-1/2, 1/2] and [0, 1], the features are

        complex   √(1/P)·exp(i·(w·x + b))    w = 2π·u·M/L    b = 2π·t
        real      √(2/P)·cos(w·x + b)        w = π·u·M/L     b = 2π·t

    and their weights c minimize (1/Σω) Σ_n ω_n·|f(x_n) - y_n|² + alpha·‖c‖²; a prediction is Re f.
    A complex model depends neither on the position of the box nor on the phases b; for a real one,
    the box [-1/2, 1/2] amounts to other phases.  The kernel of the features is 1 where that of
    `ProductKernelRidge` is Π_d M_d, so the same `alpha` is a stronger penalty here.

    Examples
    --------
    >>> import numpy as np
    >>> from qtkm.baselines import RandomFourierRidge
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> y = np.sin(6 * X[:, 0]) * X[:, 1]
    >>> model = RandomFourierRidge(50, period=8, alpha=1e-6, random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.99
    True
    """

    def __init__(
        self,
        n_components=100,
        *,
        kind="complex",
        n_basis=16,
        period="auto",
        alpha="auto",
        bounds=None,
        extrapolation="clip",
        normalize_y=True,
        random_state=None,
    ):
        keep_parameters(self, locals())

    def _fit(self, rows: ScaledRows) -> None:
        check_number("n_components", self.n_components, Integral, 1)
        check_option("kind", self.kind, ("complex", "real"))
        rng = as_random_state(self.random_state)
        rows = rows.take(np.flatnonzero(rows.weight > 0))
        self._draw(rng)
        self.alpha_ = self._alpha()
        shape = len(rows), self.n_components
        self.coef_ = ridge_weights(self._blocks(rows), shape, self.alpha_)

    def _draw(self, rng: np.random.RandomState) -> None:
        maps = self._make_maps("fourier", self.period)
        band = np.array([each.n_basis / each.period for each in maps])
        if self.kind == "real":
            band = band / 2
        # a component after the other: more of them leave the first as they are
        uniform = rng.uniform(size=(self.n_components, len(maps) + 1))
        self.frequencies_ = (2 * np.pi * (uniform[:, :-1] - 0.5) * band).T
        self.offsets_ = 2 * np.pi * uniform[:, -1]

    def _blocks(self, rows: ScaledRows) -> Iterator[Block]:
        root = rows.roots()
        for part in blocks(len(rows), self.n_components, least=self.n_components):
            yield root[part] * self._features(rows.values[part]), root[part] * rows.target[part]

    def _features(self, values: NDArray) -> NDArray:
        """Random features of values in the unit box: (n, n_components)."""
        angles = values @ self.frequencies_ + self.offsets_
        if self.kind == "real":
            return np.sqrt(2 / self.n_components) * np.cos(angles)
        return np.sqrt(1 / self.n_components) * np.exp(1j * angles)

    def _width(self) -> int:
        return self.n_components

    def _respond(self, values: NDArray) -> NDArray:
        return (self._features(values) @ self.coef_).real


def ridge_weights(blocks: Iterable[Block], shape: tuple[int, int], alpha: float) -> NDArray:
    """Return the minimum-norm minimizer of (1/n)·‖Z w - y‖² + alpha·‖w‖².

    Rows (Z, y) arrive in blocks, Z of norm about 1; memory is quadratic in the number of features.
    `shape` is (n_rows, n_features).
    """
    n_rows, n_features = shape
    ridge = n_rows * alpha
    if alpha >= LEAST_RIDGE and n_features > n_rows:  # a coefficient per row
        features, target = (np.vstack(parts) for parts in zip(*blocks, strict=True))
        adjoint = features.conj().T
        return adjoint @ solve(features @ adjoint, ridge, target)
    if alpha >= LEAST_RIDGE:
        gram: NDArray = np.diag(np.full(n_features, ridge))
        right: NDArray = np.zeros((n_features, 1))
        for features, target in blocks:
            adjoint = features.conj().T
            gram = gram + adjoint @ features
            right = right + adjoint @ target
        return cho_solve(cho_factor(gram, lower=True), right)
    kept: list[Block] = []
    for block in blocks:  # reduced to as many rows as features by QR, which squares nothing
        kept.append(block)
        if sum(len(features) for features, _ in kept) > n_features:
            features, target = (np.vstack(parts) for parts in zip(*kept, strict=True))
            orthogonal, triangle = np.linalg.qr(features)
            kept = [(triangle, orthogonal.conj().T @ target)]
    features, target = (np.vstack(parts) for parts in zip(*kept, strict=True))
    root, nothing = np.sqrt(ridge) * np.eye(n_features), np.zeros((n_features, target.shape[1]))
    system = np.vstack([features, root]), np.vstack([target, nothing])
    return np.linalg.lstsq(*system, rcond=None)[0]
