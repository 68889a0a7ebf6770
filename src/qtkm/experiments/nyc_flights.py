"""The demo: predict how late a flight from New York arrives.

Two thirds of the flights of 2013 train the models, the last third tests them.
Errors are those of the delay standardized by its training mean and standard
deviation, so that predicting the mean gives about 1.
"""

from collections import namedtuple
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import train_test_split

from ..datasets import load_nyc_flights
from ..estimators import QTKMRegressor
from ..inspection.plotting import plain
from .runs import Split, compile_loops, count_parameters, fit_timed, new_figure, try_to_draw

CATEGORIES = ["carrier", "origin", "dest"]
SEES_CATEGORIES = " + categories"  # in the name of a model
PLOT_FILE = "nyc_flights.png"
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
NOTES = """
all with their default settings, but for the number of trees in the last two
test MSE: of the standardized delay (predicting the mean gives about 1)
parameters: complex weights (QTKM), coefficients (linear), at most so many leaves (boosting)
"""


#: a fitted model, its cost and scores, and the delays in minutes that it predicts for test rows
Outcome = namedtuple("Outcome", "name model n_parameters seconds mse r2 delay")


def split_flights(rows: int | None = None, seed: int = 0) -> Split:
    """Load the flights and split them at random, two thirds to one third."""
    X, y = load_nyc_flights(categories=True, return_X_y=True)
    if rows is not None and rows < len(y):
        X = X.sample(rows, random_state=seed)
        y = y.loc[X.index]
    return Split.standardize(
        *train_test_split(X, y.to_numpy(np.float64), test_size=1 / 3, random_state=seed)
    )


def make_models(seed: int = 0) -> dict[str, Any]:
    """Return the models of the demo by name."""
    boosting = HistGradientBoostingRegressor(random_state=seed)
    # five times the default: boosting is far from converged at 100 trees here
    more = HistGradientBoostingRegressor(random_state=seed, max_iter=500)
    return {
        "linear regression": LinearRegression(),
        "QTKM": QTKMRegressor(random_state=seed),
        "QTKM + categories": QTKMRegressor(random_state=seed, categorical_features="from_dtype"),
        "boosting": boosting,
        "boosting + categories": clone(boosting),
        "500 trees": more,
        "500 trees + categories": clone(more),
    }


def rows_for(name: str, flights: Split) -> Split:
    """Leave out the categories if the model does not see them."""
    if name.endswith(SEES_CATEGORIES):
        return flights
    X_train, X_test = (X.drop(columns=CATEGORIES) for X in (flights.X_train, flights.X_test))
    return replace(flights, X_train=X_train, X_test=X_test)


def evaluate(name: str, model: Any, flights: Split) -> Outcome:
    """Fit one model on the training rows and test it."""
    rows = rows_for(name, flights)
    seconds = fit_timed(model, rows)
    prediction = model.predict(rows.X_test)
    mse, r2 = (score(rows.y_test, prediction) for score in (mean_squared_error, r2_score))
    delay = rows.mean + rows.scale * prediction
    return Outcome(name, model, count_parameters(model), seconds, mse, r2, delay)


def format_table(outcomes: Iterable[Outcome]) -> str:
    """Lay the outcomes out as text, one line a model, columns aligned."""
    lines = [f"{'model':<22} {'parameters':>10} {'seconds':>8} {'test MSE':>9} {'R2':>7}"]
    lines.append("-" * len(lines[0]))
    lines += [
        f"{o.name:<22} {o.n_parameters:>10,} {o.seconds:>8.1f} {o.mse:>9.4f} {o.r2:>7.4f}"
        for o in outcomes
    ]
    return "\n".join(lines)


def run(output: Path, rows: int | None = None, seed: int = 0) -> list[Outcome]:
    """Fit some or all flights, print the table, and draw the plot into the folder `output`."""
    flights = split_flights(rows, seed)
    print(
        f"New York flights of 2013: {len(flights.y_train):,} to train, "
        f"{len(flights.y_test):,} to test, on {cpu_count()} cores"
    )
    models, start = make_models(seed), perf_counter()
    for name, model in models.items():
        compile_loops([model], rows_for(name, flights).X_train, flights.y_train)
    print(f"compiled loops ready after {perf_counter() - start:.1f} s\n", flush=True)
    outcomes = [evaluate(name, model, flights) for name, model in models.items()]
    print(format_table(outcomes))
    print(NOTES)
    output.mkdir(parents=True, exist_ok=True)
    for name in try_to_draw(lambda: draw(outcomes, flights, output / PLOT_FILE)).values():
        print(f"plot: {output / name}")
    return outcomes


def draw(outcomes: list[Outcome], flights: Split, file: Path) -> dict[str, str]:
    """Draw errors, learning and mean delays beside each other."""
    figure = new_figure(14, 4.2)
    errors, learning, delays = figure.subplots(1, 3)
    colours = [COLOURS[outcome.name] for outcome in outcomes]
    bars = errors.barh([o.name for o in outcomes], [o.mse for o in outcomes], color=colours)
    errors.bar_label(bars, fmt="%.3f", padding=3)
    errors.invert_yaxis()  # the first model on top
    errors.margins(x=0.15)
    errors.set(title="Test error", xlabel="MSE of the standardized delay")
    for outcome, colour in zip(outcomes, colours, strict=True):
        if hasattr(outcome.model, "history_"):
            objective = outcome.model.history_["objective"]
            epochs = np.arange(1, len(objective) + 1)
            learning.plot(epochs, objective, ".-", color=colour, label=outcome.name)
    learning.set(title="Learning", xlabel="epoch", ylabel="training objective")
    hour = (flights.X_test["DepTime"].to_numpy() // 60 - DAY_START) % 24
    count = np.bincount(hour, minlength=24)
    shown = np.flatnonzero(count >= FEWEST_FLIGHTS)
    middle = shown + DAY_START + 0.5

    def mean_by_hour(delay: np.ndarray) -> np.ndarray:
        return np.bincount(hour, weights=delay, minlength=24)[shown] / count[shown]

    for outcome, colour in zip(outcomes, colours, strict=True):
        delays.plot(middle, mean_by_hour(outcome.delay), color=colour, label=outcome.name)
    observed = flights.mean + flights.scale * flights.y_test
    delays.plot(middle, mean_by_hour(observed), "k.", markersize=9, label="observed")
    delays.set(title="Delay by departure", xlabel="hour of departure", ylabel="mean delay, minutes")
    ticks = np.arange(DAY_START, DAY_START + 25, 4)
    delays.set_xticks(ticks, [str(tick % 24) for tick in ticks])
    for axes in (learning, delays):
        axes.legend(frameon=False)
    for axes in (errors, learning, delays):
        plain(axes)
    figure.savefig(file, dpi=150)
    return {"plot": file.name}
