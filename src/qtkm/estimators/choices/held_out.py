"""Rows that a search holds out, and the models of the others.

Rows are held out in turn where they are few, and one part of them where they are many; rows that
were set aside for early stopping serve as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import interruption, solvers
from ...data import Shard, ShardList
from ...networks import CPD, Additive, Cores
from ...objective import Objective
from ...objective.terms import new_terms
from ..prepare import fit_main_effects
from ..uncertainty import hashed
from . import mixing

#: rows, rows times columns, and columns up to which rows are held out in turn; number of folds
FOLDED_ROWS, FOLDED, FOLDED_COLUMNS, FOLDS = 2000, 14_000, 40, 4
#: rows that differ below which none can be held out, and main effects are all there is
FEWEST_ROWS = 8
#: part of the rows that is held out otherwise, and the most of them
HELD_OUT, MOST_HELD_OUT = 0.2, 5000
#: rows of the sample that the penalty is chosen on where there are twice as many, fewer of wide
#: tables
SAMPLE, LEAST_SAMPLE, SAMPLE_NUMBERS = 50_000, 12_000, 500_000


@dataclass
class FoldState:
    """Where the model of a fold stands: cores of a network of some rank, and their priors."""

    rank: int
    cores: Cores
    precisions: list[Any]


@dataclass
class Trial:
    """States of all folds, and what they say of the held-out rows.

    Attributes
    ----------
    states : list of FoldState
    rank : int
    size : float
        λ, the penalty in units of one row.
    losses : (n,) array
        Of every held-out row, weighted; one number where the rows are elsewhere.
    error : float
        Mean of them.
    """

    states: list[FoldState]
    rank: int
    size: float
    losses: NDArray[np.float64]
    error: float


class Fold:
    """Rows to fit to, rows to judge by, and the main effects alone.

    Parameters
    ----------
    objective : Objective
        With main effects; of the rows to fit to.
    held_out : sequence of Shard
    limits : (low, high) arrays or None
        Range that predictions are kept in.
    """

    def __init__(self, objective: Objective, held_out: Sequence[Any], limits: Any):
        self.objective, self.held_out, self.limits = objective, held_out, limits
        iterate = fit_main_effects(objective)
        self.main = FoldState(0, iterate.cores, list(iterate.precisions))
        self._terms: Cores | None = None
        self.sample = sampled_objective(objective)

    def at(self, state: FoldState, size: float = 0.0) -> tuple[Objective, Any]:
        """Return the objective of a state at a given penalty, and its iterate."""
        objective = with_rank(self.objective, state.rank, size)
        objective.precisions = list(state.precisions)
        return objective, objective.at(state.cores)

    def begin(self, rank: int, rng: np.random.RandomState) -> FoldState:
        """Start a network on the residual of the main effects; deterministic."""
        if self._terms is None:
            objective, iterate = self.at(self.main)
            self._terms = new_terms(objective, iterate, rank, rng, self.sample)
        return FoldState(rank, [*self._terms, *self.main.cores], self.main.precisions)

    def grow(self, state: FoldState, count: int, rng: np.random.RandomState) -> FoldState:
        """Add terms, started on the residual."""
        objective, iterate = self.at(state)
        more = new_terms(objective, iterate, count, rng, self.sample)
        inner = [mixing.join(a, b) for a, b in zip(state.cores[:-1], more, strict=True)]
        return FoldState(state.rank + count, [*inner, state.cores[-1]], state.precisions)

    def fit(self, state: FoldState, size: float, epochs: int) -> FoldState:
        """Run more epochs."""
        objective, _ = self.at(state, size)
        solver = solvers.ALS(momentum=True)
        now = solver.start(objective, state.cores)
        for _ in range(epochs):
            now = solver.step(objective, now, _ignore)
        return FoldState(state.rank, now.iterate.snapshot(), list(now.iterate.precisions))

    def losses(self, state: FoldState) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Losses of the held-out rows and their weights."""
        objective, iterate = self.at(state)
        judge = Judge(iterate.response_pass(), objective.loss, self.limits)
        if getattr(self.held_out, "are_here", True):
            run = objective.engine.run
            parts = [judge.each(shard, run) for shard in self.held_out]
            return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
        total, weight = objective.engine.sum(judge, self.held_out)
        return np.array([total / weight]), np.array([float(weight)])


@dataclass
class Judge:
    """Losses of rows, predictions of numbers kept within a range."""

    respond: Any
    loss: Any
    limits: Any

    def each(self, shard: Any, run: Any) -> tuple[NDArray, NDArray]:
        """Loss and weight of every row."""
        response = np.ascontiguousarray(self.respond(shard, run=run).real)
        if self.limits is not None:
            response = np.clip(response, *self.limits)
        losses = self.loss.value(response, shard.target)
        weight = np.ones(len(losses)) if shard.weight is None else shard.weight
        return losses, weight

    def __call__(self, shard: Any, run: Any) -> NDArray[np.float64]:
        losses, weight = self.each(shard, run)
        return np.array([weight @ losses, weight.sum()])


def with_rank(objective: Objective, rank: int, size: float) -> Objective:
    """Return an objective with main effects and a CPD of a rank, at a penalty of λ."""
    network = Additive(CPD(rank) if rank else None, objective.network.functions)
    return objective.with_parts(network, size / objective.total_weight)


def split(
    objective: Objective, validation: Any, rng: np.random.RandomState
) -> list[tuple[Objective, Any, NDArray | None]]:
    """Return for every fold the objective of its rows, those held out, and their numbers.

    Numbers are those in the first shard; None for validation rows, which are no training rows.
    """
    if validation is not None:
        return [(objective, validation, None)]
    if objective.n_rows < FEWEST_ROWS:
        return []
    shard, *others = objective.shards
    n_columns = len(objective.columns)
    # copies of a row fall on both sides of a split, as they do between training and test rows, and
    # so a model that remembers rows is judged fairly
    every = np.arange(len(shard))
    if shard.has_copies and shard.weight is not None:
        every = np.repeat(every, shard.weight.astype(np.int64))
    n = len(every)
    order = np.random.RandomState(rng.randint(2**31 - 1)).permutation(n)
    is_small = len(shard) <= min(FOLDED_ROWS, FOLDED / n_columns) and n_columns <= FOLDED_COLUMNS
    if is_small and not others:
        parts = [np.sort(every[order[i::FOLDS]]) for i in range(FOLDS)]
    else:
        parts = [np.sort(every[order[: min(max(1, int(HELD_OUT * n)), MOST_HELD_OUT)]])]
    found: list[tuple[Objective, Any, NDArray | None]] = []
    for part in parts:
        held_out, rows = _divide(shard, part, shard.has_copies)
        own = replace(objective, shards=ShardList([rows, *others]))
        found.append((own, ShardList([held_out]), np.unique(part)))
    return found


def sampled_objective(objective: Objective) -> Objective:
    """Return the objective on a sample of the rows if there are many."""
    size = min(SAMPLE, max(LEAST_SAMPLE, SAMPLE_NUMBERS // len(objective.columns)))
    if objective.n_rows <= 2 * size:
        return objective
    some = hashed(objective.shards, size, objective.engine)  # the same rows, wherever they are
    if len(some) < size / 2:  # most rows are equal to others
        return objective
    return replace(objective, shards=ShardList([some]))


def _divide(shard: Shard, part: NDArray[np.int64], by_copies: bool) -> tuple[Shard, Shard]:
    """Return the rows of a part and the rest; copies take their share of a row's weight."""
    weight = np.ones(len(shard)) if shard.weight is None else shard.weight
    held = np.bincount(part, minlength=len(shard)) * (1.0 if by_copies else weight)
    found = []
    for own in (held, weight - held):
        rows = np.flatnonzero(own)
        found.append(shard.take(rows))
        if by_copies:
            found[-1].weight = own[rows]
    return found[0], found[1]


def _ignore(cores: Any, values: list[float]) -> None:
    """Take no note of an update, but for Ctrl-C."""
    interruption.check()
