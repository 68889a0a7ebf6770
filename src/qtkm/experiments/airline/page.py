"""The page: Table 1 beside what was measured here, the claim, the alternatives."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..report import origin, spread, table, write_page
from . import published
from .alternatives import GAUSSIAN_PROCESS
from .data import PAPER, TITLES

Row = Mapping[str, Any]
#: data set → model → records of its splits
Results = Mapping[str, Mapping[str, Sequence[Row]]]

AHEAD, BEHIND = "QTKM R=40", "TKM R=8"
DESCRIPTIONS = {
    "airline": "the flights in the USA in 2008, the paper's own data",
    "nyc_flights": "the flights that left New York City in 2013, with the paper's eight columns",
    "flights_2001": "flights in the USA in the first half of 2001, with nine columns: the "
    "airports' coordinates in place of the aircraft's age, the time in the air and the arrival",
}


def write(
    path: Path,
    results: Results,
    table_one: Sequence[str],
    alternatives: Sequence[str],
    *,
    command: str,
    has_new: bool,
    no_process: str | None,
    quick: bool,
    figure: str | None,
) -> Path:
    """Write the page.

    Parameters
    ----------
    path : pathlib.Path
    results : mapping
        Data set → model → its records.
    table_one, alternatives : sequence of str
        Names of the models, in order.
    command : str
        What made the page.
    has_new : bool
        Whether fits were made since the page was written last.
    no_process : str or None
        Why there is no Gaussian process.
    quick : bool
        Whether the run was a quick one.
    figure : str or None
        File name of the figure, or None if there is none.

    Returns
    -------
    pathlib.Path
    """
    seconds = sum(row["seconds"] for models in results.values()
                  for rows in models.values() for row in rows)  # fmt: skip
    made = origin(command, seconds, None if has_new else path)
    parts = ["# Airline delays: Table 1 of the paper", made]
    if quick:
        parts.append(
            "**A quick run**: few rows, few epochs, one split. It shows that everything works; "
            "its numbers are not to be compared with the paper's."
        )
    parts += [describe_data(results), "## The paper's table", paper_table(results, table_one)]
    parts += [_what_differs(results, quick), "## The six models here"]
    for dataset, models in results.items():
        parts += [f"### {TITLES[dataset]}", model_table(models, table_one), claim(models)]
    parts += ["## What one may run instead", _ALTERNATIVES]
    for dataset, models in results.items():
        names = [BEHIND, AHEAD, *alternatives]
        parts += [f"### {TITLES[dataset]}", alternatives_table(models, names, no_process)]
    if figure is not None:
        parts += ["## Figure", f"![Test error against seconds and parameters]({figure})", _FIGURE]
    return write_page(path, parts)


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
    for name, row in published.TABLE.items():
        here = [_errors(models.get(name, ())) if name in names else "" for models in
                results.values()]  # fmt: skip
        paper = f"{row.mse:.3f} ± {row.deviation:.3f}"
        rows.append([name, row.basis, row.parameters, paper, *here])
    caption = (
        f"Source of the paper's columns: {published.SOURCE}. ± is one standard deviation over the "
        "splits. The first five methods, Gaussian processes and a kernel machine, are quoted and "
        "were not run here. TKM is the model that is not quantized, QTKM the quantized one, M the "
        "number of basis functions, R the rank and P the number of parameters. MSE is the mean "
        "squared error of the delay scaled to variance 1, so predicting the mean gives about 1."
    )
    return table(headers, rows) + "\n\n" + caption


def _what_differs(results: Results, quick: bool) -> str:
    data = "The data are the paper's" if PAPER in results else "The data differ"
    epochs = "fewer epochs than theirs" if quick else f"{published.EPOCHS} epochs as theirs"
    cores = max(row["cores"] for models in results.values() for rows in models.values()
                for row in rows)  # fmt: skip
    return (
        f"{data}; the models, their start, penalty and scaling are the authors', with {epochs}. "
        f"Their times are from {published.MACHINE}, with {published.TRAINING_ROWS:,} training "
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
    if name not in published.SECONDS:
        return "–"
    return f"{published.SECONDS[name] / published.EPOCHS / published.TRAINING_ROWS * 1e6:.3g}"


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
