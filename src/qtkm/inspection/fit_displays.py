"""Displays of a fit: learning curve, search, residuals and calibration."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from ..estimators.uncertainty import half_widths
from ..estimators.wording import name_score
from ..parameters import check_option
from .plotting import FAINT, FIRST, PALE, SECOND, Display
from .response import fitted, output_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: rows from which dots become small and pale, and from which they are counted in cells
MANY_ROWS, MOST_DOTS = 2000, 20_000


class HistoryDisplay(Display):
    """Objective after every epoch, and the validation score if there is one.

    Parameters
    ----------
    objective, validation_score : (n_epochs,) arrays
        The second is empty without validation rows.
    score_name : str, optional
        Name of the validation score.

    Attributes
    ----------
    score_ax_ : matplotlib Axes or None
        Axes of the validation score, on the right.
    """

    def __init__(
        self, objective: NDArray, validation_score: NDArray, score_name: str | None = None
    ):
        self.objective = np.asarray(objective, dtype=np.float64)
        self.validation_score = np.asarray(validation_score, dtype=np.float64)
        self.score_name = score_name

    @classmethod
    def from_estimator(cls, model: Any, *, ax: "Axes | None" = None) -> Self:
        """Draw the history of a fitted model with any network."""
        model = fitted(model)
        history = model.history_
        if not history.get("objective"):
            raise ValueError(
                "The model has no history: its fit ended before the first epoch, or it was "
                "loaded from a file without one; fit it again."
            )
        scores = history["validation_score"]
        return cls(history["objective"], scores, name_score(model)).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        epochs = np.arange(1.0, len(self.objective) + 1)
        ax.locator_params(axis="x", integer=True)
        style = ".-" if len(epochs) <= 100 else "-"
        ax.plot(epochs, self.objective, style, color=FIRST)
        ax.set(title="Learning curve", xlabel="epoch", ylabel="training objective")
        self.score_ax_ = None
        if len(self.validation_score):
            ax.yaxis.label.set_color(FIRST)
            self.score_ax_ = ax.twinx()
            self.score_ax_.plot(epochs, self.validation_score, style, color=SECOND)
            name = "validation score" + (f": {self.score_name}" if self.score_name else "")
            self.score_ax_.set_ylabel(name, color=SECOND)
            self.score_ax_.spines["top"].set_visible(False)


class PathDisplay(Display):
    """Held-out loss of every trial of the search for rank and penalty, against the penalty.

    Parameters
    ----------
    path : sequence of dict
        `history_["path"]`: rank, alpha and error of every trial. Main effects alone have rank 0;
        a trial with a "share" is the full-rank model mixed with the network.
    """

    def __init__(self, path: Sequence[Mapping[str, float]]):
        self.path = list(path)

    @classmethod
    def from_estimator(cls, model: Any, *, ax: "Axes | None" = None) -> Self:
        """Draw the path of a fitted model."""
        path = fitted(model).history_.get("path")
        if not path:
            raise ValueError(
                "The fit did not search: rank and alpha were given, or the penalty is 'ridge'; "
                "leave both at 'auto', or use HistoryDisplay."
            )
        return cls(path).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        networks = [step for step in self.path if step["rank"] > 0 and "share" not in step]
        ranks = sorted({int(step["rank"]) for step in networks})
        for n, rank in enumerate(ranks, start=1):
            own = sorted((s["alpha"], s["error"]) for s in networks if s["rank"] == rank)
            shade = n / len(ranks)
            ax.plot(*zip(*own, strict=True), ".-", color=FIRST, alpha=shade, label=f"rank {rank}")
        for step in self.path:
            if step["rank"] == 0:
                ax.axhline(step["error"], color=FAINT, ls="--", label="main effects alone")
            elif "share" in step:
                mixed = f"full rank (weight {100 * step['share']:.0f} %)"
                ax.plot(step["alpha"], step["error"], "D", color=SECOND, label=mixed)
        if networks:
            ax.set_xscale("log")
        ax.set(title="Search for rank and penalty", xlabel="alpha", ylabel="held-out loss")
        ax.legend(frameon=False)


class ResidualsDisplay(Display):
    """Observed values or residuals against predicted values.

    Parameters
    ----------
    observed, predicted : (n_rows,) arrays
    kind : {"observed", "residuals"}, default="observed"
        What to draw against the predictions.
    interval : (n_rows, 2) array or None
        Ends of intervals, drawn for few rows.
    """

    def __init__(
        self, observed: NDArray, predicted: NDArray, kind: str = "observed",
        interval: NDArray | None = None,
    ):  # fmt: skip
        check_option("kind", kind, ("observed", "residuals"))
        self.observed = np.asarray(observed, dtype=np.float64)
        self.predicted = np.asarray(predicted, dtype=np.float64)
        self.kind = kind
        self.interval = None if interval is None else np.asarray(interval, dtype=np.float64)

    @property
    def residuals(self) -> NDArray[np.float64]:
        """Observed minus predicted values."""
        return self.observed - self.predicted

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, kind: str = "observed", output: Any = None,
        interval: float | None = None, ax: "Axes | None" = None,
    ) -> Self:  # fmt: skip
        """Predict the rows of X by a QTKMRegressor and draw.

        Parameters
        ----------
        output : int or str, optional
            Output to draw, if there are several.
        interval : float, optional
            Coverage of intervals to draw around the predictions, such as 0.9; red if they miss.
        """
        check_regressor(model)
        own, predicted, observed = fitted(model), model.predict(X), np.asarray(y, dtype=np.float64)
        if observed.shape != predicted.shape:
            raise ValueError(f"y has shape {observed.shape}, expected {predicted.shape}.")
        ends = None if interval is None else own.predict_interval(X, interval)
        if predicted.ndim == 2:
            chosen = output_number(own, output)
            predicted, observed = predicted[:, chosen], observed[:, chosen]
            ends = None if ends is None else ends[:, chosen]
        return cls(observed, predicted, kind, ends).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        is_residual, x = self.kind == "residuals", self.predicted
        y = self.residuals if is_residual else self.observed
        if self.interval is not None and len(x) <= MANY_ROWS:
            low, high = self.interval.T
            misses = (self.observed < low) | (self.observed > high)
            for rows, colour in ((~misses, PALE), (misses, SECOND)):
                ends = [(end - x if is_residual else end)[rows] for end in (low, high)]
                ax.vlines(x[rows], *ends, color=colour, linewidth=1)
        if len(x) > MOST_DOTS:  # they would overlap
            # colours begin below one row, so that cells of one row can be seen
            cells = ax.hexbin(x, y, gridsize=60, bins="log", mincnt=1, vmin=0.2, cmap="Blues")
            ax.figure.colorbar(cells, ax=ax, label="rows").ax.set_ylim(bottom=1)
        else:
            size, alpha = (16, 0.6) if len(x) < MANY_ROWS else (4, 0.25)
            ax.scatter(x, y, s=size, alpha=alpha, color=FIRST, linewidths=0, rasterized=True)
        if is_residual:
            ax.axhline(0, color="black", linewidth=1)
            ax.set(title="Residuals", xlabel="predicted", ylabel="observed - predicted")
        else:
            # a line without ends through the rows, so that the axes are those of the rows
            middle = np.clip(x[0], y.min(), y.max())
            ax.axline((middle, middle), slope=1, color="black", linewidth=1)
            ax.set(title="Predicted and observed", xlabel="predicted", ylabel="observed")


class CoverageDisplay(Display):
    """Calibration of intervals: share of rows within them, against their nominal coverage.

    Below the diagonal, intervals are too narrow.

    Parameters
    ----------
    levels, covered : (n,) arrays
        Nominal coverages of the intervals, and shares of the rows within them.
    n_rows : int
    """

    def __init__(self, levels: NDArray, covered: NDArray, n_rows: int):
        self.levels, self.covered, self.n_rows = np.asarray(levels), np.asarray(covered), n_rows

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, method: str = "auto", output: Any = None,
        ax: "Axes | None" = None,
    ) -> Self:  # fmt: skip
        """Predict intervals at many coverages by a QTKMRegressor and draw their actual coverage.

        Use rows that the model was not fitted to; `method` is that of
        `QTKMRegressor.predict_interval`, and `output` selects one of several outputs.
        """
        check_regressor(model)
        levels = np.arange(0.05, 0.96, 0.05)
        covered, _ = cover(fitted(model), X, y, levels, method, output)
        return cls(levels, covered, len(y)).plot(ax)

    def _draw(self, ax: "Axes") -> None:
        # two standard errors of the covered share of perfectly calibrated intervals
        chance = 2 * np.sqrt(self.levels * (1 - self.levels) / self.n_rows)
        ax.fill_between(self.levels, self.levels - chance, self.levels + chance, color=FAINT,
                        alpha=0.4, linewidth=0)  # fmt: skip
        ax.axline((0, 0), slope=1, color="black", linewidth=1)
        ax.plot(self.levels, self.covered, ".-", color=FIRST)
        ax.set(title="Calibration", xlabel="coverage of intervals", ylabel="share of rows within",
               xlim=(0, 1), ylim=(0, 1))  # fmt: skip


def check_regressor(model: Any) -> None:
    """Raise an error for other models."""
    if not is_regressor(model):
        raise ValueError(
            f"{type(model).__name__} is not a regressor; for classes use ConfusionMatrixDisplay of "
            "sklearn.metrics or CalibrationDisplay of sklearn.calibration."
        )


def cover(
    model: Any, X: Any, y: Any, levels: Sequence[float] | NDArray, method: str = "auto",
    output: Any = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:  # fmt: skip
    """Return the shares of rows within intervals of some coverages, and the mean widths of these.

    y may be the chosen output alone.
    """
    number, known = output_number(model, output), model._known_uncertainty()
    parts = np.asarray(y, dtype=np.float64), *model.predict(X, return_std=True)
    observed, predicted, std = (p if p.ndim == 1 else p[:, number] for p in parts)
    widths = np.array([half_widths(known, float(level), method)[number] for level in levels])
    covered = (np.abs(observed - predicted) <= widths[:, None] * std).mean(axis=1)
    return covered, 2 * widths * std.mean()
