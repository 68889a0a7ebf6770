"""``qtkm fit`` and ``tune``: their options, which `qtkm.cli.training` works through."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import Job, option, takes

#: most scores to suggest for a mistyped one
MOST_SCORES = 4


def _checked_limit(text: str | None) -> str | None:
    from ..estimators.memory import parse_limit

    try:
        parse_limit(text)
    except ValueError:
        said = f"{text!r} must be an amount such as 500MB, 2GB or 1.5GiB"
        raise typer.BadParameter(said) from None
    return text


def _listed(kind: type, what: str) -> Callable[[str | None], Any]:
    """Return a function from a list such as 5,10,20 to its values."""

    def read(text: str | None) -> Any:
        try:
            return None if text is None else [kind(part) for part in text.split(",")]
        except ValueError:
            raise typer.BadParameter(f"{text!r} must be {what}, such as 5,10,20") from None

    return read


def _folds(text: str | None) -> Any:
    if text is None or text == "hold-out":
        return text
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    raise typer.BadParameter(f"{text!r} must be a number of folds, a fraction, or hold-out")


def _known_score(name: str | None) -> str | None:
    if name is None:
        return None
    from difflib import get_close_matches

    from sklearn.metrics import get_scorer_names

    known = get_scorer_names()
    if name in known:
        return name
    near = " or ".join(get_close_matches(name, known, MOST_SCORES, cutoff=0.5))
    raise typer.BadParameter(
        f"{name!r} is not a score of scikit-learn; {f'did you mean {near}? ' * bool(near)}"
        "sklearn.metrics.get_scorer_names() lists them all"
    )


@dataclass(kw_only=True)
class FitJob(Job):
    """Options of `fit`."""

    # fmt: off
    rank: Annotated[int | None, option("R",
        "Rank of the tensor network; larger ranks learn finer detail and fit more slowly. Default: "
        "chosen on held-out rows.", min=1)] = None
    n_basis: Annotated[int | None, option("M",
        "Number of basis functions per numeric column; default: 27.", min=1)] = None
    period: Annotated[float | None, option("L",
        "Period of the Fourier basis, in units of the column's range, at least 1; longer is "
        "smoother. Default: 2.")] = None
    alpha: Annotated[float | None, option("A",
        "Penalty on large weights, as in ridge regression; default: chosen on held-out rows.",
        min=0.0)] = None
    checkpoint: Annotated[str | None, option("DIR",
        "Folder for checkpoints; the same command resumes from there.")] = None
    memory_limit: Annotated[str | None, option("SIZE",
        "Memory for the fit, such as 2GB, in addition to about 250 MB for the program; rows that "
        "do not fit are kept on disk.", callback=_checked_limit)] = None
    cache: Annotated[Path | None, option("DIR",
        "Folder for prepared rows, so that the next fit to the same files starts faster.")] = None
    # fmt: on


@takes(FitJob)
def fit(job: FitJob) -> None:
    """Fit a model to a table and save it.

    Text columns are categories. Numbers may be missing; dates and booleans are read as numbers.

    Rows without a target are skipped. A fifth of the rows is held out and scored.

    Tables of any length are read block by block.

    Ctrl-C stops the fit and saves the best model so far.

    Example: qtkm fit flights.parquet --target delay --rank 20 --out model.qtkm

    Example: qtkm fit adult.csv --target income --drop id --category zip -q

    Example: qtkm fit "years/*.parquet" --target delay --memory-limit 2GB
    """
    from .training import run_fit

    run_fit(job)


@dataclass(kw_only=True)
class TuneJob(Job):
    """Options of `tune`."""

    # fmt: off
    ranks: Annotated[str | None, option("R,…",
        "Ranks to try, separated by commas. Default of this and the next three: chosen by each "
        "fit; without any of them, variations of the defaults are tried.",
        callback=_listed(int, "integers"))] = None
    n_basis: Annotated[str | None, option("M,…",
        "Numbers of basis functions per numeric column.", callback=_listed(int, "integers"))] = None
    periods: Annotated[str | None, option("L,…", "Periods of the Fourier basis.",
        callback=_listed(float, "numbers"))] = None
    alphas: Annotated[str | None, option("A,…", "Penalties on large weights.",
        callback=_listed(float, "numbers"))] = None
    cv: Annotated[str | None, option("FOLDS",
        "Number of folds, or a fraction of rows to hold out, or hold-out for a fifth. Default: 3 "
        "folds, or hold-out for tables with more rows than --sample-rows.",
        callback=_folds)] = None
    scoring: Annotated[str | None, option("NAME",
        "Score to maximize, by its name in scikit-learn, such as neg_mean_absolute_error; "
        "default: R² or accuracy.", callback=_known_score)] = None
    sample_rows: Annotated[int | None, option("N",
        "Number of rows of the search; default: 50,000, or 20,000 of a larger table without "
        "lists.", min=2)] = None
    max_rows: Annotated[int | None, option("N",
        "Maximum number of rows, drawn at random, to read for the search; the final model is "
        "fitted to all rows. Default: 1,000,000, or as many as fit in memory.", min=2)] = None
    table: Annotated[Path | None, option("FILE",
        "CSV or Parquet file for the results of all candidates.")] = None
    plot: Annotated[Path | None, option("FILE", "PNG or PDF file for a plot of them.")] = None
    # fmt: on


@takes(TuneJob)
def tune(job: TuneJob) -> None:
    """Choose the parameters of a model by cross-validation, fit it and save it.

    Reads tables and holds out test rows as `qtkm fit` does.

    Tries all candidates briefly and fits only the best to convergence.

    Ctrl-C stops the search and saves a model with the best parameters so far.

    Example: qtkm tune flights.parquet --target delay --out model.qtkm

    Example: qtkm tune wine.csv --target quality --ranks 5,10,20 --cv 5 --plot tried.png
    """
    from .training import run_tune

    run_tune(job)
