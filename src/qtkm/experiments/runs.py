"""What all experiments share: options, rows, the paper's model, recorded fits, pages, figures.

A *fit* is a name, a function and its arguments; what the function returns is recorded with the
name, one line of a CSV file for each finished fit, so that nothing finished is lost.  The function
must be importable, because it may run in another process.
"""

import json
import math
import os
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from functools import lru_cache
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
from ..networks import CPD
from ..networks.algebra import Diagonal
from ..networks.moments import weights_of

PAPER = "Wesel and Batselier, AISTATS 2024"
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


class Records:
    """Rows of a CSV file that only grows, a row for each finished fit.

    `keys` are the columns that name a fit, `values` hold its results; the settings of all rows are
    kept beside the file.
    """

    def __init__(
        self, path: Path, keys: Iterable[str], values: Iterable[str], settings: Any = None
    ):
        self.path, self.keys, self.columns = path, list(keys), [*keys, *values]
        self.n_new = 0
        self._check_settings(json.loads(json.dumps(settings or {})))
        if path.exists():
            self._check_file()

    @property
    def frame(self) -> Any:
        """All rows as a pandas frame."""
        if not self.path.exists():
            return pandas().DataFrame(columns=self.columns)
        # by Python: versions of pandas differ in the last bit of what they read
        return pandas().read_csv(self.path, converters=dict.fromkeys(self.columns, _number))

    def of(self, fits: Iterable["Fit"]) -> Any:
        """Return the rows of fits, in their order."""
        names = pandas().DataFrame([dict(fit.name) for fit in fits], columns=self.keys)
        return names.merge(self.frame, on=self.keys)

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
            pairs = {n: (found.get(n), settings.get(n)) for n in sorted({*found, *settings})}
            differ = [f"{n} (there {a!r}, here {b!r})" for n, (a, b) in pairs.items() if a != b]
            if differ:
                raise ValueError(
                    f"{self.path} holds results of other settings: {', '.join(differ)}; choose "
                    "another output folder, or remove that file to start again"
                )
        elif settings:
            replace_text(file, json.dumps(settings, indent=2) + "\n")


def _number(text: str) -> Any:
    """Convert a text to a number if it is one."""
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text


def replace_text(path: Path, text: str) -> None:
    """Write a text file in one step: what is there is whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


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


def run_fits(
    fits: Iterable[Fit], records: Records, *, title: str, n_jobs: int = 1, progress: bool = True
) -> Any:
    """Run the fits that are not recorded yet, record each as it ends, and return all rows."""
    every = list(fits)
    left = records.left(every)
    total = sum(fit.cost for fit in every)
    bar = tqdm(
        total=total, initial=total - sum(fit.cost for fit in left), desc=title, mininterval=0.5,
        bar_format="{l_bar}{bar}| {elapsed} so far, {remaining} left{postfix}",
        disable=not progress,
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


def paper_pair(
    model: str, radices: Sequence[int], n_columns: int, rank: int, seed: int, **settings: Any
) -> QTKMRegressor:
    """Make the "TKM" or the "QTKM" of a pair that begins at the same function."""
    start, is_quantized = quantized_start([radices] * n_columns, rank, seed), model == "QTKM"
    return paper_model(
        n_basis=math.prod(radices), quantization=2 if is_quantized else None, rank=rank, tol=0,
        init=start if is_quantized else unquantized(start), **settings,
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


def table(head: str, form: str, rows: Iterable[Mapping[str, Any]]) -> str:
    """Lay out a Markdown table: its head, the form of a row, and the values of the rows."""
    ruler = "|---|" + "---:|" * head.count("|")
    return "\n".join([f"| {head} |", ruler, *(f"| {form.format(**row)} |" for row in rows)])


def origin(command: str, seconds: float, page: Path | None = None) -> str:
    """Say how fits were made, as on an earlier `page` if none was made since, and their time."""
    machine = f"{cpu_count()} cores"
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
        machine += f", {gib:.0f} GiB"
    text = (
        f"Made by `{command}` on {date.today().isoformat()} with qtkm {__version__}, "
        f"NumPy {np.__version__} and Python {platform.python_version()} on {machine}"
    )
    if page is not None and page.exists():
        said = re.search(r"^Made by .*(?=; the fits took )", page.read_text("utf-8"), re.MULTILINE)
        text = said[0] if said else text
    return f"{text}; the fits took {duration(seconds)}."


def duration(seconds: float) -> str:
    """Format seconds with their unit."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def spread(values: Iterable[float], digits: int = 4) -> str:
    """Format mean ± standard deviation."""
    array = np.asarray(list(values), dtype=float)
    deviation = array.std(ddof=1) if array.size > 1 else 0.0
    return f"{array.mean():.{digits}f} ± {deviation:.{digits}f}"


def try_to_draw(draw: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Return the file names that `draw` gives; print a line if matplotlib is missing."""
    try:
        return draw()
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        print(f'no figures: {package} is not installed; try: pip install "qtkm[plot]"')
        return {}


def new_figure(width: float, height: float) -> Any:
    """Return a matplotlib Figure, which needs no display and leaves pyplot's state alone."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def label_decades(axis: Any, form: str) -> Any:
    """Label a logarithmic axis with plain numbers at 1, 2 and 5 of every decade."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    locator = LogLocator(subs=(1, 2, 5))
    axis.set_major_locator(locator)
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(StrMethodFormatter(form))
    return locator


def save_figure(figure: Any, path: Path) -> str:
    """Write a figure as PNG and PDF, and return the name of the former."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_suffix(".png"), dpi=150)
    # without the date of the run, so that the same numbers give the same files
    figure.savefig(path.with_suffix(".pdf"), dpi=150, metadata={"CreationDate": None})
    return path.with_suffix(".png").name


def write_page(
    options: Options, name: str, seconds: float, has_new: bool, values: dict[str, Any]
) -> Path:
    """Write the page of an experiment from the template of that name in the folder ``pages``.

    `seconds` is the time of all fits, `has_new` says whether any was made since the page was
    written last. A paragraph is left out if a value that it names, ``{name}`` or ``{if_name}``, is
    None or missing.
    """
    path = options.output / f"{name}.md"
    made = origin(options.command, seconds, None if has_new else path)
    values = {"made": made, "quick": options.quick or None, **values}
    parts = []
    template = Path(__file__).parent.joinpath("pages", f"{name}.md").read_text(encoding="utf-8")
    for paragraph in template.strip().split("\n\n"):
        fields = [
            re.split(r"[.\[]", field)[0] for _, field, _, _ in Formatter().parse(paragraph) if field
        ]
        if all(values.get(field.removeprefix("if_")) is not None for field in fields):
            empty = {field: "" for field in fields if field.startswith("if_")}
            parts.append(paragraph.format(**values | empty))
    replace_text(path, "\n\n".join(parts) + "\n")
    return path
