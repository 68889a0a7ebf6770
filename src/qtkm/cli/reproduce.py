"""``qtkm reproduce`` and ``qtkm demo``: the paper's experiments, and an example."""

import shlex
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from .options import flattened, option

app = typer.Typer(
    help="Run the paper's experiments; write raw results, figures and a page for each.",
    no_args_is_help=True,
)
#: minimum number of rows of the demo
FEWEST_ROWS = 300

OUTPUT = "Folder for results; a stopped run resumes from there."
QUICK = "Small run as a check, about a minute on two cores."
DATA_HOME = "Folder of the data files; default: the variable QTKM_DATA_HOME."
Splits = Annotated[int | None, option("S", "Number of random splits of the rows.", min=1)]


@dataclass(kw_only=True)
class Settings:
    """Options of all experiments."""

    output: Annotated[Path, option("DIR", OUTPUT)] = Path("qtkm-results")
    quick: Annotated[bool, typer.Option("--quick", help=QUICK)] = False
    data_home: Annotated[Path | None, option("DIR", DATA_HOME)] = None
    n_jobs: Annotated[int, option("N", "Number of cores; -1 means all.")] = -1

    def run(self, name: str, **more: Any) -> None:
        """Run an experiment and print the path of its page."""
        from ..experiments.runs import Options

        if self.n_jobs == 0:
            raise typer.BadParameter("--n-jobs 0 must be a number of cores, or -1 for all", None)
        more = {key: value for key, value in more.items() if value is not None}
        words = ["qtkm", "reproduce", name, *(["--quick"] if self.quick else [])]
        words += [f"--{key}={value}" for key, value in more.items()]
        home = None if self.data_home is None else str(self.data_home)
        options = Options(self.output, self.quick, home, self.n_jobs, command=shlex.join(words))
        try:
            page = import_module(f"..experiments.{name}", __package__).run(options, **more)
        except KeyboardInterrupt:
            where = f"Finished fits are in {self.output}"
            typer.echo(f"\nStopped. {where}; the same command resumes from there.", err=True)
            raise
        typer.echo(f"{page}")


@app.command()
@flattened
def generalization(*, settings: Settings, splits: Splits = None) -> None:
    """Test and training error by number of parameters on eight datasets (Figures 2 and 4).

    Example: qtkm reproduce generalization --quick
    """
    settings.run("generalization", splits=splits)


@app.command()
@flattened
def sound(*, settings: Settings) -> None:
    """Spectrum of a sound with gaps, learned with few parameters (Figure 3, Table 2).

    Example: qtkm reproduce sound --output results
    """
    settings.run("sound")


@app.command()
@flattened
def airline(*, settings: Settings, splits: Splits = None) -> None:
    """Flight delays, beside common alternatives (Table 1).

    Example: qtkm reproduce airline --splits 3
    """
    settings.run("airline", splits=splits)


@app.command("all")
@flattened
def every(*, settings: Settings) -> None:
    """Run all three; skip, with a message, one whose data are missing.

    Example: qtkm reproduce all --quick
    """
    missing = 0
    for name in ("generalization", "sound", "airline"):
        try:
            settings.run(name)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            missing += 1
            typer.echo(f"{name} skipped: {error}", err=True)
    if missing:
        sys.exit(1)


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
    from .output import check_writable

    # before the fits, which take minutes
    check_writable(output / f"{nyc_flights.PLOT}.png", makes_folder=True)
    nyc_flights.run(output, rows, seed)
