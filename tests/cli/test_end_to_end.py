"""How a command ends, where it writes, and what it says of errors."""

import errno
import itertools
import logging
import re
import warnings
from types import SimpleNamespace

import pytest

import qtkm
from qtkm.cli import main, training
from tests.cli.commands import TINY, command, sentence

pandas = pytest.importorskip("pandas")


# -- how a fit ends -----------------------------------------------------------------------------


def test_an_interruption_before_the_fit_saves_nothing(inside, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "Survey", interrupted)
    assert command("fit", "rows.csv", "--target", "power", "--out", "no.qtkm") == 130
    assert sentence(capsys) == "qtkm: interrupted\n"
    assert not (inside / "no.qtkm").exists()


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        ("interrupted", 130, "Interrupted in epoch 3; the best model so far is in m.qtkm. Run"),
        ("failed", 1, "It became infinite. The model is in m.qtkm."),
    ],
)
def test_a_fit_that_ended_early_says_so(inside, monkeypatch, status, code, text, capsys):
    done = {"fit_dataset": lambda *_, **__: None, "save": lambda _: None}
    model = SimpleNamespace(status_=status, n_iter_=2, message_="It became infinite.", **done)
    monkeypatch.setattr(training, "make_model", lambda *_: model)
    words = ["--target", "power", "--out", "m.qtkm", "--checkpoint", "kept", "--quiet"]
    assert command("fit", "rows.csv", *words) == code
    assert text in sentence(capsys)


def refuse(*_, **__):
    pytest.fail("nothing that takes long may run")


def test_a_place_that_cannot_be_written_to_is_refused_first(inside, monkeypatch, capsys):
    monkeypatch.setattr(training, "Survey", refuse)
    (inside / "folder").mkdir()
    for out, message in [
        ("folder", "folder is a folder; name a file in it"),
        ("rows.csv/m.qtkm", "rows.csv/m.qtkm cannot be written to rows.csv: Not a directory"),
    ]:
        assert command("fit", "rows.csv", "--target", "power", "--out", out) == 1
        assert message in sentence(capsys)


def test_a_folder_that_may_not_be_written_to_is_refused_first(inside, monkeypatch, capsys):
    def denied(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", denied)
    monkeypatch.setattr(training, "Survey", refuse)
    assert command("fit", "rows.csv", "--target", "power", "--out", "new.qtkm") == 1
    assert "new.qtkm cannot be written to .: Permission denied" in sentence(capsys)
    assert command("predict", "m.qtkm", "rows.csv", "--out", "p.csv") == 1
    assert "p.csv cannot be written" in sentence(capsys)


def test_the_demo_refuses_such_a_place_first(inside, monkeypatch, capsys):
    monkeypatch.setattr("qtkm.experiments.nyc_flights.run", refuse)
    assert command("demo", "--output", "rows.csv") == 1
    assert "cannot be written to rows.csv: File exists" in sentence(capsys)


def test_a_disk_that_is_full_in_the_end_loses_no_model(inside, monkeypatch, capsys):
    save = qtkm.QTKMRegressor.save

    def full(model, path):
        if str(path) == "m.qtkm":
            raise OSError(errno.ENOSPC, "No space left on device", "m.qtkm")
        save(model, path)

    monkeypatch.setattr(qtkm.QTKMRegressor, "save", full)
    before = (inside / "m.qtkm").read_bytes()
    assert command("fit", "rows.csv", "--target", "power", "--out", "m.qtkm", *TINY) == 1
    error = sentence(capsys)
    assert "m.qtkm was not written (No space left on device)" in error
    assert (inside / "m.qtkm").read_bytes() == before
    assert qtkm.load(error.split()[-1]).n_iter_ == 2


# -- help and errors ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fit", "predict", "evaluate", "inspect", "demo", "reproduce all"])
def test_every_command_has_an_example(name, capsys):
    assert command(*name.split(), "--help") == 0
    assert f"Example: qtkm {name}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["", "fit", "tune", "report", "compare", "inspect", "demo"])
def test_sentences_of_the_help_are_not_broken(name, capsys):
    assert command(*name.split(), "--help") == 0
    shown = capsys.readouterr().out.partition("╭")[0].splitlines()
    for line, following in itertools.pairwise(shown):
        words = following.split()
        if line.strip() and words:  # the next word had no room
            assert len(line.rstrip()) + 1 + len(words[0]) >= 79, line


TABLE = {"target", "out", "task", "drop", "category", "weight", "offset", "test-size"}
MODEL = {"basis", "network", "solver", "loss", "penalty", "max-iter", "random-state", "n-jobs",
         "json", "quiet", "cyclic"}  # fmt: skip


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("fit", TABLE | MODEL | {"rank", "n-basis", "period", "alpha", "checkpoint",
                                 "memory-limit", "cache"}),
        ("tune", TABLE | MODEL | {"ranks", "n-basis", "periods", "alphas", "cv", "scoring",
                                  "sample-rows", "max-rows", "table", "plot"}),
        ("predict", {"out", "keep", "proba", "std", "interval", "offset", "quiet"}),
        ("evaluate", {"target", "offset", "json", "quiet"}),
        ("inspect", {"data", "target", "plots", "output", "max-rows", "rows", "weights",
                     "json"}),
    ],
)  # fmt: skip
def test_every_option_is_in_the_help(name, options, capsys):
    assert command(name, "--help") == 0
    shown = re.findall(r"^│ [* ] +--([a-z-]+)|^│ --([a-z-]+)", capsys.readouterr().out, re.M)
    assert {first or second for first, second in shown} == options | {"help"}


def test_help_tells_the_exit_codes(capsys):
    assert command("--help") == 0
    shown = " ".join(capsys.readouterr().out.split())
    for text in ("Exit codes", "130 Ctrl-C", "141"):
        assert text in shown


def test_what_should_not_happen_is_one_sentence_too(inside, monkeypatch, capsys):
    def fail(*_, **__):
        raise KeyError("lost")

    monkeypatch.setattr(training, "make_model", fail)
    assert command("fit", "rows.csv", "--target", "power") == 1
    assert "unexpected error: KeyError: 'lost'; --debug shows the traceback" in sentence(capsys)
    with pytest.raises(KeyError, match="lost"):
        main(["--debug", "fit", "rows.csv", "--target", "power"])


def test_what_the_library_logs_is_heard_unless_it_is_to_be_quiet(inside, monkeypatch, capsys):
    def remark(*_, **__):
        logging.getLogger("qtkm.kernels").warning("compiling %d loops", 3)

    monkeypatch.setattr(training, "save_model", remark)
    words = ["fit", "rows.csv", "--target", "power", *TINY]
    heard = []
    for more in ([], ["--quiet"], []):
        assert command(*words, *more) == 0
        heard.append(capsys.readouterr().err)
    assert heard == ["compiling 3 loops\n", "", "compiling 3 loops\n"]


def test_a_warning_is_one_sentence(inside, monkeypatch, capsys):
    def remark(*_, **__):
        warnings.warn("two\n lines", UserWarning, stacklevel=1)

    monkeypatch.setattr(training, "save_model", remark)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert command("fit", "rows.csv", "--target", "power", *TINY) == 0
    assert sentence(capsys) == "qtkm: two lines\n"
