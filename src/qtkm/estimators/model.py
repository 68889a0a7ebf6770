"""What all estimators share: from X and y to a solved objective, and back to responses."""

import warnings
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from .. import data, losses, networks, solvers
from ..engines import Threads
from ..objective import Column, Objective
from . import defaults, parts
from .inputs import Inputs

#: fewest rows at which early_stopping="auto" sets validation rows aside
EARLY_STOPPING_ROWS = 10_000
#: error of the features that binning may cause, which sets max_bins="auto"
BIN_ERROR, FEWEST_BINS = 0.01, 1024
#: rows that are evaluated at a time when predicting
PREDICT_ROWS = 2048


class Model(BaseEstimator):
    """A tensor-network kernel machine without a task: fits targets, gives responses."""

    def _fit(self, X: Any, target: NDArray, weight: NDArray | None) -> "Model":
        """Fit to targets (n_rows, n_outputs) with weights, or None for weights of 1."""
        self._check_parameters()
        keep = None
        if weight is not None and (weight == 0).any():
            keep = np.flatnonzero(weight)
            target, weight = target[keep], weight[keep]
        rng = check_random_state(self.random_state)
        go_on = self.warm_start and hasattr(self, "cores_")
        inputs = Inputs(self, X, self.categorical_features)
        arrays = inputs.fit_columns(self, X, keep)
        maps, boxes = self._describe(inputs, arrays, go_on)
        with _engine(self.n_jobs) as engine, threadpool_limits(1):
            columns, codes = self._encode(inputs, arrays, maps, boxes, engine)
            del arrays
            split = self._split(len(codes), rng)
            rows = _Rows(codes, target, weight, columns)
            objective, validation = self._objective(rows, split, columns, engine, go_on)
            result = self._solve(objective, validation, go_on, rng)
        self._inputs, self._maps, self._boxes = inputs, maps, boxes
        self._store(result, objective, rows)
        return self

    # -- parameters ---------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        _check_number("max_iter", self.max_iter, Integral, 1)
        _check_number("tol", self.tol, Real, 0)
        if self.alpha != "auto":
            _check_number("alpha", self.alpha, Real, 0)
        if self.max_bins not in (None, "auto"):
            _check_number("max_bins", self.max_bins, Integral, 2)
        if not 0 < self.validation_fraction < 1:
            raise ValueError(
                f"validation_fraction={self.validation_fraction!r} must lie between 0 and 1."
            )
        for name, allowed in (
            ("extrapolation", data.EXTRAPOLATIONS),
            ("early_stopping", ("auto", True, False)),
            ("dtype", ("float64", "float32")),
            ("residual", ("complex", "real")),
        ):
            value = getattr(self, name)
            if value not in allowed:
                options = ", ".join(repr(a) for a in allowed)
                raise ValueError(f"{name}={value!r} is not known; use one of {options}.")

    def _describe(self, inputs: Inputs, arrays: list[NDArray], go_on: bool) -> tuple[list, list]:
        """Feature map and box of every column."""
        n_rows, n_columns = len(arrays[0]), len(arrays)
        maps = parts.feature_maps(self, inputs.names, inputs.is_categorical)
        boxes: list[data.Box | None] = []
        for d, (feature_map, array) in enumerate(zip(maps, arrays, strict=True)):
            name = inputs.names[d]
            if inputs.is_categorical[d]:
                feature_map.set_params(n_categories=inputs.n_categories(d))
                boxes.append(None)
                continue
            if feature_map.is_categorical:
                raise ValueError(
                    f"{name} has a Categorical map; name it in categorical_features instead."
                )
            parts.finish_map(feature_map, name, n_rows, n_columns)
            if go_on and len(self._boxes) == n_columns and self._boxes[d] is not None:
                boxes.append(self._boxes[d])
            else:
                low, high = self._bounds(d, n_columns, array)
                boxes.append(data.Box(low, high, self.extrapolation, name))
        return maps, boxes

    def _bounds(self, d: int, n_columns: int, array: NDArray) -> tuple[float, float]:
        if self.bounds is None:
            return float(array.min()), float(array.max())
        bounds = np.asarray(self.bounds, dtype=np.float64)
        if bounds.shape not in ((2,), (n_columns, 2)):
            raise ValueError(
                f"bounds has the shape {bounds.shape}; give (low, high), or one such pair for each "
                f"of the {n_columns} columns."
            )
        low, high = bounds if bounds.ndim == 1 else bounds[d]
        if not (np.isfinite(low) and np.isfinite(high) and low < high):
            raise ValueError(f"bounds ({low:g}, {high:g}) must be finite, with low < high.")
        return float(low), float(high)

    # -- rows ---------------------------------------------------------------------------------

    def _encode(self, inputs, arrays, maps, boxes, engine) -> tuple[list[Column], NDArray]:
        def encode(d):
            if boxes[d] is None:
                return maps[d].n_categories, arrays[d]
            values = boxes[d].contain(arrays[d])
            low, high = boxes[d].low, boxes[d].high
            if self.extrapolation == "continue" and len(values):
                low, high = min(low, float(values.min())), max(high, float(values.max()))
            return data.encode(values, low, high, self._max_bins(maps[d], low, high, boxes[d]))

        grids = engine.run(encode, range(len(arrays)))
        columns = [
            Column(name, feature_map, box, grid)
            for name, feature_map, box, (grid, _) in zip(
                inputs.names, maps, boxes, grids, strict=True
            )
        ]
        kind = data.code_type(max(len(column) for column in columns))
        codes = np.empty((len(arrays[0]), len(arrays)), dtype=np.promote_types(kind, np.uint16))
        for d, (_, column_codes) in enumerate(grids):
            codes[:, d] = column_codes
        return columns, codes

    def _max_bins(self, feature_map, low, high, box) -> int | None:
        if self.max_bins != "auto":
            return self.max_bins
        stretch = (high - low) / (box.high - box.low) if box.high > box.low else 1.0
        return max(FEWEST_BINS, int(np.ceil(feature_map.bin_error(stretch) / BIN_ERROR)))

    def _split(self, n_rows: int, rng: Any) -> tuple[NDArray, NDArray] | None:
        """Training and validation rows, or None where all rows train."""
        wanted = self.early_stopping
        if wanted == "auto":
            wanted = n_rows > EARLY_STOPPING_ROWS
        if not wanted:
            return None
        n_validation = int(np.ceil(self.validation_fraction * n_rows))
        if n_validation >= n_rows:
            raise ValueError(
                f"early_stopping=True leaves none of the {n_rows} rows to train on; use more rows "
                "or early_stopping=False."
            )
        order = rng.permutation(n_rows)
        return np.sort(order[n_validation:]), np.sort(order[:n_validation])

    # -- the fit ------------------------------------------------------------------------------

    def _objective(self, rows, split, columns, engine, go_on):
        network = parts.resolve(
            "network", self.network, networks.REGISTRY, {"rank": (self.rank, "auto")}
        )
        n_rows, n_columns = len(rows.codes), len(columns)
        if network.rank == "auto":
            network.set_params(rank=defaults.rank(n_rows, n_columns))
        network.check()
        loss = parts.resolve(
            "loss", self.loss, losses.REGISTRY, {"residual": (self.residual, "complex")}
        )
        alpha = defaults.alpha(n_rows, n_columns) if self.alpha == "auto" else float(self.alpha)
        train = rows.take(split[0]) if split is not None else rows
        scatter = train.merge() if len(train.codes) <= data.MERGE_ROWS else 0.0
        scaling = self._target_scaling if go_on else train.scaling(self.normalize_y, scatter)
        self._target_scaling = scaling
        objective = Objective(
            columns, train.shards(scaling), network, loss, engine, alpha,
            float(np.sum(scatter / scaling[1] ** 2)), np.dtype(self.dtype),
        )  # fmt: skip
        validation = None if split is None else rows.take(split[1]).shards(scaling)
        return objective, validation

    def _solve(self, objective, validation, go_on, rng) -> solvers.Result:
        solver = parts.resolve("solver", self.solver, solvers.REGISTRY, {})
        solver.check()
        cores = self._start(objective, go_on, rng)
        score = None
        if validation is not None:
            spread = _weighted_spread(validation)

            def score(state):
                return 1 - objective.mean_square(state[0], validation) / spread

        result = solvers.solve(
            solver, objective, cores, solvers.Stopping(self.max_iter, self.tol), score,
            self.callbacks or (), self.verbose,
        )  # fmt: skip
        if result.status == "interrupted":
            warnings.warn(result.message, ConvergenceWarning, stacklevel=4)
        return result

    def _start(self, objective: Objective, go_on: bool, rng: Any) -> Any:
        is_complex = any(column.feature_map.is_complex for column in objective.columns)
        constants = [column.feature_map.constant() for column in objective.columns]
        given = self.cores_ if go_on else self.init
        if isinstance(given, str):
            if given not in ("smooth", "random"):
                raise ValueError(
                    f"init={given!r} is not known; use 'smooth', 'random' or cores in the layout "
                    "of cores_."
                )
            return objective.network.start(constants, objective.n_outputs, is_complex, given, rng)
        shapes = objective.network.shapes([c.radices for c in objective.columns], objective.n_outputs)
        try:
            return _check_cores(given, shapes, is_complex)
        except ValueError as error:
            if not go_on:
                raise
            raise ValueError(
                f"warm_start=True cannot go on from the fitted cores: {error} Use "
                "warm_start=False to start anew."
            ) from None

    def _store(self, result: solvers.Result, objective: Objective, rows: "_Rows") -> None:
        network = objective.network
        self.cores_ = result.cores
        self.n_iter_ = result.n_iter
        self.status_, self.message_ = result.status, result.message
        self.history_ = dict(vars(result.history))
        self.n_parameters_ = network.n_parameters(result.cores)
        flat = networks.flatten(result.cores)
        self.n_real_parameters_ = self.n_parameters_ * (2 if np.iscomplexobj(flat[0]) else 1)
        self.vc_bound_ = 2 * self.n_parameters_ * np.log2(12 * len(flat))
        self.alpha_, self.rank_ = objective.alpha, network.rank
        paths = objective.paths(result.cores)
        self.columns_ = [
            {"name": c.name, "basis": c.feature_map, "n_grid": len(c),
             "binned": c.bin_error > 0, "bin_error": c.bin_error, "path": path}
            for c, path in zip(objective.columns, paths, strict=True)
        ]  # fmt: skip
        self._neutral = [
            rows.mean_row(d, result.cores[d][0]) if c.is_categorical else None
            for d, c in enumerate(objective.columns)
        ]

    # -- responses ----------------------------------------------------------------------------

    def _responses(self, X: Any) -> NDArray:
        """Re f of every row, in units of y: (n_rows, n_outputs)."""
        check_is_fitted(self)
        arrays = self._inputs.columns(self, X)
        evaluator = networks.Evaluator(self.cores_, self._neutral)
        out = np.empty((len(arrays[0]), len(self._target_scaling[0])))
        mean, scale = self._target_scaling

        def respond(bounds):
            part = slice(*bounds)
            values = [
                array[part] if box is None else box.to_unit(box.contain(array[part]))
                for array, box in zip(arrays, self._boxes, strict=True)
            ]
            out[part] = mean + scale * evaluator.responses(self._maps, values).real

        with _engine(self.n_jobs) as engine, threadpool_limits(1):
            engine.run(respond, data.blocks(len(out), PREDICT_ROWS))
        return out


class _engine:
    """Threads for the length of a with block."""

    def __init__(self, n_jobs: int | None):
        self.engine = Threads(n_jobs)

    def __enter__(self) -> Threads:
        return self.engine

    def __exit__(self, *_: Any) -> None:
        self.engine.close()


class _Rows:
    """Coded rows with targets and weights, before they are dealt into shards."""

    def __init__(self, codes, target, weight, columns):
        self.codes, self.target, self.weight, self.columns = codes, target, weight, columns

    def take(self, rows: NDArray) -> "_Rows":
        weight = None if self.weight is None else self.weight[rows]
        return _Rows(self.codes[rows], self.target[rows], weight, self.columns)

    def merge(self) -> NDArray:
        """Merge rows of equal codes; returns the scatter of each output."""
        self.codes, self.target, self.weight, scatter = data.merge(
            self.codes, self.target, self.weight
        )
        return scatter

    def scaling(self, normalize: bool, scatter: Any) -> tuple[NDArray, NDArray]:
        """Mean and scale of the targets; a constant target keeps its scale."""
        n_outputs = self.target.shape[1]
        if not normalize:
            return np.zeros(n_outputs), np.ones(n_outputs)
        weight = np.ones(len(self.target)) if self.weight is None else self.weight
        mean = weight @ self.target / weight.sum()
        largest = np.abs(self.target - mean).max(axis=0)
        largest[largest == 0] = 1
        variance = weight @ ((self.target - mean) / largest) ** 2 + scatter / largest**2
        scale = np.sqrt(variance / weight.sum()) * largest
        # what rounding of the mean leaves of a constant target is not spread
        constant = scale <= 10 * np.finfo(float).eps * np.abs(mean)
        return mean, np.where(constant, 1.0, scale)

    def shards(self, scaling: tuple[NDArray, NDArray]) -> list[data.Shard]:
        mean, scale = scaling
        n_codes = tuple(len(column) for column in self.columns)
        return data.build(self.codes, (self.target - mean) / scale, self.weight, n_codes)

    def mean_row(self, d: int, core: NDArray) -> NDArray:
        """Mean of a categorical core's rows over the rows of the data."""
        count = np.bincount(self.codes[:, d], weights=self.weight, minlength=len(core))
        return count @ core / count.sum()


def _weighted_spread(shards: Sequence[data.Shard]) -> float:
    """Weighted mean square of the targets around their mean; 1 where there is none."""
    target = np.concatenate([shard.target for shard in shards])
    weight = np.concatenate([np.ones(len(s)) if s.weight is None else s.weight for s in shards])
    deviation = target - np.average(target, axis=0, weights=weight)
    spread = float(np.average((deviation**2).sum(axis=1), weights=weight))
    return spread if spread > 0 else 1.0


def _check_number(name: str, value: Any, kind: type, least: float) -> None:
    good = isinstance(value, kind) and not isinstance(value, bool)
    if not good or not np.isfinite(value) or value < least:
        what = "whole number" if kind is Integral else "number"
        raise ValueError(f"{name}={value!r} must be a finite {what} >= {least}.")


def _check_cores(given: Any, shapes: Sequence[Any], is_complex: bool) -> list[Any]:
    """Copies of given cores, of the right shapes and type."""
    if len(given) != len(shapes):
        raise ValueError(f"There are {len(given)} entries of cores where {len(shapes)} belong.")

    def check(core: Any, shape: tuple[int, ...]) -> NDArray:
        core = np.asarray(core)
        if core.shape != shape:
            raise ValueError(f"A core has the shape {core.shape} where {shape} belongs.")
        if not np.isfinite(core).all():
            raise ValueError("A core has entries that are not finite.")
        if np.iscomplexobj(core) and not is_complex:
            raise ValueError("The cores are complex, but all features are real.")
        return core.astype(np.complex128 if is_complex else np.float64)

    result: list[Any] = []
    for entry, shape in zip(given, shapes, strict=True):
        if isinstance(shape, tuple):
            result.append(check(entry, shape))
            continue
        if len(entry) != len(shape):
            raise ValueError(f"A column has {len(entry)} cores where {len(shape)} belong.")
        result.append([check(core, s) for core, s in zip(entry, shape, strict=True)])
    return result


Callback = Callable[[solvers.Progress], Any]
