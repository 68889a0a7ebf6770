"""Where a fit starts: drawn cores, or cores that a user or an earlier fit gives."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..networks import CPD, Additive, flatten
from ..objective import Objective
from ..objective.terms import new_terms

#: root mean square of the responses at the start of a fit whose loss is not quadratic
SMALL = 0.1
#: updates of main effects alone under a loss that is not quadratic, and the least gain of one
MOST_UPDATES, LEAST_GAIN = 25, 1e-4


def draw(objective: Objective, kind: str, rng: np.random.RandomState) -> list[Any]:
    """Cores of a named kind of start.

    Main effects are fitted alone, and the objective begins at their smoothness; a network beside
    them starts from what they leave unexplained, or is small.
    """
    if objective.network.has_main_effects:
        return _draw_beside(objective, kind, rng)
    return _draw(objective, kind, rng)


def _draw_beside(objective: Any, kind: str, rng: np.random.RandomState) -> list[Any]:
    network = objective.network
    iterate = fit_main_effects(objective)
    n_columns = len(objective.columns)
    objective.precisions[n_columns:] = iterate.main_precisions
    if network.network is None:
        return iterate.cores
    if kind == "smooth" and isinstance(network.network, CPD) and n_columns > 1:
        return [*new_terms(objective, iterate, network.rank, rng), *iterate.cores]
    inner = _draw(objective.with_parts(network.network), kind, rng)
    flatten(inner)[0] *= SMALL
    return [*inner, *iterate.cores]


def fit_main_effects(objective: Any) -> Any:
    """Iterate of the main effects alone, at their best."""
    network = Additive(None, objective.network.functions)
    alone = objective.with_parts(network)
    iterate = alone.at([network.no_effects(objective.n_outputs)])
    last = np.inf
    for _ in range(1 if objective.loss.is_quadratic else MOST_UPDATES):
        value = alone.update(iterate, 0)[-1]
        if last - value < LEAST_GAIN * abs(value):
            break
        last = value
    return iterate


def _draw(objective: Objective, kind: str, rng: np.random.RandomState) -> list[Any]:
    constants = [column.feature_map.constant() for column in objective.columns]
    cores = objective.network.start(constants, objective.n_outputs, objective.is_complex, kind, rng)
    if not objective.loss.is_quadratic:
        _shrink(objective, cores)
    return cores


def _shrink(objective: Objective, cores: list[Any]) -> None:
    """Scale drawn cores, in place, to responses near 0, where a quadratic model serves best.

    The first update under a quadratic loss does not see the scale.  Other losses do: started
    at responses of the size of the rank, half of the first steps of a logistic loss were taken
    back, and five epochs came as far as two from here (banana).
    """
    squares, count = objective.sum_with_responses(_squares, objective.at(cores))
    size = np.sqrt(squares / count)
    if size > SMALL:
        core = flatten(cores)[0]
        core *= SMALL / size


def _squares(shard: Any, response: NDArray, run: Any) -> NDArray[np.float64]:
    """Sum of |f|², and how many there are."""
    return np.array([float(np.vdot(response, response).real), response.size])


def check_given(objective: Objective, given: Any, labels: Sequence[str]) -> list[Any]:
    """Copy given cores after checking their layout, shapes and type."""
    shapes = objective.shapes
    if objective.network.has_main_effects:
        labels = [*[*labels, "the outputs"][: len(shapes) - 1], "the main effects"]
    labels = [*labels, "the outputs"][: len(shapes)]
    if len(labels) < len(shapes) or isinstance(shapes[0], tuple):  # one core a vertex
        radices = [column.radices for column in objective.columns]
        labels = objective.network.structure(radices, objective.n_outputs).vertices
    if not _has_length(given, len(shapes)):
        raise ValueError(
            f"The cores must be a list of {len(shapes)} entries, one for each of "
            f"{', '.join(labels)}; given was {_describe(given)}."
        )
    cores: list[Any] = []
    for n, (entry, shape, label) in enumerate(zip(given, shapes, labels, strict=True)):
        is_complex = objective.is_complex and n < len(shapes) - bool(objective.network.n_real)
        if isinstance(shape, tuple):
            cores.append(_check_core(entry, shape, is_complex, f"The core of {label}"))
            continue
        if not _has_length(entry, len(shape)):
            raise ValueError(
                f"The cores of {label} must be a list of {len(shape)}, one for each level; given "
                f"was {_describe(entry)}."
            )
        cores.append([
            _check_core(core, s, is_complex, f"The core of {label}, level {k}")
            for k, (core, s) in enumerate(zip(entry, shape, strict=True))
        ])  # fmt: skip
    return cores


def is_zero(cores: list[Any]) -> bool:
    """Whether the response is zero everywhere: no update would ever change these cores."""
    return any(not core.any() for core in flatten(cores))


def _check_core(core: Any, shape: tuple[int, ...], is_complex: bool, what: str) -> NDArray:
    try:
        core = np.array(core, dtype=np.complex128)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be an array of numbers; given was {core!r}.") from None
    if core.shape != shape:
        raise ValueError(f"{what} has the shape {core.shape} where {shape} belongs.")
    if not np.isfinite(core).all():
        raise ValueError(f"{what} has entries that are not finite.")
    if is_complex:
        return core
    if core.imag.any():
        raise ValueError(f"{what} is complex, but all features are real; give its real part.")
    return np.ascontiguousarray(core.real)


def _has_length(value: Any, length: int) -> bool:
    return isinstance(value, list | tuple | np.ndarray) and len(value) == length


def _describe(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)
