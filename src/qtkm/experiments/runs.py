"""What all experiments share: options, rows, the paper's model, and fits that are recorded.

A *fit* is a name, a function and its arguments; what the function returns is recorded with the
name, one line of a CSV file for each finished fit, so that nothing finished is lost.  The function
must be importable, because it may run in another process.
"""

import json
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed, parallel_config
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from ..datasets import REGISTRY
from ..datasets._files import pandas
from ..estimators import QTKMRegressor
from ..networks import CPD
from ..networks.algebra import Diagonal
from ..networks.moments import weights_of

#: rows of a brief fit that compiles
COMPILED_ROWS = 20_000
#: one list of cores for each column, lowest digit first; a core is (Q, rank)
Start = list[list[NDArray]]


@dataclass(frozen=True)
class Options:
    """How to run an experiment.

    Raw results in `output` are continued, `quick` is a run of minutes with the same outputs,
    `data_home` as in `qtkm.datasets`, `n_jobs` counts processes or threads, whichever an
    experiment uses, and `command` are the words of the command that makes this run.
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

    X_train: Any
    X_test: Any
    y_train: NDArray
    y_test: NDArray
    mean: float
    scale: float

    @classmethod
    def standardize(cls, X_train: Any, X_test: Any, y_train: NDArray, y_test: NDArray) -> "Split":
        """Scale targets by mean and deviation of the training rows."""
        mean, scale = y_train.mean(), y_train.std(ddof=1)
        return cls(
            X_train, X_test, (y_train - mean) / scale, (y_test - mean) / scale, mean, scale
        )  # fmt: skip


@lru_cache(maxsize=1)
def draw_rows(
    name: str, seed: int, test_size: float, data_home: str | None, most: int | None = None
) -> Split:
    """Split a set at random, or `most` of its rows."""
    X, y = REGISTRY[name](return_X_y=True, as_frame=False, data_home=data_home)
    if most is not None and len(y) > most:
        rows = np.random.default_rng(0).permutation(len(y))[:most]
        X, y = X[rows], y[rows]
    train, test = train_test_split(np.arange(len(y)), test_size=test_size, random_state=seed)
    y = y.astype(np.float64)
    return Split.standardize(X[train], X[test], y[train], y[test])


class Records:
    """Rows of a CSV file that only grows; a row is safe on disk before the next one begins.

    `keys` are the columns that name a fit, `values` hold its results. `settings`, which all rows
    have in common, are kept beside the file: rows of other settings or columns are a ValueError.
    """

    def __init__(
        self, path: str | os.PathLike[str], keys: Iterable[str], values: Iterable[str],
        settings: Mapping[str, Any] | None = None,
    ):  # fmt: skip
        self.path, self.keys = Path(path), list(keys)
        self.columns = [*keys, *values]
        self.n_new = 0
        self._check_settings(json.loads(json.dumps(dict(settings or {}))))
        if self.path.exists():
            self._check_file()

    @property
    def frame(self) -> Any:
        """All rows as a pandas frame."""
        if not self.path.exists():
            return pandas().DataFrame(columns=self.columns)
        # by Python: versions of pandas differ in the last bit of what they read
        return pandas().read_csv(self.path, converters=dict.fromkeys(self.columns, _number))

    def left(self, fits: Iterable["Fit"]) -> list["Fit"]:
        """Return the fits that are not recorded yet."""
        done = set(self.frame[self.keys].itertuples(index=False, name=None))
        return [fit for fit in fits if tuple(fit.name[key] for key in self.keys) not in done]

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a finished fit and put it safely on disk."""
        is_new = not self.path.exists()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", newline="", encoding="utf-8") as file:
            line = pandas().DataFrame([row], columns=self.columns)
            line.to_csv(file, header=is_new, index=False, lineterminator="\n")
            file.flush()
            os.fsync(file.fileno())
        self.n_new += 1

    def _check_file(self) -> None:
        """Compare the columns, and drop a last line that was cut off."""
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if not whole:
            self.path.unlink()
            return
        if (found := whole.partition("\n")[0].split(",")) != self.columns:
            raise ValueError(
                f"{self.path} has columns {', '.join(found)} where {', '.join(self.columns)} "
                "were expected; it comes from another version: choose another output folder"
            )
        if whole != text:
            replace_text(self.path, whole)

    def _check_settings(self, settings: dict[str, Any]) -> None:
        file = self.path.with_suffix(".settings.json")
        if self.path.exists() and file.exists():
            found = json.loads(file.read_text(encoding="utf-8"))
            differ = [
                f"{name} (there {found.get(name)!r}, here {settings.get(name)!r})"
                for name in sorted(found.keys() | settings.keys())
                if found.get(name) != settings.get(name)
            ]
            if differ:
                raise ValueError(
                    f"{self.path} holds results of other settings: {', '.join(differ)}; choose "
                    "another output folder, or remove that file to start again"
                )
        elif settings:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")


def _number(text: str) -> Any:
    """Convert a text to a number if it is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def replace_text(path: Path, text: str) -> None:
    """Write a text file in one step: what is there is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


@dataclass(frozen=True)
class Fit:
    """One fit: a function that is called with name and arguments, and returns the value columns.

    `name` has the record's key columns, and `cost` the expected work in any unit.
    """

    name: Mapping[str, Any]
    function: Callable[..., Mapping[str, Any]]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 1.0

    def run(self) -> tuple[float, dict[str, Any]]:
        """Return the cost and the row to record."""
        return self.cost, {**self.name, **self.function(**self.name, **self.arguments)}


def run_fits(
    fits: Iterable[Fit], records: Records, *, title: str, n_jobs: int = 1, progress: bool = True
) -> None:
    """Run the fits that are not recorded yet, and record each as it ends."""
    every = list(fits)
    left = records.left(every)
    total, finished = sum(fit.cost for fit in every), len(every) - len(left)
    form = "{l_bar}{bar}| {elapsed} so far, {remaining} left{postfix}"
    with tqdm(
        total=total, initial=total - sum(fit.cost for fit in left), desc=title,
        disable=not progress, bar_format=form, mininterval=0.5,
    ) as bar:  # fmt: skip
        for count, (cost, row) in enumerate(_results(left, n_jobs), start=finished + 1):
            records.append(row)
            bar.set_postfix_str(f"{count:,} of {len(every):,} fits", refresh=False)
            bar.update(cost)


def _results(fits: Sequence[Fit], n_jobs: int) -> Iterator[tuple[float, dict[str, Any]]]:
    """Yield results in the order in which fits finish."""
    if n_jobs == 1 or len(fits) < 2:
        yield from map(Fit.run, fits)
        return
    with parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1):
        parallel = Parallel(return_as="generator_unordered", pre_dispatch="all", batch_size=1)
        yield from parallel(delayed(Fit.run)(fit) for fit in fits)


def fit_timed(
    model: Any, rows: Split, threads: int | None = None, clock: Callable[[], float] = perf_counter
) -> float:
    """Fit to the training rows, with at most `threads` of the libraries; return the seconds."""
    with threadpool_limits(threads):
        start = clock()
        model.fit(rows.X_train, rows.y_train)
        seconds = clock() - start
    if getattr(model, "status_", "") == "interrupted":
        raise KeyboardInterrupt  # a fit that was cut short is not a result
    return seconds


def compile_loops(models: Iterable[Any], X: Any, y: NDArray) -> None:
    """Fit briefly, so that no time that is measured contains compilation."""
    X, y = X[:COMPILED_ROWS], np.ascontiguousarray(y[:COMPILED_ROWS])
    for model in models:
        if isinstance(model, QTKMRegressor):
            clone(model).set_params(max_iter=1).fit(X, y).predict(X[:100])


def count_parameters(model: Any) -> int:
    """Count complex weights, features, inducing points, coefficients, or at most so many leaves."""
    for name in ("n_parameters_", "n_components", "n_inducing"):
        if hasattr(model, name):
            return int(getattr(model, name))
    if hasattr(model, "coef_"):
        return model.coef_.size + 1
    return int(model.n_iter_ * model.max_leaf_nodes)


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
