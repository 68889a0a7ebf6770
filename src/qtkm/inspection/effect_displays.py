"""Displays of main effects and interactions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .effects import Interaction, MainEffect, interaction, main_effects
from .plotting import FAINT, FIRST, Display, is_numeric, name_ticks, plain, positions

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
        where = positions(main.values)
        ax.axhline(0, color=FAINT, linewidth=1)
        if is_numeric(main.values):
            ax.plot(where, main.effect, color=FIRST)
        else:
            ax.vlines(where, 0, main.effect, color=FIRST, linewidth=1)
            ax.plot(where, main.effect, "o", color=FIRST)
            name_ticks(ax.xaxis, main.values.tolist(), rotate=True)
        if main.deciles is not None:
            low = ax.get_xaxis_transform()
            ax.vlines(main.deciles, 0, 0.03, color="black", linewidth=1, transform=low)
        ax.set(
            title=f"Main effect of {main.name}",
            xlabel=main.name,
            ylabel=f"{main.response} above its mean {main.mean:.4g}",
        )
        plain(ax)


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
                name_ticks(axis, values.tolist(), rotate=axis is ax.xaxis)
        first, second = both.names
        ax.set(title=f"Interaction of {first} and {second}", xlabel=first, ylabel=second)
