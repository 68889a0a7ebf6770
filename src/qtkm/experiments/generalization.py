"""The paper's generalization experiment (its Figures 2 and 4), after the authors' scripts.

For each set and split: the penalty and the period by cross-validated kernel ridge regression
(KRR), which is also the unconstrained model; then the non-quantized (TKM) and the quantized
(QTKM) model at several ranks and random Fourier features (RFF) at several numbers of frequencies,
each from several seeds.

A panel of a figure shows where TKM and QTKM can be compared. Models of rank one and random features
of few parameters have errors many times as large: these are written as numbers into a strip above
it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import KFold

from ..baselines import ProductKernelRidgeCV, RandomFourierRidge
from ..datasets import REGISTRY
from ..solvers import ALS
from . import report
from .report import COLOURS, duration, table
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
    return write(options, protocol, rows, chosen, has_new)


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


# -- curves, page and figures ---------------------------------------------------------------------

DOUBLE_DESCENT = ("qsar", "qsar_fish", "airfoil")
MODELS = ("RFF", "TKM", "QTKM")
SAME_ALPHA = "RFF same alpha"
TITLES = {"test_mse": "test", "train_mse": "training"}
NOTE = (
    "grey strip: errors above the scale,\n"
    "written at their P\n"
    "RFF begin at P = 1, left of the panels\n"
    "shaded: one standard deviation\n"
    "both axes are logarithmic"
)
#: share of a panel's height below the strip, and middles of its three lines of numbers
BELOW, LINES = 0.76, {SAME_ALPHA: 0.955, "TKM": 0.88, "QTKM": 0.805}


@dataclass(frozen=True)
class Curve:
    """Errors of one model on one set over splits and seeds, by ascending number of parameters."""

    n_parameters: NDArray
    errors: list[NDArray]

    @property
    def mean(self) -> NDArray:
        """Mean error at each number of parameters."""
        return np.array([e.mean() for e in self.errors])

    @property
    def deviation(self) -> NDArray:
        """Standard deviation over splits and seeds."""
        return np.array([e.std(ddof=1) if e.size > 1 else 0.0 for e in self.errors])

    @property
    def standard_error(self) -> NDArray:
        """Standard error of the mean."""
        return self.deviation / np.sqrt([e.size for e in self.errors])

    def below(self, limit: float) -> "Curve":
        """Return the part with fewer than `limit` parameters."""
        keep = self.n_parameters < limit
        errors = [e for e, wanted in zip(self.errors, keep, strict=True) if wanted]
        return Curve(self.n_parameters[keep], errors)


def curve(rows: Iterable[Row], name: str, model: str, error: str = "test_mse") -> Curve:
    """Collect the errors of a model on a set."""
    found: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row["set"] == name and row["model"] == model:
            found[row["n_parameters"]].append(row[error])
    sizes = sorted(found)
    return Curve(np.array(sizes, dtype=int), [np.array(found[size]) for size in sizes])


@dataclass(frozen=True)
class Comparison:
    """QTKM beside TKM at equal numbers of parameters below the number of rows."""

    n_compared: int
    n_ahead: int  # QTKM's mean is not above TKM's
    n_clearly_behind: int  # above by more than two standard errors of the difference
    gap: float  # mean of 1 - QTKM/TKM

    @property
    def holds(self) -> bool:
        """Whether QTKM is at or below TKM everywhere."""
        return self.n_compared > 0 and self.n_ahead == self.n_compared


def compare(quantized: Curve, full: Curve, n_rows: int) -> Comparison:
    """Compare two curves at the numbers of parameters that both have, below `n_rows`."""
    quantized, full = quantized.below(n_rows), full.below(n_rows)
    _, first, second = np.intersect1d(
        quantized.n_parameters, full.n_parameters, return_indices=True
    )
    ours, theirs = quantized.mean[first], full.mean[second]
    error = np.hypot(quantized.standard_error[first], full.standard_error[second])
    gap = float(np.mean(1 - ours / theirs)) if len(ours) else float("nan")
    behind = int(np.sum(ours - theirs > 2 * error))
    return Comparison(len(ours), int(np.sum(ours <= theirs)), behind, gap)


def turning_point(line: Curve) -> int | None:
    """Return the number of parameters with the least mean error, None if it is the largest."""
    best = int(np.argmin(line.mean))
    return None if best == len(line.mean) - 1 else int(line.n_parameters[best])


def descends_twice(line: Curve) -> bool:
    """Whether the error falls, rises, and falls again, by more than two standard errors each."""
    mean, error = line.mean, line.standard_error
    for peak in range(1, len(mean) - 1):
        before = int(np.argmin(mean[:peak]))
        after = peak + 1 + int(np.argmin(mean[peak + 1 :]))
        if (
            before > 0
            and mean[0] - mean[before] > 2 * np.hypot(error[0], error[before])
            and mean[peak] - mean[before] > 2 * np.hypot(error[peak], error[before])
            and mean[peak] - mean[after] > 2 * np.hypot(error[peak], error[after])
        ):
            return True
    return False


def write(
    options: Options, protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row], has_new: bool
) -> Path:
    """Draw the figures and write the page; `has_new` tells whether fits were made since."""

    def draw_both() -> dict[str, str]:
        files = {}
        for kind in ("test", "train"):
            figure = draw(rows, krr, protocol.sets, f"{kind}_mse")
            file = options.output / f"generalization_{kind}"
            files[f"{kind}_figure"] = report.save_figure(figure, file)[0].name
        return files

    splits = len(protocol.splits)
    epochs = [row["epochs"] for row in rows if row["epochs"] not in ("", None)]
    values = {
        **report.try_to_draw(draw_both),
        "n_seeds": len(protocol.seeds),
        "splits": f"{splits} split{'s' if splits > 1 else ''}",
        "choices": _choices(krr),
        "errors": _error_table(protocol, rows, krr),
        "n_sets": len(protocol.sets),
        **_quantized_ahead(protocol, rows, krr),
        "yacht": _yacht(protocol, rows, krr),
        **_overfitting(protocol, rows),
        "double_descent": _double_descent(protocol, rows),
        "random_features": _random_features(protocol, rows, krr),
        "window": protocol.window,
        "tolerance": protocol.tolerance,
        "max_iter": protocol.max_iter,
        "n_capped": sum(count >= protocol.max_iter for count in epochs),
        "n_fits": len(epochs),
        "median_epochs": int(np.median(epochs)),
    }
    seconds = sum(row["seconds"] for row in [*rows, *krr])
    quick = f"{len(protocol.sets)} sets, {len(protocol.seeds)} seeds, few epochs"
    return report.write_page(options, "generalization", seconds, has_new, quick, values)


def _choices(krr: Sequence[Row]) -> str:
    lines = [
        (
            row["set"], row["split"], f"{row['rows']:,}", row["columns"], f"{row['alpha']:.0e}",
            f"{row['period']:g}", f"{row['train_mse']:.4f}", f"{row['test_mse']:.4f}",
            duration(row["seconds"]),
        )
        for row in krr
    ]  # fmt: skip
    headers = ["set", "split", "N", "D", "alpha", "L", "KRR train", "KRR test", "time"]
    return table(headers, lines)


def _error_table(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> str:
    lines = []
    for name in protocol.sets:
        models = {model: curve(rows, name, model) for model in ("RFF", "TKM", "QTKM")}
        last = models["TKM"].n_parameters[-1]
        pairs = [_at(models[model], int(last)) for model in ("TKM", "QTKM")]
        best = [_best(models[model]) for model in ("RFF", "TKM", "QTKM")]
        full = np.mean([row["test_mse"] for row in krr if row["set"] == name])
        lines.append((name, f"{full:.4f}", *best, *pairs))
    headers = [
        "set", "KRR", "best RFF", "best TKM", "best QTKM", "TKM, same P", "QTKM, same P",
    ]  # fmt: skip
    return table(headers, lines)


def _best(line: Curve) -> str:
    i = int(np.argmin(line.mean))
    return f"{line.mean[i]:.4f} ({line.n_parameters[i]:,})"


def _at(line: Curve, n_parameters: int) -> str:
    (places,) = np.nonzero(line.n_parameters == n_parameters)
    if not len(places):
        return "–"
    i = int(places[0])
    return f"{line.mean[i]:.4f} ± {line.deviation[i]:.4f}"


def _rows_of(krr: Sequence[Row], name: str) -> int:
    return next(row["rows"] for row in krr if row["set"] == name)


def _quantized_ahead(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> dict[str, Any]:
    lines, holds = [], {"test": 0, "train": 0}
    for name in protocol.sets:
        entry: list[Any] = [name]
        for kind in holds:
            ours, theirs = (curve(rows, name, m, f"{kind}_mse") for m in ("QTKM", "TKM"))
            found = compare(ours, theirs, _rows_of(krr, name))
            holds[kind] += found.holds
            entry += [
                f"{found.n_ahead} of {found.n_compared}", found.n_clearly_behind,
                f"{100 * found.gap:+.1f} %", "yes" if found.holds else "no",
            ]  # fmt: skip
        lines.append(entry)
    whats = ("ahead", "clearly behind", "gap", "holds")
    headers = ["set", *(f"{kind}: {what}" for kind in holds for what in whats)]
    return {
        "n_tested": holds["test"],
        "n_trained": holds["train"],
        "ahead": table(headers, lines),
    }


def _yacht(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> str:
    if "yacht" not in protocol.sets:
        return "Not run."
    line = curve(rows, "yacht", "QTKM")
    full = np.mean([row["test_mse"] for row in krr if row["set"] == "yacht"])
    i = int(np.argmin(line.mean))
    verdict = "Found" if line.mean[i] < full else "Not found"
    return (
        f"{verdict}: the least mean test error of QTKM is {line.mean[i]:.5f} "
        f"± {line.standard_error[i]:.5f} (P={line.n_parameters[i]:,}), that of KRR {full:.5f}."
    )


def _overfitting(protocol: Protocol, rows: Sequence[Row]) -> dict[str, Any]:
    lines, sooner, later = [], 0, 0
    for name in protocol.sets:
        ours, theirs = (turning_point(curve(rows, name, model)) for model in ("QTKM", "TKM"))
        lines.append((name, *(f"{p:,}" if p else "none" for p in (ours, theirs))))
        sooner += ours is not None and (theirs is None or ours < theirs)
        later += theirs is not None and (ours is None or theirs < ours)
    points = table(["set", "QTKM", "TKM"], lines)
    return {"n_sooner": sooner, "n_later": later, "turning_points": points}


def _double_descent(protocol: Protocol, rows: Sequence[Row]) -> str:
    found = {
        name
        for name in protocol.sets
        if any(descends_twice(curve(rows, name, model)) for model in ("QTKM", "TKM"))
    }
    run = [name for name in DOUBLE_DESCENT if name in protocol.sets]
    if not run:
        return "Not run."
    there = [name for name in run if name in found]
    also = [name for name in protocol.sets if name in found and name not in run]
    text = f"Found on {', '.join(there)}." if there else f"Not found on {', '.join(run)}."
    if len(run) < len(DOUBLE_DESCENT):
        text += " The others were not run."
    if also:
        text += f" Also on {', '.join(also)}."
    return (
        f"{text} It counts when the mean test error falls, rises and falls again by more than two "
        "standard errors each."
    )


def _random_features(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> str:
    if "banana" not in protocol.sets:
        return "Not run."
    said = []
    for model in ("RFF", SAME_ALPHA):
        ahead = []
        for name in protocol.sets:
            lines = [curve(rows, name, m).below(_rows_of(krr, name)) for m in (model, "QTKM")]
            random, ours = (line.mean.min(initial=np.inf) for line in lines)
            if random <= 1.05 * ours:
                ahead.append(name)
        verdict = "found" if ahead == ["banana"] else "not found"
        said.append(f"they compete on {', '.join(ahead) or 'no set'}: {verdict}")
    return (
        "They compete on a set if their best test error of P < N is at most 5 % above QTKM's. With "
        "the penalty α/M^D, which means the same to them as α to the other models because their "
        f"kernel is smaller by that factor, {said[0]}. With α itself, which is far too much for "
        f"them on most sets, {said[1]}. Real random features are in the raw results as `RFF real`."
    )


def draw(rows: Sequence[Row], krr: Sequence[Row], sets: Sequence[str], error: str) -> Any:
    """Draw one panel for each set."""
    n_columns = min(3, len(sets) + 1)
    n_lines = -(-(len(sets) + 1) // n_columns)  # one cell more, for the legend
    figure = report.new_figure(3.0 * n_columns, 2.6 * n_lines)
    axes = figure.subplots(n_lines, n_columns, squeeze=False)
    for ax in axes.flat[len(sets) :]:
        ax.axis("off")
    handles: dict[str, Any] = {}
    for ax, name in zip(axes.flat, sets, strict=False):
        curves = {model: curve(rows, name, model, error) for model in (*MODELS, SAME_ALPHA)}
        _panel(ax, curves, [row for row in krr if row["set"] == name], error)
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    for ax in axes[:, 0]:
        ax.set_ylabel(f"{TITLES[error]} mean squared error")
    _legend(axes.flat[len(sets)], handles)
    return figure


def _panel(ax: Any, curves: Mapping[str, Curve], krr: Sequence[Row], error: str) -> None:
    level = float(np.mean([row[error] for row in krr]))
    n_rows = krr[0]["rows"]
    for model in MODELS:
        line = curves[model]
        mean, deviation, colour = line.mean, line.deviation, COLOURS[model]
        low = np.maximum(mean - deviation, mean / 10)
        ax.fill_between(line.n_parameters, low, mean + deviation, color=colour, alpha=0.2, lw=0)
        ax.plot(line.n_parameters, mean, "o-", ms=3, lw=1.5, color=colour, label=model)
    ax.axhline(level, color=COLOURS["KRR"], lw=1.2, label="KRR, all weights", zorder=1)
    across, (low, high) = _limits(curves, level)
    if across[0] < n_rows < across[1]:
        ax.axvline(n_rows, color="0.5", ls="--", lw=1.2, label="P = N", zorder=1)
    ax.set(xscale="log", yscale="log", xlim=across, ylim=(low, low * (high / low) ** (1 / BELOW)))
    ax.set_title(f"{krr[0]['set']}, N={n_rows:,}, D={krr[0]['columns']}", fontsize=10)
    ax.set_xlabel("parameters P")
    ax.grid(True, which="major", alpha=0.25)
    _set_ticks(ax, low, high)
    _fill_strip(ax, curves, high)


def _limits(
    curves: Mapping[str, Curve], level: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Limits of P, all of TKM and QTKM, and of errors, up to the largest from TKM's rank 2 on."""
    pair = [curves[model] for model in ("TKM", "QTKM")]
    sizes = np.concatenate([line.n_parameters for line in pair])
    across = float(sizes.min()) / 1.35, float(sizes.max()) * 1.15
    begin = curves["TKM"].n_parameters[:2].max(initial=0)
    compared = np.concatenate([line.mean[line.n_parameters >= begin] for line in pair])
    shown = [line.mean[line.n_parameters > across[0]] for line in (*pair, curves["RFF"])]
    low = min([level, *(float(values.min(initial=np.inf)) for values in shown)])
    high = max(level, float(compared.max()))
    margin = (high / low) ** 0.1
    return across, (low / margin, high * margin)


def _set_ticks(ax: Any, low: float, high: float) -> None:
    """Put plain numbers at round values, also where an axis is shorter than a power of ten."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    wide = report.label_decades(ax.xaxis, "{x:g}")
    ticks = (wide if high > 8 * low else MaxNLocator(5)).tick_values(low, high)
    ax.set_yticks([tick for tick in ticks if low <= tick <= high])
    ax.set_yticks([], minor=True)
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.tick_params(which="both", labelsize=8)


def _fill_strip(ax: Any, curves: Mapping[str, Curve], high: float) -> None:
    """Write the errors above the scale, one line for each model."""
    left, right = ax.get_xlim()
    ax.axhspan(high, ax.get_ylim()[1], color="0.95", zorder=4)
    style = {"va": "center", "fontsize": 7.5, "zorder": 5, "transform": ax.get_xaxis_transform()}
    for model in ("TKM", "QTKM"):
        for size, value in zip(curves[model].n_parameters, curves[model].mean, strict=True):
            if value > high:
                at, colour = (size, LINES[model], f"{value:.2g}"), COLOURS[model]
                ax.text(*at, color=colour, ha="center", weight="bold", **style)
            else:  # once more, as the strip may cover a part of the point
                ax.plot(size, value, "o", ms=3, color=COLOURS[model], zorder=6)
    same = curves[SAME_ALPHA]
    values = same.mean[same.n_parameters > left]
    if values.min(initial=np.inf) <= high:
        label, colour = "RFF, same α", COLOURS["RFF"]
        ax.plot(same.n_parameters, same.mean, ":", lw=1.3, color=colour, label=label)
    if values.max(initial=0.0) > high:
        text = " to ".join(dict.fromkeys(f"{value:.2g}" for value in (values[0], values[-1])))
        at = (right / 1.03, LINES[SAME_ALPHA], f"RFF, same α: {text}")
        ax.text(*at, color=COLOURS["RFF"], ha="right", weight="bold", **style)


def _legend(ax: Any, handles: Mapping[str, Any]) -> None:
    ax.legend(handles.values(), handles, loc="upper left", frameon=False, fontsize=9)
    ax.text(0.02, 0.02, NOTE, transform=ax.transAxes, va="bottom", fontsize=8.5, linespacing=1.4)
