"""Run the Python snippets and the commands of all pages when the site is built.

The snippets of a page share their names and run in a folder of their own, in order. One that
fails or warns stops the build; one that needs a package that is not installed ends the page's
run. On pages that `executed_pages` names, what a snippet prints and draws stands below it.
"""

import io
import re
import shlex
import warnings
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import matplotlib
import matplotlib.pyplot as plt
from sphinx.errors import ExtensionError
from sphinx.util import logging

from qtkm.cli import main

SNIPPET = re.compile(r"^```(python|shell)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
#: where figures go, from the documentation's folder
FOLDER = "_build/executed"
logger = logging.getLogger(__name__)


def run(language, code, scope, page):
    """Run a snippet; return what it prints and the figures it leaves open."""
    printed, remarks = io.StringIO(), io.StringIO()
    with (
        redirect_stdout(printed),
        redirect_stderr(remarks),
        patch.object(plt, "show"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("error")
        try:
            if language == "python":
                exec(compile(code, page, "exec"), scope)
            else:
                run_commands(code)
        except ModuleNotFoundError:
            raise
        except Exception as error:
            told = f"{page}: a snippet fails: {error!r}\n{code}{remarks.getvalue()}"
            raise ExtensionError(told) from error
    return printed.getvalue(), [plt.figure(number) for number in plt.get_fignums()]


def run_commands(lines):
    """Run lines that call `qtkm`, in this process."""
    for line in lines.splitlines():
        name, *words = shlex.split(line)
        if name != "qtkm":
            raise ValueError(f"{line!r} is not a call of qtkm")
        try:
            main(words)
        except SystemExit as end:
            if end.code:
                raise RuntimeError(f"{line!r} ends with status {end.code}") from end


def save(figures, root, name):
    """Save some figures below the documentation's folder; Markdown that shows them."""
    lines = []
    for figure in figures:
        path = Path(FOLDER) / f"{name}-{figure.number}.png"
        figure.savefig(root / path, dpi=110, bbox_inches="tight")
        titles = [ax.get_title() for ax in figure.axes if ax.get_title()]
        lines.append(f"![{', '.join(titles) or 'What the code above draws'}](/{path.as_posix()})")
        plt.close(figure)
    return "\n\n".join(lines)


def insert_output(app, docname, source):
    """Run the snippets of a page; put what they print and draw below each of them."""
    matplotlib.use("agg")
    plt.close("all")
    root = Path(app.srcdir)
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    shown = docname in app.config.executed_pages
    scope, text, end = {"__name__": "page"}, "", 0
    with TemporaryDirectory() as place, chdir(place):
        for count, snippet in enumerate(SNIPPET.finditer(source[0])):
            try:
                printed, figures = run(*snippet.groups(), scope, docname)
            except ModuleNotFoundError as missing:
                logger.info(f"{docname}: {missing.name} is not installed; no output from here on")
                break
            text += source[0][end : snippet.end()]
            end = snippet.end()
            if printed and shown:
                text += f"\n```{{code-block}} text\n:class: output\n\n{printed.rstrip()}\n```\n"
            if figures and shown:
                name = f"{docname.replace('/', '-')}-{count}"
                text += f"\n{save(figures, root, name)}\n"
            plt.close("all")
    source[0] = text + source[0][end:]


def setup(app):
    """Come before the pages are parsed."""
    app.add_config_value("executed_pages", [], "env", [list])
    app.connect("source-read", insert_output)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
