"""The loop that all solvers share, driven by a solver whose objectives are written down."""

import math
from itertools import pairwise

import numpy as np
import pytest

from qtkm.solvers import ALS, LBFGS, Progress, Solver, State, Stop, Stopping, solve
from tests.problems import make_cores, make_map, make_objective

BLOCKS = 3


class Script(Solver):
    """A solver that reports given objectives, one a block, and "cores" that count the blocks."""

    def __init__(self, values):
        self.values = values

    def start(self, objective, cores):
        return State(0)

    def step(self, objective, state, report):
        for _ in range(BLOCKS):
            state.iterate += 1
            report([state.iterate], [self.values(state.iterate)])
        return state


class Restless(Script):
    """The same, but its objective may rise."""

    is_monotone = False


class Start:
    """An objective that is only asked for its value at the start."""

    def __init__(self, value):
        self.start = value

    def at(self, cores):
        return cores

    def value(self, iterate):
        return self.start


def play(values=lambda block: 1.0 / block, max_iter=10, tol=0.0, patience=10, **arguments):
    return solve(Script(values), None, [0], Stopping(max_iter, tol, patience), **arguments)


def wander(*objectives, start=math.inf, tol=0.0, **arguments):
    """Play a solver that is not monotone, with these objectives after its epochs."""
    stopping = Stopping(len(objectives), tol)
    solver = Restless(lambda block: objectives[(block - 1) // BLOCKS])
    return solve(solver, Start(start), [0], stopping, **arguments)


def halve(block):
    """Give an objective that every epoch halves."""
    return 0.5 ** (block / BLOCKS)


# -- stopping -----------------------------------------------------------------------------


def test_without_another_reason_all_epochs_are_run():
    result = play(max_iter=4)
    assert (result.status, result.n_iter, result.cores) == ("max_iter", 4, [12])
    assert "max_iter=4" in result.message
    assert {type(each) for each in result.history.objective} == {float}


@pytest.mark.parametrize(("tol", "n_iter"), [(0.49, 10), (0.51, 2)])
def test_an_epoch_that_gains_less_than_tol_of_the_objective_is_the_last(tol, n_iter):
    result = play(halve, tol=tol)
    assert result.n_iter == n_iter
    assert result.status == ("converged" if n_iter < 10 else "max_iter")


def test_a_tolerance_is_relative_to_the_objective():
    small, large = (play(lambda b, s=s: s * (1 + halve(b)), tol=1e-2) for s in (1e-9, 1e9))
    assert small.n_iter == large.n_iter
    assert 2 < small.n_iter < 10


def test_a_tolerance_of_zero_never_stops_even_where_nothing_changes():
    result = play(lambda block: 1.0, tol=0.0)
    assert (result.status, result.n_iter) == ("max_iter", 10)


def test_an_objective_that_has_reached_zero_has_converged():
    result = play(lambda block: 0.0, tol=1e-4)
    assert (result.status, result.n_iter) == ("converged", 2)


def test_one_epoch_alone_is_no_convergence():
    assert play(lambda block: 1.0, tol=0.5, max_iter=1).status == "max_iter"


def test_no_epochs_are_no_epochs():
    result = play(max_iter=0)
    assert (result.status, result.n_iter, result.cores) == ("max_iter", 0, [0])


def test_a_solver_that_cannot_go_on_says_so():
    class Finished(Script):
        def step(self, objective, state, report):
            state = super().step(objective, state, report)
            state.finished = "Nothing is left to do." if state.iterate == 2 * BLOCKS else ""
            return state

    result = solve(Finished(halve), None, [0], Stopping(10, 0.0))
    assert (result.status, result.n_iter) == ("converged", 2)
    assert result.message == "Nothing is left to do."


def test_what_the_loop_says_comes_first():
    class Finished(Script):
        def step(self, objective, state, report):
            state = super().step(objective, state, report)
            state.finished = "Nothing is left to do."
            return state

    assert solve(Finished(halve), None, [0], Stopping(1, 0.0)).status == "max_iter"


def test_a_loop_that_lives_elsewhere_is_ended_by_the_end_of_an_epoch():
    class Elsewhere(Solver):
        def run(self, objective, cores, report, end_epoch):
            try:
                for count in range(1, 100):
                    report([count], [1.0 / count])
                    end_epoch(State(count))
            except Stop as stop:
                seen.append(stop.status)
                raise

    seen = []
    result = solve(Elsewhere(), None, [0], Stopping(3, 0.0))
    assert (result.status, result.n_iter, result.cores) == ("max_iter", 3, [3])
    assert seen == ["max_iter"]


def test_a_solver_that_ends_without_a_reason_is_an_error():
    class Silent(Solver):
        def run(self, objective, cores, report, end_epoch):
            pass

    with pytest.raises(RuntimeError, match=r"Silent\(\) ended without raising a Stop"):
        solve(Silent(), None, [0], Stopping(3, 0.0))


# -- objectives that rise, or are none ---------------------------------------------------


def test_where_the_objective_may_rise_the_cores_of_the_lowest_are_kept():
    result = wander(3.0, 1.0, 2.0)
    assert (result.cores, result.n_iter) == ([2 * BLOCKS], 3)
    assert result.history.objective == [3.0, 1.0, 2.0]


def test_where_the_objective_may_rise_a_fit_is_never_worse_than_its_start():
    assert wander(3.0, 2.0, start=1.0).cores == [0]


def test_a_better_score_counts_more_than_a_lower_objective():
    assert wander(3.0, 1.0, 2.0, score=scores(0.1, 0.2, 0.3)).cores == [3 * BLOCKS]


def test_one_bad_epoch_of_a_solver_that_may_rise_is_no_convergence():
    values = [0.5**epoch for epoch in range(30)]
    values[5] = values[15] = 2.0
    assert wander(*values, tol=0.01).status == "max_iter"


def test_a_solver_that_may_rise_has_converged_after_ten_epochs_that_gain_little():
    result = wander(*([1.0] + [0.95, 1.05] * 20), tol=0.01)
    assert (result.status, result.n_iter) == ("converged", 11)
    assert "last 10 epochs" in result.message


def test_one_slow_epoch_of_lbfgs_is_no_convergence():
    class Uneven(Script):
        window = LBFGS.window

    slow = [0.5 ** (epoch - (epoch > 3)) for epoch in range(12)]  # nothing is gained in epoch 4
    for solver, n_iter in ((Script, 5), (Uneven, 12)):
        values = solver(lambda block: slow[(block - 1) // BLOCKS])
        assert solve(values, None, [0], Stopping(12, 0.01)).n_iter == n_iter
    still = solve(Uneven(lambda block: 1.0), None, [0], Stopping(12, 0.01))
    assert (still.status, still.n_iter) == ("converged", LBFGS.window + 1)
    assert "last 5 epochs" in still.message


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("play_it", [play, lambda f: wander(*(f(b) for b in (3, 6, 9)))])
def test_an_objective_that_is_no_number_ends_the_fit_with_the_last_good_cores(bad, play_it):
    result = play_it(lambda block: bad if block == 3 * BLOCKS else 1.0 / block)
    assert (result.status, result.n_iter) == ("failed", 2)
    assert result.cores[0] in (2 * BLOCKS, 3 * BLOCKS - 1)
    assert np.isfinite(result.history.objective_updates).all()
    assert "epoch 3" in result.message
    assert "learning_rate" in result.message


def test_a_failure_keeps_the_cores_of_the_best_score():
    result = play(lambda b: math.nan if b > 10 else 1.0, score=scores(0.1, 0.7, 0.3))
    assert (result.status, result.cores) == ("failed", [2 * BLOCKS])


def test_a_failure_from_the_start_gives_the_start_back():
    result = play(lambda block: math.nan)
    assert (result.status, result.n_iter, result.cores) == ("failed", 0, [0])


def test_numbers_of_an_epoch_are_kept_by_their_names():
    class Noting(Script):
        def step(self, objective, state, report):
            state = super().step(objective, state, report)
            state.record = {"blocks": state.iterate, "ranks": [1, 2]}
            return state

    history = solve(Noting(halve), None, [0], Stopping(2, 0.0)).history
    assert history.records == {"blocks": [BLOCKS, 2 * BLOCKS], "ranks": [[1, 2], [1, 2]]}


# -- validation ---------------------------------------------------------------------------


def scores(*values):
    """Give the score after each epoch; the last one stays."""
    return lambda state: values[min(state.iterate // BLOCKS, len(values)) - 1]


def test_the_cores_of_the_best_validation_score_are_kept():
    result = play(score=scores(0.1, 0.7, 0.3), max_iter=3)
    assert result.cores == [2 * BLOCKS]
    assert result.history.validation_score == [0.1, 0.7, 0.3]


def test_patience_ends_after_so_many_epochs_without_a_better_score():
    result = play(score=scores(0.1, 0.7, 0.3), patience=3)
    assert (result.status, result.n_iter, result.cores) == ("stopped early", 5, [2 * BLOCKS])
    assert "epoch 2" in result.message


def test_an_equal_score_is_not_a_better_one():
    result = play(score=scores(0.5), patience=2)
    assert (result.n_iter, result.cores) == (3, [BLOCKS])


def test_scores_that_improve_keep_the_fit_going():
    result = play(score=lambda state: float(state.iterate), patience=1)
    assert (result.status, result.n_iter) == ("max_iter", 10)


def test_without_validation_rows_patience_does_not_matter():
    assert play(patience=1).n_iter == 10


def test_scores_that_are_not_numbers_still_end_and_leave_cores():
    result = play(score=lambda state: math.nan, patience=2)
    assert result.n_iter == 2
    assert result.cores == [2 * BLOCKS]


# -- callbacks ----------------------------------------------------------------------------


def test_callbacks_are_told_of_every_block_and_then_of_the_epoch():
    told = []

    def note(progress):
        assert isinstance(progress, Progress)
        n_epochs = len(progress.history.objective)
        told.append((progress.event, progress.epoch, progress.cores, n_epochs))

    play(max_iter=2, callbacks=[note])
    assert told == [
        ("block", 1, [1], 0),
        ("block", 1, [2], 0),
        ("block", 1, [3], 0),
        ("epoch", 1, [3], 1),
        ("block", 2, [4], 1),
        ("block", 2, [5], 1),
        ("block", 2, [6], 1),
        ("epoch", 2, [6], 2),
    ]


def test_callbacks_are_called_in_their_order():
    called = []
    play(max_iter=1, callbacks=[lambda p: called.append("a"), lambda p: called.append("b")])
    assert called == ["a", "b"] * (BLOCKS + 1)


def test_a_callback_at_the_end_of_an_epoch_knows_its_validation_score():
    seen = []

    def note(progress):
        if progress.event == "epoch":
            seen.append(list(progress.history.validation_score))

    play(max_iter=2, callbacks=[note], score=scores(0.1, 0.2))
    assert seen == [[0.1], [0.1, 0.2]]


@pytest.mark.parametrize("event", ["block", "epoch"])
def test_a_callback_that_returns_true_stops_the_fit_after_the_epoch(event):
    result = play(callbacks=[lambda p: p.event == event and p.epoch == 2])
    assert (result.status, result.n_iter, result.cores) == ("stopped early", 2, [2 * BLOCKS])
    assert "callback" in result.message


def test_a_callback_may_return_the_truth_of_numpy():
    result = play(callbacks=[lambda p: np.float64(p.epoch) >= 2])
    assert (result.status, result.n_iter) == ("stopped early", 2)


@pytest.mark.parametrize("answer", [None, False, 0, "carry on"])
def test_other_answers_do_not_stop_the_fit(answer):
    assert play(callbacks=[lambda p: answer]).n_iter == 10


def test_an_error_in_a_callback_is_not_swallowed():
    def fail(progress):
        raise ArithmeticError("mine")

    with pytest.raises(ArithmeticError, match="mine"):
        play(callbacks=[fail])


# -- interruption -------------------------------------------------------------------------


def interrupt(event, epoch, n_blocks=0):
    """Return a callback that presses Ctrl-C at an event of an epoch."""
    seen = []

    def press(progress):
        if (progress.event, progress.epoch) == (event, epoch):
            seen.append(progress)
            if len(seen) > n_blocks:
                raise KeyboardInterrupt

    return press


def test_an_interruption_keeps_the_cores_as_they_stand():
    result = play(callbacks=[interrupt("block", 3, 1)])
    assert (result.status, result.n_iter, result.cores) == ("interrupted", 2, [2 * BLOCKS + 2])
    assert "epoch 3" in result.message
    assert "warm_start" in result.message


def test_an_interruption_keeps_the_best_cores_where_there_is_a_score():
    result = play(callbacks=[interrupt("block", 4)], score=scores(0.1, 0.7, 0.3))
    assert (result.status, result.n_iter, result.cores) == ("interrupted", 3, [2 * BLOCKS])


def test_an_interruption_before_the_first_score_keeps_what_there_is():
    result = play(callbacks=[interrupt("block", 1, 1)], score=scores(0.1))
    assert (result.status, result.n_iter, result.cores) == ("interrupted", 0, [2])


def test_an_interruption_before_the_first_core_gives_the_start_back():
    class Slow(Script):
        def start(self, objective, cores):
            raise KeyboardInterrupt

    result = solve(Slow(halve), None, ["start"], Stopping(10, 0.0))
    assert (result.status, result.n_iter, result.cores) == ("interrupted", 0, ["start"])


def test_an_interrupted_fit_leaves_cores_that_have_the_objective_of_its_history():
    maps = [make_map("fourier", 8), make_map("power", 4)]
    objective = make_objective(maps, alpha=1e-2)
    result = solve(
        ALS(), objective, make_cores(objective), Stopping(10, 0.0),
        callbacks=[interrupt("block", 2)],
    )  # fmt: skip
    assert (result.status, result.n_iter) == ("interrupted", 1)
    value = objective.value(objective.at(result.cores))
    assert value == pytest.approx(result.history.objective_updates[-1], rel=1e-9)
    assert value < result.history.objective[-1]


# -- what the user sees -------------------------------------------------------------------


def test_a_silent_fit_prints_nothing(capsys):
    play()
    assert capsys.readouterr() == ("", "")


def test_a_talkative_fit_shows_epochs_objective_and_validation_score(capsys):
    play(halve, max_iter=2, verbose=1, score=scores(0.125))
    shown = capsys.readouterr().err
    assert "2/2" in shown
    assert "objective 0.25" in shown
    assert "validation 0.1250" in shown


def test_seconds_never_run_backwards():
    seconds = play().history.seconds
    assert len(seconds) == 10
    assert all(later >= earlier >= 0 for earlier, later in pairwise(seconds))
