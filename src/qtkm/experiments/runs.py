"""What all experiments share: options, rows, the paper's model, recorded fits, pages, figures.

A *fit* is a name, a function and its arguments; what the function returns is recorded with the
name, one line of a CSV file for each finished fit, so that nothing finished is lost.  The function
must be importable, because it may run in another process.
"""

import json
import math
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
from io import StringIO
from pathlib import Path
from string import Formatter
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, cpu_count, delayed, effective_n_jobs, parallel_config
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from .. import __version__
from ..datasets import REGISTRY
from ..datasets._files import pandas
from ..estimators import QTKMRegressor
from ..estimators.memory import available
from ..networks import CPD
from ..networks.algebra import Diagonal
from ..networks.moments import weights_of
from ..replacing import replacing

#: colours of the paper's figures
COLOURS = {"RFF": "#0072BD", "TKM": "#D62728", "QTKM": "#EDB120", "KRR": "0.45"}
#: rows of a brief fit that compiles
COMPILED_ROWS = 20_000
#: one list of cores for each column, lowest digit first; a core is (Q, rank)
Start = list[list[NDArray]]


@dataclass(frozen=True)
class Options:
    """How to run an experiment; raw results in `output` are continued."""

    output: Path
    quick: bool = False
    data_home: str | None = None
    n_jobs: int = -1
    progress: bool = True
    command: str = ""

    @property
    def cores(self) -> int:
        """Number of processes or threads."""
        return effective_n_jobs(self.n_jobs)


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
        y_train, y_test = ((y - mean) / scale for y in (y_train, y_test))
        return cls(X_train, X_test, y_train, y_test, mean, scale)


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


@dataclass(frozen=True)
class Fit:
    """One fit: a function of the record's key columns and further arguments, and its work."""

    name: Mapping[str, Any]
    function: Callable[..., Mapping[str, Any]]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    cost: float = 1.0

    def run(self) -> tuple[float, dict[str, Any]]:
        """Return the cost and the row to record."""
        return self.cost, {**self.name, **self.function(**self.name, **self.arguments)}


class Records:
    """Rows of the CSV file of an experiment, a row for each finished fit.

    `keys` are the columns that name a fit, `values` hold its results. The settings of all rows, and
    how the last of them were made, are kept beside the file.
    """

    def __init__(
        self, options: Options, name: str, keys: Iterable[str], values: Iterable[str],
        settings: Mapping[str, Any] | None = None,
    ):  # fmt: skip
        self.options, self.path = options, options.output / f"{name}.csv"
        self.keys, self.columns = list(keys), [*keys, *values]
        self.made = ""
        self._settings = json.loads(json.dumps(settings or {}))
        self._notes = self.path.with_suffix(".settings.json")
        self._text = ",".join(self.columns) + "\n"
        if self.path.exists():
            self._continue()

    @property
    def frame(self) -> Any:
        """All rows as a pandas frame."""
        # by Python: versions of pandas differ in the last bit of what they read
        kinds = dict.fromkeys(self.columns, _number)
        return pandas().read_csv(StringIO(self._text), converters=kinds)

    def of(self, fits: Iterable[Fit]) -> Any:
        """Return the rows of fits, in their order."""
        names = pandas().DataFrame([dict(fit.name) for fit in fits], columns=self.keys)
        return names.merge(self.frame, on=self.keys)

    def left(self, fits: Iterable[Fit]) -> list[Fit]:
        """Return the fits that are not recorded yet."""
        done = set(self.frame[self.keys].itertuples(index=False, name=None))
        return [fit for fit in fits if tuple(fit.name[key] for key in self.keys) not in done]

    def append(self, row: Mapping[str, Any]) -> None:
        """Add a finished fit; the file is whole, whatever ends the run."""
        if self.made != (made := origin(self.options.command)):
            self.made = made
            notes = json.dumps({**self._settings, "made": made}, indent=2)
            write_text(self._notes, notes + "\n")
        line = pandas().DataFrame([row], columns=self.columns)
        self._text += line.to_csv(header=False, index=False, lineterminator="\n")
        write_text(self.path, self._text)

    def _continue(self) -> None:
        """Read the file of an earlier run, if it is of the same columns and settings."""
        self._text = self.path.read_text(encoding="utf-8")
        if (found := self._text.partition("\n")[0].split(",")) != self.columns:
            raise ValueError(
                f"{self.path} has columns {', '.join(found)} where {', '.join(self.columns)} "
                "were expected; it comes from another version: choose another output folder"
            )
        here = there = self._settings
        if self._notes.exists():
            there = json.loads(self._notes.read_text(encoding="utf-8"))
        self.made = there.pop("made", "")
        names = [name for name in {**there, **here} if there.get(name) != here.get(name)]
        if names:
            differ = (f"{n} (there {there.get(n)!r}, here {here.get(n)!r})" for n in names)
            raise ValueError(
                f"{self.path} holds results of other settings: {', '.join(differ)}; choose "
                "another output folder, or remove that file to start again"
            )


def _number(text: str) -> Any:
    """Convert a text to a number if it is one."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def write_text(path: Path, text: str) -> None:
    """Write a text file in one step: what is there is whole."""
    with replacing(path) as file:
        file.write(text.encode())


def run_fits(fits: Iterable[Fit], records: Records, n_jobs: int = 1) -> Any:
    """Run the fits that are not recorded yet, the longest first, and return the rows of all."""
    every = list(fits)
    left = sorted(records.left(every), key=lambda fit: -fit.cost)
    total = sum(fit.cost for fit in every)
    bar = tqdm(
        total=total, initial=total - sum(fit.cost for fit in left), desc=records.path.stem,
        bar_format="{l_bar}{bar}| {elapsed} so far, {remaining} left{postfix}",
        disable=not records.options.progress, mininterval=0.5,
    )  # fmt: skip
    with bar, parallel_config("loky", n_jobs=n_jobs, inner_max_num_threads=1):
        parallel = Parallel(return_as="generator_unordered", pre_dispatch="all", batch_size=1)
        results = parallel(delayed(Fit.run)(fit) for fit in left)
        for count, (cost, row) in enumerate(results, start=len(every) - len(left) + 1):
            records.append(row)
            bar.set_postfix_str(f"{count:,} of {len(every):,} fits", refresh=False)
            bar.update(cost)
    return records.of(every)


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


def compile_loops(model: Any, rows: Split) -> None:
    """Fit briefly, so that no time that is measured contains compilation."""
    if isinstance(model, QTKMRegressor):
        X, y = rows.X_train[:COMPILED_ROWS], np.ascontiguousarray(rows.y_train[:COMPILED_ROWS])
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


def paper_pair(
    model: str, radices: Sequence[int], n_columns: int, rank: int, seed: int, **settings: Any
) -> QTKMRegressor:
    """Make the "TKM" or the "QTKM" of a pair that begins at the same function."""
    start, is_quantized = quantized_start([radices] * n_columns, rank, seed), model == "QTKM"
    return paper_model(
        n_basis=math.prod(radices), quantization=2 if is_quantized else None, rank=rank, tol=0,
        init=start if is_quantized else unquantized(start), **settings,
    )  # fmt: skip


def quantized_start(radices: Iterable[Sequence[int]], rank: int, seed: int) -> Start:
    """Draw Gaussian cores with columns of norm 1, as ``init="random"`` does."""
    legs = [[np.zeros(radix) for radix in levels] for levels in radices]
    return CPD(rank).start(legs, 1, True, "random", np.random.RandomState(seed))


def unquantized(cores: Start) -> Start:
    """Merge the cores of each column into one: the same function, not quantized.

    Row m = Σ_k q_k·B_k of a column's core is the product Π_k W_k[q_k] of the rows of its levels.
    """
    return [[weights_of(Diagonal(), levels)] for levels in cores]


def origin(command: str) -> str:
    """Say when, where and how fits are made."""
    machine = f"{cpu_count()} cores, {available('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    return (
        f"Made by `{command}` on {date.today().isoformat()} with qtkm {__version__}, "
        f"NumPy {np.__version__} and Python {platform.python_version()} on {machine}"
    )


def duration(seconds: float) -> str:
    """Format seconds with their unit."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def spread(values: Any) -> str:
    """Format mean ± standard deviation, or the only value."""
    mean = f"{np.mean(values):.4f}"
    return f"{mean} ± {np.std(values, ddof=1):.4f}" if len(values) > 1 else mean


def label_decades(axis: Any, steps: Sequence[float] = (1, 2, 5)) -> None:
    """Label a logarithmic axis with plain numbers at some steps of every decade."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=steps))
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))


def save_figures(folder: Path, drawn: Mapping[str, Callable[[], Any]]) -> dict[str, str]:
    """Draw figures into PNG and PDF files of their names, and return the names of the former.

    Without matplotlib, a line that says so is printed, and nothing returned.
    """
    try:
        figures = {name: draw() for name, draw in drawn.items()}
    except ModuleNotFoundError as missing:
        print(f"no figures: {missing}")
        return {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, figure in figures.items():
        figure.savefig(folder / f"{name}.png", dpi=150)
        # without the date of the run, so that the same numbers give the same files
        figure.savefig(folder / f"{name}.pdf", dpi=150, metadata={"CreationDate": None})
    return {name: f"{name}.png" for name in figures}


def write_page(
    records: Records, seconds: float, values: Mapping[str, Any],
    drawn: Mapping[str, Callable[[], Any]],
) -> Path:  # fmt: skip
    """Draw the figures of an experiment, and write its page from the template in ``pages``.

    `seconds` is the time of all fits; the name of a figure has that of its file.
    """
    options, path = records.options, records.path.with_suffix(".md")
    made = f"{records.made or origin(options.command)}; the fits took {duration(seconds)}."
    known = {"made": made, "quick": options.quick or None, **values}
    write_text(path, fill(path.name, known | save_figures(options.output, drawn)) + "\n")
    return path


def fill(name: str, values: Mapping[str, Any]) -> str:
    """Return a template of the folder ``pages`` with values in place of their names.

    A paragraph is left out if a value that it names, ``{name}`` or ``{if_name}``, is None or
    missing. A line that names a list, as ``{name[column]}``, is repeated for all of its entries.
    """
    template = Path(__file__).parent.joinpath("pages", name).read_text(encoding="utf-8")
    parts = []
    for paragraph in template.strip().split("\n\n"):
        named = _names(paragraph)
        if all(values.get(field.removeprefix("if_")) is not None for field in named):
            known = {**values, **{field: "" for field in named if field.startswith("if_")}}
            parts.append("\n".join(_fill_line(line, known) for line in paragraph.split("\n")))
    return "\n\n".join(parts)


def _names(text: str) -> list[str]:
    fields = (field for _, field, _, _ in Formatter().parse(text) if field)
    return [re.split(r"[.\[]", field)[0] for field in fields]


def _fill_line(line: str, known: Mapping[str, Any]) -> str:
    many = next((name for name in _names(line) if isinstance(known[name], list)), None)
    entries = [known] if many is None else [{**known, many: entry} for entry in known[many]]
    return "\n".join(line.format(**entry) for entry in entries)
