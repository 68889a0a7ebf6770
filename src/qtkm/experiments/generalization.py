"""The paper's generalization experiment (its Figures 2 and 4), after the authors' scripts.

For each set and split: the penalty and the period by cross-validated kernel ridge regression
(KRR), which is also the unconstrained model; then the non-quantized (TKM) and the quantized
(QTKM) model at several ranks and random Fourier features (RFF) at several numbers of frequencies,
each from several seeds.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from ..baselines import ProductKernelRidgeCV, RandomFourierRidge
from ..datasets import REGISTRY
from ..solvers import ALS
from .runs import (
    Fit,
    Options,
    Records,
    Row,
    Split,
    paper_model,
    quantized_start,
    run_fits,
    unquantized,
)

SETS = ("airfoil", "yacht", "concrete", "energy", "qsar", "qsar_fish", "wine", "banana")
N_BASIS = 16
RADICES = (2, 2, 2, 2)
KEYS = ("set", "split", "model", "size", "seed")
VALUES = ("n_parameters", "train_mse", "test_mse", "epochs", "seconds")
KRR_KEYS = ("set", "split")
KRR_VALUES = ("rows", "columns", "alpha", "period", "cv_mse", "train_mse", "test_mse", "seconds")


@dataclass(frozen=True)
class Protocol:
    """What is varied, and how long a fit runs.

    `splits` are seeds of the 80/20 splits, `seeds` those of starts and random features, and
    `n_frequencies` the number of random models between 1 and the largest P of the others. A fit
    has converged when `window` epochs lowered its objective by less than a fraction `tolerance`.
    """

    sets: tuple[str, ...] = SETS
    splits: tuple[int, ...] = (0,)
    seeds: tuple[int, ...] = tuple(range(10))
    tkm_ranks: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    qtkm_ranks: tuple[int, ...] = tuple(range(1, 13))
    n_frequencies: int = 14
    max_iter: int = 5000
    window: int = 100
    tolerance: float = 1e-3

    def frequencies(self, n_columns: int) -> list[int]:
        """Return numbers of random frequencies, evenly on a logarithmic scale."""
        largest = max(
            N_BASIS * max(self.tkm_ranks, default=0), sum(RADICES) * max(self.qtkm_ranks, default=0)
        )
        return sorted({round(p) for p in np.geomspace(1, largest * n_columns, self.n_frequencies)})


QUICK = Protocol(
    sets=("yacht", "airfoil"), seeds=(0, 1), tkm_ranks=(1, 2, 4), qtkm_ranks=(1, 2, 4, 8),
    n_frequencies=6, max_iter=300,
)  # fmt: skip


def run(options: Options, *, splits: int = 1, protocol: Protocol | None = None) -> Path:
    """Run the experiment, or what is left of it, and write results, figures and page.

    Parameters
    ----------
    options : Options
    splits : int, default=1
        Number of random splits of each set. The paper redraws starts and random features only.
    protocol : Protocol, optional
        What is varied; by default the paper's, or a small one if ``options.quick``.

    Returns
    -------
    pathlib.Path
        The page.
    """
    from . import generalization_page

    protocol = protocol or (QUICK if options.quick else Protocol())
    protocol = replace(protocol, splits=tuple(range(splits)))
    settings = {
        "max_iter": protocol.max_iter,
        "window": protocol.window,
        "tolerance": protocol.tolerance,
    }
    folder = options.output
    krr = Records(folder / "generalization_krr.csv", KRR_KEYS, KRR_VALUES)
    records = Records(folder / "generalization.csv", KEYS, VALUES, settings)
    home, n_jobs = options.data_home, options.cores
    run_fits(krr_fits(protocol, home, n_jobs), krr, title="kernel ridge", progress=options.progress)
    run_fits(
        fits(protocol, krr.rows, home), records, title="generalization", n_jobs=n_jobs,
        progress=options.progress,
    )  # fmt: skip
    rows, chosen = (
        [row for row in found if row["set"] in protocol.sets and row["split"] in protocol.splits]
        for found in (records.rows, krr.rows)
    )
    has_new = krr.n_new + records.n_new > 0
    return generalization_page.write(options, protocol, rows, chosen, has_new)


@lru_cache(maxsize=4)
def rows_of(name: str, split: int, data_home: str | None) -> Split:
    """Split a set at random, 80 % to 20 %."""
    X, y = REGISTRY[name](return_X_y=True, as_frame=False, data_home=data_home)
    return Split.draw(X, y.astype(np.float64), 0.2, split)


def krr_fits(protocol: Protocol, data_home: str | None, n_jobs: int) -> Iterator[Fit]:
    """Choose penalty and period of every set and split."""
    for name in protocol.sets:
        for split in protocol.splits:
            n_rows = len(rows_of(name, split, data_home).y_train)
            yield Fit(
                {"set": name, "split": split},
                fit_krr,
                {"data_home": data_home, "n_jobs": n_jobs},
                cost=(n_rows / 1000) ** 3,
            )


def fit_krr(set: str, split: int, data_home: str | None, n_jobs: int) -> dict[str, Any]:
    """Fit kernel ridge regression by 3-fold cross-validation."""
    rows = rows_of(set, split, data_home)
    begin = process_time()
    folds = KFold(3, shuffle=True, random_state=split)
    model = ProductKernelRidgeCV(
        n_basis=N_BASIS, cv=folds, extrapolation="continue", n_jobs=n_jobs
    ).fit(rows.X_train, rows.y_train)
    return {
        "rows": len(rows.y_train),
        "columns": rows.X_train.shape[1],
        "alpha": model.best_params_["alpha"],
        "period": model.best_params_["period"],
        "cv_mse": model.best_score_,
        **_errors(model, rows),
        "seconds": process_time() - begin,
    }


def fits(protocol: Protocol, chosen: Iterable[Row], data_home: str | None) -> Iterator[Fit]:
    """List all fits of the models, the long ones first, from the rows of the KRR record."""
    every = [
        fit for row in chosen for fit in _fits_of(protocol, row, data_home)
        if row["set"] in protocol.sets and row["split"] in protocol.splits
    ]  # fmt: skip
    yield from sorted(every, key=lambda fit: -fit.cost)


def _fits_of(protocol: Protocol, row: Row, data_home: str | None) -> Iterator[Fit]:
    arguments = {
        "alpha": row["alpha"],
        "period": row["period"],
        "data_home": data_home,
        "protocol": protocol,
    }
    where = {"set": row["set"], "split": row["split"]}
    work = row["rows"] * row["columns"] * 1e-6
    frequencies = protocol.frequencies(row["columns"])
    for seed in protocol.seeds:
        for rank in protocol.tkm_ranks:
            name = {**where, "model": "TKM", "size": rank, "seed": seed}
            yield Fit(name, fit_network, arguments, cost=work * 8 * rank)
        for rank in protocol.qtkm_ranks:
            name = {**where, "model": "QTKM", "size": rank, "seed": seed}
            yield Fit(name, fit_network, arguments, cost=work * 4 * rank)
        for model in ("RFF", "RFF real", "RFF same alpha"):
            for count in frequencies:
                name = {**where, "model": model, "size": count, "seed": seed}
                cost = 1e-4 + row["rows"] * count**2 * 1e-9
                yield Fit(name, fit_random_features, arguments, cost=cost)


def fit_network(
    set: str, split: int, model: str, size: int, seed: int, alpha: float, period: float,
    data_home: str | None, protocol: Protocol,
) -> dict[str, Any]:  # fmt: skip
    """Fit a model of rank `size` to convergence; both kinds begin at the same function."""
    rows = rows_of(set, split, data_home)
    start = quantized_start([RADICES] * rows.X_train.shape[1], size, seed)
    begin = process_time()
    regressor = paper_model(
        n_basis=N_BASIS,
        period=period,
        alpha=alpha,
        quantization=2 if model == "QTKM" else None,
        init=start if model == "QTKM" else unquantized(start),
        solver=ALS(momentum=True),
        max_iter=protocol.max_iter,
        tol=0,
        callbacks=Converged(protocol.window, protocol.tolerance),
        n_jobs=1,
    ).fit(rows.X_train, rows.y_train)
    return {
        "n_parameters": regressor.n_parameters_,
        **_errors(regressor, rows),
        "epochs": regressor.n_iter_,
        "seconds": process_time() - begin,
    }


def fit_random_features(
    set: str, split: int, model: str, size: int, seed: int, alpha: float, period: float,
    data_home: str | None, protocol: Protocol,
) -> dict[str, Any]:  # fmt: skip
    """Fit ridge regression on random Fourier features.

    The kernel of the other models is Π M_d times larger than that of random features, so the
    penalty that means the same is α/Π M_d; "RFF same alpha" takes α as it is.
    """
    rows = rows_of(set, split, data_home)
    if model != "RFF same alpha":
        alpha = alpha / float(N_BASIS) ** rows.X_train.shape[1]
    begin = process_time()
    ridge = RandomFourierRidge(
        size,
        kind="real" if model == "RFF real" else "complex",
        n_basis=N_BASIS,
        period=period,
        alpha=alpha,
        extrapolation="continue",
        random_state=seed,
    ).fit(rows.X_train, rows.y_train)
    seconds = process_time() - begin
    return {"n_parameters": size, **_errors(ridge, rows), "epochs": None, "seconds": seconds}


@dataclass
class Converged:
    """Callback that ends a fit when `window` epochs gained less than a fraction `tolerance`."""

    window: int
    tolerance: float

    def __call__(self, progress: Any) -> bool:
        """Return True if the fit has converged."""
        values = progress.history.objective
        if progress.event != "epoch" or len(values) <= self.window:
            return False
        return values[-1 - self.window] - values[-1] < self.tolerance * values[-1]


def _errors(model: Any, rows: Split) -> dict[str, float]:
    train = np.mean((model.predict(rows.X_train) - rows.y_train) ** 2)
    test = np.mean((model.predict(rows.X_test) - rows.y_test) ** 2)
    return {"train_mse": float(train), "test_mse": float(test)}
