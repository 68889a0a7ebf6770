"""The plot of the demo: errors, learning curves, and delay by time of departure."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from .nyc_flights import Flights, Outcome

COLOURS = {
    "linear regression": "#8c8c8c",
    "QTKM": "#4c9bd6",
    "QTKM + categories": "#1b4f8a",
    "boosting": "#f2a65a",
    "boosting + categories": "#c8641b",
    "500 trees": "#e8c39a",
    "500 trees + categories": "#8f4a16",
}
FEWEST_FLIGHTS = 30  # an hour with fewer test flights has no trustworthy mean
DAY_START = 4  # flights after midnight are late ones of the day before


def draw(outcomes: list["Outcome"], flights: "Flights", file: Path) -> None:
    """Draw the three panels and save them.

    Parameters
    ----------
    outcomes : list of Outcome
        The fitted models.
    flights : Flights
        The rows they were fitted and tested on.
    file : pathlib.Path
        Where to save the picture; its ending names the format.
    """
    # A Figure of its own needs no display and leaves pyplot's state alone.
    figure = Figure(figsize=(14, 4.2), layout="constrained")
    errors, learning, delays = figure.subplots(1, 3)
    draw_errors(errors, outcomes)
    draw_learning(learning, outcomes)
    draw_delays(delays, outcomes, flights)
    figure.savefig(file, dpi=150)


def draw_errors(axes: Axes, outcomes: list["Outcome"]) -> None:
    """Bars of the test error, the first model on top."""
    names = [outcome.name for outcome in outcomes]
    bars = axes.barh(names, [o.mse for o in outcomes], color=[COLOURS[name] for name in names])
    axes.bar_label(bars, fmt="%.3f", padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set(title="Test error", xlabel="MSE of the standardized delay")
    axes.spines[["top", "right"]].set_visible(False)


def draw_learning(axes: Axes, outcomes: list["Outcome"]) -> None:
    """Objective after every epoch, of the models that keep a history."""
    for outcome in outcomes:
        if hasattr(outcome.model, "history_"):
            objective = epoch_objectives(outcome.model.history_)
            epochs = np.arange(1, len(objective) + 1)
            axes.plot(epochs, objective, ".-", color=COLOURS[outcome.name], label=outcome.name)
    axes.set(title="Learning", xlabel="epoch", ylabel="training objective")
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)


def epoch_objectives(history: Any) -> list[float]:
    """Objective after each epoch, from a fitted ``history_``."""
    return list(history["objective"])


def draw_delays(axes: Axes, outcomes: list["Outcome"], flights: "Flights") -> None:
    """Mean delay of the test flights by hour of departure, observed and predicted."""
    hour = (flights.X_test["DepTime"].to_numpy() // 60 - DAY_START) % 24
    count = np.bincount(hour, minlength=24)
    shown = np.flatnonzero(count >= FEWEST_FLIGHTS)
    middle = shown + DAY_START + 0.5

    def mean_by_hour(delay: np.ndarray) -> np.ndarray:
        return np.bincount(hour, weights=delay, minlength=24)[shown] / count[shown]

    for outcome in outcomes:
        mean = mean_by_hour(outcome.delay)
        axes.plot(middle, mean, color=COLOURS[outcome.name], label=outcome.name)
    axes.plot(middle, mean_by_hour(flights.y_test), "k.", markersize=9, label="observed")
    axes.set(title="Delay by departure", xlabel="hour of departure", ylabel="mean delay, minutes")
    ticks = np.arange(DAY_START, DAY_START + 25, 4)
    axes.set_xticks(ticks, [str(tick % 24) for tick in ticks])
    axes.legend(frameon=False)
    axes.spines[["top", "right"]].set_visible(False)
