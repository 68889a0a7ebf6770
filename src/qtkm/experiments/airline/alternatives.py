"""What else one may run on such data: this library's defaults, and other people's methods.

The defaults stop early and start smoothly.  The others are what a user would take instead:
features of the Gaussian kernel with ridge regression, random features of the same band as
the machines', boosted trees, and a sparse Gaussian process where its extra is installed.
"""

from dataclasses import replace
from typing import Any

from sklearn.ensemble import HistGradientBoostingRegressor

from ...baselines import RandomFourierRidge
from ...estimators import QTKMRegressor
from .gaussian_process import INSTALL, SparseGaussianProcess, is_installed
from .kernel_features import KernelFeatureRidge
from .protocol import N_BASIS, PERIOD, Candidate, Setting, count_weights

COMPONENTS, QUICK_COMPONENTS = 1000, 200
#: splits that alternatives are run on: enough to see how far apart they are
SPLITS, PROCESS_SPLITS = 3, 1
GAUSSIAN_PROCESS = "sparse Gaussian process"


def defaults() -> list[Candidate]:
    """List both kinds of machine as a user of this library runs them.

    Returns
    -------
    list of Candidate
    """

    def plain(setting: Setting) -> QTKMRegressor:
        return QTKMRegressor(
            rank=8, quantization=None, random_state=setting.seed, n_jobs=setting.cores
        )

    def quantized(setting: Setting) -> QTKMRegressor:
        return QTKMRegressor(rank=40, random_state=setting.seed, n_jobs=setting.cores)

    return [
        Candidate("TKM R=8, defaults", plain, count_weights, 1.0, "TKM, defaults", SPLITS),
        Candidate("QTKM R=40, defaults", quantized, count_weights, 3.0, "QTKM, defaults", SPLITS),
    ]


def others() -> list[Candidate]:
    """List other methods.

    Returns
    -------
    list of Candidate
    """
    every = [
        Candidate("Nyström + ridge", _landmarks, _count_components, 2.0, "Nyström"),
        Candidate("random Fourier + ridge", _frequencies, _count_components, 1.5, "RFF"),
        Candidate(
            "random Fourier, same band", _same_band, _count_components, 1.5, "RFF, same band"
        ),
        Candidate("boosting, defaults", _boosting, _count_leaves, 0.2, "boosting"),
        Candidate("boosting, 500 trees", _more_boosting, _count_leaves, 0.8, "more boosting"),
        # one set tells how it compares; the three million flights would add minutes, not facts
        Candidate(
            GAUSSIAN_PROCESS,
            _process,
            _count_inducing,
            8.0,
            "GP",
            PROCESS_SPLITS,
            ("flights_2001",),
        ),
    ]
    return [replace(candidate, most_splits=candidate.most_splits or SPLITS) for candidate in every]


def why_no_process(quick: bool) -> str | None:
    """Why the Gaussian process is not run, or None if it is."""
    if quick:
        return "not part of a quick run"
    return None if is_installed() else f"GPJax is not installed; try: `{INSTALL}`"


def _components(setting: Setting) -> int:
    return QUICK_COMPONENTS if setting.quick else COMPONENTS


def _landmarks(setting: Setting) -> KernelFeatureRidge:
    return KernelFeatureRidge(
        "nystroem", n_components=_components(setting), random_state=setting.seed
    )


def _frequencies(setting: Setting) -> KernelFeatureRidge:
    return KernelFeatureRidge(
        "fourier", n_components=_components(setting), random_state=setting.seed
    )


def _same_band(setting: Setting) -> RandomFourierRidge:
    # its default penalty is that of noise as large as the function: see kernel_features.RIDGES
    return RandomFourierRidge(
        _components(setting),
        kind="real",
        n_basis=N_BASIS,
        period=PERIOD,
        random_state=setting.seed,
    )


def _boosting(setting: Setting) -> HistGradientBoostingRegressor:
    return HistGradientBoostingRegressor(random_state=setting.seed)


def _more_boosting(setting: Setting) -> HistGradientBoostingRegressor:
    # five times the default: boosting is far from converged at 100 trees here
    return HistGradientBoostingRegressor(max_iter=500, random_state=setting.seed)


def _process(setting: Setting) -> SparseGaussianProcess:
    return SparseGaussianProcess(random_state=setting.seed)


def _count_components(model: Any) -> int:
    return int(model.n_components)


def _count_leaves(model: Any) -> int:
    return int(model.n_iter_ * model.max_leaf_nodes)


def _count_inducing(model: Any) -> int:
    return int(model.n_inducing)
