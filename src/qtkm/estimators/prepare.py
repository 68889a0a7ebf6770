"""Preparation of a fit: everything before its first epoch.

    table ──scan──► boxes, categories ──► feature maps, network, solver, penalty
    table ──code──► shards ──► scale of y ──► objective, validation rows       = Prepared

A fit solves the prepared problem and stores the result; a gradient check uses its start.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import version
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier

from .. import solvers
from ..engines import Engine
from ..losses import Squared
from ..networks import CPD, Additive, flatten, unflatten
from ..objective import Column, Objective
from ..objective.terms import new_terms
from ..parameters import as_random_state
from ..protocols import Cores, Given, Shards
from . import defaults, parts
from .defaults import as_callbacks, float_type
from .encoding import encode
from .inputs import Inputs, Reading
from .memory import refuse_wide
from .rows import Splitter, count_codes, digest, spread
from .tables import Coding, Table
from .working import warn_user

#: root mean square of the responses at the start of a fit whose loss is not quadratic
SMALL = 0.1
#: multiple of the objective of a model that is 0 everywhere, above which a fit has failed
HOPELESS = 1e3
#: updates of main effects alone under a loss that is not quadratic, and the least gain of one
MOST_UPDATES, LEAST_GAIN = 25, 1e-4


@dataclass
class Prepared:
    """A fit that is ready to be solved."""

    #: how the fitted model will read X and y
    reading: Reading
    #: of the training rows; it has network, loss and penalty
    objective: Objective
    validation: Shards | None
    solver: solvers.Solver
    #: numbers of rows, duplicates counted once where that is known, and of columns
    shape: tuple[int, int]
    #: random numbers for the first cores
    rng: np.random.RandomState
    #: cores of the fit that this one continues
    earlier: Cores | None
    #: fitted attributes that depend on y alone
    learned: dict[str, Any]
    #: rows that a search has judged its choice by: their numbers in the first training shard (None
    #: if they are no training rows), their shards, and an iterate that has not seen them
    held_out: list[Any] = field(default_factory=list)
    #: cores and precisions of one of the models whose mean is the result
    member: Any = None
    #: how many numbers of the prior were learned from all rows, those held out among them
    n_chosen: int = 0

    @property
    def inputs(self) -> Inputs:
        return self.reading.inputs

    def use_maps(self, maps: Sequence[Any]) -> None:
        """Give the columns other feature maps, and the main effects as many functions."""
        pairs = zip(maps, self.objective.columns, strict=True)
        columns = [Column(old.name, own, old.box, old.grid) for own, old in pairs]
        network = Additive(self.objective.network.network, [each.n_main for each in maps])
        self.objective = replace(self.objective, columns=columns, network=network)
        self.reading = replace(self.reading, inputs=self.inputs.with_maps(maps))

    def start(self, init: Given) -> Cores:
        """Return cores to start from: those of the last fit, given ones, or drawn ones."""
        labels, earlier = self.inputs.labels, self.earlier
        # of cores that are zero, with a response of zero everywhere, no update would change any
        if earlier is not None and all(core.any() for core in flatten(earlier)):
            try:
                return check_given(self.objective, earlier, labels)
            except ValueError as error:
                raise ValueError(
                    f"warm_start=True cannot continue from the fitted cores. {error} Use "
                    "warm_start=False to start over."
                ) from None
        if isinstance(init, str):
            return draw(self.objective, init, self.rng)
        return check_given(self.objective, init, labels)

    def solve(
        self,
        model: Any,
        cores: Cores,
        *,
        solver: solvers.Solver | None = None,
        max_iter: int | None = None,
    ) -> solvers.Result:
        """Run the solver, stopping as the model's parameters say unless others are given."""
        score = None
        if self.validation is not None:
            score = validation_score(model, self.objective, self.validation)
        tol = defaults.tol(score is not None) if model.tol == "auto" else model.tol
        checkpoint = None
        if model.checkpoint is not None:
            facts = fingerprint(model, self.objective, cores)
            checkpoint = solvers.Checkpoint(model.checkpoint, facts, model.checkpoint_seconds)
        solver = self.solver if solver is None else solver
        result = solvers.solve(
            solver, self.objective, cores,
            solvers.Stopping(model.max_iter if max_iter is None else max_iter, tol),
            score, as_callbacks(model.callbacks), model.verbose, checkpoint,
        )  # fmt: skip
        least, zero = min(result.history.objective, default=0.0), self.objective.constant
        if result.status in ("interrupted", "failed") or not least > HOPELESS * zero > 0:
            return result
        nothing = unflatten(cores, [0 * core for core in flatten(cores)])
        zero = self.objective.value(self.objective.at(nothing))
        if not least > HOPELESS * zero > 0:
            return result
        message = (
            f"The objective is still {least:.2g} after {result.n_iter} epochs, but only {zero:.2g} "
            f"for a model that is 0 everywhere: {solver!r} does not get rid of rough functions, "
            "which the penalty makes expensive. Use solver='als', or penalty='ridge'."
        )
        return replace(result, status="failed", message=message)


def validation_score(model: Any, objective: Objective, shards: Shards) -> Callable[[Any], float]:
    """Return what scores a solver's state on validation rows: R², or minus the mean loss."""
    if not isinstance(objective.loss, Squared) or is_classifier(model):
        return lambda state: -objective.mean_loss(state.iterate, shards)
    variance = spread(shards, objective.engine)
    loss = Squared("real")
    return lambda state: 1 - objective.mean_loss(state.iterate, shards, loss) / variance


@contextmanager
def prepare(model: Any, table: Table, engine: Engine) -> Iterator[Prepared]:
    """Prepare a fit of a model whose parameters have been checked."""
    known: Reading | None = model._known
    rng = as_random_state(model.random_state)
    with table:
        table.look(engine)
        scan = table.scan
        scan.settle()
        inputs, n_outputs, loss = scan.inputs, scan.target.n_outputs, scan.target.loss
        shape = table.count(), len(inputs)
        if known is not None:
            known.check_same(inputs, n_outputs)
        _warn_unless_savable(inputs)
        maps = parts.make_maps(model, inputs, shape, None if known is None else known.inputs.maps)
        network = parts.make_network(model, shape, n_outputs, model.rank_ if known else None)
        if defaults.main_effects(model):
            network = Additive(network, [feature_map.n_main for feature_map in maps])
        # ranks that do not fit are refused here, before anything takes long
        network.structure([feature_map.radices for feature_map in maps], n_outputs)
        solver, alpha = parts.make_solver(model), model.alpha
        if isinstance(alpha, str):
            alpha = defaults.alpha(*shape) if known is None else model.alpha_
        penalties = parts.make_penalties(model, inputs.labels)
        inputs = inputs.with_maps(maps)
        coding = Coding(inputs, scan, engine.run)
        split = partial(
            Splitter, early_stopping=model.early_stopping, fraction=model.validation_fraction,
            rng=rng, by_class=scan.target.classes_of,
        )  # fmt: skip
        rows = table.arrange(coding, split, network, engine)
        loss.check_range(*scan.target.target_range)
        is_scaled = getattr(model, "normalize_y", False) and loss.normalizes_target
        known_scale = None if known is None else known.known_scale
        scale = rows.scale(loss if is_scaled else None, known_scale, engine)
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
                engine=engine, alpha=float(alpha), dtype=float_type(model.dtype),
                penalties=penalties,
            )  # fmt: skip
            if known is not None and model.penalties_ is not None:
                objective.begin_at(model.penalties_)
            earlier = None if known is None else model.cores_
            yield Prepared(
                Reading(inputs, scale, scan.target.target_range, table.target_names), objective,
                rows.validation, solver, shape, rng, earlier, scan.target.learned,
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


def fingerprint(model: Any, objective: Objective, cores: Cores) -> dict[str, str]:
    """Return parameters, rows and start of a fit, each as a short text."""
    parameters = {
        f"parameter {name}": _text(value)
        for name, value in model.get_params(deep=True).items()
        if name.split("__")[0] not in FREE
    }
    rows = [column.feature_map.factors(column.values) for column in objective.columns]
    rows.append(objective.engine.sum(digest, objective.shards))
    start = [np.ascontiguousarray(core) for core in flatten(cores)]
    known = {"version of qtkm": version("qtkm"), "rows": joblib.hash(rows)}
    return parameters | known | {"start": joblib.hash(start)}


def _text(value: Given) -> str:
    """Return a text that is the same for equal values."""
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return "a generator"
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        text = repr(value)
    return text if len(text) < 200 else joblib.hash(text)


def draw(objective: Objective, kind: str, rng: np.random.RandomState) -> Cores:
    """Return cores of a named kind of start; main effects are fitted first, the rest follows."""
    network, n_columns = objective.network, len(objective.columns)
    if not network.has_main_effects:
        return _draw(objective, kind, rng)
    iterate = fit_main_effects(objective)
    objective.precisions[n_columns:] = iterate.main_precisions
    if network.network is None:
        return iterate.cores
    if kind == "smooth" and isinstance(network.network, CPD) and n_columns > 1:
        return [*new_terms(objective, iterate, network.rank, rng), *iterate.cores]
    inner = _draw(objective.with_parts(network.network), kind, rng)
    flatten(inner)[0] *= SMALL
    return [*inner, *iterate.cores]


def fit_main_effects(objective: Any) -> Any:
    """Return an iterate of the main effects alone, at their best."""
    network = Additive(None, objective.network.functions)
    refuse_wide(1 + sum(network.functions))
    alone = objective.with_parts(network)
    iterate = alone.at([network.no_effects(objective.n_outputs)])
    last = np.inf
    for _ in range(1 if objective.loss.is_quadratic else MOST_UPDATES):
        value = alone.update(iterate, 0)[-1]
        if last - value < LEAST_GAIN * abs(value):
            break
        last = value
    return iterate


def _draw(objective: Objective, kind: str, rng: np.random.RandomState) -> Cores:
    constants = [column.feature_map.constant() for column in objective.columns]
    cores = objective.network.start(constants, objective.n_outputs, objective.is_complex, kind, rng)
    if objective.loss.is_quadratic:  # whose first update does not see the scale
        return cores
    # a quadratic model serves best near 0: started at responses of the size of the rank, half of
    # the first steps of a logistic loss were taken back, and five epochs came as far as two from
    # here (banana)
    size = np.sqrt(objective.mean_size(objective.at(cores)) / objective.n_outputs)
    if size > SMALL:
        flatten(cores)[0][...] *= SMALL / size
    return cores


def check_given(objective: Objective, given: Given, labels: Sequence[str]) -> Cores:
    """Copy given cores after checking their layout, shapes and type."""
    shapes, network = objective.shapes, objective.network
    if isinstance(shapes[0], tuple):  # one core per vertex
        radices = [column.radices for column in objective.columns]
        labels = network.structure(radices, objective.n_outputs).vertices
    effects = ["the main effects"] * network.has_main_effects
    labels = [*[*labels, "the outputs"][: len(shapes) - len(effects)], *effects]
    entries = _entries(given, len(shapes), "The cores", f"one for each of {', '.join(labels)}")
    cores: Cores = []
    for n, (entry, shape, label) in enumerate(zip(entries, shapes, labels, strict=True)):
        is_complex = objective.is_complex and n < len(shapes) - bool(network.n_real)
        if isinstance(shape, tuple):
            cores.append(_check_core(entry, shape, is_complex, f"The core of {label}"))
            continue
        levels = _entries(entry, len(shape), f"The cores of {label}", "one for each level")
        cores.append([
            _check_core(core, s, is_complex, f"The core of {label}, level {k}")
            for k, (core, s) in enumerate(zip(levels, shape, strict=True))
        ])  # fmt: skip
    return cores


def _check_core(given: Given, shape: tuple[int, ...], is_complex: bool, what: str) -> NDArray:
    core = np.array(np.nan)
    with suppress(TypeError, ValueError):
        core = np.array(given, dtype=np.complex128)
    if not np.isfinite(core).all():
        raise ValueError(f"{what} must be an array of finite numbers, got {given!r:.200}.")
    if core.shape != shape:
        raise ValueError(f"{what} has shape {core.shape}; expected {shape}.")
    if core.imag.any() and not is_complex:
        raise ValueError(f"{what} is complex, but all features are real; give its real part.")
    return core if is_complex else np.ascontiguousarray(core.real)


def _entries(value: Given, length: int, what: str, expected: str) -> Sequence[Given]:
    is_list = isinstance(value, list | tuple | np.ndarray)
    if is_list and len(value) == length:
        return value
    given = f"a {type(value).__name__} of {len(value)}" if is_list else repr(value)
    raise ValueError(f"{what} must be a list of {length} entries, {expected}; got {given}.")
