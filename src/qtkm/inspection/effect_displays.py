"""Displays of main effects and interactions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .effects import Interaction, MainEffect, interaction, main_effects
from .plotting import (
    FAINT,
    FIRST,
    Display,
    is_numeric,
    labels_apart,
    name_ticks,
    plain,
    positions,
    whole_ticks,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class MainEffectDisplay(Display):
    """Effect of one column: a curve with the deciles of its numbers, or a dot a category.

    Parameters
    ----------
    main_effect : MainEffect
    """

    def __init__(self, main_effect: MainEffect):
        self.main_effect = main_effect

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, column: Any, *, ax: "Axes | None" = None, **options: Any
    ) -> "MainEffectDisplay":
        """Compute and draw the effect of a column.

        Parameters
        ----------
        model, X, options
            As in `qtkm.inspection.main_effects`.
        column : name or number
        ax : matplotlib Axes, optional
        """
        return cls(main_effects(model, X, [column], **options)[0]).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        main = self.main_effect
        ax.axhline(0, color=FAINT, linewidth=1)
        if is_numeric(main.values):
            ax.plot(positions(main.values), main.effect, color=FIRST)
            if np.all(main.values == np.round(main.values)):
                whole_ticks(ax.xaxis)
        else:
            self._draw_categories(ax)
        if main.deciles is not None:
            low = ax.get_xaxis_transform()
            ax.vlines(main.deciles, 0, 0.03, color="black", linewidth=1, transform=low)
        ax.set(
            title=f"Main effect of {main.name}",
            xlabel=main.name,
            ylabel=f"{main.response} above its mean {main.mean:.4g}",
        )
        plain(ax)

    def _draw_categories(self, ax: "Axes") -> None:
        """Draw a dot a category; by size of effect where not all of them can be named."""
        main = self.main_effect
        apart = labels_apart(ax.xaxis, len(main.values))
        order = np.arange(len(main.values)) if apart == 1 else np.argsort(main.effect)
        where = np.arange(len(order))
        ax.vlines(where, 0, main.effect[order], color=FIRST, linewidth=1)
        ax.plot(where, main.effect[order], "o" if apart == 1 else ".", color=FIRST)
        ax.margins(x=0.5 / max(len(order), 4))
        name_ticks(ax.xaxis, main.values[order].tolist())


class InteractionDisplay(Display):
    """Interaction of two columns as a map of colours.

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
        """Compute and draw the interaction of two columns.

        Parameters
        ----------
        model, X, options
            As in `qtkm.inspection.interaction`.
        columns : (name or number, name or number)
        ax : matplotlib Axes, optional
        """
        return cls(interaction(model, X, columns, **options)).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        both = self.interaction
        effect = both.effect
        largest = float(np.abs(effect).max()) or 1.0
        where = [positions(values) for values in both.values]
        mesh = ax.pcolormesh(
            where[0], where[1], effect.T, cmap="RdBu_r", vmin=-largest, vmax=largest,
            shading="nearest", rasterized=True,
        )  # fmt: skip
        label = f"{both.response} beyond the main effects"
        ax.figure.colorbar(mesh, ax=ax, label=label)
        for axis, values in zip((ax.xaxis, ax.yaxis), both.values, strict=True):
            if not is_numeric(values):
                name_ticks(axis, values.tolist())
        first, second = both.names
        ax.set(title=f"Interaction of {first} and {second}", xlabel=first, ylabel=second)
