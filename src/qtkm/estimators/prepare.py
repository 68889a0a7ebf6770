"""All that a fit decides and makes before its first epoch.

    table ──scan──► boxes, categories ──► feature maps, network, solver, penalty
    table ──code──► shards ──► scale of y ──► objective, validation rows       = Prepared

A fit solves what is prepared and stores the result; a gradient check looks at where it would start.
"""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from .. import solvers
from ..engines import Engine
from ..limits import LIMITS
from ..networks import flatten
from ..objective import Objective
from ..parameters import as_random_state
from ..protocols import Shards
from . import defaults, parts
from .coding import Coding
from .cores import check_given, draw, is_zero
from .defaults import as_callbacks, float_type
from .encoding import encode
from .inputs import Inputs, Reading
from .rows import Splitter, count_codes, digest
from .tables import Table
from .working import warn_user


@dataclass
class Prepared:
    """A fit that is ready to be solved."""

    #: how the fitted model will read X and y
    reading: Reading
    #: of the training rows; it has network, loss and penalty
    objective: Objective
    validation: Shards | None
    solver: Any
    #: numbers of rows, duplicates counted once where that is known, and of columns
    shape: tuple[int, int]
    #: random numbers for the first cores
    rng: np.random.RandomState
    #: cores of the fit that this one continues
    earlier: list[Any] | None
    #: fitted attributes that depend on y alone
    learned: dict[str, Any]
    #: rows that a search has judged its choice by: their numbers in the first training shard (None
    #: if they are no training rows), their shards, and an iterate that has not seen them
    held_out: list[Any] = field(default_factory=list)
    #: cores and precisions of one of the models whose mean is the result
    member: Any = None

    @property
    def inputs(self) -> Inputs:
        """The columns."""
        return self.reading.inputs

    def start(self, init: Any) -> list[Any]:
        """Return cores to start from: those of the last fit, given ones, or drawn ones."""
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
        self, model: Any, cores: list[Any], *, solver: Any = None, max_iter: int | None = None
    ) -> solvers.Result:
        """Run the solver, stopping as the model's parameters say unless others are given."""
        score = None
        if self.validation is not None:
            score = model._validation_score(self.objective, self.validation)
        tol = defaults.tol(score is not None) if model.tol == "auto" else model.tol
        checkpoint = None
        if model.checkpoint is not None:
            facts = fingerprint(model, self.objective, cores)
            checkpoint = solvers.Checkpoint(model.checkpoint, facts, model.checkpoint_seconds)
        return solvers.solve(
            self.solver if solver is None else solver, self.objective, cores,
            solvers.Stopping(model.max_iter if max_iter is None else max_iter, tol),
            score, as_callbacks(model.callbacks), model.verbose, checkpoint,
        )  # fmt: skip


@contextmanager
def prepare(
    model: Any, table: Table, engine: Engine, known: Reading | None = None
) -> Iterator[Prepared]:
    """Prepare a fit of a model whose parameters have been checked; `known` is of an earlier fit."""
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
        solver, alpha = parts.make_solver(model), model.alpha
        if isinstance(alpha, str):
            alpha = defaults.alpha(*shape) if known is None else model.alpha_
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
            if solver.needs_rows and not rows.train.are_here:
                raise ValueError(
                    f"solver={type(solver).__name__} needs all rows in this process's memory; keep "
                    "them there (engine='threads', a larger memory_limit), or use 'als', 'lbfgs' "
                    "or 'gauss_newton'."
                )
            counts = engine.sum(count_codes, rows.train)
            for own, column, count in zip(inputs.columns, coding.columns, counts, strict=True):
                own.weigh(column.values, count, defaults.scaling(model))
            objective = Objective(
                columns=coding.columns, shards=rows.train, network=network, loss=loss,
                engine=engine, alpha=float(alpha), scatter=scatter, dtype=float_type(model.dtype),
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
    """Warn early about categories that no file can hold."""
    for column in inputs.columns:
        if not column.is_categorical:
            continue
        for value in {type(value): value for value in column.categories}.values():
            try:
                encode(value)
            except TypeError as error:
                warn_user(f"The model cannot be saved: {column.label}: {error}.", UserWarning)


#: parameters that change when a fit ends or what is shown, not its course
FREE = {
    "callbacks", "checkpoint", "checkpoint_seconds", "engine", "max_iter", "memory_limit", "n_jobs",
    "tol", "verbose",
}  # fmt: skip


def fingerprint(model: Any, objective: Objective, cores: Any) -> dict[str, str]:
    """Return parameters, rows and start of a fit, each as a short text."""
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
