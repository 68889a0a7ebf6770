"""What is tried: the grid of parameters, checked, with "auto" filled in."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from sklearn.model_selection import ParameterGrid

from ..estimators import parts
from ..estimators.defaults import alpha as default_alpha
from ..parameters import check_numbers, plain_entries
from .posed import Posed

#: parameters of a search, and those of the estimator that they are lists of
NAMES = {"alphas": "alpha", "n_basis": "n_basis", "periods": "period", "ranks": "rank"}
#: "auto": these multiples of what the estimator would choose by itself
MULTIPLES = {
    "alphas": (100.0, 1.0, 0.01),
    "n_basis": (0.5, 1, 2),
    "periods": (0.5, 1.0, 2.0),
    "ranks": (0.5, 1, 2),
}


def check_lists(search: Any) -> None:
    """Raise a ValueError for lists that no estimator could use, before rows are read."""
    least = {"alphas": (Real, 0.0), "n_basis": (Integral, 1), "periods": (Real, 1.0),
             "ranks": (Integral, 1)}  # fmt: skip
    for name, bound in least.items():
        given = getattr(search, name)
        if not (isinstance(given, str) and given == "auto"):
            check_numbers(name, given, *bound)


def make_candidates(search: Any, posed: Posed, n_rows: int) -> list[dict[str, Any]]:
    """All combinations, in the order of scikit-learn's ParameterGrid.

    Parameters
    ----------
    search : QTKMRegressorCV or QTKMClassifierCV
    posed : Posed
        Training rows of a fold.
    n_rows : int
        Number of rows of the model that is fitted in the end.
    """
    shape = (max(posed.shape[0], round(n_rows * posed.share)), posed.shape[1])
    grid = {}
    has_period = any(hasattr(feature_map, "period") for feature_map in posed.maps(posed.estimator))
    for name, parameter in NAMES.items():
        given = getattr(search, name)
        if name == "periods" and not has_period:
            continue
        values = _auto(name, posed, shape) if isinstance(given, str) else plain_entries(given)
        if values is not None:
            grid[parameter] = values
    return list(ParameterGrid(grid))


def _auto(name: str, posed: Posed, shape: tuple[int, int]) -> list[Any] | None:
    """Multiples of the default; None where the estimator says what it is to be."""
    estimator = posed.estimator
    own: Sequence[Any]
    if name == "alphas":
        own = [estimator.alpha]
        default: Any = default_alpha(*shape)
    elif name == "ranks":
        own = [estimator.rank, getattr(estimator.network, "rank", "auto")]
        network = parts.make_network(estimator, shape, posed.n_outputs, None)
        default = getattr(network, "rank", None)
    else:
        parameter = NAMES[name]
        bases = estimator.basis if isinstance(estimator.basis, list | tuple) else [estimator.basis]
        own = [getattr(estimator, parameter), *(getattr(b, parameter, "auto") for b in bases)]
        maps = posed.maps(estimator, shape)
        default = max((getattr(m, parameter) for m in maps if hasattr(m, parameter)), default=None)
    if default is None or any(not isinstance(v, str) or v != "auto" for v in own):
        return None
    least = 0.0 if name == "alphas" else 1
    scaled = (max(least, type(default)(default * factor)) for factor in MULTIPLES[name])
    return sorted(set(scaled), reverse=name == "alphas")
