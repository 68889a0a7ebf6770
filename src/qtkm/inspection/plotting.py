"""Base class and helpers of all displays: axes, colours, ticks and labels."""

import math
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from ..escaping import shorten
from ..estimators.wording import LARGEST, PARTED, SMALLEST, readable
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
    #: what else a reader must know, written below the label of the x axis by `plot`
    notes: Sequence[str] = ()

    def plot(self, ax: "Axes | None" = None) -> Self:
        """Draw on matplotlib Axes, by default those of a new figure, and return the display."""
        if ax is None:
            try:
                import matplotlib.pyplot as plt
            except ImportError as error:
                raise ImportError("Displays need matplotlib: pip install qtkm[plot]") from error
            _, ax = plt.subplots(figsize=self.figure_size, layout="constrained")
        from matplotlib.ticker import ScalarFormatter

        self.ax_, self.figure_ = ax, ax.figure  # type: ignore[assignment]
        self.notes = self._draw(ax) or []
        for axis in (ax.xaxis, ax.yaxis):
            if type(axis.get_major_formatter()) is ScalarFormatter:
                number_ticks(axis)
        if not self.has_frame:
            plain(ax)
        _use_fonts(ax)
        if self.notes:
            line = "; ".join(self.notes)
            below = line if LETTER * len(line) <= length(ax.xaxis) else "\n".join(self.notes)
            ax.set_xlabel(f"{ax.get_xlabel()}\n{below}")
        return self

    def _draw(self, ax: "Axes") -> Sequence[str] | None:
        """Draw on axes, and return the notes."""
        raise NotImplementedError


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


def number_ticks(axis: Any, values: NDArray | None = None) -> None:
    """Write 20,000, 0.002 or dates at the ticks, at no more than fit.

    Ticks are at integers if all values are.
    """
    from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
    from matplotlib.ticker import MaxNLocator

    if values is not None and values.dtype.kind == "M":
        axis.set_major_locator(locator := AutoDateLocator())
        axis.set_major_formatter(ConciseDateFormatter(locator))
        return
    if values is not None and np.all(values == np.round(values)):
        axis.get_major_locator().set_params(integer=True)
    axis.set_major_formatter(number_formatter())
    locator = axis.get_major_locator()
    if axis is not axis.axes.xaxis or not isinstance(locator, MaxNLocator):
        return
    texts = axis.get_major_formatter().format_ticks(axis.get_majorticklocs())
    room = length(axis) / (LETTER * max(map(len, texts), default=0) + 1.5)
    if len(texts) > room:
        locator.set_params(nbins=max(2, int(room)))


def number_formatter() -> Any:
    """Return a tick formatter: 20,000 and 0.002, with enough digits to distinguish ticks."""
    from matplotlib.ticker import FuncFormatter

    formatter = FuncFormatter(_write_tick)
    formatter.format_ticks = write_ticks  # type: ignore[method-assign]
    return formatter


def _write_tick(number: float, position: int | None = None) -> str:
    return readable(number)  # not a lambda, so that figures can be pickled


def write_ticks(values: Any) -> list[str]:
    """Format ascending numbers with enough digits to distinguish them."""
    ticks = np.asarray(values, dtype=np.float64)
    step, top = np.min(np.diff(ticks), initial=np.inf), np.abs(ticks).max(initial=0.0)
    if not 0 < step < np.inf:
        return [readable(tick) for tick in ticks]
    ticks = np.where(np.abs(ticks) < 1e-9 * step, 0.0, ticks)  # what is left of zero is rounding
    if step < SMALLEST or top >= LARGEST:
        digits = 3 + max(0, math.ceil(math.log10(top / step)))
        return [readable(tick, digits) for tick in ticks]
    # as many decimals everywhere: 0.60 above 0.58
    errors = (np.abs(ticks - ticks.round(decimals)).max() for decimals in range(7))
    decimals = next((k for k, error in enumerate(errors) if error < 1e-6 * step), 7)
    form = f"{',' if top >= PARTED else ''}.{decimals}f"
    return [format(tick, form) for tick in ticks]


def scale_axis(axis: Any, name: str, values: NDArray, inner: Range | None) -> None:
    """Label an axis of numbers or times and its ticks, and cut off nearly empty heavy tails."""
    inner = None if inner is None else along(inner)
    low, high, name = *shown_range(along(values), inner), written(name, LONGEST_WORDS)
    if high - low < np.ptp(along(values)):
        whole = f"{place(values.min())} to {place(values.max())}"
        margin = 0.02 * (high - low)
        axis.axes.set(**{f"{axis.axis_name}lim": (low - margin, high + margin)})
        name = f"{name} (all rows: {whole})"
    axis.set_label_text(name)
    number_ticks(axis, values)


def bars(ax: "Axes", labels: Sequence[str]) -> NDArray:
    """Write labels beside horizontal bars, the first on top, and return the bars' positions."""
    where = np.arange(len(labels))
    ax.set_yticks(where, labels)
    ax.invert_yaxis()
    return where
