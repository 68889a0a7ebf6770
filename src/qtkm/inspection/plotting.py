"""Base class and helpers of all displays: axes, colours, ticks and labels."""

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..escaping import shorten
from ..extras import need
from .results import place
from .support import Range, shown_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: first and second colour, that of help lines, and the first one where there are few rows
FIRST, SECOND, FAINT, PALE = "#1b4f8a", "#e08a3c", "#b8b8b8", "#9db8d6"
#: labels longer than this are cut, and names that stand alone
LONGEST, LONGEST_WORDS = 28, 80
#: room that a letter takes along a line and a line down a page, in sizes of the font
LETTER, LINE = 0.6, 1.15


class Display:
    """Base class of displays, as in scikit-learn.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
        Both after `plot`.
    """

    ax_: "Axes"
    figure_: "Figure"
    #: inches of a figure of its own, and whether a frame is drawn on all sides of it
    figure_size, has_frame = (6.4, 4.2), False
    #: what else a reader must know, and whether `plot` writes it below the label of the x axis
    notes: Sequence[str] = ()
    writes_notes = True

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw on matplotlib Axes, by default those of a new figure, and return the display."""
        if ax is None:
            plt = need("matplotlib.pyplot", "displays are drawn", "plot")
            _, ax = plt.subplots(figsize=self.figure_size, layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        self.notes = self._draw(ax) or []
        separate_thousands(ax)
        if not self.has_frame:
            plain(ax)
        _use_fonts(ax)
        if self.notes and self.writes_notes:
            line = "; ".join(self.notes)
            below = line if LETTER * len(line) <= length(ax.xaxis) else "\n".join(self.notes)
            ax.set_xlabel(f"{ax.get_xlabel()}\n{below}")
        return self

    def _draw(self, ax: "Axes") -> Sequence[str] | None:
        """Draw on axes, and return the notes."""
        raise NotImplementedError


def new_figure(width: float, height: float) -> Any:
    """Return a matplotlib Figure, which needs no display and leaves pyplot's state alone."""
    figures = need("matplotlib.figure", "figures are drawn", "plot")
    return figures.Figure(figsize=(width, height), layout="constrained")


def separate_thousands(ax: "Axes") -> None:
    """Write 20,000 and not 20000 at the ticks of plain axes."""
    from matplotlib.ticker import ScalarFormatter

    for axis in (ax.xaxis, ax.yaxis):
        low, high = axis.get_view_interval()
        is_plain = type(axis.get_major_formatter()) is ScalarFormatter
        if is_plain and high - low > 10 and 1e4 <= max(-low, high) < 1e7:
            axis.set_major_formatter("{x:,.0f}")
            if axis is ax.xaxis:
                ax.locator_params(axis="x", nbins=5)


def units(response: str) -> str:
    """Return the units of a label, on a separate line."""
    return f"\n(units of {the(response)})"


def the(response: str) -> str:
    """Name a response in a sentence: with an article, unless it is the name of a target."""
    article = "the " if response.startswith(("response", "decision", "log-odds")) else ""
    return article + written(response, LONGEST_WORDS)


def plain(ax: "Axes") -> None:
    """Remove the right and upper lines of the frame."""
    ax.spines[["top", "right"]].set_visible(False)


def in_lines(axis: Any, first: str, second: str) -> str:
    """Join two parts of a label in one line, or in two if it is longer than an axis."""
    first, second = written(first, LONGEST_WORDS), written(second, LONGEST_WORDS)
    has_room = LETTER * len(f"{first} {second}") <= length(axis)
    return f"{first} {second}" if has_room else f"{first}\n{second}"


def written(label: Any, longest: int = LONGEST) -> str:
    """Shorten a label for a figure, with formulas and unprintable characters escaped."""
    text = shorten(label, longest)
    if not text.isascii():
        text = "".join(c if _font_with(c) is not None else f"\\u{ord(c):04x}" for c in text)
    return text.replace("$", r"\$")


@cache
def _font_with(letter: str) -> str | None:
    """Return a font family that has a letter, preferably the default; None if there is none."""
    try:
        from matplotlib import font_manager
    except ImportError:  # nothing will be drawn
        return ""
    usual = font_manager.findfont(font_manager.FontProperties())
    known = font_manager.fontManager.ttflist
    # a font of last resort has a box for every letter
    fonts = [(usual, ""), *((f.fname, f.name) for f in known if "Last Resort" not in f.name)]
    return next((name for path, name in fonts if ord(letter) in _letters(path)), None)


@cache
def _letters(path: str) -> frozenset[int]:
    from matplotlib.font_manager import get_font

    try:
        return frozenset(get_font(path).get_charmap())
    except (OSError, RuntimeError):  # a font that cannot be read
        return frozenset()


def _use_fonts(ax: "Axes") -> None:
    """Let texts fall back to fonts that have the letters missing in the default font."""
    from matplotlib import rcParams
    from matplotlib.text import Text

    texts = [*ax.findobj(Text), *ax.get_xticklabels(), *ax.get_yticklabels()]
    letters = {c for text in texts for c in text.get_text() if not c.isascii() and c.isprintable()}
    more = sorted({_font_with(c) or "" for c in letters} - {""})
    if more:
        families = [*rcParams["font.family"], *more]
        for text in texts:
            text.set_fontfamily(families)
        ax.tick_params(labelfontfamily=families)


def is_numeric(values: NDArray) -> bool:
    """Return True if values are numbers or times, not categories."""
    return values.dtype.kind in "biufM"


def along(values: Any) -> Any:
    """Return positions of values on an axis; times are in days, as in matplotlib."""
    values = np.asarray(values)
    if values.dtype.kind != "M":
        return values.astype(np.float64)
    from matplotlib.dates import date2num

    return date2num(values)


def name_ticks(axis: Any, labels: Sequence[Any]) -> None:
    """Write labels at 0, 1, 2, …, rotated or skipping some if they do not fit."""
    texts = [written(label) for label in labels]
    shown = range(0, len(texts), labels_apart(axis, len(texts)))
    axis.set_ticks(list(shown), [texts[i] for i in shown])
    if axis is axis.axes.xaxis and LETTER * sum(len(texts[i]) + 2 for i in shown) > length(axis):
        axis.set_tick_params(rotation=45)
        for text in axis.get_ticklabels():
            text.set_horizontalalignment("right")
            text.set_rotation_mode("anchor")


def labels_apart(axis: Any, n_labels: int) -> int:
    """Return the step between labels that fit on an axis."""
    return max(1, math.ceil(n_labels * LINE / length(axis)))


def length(axis: Any) -> float:
    """Return the length of an axis in font sizes; the layout may make it a little shorter."""
    from matplotlib import rcParams

    box = axis.axes.get_window_extent()
    pixels = box.width if axis is axis.axes.xaxis else box.height
    return float(pixels / axis.axes.figure.dpi * 72 / rcParams["font.size"])


def scale_axis(axis: Any, name: str, values: NDArray, inner: Range | None) -> None:
    """Label an axis of numbers or times, and cut off nearly empty heavy tails.

    Ticks are at integers if all values are.
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

    inner = None if inner is None else along(inner)
    low, high, name = *shown_range(along(values), inner), written(name, LONGEST_WORDS)
    if high - low < np.ptp(along(values)):
        whole = f"{place(values.min())} to {place(values.max())}"
        margin = 0.02 * (high - low)
        axis.axes.set(**{f"{axis.axis_name}lim": (low - margin, high + margin)})
        name = f"{name} (all rows: {whole})"
    axis.set_label_text(name)
    if values.dtype.kind == "M":
        axis.set_major_locator(locator := AutoDateLocator())
        axis.set_major_formatter(ConciseDateFormatter(locator))
    elif np.all(values == np.round(values)):
        axis.get_major_locator().set_params(integer=True)


def bars(ax: "Axes", labels: Sequence[str]) -> NDArray:
    """Write labels beside horizontal bars, the first on top, and return the bars' positions."""
    where = np.arange(len(labels))
    ax.set_yticks(where, labels)
    ax.invert_yaxis()
    return where
