"""Output of the commands: tables on standard output, remarks on standard error."""

import json
import logging
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..escaping import as_json, visible


def show(title: str, lines: Sequence[Sequence[str]], names: Sequence[str] | None = None) -> None:
    """Print lines as a table, with column names if given."""
    write(title)  # not the table's own, which would be folded to its width
    table = Table(show_header=False)
    if names is not None:
        table = Table(box=box.SIMPLE_HEAD, show_edge=False)
    for number, name in enumerate(names or ("", "")):
        side: Any = "right" if number and names is not None else "left"
        table.add_column(Text(visible(name)), justify=side, overflow="fold")
    for line in lines:
        table.add_row(*(Text(visible(cell)) for cell in line))
    console().print(table, *([] if names is None else [""]))


def write(text: str) -> None:
    """Print text; on a terminal, long lines are wrapped between words."""
    where = console()
    where.print(Text(visible(text, keep="\n")), soft_wrap=not where.is_terminal)


def write_json(facts: dict[str, Any]) -> None:
    """Print facts as one JSON object."""
    # JSON escapes all control characters but this one
    sys.stdout.write(json.dumps(as_json(facts), indent=1).replace("\x7f", "\\u007f") + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """Print a remark on standard error."""
    print(f"qtkm: {visible(text, keep=chr(10))}", file=sys.stderr)


def is_watched(quiet: bool) -> bool:
    """Choose which remarks of the library are shown, and return whether progress is."""
    from sklearn.exceptions import ConvergenceWarning

    logging.getLogger("qtkm").setLevel(logging.ERROR if quiet else logging.NOTSET)
    warnings.simplefilter("ignore" if quiet else "default", UserWarning)
    warnings.simplefilter("ignore", ConvergenceWarning)  # which a model's status contains
    warnings.filterwarnings("ignore", "The number of unique classes is greater", UserWarning)
    return not quiet and sys.stderr.isatty()


class _Console(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError  # handled in `qtkm.cli.app`


def console() -> Console:
    """Return a console on standard output that replaces characters it cannot encode."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")
    return _Console()


def check_writable(path: Path, makes_folder: bool = False) -> None:
    """Raise an OSError if a file cannot be written, before anything takes long.

    With `makes_folder`, missing folders are created.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it, such as {path / 'name'}")
    try:
        if makes_folder:
            path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        hint = "; create the folder first" * isinstance(error, FileNotFoundError)
        what = f"{path} cannot be written to {path.parent}: {error.strerror}{hint}"
        raise OSError(what) from None
