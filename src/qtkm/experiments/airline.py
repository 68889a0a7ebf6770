"""The paper's large experiment, its Table 1: how late a flight arrives.

    data → splits → models of the paper, defaults, other methods → records → page and figure

The six models of Table 1 are fitted as the authors' program does: M = 64, L = 10, λ = 1e-10, 25
epochs of plain alternating least squares from a random start, all distinct values exactly, and no
row set aside.  A model that is not quantized begins at the Kronecker product of a quantized start
of the same seed.  Fits run one after another, each on all cores, because their times are reported.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import mean_squared_error
from threadpoolctl import threadpool_limits

from ..datasets import load_airline, load_flights_2001, load_nyc_flights
from ..estimators import QTKMRegressor
from ..solvers import ALS
from .runs import Fit, Options, Records, Split, paper_model, quantized_start, run_fits, unquantized

KEYS = ("dataset", "model", "split")
VALUES = ("train_rows", "test_rows", "cores", "parameters", "epochs", "seconds", "test_mse")
N_BASIS, PERIOD, ALPHA, EPOCHS = 64, 10.0, 1e-10, 25
QUICK_EPOCHS, QUICK_ROWS = 5, 20_000
RADICES = (2, 2, 2, 2, 2, 2)
TKM_RANKS, QTKM_RANKS = (4, 6, 8), (20, 30, 40)
PAPER, SUBSTITUTES = "airline", ("nyc_flights", "flights_2001")
LOADERS: dict[str, Any] = {
    "airline": load_airline,
    "nyc_flights": load_nyc_flights,
    "flights_2001": load_flights_2001,
}


def run(
    options: Options,
    *,
    datasets: Iterable[str] | None = None,
    splits: int = 10,
    splits_2001: int = 1,
) -> Path:
    """Run the experiment, or what is left of it, and write its page.

    Parameters
    ----------
    options : Options
        Where results go, which data, how many cores; ``quick`` takes 20,000 of the New York
        flights, one split, few epochs and small alternatives.
    datasets : iterable of {"airline", "nyc_flights", "flights_2001"}, optional
        Which flights. By default those of the paper if they are there, and else both others.
    splits : int, default=10
        Number of random splits.
    splits_2001 : int, default=1
        The same for the three million flights of 2001, of which a split takes long.

    Returns
    -------
    pathlib.Path
        The page ``airline.md``; beside it are ``airline.csv``, ``airline.png`` and
        ``airline.pdf``.
    """
    from . import airline_models, airline_page

    for name, number in (("splits", splits), ("splits_2001", splits_2001)):
        if number < 1:
            raise ValueError(f"{name}={number} must be at least 1")
    flights = choose(datasets, options)
    no_process = airline_models.why_no_process(options.quick)
    models, further = table_one(), airline_models.defaults() + airline_models.others()
    skipped = {airline_models.GAUSSIAN_PROCESS} if no_process else set()
    fitted = [candidate for candidate in models + further if candidate.name not in skipped]
    settings = {
        "quick": options.quick,
        "n_basis": N_BASIS,
        "period": PERIOD,
        "alpha": ALPHA,
        "epochs": QUICK_EPOCHS if options.quick else EPOCHS,
    }
    records = Records(options.output / "airline.csv", KEYS, VALUES, settings)
    numbers = {"flights_2001": splits_2001}
    if options.quick:
        splits, numbers = 1, {}
    for each in flights:
        _run(each, fitted, numbers.get(each.name, splits), records, options)
        each.forget()
    results: dict[str, dict[str, list[dict[str, Any]]]] = {each.name: {} for each in flights}
    for row in records.rows:
        if row["dataset"] in results:
            results[row["dataset"]].setdefault(row["model"], []).append(row)
    return airline_page.write(options, results, models, further, records.n_new > 0, no_process)


# -- data -----------------------------------------------------------------------------------------


class Flights:
    """A set of flights, one of `LOADERS`, read when it is first needed."""

    def __init__(self, name: str, options: Options):
        if name not in LOADERS:
            raise ValueError(
                f"the data set {name!r} is not known; use one of {', '.join(map(repr, LOADERS))}"
            )
        self.name, self._options = name, options
        self._arrays: tuple[NDArray, NDArray] | None = None
        self._split: tuple[int, Split] | None = None

    def load(self) -> tuple[NDArray, NDArray]:
        """Return all rows: the columns and the delays in minutes."""
        if self._arrays is None:
            options = self._options
            X, y = LOADERS[self.name](return_X_y=True, as_frame=False, data_home=options.data_home)
            if options.quick and len(y) > QUICK_ROWS:
                rows = np.random.default_rng(0).permutation(len(y))[:QUICK_ROWS]
                X, y = X[rows], y[rows]
            self._arrays = X, y
        return self._arrays

    def split(self, seed: int) -> Split:
        """Return two thirds to train, one third to test; the last split is kept."""
        if self._split is None or self._split[0] != seed:
            self._split = None  # the old rows go before the new ones come
            self._split = seed, Split.draw(*self.load(), 1 / 3, seed)
        return self._split[1]

    def forget(self) -> None:
        """Free the memory; the rows are read again when they are needed."""
        self._arrays = self._split = None


def choose(datasets: Iterable[str] | None, options: Options) -> list[Flights]:
    """Return the named sets, or else the paper's if it is there, or its substitutes."""
    if datasets is not None:
        return [Flights(name, options) for name in dict.fromkeys(datasets)]
    if options.quick:
        return [Flights("nyc_flights", options)]
    missing: Exception | None = None
    found: list[Flights] = []
    for name in (PAPER, *SUBSTITUTES):
        flights = Flights(name, options)
        try:
            flights.load()  # the only way to know whether it can be read
        except (FileNotFoundError, ModuleNotFoundError) as error:
            missing = error
        else:
            found.append(flights)
            if name == PAPER:
                break
    if not found and missing is not None:
        raise missing
    return found


# -- models and fits ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Setting:
    """What a model is made for; `seed` is that of the split and of the model."""

    n_columns: int
    seed: int
    cores: int
    quick: bool = False


@dataclass(frozen=True)
class Candidate:
    """A model of the experiment.

    Attributes
    ----------
    name : str
        As in tables and records.
    make, count : callable
        Give the model for a Setting, and the number of parameters of a fitted model.
    cost : float
        Expected work of a fit on a row; QTKM of rank 20 has 1.
    family : str
        What is drawn in one colour.
    most_splits : int or None
        Largest number of splits to run it on; None means all.
    left_out : tuple of str
        Data sets that it is not run on.
    """

    name: str
    make: Callable[[Setting], Any]
    count: Callable[[Any], int]
    cost: float
    family: str
    most_splits: int | None = None
    left_out: tuple[str, ...] = ()


def table_one() -> list[Candidate]:
    """List the six models of the paper."""
    # an epoch of a small rank is bound by reading the rows, a large one by rank squared
    plain = [_paper("TKM", rank, None, cost=0.5) for rank in TKM_RANKS]
    quantized = [_paper("QTKM", rank, 2, cost=(rank / 20) ** 1.5) for rank in QTKM_RANKS]
    return plain + quantized


def _paper(kind: str, rank: int, quantization: int | None, cost: float) -> Candidate:
    def make(setting: Setting) -> QTKMRegressor:
        start = quantized_start([RADICES] * setting.n_columns, rank, setting.seed)
        return paper_model(
            n_basis=N_BASIS,
            period=PERIOD,
            quantization=quantization,
            rank=rank,
            alpha=ALPHA,
            solver=ALS(momentum=False),
            max_iter=QUICK_EPOCHS if setting.quick else EPOCHS,
            tol=0,
            init=start if quantization else unquantized(start),
            normalize_y=False,
            random_state=setting.seed,
            n_jobs=setting.cores,
        )

    return Candidate(f"{kind} R={rank}", make, count_weights, cost, kind)


def count_weights(model: Any) -> int:
    """Count the weights P, a complex number once as in the paper."""
    return int(model.n_parameters_)


def measure(candidate: Candidate, rows: Split, setting: Setting) -> dict[str, Any]:
    """Fit a model on the training rows and test it; returns the columns `VALUES`."""
    model = candidate.make(setting)
    with threadpool_limits(setting.cores):
        start = perf_counter()
        model.fit(rows.X_train, rows.y_train)
        seconds = perf_counter() - start
        if getattr(model, "status_", "") == "interrupted":
            raise KeyboardInterrupt  # a fit that was cut short is not a result
        prediction = model.predict(rows.X_test)
    return {
        "train_rows": len(rows.y_train),
        "test_rows": len(rows.y_test),
        "cores": setting.cores,
        "parameters": candidate.count(model),
        "epochs": model.n_iter_ if isinstance(model, QTKMRegressor) else None,
        "seconds": seconds,
        "test_mse": float(mean_squared_error(rows.y_test, prediction)),
    }


def fit_one(
    dataset: str,
    model: str,
    split: int,
    *,
    flights: Mapping[str, Any],
    candidates: Mapping[str, Candidate],
    cores: int,
    quick: bool,
) -> dict[str, Any]:
    """Run a fit that is named as in the records; see `measure`."""
    rows = flights[dataset].split(split)
    return measure(candidates[model], rows, Setting(rows.X_train.shape[1], split, cores, quick))


def compile_loops(candidates: Sequence[Candidate], rows: Split, setting: Setting) -> None:
    """Fit briefly, so that no time that is measured contains compilation."""
    X, target = rows.X_train[:20_000], np.ascontiguousarray(rows.y_train[:20_000])
    for candidate in candidates:
        model = candidate.make(setting)
        if isinstance(model, QTKMRegressor):
            model.set_params(max_iter=1).fit(X, target).predict(X[:100])


def _run(
    flights: Flights,
    candidates: Sequence[Candidate],
    splits: int,
    records: Records,
    options: Options,
) -> None:
    """Run the fits of one data set that are not recorded yet."""
    arguments = {
        "flights": {flights.name: flights},
        "candidates": {candidate.name: candidate for candidate in candidates},
        "cores": options.cores,
        "quick": options.quick,
    }
    fits = [
        Fit(
            {"dataset": flights.name, "model": candidate.name, "split": split},
            fit_one,
            arguments,
            candidate.cost,
        )
        for split in range(splits)
        for candidate in candidates
        if flights.name not in candidate.left_out
        and (candidate.most_splits is None or split < candidate.most_splits)
    ]
    left = [fit for fit in fits if records.key(fit.name) not in records.done]
    if left:
        rows = flights.split(left[0].name["split"])
        setting = Setting(rows.X_train.shape[1], 0, options.cores, options.quick)
        compile_loops(candidates, rows, setting)
    run_fits(fits, records, title=f"airline, {flights.name}", progress=options.progress)
