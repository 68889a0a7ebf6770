"""What all experiments share: options, rows, the paper's model, and fits that are recorded.

A *fit* is a name, a function and its arguments; what the function returns is recorded with the
name, one line of a CSV file for each finished fit, so that nothing finished is lost.  The function
must be importable, because it may run in another process.
"""

import csv
import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed, parallel_config
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from tqdm.auto import tqdm

from ..estimators import QTKMRegressor
from ..networks import CPD
from ..networks.algebra import Diagonal
from ..networks.moments import weights_of

Row = Mapping[str, Any]
#: one list of cores for each column, lowest digit first; a core is (Q, rank)
Start = list[list[NDArray]]


@dataclass(frozen=True)
class Options:
    """How to run an experiment.

    Attributes
    ----------
    output : pathlib.Path
        Folder for raw results, figures and page; raw results that are there are continued.
    quick : bool
        A run of minutes with the same outputs: fewer sets, ranks, seeds and rows.
    data_home : str or None
        Folder of the data files; None as in `qtkm.datasets`.
    n_jobs : int
        Processes or threads, whichever an experiment uses; -1 means all cores.
    progress : bool
        Show progress bars.
    command : tuple of str
        Words of the command that makes this run, for the page.
    """

    output: Path
    quick: bool = False
    data_home: str | None = None
    n_jobs: int = -1
    progress: bool = True
    command: tuple[str, ...] = ()

    @property
    def cores(self) -> int:
        """Number of processes or threads."""
        return self.n_jobs if self.n_jobs > 0 else max(1, cpu_count() + 1 + self.n_jobs)

    @property
    def command_line(self) -> str:
        """The command as one types it."""
        return shlex.join(self.command)


@dataclass(frozen=True)
class Split:
    """Training and test rows; targets standardized by the training rows (ddof=1)."""

    X_train: NDArray
    X_test: NDArray
    y_train: NDArray
    y_test: NDArray

    @classmethod
    def standardize(cls, X_train: Any, X_test: Any, y_train: NDArray, y_test: NDArray) -> "Split":
        """Scale targets by mean and deviation of the training rows."""
        mean, scale = y_train.mean(), y_train.std(ddof=1)
        return cls(X_train, X_test, (y_train - mean) / scale, (y_test - mean) / scale)

    @classmethod
    def draw(cls, X: NDArray, y: NDArray, test_size: float, seed: int) -> "Split":
        """Split rows at random."""
        train, test = train_test_split(np.arange(len(y)), test_size=test_size, random_state=seed)
        return cls.standardize(X[train], X[test], y[train], y[test])


class Records:
    """Rows of a CSV file that only grows; a row is safe on disk before the next one begins.

    Parameters
    ----------
    path : path-like
        The file; made with its folder when the first row comes.
    keys, values : iterable of str
        Columns that name a fit, and those that hold its results.
    settings : mapping, optional
        What all rows have in common, kept beside the file. Rows of other settings or columns are
        not continued: a ValueError.
    """

    def __init__(
        self, path: str | os.PathLike[str], keys: Iterable[str], values: Iterable[str],
        settings: Mapping[str, Any] | None = None,
    ):  # fmt: skip
        self.path = Path(path)
        self.keys, self.values = list(keys), list(values)
        self.rows: list[dict[str, Any]] = []
        self.n_new = 0
        self._check_settings(dict(settings or {}))
        if self.path.exists():
            self._read()

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return self.keys + self.values

    def key(self, row: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the key of a row's fit."""
        return tuple(_text(row[name]) for name in self.keys)

    @property
    def done(self) -> set[tuple[str, ...]]:
        """Names of the fits that are finished."""
        return {self.key(row) for row in self.rows}

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a finished fit and put it safely on disk."""
        is_new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            if is_new:
                writer.writerow(self.columns)
            writer.writerow([_text(row[name]) for name in self.columns])
            file.flush()
            os.fsync(file.fileno())
        self.rows.append({name: _number(_text(row[name])) for name in self.columns})
        self.n_new += 1

    def _read(self) -> None:
        """Take over the rows of the file; a last line that was cut off is dropped."""
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        lines = list(csv.reader(whole.splitlines()))
        if lines and lines[0] != self.columns:
            raise ValueError(
                f"{self.path} has columns {', '.join(lines[0])} where {', '.join(self.columns)} "
                "were expected; it comes from another version: choose another output folder"
            )
        if whole != text:
            partial = self.path.with_suffix(".partial")
            partial.write_text(whole, encoding="utf-8")
            os.replace(partial, self.path)
        if not lines:
            self.path.unlink()
        for line in lines[1:]:
            self.rows.append(dict(zip(self.columns, map(_number, line), strict=True)))

    def _check_settings(self, settings: dict[str, Any]) -> None:
        file = self.path.with_suffix(".settings.json")
        settings = json.loads(json.dumps(settings))
        if self.path.exists() and file.exists():
            found = json.loads(file.read_text(encoding="utf-8"))
            if found != settings:
                differ = [
                    f"{name} (there {found.get(name)!r}, here {settings.get(name)!r})"
                    for name in sorted(found.keys() | settings.keys())
                    if found.get(name) != settings.get(name)
                ]
                raise ValueError(
                    f"{self.path} holds results of other settings: {', '.join(differ)}; choose "
                    "another output folder, or remove that file to start again"
                )
        elif settings:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def _text(value: Any) -> str:
    if value is None:
        return ""
    return repr(float(value)) if isinstance(value, float) else str(value)


def _number(text: str) -> Any:
    """Convert a text to a number if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


@dataclass(frozen=True)
class Fit:
    """One fit: a function that is called with name and arguments, and returns the value columns.

    `name` has the record's key columns, and `cost` the expected work in any unit.
    """

    name: Mapping[str, Any]
    function: Callable[..., Mapping[str, Any]]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 1.0


def run_fits(
    fits: Iterable[Fit], records: Records, *, title: str, n_jobs: int = 1, progress: bool = True
) -> None:
    """Run the fits that are not recorded yet."""
    every = list(fits)
    done = records.done
    left = [fit for fit in every if records.key(fit.name) not in done]
    total = sum(fit.cost for fit in every)
    finished = total - sum(fit.cost for fit in left)
    form = "{l_bar}{bar}| {elapsed} so far, {remaining} left{postfix}"
    with tqdm(
        total=total, initial=finished, desc=title, disable=not progress, bar_format=form,
        mininterval=0.5,
    ) as bar:  # fmt: skip
        for count, (fit, values) in enumerate(_results(left, n_jobs), start=1):
            records.append({**fit.name, **values})
            done_now = len(every) - len(left) + count
            bar.set_postfix_str(f"{done_now:,} of {len(every):,} fits", refresh=False)
            bar.update(fit.cost)


def _results(fits: Sequence[Fit], n_jobs: int) -> Iterator[tuple[Fit, Mapping[str, Any]]]:
    """Finished fits, in the order in which they finish."""
    if n_jobs == 1 or len(fits) < 2:
        for fit in fits:
            yield fit, fit.function(**fit.name, **fit.arguments)
        return
    with parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1):
        parallel = Parallel(return_as="generator_unordered", pre_dispatch="all", batch_size=1)
        tasks = (delayed(_numbered)(i, fit) for i, fit in enumerate(fits))
        for i, values in parallel(tasks):
            yield fits[i], values


def _numbered(i: int, fit: Fit) -> tuple[int, Mapping[str, Any]]:
    return i, fit.function(**fit.name, **fit.arguments)


def paper_model(**settings: Any) -> QTKMRegressor:
    """Make a model as the paper has it; `settings` are those that its experiments differ in."""
    # no posterior: times of fits are reported, and nobody asks for intervals
    return QTKMRegressor(
        penalty="ridge", main_effects=False, scaling="range", prediction_margin=None,
        max_bins=None, extrapolation="continue", early_stopping=False, posterior=False, **settings,
    )  # fmt: skip


def quantized_start(
    radices: Iterable[Sequence[int]], rank: int, seed: int, is_complex: bool = True
) -> Start:
    """Draw Gaussian cores with columns of norm 1, as ``init="random"`` does."""
    legs = [[np.zeros(radix) for radix in levels] for levels in radices]
    return CPD(rank).start(legs, 1, is_complex, "random", np.random.RandomState(seed))


def unquantized(cores: Start) -> Start:
    """Merge the cores of each column into one: the same function, not quantized.

    Row m = Σ_k q_k·B_k of a column's core is the product Π_k W_k[q_k] of the rows of its levels,
    so that a quantized model and its counterpart begin at the same function.
    """
    return [[weights_of(Diagonal(), levels)] for levels in cores]
