"""Ctrl-C is taken where it is safe, by the fit that it is meant for, and by nobody else."""

import signal
import threading
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from qtkm import QTKMRegressor, QTKMRegressorCV, interruption
from qtkm.engines import Threads
from qtkm.interruption import check, deferred, held

X = np.random.default_rng(0).uniform(size=(60, 2))
y = X[:, 0] * X[:, 1]


@pytest.fixture(autouse=True)
def handler():
    """Python's own handler, whatever the tests are run by; what is left behind is an error."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    left = signal.signal(signal.SIGINT, before)
    assert left is signal.default_int_handler


def press():
    signal.raise_signal(signal.SIGINT)


def make(**changes):
    return QTKMRegressor(
        rank=2, n_basis=4, alpha=1e-4, random_state=0, tol=0, **changes, penalty="ridge"
    )


def test_ctrl_c_waits_for_a_check():
    with deferred():
        press()
        passed = True
        with pytest.raises(KeyboardInterrupt):
            check()
        check()  # it is taken once
    assert passed


def test_ctrl_c_that_no_check_has_taken_comes_at_the_end():
    with pytest.raises(KeyboardInterrupt), deferred():
        press()
    told = []
    with deferred(lambda: told.append("late")):
        press()
    assert told == ["late"]


def test_an_error_comes_before_ctrl_c():
    def fail():
        with deferred():
            press()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    check()


def test_the_outer_block_decides():
    told = []
    with deferred(lambda: told.append("outer")), deferred(lambda: told.append("inner")):
        press()
    assert told == ["outer"]


def test_held_lets_work_be_finished():
    with deferred():
        with held():
            press()
            check()
        with pytest.raises(KeyboardInterrupt):
            check()


def test_one_more_ctrl_c_ends_what_does_not_get_to_a_check(monkeypatch):
    with deferred():
        press()
        press()  # at once: the same one, passed on by another program
        monkeypatch.setattr(interruption, "PATIENCE", 0.0)
        with pytest.raises(KeyboardInterrupt):
            press()
        assert interruption.take()


def test_a_hard_end_inside_of_a_compiled_call_is_a_ctrl_c_still():
    with pytest.raises(KeyboardInterrupt), deferred():
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()
    with pytest.raises(SystemError), deferred():
        raise SystemError("another one")


def test_a_handler_of_the_program_is_left_alone():
    seen = []
    signal.signal(signal.SIGINT, lambda *_: seen.append(1))
    with deferred():
        press()
        check()
    model = make(callbacks=lambda progress: press()).fit(X, y)
    assert model.status_ == "max_iter"
    assert len(seen) > 1
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_nothing_is_installed_in_other_threads():
    found = []

    def look(progress):
        found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=lambda: make(callbacks=look, max_iter=2).fit(X, y))
    thread.start()
    thread.join()
    assert set(found) == {signal.default_int_handler}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_tasks_that_have_not_begun_do_not_begin(n_jobs):
    done = []

    def work(task):
        done.append(task)
        time.sleep(0.001)
        if task == 0:
            press()

    with deferred():
        engine = Threads(n_jobs)
        with pytest.raises(KeyboardInterrupt):
            engine.run(lambda part: engine.run(work, range(part, part + 4)), range(0, 400, 4))
        engine.close()
    assert len(done) < 400


def test_a_sum_over_shards_is_left_between_two_of_them():
    seen = []

    def count(shard, run):
        seen.append(shard)
        if shard == 1:
            press()
        return np.zeros(1)

    with deferred(), pytest.raises(KeyboardInterrupt):
        Threads(1).sum(count, range(5))
    assert seen == [0, 1]


def test_a_fit_ends_with_the_cores_so_far():
    model = make(callbacks=lambda p: press() if p.epoch == 3 and p.event == "block" else None)
    with pytest.warns(ConvergenceWarning, match="Interrupted in epoch 3") as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert (model.status_, model.n_iter_) == ("interrupted", 2)
    assert np.isfinite(model.predict(X)).all()


def test_ctrl_c_after_the_last_epoch_loses_nothing():
    last = ("epoch", 3)
    model = make(max_iter=3, callbacks=lambda p: press() if (p.event, p.epoch) == last else None)
    with pytest.warns(
        ConvergenceWarning, match="at the end of the fit, which is complete"
    ) as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    assert (model.status_, model.n_iter_) == ("max_iter", 3)
    np.testing.assert_array_equal(model.predict(X), make(max_iter=3).fit(X, y).predict(X))


def test_ctrl_c_before_the_solver_is_a_keyboard_interrupt(monkeypatch):
    read = QTKMRegressor._check_target

    def read_and_press(self, *arguments):
        press()
        return read(self, *arguments)

    monkeypatch.setattr(QTKMRegressor, "_check_target", read_and_press)
    model = make()
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert not hasattr(model, "cores_")


class Pressing:
    """A callback that presses Ctrl-C after so many epochs, whoever does them."""

    def __init__(self, n_epochs):
        self.left = n_epochs

    def __call__(self, progress):
        self.left -= progress.event == "epoch"
        if self.left == 0 and progress.event == "epoch":
            self.left = -1
            press()

    def __deepcopy__(self, memo):
        return self


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_search_ends_with_the_best_so_far(n_jobs):
    search = QTKMRegressorCV(
        make(callbacks=Pressing(20), max_iter=10), ranks=[1, 2, 3], n_basis=[4, 8], periods=[2.0],
        alphas=[1e-4], cv=2, n_jobs=n_jobs,
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning, match=r"Interrupted after \d of 6 candidates"):
        search.fit(X, y)
    assert search.best_estimator_.status_ == "max_iter"
