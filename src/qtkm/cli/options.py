"""Options that several commands share, and dataclasses that commands take as options."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

TASKS = ("auto", "regression", "classification")


def _known_task(task: str) -> str:
    if task not in TASKS:
        raise typer.BadParameter(f"{task!r} is not one of {', '.join(TASKS)}")
    return task


Data = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA",
        help="CSV or Parquet: one file or several, a folder of files, or a pattern such as "
        '"data/*.parquet".',
    ),
]
Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="Model file, from `qtkm fit` or `qtkm tune`.")
]
Target = Annotated[str, typer.Option("--target", metavar="COLUMN", help="Column to predict.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print neither progress nor results nor remarks.")
]
Json = Annotated[bool, typer.Option("--json", help="Results as JSON, also with --quiet.")]


Offset = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that is added to the response, for counts the logarithm of the exposure.",
    ),
]


@dataclass(kw_only=True)
class Job:
    """Which table to learn from, what to predict, and where the model goes.

    Attributes
    ----------
    data : list of pathlib.Path
        Files, folders and patterns.
    target : str
    out : pathlib.Path
    task : {"auto", "regression", "classification"}
    drop, category : list of str
        Columns to leave out, and to take for categories beside those of text.
    weight, offset : str or None
    test_size : float
        Share of rows to test on.
    """

    data: Data
    target: Target
    out: Annotated[
        Path, typer.Option("--out", metavar="FILE", help="File to save the model to.")
    ] = Path("model.qtkm")
    task: Annotated[
        str,
        typer.Option(
            metavar="TASK",
            callback=_known_task,
            help="regression, classification, or auto: text, and whole numbers of only two values, "
            "are classes; all else is numbers to be predicted.",
        ),
    ] = "auto"
    drop: Annotated[
        list[str],
        typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated."),
    ] = field(default_factory=list)
    category: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMN",
            help="Column of numbers that stand for categories, such as codes; may be repeated.",
        ),
    ] = field(default_factory=list)
    weight: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of weights of the rows.")
    ] = None
    offset: Offset = None
    test_size: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.9,
            metavar="SHARE",
            help="Share of the rows that is not trained on but scored; 0 trains on all rows.",
        ),
    ] = 0.2


@dataclass(kw_only=True)
class ModelOptions:
    """What model is fitted, and how; the attributes are parameters of the estimators."""

    basis: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Functions of a numeric column: fourier (waves) or power (polynomials).",
        ),
    ] = "fourier"
    network: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Tensor network that holds the weights: cpd, train, ring, tucker, …; cpd is the "
            "fastest.",
        ),
    ] = "cpd"
    solver: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Method of the fit: als (alternating least squares), lbfgs, adam, …",
        ),
    ] = "als"
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="For numbers: squared (the default), huber, quantile, poisson, gamma or tweedie; "
            "for classes: logistic (the default), squared_hinge, hinge or squared.",
        ),
    ] = None
    penalty: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Prior of the weights: matern or rbf (rough functions cost more), or ridge, which "
            "with everything else left out is the model of the paper.",
        ),
    ] = "matern"
    cyclic: Annotated[
        list[str],
        typer.Option(
            metavar="COLUMN=PERIOD",
            help="Column that begins anew after a period: hour=24, and for times day, week or "
            "year, such as departure=week; may be repeated.",
        ),
    ] = field(default_factory=list)
    max_iter: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Most epochs; each updates all weights once."),
    ] = 200
    random_state: Annotated[
        int,
        typer.Option(min=0, metavar="SEED", help="Seed of all that is random: test rows, start."),
    ] = 0
    n_jobs: Annotated[
        int | None,
        typer.Option(metavar="N", help="Threads to use; default: one for each processor core."),
    ] = None

    def parameters(self, **more: Any) -> dict[str, Any]:
        """Parameters of the estimator, with more of them; those that are None are its defaults."""
        own = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        own["cyclic"] = dict(map(_period, self.cyclic)) or None
        return {name: value for name, value in (own | more).items() if value is not None}


def _period(text: str) -> tuple[str, Any]:
    """Column and period of an option such as hour=24."""
    column, _, period = text.rpartition("=")
    if not column:
        raise typer.BadParameter(f"--cyclic {text} must be COLUMN=PERIOD, such as hour=24")
    try:
        return column, float(period)
    except ValueError:
        return column, period


def flattened(command: Callable[..., None]) -> Callable[..., None]:
    """Command in whose options stand the fields of the dataclasses that it takes.

    Parameters
    ----------
    command : callable
        With annotated parameters, some of which are dataclasses of annotated fields.

    Returns
    -------
    callable
        The same with one keyword for each field, as typer reads it.
    """
    groups: dict[str, Any] = {}
    flat: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        if is_dataclass(parameter.annotation):
            groups[parameter.name] = parameter.annotation
            flat += [_as_parameter(entry) for entry in fields(parameter.annotation)]
        else:
            flat.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @wraps(command)
    def run(**given: Any) -> None:
        for name, group in groups.items():
            given[name] = group(**{entry.name: given.pop(entry.name) for entry in fields(group)})
        command(**given)

    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return run


def _as_parameter(entry: Any) -> inspect.Parameter:
    default = entry.default
    if entry.default_factory is not MISSING:
        default = entry.default_factory()
    return inspect.Parameter(
        entry.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if default is MISSING else default,
        annotation=entry.type,
    )
