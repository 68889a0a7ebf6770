"""The page of the generalization experiment: errors, and the paper's claims one by one.

A panel of a figure shows where TKM and QTKM can be compared. Models of rank one and random features
of few parameters have errors many times as large: these are written as numbers into a strip above
it.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import report
from .generalization import Protocol
from .report import COLOURS, duration, table
from .runs import Options, Row

DOUBLE_DESCENT = ("qsar", "qsar_fish", "airfoil")
QUICK_RUN = (
    "**A quick run**: {} sets, {} seeds, few epochs. It shows that everything works; what it finds "
    "of the claims says nothing about them."
)
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
    """Errors of one model on one set, by number of parameters.

    Attributes
    ----------
    n_parameters : (n,) array
        Ascending.
    errors : list of arrays
        For each number of parameters, the errors over splits and seeds.
    """

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
    """QTKM beside TKM at equal numbers of parameters below the number of rows.

    Attributes
    ----------
    n_compared, n_ahead : int
        Numbers of parameters that both have, and those where QTKM's mean is not above TKM's.
    n_clearly_behind : int
        Those where it is above by more than two standard errors of the difference.
    gap : float
        Mean of 1 - QTKM/TKM: positive where QTKM is ahead.
    """

    n_compared: int
    n_ahead: int
    n_clearly_behind: int
    gap: float

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
    path = options.output / "generalization.md"

    def draw_both() -> dict[str, str]:
        files = {}
        for error, kind in (("test_mse", "Test"), ("train_mse", "Training")):
            file = options.output / f"generalization_{error.removesuffix('_mse')}"
            figure = draw(rows, krr, protocol.sets, error)
            files[kind] = report.save_figure(figure, file)[0].name
        return files

    figures = report.try_to_draw(draw_both)
    seconds = sum(row["seconds"] for row in [*rows, *krr])
    quick = [QUICK_RUN.format(len(protocol.sets), len(protocol.seeds))] if options.quick else []
    splits = len(protocol.splits)
    parts = [
        "# Generalization: QTKM, TKM, random features and the full model",
        "Figures 2 and 4 of Wesel and Batselier, *Quantized Fourier and Polynomial Features for "
        "more Expressive Tensor Network Models* (AISTATS 2024).",
        report.origin(options.command_line, seconds, None if has_new else path)
        + " These are seconds of a processor core, added up over fits that ran side by side.",
        *quick,
        f"{report.KINDS}, RFF are random Fourier "
        "features, and KRR is kernel ridge regression with the same features, which has all "
        "weights. P is the number of parameters, N that of training rows, D that of columns. "
        "Errors are means of squares for a target of variance 1, so predicting the mean gives 1.",
        *(f"![{kind} error against the number of parameters]({f})" for kind, f in figures.items()),
        "Test error above, training error below. Lines are means over "
        f"{len(protocol.seeds)} seeds and {splits} split{'s' if splits > 1 else ''}. A panel shows "
        "where TKM and QTKM can be compared; errors that are too large for its scale stand as "
        "numbers in the grey strip. “RFF, same α” have the penalty of the other models, “RFF” one "
        "that means the same to them (claim 5). All errors are in `generalization.csv`.",
        "The paper publishes curves, not numbers, so what can be set side by side are its claims.",
        "## Penalty and period",
        "Chosen by 3-fold cross-validated kernel ridge regression with the same features, and "
        "used for all models.",
        _choices(krr),
        "## Test errors",
        "Mean over seeds; P in parentheses. *Same P* is TKM's largest rank and the QTKM of as "
        "many parameters.",
        _errors(protocol, rows, krr),
        "## What the paper claims",
        _quantized_ahead(protocol, rows, krr),
        _yacht(protocol, rows, krr),
        _overfitting(protocol, rows),
        _double_descent(protocol, rows),
        _random_features(protocol, rows, krr),
        "## How it was run",
        _method(protocol, rows),
    ]
    return report.write_page(path, parts)


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


def _errors(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> str:
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


def _quantized_ahead(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> str:
    parts = ["**1. QTKM's error is at or below TKM's for equal P < N, on all sets.**"]
    lines = []
    for name in protocol.sets:
        entry: list[Any] = [name]
        for error in ("test_mse", "train_mse"):
            found = compare(
                curve(rows, name, "QTKM", error), curve(rows, name, "TKM", error),
                _rows_of(krr, name),
            )  # fmt: skip
            entry += [
                f"{found.n_ahead} of {found.n_compared}", found.n_clearly_behind,
                f"{100 * found.gap:+.1f} %", "yes" if found.holds else "no",
            ]  # fmt: skip
        lines.append(entry)
    tested = [line for line in lines if line[4] == "yes"]
    trained = [line for line in lines if line[8] == "yes"]
    parts.append(
        f"Found for the test error on {len(tested)} of {len(lines)} sets, for the training error "
        f"on {len(trained)}. *Ahead*: numbers of parameters at which the mean is not above "
        "TKM's; *clearly behind*: above it by more than two standard errors; *gap*: mean of "
        "1 − QTKM/TKM."
    )
    headers = ["set"]
    headers += [
        f"{kind}: {what}" for kind in ("test", "train")
        for what in ("ahead", "clearly behind", "gap", "holds")
    ]  # fmt: skip
    return "\n\n".join([*parts, table(headers, lines)])


def _yacht(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> str:
    claim = "**2. On yacht QTKM is better than the full model (KRR).**"
    if "yacht" not in protocol.sets:
        return f"{claim} Not run."
    line = curve(rows, "yacht", "QTKM")
    full = np.mean([row["test_mse"] for row in krr if row["set"] == "yacht"])
    i = int(np.argmin(line.mean))
    verdict = "Found" if line.mean[i] < full else "Not found"
    return (
        f"{claim} {verdict}: the least mean test error of QTKM is {line.mean[i]:.5f} "
        f"± {line.standard_error[i]:.5f} (P={line.n_parameters[i]:,}), that of KRR {full:.5f}."
    )


def _overfitting(protocol: Protocol, rows: Sequence[Row]) -> str:
    claim = "**3. QTKM reaches its overfitting point at fewer parameters than TKM.**"
    lines, sooner, later = [], 0, 0
    for name in protocol.sets:
        ours, theirs = (turning_point(curve(rows, name, model)) for model in ("QTKM", "TKM"))
        lines.append((name, *(f"{p:,}" if p else "none" for p in (ours, theirs))))
        sooner += ours is not None and (theirs is None or ours < theirs)
        later += theirs is not None and (ours is None or theirs < ours)
    text = (
        f"Found on {sooner} of {len(lines)} sets, the reverse on {later}. The number of parameters "
        "of the least mean test error, none where more were always better:"
    )
    headers = ["set", "QTKM", "TKM"]
    return "\n\n".join([f"{claim} {text}", table(headers, lines)])


def _double_descent(protocol: Protocol, rows: Sequence[Row]) -> str:
    claim = "**4. Double descent on qsar, qsar_fish and airfoil.**"
    found = {
        name: [m for m in ("QTKM", "TKM") if descends_twice(curve(rows, name, m))]
        for name in protocol.sets
    }
    run = [name for name in DOUBLE_DESCENT if name in found]
    if not run:
        return f"{claim} Not run."
    there = [name for name in run if found[name]]
    also = [name for name in protocol.sets if found[name] and name not in DOUBLE_DESCENT]
    text = f"Found on {', '.join(there)}." if there else f"Not found on {', '.join(run)}."
    if len(run) < len(DOUBLE_DESCENT):
        text += " The others were not run."
    if also:
        text += f" Also on {', '.join(also)}."
    return (
        f"{claim} {text} It counts when the mean test error falls, rises and falls again by more "
        "than two standard errors each."
    )


def _random_features(protocol: Protocol, rows: Sequence[Row], krr: Sequence[Row]) -> str:
    claim = "**5. Random features compete only on the two-dimensional set (banana).**"
    if "banana" not in protocol.sets:
        return f"{claim} Not run."
    ahead: dict[str, list[str]] = {}
    for model in ("RFF", "RFF same alpha"):
        ahead[model] = []
        for name in protocol.sets:
            n_rows = _rows_of(krr, name)
            random, ours = (curve(rows, name, m).below(n_rows) for m in (model, "QTKM"))
            if random.mean.min(initial=np.inf) <= 1.05 * ours.mean.min(initial=np.inf):
                ahead[model].append(name)
    verdicts = {
        model: "Found" if sets == ["banana"] else "Not found" for model, sets in ahead.items()
    }
    listed = {model: ", ".join(sets) if sets else "no set" for model, sets in ahead.items()}
    return (
        f"{claim} They compete on a set if their best test error of P < N is at most 5 % above "
        "QTKM's. With the penalty α/M^D, which means the same to them as α to the other models "
        "because their kernel is smaller by that factor, they compete on "
        f"{listed['RFF']}: {verdicts['RFF'].lower()}. With α itself, which is far too much for "
        f"them on most sets, they compete on {listed['RFF same alpha']}: "
        f"{verdicts['RFF same alpha'].lower()}. Real random features are in the raw results as "
        "`RFF real`."
    )


def _method(protocol: Protocol, rows: Sequence[Row]) -> str:
    epochs = [row["epochs"] for row in rows if row["epochs"] not in ("", None)]
    capped = sum(count >= protocol.max_iter for count in epochs)
    return (
        f"80 % of the rows train, 20 % test; M=16, Q=2; inputs and targets scaled by the training "
        f"rows; TKM starts at the Kronecker product of a quantized start. The paper runs 5000 "
        f"sweeps of alternating least squares; here it has momentum and stops when "
        f"{protocol.window} epochs lower the objective by less than {protocol.tolerance:.1%}, or "
        f"after {protocol.max_iter:,} ({capped:,} of {len(epochs):,} fits; the median took "
        f"{int(np.median(epochs)):,}). Raw results: `generalization.csv`, `generalization_krr.csv`."
    )


def draw(
    rows: Sequence[Row],
    krr: Sequence[Row],
    sets: Sequence[str],
    error: str,
) -> Any:
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
