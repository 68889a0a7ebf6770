"""What "auto" stands for.

Under the norm of the weights (`penalty="ridge"`) this is the model of the paper with the rules of
docs/decisions/0004-defaults.md: nothing tells a smooth function from a rough one, so the band (M/L
frequencies per unit) and the rank keep a model from fitting noise, and both grow with the number
of rows per column.  Under any other penalty the prior does that, and the rules are those of
docs/decisions/0016-automatic.md.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..networks import Additive
from ..penalties import Ridge
from ..solvers import REGISTRY

AUTO = "auto"
#: basis functions of a column and period under a prior; 27 has the digits 9 and 3
N_BASIS, PERIOD = 27, 2.0
#: part of the range of the targets by which a prediction may leave it
MARGIN = 0.1


def is_auto(value: Any) -> bool:
    """Return True for the word "auto"."""
    return isinstance(value, str) and value == AUTO


def is_plain(estimator: Any) -> bool:
    """Return True if all columns have the paper's penalty, the norm of the weights."""
    given = getattr(estimator, "penalty", "ridge")  # baselines have none here
    each = (
        given
        if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str)
        else [given]
    )
    return all(isinstance(own, Ridge) or own == "ridge" for own in each)


def main_effects(estimator: Any) -> bool:
    """Return True if main effects stand beside the network."""
    if not is_auto(estimator.main_effects):
        return bool(estimator.main_effects)
    if getattr(estimator, "_goes_on", False):
        return estimator.network_.has_main_effects
    if is_plain(estimator):
        return False
    init, solver = estimator.init, estimator.solver
    if not isinstance(init, str):  # cores of a network alone, or with the main effects last
        return len(init) > 1 and isinstance(init[-1], list) and np.ndim(init[-1][-1]) == 1
    kind = REGISTRY.get(solver) if isinstance(solver, str) else type(solver)
    return kind is None or issubclass(Additive, getattr(kind, "fits", object))


def scaling(estimator: Any) -> str:
    """Return how values of the columns are placed in their boxes."""
    if not is_auto(estimator.scaling):
        return estimator.scaling
    return "range" if is_plain(estimator) else "half"


def prediction_margin(estimator: Any) -> float | None:
    """Return the part of their range by which predictions may leave the targets."""
    if not is_auto(estimator.prediction_margin):
        return estimator.prediction_margin
    return None if is_plain(estimator) else MARGIN


def n_basis(estimator: Any, feature_map: Any, shape: tuple[int, int]) -> int:
    """Return the number of basis functions of a column."""
    if not is_plain(estimator) and hasattr(feature_map, "period"):
        return N_BASIS
    rows = shape[0] / shape[1]
    if rows < 40:
        return 4
    if rows < 150:
        return 16
    return 32 if rows < 5000 else 64


def period(estimator: Any, feature_map: Any, shape: tuple[int, int]) -> float:
    """Return the period in units of the box."""
    if not is_plain(estimator):
        return PERIOD
    rows = shape[0] / shape[1]
    if rows < 40:
        return 10.0
    return 4.0 if rows < 5000 else 8.0


def least_rank(n_outputs: int, is_cpd: bool) -> int:
    """Return the rank below which several outputs would be too alike.

    Ten digits (1,797 rows, 64 columns) were told apart with an accuracy of 0.20 at rank 2, of
    0.95 at rank 10 and of 0.97 at rank 20.  Other networks than a CPD grow faster with their rank.
    """
    if n_outputs == 1:
        return 1
    return min(40, 2 * n_outputs) if is_cpd else min(10, n_outputs)


def alpha(n_rows: int, n_columns: int) -> float:
    """Return the regularization of the weights for standardized targets."""
    return 1.0 / n_rows


def tol(has_validation: bool) -> float:
    """Return the least relative progress of an epoch; a larger one also holds off noise."""
    return 1e-3 if has_validation else 5e-3
