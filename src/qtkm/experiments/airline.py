"""The paper's large experiment, its Table 1: how late a flight arrives.

    data → splits → models of the paper, defaults, other methods → records → page and figure

The six models of Table 1 are fitted as the authors' program does: M = 64, L = 10, λ = 1e-10, 25
epochs of plain alternating least squares from a random start, all distinct values exactly, and no
row set aside.  A model that is not quantized begins at the Kronecker product of a quantized start
of the same seed.  Fits run one after another, each on all cores, because their times are reported.
"""

from collections import defaultdict, namedtuple
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_squared_error

from ..baselines import RandomFourierRidge
from ..estimators import QTKMRegressor
from ..extras import is_installed
from ..inspection.plotting import new_figure, plain
from ..solvers import ALS
from . import runs
from .airline_models import PACKAGE, KernelFeatureRidge, SparseGaussianProcess
from .runs import COLOURS, Fit, Options, Records, Split, spread

KEYS = ("dataset", "model", "split")
VALUES = ("train_rows", "test_rows", "cores", "parameters", "epochs", "seconds", "test_mse")
N_BASIS, PERIOD, ALPHA, EPOCHS = 64, 10.0, 1e-10, 25
QUICK_EPOCHS, QUICK_ROWS = 5, 20_000
RADICES = (2, 2, 2, 2, 2, 2)
COMPONENTS, QUICK_COMPONENTS = 1000, 200
PAPER, NEW_YORK, LARGE = "airline", "nyc_flights", "flights_2001"
GAUSSIAN_PROCESS = "sparse Gaussian process"
AHEAD, BEHIND = "QTKM R=40", "TKM R=8"
#: title and description of a data set
DATASETS = {
    PAPER: ("USA 2008", "the flights in the USA in 2008, the paper's own data"),
    NEW_YORK: ("New York 2013", "the flights that left New York City in 2013, with the paper's "
               "eight columns"),
    LARGE: ("USA 2001", "flights in the USA in the first half of 2001, with nine columns: the "
            "airports' coordinates in place of the aircraft's age, the time in the air and the "
            "arrival"),
}  # fmt: skip
# Section 5.3 of the paper: training rows, and seconds of a fit
TRAINING_ROWS, SECONDS = 3_952_942, {"QTKM R=20": 6613.0, "QTKM R=40": 13039.0}
#: colour, marker and its size in points, and whether it is filled, of a family
STYLES = {
    "TKM": (COLOURS["TKM"], "o", 14, True),
    "QTKM": (COLOURS["QTKM"], "o", 14, True),
    # rings: where they coincide with a point of the same colour, both can be seen
    "TKM, defaults": (COLOURS["TKM"], "o", 19, False),
    "QTKM, defaults": (COLOURS["QTKM"], "o", 19, False),
    "RFF": (COLOURS["RFF"], "s", 11, False),
    "RFF, same band": (COLOURS["RFF"], "P", 9, True),
    "Nyström": (COLOURS["KRR"], "D", 6, True),
    "boosting": ("#2CA02C", "^", 9, False),
    "more boosting": ("#2CA02C", "^", 9, True),
    "GP": ("#7E2F8E", "v", 9, True),
}
#: a model: its family, drawn in one style, a function of the number of columns and the seed that
#: makes it, and how many splits it is run on at most
Contender = namedtuple("Contender", "family make most_splits", defaults=[3])


def contenders(quick: bool) -> dict[str, Contender]:
    """Return the six models of the paper, this library's defaults and other methods."""
    paper: dict[str, Any] = {
        "period": PERIOD, "alpha": ALPHA, "solver": ALS(momentum=False), "normalize_y": False,
        "max_iter": QUICK_EPOCHS if quick else EPOCHS,
    }  # fmt: skip
    found = {
        f"{kind} R={rank}": Contender(
            kind, partial(runs.paper_pair, kind, RADICES, rank=rank, **paper), None
        )
        for kind, ranks in (("TKM", (4, 6, 8)), ("QTKM", (20, 30, 40)))
        for rank in ranks
    }
    # the default penalty of the same band is that of noise as large as the function: see RIDGES
    band = RandomFourierRidge(kind="real", n_basis=N_BASIS, period=PERIOD)
    size = {"n_components": QUICK_COMPONENTS if quick else COMPONENTS}
    others: dict[str, tuple[Any, ...]] = {
        "TKM R=8, defaults": ("TKM, defaults", QTKMRegressor(rank=8, quantization=None)),
        "QTKM R=40, defaults": ("QTKM, defaults", QTKMRegressor(rank=40)),
        "Nyström + ridge": ("Nyström", KernelFeatureRidge("nystroem", **size)),
        "random Fourier + ridge": ("RFF", KernelFeatureRidge("fourier", **size)),
        "random Fourier, same band": ("RFF, same band", band.set_params(**size)),
        "boosting, defaults": ("boosting", HistGradientBoostingRegressor()),
        # five times the default: boosting is far from converged at 100 trees here
        "boosting, 500 trees": ("more boosting", HistGradientBoostingRegressor(max_iter=500)),
        GAUSSIAN_PROCESS: ("GP", SparseGaussianProcess(), 1),
    }
    return found | {
        name: Contender(family, partial(_seeded, model), *more)
        for name, (family, model, *more) in others.items()
    }


def _seeded(model: Any, n_columns: int, seed: int) -> Any:
    return clone(model).set_params(random_state=seed)


def run(options: Options, *, splits: int = 10) -> Path:
    """Run the experiment, or what is left of it, and write its page.

    The data are the paper's if they are there, and else both other sets; of the three million
    flights of 2001 there is one split only, which takes long. A quick run takes 20,000 of the New
    York flights, one split, few epochs and small alternatives.
    """
    settings = {"quick": options.quick, "n_basis": N_BASIS, "period": PERIOD, "alpha": ALPHA,
                "epochs": QUICK_EPOCHS if options.quick else EPOCHS}  # fmt: skip
    records = Records(options, "airline", KEYS, VALUES, settings)
    with_process = not options.quick and is_installed(PACKAGE)
    fits = [
        Fit({"dataset": dataset, "model": name, "split": split}, fit_one, {"options": options})
        for dataset in choose(options)
        for split in range(1 if options.quick or dataset == LARGE else splits)
        for name, one in contenders(options.quick).items()
        if one.most_splits is None or split < one.most_splits
        # one set says how it compares; the three million flights would add minutes, not facts
        if one.family != "GP" or (with_process and dataset != LARGE)
    ]
    runs.run_fits(fits, records)
    return write(records)


def rows_of(dataset: str, split: int, options: Options) -> Split:
    """Return two thirds to train, one third to test."""
    most = QUICK_ROWS if options.quick else None
    return runs.draw_rows(dataset, split, 1 / 3, options.data_home, most)


def choose(options: Options) -> list[str]:
    """Return the paper's set if it is there, or else its substitutes that are."""
    found: list[str] = []
    for name in [NEW_YORK] if options.quick else DATASETS:
        with suppress(FileNotFoundError, ModuleNotFoundError):
            rows_of(name, 0, options)  # the only way to know whether it can be read
            found.append(name)
        if PAPER in found:
            break
    if not found:
        rows_of(NEW_YORK, 0, options)  # says what is missing
    return found


def fit_one(dataset: str, model: str, split: int, *, options: Options) -> dict[str, Any]:
    """Fit a model that is named as in the records, and test it; returns the columns `VALUES`."""
    rows = rows_of(dataset, split, options)
    fitted = contenders(options.quick)[model].make(n_columns=rows.X_train.shape[1], seed=split)
    if "n_jobs" in fitted.get_params():
        fitted.set_params(n_jobs=options.cores)
    runs.compile_loops(fitted, rows)
    seconds = runs.fit_timed(fitted, rows, options.cores)
    return {
        "train_rows": len(rows.y_train),
        "test_rows": len(rows.y_test),
        "cores": options.cores,
        "parameters": runs.count_parameters(fitted),
        "epochs": fitted.n_iter_ if isinstance(fitted, QTKMRegressor) else None,
        "seconds": seconds,
        "test_mse": float(mean_squared_error(rows.y_test, fitted.predict(rows.X_test))),
    }


#: model → frame of the records of its splits, on one data set
Found = Mapping[str, Any]


def write(records: Records) -> Path:
    """Draw the figure and write the page."""
    rows, quick = records.frame, records.options.quick
    results: dict[str, Found] = {
        dataset: {
            name: own for name in contenders(quick) if len(own := found.query("model == @name"))
        }
        for dataset, found in rows.groupby("dataset", sort=False)
    }
    values = {
        "no_file": None if PAPER in results else "",
        "data": [describe(dataset, found) for dataset, found in results.items()],
        "heads": " | ".join(f"MSE, {DATASETS[dataset][0]}" for dataset in results),
        "rulers": "---:|" * len(results),
        "here": errors_here(results),
        "the_data": "The data are the paper's" if PAPER in results else "The data differ",
        "epochs": "fewer epochs than theirs" if quick else f"{EPOCHS} epochs as theirs",
        "cores": rows["cores"].max(),
        "models": "\n\n".join(
            describe_models(dataset, found) for dataset, found in results.items()
        ),
    }
    drawn = {"airline": partial(draw, results)}
    return runs.write_page(records, rows["seconds"].sum(), values, drawn)


def describe(dataset: str, found: Found) -> dict[str, Any]:
    """Say which rows were used."""
    title, text = DATASETS[dataset]
    first, splits = next(iter(found.values())).iloc[0], max(map(len, found.values()))
    said = f"{splits} random splits" if splits > 1 else "one random split"
    return {"title": title, "text": text, "rows": first, "splits": said}


def errors_here(results: Mapping[str, Found]) -> Mapping[str, str]:
    """Return the cells of each model in Table 1 of the page, one for each data set."""
    nothing = " | ".join("–" for _ in results)
    cells = defaultdict(lambda: nothing)
    for name in {name: None for found in results.values() for name in found}:
        cells[name] = " | ".join(
            spread(found[name]["test_mse"]) if name in found else "–" for found in results.values()
        )
    return cells


def describe_models(dataset: str, found: Found) -> str:
    """Errors and times of all models on one data set, and what they say of the paper's claim."""
    rows = []
    for name, own in found.items():
        means = own[["parameters", "seconds", "train_rows", "epochs"]].mean()
        million = means.seconds / means.epochs / means.train_rows * 1e6
        paper = SECONDS.get(name, np.nan) / EPOCHS / TRAINING_ROWS * 1e6
        times = ["–" if np.isnan(each) else f"{each:.3g}" for each in (million, paper)]
        rows.append({"name": name, "mse": spread(own["test_mse"]), "n": len(own), "means": means,
                     "times": times})  # fmt: skip
    title = DATASETS[dataset][0]
    return runs.fill("airline_models.md", {"title": title, "models": rows, **claim(found)})


def claim(found: Found) -> dict[str, Any]:
    """Compare QTKM of rank 40 with TKM of rank 8, of more parameters, split by split."""
    if AHEAD not in found or BEHIND not in found:
        return {"is_missing": ""}
    ahead, behind = (found[name].set_index("split") for name in (AHEAD, BEHIND))
    gain = (behind["test_mse"] - ahead["test_mse"]).dropna().to_numpy()
    facts = {
        "pair": (AHEAD, BEHIND),
        "sizes": (ahead["parameters"].iloc[0], behind["parameters"].iloc[0]),
        "gain": gain.mean(),
    }
    if len(gain) == 1:
        return {**facts, "alone": "ahead" if gain[0] > 0 else "not ahead"}
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    verdict = f"the paper's claim {'holds' if gain.mean() > 0 else 'does not hold'} here"
    if abs(gain.mean()) <= 2 * error:
        verdict = "the two cannot be told apart here"
    return {**facts, "error": error, "n": len(gain), "n_ahead": (gain > 0).sum(),
            "verdict": verdict}  # fmt: skip


def draw(results: Mapping[str, Found]) -> Any:
    """Draw two panels for each data set."""
    figure = new_figure(9.5, 4.4 * len(results) + 0.8)
    panels = figure.subplots(len(results), 2, squeeze=False, sharey="row")
    labels = {"seconds": "seconds of the fit", "parameters": "number of parameters P"}
    handles: dict[str, Any] = {}
    for pair, (dataset, found) in zip(panels, results.items(), strict=True):
        for axes, (value, label) in zip(pair, labels.items(), strict=True):
            _draw_panel(axes, found, value)
            axes.set_xlabel(label)
        pair[0].set_title(DATASETS[dataset][0], loc="left", fontweight="bold")
        pair[0].set_ylabel("test MSE of the standardized delay")
        handles |= dict(zip(*pair[0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=3, frameon=False,
        labelspacing=0.9, markerscale=0.8,
    )  # fmt: skip
    return figure


def _draw_panel(axes: Any, found: Found, value: str) -> None:
    families: dict[str, list[str]] = {}
    for name, one in contenders(True).items():
        if name in found:
            families.setdefault(one.family, []).append(name)
    for family, names in families.items():
        colour, marker, size, is_filled = STYLES[family]
        across = [found[name][value].mean() for name in names]
        up = [found[name]["test_mse"].mean() for name in names]
        deviations = [found[name]["test_mse"].std() for name in names]
        has_ranks = family in ("TKM", "QTKM")
        axes.errorbar(across, up, deviations, color=colour, fmt="none", capsize=2, zorder=2)
        axes.plot(
            across, up, color=colour, linestyle="-" if has_ranks else "none", zorder=3,
            marker=marker, markersize=size, markeredgecolor="white" if is_filled else colour,
            markerfacecolor=colour if is_filled else "none",
            label=f"{family}, rank inside" if has_ranks else names[0],
        )  # fmt: skip
        if has_ranks:
            style = {"ha": "center", "va": "center_baseline", "fontsize": 7.5, "zorder": 4}
            style["color"] = "white" if family == "TKM" else "black"
            for x, y, name in zip(across, up, names, strict=True):
                axes.text(x, y, name.partition("R=")[2], **style)
    axes.set_xscale("log")
    axes.margins(x=0.08, y=0.08)
    runs.label_decades(axes.xaxis)
    axes.grid(which="major", color="0.9")
    plain(axes)
