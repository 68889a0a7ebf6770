"""``qtkm reproduce`` and ``qtkm demo``: the experiments of the paper, and the library at work."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(
    help="Run the paper's experiments and write raw results, figures and a page for each.",
    no_args_is_help=True,
)

Output = Annotated[
    Path,
    typer.Option(
        metavar="DIR", help="Folder for results; a run that was stopped continues from there."
    ),
]
Quick = Annotated[
    bool,
    typer.Option("--quick", help="A small run of about a minute on two cores, as a check."),
]
DataHome = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Folder of the data files; default: the variable QTKM_DATA_HOME."
    ),
]
Jobs = Annotated[
    int, typer.Option("--n-jobs", metavar="N", help="Cores to use; -1 means all of them.")
]
Splits = Annotated[
    int | None, typer.Option(min=1, metavar="S", help="Number of random splits of the rows.")
]
OUTPUT = Path("qtkm-results")
#: fewest rows of the demo
FEWEST_ROWS = 300


def _run(
    name: str,
    output: Path,
    quick: bool,
    data_home: Path | None,
    n_jobs: int,
    splits: int | None = None,
) -> None:
    """Run one experiment, and print the path of its page."""
    from ..experiments.runs import Options

    if n_jobs == 0:
        raise typer.BadParameter("0 given; expected a number of cores, or -1 for all", None)
    more = {} if splits is None else {"splits": splits}
    words = ["qtkm", "reproduce", name, *(["--quick"] if quick else [])]
    words += [f"--{key}={value}" for key, value in more.items()]
    options = Options(
        output=output,
        quick=quick,
        data_home=None if data_home is None else str(data_home),
        n_jobs=n_jobs,
        command=tuple(words),
    )
    try:
        page = import_module(f"..experiments.{name}", __package__).run(options, **more)
    except KeyboardInterrupt:
        typer.echo(
            f"\nStopped. Finished fits are in {output}; the same command continues from there.",
            err=True,
        )
        raise
    typer.echo(f"{page}")


@app.command()
def generalization(
    output: Output = OUTPUT,
    quick: Quick = False,
    data_home: DataHome = None,
    n_jobs: Jobs = -1,
    splits: Splits = None,
) -> None:
    """Test and training error against the number of parameters on eight sets (Figures 2 and 4).

    Example: qtkm reproduce generalization --quick
    """
    _run("generalization", output, quick, data_home, n_jobs, splits)


@app.command()
def sound(
    output: Output = OUTPUT, quick: Quick = False, data_home: DataHome = None, n_jobs: Jobs = -1
) -> None:
    """Spectrum of a sound with gaps from few parameters (Figure 3, Table 2).

    Example: qtkm reproduce sound --output results
    """
    _run("sound", output, quick, data_home, n_jobs)


@app.command()
def airline(
    output: Output = OUTPUT,
    quick: Quick = False,
    data_home: DataHome = None,
    n_jobs: Jobs = -1,
    splits: Splits = None,
) -> None:
    """Delays of flights, beside what else one would use (Table 1).

    Example: qtkm reproduce airline --splits 3
    """
    _run("airline", output, quick, data_home, n_jobs, splits)


@app.command("all")
def every(
    output: Output = OUTPUT, quick: Quick = False, data_home: DataHome = None, n_jobs: Jobs = -1
) -> None:
    """All three, one after the other; one whose data are missing is left out, with a message.

    Example: qtkm reproduce all --quick
    """
    missing = 0
    for name in ("generalization", "sound", "airline"):
        try:
            _run(name, output, quick, data_home, n_jobs)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            missing += 1
            typer.echo(f"{name} left out: {error}", err=True)
    if missing:
        sys.exit(1)


def _enough(rows: int | None) -> int | None:
    if rows is not None and rows < FEWEST_ROWS:
        raise typer.BadParameter(f"{rows} given; expected a number of at least {FEWEST_ROWS}")
    return rows


def demo(
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the plot.")] = Path(
        "qtkm-demo"
    ),
    rows: Annotated[
        int | None,
        typer.Option(
            callback=_enough,
            metavar="N",
            help="Use N flights, drawn at random, instead of all of them.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Seed of all that is random.")] = 0,
) -> None:
    """Predict the delay of flights from New York, beside a linear model and boosting.

    All flights take about a minute on two cores; the very first run compiles before that.

    Example: qtkm demo --rows 20000
    """
    from ..experiments import nyc_flights
    from .output import check_writable

    # before the fits, which take minutes
    check_writable(output / nyc_flights.PLOT_FILE, makes_folder=True)
    nyc_flights.run(output, rows, seed)
