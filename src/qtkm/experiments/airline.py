"""The paper's large experiment, its Table 1: how late a flight arrives.

    data → splits → models of the paper, defaults, other methods → records → page and figure

The six models of Table 1 are fitted as the authors' program does: M = 64, L = 10, λ = 1e-10, 25
epochs of plain alternating least squares from a random start, all distinct values exactly, and no
row set aside.  A model that is not quantized begins at the Kronecker product of a quantized start
of the same seed.  Fits run one after another, each on all cores, because their times are reported.
"""

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.metrics import mean_squared_error

from ..baselines import RandomFourierRidge
from ..estimators import QTKMRegressor
from ..inspection.plotting import plain
from ..solvers import ALS
from . import runs
from .airline_models import KernelFeatureRidge, SparseGaussianProcess, why_no_process
from .runs import COLOURS, Fit, Options, Records, Split, spread, table

KEYS = ("dataset", "model", "split")
VALUES = ("train_rows", "test_rows", "cores", "parameters", "epochs", "seconds", "test_mse")
N_BASIS, PERIOD, ALPHA, EPOCHS = 64, 10.0, 1e-10, 25
QUICK_EPOCHS, QUICK_ROWS = 5, 20_000
RADICES = (2, 2, 2, 2, 2, 2)
TKM_RANKS, QTKM_RANKS = (4, 6, 8), (20, 30, 40)
COMPONENTS, QUICK_COMPONENTS = 1000, 200
#: splits that alternatives are run on: enough to see how far apart they are
SPLITS, PROCESS_SPLITS = 3, 1
GAUSSIAN_PROCESS = "sparse Gaussian process"
PAPER, NEW_YORK, LARGE = "airline", "nyc_flights", "flights_2001"


def run(options: Options, *, splits: int = 10) -> Path:
    """Run the experiment, or what is left of it, and write its page.

    The data are the paper's if they are there, and else both other sets; of the three million
    flights of 2001 there is one split only, which takes long. A quick run takes 20,000 of the New
    York flights, one split, few epochs and small alternatives.
    """
    if splits < 1:
        raise ValueError(f"splits={splits} must be at least 1")
    no_process = why_no_process(options.quick)
    models, further = table_one(), alternatives()
    fitted = [each for each in models + further if each.family != "GP" or not no_process]
    epochs, datasets = QUICK_EPOCHS if options.quick else EPOCHS, choose(options)
    settings = {"quick": options.quick, "n_basis": N_BASIS, "period": PERIOD, "alpha": ALPHA,
                "epochs": epochs}  # fmt: skip
    records = Records(options.output / "airline.csv", KEYS, VALUES, settings)
    for dataset in datasets:
        is_single = options.quick or dataset == LARGE
        _run(dataset, fitted, 1 if is_single else splits, records, options)
    results = {
        dataset: {model: rows for model, rows in found.groupby("model", sort=False)}
        for dataset in datasets
        if len(found := records.frame.query("dataset == @dataset"))
    }
    return write(options, results, models, further, records.n_new > 0, no_process)


def rows_of(dataset: str, split: int, options: Options) -> Split:
    """Return two thirds to train, one third to test."""
    most = QUICK_ROWS if options.quick else None
    return runs.draw_rows(dataset, split, 1 / 3, options.data_home, most)


def choose(options: Options) -> list[str]:
    """Return the paper's set if it is there, or else its substitutes that are."""
    if options.quick:
        return [NEW_YORK]
    missing: Exception | None = None
    found: list[str] = []
    for name in (PAPER, NEW_YORK, LARGE):
        try:
            rows_of(name, 0, options)  # the only way to know whether it can be read
        except (FileNotFoundError, ModuleNotFoundError) as error:
            missing = error
        else:
            found.append(name)
            if name == PAPER:
                break
    if not found and missing is not None:
        raise missing
    return found


#: what a model is made for; the seed is that of the split and of the model
FitSetting = namedtuple("FitSetting", "n_columns seed cores quick", defaults=[False])


@dataclass(frozen=True)
class Contender:
    """A model of the experiment; a family is drawn in one colour."""

    name: str
    make: Callable[[FitSetting], Any]
    cost: float  # expected work of a fit on a row; QTKM of rank 20 has 1
    family: str
    most_splits: int | None = SPLITS
    left_out: tuple[str, ...] = ()  # data sets that it is not run on


def table_one() -> list[Contender]:
    """List the six models of the paper."""

    def make(to: FitSetting, kind: str, rank: int) -> QTKMRegressor:
        return runs.paper_pair(
            kind, RADICES, to.n_columns, rank, to.seed, period=PERIOD, alpha=ALPHA,
            solver=ALS(momentum=False), max_iter=QUICK_EPOCHS if to.quick else EPOCHS,
            normalize_y=False, random_state=to.seed, n_jobs=to.cores,
        )  # fmt: skip

    # an epoch of a small rank is bound by reading the rows, a large one by rank squared
    costs = [("TKM", rank, 0.5) for rank in TKM_RANKS]
    costs += [("QTKM", rank, (rank / 20) ** 1.5) for rank in QTKM_RANKS]
    return [
        Contender(f"{kind} R={rank}", partial(make, kind=kind, rank=rank), cost, kind, None)
        for kind, rank, cost in costs
    ]


def alternatives() -> list[Contender]:
    """List this library's defaults and other methods."""
    # the default penalty of the same band is that of noise as large as the function: see RIDGES
    band = {"kind": "real", "n_basis": N_BASIS, "period": PERIOD}
    more_trees = HistGradientBoostingRegressor(max_iter=500)
    every: list[tuple[Any, ...]] = [
        ("TKM R=8, defaults", QTKMRegressor(rank=8, quantization=None), 1.0, "TKM, defaults"),
        ("QTKM R=40, defaults", QTKMRegressor(rank=40), 3.0, "QTKM, defaults"),
        ("Nyström + ridge", KernelFeatureRidge("nystroem"), 2.0, "Nyström"),
        ("random Fourier + ridge", KernelFeatureRidge("fourier"), 1.5, "RFF"),
        ("random Fourier, same band", RandomFourierRidge(**band), 1.5, "RFF, same band"),
        ("boosting, defaults", HistGradientBoostingRegressor(), 0.2, "boosting"),
        # five times the default: boosting is far from converged at 100 trees here
        ("boosting, 500 trees", more_trees, 0.8, "more boosting"),
        # one set tells how it compares; the three million flights would add minutes, not facts
        (GAUSSIAN_PROCESS, SparseGaussianProcess(), 8.0, "GP", PROCESS_SPLITS, (LARGE,)),
    ]
    return [
        Contender(name, partial(_make_other, model=model), *more) for name, model, *more in every
    ]


def _make_other(to: FitSetting, model: Any) -> Any:
    """Return a model with the seed, threads and number of features of a fit."""
    size, own = QUICK_COMPONENTS if to.quick else COMPONENTS, model.get_params()
    given = {"random_state": to.seed, "n_jobs": to.cores, "n_components": size}
    return clone(model).set_params(**{name: given[name] for name in given if name in own})


def fit_one(
    dataset: str, model: str, split: int, *, candidates: Mapping[str, Contender], options: Options
) -> dict[str, Any]:
    """Fit a model that is named as in the records, and test it; returns the columns `VALUES`."""
    rows = rows_of(dataset, split, options)
    setting = FitSetting(rows.X_train.shape[1], split, options.cores, options.quick)
    fitted = candidates[model].make(setting)
    seconds = runs.fit_timed(fitted, rows, setting.cores)
    return {
        "train_rows": len(rows.y_train),
        "test_rows": len(rows.y_test),
        "cores": setting.cores,
        "parameters": runs.count_parameters(fitted),
        "epochs": fitted.n_iter_ if isinstance(fitted, QTKMRegressor) else None,
        "seconds": seconds,
        "test_mse": float(mean_squared_error(rows.y_test, fitted.predict(rows.X_test))),
    }


def _run(
    dataset: str, candidates: Sequence[Contender], splits: int, records: Records, options: Options
) -> None:
    """Run the fits of one data set that are not recorded yet."""
    arguments = {"candidates": {each.name: each for each in candidates}, "options": options}
    fits = [
        Fit({"dataset": dataset, "model": each.name, "split": s}, fit_one, arguments, each.cost)
        for s in range(splits)
        for each in candidates
        if dataset not in each.left_out and (each.most_splits is None or s < each.most_splits)
    ]
    if left := records.left(fits):
        rows = rows_of(dataset, left[0].name["split"], options)
        setting = FitSetting(rows.X_train.shape[1], 0, options.cores, options.quick)
        runs.compile_loops((each.make(setting) for each in candidates), rows.X_train, rows.y_train)
    runs.run_fits(fits, records, title=f"airline, {dataset}", progress=options.progress)


#: data set → model → frame of the records of its splits
Results = Mapping[str, Mapping[str, Any]]
#: results of a data set: a family, and the frames of its models
Families = Mapping[str, Sequence[Any]]

AHEAD, BEHIND = "QTKM R=40", "TKM R=8"
TITLES = {"airline": "USA 2008", "nyc_flights": "New York 2013", "flights_2001": "USA 2001"}
DESCRIPTIONS = {
    "airline": "the flights in the USA in 2008, the paper's own data",
    "nyc_flights": "the flights that left New York City in 2013, with the paper's eight columns",
    "flights_2001": "flights in the USA in the first half of 2001, with nine columns: the "
    "airports' coordinates in place of the aircraft's age, the time in the air and the arrival",
}


#: a row of the paper's Table 1: basis functions, parameters, test error, its deviation
TableOneRow = namedtuple("TableOneRow", "basis parameters mse deviation")
TABLE = {
    "VFF": TableOneRow(40, 320, 0.827, 0.004),
    "Hilbert-GP": TableOneRow(40, 320, 0.827, 0.005),
    "VISH": TableOneRow(660, 660, 0.834, 0.055),
    "SVIGP": TableOneRow(1000, 1000, 0.791, 0.005),
    "Falkon": TableOneRow(10000, 10000, 0.758, 0.005),
    "TKM R=4": TableOneRow(64, 2048, 0.789, 0.005),
    "TKM R=6": TableOneRow(64, 3072, 0.773, 0.006),
    "TKM R=8": TableOneRow(64, 4096, 0.765, 0.007),
    "QTKM R=20": TableOneRow(64, 1920, 0.764, 0.005),
    "QTKM R=30": TableOneRow(64, 2880, 0.754, 0.005),
    "QTKM R=40": TableOneRow(64, 3840, 0.748, 0.005),
}
# Section 5.3 of the paper: training rows, machine, and seconds of a fit
TRAINING_ROWS, MACHINE = 3_952_942, "a laptop with 4 cores and 16 GB"
SECONDS = {"QTKM R=20": 6613.0, "QTKM R=40": 13039.0}

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


def write(
    options: Options, results: Results, models: Sequence[Contender], further: Sequence[Contender],
    has_new: bool, no_process: str | None,
) -> Path:  # fmt: skip
    """Draw the figure and write the page; `no_process` says why there is no Gaussian process."""
    names = [candidate.name for candidate in models]
    drawn: dict[str, dict[str, list[Any]]] = {dataset: {} for dataset in results}
    for dataset, found in results.items():
        for candidate in [*models, *further]:
            if candidate.name in found:
                drawn[dataset].setdefault(candidate.family, []).append(found[candidate.name])
    figures = runs.try_to_draw(lambda: {"figure": draw(drawn, options.output / "airline")})
    every = [rows for found in results.values() for rows in found.values()]
    shown = [BEHIND, AHEAD, *(candidate.name for candidate in further)]

    def tables(make: Callable[[Any], str]) -> str:
        parts = (f"### {TITLES[name]}\n\n{make(found)}" for name, found in results.items())
        return "\n\n".join(parts)

    values = {
        **figures,
        "no_file": None if PAPER in results else "",
        "data": describe_data(results),
        "paper_table": paper_table(results, names),
        "source": runs.PAPER,
        "the_data": "The data are the paper's" if PAPER in results else "The data differ",
        "epochs": "fewer epochs than theirs" if options.quick else f"{EPOCHS} epochs as theirs",
        "machine": MACHINE,
        "training_rows": TRAINING_ROWS,
        "cores": max(rows["cores"].max() for rows in every),
        "models": tables(lambda found: f"{model_table(found, names)}\n\n{claim(found)}"),
        "alternatives": tables(lambda found: alternatives_table(found, shown, no_process)),
    }
    seconds = sum(rows["seconds"].sum() for rows in every)
    return runs.write_page(options, "airline", seconds, has_new, values)


def describe_data(results: Results) -> str:
    """List what was fitted."""
    lines = []
    for dataset, models in results.items():
        row = next(iter(models.values())).iloc[0]
        splits = max(len(rows) for rows in models.values())
        lines.append(
            f"- **{TITLES[dataset]}**: {DESCRIPTIONS[dataset]}; {row['train_rows']:,} rows to "
            f"train and {row['test_rows']:,} to test, "
            + (f"{splits} random splits." if splits > 1 else "one random split.")
        )
    return "\n".join(lines)


def paper_table(results: Results, names: Sequence[str]) -> str:
    """Table 1, with a column for each data set here."""
    return table(
        " | ".join(["method | M | P, paper | MSE, paper", *(f"MSE, {TITLES[d]}" for d in results)]),
        "{name} | {row.basis} | {row.parameters} | {row.mse:.3f} ± {row.deviation:.3f} | {here}",
        (
            {"name": name, "row": row, "here": " | ".join(
                _errors(models.get(name)) if name in names else "" for models in results.values())}
            for name, row in TABLE.items()
        ),
    )  # fmt: skip


def model_table(models: Mapping[str, Any], names: Sequence[str]) -> str:
    """Errors and times of the six models on one data set."""
    rows = []
    for name in names:
        if (records := models.get(name)) is None:
            continue
        first = records.iloc[0]
        epoch = (records["seconds"] / records["epochs"].astype(float)).mean()
        million = epoch / first["train_rows"] * 1e6
        paper = SECONDS.get(name, 0.0) / EPOCHS / TRAINING_ROWS * 1e6
        rows.append({**first, "mse": _errors(records), "time": _seconds(records), "epoch": epoch,
                     "million": million, "paper": f"{paper:.3g}" if paper else "–"})  # fmt: skip
    return table(
        "model | P | test MSE | seconds | seconds an epoch | … of a million rows | … in the paper",
        "{model} | {parameters:,} | {mse} | {time} | {epoch:.3g} | {million:.3g} | {paper}",
        rows,
    )


def claim(models: Mapping[str, Any]) -> str:
    """Whether QTKM of rank 40 is ahead of TKM of rank 8 with fewer parameters, split by split."""
    if AHEAD not in models or BEHIND not in models:
        return "The two models of the paper's claim have no split in common."
    ahead, behind = (models[name].set_index("split") for name in (AHEAD, BEHIND))
    gain = (behind["test_mse"] - ahead["test_mse"]).dropna().to_numpy()
    sizes = ahead["parameters"].iloc[0], behind["parameters"].iloc[0]
    said = (
        f"**{AHEAD} against {BEHIND}**: {sizes[0]:,} parameters against {sizes[1]:,}; the test MSE "
        f"of {BEHIND} minus that of {AHEAD} is {gain.mean():+.4f}"
    )
    if len(gain) == 1:
        verdict = "ahead" if gain[0] > 0 else "not ahead"
        return f"{said}: {AHEAD} is {verdict} in this one split, which has no standard error."
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    if gain.mean() > 2 * error:
        verdict = "the paper's claim holds here"
    elif gain.mean() < -2 * error:
        verdict = "the paper's claim does not hold here"
    else:
        verdict = "the two cannot be told apart here"
    return (
        f"{said} ± {error:.4f} (mean and its standard error over {len(gain)} splits; it is "
        f"positive in {np.sum(gain > 0)} of them): {verdict}."
    )


def alternatives_table(
    models: Mapping[str, Any], names: Sequence[str], no_process: str | None
) -> str:
    """Errors, times and sizes of what else may be run on one data set."""
    rows = []
    for name in names:
        if (records := models.get(name)) is not None:
            size = f"{records['parameters'].mean():,.0f}"
            rows.append([name, size, _errors(records), _seconds(records), len(records)])
        elif name == GAUSSIAN_PROCESS:
            rows.append([f"{name}: {no_process or 'not run on this set'}", *"––––"])
    return table(
        "model | parameters | test MSE | seconds | splits",
        "{r[0]} | {r[1]} | {r[2]} | {r[3]} | {r[4]}",
        ({"r": row} for row in rows),
    )


def _errors(records: Any) -> str:
    """Mean test error, with its deviation if there are several splits."""
    if records is None:
        return "–"
    errors = records["test_mse"]
    return spread(errors) if len(errors) > 1 else f"{errors.iloc[0]:.4f}"


def _seconds(records: Any) -> str:
    seconds = records["seconds"].mean()
    return f"{seconds:.3g}" if seconds < 100 else f"{seconds:,.0f}"


def draw(results: Mapping[str, Families], path: Path) -> str:
    """Draw two panels for each data set; return the file name."""
    figure = runs.new_figure(9.5, 4.4 * len(results) + 0.8)
    panels = figure.subplots(len(results), 2, squeeze=False, sharey="row")
    handles: dict[str, Any] = {}
    for (time, size), (dataset, families) in zip(panels, results.items(), strict=True):
        _draw_panel(time, families, "seconds", "seconds of the fit")
        _draw_panel(size, families, "parameters", "number of parameters P")
        time.set_title(TITLES[dataset], loc="left", fontweight="bold")
        time.set_ylabel("test MSE of the standardized delay")
        handles |= dict(zip(*time.get_legend_handles_labels()[::-1], strict=True))
    figure.legend(
        handles.values(), handles, loc="outside lower center", ncols=3, frameon=False,
        labelspacing=0.9, markerscale=0.8,
    )  # fmt: skip
    return runs.save_figure(figure, path)


def _draw_panel(axes: Any, families: Families, value: str, label: str) -> None:
    for family, models in families.items():
        colour, marker, size, is_filled = STYLES[family]
        across = [rows[value].mean() for rows in models]
        up = [rows["test_mse"].mean() for rows in models]
        deviations = [rows["test_mse"].std() for rows in models]
        has_ranks = family in ("TKM", "QTKM")
        axes.errorbar(across, up, deviations, color=colour, fmt="none", capsize=2, zorder=2)
        axes.plot(
            across, up, color=colour, linestyle="-" if has_ranks else "none", zorder=3,
            marker=marker, markersize=size, markeredgecolor="white" if is_filled else colour,
            markerfacecolor=colour if is_filled else "none",
            label=f"{family}, rank inside" if has_ranks else models[0]["model"].iloc[0],
        )  # fmt: skip
        if has_ranks:
            for x, y, rows in zip(across, up, models, strict=True):
                text = rows["model"].iloc[0].partition("R=")[2]
                colour = "white" if family == "TKM" else "black"
                axes.text(
                    x, y, text, color=colour, ha="center", va="center_baseline", fontsize=7.5,
                    zorder=4,
                )  # fmt: skip
    axes.set_xscale("log")
    axes.margins(x=0.08, y=0.08)
    runs.label_decades(axes.xaxis, "{x:,g}")
    axes.set_xlabel(label)
    axes.grid(which="major", color="0.9")
    plain(axes)
