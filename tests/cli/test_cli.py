"""The command line: help, exit codes, and messages instead of tracebacks."""

import subprocess
import sys

import pytest

from qtkm import __version__
from qtkm.cli import main
from qtkm.experiments import airline, generalization, sound
from tests.cli.commands import command


def test_the_version_is_shown(capsys):
    assert command("--version") == 0
    assert capsys.readouterr().out == f"qtkm {__version__}\n"


def test_a_command_that_does_not_exist_is_a_misuse(capsys):
    assert command("fly") == 2
    assert "fly" in capsys.readouterr().err


EXPERIMENTS = {"generalization": generalization, "sound": sound, "airline": airline}


@pytest.fixture
def calls(monkeypatch, tmp_path):
    seen = []
    for name, module in EXPERIMENTS.items():

        def run(options, name=name, **more):
            seen.append((name, options, more))
            return tmp_path / f"{name}.md"

        monkeypatch.setattr(module, "run", run)
    return seen


def test_options_reach_the_experiment(calls, tmp_path, capsys):
    words = ["--quick", "--output", str(tmp_path), "--data-home", "somewhere", "--n-jobs", "1"]
    assert command("reproduce", "generalization", *words, "--splits", "3") == 0
    ((name, options, more),) = calls
    assert (name, more) == ("generalization", {"splits": 3})
    assert (options.output, options.quick, options.cores) == (tmp_path, True, 1)
    assert options.data_home == "somewhere"
    assert options.command == "qtkm reproduce generalization --quick --splits=3"
    assert capsys.readouterr().out == f"{tmp_path / 'generalization.md'}\n"


def test_all_runs_all_and_goes_on_without_data(calls, monkeypatch, capsys):
    def missing(options):
        raise FileNotFoundError("sound_train.csv.gz does not exist; put it somewhere")

    monkeypatch.setattr(sound, "run", missing)
    assert command("reproduce", "all", "--quick") == 1
    assert [name for name, *_ in calls] == ["generalization", "airline"]
    assert "sound skipped: sound_train.csv.gz does not exist" in capsys.readouterr().err


def test_an_interruption_says_how_to_go_on(calls, monkeypatch, capsys):
    def interrupted(options):
        raise KeyboardInterrupt

    monkeypatch.setattr(sound, "run", interrupted)
    assert command("reproduce", "sound") == 130
    assert "the same command resumes from there" in capsys.readouterr().err


def test_an_error_is_one_sentence_and_a_traceback_if_asked_for(calls, monkeypatch, capsys):
    def fail(options):
        raise ValueError("two\n  lines")

    monkeypatch.setattr(sound, "run", fail)
    assert command("reproduce", "sound") == 1
    assert capsys.readouterr().err == "qtkm: two lines\n"
    with pytest.raises(ValueError, match="two"):
        main(["--debug", "reproduce", "sound"])


def test_the_module_is_the_command():
    words = [sys.executable, "-m", "qtkm", "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == f"qtkm {__version__}\n"
