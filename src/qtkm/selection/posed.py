"""A fit that is prepared once and solved many times, with other parameters each time.

Boxes, grids, codes, the scale of y and the sorted shards depend on the rows alone, so that all
candidates share them; what differs are feature maps, network and penalty:

    estimator, X, y ──► Posed ──► objective(model): the same shards, the model's maps, rank, alpha
"""

import copy
import functools
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data import Shard
from ..engines import Engine
from ..estimators import parts
from ..estimators.grids import BIN_ERROR, FEWEST_BINS
from ..estimators.reading import Reading
from ..objective import Column, Objective
from ..solvers import History, Result

#: gives the cores that a model's own fit would start from
Start = Callable[[], list[Any]]
#: name of the grids that hold every value, however many bins a candidate would allow
_EXACT = "exact"


class _Preparing:
    """An estimator whose `fit` ends where the solver would begin, and keeps what it has made."""

    def _alpha(self: Any, shape: tuple[int, int], known: Any) -> float:
        self._shape = shape
        return super()._alpha(shape, known)  # type: ignore[misc]

    def _start(self: Any, objective: Any, labels: Any, known: Any, rng: Any) -> Any:
        self._rng = copy.deepcopy(rng)

    def _solve(self: Any, solver: Any, objective: Any, validation: Any, cores: Any) -> Result:
        self._validation = validation
        return Result(None, 0, "max_iter", "", History())

    def _store(self: Any, result: Any, objective: Any, reading: Any) -> None:
        self._encoded = _Encoded(objective, self._validation, reading, self._rng, self._shape)


@functools.cache
def _preparing(kind: Any) -> type:
    return type(kind.__name__, (_Preparing, kind), {})


@dataclass
class _Encoded:
    """Rows on their grids: an objective to be changed, and what else a fit prepares.

    Attributes
    ----------
    objective : Objective
    validation : sequence of Shard or None
    reading : Reading
    rng : RandomState
        As a fit has it when it draws its first cores.
    shape : (int, int)
        Number of rows that differ, and of columns.
    columns : dict
        Feature maps and columns, by the parameters they come from.
    """

    objective: Objective
    validation: Sequence[Shard] | None
    reading: Reading
    rng: np.random.RandomState
    shape: tuple[int, int]
    columns: dict[str, tuple[list[Any], list[Column]]] = field(default_factory=dict)

    @property
    def is_exact_for_all(self) -> bool:
        """Whether every candidate with max_bins="auto" would have these very grids."""
        columns = self.objective.columns
        is_binned = any(getattr(column.grid, "is_binned", False) for column in columns)
        return not is_binned and max(map(len, columns)) <= FEWEST_BINS

    def place(self, model: Any, maps: list[Any]) -> tuple[list[Any], list[Column]]:
        """Feature maps of a model at the grids; columns keep their factors."""
        key = repr((model.n_basis, model.period))
        if key not in self.columns:
            self.columns[key] = (
                maps,
                [
                    Column(column.name, feature_map, column.box, column.grid)
                    for column, feature_map in zip(self.objective.columns, maps, strict=True)
                ],
            )
        return self.columns[key]


class Posed:
    """Training rows of a fit, prepared with an estimator's parameters.

    Parameters
    ----------
    estimator : QTKMRegressor or QTKMClassifier
    X, y, weight : as for its `fit`

    Attributes
    ----------
    shape : (int, int)
        Number of rows that differ, and of columns.
    n_outputs : int
    share : float
        Share of the rows that differ.
    """

    def __init__(self, estimator: Any, X: Any, y: Any, weight: NDArray | None):
        self.estimator, self._rows = estimator, (X, y, weight)
        self._encoded: dict[Any, _Encoded] = {}
        self._lock, self._last = threading.Lock(), threading.local()
        first, made = self._prepare(estimator)
        self.shape, self._inputs = made.shape, made.reading.inputs
        self._boxes = made.reading.boxes
        self.n_outputs, self.share = made.objective.n_outputs, made.shape[0] / len(y)
        # what `fit` sets beside what comes from the cores: names, classes, …
        own = {*estimator.get_params(deep=False), *vars(_Preparing), *_KEPT}
        self._fitted = {name: value for name, value in vars(first).items() if name not in own}
        self._keep(self._n_bins(estimator), made)

    def _prepare(self, model: Any) -> tuple[Any, _Encoded]:
        parameters = model.get_params(deep=False) | {"warm_start": False, "checkpoint": None}
        # a generator of random numbers is not used up, so that all candidates have the same
        parameters["random_state"] = copy.deepcopy(model.random_state)
        kind: Any = type(model)
        fitted = _preparing(kind)(**parameters).fit(*self._rows)
        return fitted, fitted._encoded

    def _keep(self, key: Any, made: _Encoded) -> _Encoded:
        if isinstance(key, tuple) and made.is_exact_for_all:
            key = _EXACT
        self._encoded[key] = made
        return made

    def _n_bins(self, model: Any) -> Any:
        """What the grids depend on, of a model's parameters."""
        if not isinstance(model.max_bins, str):
            return "given"
        errors = [feature_map.bin_error(1.0) for feature_map in self.maps(model)]
        most = np.iinfo(np.int32).max
        return tuple(int(np.clip(np.ceil(e / BIN_ERROR), FEWEST_BINS, most)) for e in errors)

    def maps(self, model: Any, shape: tuple[int, int] | None = None) -> list[Any]:
        """Feature maps of a model, or of one with other numbers of rows and columns."""
        sizes = {d: len(categories) for d, categories in self._inputs.categories.items()}
        return parts.make_maps(
            model, self._inputs.labels, sizes, shape or self.shape, None, self._boxes
        )

    def check(self, model: Any) -> None:
        """Raise a ValueError for parts that cannot be, or that do not fit each other."""
        radices = [feature_map.radices for feature_map in self.maps(model)]
        network = parts.make_network(model, self.shape, self.n_outputs, None)
        network.structure(radices, self.n_outputs)

    def model(self, parameters: dict[str, Any]) -> Any:
        """A copy of the estimator with other parameters, knowing all of a fit but the cores."""
        model = copy.copy(self.estimator)  # its parts are shared: no fit changes them
        vars(model).update(self._fitted)
        return model.set_params(**parameters)

    def objective(
        self, model: Any, engine: Engine
    ) -> tuple[Objective, Sequence[Shard] | None, Reading, Start]:
        """Objective of a model, its validation rows, how it reads new rows, and how it starts."""
        with self._lock:  # what several candidates need is made once
            key = _EXACT if _EXACT in self._encoded else self._n_bins(model)
            encoded = self._encoded.get(key) or self._keep(key, self._prepare(model)[1])
            maps, columns = encoded.place(model, self.maps(model))
        objective = replace(
            encoded.objective,
            columns=columns,
            network=parts.make_network(model, self.shape, self.n_outputs, None),
            alpha=model._alpha(self.shape, None),
            engine=engine,
        )
        self._share(objective, encoded)
        reading = replace(encoded.reading, maps=maps)

        def start() -> list[Any]:
            rng = copy.deepcopy(encoded.rng)
            return model._start(objective, self._inputs.labels, None, rng)

        return objective, encoded.validation, reading, start

    def _share(self, objective: Objective, encoded: _Encoded) -> None:
        """Let neighbours on a path, which differ in alpha alone, use what networks keep of rows.

        Only of the last candidate, and not across threads: it is large, and is written to.
        """
        key = (id(encoded), id(objective.columns), repr(objective.network))
        last = getattr(self._last, "kept", None)
        if last is not None and last[0] == key:
            objective.setting.kept = last[1]
        self._last.kept = key, objective.setting.kept


#: what is kept of a fit that ends early, which no model needs
_KEPT = ("_shape", "_rng", "_validation", "_encoded")
