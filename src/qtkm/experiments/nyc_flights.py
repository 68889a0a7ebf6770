"""The demo: predict how late a flight from New York arrives.

Two thirds of the flights of 2013 train the models, the last third tests them.
Errors are those of the delay standardized by its training mean and standard
deviation, so that predicting the mean gives about 1.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
from .report import new_figure, open_frame, try_to_draw

CATEGORIES = ["carrier", "origin", "dest"]
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


@dataclass(frozen=True)
class Flights:
    """Frames of eight numeric and three categorical columns, and delays in minutes."""

    X_train: Any
    X_test: Any
    y_train: np.ndarray
    y_test: np.ndarray
    mean: float
    scale: float

    def standardize(self, delay: np.ndarray) -> np.ndarray:
        """Turn minutes into standard deviations from the mean."""
        return (delay - self.mean) / self.scale


@dataclass(frozen=True)
class Candidate:
    """A model to be fitted, whether it sees the categories, and how to count its parameters."""

    name: str
    model: Any
    categories: bool
    count: Callable[[Any], int]

    def choose_columns(self, X: Any) -> Any:
        """Leave out the categories if the model does not see them."""
        return X if self.categories else X.drop(columns=CATEGORIES)


@dataclass(frozen=True)
class Outcome:
    """A fitted model, what it cost and how well it did on the test rows."""

    name: str
    model: Any
    n_parameters: int
    seconds: float
    mse: float
    r2: float
    delay: np.ndarray  # predicted for the test rows, minutes


def split_flights(rows: int | None = None, seed: int = 0) -> Flights:
    """Load the flights and split them at random, two thirds to one third."""
    X, y = load_nyc_flights(categories=True, return_X_y=True)
    if rows is not None and rows < len(y):
        X = X.sample(rows, random_state=seed)
        y = y.loc[X.index]
    X_train, X_test, y_train, y_test = train_test_split(
        X, y.to_numpy(np.float64), test_size=1 / 3, random_state=seed
    )
    return Flights(X_train, X_test, y_train, y_test, y_train.mean(), y_train.std(ddof=1))


def make_candidates(seed: int = 0) -> list[Candidate]:
    """List the models of the demo."""

    def boosting(**changes: Any) -> HistGradientBoostingRegressor:
        return HistGradientBoostingRegressor(random_state=seed, **changes)

    def leaves(model: Any) -> int:
        return model.n_iter_ * model.max_leaf_nodes

    plain = QTKMRegressor(random_state=seed)
    coded = QTKMRegressor(random_state=seed, categorical_features="from_dtype")
    return [
        Candidate("linear regression", LinearRegression(), False, lambda m: m.coef_.size + 1),
        Candidate("QTKM", plain, False, lambda m: m.n_parameters_),
        Candidate("QTKM + categories", coded, True, lambda m: m.n_parameters_),
        Candidate("boosting", boosting(), False, leaves),
        Candidate("boosting + categories", boosting(), True, leaves),
        # five times the default: boosting is far from converged at 100 trees here
        Candidate("500 trees", boosting(max_iter=500), False, leaves),
        Candidate("500 trees + categories", boosting(max_iter=500), True, leaves),
    ]


def evaluate(candidate: Candidate, flights: Flights) -> Outcome:
    """Fit one model on the training rows and test it."""
    X_train = candidate.choose_columns(flights.X_train)
    target = flights.standardize(flights.y_train)
    start = perf_counter()
    model = candidate.model.fit(X_train, target)
    seconds = perf_counter() - start
    prediction = model.predict(candidate.choose_columns(flights.X_test))
    truth = flights.standardize(flights.y_test)
    return Outcome(
        name=candidate.name,
        model=model,
        n_parameters=candidate.count(model),
        seconds=seconds,
        mse=mean_squared_error(truth, prediction),
        r2=r2_score(truth, prediction),
        delay=flights.mean + flights.scale * prediction,
    )


def format_table(outcomes: Iterable[Outcome]) -> str:
    """Lay the outcomes out as text, one line a model, columns aligned."""
    lines = [f"{'model':<22} {'parameters':>10} {'seconds':>8} {'test MSE':>9} {'R2':>7}"]
    lines.append("-" * len(lines[0]))
    lines += [
        f"{o.name:<22} {o.n_parameters:>10,} {o.seconds:>8.1f} {o.mse:>9.4f} {o.r2:>7.4f}"
        for o in outcomes
    ]
    return "\n".join(lines)


def compile_loops(candidates: Iterable[Candidate], flights: Flights) -> float:
    """Fit briefly on a part of the rows, so that no later time contains compilation."""
    part = slice(0, 20_000)
    target = flights.standardize(flights.y_train[part])
    start = perf_counter()
    for candidate in candidates:
        if isinstance(candidate.model, QTKMRegressor):
            X = candidate.choose_columns(flights.X_train.iloc[part])
            clone(candidate.model).set_params(max_iter=1).fit(X, target).predict(X)
    return perf_counter() - start


def run(output: Path, rows: int | None = None, seed: int = 0) -> list[Outcome]:
    """Run the demo: fit, print the table, draw the plot.

    Parameters
    ----------
    output : pathlib.Path
        Folder for the plot; made if it does not exist.
    rows : int, optional
        Use only so many flights.
    seed : int, default=0
        Seed of the split and of the models.

    Returns
    -------
    list of Outcome
    """
    flights = split_flights(rows, seed)
    print(
        f"New York flights of 2013: {len(flights.y_train):,} to train, "
        f"{len(flights.y_test):,} to test, on {cpu_count()} cores"
    )
    candidates = make_candidates(seed)
    print(f"compiled loops ready after {compile_loops(candidates, flights):.1f} s\n", flush=True)
    outcomes = [evaluate(candidate, flights) for candidate in candidates]
    print(format_table(outcomes))
    print(
        "\nall with their default settings, but for the number of trees in the last two\n"
        "test MSE: of the standardized delay (predicting the mean gives about 1)\n"
        "parameters: complex weights (QTKM), coefficients (linear), at most so many leaves "
        "(boosting)\n"
    )
    output.mkdir(parents=True, exist_ok=True)
    file = output / PLOT_FILE
    for name in try_to_draw(lambda: draw(outcomes, flights, file)).values():
        print(f"plot: {output / name}")
    return outcomes


def draw(outcomes: list[Outcome], flights: Flights, file: Path) -> dict[str, str]:
    """Draw the three panels and save them."""
    figure = new_figure(14, 4.2)
    errors, learning, delays = figure.subplots(1, 3)
    draw_errors(errors, outcomes)
    draw_learning(learning, outcomes)
    draw_delays(delays, outcomes, flights)
    figure.savefig(file, dpi=150)
    return {"plot": file.name}


def draw_errors(axes: Any, outcomes: list[Outcome]) -> None:
    """Bars of the test error, the first model on top."""
    names = [outcome.name for outcome in outcomes]
    bars = axes.barh(names, [o.mse for o in outcomes], color=[COLOURS[name] for name in names])
    axes.bar_label(bars, fmt="%.3f", padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set(title="Test error", xlabel="MSE of the standardized delay")
    open_frame(axes)


def draw_learning(axes: Any, outcomes: list[Outcome]) -> None:
    """Objective after every epoch, of the models that keep a history."""
    for outcome in outcomes:
        if hasattr(outcome.model, "history_"):
            objective = outcome.model.history_["objective"]
            epochs = np.arange(1, len(objective) + 1)
            axes.plot(epochs, objective, ".-", color=COLOURS[outcome.name], label=outcome.name)
    axes.set(title="Learning", xlabel="epoch", ylabel="training objective")
    axes.legend(frameon=False)
    open_frame(axes)


def draw_delays(axes: Any, outcomes: list[Outcome], flights: Flights) -> None:
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
    open_frame(axes)
