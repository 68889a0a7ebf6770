"""A fit that is prepared once and solved many times, with other parameters each time.

Boxes, grids, codes, the scale of y and the sorted shards depend on the rows alone, so that all
candidates share them; what differs are feature maps, network and penalty:

    estimator, X, y ──► Posed ──► prepared(model): the same shards, the model's maps, rank, alpha
"""

import copy
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines import Engine, Threads
from ..estimators import parts
from ..estimators.columns import BIN_ERROR, FEWEST_BINS
from ..estimators.inputs import Inputs
from ..estimators.prepare import Prepared
from ..objective import Column, Objective

#: name of the grids that hold every value, however many bins a candidate would allow
_EXACT = "exact"


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
        self._prepared: dict[Any, Prepared] = {}
        #: feature maps at grids, by the rows and the parameters they come from
        self._columns: dict[Any, tuple[Inputs, list[Column]]] = {}
        self._lock, self._last = threading.Lock(), threading.local()
        first, made = self._prepare(estimator)
        self.shape, self._inputs = made.shape, made.inputs
        self.n_outputs, self.share = made.objective.n_outputs, made.shape[0] / len(y)
        # what `fit` sets beside what comes from the cores: names, classes, …
        own = estimator.get_params(deep=False)
        self._fitted = {name: value for name, value in vars(first).items() if name not in own}
        self._fitted |= made.learned
        self._keep(self._n_bins(estimator), made)

    def _prepare(self, model: Any) -> tuple[Any, Prepared]:
        parameters = model.get_params(deep=False) | {"warm_start": False, "checkpoint": None}
        # a generator of random numbers is not used up, so that all candidates have the same
        parameters["random_state"] = copy.deepcopy(model.random_state)
        fresh, engine = type(model)(**parameters), Threads(model.n_jobs)
        try:
            with fresh._prepare(*self._rows, engine=engine) as prepared:
                return fresh, prepared
        finally:
            engine.close()

    def _keep(self, key: Any, made: Prepared) -> Prepared:
        if isinstance(key, tuple) and _is_exact_for_all(made):
            key = _EXACT
        self._prepared[key] = made
        return made

    def _n_bins(self, model: Any) -> Any:
        """Return the number of bins that a model's parameters need."""
        if not isinstance(model.max_bins, str):
            return "given"
        errors = [feature_map.bin_error(1.0) for feature_map in self.maps(model)]
        most = np.iinfo(np.int32).max
        return tuple(int(np.clip(np.ceil(e / BIN_ERROR), FEWEST_BINS, most)) for e in errors)

    def maps(self, model: Any, shape: tuple[int, int] | None = None) -> list[Any]:
        """Feature maps of a model, or of one with other numbers of rows and columns."""
        return parts.make_maps(model, self._inputs, shape or self.shape)

    def check(self, model: Any) -> None:
        """Raise a ValueError for parts that cannot be, or that do not fit each other."""
        radices = [feature_map.radices for feature_map in self.maps(model)]
        network = parts.make_network(model, self.shape, self.n_outputs, None)
        network.structure(radices, self.n_outputs)

    def model(self, parameters: dict[str, Any]) -> Any:
        """Copy the estimator with other parameters and everything fitted but the cores."""
        model = copy.copy(self.estimator)  # its parts are shared: no fit changes them
        vars(model).update(self._fitted)
        return model.set_params(**parameters)

    def prepared(self, model: Any, engine: Engine) -> Prepared:
        """Return the fit of a model, ready to be solved."""
        with self._lock:  # what several candidates need is made once
            key = _EXACT if _EXACT in self._prepared else self._n_bins(model)
            rows = self._prepared.get(key) or self._keep(key, self._prepare(model)[1])
            inputs, columns = self._place(rows, model)
        prepared = rows.with_parameters(model, columns, inputs, engine)
        self._share(prepared.objective, rows)
        return prepared

    def _place(self, rows: Prepared, model: Any) -> tuple[Inputs, list[Column]]:
        """Feature maps of a model at the grids; columns keep their factors."""
        key = id(rows), repr((model.n_basis, model.period))
        if key not in self._columns:
            maps = self.maps(model)
            for each, known in zip(maps, rows.inputs.maps, strict=True):
                each.take_learned(known)
            pairs = zip(rows.objective.columns, maps, strict=True)
            self._columns[key] = (
                rows.inputs.with_maps(maps),
                [Column(column.name, each, column.box, column.grid) for column, each in pairs],
            )
        return self._columns[key]

    def _share(self, objective: Objective, rows: Prepared) -> None:
        """Let neighbours on a path, which differ in alpha alone, use what networks keep of rows.

        Only of the last candidate, and not across threads: it is large, and is written to.
        """
        key = (id(rows), id(objective.columns), repr(objective.network))
        last = getattr(self._last, "kept", None)
        if last is not None and last[0] == key:
            objective.setting.kept = last[1]
        self._last.kept = key, objective.setting.kept


def _is_exact_for_all(made: Prepared) -> bool:
    """Whether every candidate with max_bins="auto" would have these very grids."""
    columns = made.objective.columns
    is_binned = any(getattr(column.grid, "is_binned", False) for column in columns)
    return not is_binned and max(map(len, columns)) <= FEWEST_BINS
