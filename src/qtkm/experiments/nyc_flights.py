"""The demo: predict how late a flight from New York arrives.

Two thirds of the flights of 2013 train the models, the last third tests them.
Errors are those of the delay standardized by its training mean and standard
deviation, so that predicting the mean gives about 1.
"""

from collections import namedtuple
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error, r2_score
from sklearn.model_selection import train_test_split

from ..datasets import load_nyc_flights
from ..estimators import QTKMRegressor
from ..inspection.plotting import new_figure, plain
from .runs import Split, compile_loops, count_parameters, fit_timed, save_figures

CATEGORIES = ["carrier", "origin", "dest"]
SEES_CATEGORIES = " + categories"  # in the name of a model
PLOT = "nyc_flights"
HEAD = f"{'model':<22} {'parameters':>10} {'seconds':>8} {'test MSE':>9} {'R2':>7}"
LINE = "{:<22} {:>10,} {:>8.1f} {:>9.4f} {:>7.4f}"
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
Outcome = namedtuple("Outcome", "name n_parameters seconds mse r2 delay")


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
        f"QTKM{SEES_CATEGORIES}": QTKMRegressor(
            random_state=seed, categorical_features="from_dtype"
        ),
        "boosting": boosting,
        f"boosting{SEES_CATEGORIES}": boosting,
        "500 trees": more,
        f"500 trees{SEES_CATEGORIES}": more,
    }


def evaluate(name: str, model: Any, flights: Split) -> Outcome:
    """Fit one model on the training rows and test it."""
    rows = flights
    if not name.endswith(SEES_CATEGORIES):
        X_train, X_test = (X.drop(columns=CATEGORIES) for X in (flights.X_train, flights.X_test))
        rows = replace(flights, X_train=X_train, X_test=X_test)
    compile_loops(model, rows)
    seconds = fit_timed(model, rows)
    prediction = model.predict(rows.X_test)
    mse, r2 = (score(rows.y_test, prediction) for score in (mean_squared_error, r2_score))
    delay = rows.mean + rows.scale * prediction
    return Outcome(name, count_parameters(model), seconds, mse, r2, delay)


def run(output: Path, rows: int | None = None, seed: int = 0) -> list[Outcome]:
    """Fit some or all flights, print the table, and draw the plot into the folder `output`."""
    flights = split_flights(rows, seed)
    print(
        f"New York flights of 2013: {len(flights.y_train):,} to train, "
        f"{len(flights.y_test):,} to test, on {cpu_count()} cores\n"
    )
    print(f"{HEAD}\n{'-' * len(HEAD)}", flush=True)
    outcomes = []
    for name, model in make_models(seed).items():
        outcomes.append(evaluate(name, model, flights))
        print(LINE.format(*outcomes[-1]), flush=True)
    print(NOTES)
    for name in save_figures(output, {PLOT: partial(draw, outcomes, flights)}).values():
        print(f"plot: {output / name}")
    return outcomes


def draw(outcomes: list[Outcome], flights: Split) -> Any:
    """Draw errors and mean delays beside each other."""
    figure = new_figure(11, 4.2)
    errors, delays = figure.subplots(1, 2)
    names = [outcome.name for outcome in outcomes]
    colours = [COLOURS[name] for name in names]
    bars = errors.barh(names, [outcome.mse for outcome in outcomes], color=colours)
    errors.bar_label(bars, fmt="%.3f", padding=3)
    errors.invert_yaxis()  # the first model on top
    errors.margins(x=0.15)
    errors.set(title="Test error", xlabel="MSE of the standardized delay")
    hour = (flights.X_test["DepTime"].to_numpy() // 60 - DAY_START) % 24
    count = np.bincount(hour, minlength=24)
    shown = np.flatnonzero(count >= FEWEST_FLIGHTS)
    every = [(outcome.name, outcome.delay, "-") for outcome in outcomes]
    every.append(("observed", flights.mean + flights.scale * flights.y_test, "."))
    for (name, delay, form), colour in zip(every, [*colours, "black"], strict=True):
        mean = np.bincount(hour, weights=delay, minlength=24)[shown] / count[shown]
        delays.plot(shown + DAY_START + 0.5, mean, form, color=colour, ms=9, label=name)
    delays.set(title="Delay by departure", xlabel="hour of departure", ylabel="mean delay, minutes")
    ticks = np.arange(DAY_START, DAY_START + 25, 4)
    delays.set_xticks(ticks, [str(tick % 24) for tick in ticks])
    delays.legend(frameon=False)
    for axes in (errors, delays):
        plain(axes)
    return figure
