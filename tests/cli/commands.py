"""Commands that are run in the process of a test, and what they say."""

import numpy as np
import pytest

from qtkm.cli import main
from qtkm.data.sources.source import row_numbers

#: of the table and the models that `conftest` makes
N_ROWS = 3000
FEATURES = ["wind", "sun", "kind"]
SETTINGS = {"penalty": "ridge", "rank": 3, "n_basis": 8, "max_iter": 3}
SMALL = ["--penalty", "ridge", "--rank", 3, "--n-basis", 8, "--max-iter", 3]
TINY = ["--penalty", "ridge", "--rank", 2, "--n-basis", 4, "--max-iter", 2]
FIT = ["--target", "power", "--drop", "high", "--drop", "id", "--out", "m.qtkm", *SMALL]


def command(*words):
    """Exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    return ended.value.code


def sentence(capsys):
    """The one sentence of an error, or the one remark."""
    error = capsys.readouterr().err
    assert error.startswith("qtkm: ")
    assert error.count("\n") == 1
    return error


def misuse(capsys):
    """What is said of a mistyped option, out of its box."""
    return " ".join(capsys.readouterr().err.replace("│", " ").split())


def make_rows(n=200):
    """A table of numbers."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    rows = pandas.DataFrame(rng.uniform(size=(n, 2)), columns=["wind", "sun"])
    rows["power"] = np.sin(5 * rows["wind"]) * rows["sun"]
    return rows


def write_parts(rows, folder, suffix=".parquet"):
    """Write rows to three files."""
    folder.mkdir(exist_ok=True)
    for name, part in zip("abc", np.array_split(np.arange(len(rows)), 3), strict=True):
        if suffix == ".parquet":
            rows.iloc[part].to_parquet(folder / f"{name}{suffix}", row_group_size=400)
        else:
            rows.iloc[part].to_csv(folder / f"{name}{suffix}", index=False)
    return folder


def is_tested(n_rows, share=0.2, seed=0):
    """Rows that are set aside to be tested on, but for the first of each label."""
    numbers = row_numbers(0, n_rows, seed)
    return numbers < (np.sort(numbers)[round(share * n_rows)] if n_rows < 1000 else share)
