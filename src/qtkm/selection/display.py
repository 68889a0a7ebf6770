"""Display of a search: the scores of all candidates against each parameter."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ..escaping import shorten
from ..inspection.plotting import FAINT, FIRST, LONGEST, SECOND, Display, name_ticks, plain
from .race import PARAMETERS
from .search import name_score

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: width of the cloud of dots at a value, and the share of scores that stay in sight
CLOUD, SHOWN = 0.5, 0.75


class SearchDisplay(Display):
    """Scores of the candidates of a search, one panel per varied parameter.

    Dots are candidates: full ones were fitted to convergence on all folds, pale ones abandoned
    before, with their last score. The line joins the best scores at each value; the star is the
    chosen candidate. Candidates far behind the others are drawn on the lower edge.

    Parameters
    ----------
    results : dict of arrays
        As `cv_results_`.
    best : int
        Index of the chosen candidate.
    score_name : str, default="score"
        Name of the score.

    Attributes
    ----------
    axes_ : list of matplotlib Axes
        The panels, after `plot`.
    """

    def __init__(self, results: Mapping[str, Any], best: int, score_name: str = "score"):
        self.results, self.best, self.score_name = results, best, score_name
        tried = [name for name in PARAMETERS if f"param_{name}" in results]
        varied = [name for name in tried if len(_places(results[f"param_{name}"])[0]) > 1]
        self.parameters = varied or tried[:1]
        self.figure_size = (2.4 + 2.3 * len(self.parameters), 3.6)

    @classmethod
    def from_estimator(cls, search: Any, *, ax: "Axes | None" = None) -> "SearchDisplay":
        """Draw the candidates of a fitted search.

        Parameters
        ----------
        search : QTKMRegressorCV or QTKMClassifierCV
        ax : matplotlib Axes, optional
            Axes to divide into panels.
        """
        check_is_fitted(search, "cv_results_")
        return cls(search.cv_results_, search.best_index_, name_score(search)).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        ax.set_axis_off()
        panels = ax.get_subplotspec().subgridspec(1, len(self.parameters))  # type: ignore[union-attr]
        self.axes_: list[Axes] = []
        for number, name in enumerate(self.parameters):
            first = self.axes_[0] if number else None
            panel = self.figure_.add_subplot(panels[number], sharey=first)
            self._draw_panel(panel, name)
            panel.tick_params(labelleft=not number)
            self.axes_.append(panel)
        self.axes_[0].set_title("Candidates of the search", loc="left")
        self.axes_[0].set_ylabel(
            f"{shorten(self.score_name, LONGEST)} of the test rows,\nmean of the folds"
        )
        # beside the dots, so that it hides none
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1, 1), "frameon": False}
        self.axes_[-1].legend(**place)

    def _draw_panel(self, ax: "Axes", name: str) -> None:
        scores = np.asarray(self.results["mean_test_score"], dtype=np.float64)
        labels, place = _places(self.results[f"param_{name}"])
        known, finished = np.isfinite(scores), np.asarray(self.results["finished"])
        # poor candidates do not squeeze the others
        top, usual = scores[known].max(), np.quantile(scores[known], 1 - SHOWN)
        shown = np.maximum(scores, usual - 0.1 * (top - usual))
        x = place + _cloud(place)
        others = known & (np.arange(len(scores)) != self.best)  # that one is the star
        for among, colour, label in (
            (others & ~finished, FAINT, "abandoned, score\nof few epochs"),
            (others & finished, FIRST, "fitted to convergence"),
        ):
            style: dict[str, Any] = {"color": colour, "label": label}
            if among.any():
                ax.scatter(x[among], shown[among], s=14, linewidths=0, **style)
        ended = [known & finished & (place == i) for i in range(len(labels))]
        seen = [i for i, among in enumerate(ended) if among.any()]
        if finished.sum() > 1:
            best = [shown[ended[i]].max() for i in seen]
            ax.plot(seen, best, color=FIRST, linewidth=1, label="best of these")
        star: dict[str, Any] = {"s": 110, "marker": "*", "color": SECOND, "label": "chosen"}
        ax.scatter(x[self.best], scores[self.best], zorder=3, **star)
        ax.set_xlim(-0.5, len(labels) - 0.5)
        ax.set_xlabel(name)
        name_ticks(ax.xaxis, labels)
        plain(ax)


def _places(values: Any) -> tuple[list[str], NDArray[np.int64]]:
    """Return labels of the values of a parameter, in order, and the index of each candidate's."""
    entries = list(values)
    distinct = sorted(set(entries), key=lambda value: (isinstance(value, tuple), value))
    labels = [f"{value:.3g}" if isinstance(value, float) else str(value) for value in distinct]
    return labels, np.array([distinct.index(value) for value in entries])


def _cloud(place: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return horizontal offsets that keep candidates with equal values apart."""
    step = np.zeros(len(place))
    for value in np.unique(place):
        members = np.flatnonzero(place == value)
        step[members] = CLOUD * ((np.arange(len(members)) + 0.5) / len(members) - 0.5)
    return step
