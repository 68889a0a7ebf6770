"""Displays of main effects, interactions and importances."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.wording import readable
from .effects import Interaction, MainEffect, interaction, is_rounding, main_effects
from .importance import Importances, InteractionStrengths, importances, interaction_strengths
from .plotting import (
    FAINT,
    FIRST,
    LONGEST_WORDS,
    PALE,
    SECOND,
    Display,
    cut_axis,
    heat_map,
    in_lines,
    is_numeric,
    labels_apart,
    name_ticks,
    number_formatter,
    number_ticks,
    plain,
    positions,
    the,
    units,
    write_title,
    written,
)
from .response import fitted
from .results import place
from .support import FEW, TAIL, edges, inner_range

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: room for the guessed part of a curve, as a part of the range of the other
GUESSED = 0.25
#: colour of a map where there are no rows: darker than that of no effect
NO_ROWS = "#c8c8c8"


class MainEffectDisplay(Display):
    """Effect of one column: a curve with the deciles of its numbers, or a dot a category.

    A band of two standard deviations on either side shows how sure the effect is, where the model
    has a posterior.

    The curve is dashed and pale among the outermost hundredth of the rows on either side, unless
    the column has no more than twelve values, and where there are no rows within a twentieth of
    the range. The y axis follows the other part of the curve, and the x axis, too, if heavy
    tails take more than two thirds of the range. A category without rows is pale.

    Parameters
    ----------
    main_effect : MainEffect
    """

    def __init__(self, main_effect: MainEffect):
        self.main_effect = main_effect
        self._left_out = 0  # categories, known once there are axes

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, column: Any, *, ax: "Axes | None" = None, **options: Any
    ) -> "MainEffectDisplay":
        """Compute and draw the effect of a column; arguments are those of `main_effects`."""
        options.setdefault("std", fitted(model)._has_posterior)
        return cls(main_effects(model, X, [column], **options)[0]).plot(ax)

    @property
    def notes(self) -> list[str]:
        main = self.main_effect
        if len(main.values) == 1:
            return ["the only value"]
        is_guess = not main.is_supported.all()
        if not is_numeric(main.values):
            smaller = f"{self._left_out} of {len(main.values)} with smaller effects left out"
            return [*["pale: no rows"][: is_guess and not self._left_out],
                    *[smaller][: bool(self._left_out)]]  # fmt: skip
        deciles = ["ticks: deciles"] if main.deciles is not None else []
        deciles += ["band: 2 standard deviations"] if main.std is not None else []
        dashed = f"dashed: outermost {TAIL:.0%} of rows, or none"
        return [*deciles, dashed] if is_guess else deciles

    def _draw(self, ax: "Axes") -> None:
        main = self.main_effect
        ax.axhline(0, color=FAINT, linewidth=1)
        if is_numeric(main.values):
            self._draw_curve(ax)
        else:
            self._draw_categories(ax)
            ax.set_xlabel(written(main.name, LONGEST_WORDS))
        if is_rounding(np.abs(main.effect).max(), main.partial_dependence):
            ax.set_ylim(-1, 1)
        number_ticks(ax.yaxis)
        ax.set_ylabel(in_lines(ax.yaxis, main.response, f"above its mean {readable(main.mean)}"))
        write_title(ax, "Main effect of", main.name)
        plain(ax)

    def _draw_curve(self, ax: "Axes") -> None:
        main, supported = self.main_effect, self.main_effect.is_supported
        where, dot = positions(main.values), "." if len(main.values) <= FEW else ""
        ax.plot(where, main.effect, f"{dot}--", color=PALE, linewidth=1)
        if main.missing is not None:
            height = main.missing - main.mean
            ax.axhline(height, color=FIRST, linestyle=":", linewidth=1)
            ax.annotate("missing", (1, height), xycoords=("axes fraction", "data"), ha="right",
                        va="bottom", fontsize="small")  # fmt: skip
        ax.plot(where, np.where(supported, main.effect, np.nan), f"{dot}-", color=FIRST)
        if main.std is not None:
            ends = main.effect - 2 * main.std, main.effect + 2 * main.std
            ax.fill_between(where, *ends, where=supported, color=FIRST, alpha=0.2, linewidth=0)
        if 2 <= supported.sum() < len(supported):
            ax.set_ylim(*_limits(main.effect, supported))
        if main.deciles is not None:
            low = ax.get_xaxis_transform()
            ax.vlines(main.deciles, 0, 0.03, color="black", linewidth=1, transform=low)
        cut_axis(ax.xaxis, main.name, where, main.inner)
        number_ticks(ax.xaxis, where)

    def _draw_categories(self, ax: "Axes") -> None:
        """Draw a dot for each category; the largest effects where not all can be named."""
        main, order = self.main_effect, self._shown(ax)
        where, effect, supported = np.arange(len(order)), main.effect[order], main.is_supported
        for shown, colour in ((supported[order], FIRST), (~supported[order], PALE)):
            ax.vlines(where[shown], 0, effect[shown], color=colour, linewidth=1)
            ax.plot(where[shown], effect[shown], "o", color=colour)
            if main.std is not None:
                half = 2 * main.std[order][shown]
                ends = effect[shown] - half, effect[shown] + half
                ax.vlines(where[shown], *ends, color=colour, linewidth=6, alpha=0.2)
        ax.margins(x=0.5 / max(len(order), 4))
        name_ticks(ax.xaxis, main.values[order].tolist())

    def _shown(self, ax: "Axes") -> NDArray[np.int64]:
        """Return the categories to draw: all in their order, or by effect those of the largest."""
        main = self.main_effect
        count, apart = len(main.values), labels_apart(ax.xaxis, len(main.values))
        self._left_out = 0
        if apart == 1:
            return np.arange(count)
        known = np.flatnonzero(main.is_supported) if main.is_supported.any() else np.arange(count)
        largest = known[np.argsort(-np.abs(main.effect[known]), kind="stable")][: count // apart]
        self._left_out = count - len(largest)
        return largest[np.argsort(main.effect[largest], kind="stable")]


def _limits(effect: NDArray[np.float64], supported: NDArray[np.bool_]) -> tuple[float, float]:
    """Range of the supported part of a curve and of zero, with room for some of the rest."""
    ends = [min(effect[supported].min(), 0.0), max(effect[supported].max(), 0.0)]
    room = GUESSED * (ends[1] - ends[0])
    low, high = max(ends[0] - room, effect.min()), min(ends[1] + room, effect.max())
    low, high = min(ends[0], low), max(ends[1], high)
    margin = 0.05 * (high - low) or 1.0
    return low - margin, high + margin


def share_axis(displays: Sequence[MainEffectDisplay]) -> None:
    """Give drawn main effects one range of effects, so that their sizes can be compared.

    Parameters
    ----------
    displays : sequence of MainEffectDisplay
        Whose `plot` has been called.
    """
    limits = np.array([display.ax_.get_ylim() for display in displays])
    for display in displays:
        display.ax_.set_ylim(limits[:, 0].min(), limits[:, 1].max())


class InteractionDisplay(Display):
    """Interaction of two columns as a map of colours, grey where there are no rows.

    A cell is grey if no row is near it in both columns: of its category, or within a twentieth
    of the column's range. Colours follow the effect on all but the outermost hundredth of the
    rows. Heavy tails that take more than two thirds of a range are left out, as in
    `MainEffectDisplay`.

    Parameters
    ----------
    interaction : Interaction
    """

    def __init__(self, interaction: Interaction):
        self.interaction = interaction

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, columns: Sequence[Any], *, ax: "Axes | None" = None, **options: Any
    ) -> "InteractionDisplay":
        """Compute and draw the interaction of two columns; arguments are those of `interaction`."""
        return cls(interaction(model, X, columns, **options)).plot(ax)

    @property
    def notes(self) -> list[str]:
        return [] if self.interaction.is_supported.all() else ["grey: no rows"]

    def _draw(self, ax: "Axes") -> None:
        from matplotlib import colormaps

        both = self.interaction
        effect, supported = both.effect, both.is_supported
        where: list[Any] = []
        for number, values in enumerate(both.values):
            # numbers may have been given in any order
            order = np.argsort(values) if _is_scale(values) else np.arange(len(values))
            effect, supported = effect.take(order, number), supported.take(order, number)
            where.append(positions(values)[order] if _is_scale(values) else order)
        largest = self._largest()
        seen = np.abs(effect[supported]).max(initial=0.0)
        mesh = ax.pcolormesh(
            edges(where[0]), edges(where[1]), np.ma.array(effect.T, mask=~supported.T),
            cmap=colormaps["RdBu_r"].with_extremes(bad=NO_ROWS), vmin=-largest, vmax=largest,
            rasterized=True,
        )  # fmt: skip
        label = f"beyond the main effects{units(both.response)}"
        extend = "both" if seen > largest else "neither"
        ax.figure.colorbar(mesh, ax=ax, label=label, format=number_formatter(), extend=extend)
        for axis, name, values, inner in zip(
            (ax.xaxis, ax.yaxis), both.names, both.values, both.inner, strict=True
        ):
            axis.set_label_text(written(name, LONGEST_WORDS))
            if _is_scale(values):
                cut_axis(axis, name, values, inner)
                number_ticks(axis, values)
            else:
                name_ticks(axis, [place(value) for value in values])
        write_title(ax, f"Interaction of {both.names[0]}", f"and {both.names[1]}")

    def _largest(self) -> float:
        """Effect of the darkest colours; of no effect, 1 in the place of rounding."""
        both = self.interaction
        effect = np.abs(both.effect).ravel()
        largest = effect.max()
        if both.support is not None and both.support.any():
            inner = inner_range(effect, both.support.ravel())[1]
            largest = min(effect[both.support.ravel() > 0].max(), (1 + GUESSED) * inner)
        return 1.0 if is_rounding(largest, both.partial_dependence) else float(largest)


def _is_scale(values: NDArray) -> bool:
    """Whether values are numbers that make a scale: more than one."""
    return is_numeric(values) and len(values) > 1


class ImportancesDisplay(Display):
    """Bars of first-order and total shares, the most important column on top.

    Parameters
    ----------
    importances : Importances
    max_columns : int, default=20
        Only so many of the most important columns are drawn.
    """

    def __init__(self, importances: Importances, max_columns: int = 20):
        self.importances = importances
        self.max_columns = max_columns
        self.figure_size = (6.4, 1.4 + 0.32 * min(max_columns, len(importances.names)))

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, max_columns: int = 20, ax: "Axes | None" = None, **options: Any
    ) -> "ImportancesDisplay":
        """Compute and draw the importances of all columns; arguments are those of `importances`."""
        return cls(importances(model, X, **options), max_columns).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        shares = self.importances
        order = np.argsort(-shares.total, kind="stable")[: self.max_columns]
        where = np.arange(len(order))
        ax.barh(where, shares.total[order], 0.75, color=SECOND, label="total, with others")
        ax.barh(where, shares.first_order[order], 0.4, color=FIRST, label="first order, alone")
        ax.set_yticks(where, [written(shares.names[d]) for d in order])
        ax.invert_yaxis()
        ax.set(
            title="Importance of the columns",
            xlabel=f"share in the variance of {the(shares.response)}",
        )
        ax.set_xlim(left=0)
        ax.legend(loc="lower right", frameon=False)
        plain(ax)


class InteractionStrengthsDisplay(Display):
    """Strengths of the interactions of all pairs of columns as a map.

    Columns that interact with no other, as constant ones do, are left out.

    Parameters
    ----------
    strengths : InteractionStrengths
    kind : {"size", "h"}, default="size"
        Root mean square of the interaction in units of the response, or Friedman's H, which is
        relative to the pair's own effect and may be large for columns that hardly matter.
    """

    def __init__(self, strengths: InteractionStrengths, kind: str = "size"):
        if kind not in ("h", "size"):
            raise ValueError(f"kind={kind!r} is unknown; use 'size' or 'h'.")
        if len(strengths.names) < 2:
            raise ValueError("The model has one column, and interactions need two.")
        self.strengths = strengths
        self.kind = kind
        size = max(0.0, 0.45 * (len(self._shown) - 7))
        self.figure_size = (5.6 + size, 4.6 + size)

    @property
    def _shown(self) -> NDArray[np.int64]:
        """Columns that interact with some other; all of them if none does."""
        shown = np.flatnonzero(self.strengths.size.any(axis=0))
        return shown if len(shown) else np.arange(len(self.strengths.names))

    @property
    def notes(self) -> list[str]:
        left_out = len(self.strengths.names) - len(self._shown)
        columns = f"{left_out} column{'s' * (left_out > 1)} without any"
        return [f"left out: {columns}"] if left_out else []

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, *, kind: str = "size", ax: "Axes | None" = None, **options: Any
    ) -> "InteractionStrengthsDisplay":
        """Draw the strengths of interactions; arguments are those of `interaction_strengths`."""
        return cls(interaction_strengths(model, X, **options), kind).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        label = "Friedman's H"
        if self.kind == "size":
            label = f"root mean square{units(self.strengths.response)}"
        # the map is laid out, so what takes room comes first
        ax.set_title("Strength of the interactions")
        shown = self._shown
        matrix = getattr(self.strengths, self.kind)[np.ix_(shown, shown)]
        heat_map(ax, matrix, [self.strengths.names[d] for d in shown], label)
