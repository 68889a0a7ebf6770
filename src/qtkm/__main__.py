"""The command line: ``python -m qtkm demo``."""

import argparse
from pathlib import Path

from . import __version__

FEWEST_ROWS = 300


def make_parser() -> argparse.ArgumentParser:
    """Describe the commands and their options."""
    parser = argparse.ArgumentParser(
        prog="qtkm", description="Quantized tensor-network kernel machines."
    )
    parser.add_argument("--version", action="version", version=f"qtkm {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo",
        help="predict the delay of flights from New York, beside a linear model and boosting",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    demo.add_argument(
        "--output", type=Path, default=Path("qtkm-demo"), metavar="DIR", help="folder for the plot"
    )
    demo.add_argument("--rows", type=_rows, metavar="N", help="use N flights instead of all")
    demo.add_argument("--seed", type=int, default=0, metavar="S", help="seed of split and models")
    return parser


def _rows(text: str) -> int:
    if not text.isdecimal() or int(text) < FEWEST_ROWS:
        raise argparse.ArgumentTypeError(
            f"{text!r} given; expected a whole number of at least {FEWEST_ROWS}"
        )
    return int(text)


def main(arguments: list[str] | None = None) -> None:
    """Run the command that the arguments name.

    Parameters
    ----------
    arguments : list of str, optional
        Instead of those of the process.
    """
    parser = make_parser()
    options = parser.parse_args(arguments)
    # Imported here: `--help` and mistyped options should answer at once.
    from .experiments import nyc_flights

    try:
        nyc_flights.run(options.output, options.rows, options.seed)
    except (FileNotFoundError, ModuleNotFoundError) as error:
        parser.exit(1, f"qtkm demo: {error}\n")


if __name__ == "__main__":
    main()
