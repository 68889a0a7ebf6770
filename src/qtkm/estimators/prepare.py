"""All that a fit decides and makes before its first epoch.

    table ──scan──► boxes, categories ──► feature maps, network, solver, penalty
    table ──code──► shards ──► scale of y ──► objective, validation rows       = Prepared

A fit solves what is prepared and stores the result.  A search solves it again and again with
other parameters, and a gradient check looks at where it would start.
"""

import copy
import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from .. import solvers
from ..engines import Engine
from ..limits import LIMITS
from ..networks import flatten
from ..objective import Column, Objective
from ..parameters import as_random_state
from ..protocols import Shards
from . import defaults, parts
from .checks import as_callbacks, float_type
from .coding import Coding
from .cores import check_given, draw, is_zero
from .encoding import encode
from .inputs import Inputs, Reading
from .rows import Splitter, count_codes, digest
from .tables import Table
from .working import warn_user


@dataclass
class Prepared:
    """A fit that is ready to be solved.

    Attributes
    ----------
    reading : Reading
        How the fitted model will read X and y: columns with their boxes, categories and feature
        maps, and the scale of y.
    objective : Objective
        Of the training rows; it holds network, loss and penalty.
    validation : Shards or None
        Rows that were set aside.
    solver : Solver
    shape : (int, int)
        Number of rows, equal ones counted once where that is known, and of columns.
    rng : RandomState
        As it is when the first cores are drawn.
    earlier : list or None
        Cores of the fit that this one goes on from.
    learned : dict
        What else the model learns of y, by the attributes that hold it.
    held_out : list of (rows, shards, iterate)
        Rows that a search has judged its choice by, and the cores that had not seen them; `rows`
        are their numbers in the first training shard, or None where they are no training rows.
    member : (cores, precisions) or None
        One of the models whose mean is the result.
    """

    reading: Reading
    objective: Objective
    validation: Shards | None
    solver: Any
    shape: tuple[int, int]
    rng: np.random.RandomState
    earlier: list[Any] | None
    learned: dict[str, Any]
    held_out: list[Any] = field(default_factory=list)
    member: Any = None

    @property
    def inputs(self) -> Inputs:
        """The columns."""
        return self.reading.inputs

    def start(self, init: Any) -> list[Any]:
        """Cores to start from: those of the last fit, given ones, or drawn ones."""
        labels = self.inputs.labels
        if self.earlier is not None and not is_zero(self.earlier):
            try:
                return check_given(self.objective, self.earlier, labels)
            except ValueError as error:
                raise ValueError(
                    f"warm_start=True cannot continue from the fitted cores. {error} Use "
                    "warm_start=False to start anew."
                ) from None
        if isinstance(init, str):
            return draw(self.objective, init, self.rng)
        return check_given(self.objective, init, labels)

    def solve(
        self,
        model: Any,
        cores: list[Any],
        *,
        solver: Any = None,
        max_iter: int | None = None,
        stop: Callable[[Any], bool] | None = None,
        checkpoint: solvers.Checkpoint | None = None,
    ) -> solvers.Result:
        """Run the solver.

        Parameters
        ----------
        model : estimator
            Whose parameters say when to stop, and whom to tell.
        cores : list
            Where to start.
        solver : Solver, optional
            Another solver than that of the model.
        max_iter : int, optional
            Another number of epochs.
        stop : callable, optional
            One more callback.
        checkpoint : Checkpoint, optional
            Another one than that of the model.
        """
        score = None
        if self.validation is not None:
            score = model._validation_score(self.objective, self.validation)
        tol = defaults.tol(score is not None) if model.tol == "auto" else model.tol
        callbacks = (*as_callbacks(model.callbacks), *(() if stop is None else (stop,)))
        if checkpoint is None and model.checkpoint is not None:
            facts = fingerprint(model, self.objective, cores)
            checkpoint = solvers.Checkpoint(model.checkpoint, facts, model.checkpoint_seconds)
        return solvers.solve(
            self.solver if solver is None else solver, self.objective, cores,
            solvers.Stopping(model.max_iter if max_iter is None else max_iter, tol),
            score, callbacks, model.verbose, checkpoint,
        )  # fmt: skip

    def with_parameters(
        self, model: Any, columns: Sequence[Column], inputs: Inputs, engine: Engine
    ) -> "Prepared":
        """Return the same rows prepared for another rank, penalty, solver or other feature maps.

        Parameters
        ----------
        model : estimator
        columns : sequence of Column
            Its feature maps at the grids of the rows.
        inputs : Inputs
            The columns with these maps.
        engine : Engine
        """
        network = parts.make_network(model, self.shape, self.objective.n_outputs, None)
        objective = replace(
            self.objective,
            columns=columns,
            network=parts.beside_main_effects(model, network, inputs.maps),
            alpha=make_alpha(model, self.shape),
            penalties=parts.make_penalties(model, inputs.labels),
            engine=engine,
        )
        reading = replace(self.reading, inputs=inputs)
        return replace(
            self, reading=reading, objective=objective, solver=parts.make_solver(model),
            rng=copy.deepcopy(self.rng),
        )  # fmt: skip


@contextmanager
def prepare(
    model: Any, table: Table, engine: Engine, known: Reading | None = None
) -> Iterator[Prepared]:
    """Prepare a fit, for the length of a with block.

    Parameters
    ----------
    model : estimator
        Whose parameters have been checked.
    table : Table
    engine : Engine
    known : Reading or None
        Of the fit that this one goes on from.
    """
    rng = as_random_state(model.random_state)
    target_names = table.target_names
    with table:
        scan = table.scan(engine)
        scan.settle()
        if scan.n_rows <= LIMITS.merge_rows and not table.is_here:
            table = table.gather(scan)
            scan = table.scan(engine)
            scan.settle()
        shape, (n_outputs, loss, learned) = table.shape(scan), table.task()
        if known is not None:
            known.check_same(table.inputs, n_outputs)
        inputs = table.inputs
        _warn_unless_savable(inputs)
        maps = parts.make_maps(model, inputs, shape, None if known is None else known.inputs.maps)
        network = parts.make_network(model, shape, n_outputs, model.rank_ if known else None)
        network = parts.beside_main_effects(model, network, maps)
        # ranks that do not fit are refused here, before anything takes long
        network.structure([feature_map.radices for feature_map in maps], n_outputs)
        alpha, solver = make_alpha(model, shape, known is not None), parts.make_solver(model)
        penalties = parts.make_penalties(model, inputs.labels)
        inputs = inputs.with_maps(maps)
        coding = Coding(inputs, scan, table.run(engine))
        split = partial(
            Splitter, early_stopping=model.early_stopping, fraction=model.validation_fraction,
            rng=rng, by_class=model._classes_of,
        )  # fmt: skip
        rows = table.arrange(coding, split, network, loss, engine)
        loss.check_range(*rows.target_range)
        is_scaled = getattr(model, "normalize_y", False) and loss.normalizes_target
        known_scale = None if known is None else known.known_scale
        scale, scatter = rows.scale(loss if is_scaled else None, known_scale, engine)
        with rows.placed(engine) as rows:
            _refuse_distant_rows(solver, rows.train)
            counts = engine.sum(count_codes, rows.train)
            for own, column, count in zip(inputs.columns, coding.columns, counts, strict=True):
                own.weigh(column.values, count, defaults.scaling(model))
            objective = Objective(
                columns=coding.columns, shards=rows.train, network=network, loss=loss,
                engine=engine, alpha=alpha, scatter=scatter, dtype=float_type(model.dtype),
                penalties=penalties,
            )  # fmt: skip
            if known is not None and model.penalties_ is not None:
                objective.begin_at(model.penalties_)
            earlier = None if known is None else model.cores_
            yield Prepared(
                Reading(inputs, scale, rows.target_range, target_names), objective,
                rows.validation, solver, shape, rng, earlier, learned,
            )  # fmt: skip


def _warn_unless_savable(inputs: Inputs) -> None:
    """Warn of categories that no file can hold, before anything takes long."""
    for column in inputs.columns:
        if not column.is_categorical:
            continue
        for value in {type(value): value for value in column.categories}.values():
            try:
                encode(value)
            except TypeError as error:
                warn_user(f"The model cannot be saved: {column.label}: {error}.", UserWarning)


def make_alpha(model: Any, shape: tuple[int, int], goes_on: bool = False) -> float:
    """Penalty of a model for so many rows and columns; that of the last fit if it goes on."""
    if not isinstance(model.alpha, str):
        return float(model.alpha)
    return model.alpha_ if goes_on else defaults.alpha(*shape)


def _refuse_distant_rows(solver: Any, shards: Shards) -> None:
    """Raise a ValueError where a solver looks at rows itself and they are not in memory."""
    if shards.are_here or not solver.needs_rows:
        return
    raise ValueError(
        f"solver={type(solver).__name__} needs all rows in this process's memory; keep them there "
        "(engine='threads', a larger memory_limit), or use 'als', 'lbfgs' or 'gauss_newton'."
    )


#: parameters that change when a fit ends or what is shown, not how it goes on
FREE = {
    "callbacks", "checkpoint", "checkpoint_seconds", "engine", "max_iter", "memory_limit", "n_jobs",
    "tol", "verbose",
}  # fmt: skip


def fingerprint(model: Any, objective: Objective, cores: Any) -> dict[str, str]:
    """Parameters, rows and start of a fit, each as a short text."""
    parameters = {
        f"parameter {name}": _text(value)
        for name, value in model.get_params(deep=True).items()
        if name.split("__")[0] not in FREE
    }
    rows = hashlib.sha256()
    for column in objective.columns:
        rows.update(np.ascontiguousarray(column.factors).tobytes())
    rows.update(objective.engine.sum(digest, objective.shards).tobytes())
    start = hashlib.sha256()
    for core in flatten(cores):
        start.update(np.ascontiguousarray(core).tobytes())
    return parameters | {
        "version of qtkm": version("qtkm"),
        "rows": rows.hexdigest(),
        "start": start.hexdigest(),
    }


def _text(value: Any) -> str:
    """Return a text that is the same for equal values."""
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return f"array {value.dtype} {value.shape} {digest}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return "a generator"
    return repr(value)
