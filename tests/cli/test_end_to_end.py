"""The command as a user meets it: without a terminal, with one, and with all that goes wrong."""

import errno
import os
import re
import signal
import subprocess
import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest

import qtkm
from qtkm.cli import jobs, main, reading

pandas = pytest.importorskip("pandas")
posix = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")

SMALL = ["--rank", 2, "--n-basis", 4, "--max-iter", 2]
ESCAPE = "\x1b"


def command(*words):
    """Exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return ended.value.code


def start(*words, env=None, **options):
    """Start a command as a process of its own."""
    line = [sys.executable, "-m", "qtkm", *map(str, words)]
    return subprocess.Popen(line, env=os.environ | (env or {}), **options)


def sentence(capsys):
    """The one sentence of an error."""
    error = capsys.readouterr().err
    assert error.startswith("qtkm: ")
    assert error.count("\n") == 1
    return error


def make_rows(n=200):
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.uniform(size=(n, 2)), columns=["wind", "sun"])
    rows["power"] = np.sin(5 * rows["wind"]) * rows["sun"]
    return rows


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and a model of it."""
    folder, rows = tmp_path_factory.mktemp("end"), make_rows()
    rows.to_csv(folder / "rows.csv", index=False)
    words = ["--target", "power", "--out", folder / "m.qtkm", "--quiet", *SMALL]
    assert command("fit", folder / "rows.csv", *words) == 0
    return folder


@pytest.fixture
def inside(folder, tmp_path, monkeypatch):
    """A folder of its own with the table and the model in it."""
    for name in ("rows.csv", "m.qtkm"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    monkeypatch.chdir(tmp_path)
    return tmp_path


# -- without a terminal -----------------------------------------------------------------------


def test_pipes_and_files_get_neither_colours_nor_bars(inside):
    words = ["rows.csv", "--target", "power", *SMALL]
    with open("out.txt", "wb") as out:
        process = start("fit", *words, "--out", "a.qtkm", stdout=out, stderr=subprocess.PIPE)
        errors = process.communicate()[1]
    assert process.returncode == 0
    assert errors == b""
    shown = (inside / "out.txt").read_text(encoding="utf-8")
    assert "R²" in shown
    assert ESCAPE not in shown
    assert "\r" not in shown.replace("\r\n", "\n")


def test_an_output_without_such_letters_gets_others(inside):
    env = {"PYTHONIOENCODING": "ascii"}
    process = start("evaluate", "m.qtkm", "rows.csv", "--target", "power", env=env,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    out, errors = process.communicate()
    assert (process.returncode, errors) == (0, b"")
    assert b"R?" in out


@posix
def test_a_reader_that_has_seen_enough_ends_the_command_quietly(inside):
    make_rows(40_000).to_csv("many.csv", index=False)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with start("predict", "m.qtkm", "many.csv", **pipes) as process:
        assert process.stdout.readline().strip() == b"prediction"
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


# -- with a terminal --------------------------------------------------------------------------


def on_terminal(*words, width=100, env=None, interrupt=None):
    """Exit code and text of a command on a terminal; Ctrl-C as soon as a text is seen."""
    import fcntl
    import pty
    import struct
    import termios

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
    environment = {"COLUMNS": "", "TERM": "xterm", **(env or {})}
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
        if interrupt is not None and interrupt in text:
            process.send_signal(signal.SIGINT)
            interrupt = None
    os.close(master)
    return process.wait(), text.decode()


@posix
def test_a_fit_shows_its_progress_and_ctrl_c_saves_the_best_so_far(inside):
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.integers(0, 300, size=(60_000, 5)), columns=list("abcde"))
    rows["y"] = rng.normal(size=len(rows)) + np.sin(rows["a"] / 20) * np.cos(rows["b"] / 30)
    rows.to_parquet("rows.parquet")
    words = ["rows.parquet", "--target", "y", "--out", "cut.qtkm", "--rank", 40, "--max-iter", 5000]
    code, text = on_terminal("fit", *words, interrupt=b"1/5000")
    assert code == 130
    assert "epoch" in text
    assert "objective" in text
    last = text.strip().splitlines()[-1]
    assert re.fullmatch(
        r"qtkm: Interrupted in epoch \d+; the best cores so far are in cut.qtkm.", last
    )
    assert "Traceback" not in text
    assert "Warning" not in text
    model = qtkm.load("cut.qtkm")
    assert model.status_ == "interrupted"
    assert model.n_iter_ >= 1
    assert np.isfinite(model.predict(rows.drop(columns="y")[:5])).all()


@posix
def test_a_narrow_terminal_without_colours(inside):
    env = {"COLUMNS": "60", "NO_COLOR": "1"}
    words = ["m.qtkm", "--data", "rows.csv", "--target", "power"]
    code, text = on_terminal("inspect", *words, width=60, env=env)
    assert code == 0
    assert "R²" in text
    assert not re.search(ESCAPE + r"\[[0-9;]*(3|4|9|10)[0-7]m", text)
    plain = re.sub(ESCAPE + r"\[[0-9;]*m", "", text)
    assert max(len(line.rstrip()) for line in plain.splitlines()) <= 60


def test_an_interruption_before_the_fit_saves_nothing(inside, monkeypatch, capsys):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(reading, "read_table", interrupted)
    assert command("fit", "rows.csv", "--target", "power", "--out", "no.qtkm") == 130
    assert sentence(capsys) == "qtkm: interrupted\n"
    assert not (inside / "no.qtkm").exists()


# -- how a fit ends ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("status", "code", "text"),
    [
        ("interrupted", 130, "Interrupted in epoch 3; the best cores so far are in m.qtkm. The"),
        ("failed", 1, "It became infinite. They are in m.qtkm."),
    ],
)
def test_a_fit_that_ended_early_says_so(inside, monkeypatch, status, code, text, capsys):
    model = SimpleNamespace(status_=status, n_iter_=2, message_="It became infinite.")
    monkeypatch.setattr(jobs, "fit", lambda *_, **__: model)
    words = ["--target", "power", "--out", "m.qtkm", "--checkpoint", "kept"]
    assert command("fit", "rows.csv", *words) == code
    assert text in sentence(capsys)


def refuse(*_, **__):
    pytest.fail("nothing that takes long may run")


def test_a_place_that_cannot_be_written_to_is_refused_first(inside, monkeypatch, capsys):
    monkeypatch.setattr(reading, "read_table", refuse)
    (inside / "folder").mkdir()
    for out, message in [
        ("folder", "folder is a folder; name a file in it"),
        ("rows.csv/m.qtkm", "rows.csv is a file, not a folder"),
    ]:
        assert command("fit", "rows.csv", "--target", "power", "--out", out) == 1
        assert message in sentence(capsys)


def test_a_folder_that_may_not_be_written_to_is_refused_first(inside, monkeypatch, capsys):
    def denied(**_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", denied)
    monkeypatch.setattr(reading, "read_table", refuse)
    assert command("fit", "rows.csv", "--target", "power", "--out", "new/deep/m.qtkm") == 1
    assert "nothing can be put into . (Permission denied)" in sentence(capsys)
    assert command("predict", "m.qtkm", "rows.csv", "--out", "p.csv") == 1
    assert "p.csv cannot be written" in sentence(capsys)


def test_the_demo_refuses_such_a_place_first(inside, monkeypatch, capsys):
    monkeypatch.setattr("qtkm.experiments.nyc_flights.run", refuse)
    assert command("demo", "--output", "rows.csv") == 1
    assert "rows.csv is a file, not a folder" in sentence(capsys)


def test_folders_that_are_missing_are_made(inside):
    words = ["--target", "power", "--quiet", *SMALL, "--out", "new/deep/m.qtkm"]
    assert command("fit", "rows.csv", *words) == 0
    assert command("predict", "new/deep/m.qtkm", "rows.csv", "--out", "other/p.csv") == 0
    assert len(pandas.read_csv("other/p.csv")) == 200


def test_a_disk_that_is_full_in_the_end_loses_no_model(inside, monkeypatch, capsys):
    save = qtkm.QTKMRegressor.save

    def full(model, path):
        if str(path) == "m.qtkm":
            raise OSError(errno.ENOSPC, "No space left on device", "m.qtkm")
        save(model, path)

    monkeypatch.setattr(qtkm.QTKMRegressor, "save", full)
    before = (inside / "m.qtkm").read_bytes()
    assert command("fit", "rows.csv", "--target", "power", "--out", "m.qtkm", *SMALL) == 1
    error = sentence(capsys)
    assert "m.qtkm was not written (No space left on device)" in error
    assert (inside / "m.qtkm").read_bytes() == before
    assert qtkm.load(error.split()[-1]).n_iter_ == 2


# -- tables with mistakes ---------------------------------------------------------------------


def write(name, **columns):
    """Write a table with some columns changed: their first entries are given."""
    rows = make_rows().astype(object)
    for column, entries in columns.items():
        rows.loc[: len(entries) - 1, column] = entries
    rows.to_csv(name, index=False)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"wind": ["calm", "calm", "gust"]}, "column 'wind' has text among its numbers: 'calm' and "
         "the like in 3 of 200 rows"),
        ({"wind": [None]}, "a.csv has no number in column 'wind' in 1 of 200 rows"),
        ({"power": ["?"]}, "the target 'power' has text among its numbers: '?'"),
        ({"power": [None] * 200}, "a.csv has 0 rows with a target"),
        ({"wind": [np.inf]}, "contains infinity"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_table_is_named(inside, columns, message, capsys):
    write("a.csv", **columns)
    assert command("fit", "a.csv", "--target", "power", "--out", "a.qtkm") == 1
    assert message in sentence(capsys)
    assert not (inside / "a.qtkm").exists()


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"wind": ["calm"]}, "a.csv, rows 1 to 200: text such as 'calm' in column 'wind'"),
        (
            {"wind": [0, None, None]},
            "a.csv, rows 1 to 200: no number in column 'wind' in 2 of 200 "
            "rows, first in row 2 of the table",
        ),
    ],
)
def test_a_mistake_in_new_rows_is_named(inside, columns, message, capsys):
    write("a.csv", **columns)
    assert command("predict", "m.qtkm", "a.csv") == 1
    assert message in sentence(capsys)
    assert command("evaluate", "m.qtkm", "a.csv", "--target", "power") == 1
    assert message in sentence(capsys)


def test_columns_that_a_model_needs_are_named(inside, capsys):
    make_rows()[["wind", "power"]].to_csv("a.csv", index=False)
    assert command("predict", "m.qtkm", "a.csv") == 1
    assert "a.csv has no column 'sun'; it has 'wind', 'power'" in sentence(capsys)


def test_a_target_of_text_is_no_truth_for_numbers(inside, capsys):
    write("a.csv", power=["high"] * 200)
    assert command("evaluate", "m.qtkm", "a.csv", "--target", "power") == 1
    assert "the target 'power' must hold numbers" in sentence(capsys)


def test_numbers_are_categories_if_said_so(inside, capsys):
    write("a.csv", wind=["calm"] * 20)
    words = ["--target", "power", "--category", "wind", "--out", "a.qtkm", "--quiet", *SMALL]
    assert command("fit", "a.csv", *words) == 0
    assert "calm" in qtkm.load("a.qtkm").columns_[0]["categories"]
    words[3] = "wnd"
    assert command("fit", "a.csv", *words) == 1
    assert "no column 'wnd'; it has 'wind'" in sentence(capsys)


def test_names_of_rows_are_remarked_upon(inside, capsys):
    rows = make_rows()
    rows["name"] = [f"row {i}" for i in range(len(rows))]
    rows.to_csv("a.csv", index=False)
    assert command("fit", "a.csv", "--target", "power", "--out", "a.qtkm", *SMALL) == 0
    assert "'name' has 200 different texts in 200 rows" in sentence(capsys)


def test_the_only_row_of_a_class_is_trained_on(inside, capsys):
    write("a.csv", power=["rare"] + ["high"] * 100 + ["low"] * 99)
    for seed in range(4):
        words = ["--target", "power", "--random-state", seed, "--out", "a.qtkm", *SMALL]
        assert command("fit", "a.csv", *words) == 0
        assert "accuracy" in capsys.readouterr().out
        assert "rare" in qtkm.load("a.qtkm").classes_


@pytest.mark.parametrize("suffix", [".csv.zip", ".csv.gz", ".csv.bz2", ".parquet"])
def test_a_file_of_another_kind_than_its_name_is_named(inside, suffix, capsys):
    (inside / f"a{suffix}").write_bytes((inside / "rows.csv").read_bytes())
    assert command("fit", f"a{suffix}", "--target", "power") == 1
    assert f"a{suffix} cannot be read as" in sentence(capsys)


def test_other_separators_are_suspected(inside, capsys):
    make_rows().to_csv("a.csv", index=False, sep=";")
    assert command("fit", "a.csv", "--target", "power") == 1
    assert "are its values separated by something else than ','?" in sentence(capsys)


def test_target_and_weight_are_two_columns(inside, capsys):
    assert command("fit", "rows.csv", "--target", "power", "--weight", "power") == 1
    assert "name two columns" in sentence(capsys)


@pytest.mark.parametrize("kind", ["cut", "altered", "empty", "folder", "none"])
def test_a_model_file_that_is_no_good_is_named(inside, kind, capsys):
    whole, bad = (inside / "m.qtkm").read_bytes(), inside / "bad.qtkm"
    if kind == "folder":
        bad.mkdir()
    elif kind != "none":
        altered = whole[:-9] + bytes([whole[-9] ^ 255]) + whole[-8:]
        bad.write_bytes({"cut": whole[:-100], "altered": altered, "empty": b""}[kind])
    for words in (["predict", bad, "rows.csv"], ["inspect", bad],
                  ["evaluate", bad, "rows.csv", "--target", "power"]):  # fmt: skip
        assert command(*words) == 1
        assert "bad.qtkm" in sentence(capsys)


# -- help and errors --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fit", "predict", "evaluate", "inspect", "demo"])
def test_every_command_has_an_example(name, capsys):
    assert command(name, "--help") == 0
    assert f"Example: qtkm {name}" in capsys.readouterr().out


def test_help_tells_the_exit_codes(capsys):
    assert command("--help") == 0
    shown = capsys.readouterr().out
    for text in ("Exit codes", "130 interrupted", "141"):
        assert text in shown


def test_what_should_not_happen_is_one_sentence_too(inside, monkeypatch, capsys):
    def fail(*_, **__):
        raise KeyError("lost")

    monkeypatch.setattr(jobs, "fit", fail)
    assert command("fit", "rows.csv", "--target", "power") == 1
    assert "this should not happen: KeyError: 'lost'; --debug shows where" in sentence(capsys)
    with pytest.raises(KeyError, match="lost"):
        main(["--debug", "fit", "rows.csv", "--target", "power"])


def test_a_warning_is_one_sentence(inside, monkeypatch, capsys):
    def remark(*_, **__):
        warnings.warn("two\n lines", UserWarning, stacklevel=1)
        return SimpleNamespace(status_="converged")

    monkeypatch.setattr(jobs, "fit", remark)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert command("fit", "rows.csv", "--target", "power") == 0
    assert sentence(capsys) == "qtkm: two lines\n"


# -- size -------------------------------------------------------------------------------------


def test_a_million_rows(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    rng, n = np.random.default_rng(0), 1_000_000
    rows = pandas.DataFrame({"a": rng.integers(0, 200, n), "b": rng.integers(0, 50, n)})
    rows["unused"] = 0.0
    rows["y"] = np.sin(rows["a"] / 40) + rows["b"] / 50
    rows.to_parquet(tmp_path / "a.parquet")
    model = tmp_path / "m.qtkm"
    words = ["--target", "y", "--drop", "unused", "--out", model, "--rank", 2, "--n-basis", 8]
    assert command("fit", tmp_path / "a.parquet", *words, "--max-iter", 2) == 0
    assert "800,000, 2" in capsys.readouterr().out
    assert command("predict", model, tmp_path / "a.parquet", "--out", tmp_path / "p.parquet") == 0
    predicted = pandas.read_parquet(tmp_path / "p.parquet")["prediction"]
    assert len(predicted) == n
    assert np.corrcoef(predicted, rows["y"])[0, 1] > 0.9
    assert command("evaluate", model, tmp_path / "a.parquet", "--target", "y") == 0
    assert "1,000,000" in capsys.readouterr().out
