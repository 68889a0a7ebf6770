"""The paper's experiment on natural sound, its Figure 3 and Table 2: what a low rank recovers.

    sound → unconstrained weights → fits from several starts → records → page and figures

Fits run several at a time, each in a process of one thread, the longest first.  A finished one is
recorded at once and its cores are kept; a run that was interrupted goes on after the last of them,
and figures are drawn again without fitting.
"""

from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from ..options import Options
from ..records import Records
from ..runner import Fit, run_fits
from . import page, protocol, unconstrained
from .data import Sound, load
from .protocol import FULL, MOMENTUM, PLAIN, QUICK, Protocol
from .results import Results

QUICK_STARTS = 2


def run(options: Options, *, starts: int = 5) -> Path:
    """Run the experiment, or what is left of it, and write its page.

    Parameters
    ----------
    options : Options
        Where results go, where the data are, how many cores; ``quick`` takes the first 6000
        samples, M = 512, ranks 5 and 10, and at most two starts.
    starts : int, default=5
        Number of starts of every rank, with seeds 0, 1, …

    Returns
    -------
    pathlib.Path
        The page ``sound.md``; beside it are ``sound.csv``, the figures ``sound`` and
        ``sound_errors`` as PNG and PDF, and the folder ``sound_fits`` with the cores.
    """
    if starts < 1:
        raise ValueError(f"starts={starts} must be at least 1")
    chosen = QUICK if options.quick else FULL
    starts = min(starts, QUICK_STARTS) if options.quick else starts
    sound = load(options)
    free = unconstrained.solve(sound.turns(sound.X_train), sound.y_train, chosen.n_basis)
    records = Records(
        options.output / "sound.csv", protocol.KEYS, protocol.VALUES, chosen.settings()
    )
    folder = options.output / "sound_fits"
    fits = make_fits(chosen, starts, sound, free, folder)
    run_fits(fits, records, title="sound", n_jobs=options.cores, progress=options.progress)
    results = Results.collect(records.rows, [fit.name for fit in fits], sound, free, folder)
    figures = _draw(results, options.output)
    return page.write(
        options.output / "sound.md",
        results,
        chosen,
        command=options.command_line,
        has_new=records.n_new > 0,
        quick=options.quick,
        figures=figures,
    )


def make_fits(
    chosen: Protocol, starts: int, sound: Sound, free: NDArray, folder: Path
) -> list[Fit]:
    """List all fits, the longest first.

    Parameters
    ----------
    chosen : Protocol
    starts : int
        Number of starts of every rank.
    sound : Sound
    free : ndarray of shape (n_basis,)
        The unconstrained weights.
    folder : pathlib.Path
        Where models are kept.

    Returns
    -------
    list of Fit
    """
    arguments = {"sound": sound, "free": free, "protocol": chosen, "folder": folder}
    names: list[dict[str, Any]] = [
        {"solver": MOMENTUM, "rank": rank, "start": start}
        for rank in chosen.ranks
        for start in range(starts)
    ]
    names += [{"solver": PLAIN, "rank": rank, "start": 0} for rank in chosen.plain_epochs]
    fits = [
        Fit(name, protocol.fit_one, arguments, chosen.cost(name["solver"], name["rank"]))
        for name in names
    ]
    return sorted(fits, key=lambda fit: -fit.cost)


def _draw(results: Results, output: Path) -> dict[str, str]:
    """Draw the figures; their file names, none without matplotlib."""
    try:
        from . import figure
    except ModuleNotFoundError as missing:
        print(f'no figures: {missing.name} is not installed; try: pip install "qtkm[plot]"')
        return {}
    return {
        "spectra": figure.draw_spectra(results, output / "sound")[0].name,
        "errors": figure.draw_errors(results, output / "sound_errors")[0].name,
    }
