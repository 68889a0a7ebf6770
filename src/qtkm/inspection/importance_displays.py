"""Displays of importances and of the strengths of interactions."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .plotting import FIRST, LONGEST_WORDS, SECOND, Display, heat_map, plain, units, written
from .shares import Importances, importances
from .strengths import InteractionStrengths, interaction_strengths

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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
        """Compute and draw the importances of all columns.

        Parameters
        ----------
        model, X, options
            As in `qtkm.inspection.importances`.
        max_columns : int, default=20
        ax : matplotlib Axes, optional
        """
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
            xlabel=f"share in the variance of the {written(shares.response, LONGEST_WORDS)}",
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
        """Compute and draw the strengths of all interactions.

        Parameters
        ----------
        model, X, options
            As in `qtkm.inspection.interaction_strengths`.
        kind : {"size", "h"}, default="size"
        ax : matplotlib Axes, optional
        """
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
