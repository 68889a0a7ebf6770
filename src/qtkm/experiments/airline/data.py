"""Flights of the airline experiment: the paper's file or what stands in for it, and its splits."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from ...datasets import load_airline, load_flights_2001, load_nyc_flights
from ..options import Options

PAPER = "airline"
SUBSTITUTES = ("nyc_flights", "flights_2001")
QUICK_ROWS = 20_000

LOADERS: dict[str, Any] = {
    "airline": load_airline,
    "nyc_flights": load_nyc_flights,
    "flights_2001": load_flights_2001,
}
TITLES = {
    "airline": "USA 2008",
    "nyc_flights": "New York 2013",
    "flights_2001": "USA 2001",
}


@dataclass(frozen=True)
class Halves:
    """Two thirds of the rows to train, one third to test, and the scale of the training targets.

    Attributes
    ----------
    X_train, X_test : ndarray of shape (n_rows, n_columns)
    y_train, y_test : ndarray of shape (n_rows,)
        Standardized by the mean and the deviation (ddof=1) of the training rows.
    """

    X_train: NDArray
    X_test: NDArray
    y_train: NDArray
    y_test: NDArray


class Flights:
    """A set of flights, read when it is first needed.

    Parameters
    ----------
    name : str
        One of `LOADERS`.
    options : Options
        Where the data are, and whether to take only some rows.
    """

    def __init__(self, name: str, options: Options):
        if name not in LOADERS:
            raise ValueError(
                f"the data set {name!r} is not known; use one of {', '.join(map(repr, LOADERS))}"
            )
        self.name, self._options = name, options
        self._arrays: tuple[NDArray, NDArray] | None = None
        self._halves: tuple[int, Halves] | None = None

    def load(self) -> tuple[NDArray, NDArray]:
        """All rows: the columns and the delays in minutes."""
        if self._arrays is None:
            options = self._options
            X, y = LOADERS[self.name](return_X_y=True, as_frame=False, data_home=options.data_home)
            if options.quick and len(y) > QUICK_ROWS:
                rows = np.random.default_rng(0).permutation(len(y))[:QUICK_ROWS]
                X, y = X[rows], y[rows]
            self._arrays = X, y
        return self._arrays

    def split(self, seed: int) -> Halves:
        """Training and test rows of a split; the last one is kept for the next model."""
        if self._halves is None or self._halves[0] != seed:
            self._halves = None  # the old rows go before the new ones come
            self._halves = seed, _split(*self.load(), seed)
        return self._halves[1]

    def forget(self) -> None:
        """Give the memory back; the rows are read again when they are needed."""
        self._arrays = self._halves = None


def _split(X: NDArray, y: NDArray, seed: int) -> Halves:
    train, test = train_test_split(np.arange(len(y)), test_size=1 / 3, random_state=seed)
    mean, scale = y[train].mean(), y[train].std(ddof=1)
    return Halves(X[train], X[test], (y[train] - mean) / scale, (y[test] - mean) / scale)


def choose(datasets: Iterable[str] | None, options: Options) -> list[Flights]:
    """Return the named sets, or else the paper's if it is there, or its substitutes.

    Parameters
    ----------
    datasets : iterable of str or None
        Names; each of them must be there.
    options : Options

    Returns
    -------
    list of Flights
    """
    if datasets is not None:
        return [Flights(name, options) for name in dict.fromkeys(datasets)]
    if options.quick:
        return [Flights("nyc_flights", options)]
    paper, _ = _present([PAPER], options)
    if paper:
        return paper
    found, missing = _present(SUBSTITUTES, options)
    if not found and missing is not None:
        raise missing
    return found


def _present(names: Iterable[str], options: Options) -> tuple[list[Flights], Exception | None]:
    """Those sets that can be read, and why the last of the others cannot."""
    found: list[Flights] = []
    missing: Exception | None = None
    for name in names:
        flights = Flights(name, options)
        try:
            flights.load()  # the only way to know whether it can be read
        except (FileNotFoundError, ModuleNotFoundError) as error:
            missing = error
        else:
            found.append(flights)
    return found, missing
