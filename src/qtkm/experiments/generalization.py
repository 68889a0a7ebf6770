"""The paper's generalization experiment (its Figures 2 and 4), after the authors' scripts.

For each set and split: the penalty and the period by cross-validated kernel ridge regression
(KRR), which is also the unconstrained model; then the non-quantized (TKM) and the quantized
(QTKM) model at several ranks and random Fourier features (RFF) at several numbers of frequencies,
each from several seeds.

A panel of a figure shows where TKM and QTKM can be compared. Models of rank one and random features
of few parameters have errors many times as large: these are written as numbers into a strip above
it.
"""

from collections import namedtuple
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold

from ..baselines import ProductKernelRidgeCV, RandomFourierRidge
from ..solvers import ALS
from . import runs
from .runs import COLOURS, Fit, Options, Records, Split, draw_rows, fit_timed, run_fits, table

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

    `splits` are seeds of the 80/20 splits, `seeds` those of starts and random features, and
    `n_frequencies` the number of random models between 1 and the largest P of the others.
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
    protocol = replace(protocol, splits=tuple(range(splits)))
    settings = {name: getattr(protocol, name) for name in ("max_iter", "window", "tolerance")}
    krr = Records(options.output / "generalization_krr.csv", KRR_KEYS, KRR_VALUES)
    records = Records(options.output / "generalization.csv", KEYS, VALUES, settings)
    progress, home, cores = options.progress, options.data_home, options.cores
    fits = []
    for name in protocol.sets:
        for split in protocol.splits:
            cost = (len(draw_rows(name, split, TEST_SIZE, home).y_train) / 1000) ** 3
            own = {"data_home": home, "n_jobs": cores}
            fits.append(Fit({"set": name, "split": split}, fit_krr, own, cost))
    chosen = run_fits(fits, krr, title="kernel ridge", progress=progress)
    fits = [fit for row in chosen.to_dict("records") for fit in make_fits(protocol, row, home)]
    fits.sort(key=lambda fit: -fit.cost)
    rows = run_fits(fits, records, title="generalization", n_jobs=cores, progress=progress)
    return write(options, protocol, rows, chosen, krr.n_new + records.n_new > 0)


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


DOUBLE_DESCENT = ("qsar", "qsar_fish", "airfoil")
MODELS = ("RFF", "TKM", "QTKM")
TITLES = {"test_mse": "test", "train_mse": "training"}
NOTE = """grey strip: errors above the scale,
written at their P
RFF begin at P = 1, left of the panels
shaded: one standard deviation
both axes are logarithmic"""
#: share of a panel's height below the strip, and middles of its three lines of numbers
BELOW, LINES = 0.76, {SAME_ALPHA: 0.955, "TKM": 0.88, "QTKM": 0.805}


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


def turning_point(line: Any) -> int | None:
    """Return the number of parameters with the least mean error, None if it is the largest."""
    best = line["mean"].idxmin()
    return None if best == line.index[-1] else int(best)


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


def write(options: Options, protocol: CurveProtocol, rows: Any, krr: Any, has_new: bool) -> Path:
    """Draw the figures and write the page; `has_new` tells whether fits were made since."""

    def draw_both() -> dict[str, str]:
        figures = {
            kind: draw(rows, krr, protocol.sets, f"{kind}_mse") for kind in ("test", "train")
        }
        return {
            f"{kind}_figure": runs.save_figure(each, options.output / f"generalization_{kind}")
            for kind, each in figures.items()
        }

    lines = {
        name: {model: curve(rows, name, model) for model in (*MODELS, SAME_ALPHA)}
        for name in protocol.sets
    }
    by_set = krr.groupby("set", sort=False)
    full, n_rows = by_set["test_mse"].mean(), by_set["rows"].first()
    splits = len(protocol.splits)
    epochs = rows[rows["model"].isin(("TKM", "QTKM"))]["epochs"].astype(int)
    values = {
        **runs.try_to_draw(draw_both),
        "n_seeds": len(protocol.seeds),
        "splits": f"{splits} split{'s' if splits > 1 else ''}",
        "choices": table(
            "set | split | N | D | alpha | L | KRR train | KRR test | time",
            "{set} | {split} | {rows:,} | {columns} | {alpha:.0e} | {period:g} | {train_mse:.4f} | "
            "{test_mse:.4f} | {time}",
            ({**row, "time": runs.duration(row["seconds"])} for row in krr.to_dict("records")),
        ),
        "errors": _error_table(lines, full),
        "n_sets": len(protocol.sets),
        **_quantized_ahead(rows, n_rows),
        "yacht": _yacht(lines, full),
        **_overfitting(lines),
        "double_descent": _double_descent(lines),
        "random_features": _random_features(lines, n_rows),
        "protocol": protocol,
        "n_capped": (epochs >= protocol.max_iter).sum(),
        "n_fits": len(epochs),
        "median_epochs": int(epochs.median()),
    }
    seconds = rows["seconds"].sum() + krr["seconds"].sum()
    return runs.write_page(options, "generalization", seconds, has_new, values)


#: set → model → its curve
Lines = Mapping[str, Mapping[str, Any]]


def _error_table(lines: Lines, full: Any) -> str:
    rows = []
    for name, models in lines.items():
        last = models["TKM"].index[-1]
        best = [f"{models[m]['mean'].min():.4f} ({models[m]['mean'].idxmin():,})" for m in MODELS]
        same = [
            "{:.4f} ± {:.4f}".format(*models[m].loc[last][:2]) if last in models[m].index else "–"
            for m in ("TKM", "QTKM")
        ]
        rows.append({"name": name, "krr": full[name], "more": " | ".join(best + same)})
    head = "set | KRR | best RFF | best TKM | best QTKM | TKM, same P | QTKM, same P"
    return table(head, "{name} | {krr:.4f} | {more}", rows)


def _quantized_ahead(rows: Any, n_rows: Any) -> dict[str, Any]:
    lines, holds = [], {"test": 0, "train": 0}
    for name, below in n_rows.items():
        entry = [name]
        for kind in holds:
            ours, theirs = (curve(rows, name, model, f"{kind}_mse") for model in ("QTKM", "TKM"))
            lead = compare(ours, theirs, below)
            holds[kind] += lead.holds
            entry.append(
                f"{lead.n_ahead} of {lead.n_compared} | {lead.n_clearly_behind} | "
                f"{100 * lead.gap:+.1f} % | {'yes' if lead.holds else 'no'}"
            )
        lines.append({"line": " | ".join(entry)})
    whats = ("ahead", "clearly behind", "gap", "holds")
    head = " | ".join(["set", *(f"{kind}: {what}" for kind in holds for what in whats)])
    ahead = table(head, "{line}", lines)
    return {"n_tested": holds["test"], "n_trained": holds["train"], "ahead": ahead}


def _yacht(lines: Lines, full: Any) -> str:
    if "yacht" not in lines:
        return "Not run."
    line, krr = lines["yacht"]["QTKM"], full["yacht"]
    size = line["mean"].idxmin()
    mean, error = line.loc[size, ["mean", "error"]]
    return (
        f"{'Found' if mean < krr else 'Not found'}: the least mean test error of QTKM is "
        f"{mean:.5f} ± {error:.5f} (P={size:,}), that of KRR {krr:.5f}."
    )


def _overfitting(lines: Lines) -> dict[str, Any]:
    rows, sooner, later = [], 0, 0
    for name, models in lines.items():
        ours, theirs = (turning_point(models[model]) for model in ("QTKM", "TKM"))
        rows.append({"name": name, "pair": [f"{p:,}" if p else "none" for p in (ours, theirs)]})
        sooner += ours is not None and (theirs is None or ours < theirs)
        later += theirs is not None and (ours is None or theirs < ours)
    points = table("set | QTKM | TKM", "{name} | {pair[0]} | {pair[1]}", rows)
    return {"n_sooner": sooner, "n_later": later, "turning_points": points}


def _double_descent(lines: Lines) -> str:
    found = [
        name
        for name, models in lines.items()
        if any(descends_twice(models[model]) for model in ("QTKM", "TKM"))
    ]
    run = [name for name in DOUBLE_DESCENT if name in lines]
    if not run:
        return "Not run."
    there = [name for name in run if name in found]
    also = [name for name in found if name not in run]
    text = f"Found on {', '.join(there)}." if there else f"Not found on {', '.join(run)}."
    if len(run) < len(DOUBLE_DESCENT):
        text += " The others were not run."
    if also:
        text += f" Also on {', '.join(also)}."
    return (
        f"{text} It counts when the mean test error falls, rises and falls again by more than two "
        "standard errors each."
    )


def _random_features(lines: Lines, n_rows: Any) -> str:
    if "banana" not in lines:
        return "Not run."

    def least(name: str, model: str) -> float:
        line = lines[name][model]["mean"]
        return line[line.index < n_rows[name]].min()

    said = []
    for model in ("RFF", SAME_ALPHA):
        ahead = [name for name in lines if least(name, model) <= 1.05 * least(name, "QTKM")]
        verdict = "found" if ahead == ["banana"] else "not found"
        said.append(f"they compete on {', '.join(ahead) or 'no set'}: {verdict}")
    return (
        "They compete on a set if their best test error of P < N is at most 5 % above QTKM's. With "
        "the penalty α/M^D, which means the same to them as α to the other models because their "
        f"kernel is smaller by that factor, {said[0]}. With α itself, which is far too much for "
        f"them on most sets, {said[1]}. Real random features are in the raw results as `RFF real`."
    )


def draw(rows: Any, krr: Any, sets: Sequence[str], error: str) -> Any:
    """Draw one panel for each set."""
    n_columns = min(3, len(sets) + 1)
    n_lines = -(-(len(sets) + 1) // n_columns)  # one cell more, for the legend
    figure = runs.new_figure(3.0 * n_columns, 2.6 * n_lines)
    axes = figure.subplots(n_lines, n_columns, squeeze=False)
    for ax in axes.flat[len(sets) :]:
        ax.axis("off")
    handles: dict[str, Any] = {}
    for ax, name in zip(axes.flat, sets, strict=False):
        curves = {model: curve(rows, name, model, error) for model in (*MODELS, SAME_ALPHA)}
        _panel(ax, curves, krr[krr["set"] == name], error)
        handles |= dict(zip(*ax.get_legend_handles_labels()[::-1], strict=True))
    for ax in axes[:, 0]:
        ax.set_ylabel(f"{TITLES[error]} mean squared error")
    last = axes.flat[len(sets)]
    last.legend(handles.values(), handles, loc="upper left", frameon=False, fontsize=9)
    where = {"transform": last.transAxes, "va": "bottom"}
    last.text(0.02, 0.02, NOTE, fontsize=8.5, linespacing=1.4, **where)
    return figure


def _panel(ax: Any, curves: Mapping[str, Any], krr: Any, error: str) -> None:
    level, n_rows = krr[error].mean(), krr["rows"].iloc[0]
    for model in MODELS:
        line, colour = curves[model], COLOURS[model]
        mean, deviation = line["mean"], line["deviation"]
        low = np.maximum(mean - deviation, mean / 10)
        ax.fill_between(line.index, low, mean + deviation, color=colour, alpha=0.2, lw=0)
        ax.plot(line.index, mean, "o-", ms=3, lw=1.5, color=colour, label=model)
    ax.axhline(level, color=COLOURS["KRR"], lw=1.2, label="KRR, all weights", zorder=1)
    across, (low, high) = _limits(curves, level)
    if across[0] < n_rows < across[1]:
        ax.axvline(n_rows, color="0.5", ls="--", lw=1.2, label="P = N", zorder=1)
    ax.set(xscale="log", yscale="log", xlim=across, ylim=(low, low * (high / low) ** (1 / BELOW)))
    ax.set_title("{set}, N={rows:,}, D={columns}".format(**krr.iloc[0]), fontsize=10)
    ax.set_xlabel("parameters P")
    ax.grid(True, which="major", alpha=0.25)
    _set_ticks(ax, low, high)
    _fill_strip(ax, curves, high)


def _limits(curves: Mapping[str, Any], level: float) -> tuple[Any, Any]:
    """Limits of P, all of TKM and QTKM, and of errors, up to the largest from TKM's rank 2 on."""
    pair = [curves[model] for model in ("TKM", "QTKM")]
    sizes = np.concatenate([line.index for line in pair])
    across = float(sizes.min()) / 1.35, float(sizes.max()) * 1.15
    begin = curves["TKM"].index[:2].max()
    high = max(level, *(line["mean"].loc[begin:].max() for line in pair))
    low = min(level, *(line["mean"].loc[across[0] :].min() for line in (*pair, curves["RFF"])))
    margin = (high / low) ** 0.1
    return across, (low / margin, high * margin)


def _set_ticks(ax: Any, low: float, high: float) -> None:
    """Put plain numbers at round values, also where an axis is shorter than a power of ten."""
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    wide = runs.label_decades(ax.xaxis, "{x:g}")
    ticks = (wide if high > 8 * low else MaxNLocator(5)).tick_values(low, high)
    ax.set_yticks([tick for tick in ticks if low <= tick <= high])
    ax.set_yticks([], minor=True)
    ax.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.tick_params(which="both", labelsize=8)


def _fill_strip(ax: Any, curves: Mapping[str, Any], high: float) -> None:
    """Write the errors above the scale, one line for each model."""
    left, right = ax.get_xlim()
    ax.axhspan(high, ax.get_ylim()[1], color="0.95", zorder=4)
    style = {"va": "center", "fontsize": 7.5, "zorder": 5, "transform": ax.get_xaxis_transform()}
    for model in ("TKM", "QTKM"):
        for size, value in curves[model]["mean"].items():
            if value > high:
                at, colour = (size, LINES[model], f"{value:.2g}"), COLOURS[model]
                ax.text(*at, color=colour, ha="center", weight="bold", **style)
            else:  # once more, as the strip may cover a part of the point
                ax.plot(size, value, "o", ms=3, color=COLOURS[model], zorder=6)
    same = curves[SAME_ALPHA]["mean"]
    values = same.loc[left:]
    if values.min() <= high:
        ax.plot(same.index, same, ":", lw=1.3, color=COLOURS["RFF"], label="RFF, same α")
    if values.max() > high:
        text = " to ".join(dict.fromkeys(f"{values.iloc[i]:.2g}" for i in (0, -1)))
        at = (right / 1.03, LINES[SAME_ALPHA], f"RFF, same α: {text}")
        ax.text(*at, color=COLOURS["RFF"], ha="right", weight="bold", **style)
