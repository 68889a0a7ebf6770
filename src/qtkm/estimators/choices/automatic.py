"""Automatic choice of rank and penalty: a search on held-out rows before the fit to all rows.

    main effects ──► terms from pairs of columns, one start per decade of the penalty
                 ──► the best of them, refined ──► twice the rank while held-out rows improve
                 ──► all rows

Small tables are split into folds; of large ones, one part is held out, the rows of early stopping
if there are any.  Each fold has its own model, which is then fitted to all rows; the result is
their mean, a CPD with the terms of all of them.  The penalty is measured by λ = α·(number of
rows), the variance of the noise over that of the signal, which does not depend on the number of
rows.  Evidence for the constants is in docs/decisions/0016-automatic.md and 0023-many-rows.md.
"""

import logging
import time
from dataclasses import replace
from typing import Any

import numpy as np
from tqdm.auto import tqdm

from ... import solvers
from ...networks import CPD, Additive, flatten, unflatten
from ...objective import Objective
from ..defaults import MOST_COLUMNS, is_auto
from ..prepare import fingerprint, fit_main_effects
from . import full_rank, mixing
from .bands import MANY_ROWS, choose_sizes
from .held_out import FEWEST_ROWS, Fold, FoldState, Trial, sampled_objective, split, with_rank

logger = logging.getLogger(__name__)

#: rank of the first network, and its epochs at each decade; epochs of a refinement, of a larger
#: rank, and of the last fit to all rows, with folds and without
FIRST_RANK, FIRST_EPOCHS, REFINING, GROWING, LAST, LAST_ALONE = 8, 8, 4, 6, 6, 15
#: where the path of λ begins, and ends of where a likelihood lets it begin; its greatest value, and
#: the step of a refinement
FIRST, FIRSTS, GREATEST, STEP = 0.1, (1e-3, 1.0), 1e2, 10**0.5
#: of many rows the penalty of a low rank is lowered as far as it goes, and that of larger ones
#: rises again by this factor
LEAP = 30.0
#: a network whose error exceeds that of the full-rank model by this factor is abandoned
HOPELESS = 1.15
#: held-out errors of main effects, in units of scaled targets, below this are rounding errors
EXACT = 1e-14
#: relative gain on held-out rows below which a step is no improvement
GAIN = 0.002
#: ranks to grow to, and bounds on folds·columns·rows·rank²: in total, and beyond FEW_ROWS, where
#: passes are compiled, per row
RANKS, MOST_WORK, FEW_ROWS, ROW_WORK = (16, 32, 64), 1.5e7, 6000, 5e4
#: most steps of the penalty at a larger rank, and most further rounds of epochs at the end
MOST_SLIDES, MOST_ROUNDS = 2, 3
#: least relative progress of the last fit
TOL = 2e-3
#: fractions of the range by which predictions may exceed the targets, and columns the training rows
MARGIN, REACH = 0.1, 0.1


def is_wanted(model: Any, objective: Objective, has_validation: bool) -> bool:
    """Return True if a fit should search for its rank or penalty."""
    network = objective.network
    inner = getattr(network, "network", None)
    rank = getattr(model.network, "rank", model.rank) if model.rank == "auto" else model.rank
    is_open = isinstance(rank, str) or (isinstance(model.alpha, str) and isinstance(inner, CPD))
    return (
        network.has_main_effects
        and is_open
        and (has_validation or objective.rows_are_here)
        and (isinstance(rank, str) or objective.n_rows >= FEWEST_ROWS)
        and isinstance(inner, CPD)
        and isinstance(model.init, str)
        and model.init == "smooth"
        and isinstance(model.solver, str)
        and model.solver == "als"
    )


class Search:
    """The search of one fit.

    Parameters
    ----------
    model : estimator
    prepared : Prepared
    """

    def __init__(self, model: Any, prepared: Any):
        self.model, self.prepared, self.rng = model, prepared, prepared.rng
        self.begin = time.perf_counter()
        self.path: list[dict[str, Any]] = []
        self.checkpoint = None
        if model.checkpoint is not None:
            # the state of the generator says which rows are held out
            facts = fingerprint(model, prepared.objective, [self.rng.get_state()[1]])
            self.checkpoint = solvers.Checkpoint(model.checkpoint, facts)
        self.n_fitted = 0
        objective = prepared.objective
        self.limits = None
        if objective.loss.is_quadratic:
            reading = prepared.reading
            self.limits = tuple(reading.scale.apply(np.array(reading.bounds(MARGIN))))
        self.n_rows, self.n_columns = objective.n_rows, len(objective.columns)
        self.has_many_rows = self.n_rows > MANY_ROWS
        self.network: Trial | None = None
        self.mixer: mixing.Mixer | None = None
        self.best: Trial | None = None
        self.bar = tqdm(desc="search", unit="trial", disable=not model.verbose)
        if is_auto(model.n_basis):
            choose_sizes(prepared)
        self.prior = full_rank.learn_prior(self) if full_rank.is_possible(self) else None
        if model.bounds is None:
            for column in prepared.inputs.columns:
                if hasattr(column.feature_map, "period") and column.cycle is None:
                    column.box = replace(column.box, reach=REACH)
        objective = prepared.objective
        every = split(objective, prepared.validation, self.rng)
        self.parts = [(own, rest) for own, rest, _ in every]
        self.aside = [rows for *_, rows in every]
        self.folds = [Fold(sampled_objective(own), rest, self.limits) for own, rest in self.parts]
        self.rank = FIRST_RANK if isinstance(model.rank, str) else int(model.rank)
        least = min(40, 2 * objective.n_outputs) if objective.n_outputs > 1 else 1
        if isinstance(model.rank, str):
            self.rank = max(self.rank, least) if self.n_columns <= MOST_COLUMNS else 0
        self.direction = STEP
        self.size = None
        if not isinstance(model.alpha, str):
            self.size = float(model.alpha) * objective.total_weight

    # -- steps --------------------------------------------------------------------------------

    def judge(self, states: list[FoldState], size: float) -> Trial:
        """Score states on the held-out rows and record the result in the path."""
        pairs = [fold.losses(state) for fold, state in zip(self.folds, states, strict=True)]
        losses, weights = (np.concatenate(each) for each in zip(*pairs, strict=True))
        error = float(losses @ weights / weights.sum())
        rank = states[0].rank
        seconds = time.perf_counter() - self.begin
        alpha = size / self.prepared.objective.total_weight
        self.path.append({"rank": rank, "alpha": alpha, "error": error, "seconds": seconds})
        trial = Trial(states, rank, size, losses * weights / weights.mean(), error)
        if self.best is None or error < self.best.error:
            self.best = trial
        self.bar.set_postfix_str(f"rank {rank}, alpha {alpha:.1e}, loss {error:.4g}", False)
        self.bar.update()
        logger.info("rank %d, alpha %.2g: held-out loss %.5g", rank, alpha, error)
        return trial

    def further(self, trial: Trial, size: float, epochs: int) -> Trial:
        """Run more epochs from a trial, at another penalty."""
        return self.judge(self._fitted(trial.states, size, epochs), size)

    def _fitted(self, states: list[FoldState], size: float, epochs: int) -> list[FoldState]:
        """Run more epochs from states of all folds."""
        pairs = zip(self.folds, states, strict=True)

        def fitted() -> dict[str, Any]:
            return {"states": [vars(fold.fit(state, size, epochs)) for fold, state in pairs]}

        self.n_fitted += 1
        if self.checkpoint is None:
            found = fitted()
        else:
            found = self.checkpoint.recalled(f"trial-{self.n_fitted:06}", fitted)
        return [FoldState(**kept) for kept in found["states"]]

    def run(self) -> Trial:
        """Return the best trial: main effects alone, or a network with them."""
        if not self.folds:  # there is nothing to choose by
            return Trial([], 0, 0.0, np.zeros(1), 0.0)
        alone = self.judge([fold.main for fold in self.folds], 0.0)
        if self.n_columns == 1 or self.rank == 0 or alone.error < EXACT:
            return alone
        if self.prior is not None:
            self.mixer = mixing.Mixer(self, self.prior)
        self.network = best = self._network()
        if not isinstance(self.model.rank, str):
            return self._with_all_rows(best)
        if not _is_better(alone, best, GAIN, 1.0) or self._is_useless(best):
            return alone
        if self._is_behind(best):
            return best
        best = self._grown(self._with_all_rows(best))
        self.network = self._walked(best, 1.0, most=MOST_ROUNDS)
        return self.network

    def _with_all_rows(self, best: Trial) -> Trial:
        """Refit with all rows if the trial was chosen on a sample; many allow for more."""
        pairs = zip(self.folds, self.parts, strict=True)
        if any(fold.objective is not own for fold, (own, _) in pairs):
            self.folds = [Fold(own, rest, self.limits) for own, rest in self.parts]
            if best.rank == 0:
                return self.judge([fold.main for fold in self.folds], 0.0)
            for fold, state in zip(self.folds, best.states, strict=True):
                main = len(fold.main.precisions) - self.n_columns
                state.precisions = [*state.precisions[:main], *fold.main.precisions[main:]]
            best = self.further(best, best.size, GROWING)
        if best.rank == 0 or not self.has_many_rows:
            return best
        self.direction = 1 / STEP
        return self._slid(best, 4 * MOST_SLIDES)

    def _started(self, size: float) -> Trial:
        states = [fold.begin(self.rank, self.rng) for fold in self.folds]
        return self.judge(self._fitted(states, size, FIRST_EPOCHS), size)

    def _walked(
        self, best: Trial, factor: float, epochs: int = GROWING, most: int = 99, gain: float = GAIN
    ) -> Trial:
        """Multiply the penalty by a factor as long as held-out rows improve.

        A number of epochs follows each step; none means that every step starts anew.
        """
        for _ in range(most):
            size = best.size * factor
            least = mixing.least_penalty(self.prepared.objective.loss)
            if factor != 1 and not least < size < GREATEST:
                break
            trial = self.further(best, size, epochs) if epochs else self._started(size)
            if trial.error >= best.error * (1 - gain):
                break
            best = trial
            if not epochs and self._is_behind(best):
                break
        return best

    def _network(self) -> Trial:
        """Return the best network of the first rank: decades of the penalty, then a finer step."""
        if self.size is not None:
            return self._started(self.size)
        size = FIRST
        if self.prior is not None:
            size = float(np.clip(10.0 ** np.round(np.log10(self.prior.noise)), *FIRSTS))
        first = best = self._started(size)
        if self._is_useless(best):
            return best
        steps = ((0.1, 0, 99), (10.0, 0, 99)), ((1 / STEP, REFINING, 1), (STEP, REFINING, 1))
        for pair in steps:
            first = best
            for step in pair:
                if best is first and not self._is_behind(best):
                    best = self._walked(best, *step)
        return best

    def _is_behind(self, best: Trial) -> bool:
        """Whether a network is too far behind the full-rank model to be worth more time."""
        if self.mixer is None or self.n_rows > full_rank.MOST_ALONE:
            return False
        return best.error > HOPELESS * self.mixer.full.error

    def _is_useless(self, best: Trial) -> bool:
        """Whether held-out rows ask for the full-rank model without the network."""
        if self.mixer is None or self.n_rows > full_rank.MOST_ALONE:
            return False
        mix = self.mixer.mix(best)
        return mix is not None and mix.kept == 0

    def _grown(self, best: Trial) -> Trial:
        """Double the rank as long as held-out rows improve."""
        while best.rank < self._most():
            states = [
                fold.grow(state, best.rank, self.rng)
                for fold, state in zip(self.folds, best.states, strict=True)
            ]
            start = replace(best, states=states, rank=2 * best.rank)
            found = self.further(start, best.size, GROWING)
            if self.has_many_rows:
                found = self._raised(start, found)
            else:
                found = self._slid(found, MOST_SLIDES)
            if found.error >= best.error:
                break
            best = found
        return best

    def _raised(self, start: Trial, best: Trial) -> Trial:
        """Grow at larger penalties as long as held-out rows improve, else go on at a smaller one.

        A low rank asks for a small penalty, at which new terms fit the noise of many rows.
        """
        if self.size is not None:
            return best
        first = best
        while best.size * LEAP < GREATEST:
            trial = self.further(start, best.size * LEAP, GROWING)
            if trial.error >= best.error:
                break
            best = trial
        return self._walked(best, 1 / STEP, most=1, gain=0.0) if best is first else best

    def _slid(self, best: Trial, most: int) -> Trial:
        """Move the penalty as long as held-out rows improve, first in the last direction."""
        if self.size is not None:
            return best
        for factor in (self.direction, 1 / self.direction):
            found = self._walked(best, factor, most=most)
            if found is not best:
                self.direction = factor
                return found
        return best

    def _most(self) -> int:
        """Return the largest rank to try."""
        n = self.n_rows
        allowed = max(MOST_WORK, ROW_WORK * n) if n > FEW_ROWS else MOST_WORK
        work = [len(self.folds) * self.n_columns * (n + 20 * rank) * rank**2 for rank in RANKS]
        return max([self.rank, *(r for r, w in zip(RANKS, work, strict=True) if w <= allowed)])

    # -- all rows -----------------------------------------------------------------------------

    def finish(self, best: Trial) -> solvers.Result:
        """Fit the best trial to all rows."""
        self.bar.close()
        prepared, model = self.prepared, self.model
        if best.rank == 0:  # and so its errors are those of all rows
            best = self._with_all_rows(best)
        mix = None if self.mixer is None else self.mixer.mix(best)
        unseen = [fold.at(state)[1] for fold, state in zip(self.folds, best.states, strict=True)]
        if mix is not None:
            unseen = mix.unseen
        judged = zip(self.aside, self.folds, unseen, strict=True)
        prepared.held_out = [(rows, fold.held_out, each) for rows, fold, each in judged]
        if self.prior is not None:
            prepared.n_chosen = self.prior.n_learned
        prepared.objective = objective = with_rank(prepared.objective, best.rank, best.size)
        if best.rank == 0:
            whole = fit_main_effects(objective)
            objective.precisions = list(whole.precisions)
            result = prepared.solve(model, whole.cores, max_iter=1)
            if result.status != "interrupted":
                result.status = "converged"
                result.message = "On held-out rows a network does not improve on the main effects."
                if self.rank == 0:
                    result.message = "Main effects alone, without a network: rank=0."
                if self.n_columns > MOST_COLUMNS and isinstance(model.rank, str):
                    result.message = f"More than {MOST_COLUMNS} columns: main effects alone."
            return self._noted(self._mixed(result, mix))
        results = []
        is_alone = len(best.states) == 1
        for n, state in enumerate(best.states):
            objective.precisions = list(state.precisions)
            solver = solvers.ALS(momentum=True)
            if n == 0:
                epochs = min(model.max_iter, LAST_ALONE if is_alone else LAST)
                if prepared.validation is not None:
                    epochs = model.max_iter
                result = prepared.solve(model, state.cores, solver=solver, max_iter=epochs)
            else:
                stopping = solvers.Stopping(min(model.max_iter, LAST), TOL)
                result = solvers.solve(solver, objective, state.cores, stopping)
            results.append(result)
            if result.status == "interrupted":
                break
            if result.status == "max_iter":
                result.status = "converged"
                result.message = (
                    f"Held-out rows chose rank {best.rank} and the penalty; {result.n_iter} epochs "
                    "followed on all rows."
                )
        prepared.member = results[0].cores, results[0].precisions
        result = self._mean(results, best) if len(results) > 1 else results[0]
        return self._noted(self._mixed(result, mix))

    def _mean(self, results: list[solvers.Result], best: Trial) -> solvers.Result:
        """Return one model whose response is the mean of several."""
        count = len(results)
        first, *others = [result.cores for result in results]
        inner = [list(e) if isinstance(e, list) else e for e in first[:-1]]
        for cores in others:
            inner = [mixing.join(a, b) for a, b in zip(inner, cores[:-1], strict=True)]
        inner[0] = [inner[0][0] / count, *inner[0][1:]]
        main = [sum(each) / count for each in zip(*(r.cores[-1] for r in results), strict=True)]
        self.prepared.objective = with_rank(self.prepared.objective, count * best.rank, best.size)
        result = results[0]
        # the order of memory is that of the columns
        flat = [np.ascontiguousarray(core) for core in flatten(inner)]
        result.cores = [*unflatten(inner, flat), main]
        result.message += f" The model averages {count} networks, one per fold."
        return result

    def interrupted(self) -> solvers.Result:
        """Return the best trial so far, unchanged."""
        objective, best = self.prepared.objective, self.best
        if best is None:
            alone = Additive(None, objective.network.functions)
            zero = alone.no_effects(objective.n_outputs)
            best = Trial(
                [FoldState(0, [zero], list(objective.precisions))], 0, 0.0, np.zeros(1), 0.0
            )
        self.prepared.objective = with_rank(objective, best.rank, best.size)
        message = (
            "Interrupted during the search for rank and penalty; keeping the best model so far, "
            "fitted to part of the rows. Fit again, or set rank and alpha to skip the search."
        )
        results = [
            solvers.Result(s.cores, 0, "interrupted", message, solvers.History(), s.precisions)
            for s in best.states
        ]
        if len(results) > 1 and best.rank:
            return self._noted(self._mean(results, best))
        return self._noted(results[0])

    def _mixed(self, result: solvers.Result, mix: mixing.Mix | None) -> solvers.Result:
        """Add the full-rank model to the network."""
        if mix is None:
            return result
        prepared = self.prepared
        objective, network = prepared.objective, self.network
        # with all main effects, including those the last update of a network has left out
        whole = objective.at(result.cores, objective.precisions[: self.n_columns])
        result.cores = mix.cores(result.cores, whole, objective.loss)
        beside = ""
        if mix.weight:
            part = f"{100 * mix.weight:.0f} %"
            beside = f" Main effects of a simpler kernel make up {part} of the mean."
        if not mix.share:
            result.message += beside
            if mix.weight:
                self.path.append({
                    "rank": objective.network.rank or 0, "error": mix.error, "simpler": mix.weight,
                    "alpha": objective.alpha, "seconds": time.perf_counter() - self.begin,
                })  # fmt: skip
            return result
        assert network is not None
        if prepared.member is None:
            prepared.member = network.states[0].cores, network.states[0].precisions
        cores, precisions = prepared.member
        prepared.member = [*mixing.one_level(cores[:-1]), cores[-1]], precisions
        columns = [_whole_column(column) for column in objective.columns]
        rank = result.cores[0][0].shape[1]
        prepared.objective = replace(
            objective,
            columns=columns,
            network=Additive(CPD(rank), objective.network.functions),
            alpha=network.size / objective.total_weight,
        )
        result.precisions = precisions
        inputs = prepared.inputs.with_maps([column.feature_map for column in columns])
        prepared.reading = replace(prepared.reading, inputs=inputs)
        self.path.append({
            "rank": rank, "alpha": mix.full.size / objective.total_weight, "error": mix.error,
            "seconds": time.perf_counter() - self.begin, "share": mix.share,
            "kept": mix.kept, "factor": mix.factor, "simpler": mix.weight,
        })  # fmt: skip
        if result.status == "converged":
            other = "a network" if objective.network.rank else "the main effects"
            what = f" and {other} ({100 * mix.kept:.0f} %)" if mix.kept else ""
            what = f" for what {other} cannot explain" if mix.kept == 1 else what
            n_terms = len(mix.full.sections.centres)
            result.message = (
                f"Held-out rows chose the full-rank model with {n_terms} terms "
                f"(weight {100 * mix.share:.0f} %){what}.{beside}"
            )
        return result

    def _noted(self, result: solvers.Result) -> solvers.Result:
        result.history.records["path"] = self.path
        if self.mixer is not None:
            result.history.records["prior"] = self.mixer.prior.describe()
        return result


def solve(model: Any, prepared: Any) -> solvers.Result:
    """Search for rank and penalty, and fit to all rows.

    Parameters
    ----------
    model : estimator
    prepared : Prepared
        Its objective becomes that of the rank and penalty that were found.
    """
    # overflow is judged by the objective that follows from it
    with np.errstate(over="ignore", invalid="ignore"):
        search = Search(model, prepared)
        with search.bar:
            try:
                return search.finish(search.run())
            except KeyboardInterrupt:
                return search.interrupted()


def _is_better(before: Trial, after: Trial, gain: float, errors: float) -> bool:
    """Return True if held-out rows improve by `gain` and by `errors` standard errors."""
    change = before.losses - after.losses
    least = gain * before.error
    if len(change) > 1:
        least = max(least, errors * float(change.std()) / np.sqrt(len(change)))
    return float(change.mean()) > least


def _whole_column(column: Any) -> Any:
    """Return a column with one level."""
    while len(column.radices) > 1:
        column = column.merged(0)
    return column
