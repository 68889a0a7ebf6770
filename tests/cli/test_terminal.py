"""The command with and without a terminal: bars, colours, pipes, Ctrl-C."""

import io
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager

import numpy as np
import pytest

import qtkm
from tests.cli.commands import TINY, command, make_rows

pandas = pytest.importorskip("pandas")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")

ESCAPE = "\x1b"


def start(*words, env=None, **options):
    """Start a command as a process of its own."""
    line = [sys.executable, "-m", "qtkm", *map(str, words)]
    with as_in_the_foreground():
        return subprocess.Popen(line, env=os.environ | (env or {}), **options)


@contextmanager
def as_in_the_foreground():
    """Let processes take Ctrl-C, which those of a script in the background ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_pipes_and_files_get_neither_colours_nor_bars(inside, monkeypatch, capfd):
    with open("out.txt", "w", encoding="utf-8") as out, monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        words = ["rows.csv", "--target", "power", *TINY, "--out", "a.qtkm"]
        assert command("fit", *words) == 0
    assert capfd.readouterr() == ("", "")
    shown = (inside / "out.txt").read_text(encoding="utf-8")
    assert "R²" in shown
    assert ESCAPE not in shown
    assert "\r" not in shown.replace("\r\n", "\n")


def test_an_output_without_such_letters_gets_others(inside, monkeypatch):
    out = io.TextIOWrapper(io.BytesIO(), "ascii")
    monkeypatch.setattr(sys, "stdout", out)
    assert command("evaluate", "m.qtkm", "rows.csv", "--target", "power", "-q") == 0
    out.flush()
    assert b"R?" in out.buffer.getvalue()


@posix
def test_a_reader_that_has_seen_enough_ends_the_command_quietly(inside):
    make_rows(8_000).to_csv("many.csv", index=False)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start("predict", "m.qtkm", "many.csv", "--quiet", **pipes) as process:
        assert process.stdout.readline().strip() == b"prediction"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def on_terminal(*words, interrupt):
    """Exit code and text of a command on a terminal; Ctrl-C as soon as a pattern is seen."""
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    environment = {"COLUMNS": "", "TERM": "xterm"}
    process = start(*words, env=environment, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    text = b""
    while True:
        try:
            part = os.read(master, 4096)
        except OSError:  # what Linux says when the other end is closed
            part = b""
        if not part:
            break
        text += part
        if interrupt is not None and re.search(interrupt, text):
            process.send_signal(signal.SIGINT)
            interrupt = None
    os.close(master)
    return process.wait(), text.decode()


@posix
def test_a_fit_shows_its_progress_and_ctrl_c_saves_the_best_so_far(inside):
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.integers(0, 300, size=(5900, 5)), columns=list("abcde"))
    rows["y"] = rng.normal(size=len(rows)) + np.sin(rows["a"] / 20) * np.cos(rows["b"] / 30)
    rows.to_parquet("rows.parquet")
    words = ["rows.parquet", "--target", "y", "--out", "cut.qtkm", "--max-iter", 5000]
    words += ["--rank", 40, "--alpha", 1e-5]
    # the bar leaves out epochs that come fast after each other
    code, text = on_terminal("fit", *words, interrupt=rb"[1-9]/5000")
    assert code == 130
    assert "epoch" in text
    assert "objective" in text
    last = text.strip().splitlines()[-1]
    assert re.fullmatch(
        r"qtkm: Interrupted in epoch \d+; the best model so far is in cut.qtkm.", last
    )
    assert "Traceback" not in text
    assert "Warning" not in text
    model = qtkm.load("cut.qtkm")
    assert model.status_ == "interrupted"
    assert model.n_iter_ >= 1
    assert np.isfinite(model.predict(rows.drop(columns="y")[:5])).all()


class Terminal(io.StringIO):
    """What a command writes to a terminal."""

    def isatty(self):
        return True


def test_a_narrow_terminal_without_colours(inside, monkeypatch):
    out = Terminal()
    for name, value in {"COLUMNS": "60", "TERM": "xterm", "NO_COLOR": "1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys, "stdout", out)
    assert command("inspect", "m.qtkm", "--data", "rows.csv", "--target", "power") == 0
    text = out.getvalue()
    assert "R²" in text
    assert not re.search(ESCAPE + r"\[[0-9;]*(3|4|9|10)[0-7]m", text)
    plain = re.sub(ESCAPE + r"\[[0-9;]*m", "", text)
    assert plain != text  # a terminal gets bold letters all the same
    assert max(len(line.rstrip()) for line in plain.splitlines()) <= 60
