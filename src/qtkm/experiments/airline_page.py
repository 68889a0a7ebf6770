"""The page of the flights: Table 1 beside what was measured here, the claim, the alternatives."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import report
from .airline import PAPER, Candidate
from .airline_models import GAUSSIAN_PROCESS
from .report import COLOURS, spread, table
from .runs import Options, Row

#: data set → model → records of its splits
Results = Mapping[str, Mapping[str, Sequence[Row]]]
#: results of a data set: a family, and the rows of each of its models
Families = Mapping[str, Sequence[Sequence[Row]]]

AHEAD, BEHIND = "QTKM R=40", "TKM R=8"
TITLES = {"airline": "USA 2008", "nyc_flights": "New York 2013", "flights_2001": "USA 2001"}
DESCRIPTIONS = {
    "airline": "the flights in the USA in 2008, the paper's own data",
    "nyc_flights": "the flights that left New York City in 2013, with the paper's eight columns",
    "flights_2001": "flights in the USA in the first half of 2001, with nine columns: the "
    "airports' coordinates in place of the aircraft's age, the time in the air and the arrival",
}


class Published(NamedTuple):
    """A row of the paper's Table 1: basis functions, parameters, test error, its deviation."""

    basis: int
    parameters: int
    mse: float
    deviation: float


TABLE = {
    "VFF": Published(40, 320, 0.827, 0.004),
    "Hilbert-GP": Published(40, 320, 0.827, 0.005),
    "VISH": Published(660, 660, 0.834, 0.055),
    "SVIGP": Published(1000, 1000, 0.791, 0.005),
    "Falkon": Published(10000, 10000, 0.758, 0.005),
    "TKM R=4": Published(64, 2048, 0.789, 0.005),
    "TKM R=6": Published(64, 3072, 0.773, 0.006),
    "TKM R=8": Published(64, 4096, 0.765, 0.007),
    "QTKM R=20": Published(64, 1920, 0.764, 0.005),
    "QTKM R=30": Published(64, 2880, 0.754, 0.005),
    "QTKM R=40": Published(64, 3840, 0.748, 0.005),
}
# Section 5.3 of the paper: epochs, training rows, machine, and seconds of a fit
EPOCHS, TRAINING_ROWS, MACHINE = 25, 3_952_942, "a laptop with 4 cores and 16 GB"
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
    options: Options,
    results: Results,
    models: Sequence[Candidate],
    further: Sequence[Candidate],
    has_new: bool,
    no_process: str | None,
) -> Path:
    """Draw the figure and write the page of the data sets and models of this run.

    Parameters
    ----------
    options : Options
    results : mapping
        Data set → model → its records.
    models, further : sequence of Candidate
        Those of the paper's table, and the alternatives, in order.
    has_new : bool
        Whether fits were made since the page was written last.
    no_process : str or None
        Why there is no Gaussian process.
    """
    path = options.output / "airline.md"
    names = [candidate.name for candidate in models]
    drawn: dict[str, dict[str, list[Any]]] = {dataset: {} for dataset in results}
    for dataset, found in results.items():
        for candidate in [*models, *further]:
            if candidate.name in found:
                drawn[dataset].setdefault(candidate.family, []).append(found[candidate.name])
    figures = report.try_to_draw(lambda: {"figure": draw(drawn, options.output / "airline")})
    every = [row for found in results.values() for rows in found.values() for row in rows]
    made = report.origin(
        options.command_line, sum(row["seconds"] for row in every), None if has_new else path
    )
    parts = ["# Airline delays: Table 1 of the paper", made]
    if options.quick:
        parts.append(report.quick_note("few rows, few epochs, one split"))
    parts += [describe_data(results), "## The paper's table", paper_table(results, names)]
    cores = max(row["cores"] for row in every)
    parts += [_what_differs(PAPER in results, cores, options.quick), "## The six models here"]
    for dataset, found in results.items():
        parts += [f"### {TITLES[dataset]}", model_table(found, names), claim(found)]
    parts += ["## What one may run instead", _ALTERNATIVES]
    shown = [BEHIND, AHEAD, *(candidate.name for candidate in further)]
    for dataset, found in results.items():
        parts += [f"### {TITLES[dataset]}", alternatives_table(found, shown, no_process)]
    if figures:
        alt = "Test error against seconds and parameters"
        parts += ["## Figure", f"![{alt}]({figures['figure']})", _FIGURE]
    return report.write_page(path, parts)


_ALTERNATIVES = (
    "The first two rows repeat the paper's setting. “defaults” is `QTKMRegressor` with only its "
    "rank given: a smooth start, a tenth of the rows for early stopping, a larger penalty. Width "
    "and penalty of the Gaussian kernel's features are searched on 20,000 rows, within the time "
    "shown. All but the first two rows are run on the first splits only. “Same band” are random "
    "features with frequencies up to M/2L, those of TKM and QTKM. Parameters are complex weights "
    "(TKM, QTKM), features, at most so many leaves (boosting) and inducing points (Gaussian "
    "process), as the paper counts them."
)
_FIGURE = (
    "Means over the splits, with bars of one standard deviation. Numbers in the circles are ranks. "
    "Rings are the same models with the defaults of this library. The horizontal axes are "
    "logarithmic, and the two panels of a row share the error."
)


def describe_data(results: Results) -> str:
    """Say what was fitted, and what it stands for if it is not the paper's."""
    lines = []
    for dataset, models in results.items():
        row = next(iter(models.values()))[0]
        splits = max(len(rows) for rows in models.values())
        lines.append(
            f"- **{TITLES[dataset]}**: {DESCRIPTIONS[dataset]}; {row['train_rows']:,} rows to "
            f"train and {row['test_rows']:,} to test, "
            + (f"{splits} random splits." if splits > 1 else "one random split.")
        )
    if PAPER not in results:
        lines.insert(
            0,
            "The paper's file, 5,929,413 flights of 2008, was not used: `load_airline` says how to "
            "get it. Other flights stand in for it, so errors cannot be compared with the "
            "paper's digit by digit, only the order of the models and the times for each row.\n",
        )
    return "\n".join(lines)


def paper_table(results: Results, names: Sequence[str]) -> str:
    """Table 1, with a column for each data set here."""
    headers = ["method", "M", "P, paper", "MSE, paper"]
    headers += [f"MSE, {TITLES[dataset]}" for dataset in results]
    rows = []
    for name, row in TABLE.items():
        here = [_errors(models.get(name, ())) if name in names else "" for models in
                results.values()]  # fmt: skip
        paper = f"{row.mse:.3f} ± {row.deviation:.3f}"
        rows.append([name, row.basis, row.parameters, paper, *here])
    caption = (
        f"Source of the paper's columns: {report.PAPER}, Table 1. ± is one standard deviation over "
        "the splits. The first five methods, Gaussian processes and a kernel machine, are quoted "
        f"and were not run here. {report.KINDS}, M the number of basis functions, R the rank and P "
        "the number of parameters. MSE is the mean squared error of the delay scaled to variance "
        "1, so predicting the mean gives about 1."
    )
    return table(headers, rows) + "\n\n" + caption


def _what_differs(is_paper: bool, cores: int, quick: bool) -> str:
    data = "The data are the paper's" if is_paper else "The data differ"
    epochs = "fewer epochs than theirs" if quick else f"{EPOCHS} epochs as theirs"
    return (
        f"{data}; the models, their start, penalty and scaling are the authors', with {epochs}. "
        f"Their times are from {MACHINE}, with {TRAINING_ROWS:,} training "
        f"rows; ours from the machine named above, each fit by itself on {cores} threads, with "
        "loops that had been compiled before."
    )


def model_table(models: Mapping[str, Sequence[Row]], names: Sequence[str]) -> str:
    """Errors and times of the six models on one data set."""
    headers = ["model", "P", "test MSE", "seconds", "seconds an epoch",
               "… of a million rows", "… in the paper"]  # fmt: skip
    rows = []
    for name in names:
        if not (records := models.get(name)):
            continue
        epoch = [row["seconds"] / row["epochs"] for row in records]
        million = np.mean(epoch) / records[0]["train_rows"] * 1e6
        rows.append([
            name, f"{records[0]['parameters']:,}", _errors(records), _seconds(records),
            f"{np.mean(epoch):.3g}", f"{million:.3g}", _paper_rate(name),
        ])  # fmt: skip
    return table(headers, rows)


def _paper_rate(name: str) -> str:
    """Seconds of an epoch of a million rows in the paper, where it gives a time."""
    if name not in SECONDS:
        return "–"
    return f"{SECONDS[name] / EPOCHS / TRAINING_ROWS * 1e6:.3g}"


def claim(models: Mapping[str, Sequence[Row]]) -> str:
    """Whether QTKM of rank 40 is ahead of TKM of rank 8 with fewer parameters, split by split."""
    ahead, behind = ({row["split"]: row for row in models.get(name, ())}
                     for name in (AHEAD, BEHIND))  # fmt: skip
    common = sorted(ahead.keys() & behind.keys())
    if not common:
        return "The two models of the paper's claim have no split in common."
    gain = np.array([behind[split]["test_mse"] - ahead[split]["test_mse"] for split in common])
    sizes = ahead[common[0]]["parameters"], behind[common[0]]["parameters"]
    said = (
        f"**{AHEAD} against {BEHIND}**: {sizes[0]:,} parameters against {sizes[1]:,}; the test MSE "
        f"of {BEHIND} minus that of {AHEAD} is {gain.mean():+.4f}"
    )
    if len(common) == 1:
        verdict = "ahead" if gain[0] > 0 else "not ahead"
        return f"{said}: {AHEAD} is {verdict} in this one split, which has no standard error."
    error = gain.std(ddof=1) / np.sqrt(len(common))
    if gain.mean() > 2 * error:
        verdict = "the paper's claim holds here"
    elif gain.mean() < -2 * error:
        verdict = "the paper's claim does not hold here"
    else:
        verdict = "the two cannot be told apart here"
    return (
        f"{said} ± {error:.4f} (mean and its standard error over {len(common)} splits; it is "
        f"positive in {np.sum(gain > 0)} of them): {verdict}."
    )


def alternatives_table(
    models: Mapping[str, Sequence[Row]], names: Sequence[str], no_process: str | None
) -> str:
    """Errors, times and sizes of what else may be run on one data set."""
    rows = []
    for name in names:
        if records := models.get(name):
            size = f"{np.mean([row['parameters'] for row in records]):,.0f}"
            rows.append([name, size, _errors(records), _seconds(records), len(records)])
        elif name == GAUSSIAN_PROCESS:
            why = no_process or "not run on this set"
            rows.append([f"{GAUSSIAN_PROCESS}: {why}", "–", "–", "–", "–"])
    return table(["model", "parameters", "test MSE", "seconds", "splits"], rows)


def _errors(records: Sequence[Row]) -> str:
    """Mean test error, with its deviation if there are several splits."""
    errors = [row["test_mse"] for row in records]
    if not errors:
        return "–"
    return spread(errors) if len(errors) > 1 else f"{errors[0]:.4f}"


def _seconds(records: Sequence[Row]) -> str:
    seconds = float(np.mean([row["seconds"] for row in records]))
    return f"{seconds:.3g}" if seconds < 100 else f"{seconds:,.0f}"


def draw(results: Mapping[str, Families], path: Path) -> str:
    """Draw two panels for each data set; return the file name."""
    figure = report.new_figure(9.5, 4.4 * len(results) + 0.8)
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
    return report.save_figure(figure, path)[0].name


def _draw_panel(axes: Any, families: Families, value: str, label: str) -> None:
    for family, models in families.items():
        colour, marker, size, is_filled = STYLES[family]
        across = [float(np.mean([row[value] for row in rows])) for rows in models]
        errors = [[row["test_mse"] for row in rows] for rows in models]
        up = [float(np.mean(each)) for each in errors]
        deviations = [np.std(each, ddof=1) if len(each) > 1 else np.nan for each in errors]
        has_ranks = family in ("TKM", "QTKM")
        axes.errorbar(across, up, deviations, color=colour, fmt="none", capsize=2, zorder=2)
        axes.plot(
            across, up, color=colour, linestyle="-" if has_ranks else "none", zorder=3,
            marker=marker, markersize=size, markeredgecolor="white" if is_filled else colour,
            markerfacecolor=colour if is_filled else "none",
            label=f"{family}, rank inside" if has_ranks else models[0][0]["model"],
        )  # fmt: skip
        if has_ranks:
            for x, y, rows in zip(across, up, models, strict=True):
                text = rows[0]["model"].partition("R=")[2]
                colour = "white" if family == "TKM" else "black"
                axes.text(
                    x, y, text, color=colour, ha="center", va="center_baseline", fontsize=7.5,
                    zorder=4,
                )  # fmt: skip
    axes.set_xscale("log")
    axes.margins(x=0.08, y=0.08)
    report.label_decades(axes.xaxis, "{x:,g}")
    axes.set_xlabel(label)
    axes.grid(which="major", color="0.9")
    report.open_frame(axes)
