"""Fits are run once, recorded when they end, and go on after an interruption."""

import pytest

from qtkm.experiments.runs import Fit, Options, Records, run_fits


def square(seed, stop_at=None, log=None):
    if log is not None:
        log.append(seed)
    if seed == stop_at:
        raise KeyboardInterrupt
    return {"value": seed**2}


def fits(n, **arguments):
    return [Fit({"seed": seed}, square, arguments, cost=1 + seed) for seed in range(n)]


def records(tmp_path, progress=False):
    return Records(Options(tmp_path, progress=progress), "squares", ["seed"], ["value"])


def test_every_fit_of_two_processes_is_recorded(tmp_path):
    run_fits(fits(3), records(tmp_path), n_jobs=2)
    found = records(tmp_path).frame.set_index("seed")["value"]
    assert found.to_dict() == {seed: seed**2 for seed in range(3)}


def test_an_interrupted_run_goes_on_and_repeats_nothing(tmp_path):
    log = []
    with pytest.raises(KeyboardInterrupt):
        run_fits(fits(5, stop_at=1, log=log), records(tmp_path))
    assert log == [4, 3, 2, 1]  # the longest first
    run_fits(fits(5, log=log), records(tmp_path))
    assert log == [4, 3, 2, 1, 1, 0]
    assert len(records(tmp_path).frame) == 5


def test_progress_counts_the_fits_and_tells_the_time_left(tmp_path, capsys):
    run_fits(fits(3), records(tmp_path, progress=True))
    shown = capsys.readouterr().err
    assert "squares" in shown
    assert "left" in shown
    assert "3 of 3 fits" in shown
