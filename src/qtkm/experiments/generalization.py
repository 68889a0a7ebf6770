"""The paper's generalization experiment (its Figures 2 and 4), after the authors' scripts.

For each set and split: the penalty and the period by cross-validated kernel ridge regression
(KRR), which is also the unconstrained model; then the non-quantized (TKM) and the quantized
(QTKM) model at several ranks and random Fourier features (RFF) at several numbers of frequencies,
each from several seeds.
"""

from collections import namedtuple
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold

from ..baselines import ProductKernelRidgeCV, RandomFourierRidge
from ..datasets._files import pandas
from ..inspection.plotting import new_figure
from ..solvers import ALS
from . import runs
from .runs import COLOURS, Fit, Options, Records, Split, draw_rows, fit_timed, run_fits

SETS = ("airfoil", "yacht", "concrete", "energy", "qsar", "qsar_fish", "wine", "banana")
N_BASIS, TEST_SIZE = 16, 0.2
SAME_ALPHA = "RFF same alpha"
RADICES = (2, 2, 2, 2)
KEYS = ("set", "split", "model", "size", "seed")
VALUES = ("n_parameters", "train_mse", "test_mse", "epochs", "seconds")
KRR_KEYS = ("set", "split")
KRR_VALUES = ("rows", "columns", "alpha", "period", "cv_mse", "train_mse", "test_mse", "seconds")


@dataclass(frozen=True)
class CurveProtocol:
    """What is varied, and how long a fit runs: until a `window` of epochs gains too little.

    `seeds` are those of starts and random features, and `n_frequencies` is the number of random
    models between 1 and the largest P of the others.
    """

    sets: tuple[str, ...] = SETS
    seeds: tuple[int, ...] = tuple(range(10))
    tkm_ranks: tuple[int, ...] = (1, 2, 3, 4, 5, 6)
    qtkm_ranks: tuple[int, ...] = tuple(range(1, 13))
    n_frequencies: int = 14
    max_iter: int = 5000
    window: int = 100
    tolerance: float = 1e-3

    def frequencies(self, n_columns: int) -> list[int]:
        """Return numbers of random frequencies, evenly on a logarithmic scale."""
        sizes = N_BASIS * max(self.tkm_ranks), sum(RADICES) * max(self.qtkm_ranks)
        largest = max(sizes) * n_columns
        return sorted({round(p) for p in np.geomspace(1, largest, self.n_frequencies)})


QUICK = CurveProtocol(
    sets=("yacht", "airfoil"), seeds=(0, 1), tkm_ranks=(1, 2, 4), qtkm_ranks=(1, 2, 4, 8),
    n_frequencies=6, max_iter=300,
)  # fmt: skip


def run(options: Options, *, splits: int = 1, protocol: CurveProtocol | None = None) -> Path:
    """Run the experiment, or what is left of it, and write results, figures and page.

    The paper has one split of each set: it redraws starts and random features only.
    """
    protocol = protocol or (QUICK if options.quick else CurveProtocol())
    settings = {name: getattr(protocol, name) for name in ("max_iter", "window", "tolerance")}
    krr = Records(options, "generalization_krr", KRR_KEYS, KRR_VALUES)
    records = Records(options, "generalization", KEYS, VALUES, settings)
    home = options.data_home
    own = {"data_home": home, "n_jobs": options.cores}
    fits = [
        Fit({"set": name, "split": split}, fit_krr, own)
        for name in protocol.sets
        for split in range(splits)
    ]
    chosen = run_fits(fits, krr)
    fits = [fit for row in chosen.to_dict("records") for fit in make_fits(protocol, row, home)]
    rows = run_fits(fits, records, options.cores)
    return write(records, protocol, rows, chosen)


def fit_krr(set: str, split: int, data_home: str | None, n_jobs: int) -> dict[str, Any]:
    """Fit kernel ridge regression by 3-fold cross-validation."""
    rows = draw_rows(set, split, TEST_SIZE, data_home)
    folds = KFold(3, shuffle=True, random_state=split)
    model = ProductKernelRidgeCV(n_basis=N_BASIS, cv=folds, extrapolation="continue", n_jobs=n_jobs)
    seconds = fit_timed(model, rows, clock=process_time)
    return {
        "rows": len(rows.y_train),
        "columns": rows.X_train.shape[1],
        **model.best_params_,
        "cv_mse": model.best_score_,
        **_errors(model, rows),
        "seconds": seconds,
    }


def make_fits(
    protocol: CurveProtocol, row: Mapping[str, Any], data_home: str | None
) -> Iterator[Fit]:
    """List all fits of the models of a set, from its row of the KRR record."""
    arguments = {"alpha": row["alpha"], "period": row["period"], "data_home": data_home,
                 "protocol": protocol}  # fmt: skip
    work = row["rows"] * row["columns"] * 1e-6
    models = [("TKM", rank, work * 8 * rank) for rank in protocol.tkm_ranks]
    models += [("QTKM", rank, work * 4 * rank) for rank in protocol.qtkm_ranks]
    models += [
        (model, count, 1e-4 + row["rows"] * count**2 * 1e-9)
        for model in ("RFF", "RFF real", SAME_ALPHA)
        for count in protocol.frequencies(row["columns"])
    ]
    for seed in protocol.seeds:
        for model, size, cost in models:
            values = (row["set"], row["split"], model, size, seed)
            yield Fit(dict(zip(KEYS, values, strict=True)), fit_one, arguments, cost)


def fit_one(
    set: str, split: int, model: str, size: int, seed: int, alpha: float, period: float,
    data_home: str | None, protocol: CurveProtocol,
) -> dict[str, Any]:  # fmt: skip
    """Fit a model of rank `size` to convergence, or `size` random features.

    TKM and QTKM begin at the same function. Their kernel is Π M_d times larger than that of random
    features, so the penalty that means the same is α/Π M_d; "RFF same alpha" takes α as it is.
    """
    rows = draw_rows(set, split, TEST_SIZE, data_home)
    n_columns = rows.X_train.shape[1]
    regressor: Any
    if model in ("TKM", "QTKM"):
        regressor = runs.paper_pair(
            model, RADICES, n_columns, size, seed, period=period, alpha=alpha,
            solver=ALS(momentum=True), max_iter=protocol.max_iter, n_jobs=1,
            callbacks=Converged(protocol.window, protocol.tolerance),
        )  # fmt: skip
    else:
        regressor = RandomFourierRidge(
            size, kind="real" if model == "RFF real" else "complex", n_basis=N_BASIS,
            alpha=alpha if model == SAME_ALPHA else alpha / float(N_BASIS) ** n_columns,
            period=period, extrapolation="continue", random_state=seed,
        )  # fmt: skip
    seconds = fit_timed(regressor, rows, clock=process_time)
    return {
        "n_parameters": runs.count_parameters(regressor),
        **_errors(regressor, rows),
        "epochs": getattr(regressor, "n_iter_", None),
        "seconds": seconds,
    }


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
    return {
        "train_mse": float(mean_squared_error(rows.y_train, model.predict(rows.X_train))),
        "test_mse": float(mean_squared_error(rows.y_test, model.predict(rows.X_test))),
    }


MODELS = ("RFF", "TKM", "QTKM")
TITLES = {"test_mse": "test", "train_mse": "training"}
#: model → its curve
Lines = Mapping[str, Any]


def curve(rows: Any, name: str, model: str, error: str = "test_mse") -> Any:
    """Return mean, deviation and standard error of a model's errors, by number of parameters."""
    found = rows[(rows["set"] == name) & (rows["model"] == model)]
    errors = found.groupby("n_parameters")[error]
    return errors.agg(mean="mean", deviation="std", error="sem").fillna(0.0)


#: QTKM beside TKM at equal numbers of parameters: at how many, at how many of these its mean is
#: not above TKM's, or above by two standard errors, whether that never happens, and the mean gain
Lead = namedtuple("Lead", "n_compared n_ahead n_clearly_behind holds gap")


def compare(quantized: Any, full: Any, n_rows: int) -> Lead:
    """Compare two curves at the numbers of parameters that both have, below `n_rows`."""
    both = quantized.join(full.add_suffix("_full"), how="inner")
    both = both[both.index < n_rows]
    excess = both["mean"] - both["mean_full"]
    limit = 2 * np.hypot(both["error"], both["error_full"])
    n_ahead, gap = int((excess <= 0).sum()), (1 - both["mean"] / both["mean_full"]).mean()
    holds = 0 < len(both) == n_ahead
    return Lead(len(both), n_ahead, int((excess > limit).sum()), holds, gap)


def turning_point(line: Any) -> float:
    """Return the number of parameters with the least mean error, infinity if it is the largest."""
    best = line["mean"].idxmin()
    return np.inf if best == line.index[-1] else best


def descends_twice(line: Any) -> bool:
    """Whether the error falls, rises, and falls again, by more than two standard errors each."""
    mean, error = line["mean"].to_numpy(), line["error"].to_numpy()

    def is_above(one: int, other: int) -> bool:
        return mean[one] - mean[other] > 2 * np.hypot(error[one], error[other])

    for peak in range(1, len(mean) - 1):
        before = int(np.argmin(mean[:peak]))
        after = peak + 1 + int(np.argmin(mean[peak + 1 :]))
        if is_above(0, before) and is_above(peak, before) and is_above(peak, after):
            return True
    return False


def describe(name: str, test: Lines, train: Lines, krr: float, n_rows: int) -> dict[str, Any]:
    """Return what the page says of a set, from the curves of its models."""
    means = {model: line["mean"] for model, line in test.items()}
    least = {model: mean[mean.index < n_rows].min() for model, mean in means.items()}
    ours, theirs = (turning_point(test[model]) for model in ("QTKM", "TKM"))
    leads = [compare(lines["QTKM"], lines["TKM"], n_rows) for lines in (test, train)]
    last = test["TKM"].index[-1]
    return {
        "set": name,
        "krr": krr,
        "best": {model: (mean.min(), mean.idxmin()) for model, mean in means.items()},
        "same": {
            m: "{:.4f} ± {:.4f}".format(*test[m].loc[last][:2]) if last in test[m].index else "–"
            for m in ("TKM", "QTKM")
        },
        "leads": leads,
        "gaps": [100 * each.gap for each in leads],
        "verdicts": ["yes" if each.holds else "no" for each in leads],
        "tested": leads[0].holds,
        "trained": leads[1].holds,
        "sooner": ours < theirs,
        "later": theirs < ours,
        "twice": descends_twice(test["TKM"]) or descends_twice(test["QTKM"]),
        "competing": least["RFF"] <= 1.05 * least["QTKM"],
        "competing_same": least[SAME_ALPHA] <= 1.05 * least["QTKM"],
    }


def write(records: Records, protocol: CurveProtocol, rows: Any, krr: Any) -> Path:
    """Draw the figures and write the page."""
    tests, trainings = (
        {n: {m: curve(rows, n, m, error) for m in (*MODELS, SAME_ALPHA)} for n in protocol.sets}
        for error in TITLES
    )
    by_set = krr.groupby("set", sort=False)
    full, n_rows = by_set["test_mse"].mean(), by_set["rows"].first()
    facts = [describe(n, tests[n], trainings[n], full[n], n_rows[n]) for n in tests]
    found = pandas().DataFrame(facts).set_index("set").select_dtypes(bool)
    those = {claim: list(found.index[holds]) for claim, holds in found.items()}
    said = {claim: ", ".join(names) or "no set" for claim, names in those.items()}
    for claim in ("competing", "competing_same"):
        said[claim] += ": found" if those[claim] == ["banana"] else ": not found"
    yacht, splits = tests["yacht"]["QTKM"], krr["split"].nunique()
    best = yacht.loc[yacht["mean"].idxmin()]
    epochs = rows[rows["model"].isin(("TKM", "QTKM"))]["epochs"].astype(int)
    values = {
        "n_seeds": len(protocol.seeds),
        "splits": f"{splits} split{'s' if splits > 1 else ''}",
        "krr": krr.assign(time=krr["seconds"].map(runs.duration)).to_dict("records"),
        "sets": facts,
        "n_sets": len(protocol.sets),
        "yacht": best,
        "yacht_size": best.name,
        "yacht_krr": full["yacht"],
        "yacht_found": "Found" if best["mean"] < full["yacht"] else "Not found",
        **{f"n_{claim}": len(names) for claim, names in those.items()},
        **said,
        "protocol": protocol,
        "n_capped": (epochs >= protocol.max_iter).sum(),
        "n_fits": len(epochs),
        "median_epochs": int(epochs.median()),
    }
    drawn = {
        "generalization_test": partial(draw, tests, krr, "test_mse"),
        "generalization_train": partial(draw, trainings, krr, "train_mse"),
    }
    seconds = rows["seconds"].sum() + krr["seconds"].sum()
    return runs.write_page(records, seconds, values, drawn)


def draw(lines: Mapping[str, Lines], krr: Any, error: str) -> Any:
    """Draw one panel for each set."""
    n_columns = min(3, len(lines) + 1)
    n_lines = -(-(len(lines) + 1) // n_columns)  # one cell more, for the legend
    figure = new_figure(3.0 * n_columns, 2.6 * n_lines)
    axes = figure.subplots(n_lines, n_columns, squeeze=False)
    handles: dict[str, Any] = {}
    for ax, (name, curves) in zip(axes.flat, lines.items(), strict=False):
        _draw_panel(ax, curves, krr[krr["set"] == name], error)
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    for ax in axes[:, 0]:
        ax.set_ylabel(f"{TITLES[error]} mean squared error")
    for ax in axes.flat[len(lines) :]:
        ax.axis("off")
    cell = axes.flat[len(lines)]
    cell.legend(handles.values(), handles, loc="upper left", frameon=False, fontsize=9)
    return figure


def _draw_panel(ax: Any, curves: Lines, krr: Any, error: str) -> None:
    level, n_rows = krr[error].mean(), krr["rows"].iloc[0]
    for model in MODELS:
        line, colour = curves[model], COLOURS[model]
        mean, deviation = line["mean"], line["deviation"]
        low = np.maximum(mean - deviation, mean / 10)
        ax.fill_between(line.index, low, mean + deviation, color=colour, alpha=0.2, lw=0)
        ax.plot(line.index, mean, "o-", ms=3, lw=1.5, color=colour, label=model)
    ax.axhline(level, color=COLOURS["KRR"], lw=1.2, label="KRR, all weights", zorder=1)
    across, up = _limits(curves, level)
    if across[0] < n_rows < across[1]:
        ax.axvline(n_rows, color="0.5", ls="--", lw=1.2, label="P = N", zorder=1)
    ax.set(xscale="log", yscale="log", xlim=across, ylim=up, xlabel="parameters P")
    ax.set_title("{set}, N={rows:,}, D={columns}".format(**krr.iloc[0]), fontsize=10)
    ax.grid(True, which="major", alpha=0.25)
    runs.label_decades(ax.xaxis)
    # an axis may be shorter than a power of ten
    runs.label_decades(ax.yaxis, (1, 2, 5) if up[1] > 8 * up[0] else (1, 1.5, 2, 3, 4, 5, 6, 8))
    ax.tick_params(which="both", labelsize=8)


def _limits(curves: Lines, level: float) -> tuple[Any, Any]:
    """Limits of P, all of TKM and QTKM, and of errors, up to the largest from TKM's rank 2 on."""
    pair = [curves[model] for model in ("TKM", "QTKM")]
    sizes = np.concatenate([line.index for line in pair])
    across = float(sizes.min()) / 1.35, float(sizes.max()) * 1.15
    begin = curves["TKM"].index[:2].max()
    high = max(level, *(line["mean"].loc[begin:].max() for line in pair))
    low = min(level, *(line["mean"].loc[across[0] :].min() for line in (*pair, curves["RFF"])))
    margin = (high / low) ** 0.1
    return across, (low / margin, high * margin)
