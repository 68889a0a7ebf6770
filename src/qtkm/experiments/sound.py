"""The paper's experiment on natural sound, its Figure 3 and Table 2: what a low rank recovers.

    sound → unconstrained weights → fits from several starts → records → page and figures

Everything follows the paper: L = 1, no penalty, Gaussian cores to start from, all distinct values
exactly, no row set aside.  Fits run to convergence, by momentum in a fraction of the paper's
sweeps, several at a time, each in a process of one thread; cores are kept, so that figures are
drawn again without fitting.
"""

from collections import namedtuple
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_toeplitz
from sklearn.metrics import mean_absolute_error

from ..datasets import load_sound
from ..inspection.plotting import new_figure, plain
from ..solvers import ALS
from . import runs
from .runs import COLOURS, Fit, Options, Records, Split, run_fits

#: a quick run takes the samples up to this position, and so many starts
QUICK_SAMPLES, QUICK_STARTS = 6000, 2
KEYS = ("rank", "start")
VALUES = ("parameters", "compression", "weight_error", "smae", "train_smae", "objective",
          "epochs", "status", "seconds")  # fmt: skip
#: file of a fit's cores
KEPT = "rank{rank}_start{start}.npz"
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
#: A start of rank 10 crept at 1.1e-6 an epoch for sixty epochs before it fell by another 2 %, so a
#: tolerance of 1e-6 ends too early.
TOLERANCE = 1e-8
#: sizes of the experiment: M, and rank → most epochs
SoundProtocol = namedtuple("SoundProtocol", "n_basis epochs")
FULL = SoundProtocol(2**13, {10: 2000, 25: 2000, 50: 1000, 100: 600})
QUICK = SoundProtocol(2**9, {5: 60, 10: 60})


def run(options: Options, *, starts: int = 5) -> Path:
    """Run the experiment, or what is left of it, and write its page.

    Every rank has `starts` starts, of the seeds 0, 1, …; a quick run takes the first 6000 samples,
    M = 512, ranks 5 and 10, and at most two starts. Cores are kept in the folder ``sound_fits``.
    """
    chosen = QUICK if options.quick else FULL
    starts = min(starts, QUICK_STARTS) if options.quick else starts
    sound = load(options)
    free = solve_free(sound, chosen.n_basis)
    settings = {"n_basis": chosen.n_basis, "tol": TOLERANCE, "epochs": list(chosen.epochs.items())}
    records = Records(options, "sound", KEYS, VALUES, settings)
    arguments = {"sound": sound, "free": free, "folder": options.output / "sound_fits"}
    fits = [  # an epoch takes 14, 45, 109, 358 ms at the paper's ranks
        Fit({"rank": rank, "start": start}, fit_one, arguments | {"max_iter": limit},
            cost=limit * rank**1.4)
        for rank, limit in chosen.epochs.items()
        for start in range(starts)
    ]  # fmt: skip
    rows = run_fits(fits, records, n_jobs=options.cores)
    return write(records, rows, sound, free, chosen)


def load(options: Options) -> Split:
    """Read and standardize the sound; a quick run takes the beginning of it."""
    given: dict[str, Any] = {"return_X_y": True, "as_frame": False, "data_home": options.data_home}
    parts: list[NDArray] = []
    for X, y in (load_sound(subset="train", **given), load_sound(subset="test", **given)):
        rows = X[:, 0] <= (QUICK_SAMPLES if options.quick else np.inf)
        parts += [X[rows], y[rows]]
    X_train, y_train, X_test, y_test = parts
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
    return solve_toeplitz((counts.conj(), counts), right)  # first column and first row


def respond(weights: NDArray, sound: Split, X: NDArray) -> NDArray:
    """Evaluate Σ_m w(m) exp(2πi·t·(m - ⌊M/2⌋)) at samples, by a Fourier transform."""
    places, length = _places(sound, X)
    spectrum = np.zeros(length, dtype=np.complex128)
    np.add.at(spectrum, (np.arange(len(weights)) - len(weights) // 2) % length, weights)
    return length * np.fft.ifft(spectrum)[places]


def fit_one(
    rank: int, start: int, *, sound: Split, free: NDArray, max_iter: int, folder: Path
) -> dict[str, Any]:
    """Fit a model on one thread, measure it, and keep its cores."""
    model = runs.paper_model(
        n_basis=len(free), period=1, quantization=2, rank=rank, alpha=0, max_iter=max_iter,
        tol=TOLERANCE, solver=ALS(momentum=True), init="random", normalize_y=False,
        random_state=start, n_jobs=1,
    )  # fmt: skip
    seconds = runs.fit_timed(model, sound, 1)
    folder.mkdir(parents=True, exist_ok=True)
    np.savez(folder / KEPT.format(rank=rank, start=start), cores=np.stack(model.cores_[0]))
    weights = weights_of(model.cores_[0])
    return {
        "parameters": model.n_parameters_,
        "compression": len(free) / model.n_parameters_,
        # relative to the norm of the unconstrained weights
        "weight_error": np.linalg.norm(weights - free) / np.linalg.norm(free),
        "smae": mean_absolute_error(sound.y_test, model.predict(sound.X_test)),
        "train_smae": mean_absolute_error(sound.y_train, model.predict(sound.X_train)),
        "objective": model.history_["objective"][-1],
        "epochs": model.n_iter_,
        "status": model.status_,
        "seconds": seconds,
    }


def weights_of(cores: list[NDArray]) -> NDArray:
    """Return all M weights of the cores of one column."""
    return runs.unquantized([cores])[0][0].sum(axis=1)


def read_kept(folder: Path, row: Mapping[str, Any]) -> NDArray:
    """Return the weights (M,) of a recorded fit."""
    with np.load(folder / KEPT.format(**row)) as kept:
        return weights_of(list(kept["cores"]))


class Range:
    """Values of several starts, formatted as their median, the least and the greatest."""

    def __init__(self, values: Any):
        self.ends = values.median(), values.min(), values.max()

    def __format__(self, form: str) -> str:
        return "{} ({} – {})".format(*(format(end, form) for end in self.ends))


def median_row(rows: Any) -> Any:
    """Return the start with the median weight error, the better of two in the middle."""
    return rows.sort_values("weight_error", kind="stable").iloc[(len(rows) - 1) // 2]


#: errors on test and training rows of the unconstrained model and of predicting the mean, and the
#: mean squared complex residual of the former
Reference = namedtuple("Reference", "smae silence objective")


def refer(sound: Split, free: NDArray) -> Reference:
    """Measure what needs no fit."""
    test, train = (respond(free, sound, X) for X in (sound.X_test, sound.X_train))
    pairs = [(sound.y_test, test), (sound.y_train, train)]
    smae = [mean_absolute_error(y, found.real) for y, found in pairs]
    silence = [np.abs(y).mean() for y, _ in pairs]
    return Reference(smae, silence, np.mean(np.abs(train - sound.y_train) ** 2))


def write(records: Records, rows: Any, sound: Split, free: NDArray, chosen: SoundProtocol) -> Path:
    """Draw the figures and write the page."""
    folder, reference = records.path.with_name("sound_fits"), refer(sound, free)
    by_rank = dict(tuple(rows.groupby("rank")))
    spectra = {rank: np.abs(read_kept(folder, median_row(f))) for rank, f in by_rank.items()}
    # rows of the paper's table whose models have the same numbers of parameters
    published = {
        rank: PUBLISHED[rank]
        for rank, fits in by_rank.items()
        if rank in PUBLISHED and PUBLISHED[rank].parameters in fits["parameters"].values
    }
    gaps = find_gaps(sound)
    values = {
        "n_train": len(sound.y_train),
        "n_test": len(sound.y_test),
        "protocol": chosen,
        "n_gaps": len(gaps),
        "gaps": " to ".join(str(length) for length in sorted({min(gaps), max(gaps)})),
        "samples_each": (len(sound.y_train) + len(sound.y_test)) / chosen.n_basis,
        "ranks": [_describe(rank, fits, published.get(rank)) for rank, fits in by_rank.items()],
        "n_free": len(free),
        "louder": reference.silence[0] / reference.silence[1],
        "tol": TOLERANCE,
        "limits": ", ".join(f"{epochs:,} (R={rank})" for rank, epochs in chosen.epochs.items()),
        "reference": reference,
        **_compare_starts(rows),
        **(_beside_the_paper(by_rank, published, reference, free) if published else {}),
    }
    drawn = {
        "sound": partial(draw_spectra, by_rank, spectra, np.abs(free)),
        "sound_errors": partial(draw_errors, by_rank, published, reference),
    }
    return runs.write_page(records, rows["seconds"].sum(), values, drawn)


def _compare_starts(rows: Any) -> dict[str, Any]:
    """Return how far starts of a rank differ, and whether both errors do so together."""
    errors = rows[["weight_error", "smae"]]
    of_rank = rows.groupby("rank")[["weight_error", "smae"]]
    widths = (
        f"{row.weight_error:.3f} and {row.smae:.3f} (R={row.Index})"
        for row in (of_rank.max() - of_rank.min()).itertuples()
    )
    return {
        "starts": of_rank.size().max(),
        "widths": ", ".join(widths),
        "correlation": errors.corr().fillna(0.0).iloc[0, 1],
        "correlation_within": (errors - of_rank.transform("mean")).corr().fillna(0.0).iloc[0, 1],
    }


def _describe(rank: int, fits: Any, paper: TableTwoRow | None) -> dict[str, Any]:
    """Return what the tables say of a rank: the paper's errors, and ranges over the starts."""
    return {
        **{name: Range(fits[name]) for name in VALUES if name != "status"},
        "rank": rank,
        "size": fits["parameters"].iloc[0],
        "compression": fits["compression"].iloc[0],
        "paper": [f"{error:.3f}" for error in paper[2:]] if paper else "––",
        "done": f"{(fits['status'] == 'converged').sum()} of {len(fits)}",
    }


def _beside_the_paper(
    by_rank: Mapping[int, Any], published: Mapping[int, TableTwoRow], reference: Reference,
    free: NDArray,
) -> dict[str, Any]:  # fmt: skip
    """Return what compares the starts with the paper's of the same models."""
    differences: list[str] = []
    places: dict[bool, list[str]] = {True: [], False: []}
    for rank, paper in published.items():
        error, smae = by_rank[rank]["weight_error"], by_rank[rank]["smae"]
        places[smae.min() <= paper.smae <= smae.max()].append(f"R={rank}")
        differences.append(f"{error.median() - paper.weight_error:+.3f} (R={rank})")
    rank, top = max(published), published[max(published)]
    # the functions are nearly orthogonal over the training rows
    expected = reference.objective + top.weight_error**2 * np.sum(np.abs(free) ** 2)
    return {
        "differences": ", ".join(differences),
        "inside": ", ".join(places[True]) or "none",
        "outside": ", ".join(places[False]) or "none",
        "top_rank": rank,
        "top": top,
        "top_objective": by_rank[rank]["objective"].median(),
        "expected": expected,
        "more": expected / reference.objective,
        "off": abs(top.smae - reference.smae[0]),
    }


def draw_spectra(by_rank: Mapping[int, Any], spectra: Mapping[int, NDArray], free: NDArray) -> Any:
    """Draw magnitudes of the weights against frequency, a panel for each rank."""
    n_rows = -(-len(spectra) // 2)
    figure = new_figure(11, 3.1 * n_rows + 0.6)
    panels = figure.subplots(n_rows, 2, sharex=True, sharey=True, squeeze=False).flat
    frequencies = np.arange(len(free)) - len(free) // 2
    # the band around 0 that holds nearly all energy, in round hundreds
    energy = np.bincount(np.abs(frequencies), free**2).cumsum()
    needed = int(np.searchsorted(energy, ENERGY * energy[-1]))
    band = min(len(free) // 2, -(-needed // 100) * 100)
    handles: list[Any] = []
    for axes, (rank, spectrum) in zip(panels, spectra.items(), strict=True):
        label = f"unconstrained, all {len(free):,} weights"
        handles = axes.plot(frequencies, free, color=FREE, lw=0.6, label=label)
        style = {"color": COLOURS["TKM"], "lw": 0.6, "label": "quantized, rank R"}
        handles += axes.plot(frequencies, spectrum, **style)
        axes.set_title(TITLE.format(**median_row(by_rank[rank])), fontsize=10)
        axes.set(xlim=(-band, band), ylim=(0, None))
        plain(axes)
    figure.supxlabel("frequency, cycles in the whole stretch", fontsize=10)
    figure.supylabel("|w|, standard deviations of the sound", fontsize=10)
    figure.legend(handles=handles, loc="outside upper center", ncols=2, frameon=False)
    return figure


def draw_errors(
    by_rank: Mapping[int, Any], published: Mapping[int, TableTwoRow], reference: Reference
) -> Any:
    """Draw the error on the test rows against that of the weights."""
    figure = new_figure(7, 4.6)
    axes = figure.subplots()
    axes.set_prop_cycle(color=["#addc30", "#28ae80", "#2c728e", "#472d7b"])  # darker with the rank
    for rank, rows in by_rank.items():
        axes.plot(rows["weight_error"], rows["smae"], "o", mec="white", ms=7, label=f"R = {rank}")
    axes.plot(0, reference.smae[0], "*", color=FREE, markersize=12, label="unconstrained")
    if published:
        _, _, errors, smae = zip(*published.values(), strict=True)
        axes.plot(errors, smae, "x", color=FREE, ms=8, mew=1.8, label="paper")
    mean = reference.silence[0]
    axes.axhline(mean, color="0.6", linestyle=":", linewidth=1, label="predicting the mean")
    axes.set_xlabel("relative error of the weights")
    axes.set_ylabel("SMAE on the test rows, standard deviations")
    axes.set(xlim=(-0.03, 1), ylim=(0, None))
    axes.grid(color="0.92")
    axes.legend(frameon=False, loc="lower right")
    plain(axes)
    return figure
