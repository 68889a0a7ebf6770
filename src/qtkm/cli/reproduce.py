"""``qtkm reproduce`` and ``qtkm demo``: the paper's experiments, and an example."""

import shlex
from enum import StrEnum
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from .options import FAILED, flag, option
from .output import check_writable

#: minimum number of rows of the demo
FEWEST_ROWS = 300
Experiment = StrEnum("Experiment", ["generalization", "sound", "airline", "all"])


def reproduce(
    experiment: Annotated[Experiment, typer.Argument(
        metavar="EXPERIMENT", help="generalization, sound, airline or all.")],
    output: Annotated[Path, option("DIR",
        "Folder for results; a stopped run resumes from there.")] = Path("qtkm-results"),
    quick: Annotated[bool, flag(
        "Small run as a check, about a minute on two cores.", "--quick")] = False,
    data_home: Annotated[str | None, option("DIR",
        "Folder of the data files; default: the variable QTKM_DATA_HOME.")] = None,
    n_jobs: Annotated[int, option("N", "Number of cores; -1 means all.")] = -1,
    splits: Annotated[int | None, option("S",
        "Number of random splits of the rows, for generalization and airline.", min=1)] = None,
) -> None:  # fmt: skip
    """Run the paper's experiments; write raw results, figures and a page for each.

    generalization: test and training error by number of parameters on eight datasets (Figures 2
    and 4).

    sound: spectrum of a sound with gaps, learned with few parameters (Figure 3, Table 2).

    airline: flight delays, beside common alternatives (Table 1).

    all: all three; skips, with a message, one whose data are missing.

    Example: qtkm reproduce generalization --quick

    Example: qtkm reproduce airline --splits 3

    Example: qtkm reproduce all --output results
    """
    from ..experiments.runs import Options

    if n_jobs == 0:
        raise typer.BadParameter("--n-jobs 0 must be a number of cores, or -1 for all")
    if splits is not None and experiment in (Experiment.sound, Experiment.all):
        raise typer.BadParameter(f"--splits is not for {experiment}; remove it")
    more = {} if splits is None else {"splits": splits}
    is_whole, n_missing = experiment == Experiment.all, 0
    for name in [*Experiment][:-1] if is_whole else [experiment]:
        words = ["qtkm", "reproduce", name, *["--quick"] * quick]
        words += [f"--{key}={value}" for key, value in more.items()]
        options = Options(output, quick, data_home, n_jobs, command=shlex.join(words))
        try:
            page = import_module(f"..experiments.{name}", __package__).run(options, **more)
            typer.echo(f"{page}")
        except KeyboardInterrupt:
            where = f"Finished fits are in {output}"
            typer.echo(f"\nStopped. {where}; the same command resumes from there.", err=True)
            raise
        except (FileNotFoundError, ModuleNotFoundError) as error:
            if not is_whole:
                raise
            n_missing += 1
            typer.echo(f"{name} skipped: {error}", err=True)
    if n_missing:
        raise typer.Exit(FAILED)


def demo(
    output: Annotated[Path, option("DIR", "Folder for the plot.")] = Path("qtkm-demo"),
    rows: Annotated[
        int | None,
        option("N", "Use N flights, drawn at random, instead of all.", min=FEWEST_ROWS),
    ] = None,
    seed: Annotated[int, option("S", "Seed for test rows and initialization.")] = 0,
) -> None:
    """Predict the delay of flights from New York, beside a linear model and boosting.

    All flights take about a minute on two cores; the first run also compiles.

    Example: qtkm demo --rows 20000
    """
    from ..experiments import nyc_flights

    # before the fits, which take minutes
    check_writable(output / f"{nyc_flights.PLOT}.png", makes_folder=True)
    nyc_flights.run(output, rows, seed)
