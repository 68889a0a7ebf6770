"""What all estimators share: from X and y to a solved objective, and back to responses."""

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from .. import data, networks, solvers
from ..engines import Engine
from ..objective import Column, Objective
from . import defaults, parts
from .checks import as_callbacks, as_random_state, float_type
from .cores import check_given, draw, is_zero
from .dataset import FitsDatasets
from .fingerprint import fingerprint
from .grids import encode_columns, make_boxes
from .inputs import Inputs, read_columns
from .plan import Plan
from .predicting import PredictsDatasets, steps
from .reading import Reading
from .rows import Arranged, CountPass, Splitter, arrange, count_distinct
from .streaming import refuse_distant_rows
from .summary import Summarized
from .targets import drop_weightless, refuse_unequal
from .working import cluster_of, engine_of, threads, warn_user

#: validation score of a solver's state
Score = Callable[[Any], float]


class Model(FitsDatasets, PredictsDatasets, Summarized, BaseEstimator):
    """A tensor-network kernel machine without a task: fits targets, gives responses."""

    @property
    def _goes_on(self) -> bool:
        """Whether a fit goes on from the last one."""
        return bool(self.warm_start) and hasattr(self, "_reading")

    def _fit(self, X: Any, target: NDArray, weight: NDArray | None, loss: Any) -> None:
        """Fit to targets (n_rows, n_outputs) with weights, or None for weights of 1.

        The parameters have been checked.
        """
        if self.memory_limit is not None and isinstance(X, np.ndarray) and X.ndim == 2:
            self._fit_within_limit(X, target, weight, loss)
            return
        known = self._reading if self._goes_on else None
        rng = as_random_state(self.random_state)
        inputs, arrays = self._read(X, target, weight, known)
        target, weight = drop_weightless(target, weight)
        with engine_of(self) as engine:
            self._fit_arrays(inputs, arrays, target, weight, loss, known, engine, rng)

    def _fit_collections(self, X: Any, y: Any, weight: Any) -> None:
        """Fit to collections of Dask; the parameters have been checked."""
        from .dask_fit import fit_collections

        with cluster_of(self) as engine:
            fit_collections(self, X, y, weight, engine)

    def _fit_arrays(
        self,
        inputs: Inputs,
        arrays: list[NDArray],
        target: NDArray,
        weight: NDArray | None,
        loss: Any,
        known: Reading | None,
        engine: Engine,
        rng: np.random.RandomState,
    ) -> None:
        """Fit to columns of numbers and codes of categories, all rows of positive weight."""
        boxes = self._boxes(inputs, arrays, known, engine)
        shape = (count_distinct(arrays), len(arrays))
        plan = self._plan(inputs, shape, target.shape[1], boxes, loss, known)
        columns, codes = encode_columns(
            arrays, inputs.labels, plan.maps, boxes, self.max_bins, engine
        )
        n_codes = tuple(len(column) for column in columns)
        n_pieces = len(list(data.blocks(len(target), data.SHARD_ROWS)))
        splitter = self._splitter(len(target), n_pieces, rng)
        rows = arrange(codes, target, weight, n_codes, splitter, average=loss.is_quadratic)
        del codes  # what is not needed any more is not kept through the fit
        self._run(plan, columns, rows, engine, rng)

    def _plan(
        self,
        inputs: Inputs,
        shape: tuple[int, int],
        n_outputs: int,
        boxes: list[data.Box | None],
        loss: Any,
        known: Reading | None,
    ) -> Plan:
        """Decide on all that depends on no more than the ranges of the columns."""
        sizes = {d: len(categories) for d, categories in inputs.categories.items()}
        known_maps = known.maps if known else None
        maps = parts.make_maps(self, inputs.labels, sizes, shape, known_maps, boxes)
        network = parts.make_network(self, shape, n_outputs, self.rank_ if known else None)
        # ranks that do not fit are refused here, before anything takes long
        network.structure([feature_map.radices for feature_map in maps], n_outputs)
        return Plan(
            inputs, maps, boxes, network, loss, self._alpha(shape, known), parts.make_solver(self),
            known,
        )  # fmt: skip

    def _run(
        self,
        plan: Plan,
        columns: list[Column],
        rows: Arranged,
        engine: Engine,
        rng: np.random.RandomState,
    ) -> None:
        """Fit to rows in shards."""
        known_scale = None if plan.known is None else plan.known.known_scale
        is_scaled = getattr(self, "normalize_y", False) and plan.loss.normalizes_target
        scale, scatter = rows.scale(is_scaled, known_scale, engine)
        with rows.placed(engine) as rows:
            refuse_distant_rows(plan.solver, rows.train)
            counts = {d: engine.sum(CountPass(d), rows.train) for d in plan.inputs.categories}
            reading = Reading(plan.inputs, plan.maps, plan.boxes, scale, counts)
            objective = Objective(
                columns, rows.train, plan.network, plan.loss, engine, plan.alpha, scatter,
                float_type(self.dtype),
            )  # fmt: skip
            cores = self._start(objective, plan.inputs.labels, plan.known, rng)
            result = self._solve(plan.solver, objective, rows.validation, cores)
            self._store(result, objective, reading)
        if result.status in ("interrupted", "failed"):
            warn_user(result.message, ConvergenceWarning)

    def _read(
        self, X: Any, target: NDArray, weight: NDArray | None, known: Reading | None
    ) -> tuple[Inputs, list[NDArray]]:
        """Columns of the training X; a fit that goes on keeps the categories it knows."""
        columns, finite = read_columns(self, X, reset=known is None)
        refuse_unequal(len(columns[0]), len(target))
        names = getattr(self, "feature_names_in_", None)
        inputs = Inputs(columns, names, self.categorical_features)
        if known is not None:
            known.check_same(inputs, target.shape[1])
            inputs.categories = dict(known.inputs.categories)
        return inputs, inputs.learn(columns, finite, weight)

    def _splitter(self, n_rows: int, n_pieces: int, rng: np.random.RandomState) -> Splitter:
        """Rule by which validation rows are set aside."""
        return Splitter(
            n_rows, n_pieces, self.early_stopping, self.validation_fraction, rng, self._classes_of
        )

    #: from targets to the classes of rows, each of which gives its share for validation
    _classes_of: Callable[[NDArray], NDArray] | None = None

    def _validation_score(self, objective: Objective, shards: Sequence[data.Shard]) -> Score:
        """Score of a solver's state on the validation rows."""
        raise NotImplementedError

    def _boxes(
        self, inputs: Inputs, arrays: list[NDArray], known: Reading | None, engine: Engine
    ) -> list[data.Box | None]:
        if known is not None:
            return known.boxes_with(self.extrapolation)
        return make_boxes(
            arrays, inputs.is_categorical, inputs.labels, self.bounds, self.extrapolation, engine
        )

    def _alpha(self, shape: tuple[int, int], known: Reading | None) -> float:
        if not isinstance(self.alpha, str):
            return float(self.alpha)
        return defaults.alpha(*shape) if known is None else self.alpha_

    def _solve(
        self,
        solver: Any,
        objective: Objective,
        validation: Sequence[data.Shard] | None,
        cores: list[Any],
    ) -> solvers.Result:
        score = None if validation is None else self._validation_score(objective, validation)
        tol = defaults.tol(validation is not None) if self.tol == "auto" else self.tol
        stopping = solvers.Stopping(self.max_iter, tol)
        callbacks = as_callbacks(self.callbacks)
        checkpoint = None
        if self.checkpoint is not None:
            checkpoint = solvers.Checkpoint(
                self.checkpoint, fingerprint(self, objective, cores), self.checkpoint_seconds
            )
        return solvers.solve(
            solver, objective, cores, stopping, score, callbacks, self.verbose, checkpoint
        )

    def _start(
        self,
        objective: Objective,
        labels: Sequence[str],
        known: Reading | None,
        rng: np.random.RandomState,
    ) -> list[Any]:
        """Cores to start from: those of the last fit, given ones, or drawn ones."""
        if known is not None and not is_zero(self.cores_):
            try:
                return check_given(objective, self.cores_, labels)
            except ValueError as error:
                raise ValueError(
                    f"warm_start=True cannot go on from the fitted cores. {error} Use "
                    "warm_start=False to start anew."
                ) from None
        if isinstance(self.init, str):
            return draw(objective, self.init, rng)
        return check_given(objective, self.init, labels)

    def _store(self, result: solvers.Result, objective: Objective, reading: Reading) -> None:
        network = objective.network.fitted_to(result.cores)
        self.n_iter_ = result.n_iter
        self.status_, self.message_ = result.status, result.message
        history = dict(vars(result.history))
        self.history_ = history | history.pop("records")
        self.alpha_ = objective.alpha
        self._place(result.cores, network, cast(Any, objective.loss))
        self.columns_ = [
            describe_column(d, reading, _describe_grid(column))
            for d, column in enumerate(objective.columns)
        ]
        self._reading = reading

    def _place(self, cores: list[Any], network: Any, loss: Any) -> None:
        """Set cores and network, and what follows from them."""
        # in one order of memory, so that a copy of a model has the same bits in its predictions
        flat = [np.asarray(core, order="C") for core in networks.flatten(cores)]
        self.cores_ = networks.unflatten(cores, flat)
        self.network_, self.loss_ = network, loss
        self.rank_ = getattr(network, "rank", None)
        self.n_parameters_ = network.n_parameters(self.cores_)
        self.n_real_parameters_ = self.n_parameters_ * (2 if np.iscomplexobj(flat[0]) else 1)
        self.vc_bound_ = float(2 * self.n_parameters_ * np.log2(12 * len(flat)))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model to one file, which `qtkm.load` reads.

        Parameters
        ----------
        path : path-like
            Folders that are missing are made; a file that is there is replaced in one step.

        Raises
        ------
        TypeError
            For a part of a class in no registry, or values of types that a file cannot hold.
        OSError
            If the file cannot be written; one that was there is left as it was.

        Notes
        -----
        The file holds arrays and text, nothing that is run when it is read.  `callbacks`,
        `checkpoint` and `engine` are left out: they belong to the place of the fit.
        """
        from .saving import save  # knows the estimators, which are made from this class

        save(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = self.categorical_features is not None
        tags.input_tags.string = self.categorical_features is not None
        return tags

    def _responses(self, X: Any) -> NDArray:
        """Re f of every row, in units of y: (n_rows, n_outputs)."""
        check_is_fitted(self)
        reading: Reading = self._reading
        arrays = reading.inputs.codes(*read_columns(self, X, reset=False))
        evaluator = self.network_.evaluator(self.cores_, reading.frequencies)
        out = np.empty((len(arrays[0]), len(reading.scale.mean)))

        def respond(bounds: tuple[int, int]) -> None:
            part = slice(*bounds)
            values = reading.values(arrays, part)
            out[part] = reading.scale.undo(evaluator.responses(reading.maps, values).real)

        with threads(self.n_jobs) as engine:
            engine.run(respond, steps(len(out)))
        _refuse_overflow(out)
        return out


def _refuse_overflow(response: NDArray) -> None:
    finite = np.isfinite(response).all(axis=1)
    if not finite.all():
        raise ValueError(
            f"The response overflows in {np.sum(~finite)} of {len(finite)} rows, the first of them "
            f"row {np.argmin(finite)}; with extrapolation='continue' values far outside of the "
            "training range do this, and extrapolation='clip' does not."
        )


def describe_column(d: int, reading: Reading, grid: dict[str, Any]) -> dict[str, Any]:
    """What a fit did with a column."""
    box, categories = reading.boxes[d], reading.inputs.categories.get(d)
    return {
        "name": reading.inputs.names[d],
        "basis": reading.maps[d],
        "bounds": None if box is None else (box.low, box.high),
        "categories": None if categories is None else list(categories),
        **grid,
    }


def _describe_grid(column: Any) -> dict[str, Any]:
    return {
        "n_grid": len(column),
        "binned": getattr(column.grid, "is_binned", False),
        "bin_error": column.bin_error,
    }
