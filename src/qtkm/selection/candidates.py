"""What is tried: a grid of parameters with "auto" filled in, and steps away from a candidate."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

from sklearn.model_selection import ParameterGrid

from ..estimators import automatic, defaults, parts
from ..estimators.prepare import Prepared
from ..features.feature_map import SCALINGS
from ..parameters import check_numbers, plain_entries
from ..penalties import Matern

#: lists of a search, each with the parameter of the estimator, and type and least of its entries
LISTS: dict[str, tuple[str, Any, float]] = {
    "alphas": ("alpha", Real, 0.0),
    "n_basis": ("n_basis", Integral, 1),
    "periods": ("period", Real, 1.0),
    "ranks": ("rank", Integral, 1),
}
#: "auto" of a list: the estimator's own choice times and over this
FACTORS: dict[str, Any] = {"alpha": 100.0, "n_basis": 2, "period": 2.0, "rank": 2}
#: steps from the defaults of a fit that searches for rank and penalty by itself: factors, or values
STEPS: dict[str, Any] = {
    "n_basis": 3,
    "penalty": ["matern", Matern(0.5), Matern(1.5), Matern(2.5), "rbf"],
    "period": 1.5,
    "scaling": [scaling for scaling in SCALINGS if scaling != defaults.AUTO],
}


def check_lists(search: Any) -> None:
    """Raise a ValueError for lists that no estimator could use, before rows are read."""
    for name, (_, kind, least) in LISTS.items():
        if not defaults.is_auto(given := getattr(search, name)):
            check_numbers(name, given, kind, least)


class Candidates:
    """Candidates of a search for these rows: a `grid`, and `steps` to vary parameters further.

    A step is a factor for numbers, a list for others.  `is_automatic` says that fits search for
    rank or penalty themselves, `is_varied` that there are no lists besides, so that the search goes
    step by step from the defaults.
    """

    def __init__(self, search: Any, estimator: Any, prepared: Prepared, n_rows: int, n_used: int):
        self.estimator, self.prepared = estimator, prepared
        count, n_columns = prepared.shape
        self.shape = max(count, round(n_rows * count / n_used)), n_columns
        has_validation = prepared.validation is not None
        self.is_automatic = automatic.is_wanted(estimator, prepared.objective, has_validation)
        lists = {LISTS[name][0]: getattr(search, name) for name in LISTS}
        self.is_varied = self.is_automatic and all(map(defaults.is_auto, lists.values()))
        self.steps: dict[str, Any] = {}
        #: what "auto" stands for in the defaults, from which steps begin
        self.resolved: dict[str, Any] = {}
        grid: dict[str, list[Any]] = {}
        has_period = any(hasattr(each, "period") for each in prepared.inputs.maps)
        for name, given in lists.items():
            if name == "period" and not has_period:
                continue
            if not defaults.is_auto(given):
                grid[name] = plain_entries(given)
            elif (default := self._default(name)) is not None and not self.is_automatic:
                self.steps[name] = FACTORS[name]
                values = {default, *self._beside(name, default)}
                grid[name] = sorted(values, reverse=name == "alpha")
            elif default is not None and self.is_varied and name in STEPS:
                self.resolved[name] = default
        if self.is_varied:
            if defaults.is_auto(estimator.scaling):
                self.resolved["scaling"] = defaults.scaling(estimator)
            if isinstance(estimator.penalty, str) and estimator.penalty == "matern":
                self.resolved["penalty"] = "matern"
            self.steps = {name: STEPS[name] for name in STEPS if name in self.resolved}
            grid = {name: [getattr(estimator, name)] for name in self.steps}
        self.grid = list(ParameterGrid(grid))

    def _default(self, name: str) -> Any:
        """Return what the estimator would choose; None where it has a value of its own."""
        estimator, prepared, own = self.estimator, self.prepared, [getattr(self.estimator, name)]
        default: Any
        if name == "alpha":
            default = defaults.alpha(*self.shape)
        elif name == "rank":
            own.append(getattr(estimator.network, "rank", defaults.AUTO))
            n_outputs = prepared.objective.n_outputs
            network = parts.make_network(estimator, self.shape, n_outputs, None)
            default = getattr(network, "rank", None)
        else:
            basis = estimator.basis
            bases = basis if isinstance(basis, list | tuple) else [basis]
            own += [getattr(each, name, defaults.AUTO) for each in bases]
            maps = parts.make_maps(estimator, prepared.inputs, self.shape)
            default = max((getattr(m, name) for m in maps if hasattr(m, name)), default=None)
        return default if all(map(defaults.is_auto, own)) else None

    def _beside(self, name: str, value: Any) -> list[Any]:
        step, default = self.steps[name], self.resolved.get(name)
        if isinstance(step, list):
            return [other for other in step if other is not default]
        start: Any = default if defaults.is_auto(value) else value
        least = 0.0 if name == "alpha" else 1
        found = [max(least, type(start)(start * factor)) for factor in (1 / step, step)]
        return [other for other in found if other != default]

    def check(self, params: dict[str, Any]) -> None:
        """Raise a ValueError for parts that cannot be, or that do not fit each other."""
        prepared, n_outputs = self.prepared, self.prepared.objective.n_outputs
        model = type(self.estimator)(**self.estimator.get_params(deep=False) | params)
        radices = [m.radices for m in parts.make_maps(model, prepared.inputs, prepared.shape)]
        network = parts.make_network(model, prepared.shape, n_outputs, None)
        if network is not None:
            network.structure(radices, n_outputs)

    def steps_from(self, params: dict[str, Any]) -> list[tuple[str, Any]]:
        steps = [(name, value) for name in self.steps for value in self._beside(name, params[name])]
        return [(name, value) for name, value in steps if value is not params[name]]

    def beyond(self, best: dict[str, Any], tried: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the steps from the best candidate to values outside of those that were tried."""
        found = []
        for name, value in self.steps_from(best):
            values = [each[name] for each in tried]
            if not min(values) <= value <= max(values):
                found.append(best | {name: value})
        return found
