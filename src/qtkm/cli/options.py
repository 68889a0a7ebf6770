"""Options that several commands share, dataclasses of options, exit codes and errors."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from .output import is_watched

Task = StrEnum("Task", ["auto", "regression", "classification"])
#: exit codes: failure, Ctrl-C, closed pipe
FAILED, INTERRUPTED, CLOSED = 1, 130, 141
#: most problems of a table to list
MOST_LINES = 10


class TableError(ValueError):
    """Error that lists the problems of a table, one per line, followed by hints."""

    def __init__(self, where: str, problems: Sequence[str], hints: Sequence[str] = ()):
        count = len(problems)
        lines = [f"{where}: {count} problems", *problems[:MOST_LINES]]
        more = [f"… and {count - MOST_LINES} more"] if count > MOST_LINES else []
        lines = [f"{where}: {problems[0]}"] if count == 1 else [*lines, *more]
        super().__init__("\n  ".join([*lines, *hints]))


def option(metavar: str, text: str, *names: str, **more: Any) -> Any:
    """Return an option of the command line."""
    return typer.Option(*names, metavar=metavar, help=text, **more)


def flag(text: str, *names: str, **more: Any) -> Any:
    """Return an option without a value."""
    return typer.Option(*names, help=text, **more)


Data = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA",
        help='CSV or Parquet files, a folder of files, or a pattern such as "data/*.parquet".',
    ),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file, from `qtkm fit` or `qtkm tune`.")
]
Target = Annotated[str, option("COLUMN", "Column to predict.", "--target")]
Truth = Annotated[
    str | None, option("COLUMN", "Column of true values; default: the fit's target.", "--target")
]
#: default of options that may be repeated
NO_COLUMNS: Any = ()
Drop = Annotated[list[str], option("COLUMN", "Column to ignore; may be repeated.")]
CATEGORY = "Numeric column to treat as categories; may be repeated."
Category = Annotated[list[str], option("COLUMN", CATEGORY)]
OFFSET = "Column added to the response; for counts, the logarithm of the exposure."
Offset = Annotated[str | None, option("COLUMN", OFFSET)]
Quiet = Annotated[bool, flag("Print errors only.", "--quiet", "-q")]
Unwatched = Annotated[bool, flag("Hide progress, row counts and remarks.", "--quiet", "-q")]
Json = Annotated[bool, flag("Print results as JSON, even with --quiet.", "--json")]
AsJson = Annotated[bool, flag("Write JSON instead of text.", "--json")]
OUTPUT = (
    "Class or target to describe, by name, or by number from 0. Default: the first, or the second "
    "of two classes."
)
Output = Annotated[str | None, option("NAME", OUTPUT)]
MAX_ROWS = (
    "Maximum number of rows to read into memory; larger tables are sampled at random. Default: "
    "1,000,000, or as many as fit."
)
MaxRows = Annotated[int | None, option("N", MAX_ROWS, min=1)]
TASK = (
    "regression, classification, or auto: text and integers with only two values are classes; "
    "everything else is regression."
)
TEST_SIZE = "Fraction of rows held out and scored; 0 trains on all rows."
BASIS = "Basis functions of numeric columns: fourier (waves) or power (polynomials)."
NETWORK = "Tensor network of the weights: cpd, train, ring, tucker, …; cpd is the fastest."
SOLVER = "Solver: als (alternating least squares), lbfgs, adam, …"
LOSS = (
    "Regression: squared (default), huber, quantile, poisson, gamma or tweedie; classification: "
    "logistic (default), squared_hinge, hinge or squared."
)
PENALTY = (
    "Prior of the weights: matern or rbf (rough functions cost more), or ridge, which with all "
    "other defaults is the model of the paper."
)
CYCLIC = (
    "Periodic column: hour=24, or day, week or year for times, such as departure=week; may be "
    "repeated."
)
SEED = "Seed for test rows and initialization."
EPOCHS = "Maximum number of epochs; each updates all weights once."


def _period(text: str) -> tuple[str, Any]:
    """Return column and period of an option such as hour=24."""
    column, _, period = text.rpartition("=")
    if not column:
        raise typer.BadParameter(f"--cyclic {text} must be COLUMN=PERIOD, such as hour=24")
    try:
        return column, float(period)
    except ValueError:
        return column, period


@dataclass(kw_only=True)
class Job:
    """Options that `fit` and `tune` share: table, model, and file to save it to."""

    data: Data
    target: Target
    out: Annotated[Path, option("FILE", "File to save the model to.", "--out")] = Path("model.qtkm")
    task: Annotated[Task, option("TASK", TASK)] = Task.auto
    drop: Drop = NO_COLUMNS
    category: Category = NO_COLUMNS
    weight: Annotated[str | None, option("COLUMN", "Column of sample weights.")] = None
    offset: Offset = None
    test_size: Annotated[float, option("SHARE", TEST_SIZE, min=0.0, max=0.9)] = 0.2
    basis: Annotated[str, option("NAME", BASIS)] = "fourier"
    network: Annotated[str, option("NAME", NETWORK)] = "cpd"
    solver: Annotated[str, option("NAME", SOLVER)] = "als"
    loss: Annotated[str | None, option("NAME", LOSS)] = None
    penalty: Annotated[str, option("NAME", PENALTY)] = "matern"
    cyclic: Annotated[list[str], option("COLUMN=PERIOD", CYCLIC)] = NO_COLUMNS
    max_iter: Annotated[int, option("N", EPOCHS, min=1)] = 200
    random_state: Annotated[int, option("SEED", SEED, min=0)] = 0
    n_jobs: Annotated[int | None, option("N", "Number of threads; default: one per core.")] = None
    as_json: Json = False
    quiet: Quiet = False
    #: whether progress is shown
    shown: bool = field(init=False)

    def __post_init__(self) -> None:
        self.shown = is_watched(self.quiet)

    @property
    def needed(self) -> list[str]:
        """Columns other than features: target, weight and offset."""
        return [name for name in (self.target, self.weight, self.offset) if name is not None]

    def parameters(self, *more: str) -> dict[str, Any]:
        """Return those parameters of the estimator that are not None, and `more` of them."""
        names = ("basis", "network", "solver", "loss", "penalty", "max_iter", "random_state",
                 "n_jobs", *more)  # fmt: skip
        given = {name: getattr(self, name) for name in names}
        given |= {"cyclic": dict(map(_period, self.cyclic)) or None, "verbose": int(self.shown)}
        return {name: value for name, value in given.items() if value is not None}


def unbroken(command: Callable[..., None]) -> Callable[..., None]:
    """Join the lines of each paragraph of a command's help, which Typer does not reflow."""
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    command.__doc__ = "\n\n".join(" ".join(text.split()) for text in paragraphs)
    return command


def takes(group: type) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command the fields of a dataclass as options."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            command(group(**given))

        run.__signature__ = signature = inspect.signature(group)  # type: ignore[attr-defined]
        run.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
        return run

    return decorate
