"""The search: rounds in which fewer and fewer candidates get more and more epochs and folds.

    round 1    all                 two epochs on one fold, along paths of neighbours
    round 2    the best ninth      some epochs on two folds; joined by the neighbours of the best
    round 3    the best twelfth    more epochs on all folds
    last       the best 27th       to the end, on all folds and all rows: the best one first, then
                                   others fold by fold, as long as they may come out ahead of it

Fits from the second round on are those of the estimator itself and go on from round to round,
so that a candidate of the last round has the scores that scikit-learn's GridSearchCV would give
it.  Two things make up for how little a few epochs tell.  A narrow band learns slowly at first
and may be the best in the end, so the first round lets the best candidate of every path go on,
before others; and candidates next to the best one get a second chance.  What all of it was
measured on is in docs/decisions/0011-a-race-of-candidates.md.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines import Threads
from ..limits import LIMITS
from .course import Course
from .folds import Fold
from .path import Path, find_adjacent, make_paths, start_from
from .table import ScoreTable


@dataclass(frozen=True)
class Round:
    """What the candidates of a round get, and how many go on.

    Attributes
    ----------
    n_folds : int or None
        None for all.
    epochs : float or None
        Share of the estimator's max_iter, at least one epoch; None goes on to the end.
    kept : int
        One in so many of all candidates goes on.
    is_varied : bool
        Whether the best candidate of every path goes on before others.
    n_climbs : int
        How often the neighbours of the best candidate join in, where they were given up before.
    """

    n_folds: int | None
    epochs: float | None
    kept: int
    is_varied: bool = False
    n_climbs: int = 0


ROUNDS = (
    Round(1, 0.05, 9, is_varied=True),
    Round(2, 0.1, 12, n_climbs=3),
    Round(None, 0.3, 27),
)
LAST = Round(None, None, 1)


@dataclass
class _Job:
    """Candidates to be brought to so many epochs on one fold, each after its neighbour."""

    number: int
    fold: int
    path: Path
    epochs: int
    starts_anew: bool = False


@dataclass
class Race:
    """A search over candidates.

    Attributes
    ----------
    estimator : estimator
    candidates : list of dict
    folds : list of Fold
    scorer : callable
        scorer(model, X, y), higher is better.
    engine : Threads
    sampled : list of Fold or None
        The same folds with fewer rows, for all rounds but the last.
    uses_paths : bool
        Whether candidates of the first round start from their neighbours' cores.
    report : callable
        report(epochs), told of epochs that were done, or need not be done.
    table : ScoreTable
        What was found out.
    """

    estimator: Any
    candidates: list[dict[str, Any]]
    folds: list[Fold]
    scorer: Any
    engine: Threads
    sampled: list[Fold] | None = None
    uses_paths: bool = True
    report: Callable[[int], None] = lambda epochs: None
    table: ScoreTable = field(init=False)

    def __post_init__(self) -> None:
        self.table = ScoreTable(len(self.candidates), len(self.folds))
        self.rounds = (
            (*ROUNDS, LAST) if len(self.candidates) > LIMITS.fewest_candidates else (LAST,)
        )
        self._paths = make_paths(self.candidates)
        self._courses: dict[tuple[int, int], Course] = {}
        self._stopped = False

    @property
    def n_epochs(self) -> int:
        """About how many epochs the whole search takes, as `report` is told of them."""
        alive, total = len(self.candidates), 0
        for each in self.rounds:
            total += alive * self._n_folds(each) * self._epochs(each)
            alive = self._n_kept(each)
        return total

    def run(self) -> None:
        """Run all rounds; a KeyboardInterrupt leaves the table as it stands."""
        alive, adjacent = list(range(len(self.candidates))), find_adjacent(self.candidates)
        try:
            for number, each in enumerate(self.rounds[:-1], 1):
                self._run(number, each, alive)
                for _ in range(each.n_climbs):
                    best = int(self.table.order()[0])
                    self._run(number, each, self._given_up(adjacent[best], number))
                    if self.table.order()[0] == best:
                        break
                alive = self._leaders(number, each)
            self._run_last(alive)
        finally:
            self._stopped = True  # fits on other threads end with their epoch

    def _run(self, number: int, each: Round, alive: list[int]) -> None:
        """Bring some candidates through a round."""
        try:
            self._share(self._jobs(number, each, alive))
        finally:
            self.table.settle(number, slice(self._n_folds(each)))

    def _run_last(self, alive: list[int]) -> None:
        """Bring the best candidate to its end, and others that may still come out ahead of it."""
        if self.sampled is not None:
            self._courses, self.sampled = {}, None
        number, (best, *others), before = len(self.rounds), alive, self.table.score.copy()
        if number == 1:  # nothing tells which one may win
            return self._run(number, LAST, alive)
        self._run(number, LAST, [best])
        hoped = before + LIMITS.most_gain * np.abs(self.table.score[best] - before[best])
        try:
            for fold in range(len(self.folds)):
                others = [c for c in others if _may_win(hoped[c], self.table.score[best])]
                self._share([_Job(number, fold, [(c, None)], self._epochs(LAST)) for c in others])
                hoped[:, fold] = self.table.score[:, fold]
        finally:
            self.table.settle(number, slice(None))

    def _given_up(self, some: list[int], number: int) -> list[int]:
        return [candidate for candidate in some if self.table.round[candidate] < number]

    def _epochs(self, each: Round) -> int:
        return math.ceil((each.epochs or 1.0) * self.estimator.max_iter)

    def _n_folds(self, each: Round) -> int:
        if each is not LAST and len((self.sampled or self.folds)[0].test) >= LIMITS.large_fold:
            return 1
        return min(each.n_folds or len(self.folds), len(self.folds))

    def _n_kept(self, each: Round) -> int:
        return max(LIMITS.fewest_candidates, -(-len(self.candidates) // each.kept))

    def _leaders(self, number: int, each: Round) -> list[int]:
        """Return the candidates that continue, best first, and drop the fits of all others."""
        order = [c for c in self.table.order().tolist() if self.table.round[c] == number]
        if each.is_varied:
            order = _in_turn(order, self._paths)
        leaders = set(order[: self._n_kept(each)])
        self._courses = {key: self._courses[key] for key in self._courses if key[0] in leaders}
        return [c for c in self.table.order().tolist() if c in leaders]

    def _jobs(self, number: int, each: Round, alive: list[int]) -> list[_Job]:
        epochs, folds = self._epochs(each), range(self._n_folds(each))
        if number == 1 and each is not LAST and self.uses_paths:
            return [
                _Job(number, fold, path, epochs, True) for path in self._paths for fold in folds
            ]
        return [_Job(number, fold, [(c, None)], epochs) for c in alive for fold in folds]

    def _share(self, jobs: list[_Job]) -> None:
        """Do jobs side by side if there are enough of them, else one by one on all threads."""
        if 2 * len(jobs) > self.engine.n_threads:
            self.engine.run(self._do, jobs)
        else:
            for job in jobs:
                self._do(job)

    def _do(self, job: _Job) -> None:
        try:
            self._advance(job)
        except KeyboardInterrupt:
            self._stopped = True  # at once, though others may be waited for before this one
            raise

    def _advance(self, job: _Job) -> None:
        fold = (self.sampled or self.folds)[job.fold]
        posed = fold.posed(self.estimator)
        cores: dict[int | None, Any] = {}
        for candidate, neighbour in job.path:
            if self._stopped:
                return
            course = self._courses.get((candidate, job.fold))
            if course is None:
                course = Course(posed, self.candidates[candidate], lambda: self._stopped)
            if not course.finished:
                start = (
                    None if neighbour is None else start_from(cores[neighbour], self.estimator.init)
                )
                course.advance(job.epochs, self.engine, start)
                self._score(candidate, job.fold, course, fold)
            self.table.finish(candidate, job.fold, job.number)
            if job.starts_anew:
                cores[candidate] = course.model.cores_
            else:
                self._courses[candidate, job.fold] = course
            self.report(job.epochs)

    def _score(self, candidate: int, number: int, course: Course, fold: Fold) -> None:
        begin = perf_counter()
        score = fold.score(course.model, self.scorer)
        seconds = perf_counter() - begin
        self.table.enter(candidate, number, course, len(fold.train), score, seconds)


def _may_win(hoped: NDArray, goal: NDArray) -> bool:
    """Whether hoped-for scores are ahead, on those folds where there are some."""
    known = np.isfinite(hoped)
    return not known.any() or bool(hoped[known].mean() > goal[known].mean())


def _in_turn(order: list[int], paths: list[Path]) -> list[int]:
    """Sort the first candidate of every path before all others, keeping the order of each."""
    path_of = {candidate: i for i, path in enumerate(paths) for candidate, _ in path}
    first = set({path_of[candidate]: candidate for candidate in reversed(order)}.values())
    return sorted(order, key=lambda candidate: candidate not in first)
