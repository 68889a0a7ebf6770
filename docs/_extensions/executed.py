"""Pages whose Python snippets run when the site is built, with what they print and draw below.

The snippets of a page share their names and run in a folder of their own, in order. One that
fails stops the build; one that needs a package that is not installed ends the page's run, and it
and those after it are shown without output.
"""

import io
import re
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import matplotlib
import matplotlib.pyplot as plt
from sphinx.errors import ExtensionError
from sphinx.util import logging

SNIPPET = re.compile(r"^```python\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
#: where figures go, from the documentation's folder
FOLDER = "_build/executed"
logger = logging.getLogger(__name__)


def run(code, scope, page):
    """What a snippet prints, and the figures that it leaves open."""
    printed = io.StringIO()
    with redirect_stdout(printed), patch.object(plt, "show"):
        try:
            exec(compile(code, page, "exec"), scope)
        except ModuleNotFoundError:
            raise
        except Exception as error:
            raise ExtensionError(f"{page}: a snippet fails: {error!r}\n{code}") from error
    return printed.getvalue(), [plt.figure(number) for number in plt.get_fignums()]


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
    """Put what the snippets of a page print and draw below each of them."""
    if docname not in app.config.executed_pages:
        return
    matplotlib.use("agg")
    plt.close("all")
    root = Path(app.srcdir)
    (root / FOLDER).mkdir(parents=True, exist_ok=True)
    scope, text, end = {"__name__": "page"}, "", 0
    with TemporaryDirectory() as place, chdir(place):
        for count, snippet in enumerate(SNIPPET.finditer(source[0])):
            try:
                printed, figures = run(snippet[1], scope, docname)
            except ModuleNotFoundError as missing:
                logger.info(f"{docname}: {missing.name} is not installed; no output from here on")
                break
            text += source[0][end : snippet.end()]
            end = snippet.end()
            if printed:
                text += f"\n```{{code-block}} text\n:class: output\n\n{printed.rstrip()}\n```\n"
            if figures:
                name = f"{docname.replace('/', '-')}-{count}"
                text += f"\n{save(figures, root, name)}\n"
    source[0] = text + source[0][end:]


def setup(app):
    """Come before the pages are parsed."""
    app.add_config_value("executed_pages", [], "env", [list])
    app.connect("source-read", insert_output)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
