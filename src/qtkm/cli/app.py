"""The application: its commands, its version, and how errors become messages and exit codes."""

import os
import sys
from typing import Annotated, Any

import typer

from .. import __version__
from . import demo, fit, reproduce

#: exit codes: it cannot be done, it was interrupted; 2 is typer's for what was mistyped
FAILED, INTERRUPTED = 1, 130

app = typer.Typer(
    name="qtkm",
    help="Quantized tensor-network kernel machines.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (fit.fit, fit.predict, fit.evaluate, demo.demo):
    app.command()(command)
app.add_typer(reproduce.app, name="reproduce")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"qtkm {__version__}")
        raise typer.Exit


@app.callback()
def options(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks of errors.")] = False,
) -> None:
    """Quantized tensor-network kernel machines."""
    context.obj = {"debug": debug}


def main(arguments: list[str] | None = None) -> None:
    """Run the command that the arguments name, and leave with its exit code.

    Parameters
    ----------
    arguments : list of str, optional
        Instead of those of the process.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        app(words, prog_name="qtkm")
    except KeyboardInterrupt:
        _leave("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # whoever read the output has seen enough; Python would complain once more at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(FAILED)
    except (ImportError, OSError, ValueError, MemoryError) as error:
        if "--debug" in words:
            raise
        _leave(_sentence(error), FAILED)


def _sentence(error: Any) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return text or type(error).__name__


def _leave(message: str, code: int) -> None:
    typer.echo(f"qtkm: {message}", err=True)
    sys.exit(code)
