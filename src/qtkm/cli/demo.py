"""``qtkm demo``: the library at work on data that come with an installed package."""

from pathlib import Path
from typing import Annotated

import typer

FEWEST_ROWS = 300


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
    from .tables import check_writable

    # before the fits, which take minutes
    check_writable(output / nyc_flights.PLOT_FILE, makes_folder=True)
    nyc_flights.run(output, rows, seed)
