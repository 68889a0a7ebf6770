"""Pages and figures of an experiment: Markdown tables, the machine, files."""

import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from string import Formatter
from typing import Any

import numpy as np
from joblib import cpu_count

from .. import __version__
from .runs import Options, replace_text

#: colours of the paper's figures
COLOURS = {"RFF": "#0072BD", "TKM": "#D62728", "QTKM": "#EDB120", "KRR": "0.45"}
PAPER = "Wesel and Batselier, AISTATS 2024"


def table(headers: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Lay out a Markdown table of formatted entries; the first column is text."""
    lines = [" | ".join(map(str, line)) for line in (headers, *rows)]
    ruler = "|---|" + "---:|" * (len(headers) - 1)
    return "\n".join([f"| {lines[0]} |", ruler, *(f"| {line} |" for line in lines[1:])])


def origin(command: str, seconds: float, page: Path | None = None) -> str:
    """Say which command made the fits of a page, when, on what machine, and what they took.

    `page` is the page as it stands, if no fit was made since: command, date and machine are kept.
    """
    machine = f"{cpu_count()} cores"
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        gib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
        machine += f", {gib:.0f} GiB"
    text = (
        f"Made by `{command}` on {date.today().isoformat()} with qtkm {__version__}, "
        f"NumPy {np.__version__} and Python {platform.python_version()} on {machine}"
    )
    if page is not None and page.exists():
        said = re.search(r"^Made by .*(?=; the fits took )", page.read_text("utf-8"), re.MULTILINE)
        text = said[0] if said else text
    return f"{text}; the fits took {duration(seconds)}."


def duration(seconds: float) -> str:
    """Format seconds with their unit."""
    if seconds < 100:
        return f"{seconds:.3g} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 100 else f"{minutes / 60:.1f} h"


def spread(values: Iterable[float], digits: int = 4) -> str:
    """Format mean ± standard deviation."""
    array = np.asarray(list(values), dtype=float)
    deviation = array.std(ddof=1) if array.size > 1 else 0.0
    return f"{array.mean():.{digits}f} ± {deviation:.{digits}f}"


def try_to_draw(draw: Callable[[], dict[str, str]]) -> dict[str, str]:
    """Return the file names that `draw` gives; print a line if matplotlib is missing."""
    try:
        return draw()
    except ModuleNotFoundError as missing:
        package = (missing.name or "").partition(".")[0]
        print(f'no figures: {package} is not installed; try: pip install "qtkm[plot]"')
        return {}


def new_figure(width: float, height: float) -> Any:
    """Return a matplotlib Figure, which needs no display and leaves pyplot's state alone."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def label_decades(axis: Any, form: str) -> Any:
    """Label a logarithmic axis with plain numbers at 1, 2 and 5 of every decade."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    locator = LogLocator(subs=(1, 2, 5))
    axis.set_major_locator(locator)
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(StrMethodFormatter(form))
    return locator


def open_frame(axes: Any) -> None:
    """Hide the upper and the right side of a panel."""
    axes.spines[["top", "right"]].set_visible(False)


def save_figure(figure: Any, path: Path) -> str:
    """Write a figure as PNG and PDF, and return the name of the former."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path.with_suffix(".png"), dpi=150)
    # without the date of the run, so that the same numbers give the same files
    figure.savefig(path.with_suffix(".pdf"), dpi=150, metadata={"CreationDate": None})
    return path.with_suffix(".png").name


def write_page(
    options: Options, name: str, seconds: float, has_new: bool, quick: str, values: dict[str, Any]
) -> Path:
    """Write the page of an experiment from the template of that name in the folder ``pages``.

    `seconds` is the time of all fits, `has_new` says whether any was made since the page was
    written last, `quick` what a quick run leaves out. `values` are what the template's fields
    stand for: a paragraph with a field that is None is left out, and so is one with a field
    ``{if_name}`` if ``name`` is None or missing.
    """
    path = options.output / f"{name}.md"
    note = (
        f"**A quick run**: {quick}. It shows that everything works; its numbers are not to be "
        "compared with the paper's."
    )
    made = origin(options.command_line, seconds, None if has_new else path)
    values = {"made": made, "quick": note if options.quick else None, **values}
    parts = []
    template = Path(__file__).parent.joinpath("pages", f"{name}.md").read_text(encoding="utf-8")
    for paragraph in template.strip().split("\n\n"):
        fields = [
            re.split(r"[.\[]", field)[0] for _, field, _, _ in Formatter().parse(paragraph) if field
        ]
        if all(values.get(field.removeprefix("if_")) is not None for field in fields):
            empty = {field: "" for field in fields if field.startswith("if_")}
            parts.append(paragraph.format(**values | empty))
    replace_text(path, "\n\n".join(parts) + "\n")
    return path
