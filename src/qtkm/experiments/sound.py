"""The paper's experiment on natural sound, its Figure 3 and Table 2: what a low rank recovers.

    sound → unconstrained weights → fits from several starts → records → page and figures

Everything follows the paper: L = 1, no penalty, Gaussian cores to start from, all distinct values
exactly, no row set aside.  Fits run to convergence, by momentum in a fraction of the paper's
sweeps; some are repeated without it, to show that the end is the same.  Fits run several at a
time, each in a process of one thread, the longest first; cores are kept, so that figures are
drawn again without fitting.
"""

import os
import re
from collections import namedtuple
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, matmul_toeplitz, solve_toeplitz
from sklearn.metrics import mean_absolute_error

from ..datasets import load_sound
from ..inspection.plotting import plain
from ..solvers import ALS, Progress
from . import runs
from .runs import COLOURS, Fit, Options, Records, Split, new_figure, run_fits, save_figure, table

#: a quick run takes the samples up to this position, and so many starts
QUICK_SAMPLES, QUICK_STARTS = 6000, 2
KEYS = ("solver", "rank", "start")
VALUES = ("parameters", "compression", "weight_error", "smae", "train_smae", "objective",
          "epochs", "status", "seconds")  # fmt: skip
#: file of a fit's cores and course
KEPT = "{solver}_rank{rank}_start{start}.npz"
MOMENTUM, PLAIN = "momentum", "plain"
TRACE = ("epoch", "objective", "weight_error", "smae")
#: largest residual of the normal equations, relative to their right side; 5e-15 on the sound
ACCURACY = 1e-6
#: points on the courses of fits are compared with the paper's table if so near in weight error
NEAR = 0.01
#: colour of the unconstrained spectrum, and the share of its energy in the drawn band
FREE, ENERGY = "#202020", 0.999
TITLE = (
    "R = {rank}: P = {parameters:,}, compression {compression:.1f}, weight error {weight_error:.3f}"
)
TableTwoRow = namedtuple("TableTwoRow", "parameters compression weight_error smae")
#: rank → row of Table 2 in the supplement of the paper: one start, 5000 sweeps over all cores
PUBLISHED = {
    10: TableTwoRow(260, 31.5, 0.841, 0.579),
    25: TableTwoRow(650, 12.6, 0.712, 0.571),
    50: TableTwoRow(1300, 6.3, 0.528, 0.451),
    100: TableTwoRow(2600, 3.1, 0.310, 0.182),
}


@dataclass(frozen=True)
class SoundProtocol:
    """Sizes of the experiment: M, rank → most epochs, and the least relative progress of one.

    `plain_epochs` are those of the ranks whose first start is repeated without momentum.
    """

    n_basis: int
    epochs: Mapping[int, int]
    plain_epochs: Mapping[int, int]
    tol: float


#: A start of rank 10 crept at 1.1e-6 an epoch for sixty epochs before it fell by another 2 %, so a
#: tolerance of 1e-6 ends too early.
FULL = SoundProtocol(
    2**13, {10: 2000, 25: 2000, 50: 1000, 100: 600}, {10: 5000, 25: 5000, 50: 1500}, tol=1e-8
)
QUICK = SoundProtocol(2**9, {5: 60, 10: 60}, {5: 60}, tol=1e-8)


def run(options: Options, *, starts: int = 5) -> Path:
    """Run the experiment, or what is left of it, and write its page.

    Every rank has `starts` starts, of the seeds 0, 1, …; a quick run takes the first 6000 samples,
    M = 512, ranks 5 and 10, and at most two starts. Cores are kept in the folder ``sound_fits``.
    """
    if starts < 1:
        raise ValueError(f"starts={starts} must be at least 1")
    chosen = QUICK if options.quick else FULL
    starts = min(starts, QUICK_STARTS) if options.quick else starts
    sound = load(options)
    free = solve_free(sound, chosen.n_basis)
    # keys of JSON would be text
    epochs = {name: list(getattr(chosen, name).items()) for name in ("epochs", "plain_epochs")}
    records = Records(options.output / "sound.csv", KEYS, VALUES, asdict(chosen) | epochs)
    folder = options.output / "sound_fits"
    arguments = {"sound": sound, "free": free, "tol": chosen.tol, "folder": folder}
    limits = [(MOMENTUM, s, *item) for item in chosen.epochs.items() for s in range(starts)]
    limits += [(PLAIN, 0, *item) for item in chosen.plain_epochs.items()]
    fits = [
        Fit({"solver": solver, "rank": rank, "start": start}, fit_one,
            arguments | {"max_iter": limit}, cost=limit * rank**1.4)
        for solver, start, rank, limit in limits
    ]  # fmt: skip
    # the longest first; an epoch takes 14, 45, 109, 358 ms at the paper's ranks
    fits.sort(key=lambda fit: -fit.cost)
    rows = run_fits(fits, records, title="sound", n_jobs=options.cores, progress=options.progress)
    rows = rows.sort_values(list(KEYS), ignore_index=True)
    return write(options, Results(rows, sound, free, folder), chosen, records.n_new > 0)


def load(options: Options) -> Split:
    """Read and standardize the sound; a quick run takes the beginning of it."""
    given: dict[str, Any] = {"return_X_y": True, "as_frame": False, "data_home": options.data_home}
    parts: list[NDArray] = []
    for X, y in (load_sound(subset="train", **given), load_sound(subset="test", **given)):
        rows = X[:, 0] <= (QUICK_SAMPLES if options.quick else np.inf)
        parts += [X[rows], y[rows]]
    X_train, y_train, X_test, y_test = parts
    if len(y_test) == 0:
        raise ValueError(
            f"the sound has no test row among its first {QUICK_SAMPLES} samples, so a quick run "
            "has nothing to test; run it without the quick option"
        )
    return Split.standardize(X_train, X_test, y_train, y_test)


def find_gaps(sound: Split) -> list[int]:
    """Return the lengths of runs of test rows without a training row between."""
    between = np.searchsorted(np.sort(sound.X_train[:, 0]), np.sort(sound.X_test[:, 0]))
    return np.unique(between, return_counts=True)[1].tolist()


def _places(sound: Split, X: NDArray) -> tuple[NDArray, int]:
    """Return places of samples in the period, from first to last training row, and its length."""
    low, high = sound.X_train.min(), sound.X_train.max()
    length = round(high - low)
    return np.round(X[:, 0] - low).astype(np.int64) % length, length


def solve_free(sound: Split, n_basis: int) -> NDArray:
    """Find the weights of all functions exp(2πi·t·(m - ⌊M/2⌋)) by least squares.

    A ValueError if the rows do not determine them.

    Notes
    -----
    Σ_m' c(m' - m) w(m') = Σ_n y_n exp(-2πi·t_n·(m - ⌊M/2⌋)) with c(l) = Σ_n exp(2πi·l·t_n): a
    Toeplitz system, as many numbers as functions, whatever the number of rows. Samples lie on a
    grid of one period, so the sums over rows are Fourier transforms of what is at its points.
    """
    places, length = _places(sound, sound.X_train)
    half, lags = n_basis // 2, np.arange(n_basis) % length
    here = [np.bincount(places, weight, length) for weight in (None, sound.y_train)]
    counts, targets = (length * np.fft.ifft(sums)[lags] for sums in here)
    right = np.concatenate([targets[half:0:-1], targets[: n_basis - half].conj()])
    matrix = counts.conj(), counts  # first column and first row
    try:
        weights = solve_toeplitz(matrix, right)
        residual = float(np.linalg.norm(matmul_toeplitz(matrix, weights) - right))
    except LinAlgError:
        residual = np.inf
    # a singular system may look solved, by luck of rounding: fewer points than weights never are
    is_singular = np.count_nonzero(here[0]) < n_basis
    if is_singular or not residual <= ACCURACY * np.linalg.norm(right):
        raise ValueError(
            f"{len(places)} rows do not determine {n_basis} weights: the normal equations are "
            "singular; use fewer functions, or rows without wide gaps"
        )
    return weights


def respond(weights: NDArray, sound: Split, X: NDArray) -> NDArray:
    """Evaluate Σ_m w(m) exp(2πi·t·(m - ⌊M/2⌋)) at samples, by a Fourier transform."""
    places, length = _places(sound, X)
    spectrum = np.zeros(length, dtype=np.complex128)
    np.add.at(spectrum, (np.arange(len(weights)) - len(weights) // 2) % length, weights)
    return length * np.fft.ifft(spectrum)[places]


def fit_one(
    solver: str, rank: int, start: int, *, sound: Split, free: NDArray, tol: float, max_iter: int,
    folder: Path,
) -> dict[str, Any]:  # fmt: skip
    """Fit a model on one thread, measure it, and keep its cores and its course."""
    trace = Trace(sound, free)
    model = runs.paper_model(
        n_basis=len(free), period=1, quantization=2, rank=rank, alpha=0, max_iter=max_iter, tol=tol,
        solver=ALS(momentum=solver == MOMENTUM), init="random", normalize_y=False,
        random_state=start, n_jobs=1, callbacks=trace,
    )  # fmt: skip
    seconds = runs.fit_timed(model, sound, 1)
    cores, objective = model.cores_[0], model.history_["objective"][-1]
    trace.note(model.n_iter_, objective, model.cores_)
    file = folder / KEPT.format(solver=solver, rank=rank, start=start)
    folder.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial.npz")
    np.savez(partial, cores=np.stack(cores), trace=np.array(trace.rows))
    os.replace(partial, file)  # in one step: a file that is there is whole
    return {
        "parameters": model.n_parameters_,
        "compression": len(free) / model.n_parameters_,
        "weight_error": weight_error(weights_of(cores), free),
        "smae": mean_absolute_error(sound.y_test, model.predict(sound.X_test)),
        "train_smae": mean_absolute_error(sound.y_train, model.predict(sound.X_train)),
        "objective": objective,
        "epochs": model.n_iter_,
        "status": model.status_,
        "seconds": seconds,
    }


class Trace:
    """Callback that measures a fit on its way: `rows` with the columns `TRACE`."""

    def __init__(self, sound: Split, free: NDArray):
        self.free, self.sound = free, sound
        self.rows: list[tuple[float, ...]] = []

    def __call__(self, progress: Progress) -> None:
        """Measure at the end of epochs 1, 2, 3, 4, 5, 6, 8, 10, 20, and so on."""
        is_round = re.fullmatch("[1234568]0*", str(progress.epoch)) is not None
        if progress.event == "epoch" and is_round:
            self.note(progress.epoch, progress.history.objective[-1], progress.cores)

    def note(self, epoch: int, objective: float, cores: Any) -> None:
        """Measure cores as they stand, unless that epoch was measured."""
        if self.rows and self.rows[-1][0] == epoch:
            return
        weights = weights_of(cores[0])
        response = respond(weights, self.sound, self.sound.X_test).real
        smae = mean_absolute_error(self.sound.y_test, response)
        self.rows.append((epoch, objective, weight_error(weights, self.free), smae))


def weights_of(cores: list[NDArray]) -> NDArray:
    """Return all M weights of the cores of one column."""
    return runs.unquantized([cores])[0][0].sum(axis=1)


def weight_error(weights: NDArray, free: NDArray) -> float:
    """Return the distance to the unconstrained weights, relative to their norm."""
    return float(np.linalg.norm(weights - free) / np.linalg.norm(free))


def read_kept(folder: Path, row: Mapping[str, Any]) -> tuple[NDArray, NDArray]:
    """Return weights (M,) and course (n_epochs, 4) of a recorded fit; columns as in `TRACE`."""
    file = folder / KEPT.format(**row)
    if not file.exists():
        raise FileNotFoundError(
            f"{file} is missing, although its fit is recorded; put it back, or choose another "
            "output folder to fit again"
        )
    with np.load(file) as kept:
        return weights_of(list(kept["cores"])), kept["trace"]


class Results:
    """Records, courses and spectra (M,) of the fits, and what needs none.

    `smae` and `silence` are the errors on test and training rows of the unconstrained model and
    of predicting the mean, and `objective` is the mean squared complex residual of the former.
    """

    def __init__(self, rows: Any, sound: Split, free: NDArray, folder: Path):
        self.sound, self.free = sound, np.abs(free)
        self.rows, self.plain = (rows[rows["solver"] == each] for each in (MOMENTUM, PLAIN))
        self.by_rank = dict(tuple(self.rows.groupby("rank")))
        kept = {index: read_kept(folder, row) for index, row in rows.iterrows()}
        self.traces = {index: trace for index, (_, trace) in kept.items()}
        self.spectra = {r: np.abs(kept[median_row(f).name][0]) for r, f in self.by_rank.items()}
        test, train = (respond(free, sound, X) for X in (sound.X_test, sound.X_train))
        pairs = [(sound.y_test, test), (sound.y_train, train)]
        self.smae = tuple(mean_absolute_error(y, found.real) for y, found in pairs)
        self.silence = tuple(np.abs(y).mean() for y, _ in pairs)
        self.objective = float(np.mean(np.abs(train - sound.y_train) ** 2))
        #: rows of the paper's table whose models have the same numbers of parameters
        self.published = {
            rank: row
            for rank, row in PUBLISHED.items()
            if rank in self.by_rank and row.parameters in self.by_rank[rank]["parameters"].values
        }


class Range:
    """Values of several starts, formatted as their median, the least and the greatest."""

    def __init__(self, values: Any):
        self.ends = values.median(), values.min(), values.max()

    def __format__(self, form: str) -> str:
        return "{} ({} – {})".format(*(format(end, form) for end in self.ends))


def median_row(rows: Any) -> Any:
    """Return the start with the median weight error, the better of two in the middle."""
    return rows.sort_values("weight_error", kind="stable").iloc[(len(rows) - 1) // 2]


#: head of a table of the page, and the form of its rows
MAIN = (
    "R | P | M/P | weight error, paper | here | SMAE, paper | here",
    "{rank} | {size:,} | {compression:.1f} | {paper[0]} | {weight_error:.3f} | {paper[1]} | "
    "{smae:.3f}",
)
FITS = (
    "R | epochs | converged | seconds | objective | SMAE of training rows | "
    "second half: weight error | second half: SMAE",
    "{rank} | {epochs:,.0f} | {done} | {seconds:.3g} | {objective:.4f} | {train_smae:.3f} | "
    "{halves[0]} | {halves[1]}",
)
SOLVERS = (
    "R | solver | epochs | seconds | objective | weight error | SMAE",
    "{rank} | {solver} | {epochs:,} | {seconds:.3g} | {objective:.5f} | {weight_error:.3f} | "
    "{smae:.3f}",
)
RATIOS = (
    "R | SMAE, test rows | SMAE, training rows | ratio",
    "{name} | {test:.3f} | {train:.3f} | {ratio:.2f}",
)
POINTS = (
    "R | weight error, paper | points here | their SMAE | SMAE, paper",
    "{rank} | {paper.weight_error:.3f} | {count} | {span} | {paper.smae:.3f}",
)


def write(options: Options, results: Results, chosen: SoundProtocol, has_new: bool) -> Path:
    """Draw the figures and write the page; `has_new` tells whether fits were made since."""
    folder = options.output
    figures = runs.try_to_draw(
        lambda: {
            "spectra": draw_spectra(results, folder / "sound"),
            "errors": draw_errors(results, folder / "sound_errors"),
        }
    )
    sound, gaps, free = results.sound, find_gaps(results.sound), len(results.free)
    errors = results.rows[["weight_error", "smae"]]
    by_rank = results.rows.groupby("rank")[["weight_error", "smae"]]
    widths = [
        f"{row.weight_error:.3f} and {row.smae:.3f} (R={row.Index})"
        for row in (by_rank.max() - by_rank.min()).itertuples()
    ]
    lines = [_describe(results, rank, fits) for rank, fits in results.by_rank.items()]
    all_weights = f"\n| all weights | {free:,} | 1.0 | – | 0 | – | {results.smae[0]:.3f} |"
    pairs = {r: fits[["smae", "train_smae"]].median() for r, fits in results.by_rank.items()}
    pairs |= {"all weights": results.smae, "predicting the mean": results.silence}
    ratios = [{"name": n, "test": a, "train": b, "ratio": a / b} for n, (a, b) in pairs.items()]
    both = [
        row
        for plain in results.plain.to_dict("records")
        for row in (results.by_rank[plain["rank"]].iloc[0], plain)
    ]
    values = {
        **figures,
        "results": results,
        "sound": sound,
        "protocol": chosen,
        "n_gaps": len(gaps),
        "gaps": " to ".join(str(length) for length in sorted({min(gaps), max(gaps)})),
        "samples_each": (len(sound.y_train) + len(sound.y_test)) / chosen.n_basis,
        "main_table": table(*MAIN, lines) + all_weights,
        "starts": by_rank.size().max(),
        "louder": results.silence[0] / results.silence[1],
        "ratio_table": table(*RATIOS, ratios),
        "widths": ", ".join(widths),
        "correlation": errors.corr().fillna(0.0).iloc[0, 1],
        "correlation_within": (errors - by_rank.transform("mean")).corr().fillna(0.0).iloc[0, 1],
        "fits_table": table(*FITS, lines),
        "limits": ", ".join(f"{epochs:,} (R={rank})" for rank, epochs in chosen.epochs.items()),
        "solver_table": table(*SOLVERS, both) if both else None,
        **_beside_the_paper(results),
    }
    seconds = results.rows["seconds"].sum() + results.plain["seconds"].sum()
    return runs.write_page(options, "sound", seconds, has_new, values)


def _describe(results: Results, rank: int, fits: Any) -> dict[str, Any]:
    """Return what the tables say of a rank: the paper's errors, and ranges over the starts."""
    paper = results.published.get(rank)
    changes = []  # since at most half of the epochs, of fits not converged
    for index, row in fits[fits["status"] != "converged"].iterrows():
        trace = results.traces[index]
        before = trace[trace[:, 0] <= max(1, row["epochs"] / 2)][-1]
        changes.append(np.abs(trace[-1] - before)[2:])
    return {
        **{name: Range(fits[name]) for name in VALUES if name != "status"},
        "rank": rank,
        "size": fits["parameters"].iloc[0],
        "compression": fits["compression"].iloc[0],
        "paper": [f"{error:.3f}" for error in paper[2:]] if paper else "––",
        "done": f"{len(fits) - len(changes)} of {len(fits)}",
        "halves": [f"{change:.4f}" for change in np.max(changes, axis=0)] if changes else "––",
    }


def _beside_the_paper(results: Results) -> dict[str, Any]:
    """Return what compares the starts with the paper's, if they are of the same models."""
    published = results.published
    if not published:
        return {}
    places: dict[bool, list[str]] = {True: [], False: []}
    differences, lines = [], []
    for rank, paper in published.items():
        rows = results.by_rank[rank]
        is_inside = bool(rows["smae"].min() <= paper.smae <= rows["smae"].max())
        places[is_inside].append(f"R={rank}")
        differences.append(f"{rows['weight_error'].median() - paper.weight_error:+.3f} (R={rank})")
        _, _, errors, smae = np.concatenate([results.traces[i] for i in rows.index]).T
        near = smae[np.abs(errors - paper.weight_error) <= NEAR]
        span = f"{near.min():.3f} – {near.max():.3f}" if len(near) else "no such point"
        lines.append({"rank": rank, "paper": paper, "count": len(near), "span": span})
    top = max(published)
    expected = results.objective + published[top].weight_error ** 2 * np.sum(results.free**2)
    return {
        "source": runs.PAPER,
        "differences": ", ".join(differences),
        "inside": ", ".join(places[True]) or "none",
        "outside": ", ".join(places[False]) or "none",
        "near": NEAR,
        "near_table": table(*POINTS, lines),
        "top_rank": top,
        "top": published[top],
        "top_objective": results.by_rank[top]["objective"].median(),
        "expected": expected,
        "more": expected / results.objective,
        "off": abs(published[top].smae - results.smae[0]),
    }


def draw_spectra(results: Results, path: Path) -> str:
    """Draw magnitudes of the weights against frequency, a panel for each rank."""
    from matplotlib.lines import Line2D

    ranks = sorted(results.spectra)
    rows = -(-len(ranks) // 2)
    figure = new_figure(11, 3.1 * rows + 0.6)
    panels = figure.subplots(rows, 2, sharex=True, sharey=True, squeeze=False)
    n_basis, magnitudes = len(results.free), results.free
    frequencies = np.arange(n_basis) - n_basis // 2
    # the band around 0 that holds nearly all energy, in round hundreds
    energy = np.bincount(np.abs(frequencies), magnitudes**2).cumsum()
    needed = int(np.searchsorted(energy, ENERGY * energy[-1]))
    band = min(n_basis // 2, -(-needed // 100) * 100)
    for axes, rank in zip(panels.flat, ranks, strict=False):
        axes.plot(frequencies, magnitudes, color=FREE, linewidth=0.6)
        axes.plot(frequencies, results.spectra[rank], color=COLOURS["TKM"], linewidth=0.6)
        axes.set_title(TITLE.format(**median_row(results.by_rank[rank])), fontsize=10)
        axes.set(xlim=(-band, band), ylim=(0, None))
        plain(axes)
    for axes in panels.flat[len(ranks) :]:
        axes.set_visible(False)
    figure.supxlabel("frequency, cycles in the whole stretch", fontsize=10)
    figure.supylabel("|w|, standard deviations of the sound", fontsize=10)
    handles = [
        Line2D([], [], color=FREE, label=f"unconstrained, all {n_basis:,} weights"),
        Line2D([], [], color=COLOURS["TKM"], label="quantized, rank R"),
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    return save_figure(figure, path)


def draw_errors(results: Results, path: Path) -> str:
    """Draw the error on the test rows against that of the weights, along every fit."""
    from matplotlib import colormaps

    figure = new_figure(7, 4.6)
    axes = figure.subplots()
    last = max(1, len(results.by_rank) - 1)
    for k, (rank, rows) in enumerate(sorted(results.by_rank.items())):
        colour = colormaps["viridis_r"](0.1 + 0.8 * k / last)  # from light to dark with the rank
        for index in rows.index:
            _, _, errors, smae = results.traces[index].T
            axes.plot(errors, smae, color=colour, linewidth=0.8, alpha=0.6)
        axes.plot(
            rows["weight_error"], rows["smae"], "o",
            color=colour, markeredgecolor="white", markersize=7, label=f"R = {rank}",
        )  # fmt: skip
    axes.plot(0, results.smae[0], "*", color=FREE, markersize=12, label="unconstrained")
    if paper := list(results.published.values()):
        axes.plot(
            [row.weight_error for row in paper], [row.smae for row in paper], "x",
            color=FREE, markersize=8, markeredgewidth=1.8, label="paper",
        )  # fmt: skip
    axes.axhline(results.silence[0], color="0.6", linestyle=":", linewidth=1)
    axes.annotate(
        "predicting the mean", (0, results.silence[0]), xytext=(4, 4),
        textcoords="offset points", color="0.4", fontsize=8,
    )  # fmt: skip
    axes.set_xlabel("relative error of the weights")
    axes.set_ylabel("SMAE on the test rows, standard deviations")
    axes.set(xlim=(-0.03, 1), ylim=(0, None))
    axes.grid(color="0.92")
    axes.legend(frameon=False, loc="lower right")
    plain(axes)
    return save_figure(figure, path)
