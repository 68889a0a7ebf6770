"""Typer application: commands, version, and errors as messages and exit codes."""

import logging
import os
import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from ..escaping import visible
from . import fit, models, reproduce
from .options import CLOSED, FAILED, INTERRUPTED, TableError, flag, unbroken


class Commands(TyperGroup):
    """Typer group that turns errors, Ctrl-C and closed pipes into messages and exit codes."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # otherwise Python reports the closed pipe again at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(CLOSED) from None
        except (KeyboardInterrupt, Exception) as error:
            # inside a compiled call, Ctrl-C is the cause of another error
            if KeyboardInterrupt in (type(error), type(error.__cause__)):
                typer.echo("qtkm: interrupted", err=True)
                raise typer.Exit(INTERRUPTED) from None
            if hasattr(error, "exit_code") or ctx.params["debug"]:  # the former are typer's
                raise
            typer.echo(f"qtkm: {visible(_sentence(error), keep=chr(10))}", err=True)
            raise typer.Exit(FAILED) from None


#: what errors of the library name, in the words of the command line
WORDS = {
    "memory_limit=": "--memory-limit ",
    "use QTKMClassifier": "use --task classification",
    "declare the column with categorical_features": "use --category",
}

app = typer.Typer(
    name="qtkm",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
commands: list[Any] = [fit.fit, fit.tune, models.predict, models.evaluate, models.inspect]
commands += [models.report, models.export, models.compare, reproduce.demo, reproduce.reproduce]
for command in commands:
    app.command(no_args_is_help=command is reproduce.reproduce)(unbroken(command))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"qtkm {__version__}")
        raise typer.Exit


@app.callback()
@unbroken
def options(
    version: Annotated[
        bool, flag("Show the version.", "--version", callback=_show_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, flag("Show tracebacks of errors.", "--debug")] = False,
) -> None:
    """Fit models to tables and predict: quantized tensor-network kernel machines.

    Example: qtkm fit flights.parquet --target delay --out model.qtkm

    Example: qtkm predict model.qtkm new.csv --out predicted.csv

    Exit codes: 0 success, 1 failure (with a message), 2 invalid command line, 130 Ctrl-C (a fit
    saves its best model so far), 141 closed pipe.
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command given by `arguments`, by default those of the process, and exit."""
    logger, handler, said = logging.getLogger("qtkm"), _Remarks(), set[str]()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = visible(_in_one_line(message))
        if text not in said:
            typer.echo(f"qtkm: {text}", err=True)
        said.add(text)

    logger.addHandler(handler)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show
            app(arguments, prog_name="qtkm")
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)


class _Remarks(logging.Handler):
    """Logging handler that writes to standard error without breaking progress bars."""

    def emit(self, record: logging.LogRecord) -> None:
        from tqdm.auto import tqdm

        tqdm.write(visible(record.getMessage(), keep="\n"), file=sys.stderr)


def _in_one_line(message: Any) -> str:
    text = " ".join(str(message).split())
    for python, shell in WORDS.items():
        text = text.replace(python, shell)
    return text


def _sentence(error: Any) -> str:
    if isinstance(error, TableError):
        return str(error)  # one line for each problem
    text = _in_one_line(error)
    if not isinstance(error, ImportError | OSError | ValueError | MemoryError | UserWarning):
        return f"unexpected error: {type(error).__name__}: {text}; --debug shows the traceback"
    if isinstance(error, FileNotFoundError) and error.filename:
        return f"{error.filename} does not exist"  # as for tables
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return text or type(error).__name__
