"""The paper's large experiment, its Table 1: how late a flight arrives.

    data → splits → models of the paper, defaults, other methods → records → page and figure

Fits run one after another, each on all cores, because their times are reported.  Finished ones
are recorded at once; a run that was interrupted goes on after the last of them.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..options import Options
from ..records import Records
from ..runner import Fit, run_fits
from . import alternatives, page, protocol
from .data import Flights, choose
from .protocol import Candidate, Setting

KEYS = ("dataset", "model", "split")


def run(
    options: Options,
    *,
    datasets: Iterable[str] | None = None,
    splits: int = 10,
    splits_2001: int = 1,
) -> Path:
    """Run the experiment, or what is left of it, and write its page.

    Parameters
    ----------
    options : Options
        Where results go, which data, how many cores; ``quick`` takes 20,000 of the New York
        flights, one split, few epochs and small alternatives.
    datasets : iterable of {"airline", "nyc_flights", "flights_2001"}, optional
        Which flights. By default those of the paper if they are there, and else both others.
    splits : int, default=10
        Number of random splits.
    splits_2001 : int, default=1
        The same for the three million flights of 2001, of which a split takes long.

    Returns
    -------
    pathlib.Path
        The page ``airline.md``; beside it are ``airline.csv``, ``airline.png`` and
        ``airline.pdf``.
    """
    for name, number in (("splits", splits), ("splits_2001", splits_2001)):
        if number < 1:
            raise ValueError(f"{name}={number} must be at least 1")
    flights = choose(datasets, options)
    no_process = alternatives.why_no_process(options.quick)
    models = protocol.table_one()
    further = alternatives.defaults() + alternatives.others()
    skipped = {alternatives.GAUSSIAN_PROCESS} if no_process else set()
    fitted = [candidate for candidate in models + further if candidate.name not in skipped]
    records = Records(options.output / "airline.csv", KEYS, protocol.VALUES, _settings(options))
    numbers = {"flights_2001": splits_2001}
    if options.quick:
        splits, numbers = 1, {}
    for each in flights:
        _run(each, fitted, numbers.get(each.name, splits), records, options)
        each.forget()
    return _report(records, flights, models, further, options, no_process)


def _settings(options: Options) -> dict[str, Any]:
    """Return the settings common to all rows of the records."""
    epochs = protocol.QUICK_EPOCHS if options.quick else protocol.EPOCHS
    return {
        "quick": options.quick,
        "n_basis": protocol.N_BASIS,
        "period": protocol.PERIOD,
        "alpha": protocol.ALPHA,
        "epochs": epochs,
    }


def _run(
    flights: Flights,
    candidates: Sequence[Candidate],
    splits: int,
    records: Records,
    options: Options,
) -> None:
    """Run the fits of one data set that are not recorded yet."""
    arguments = {
        "flights": {flights.name: flights},
        "candidates": {candidate.name: candidate for candidate in candidates},
        "cores": options.cores,
        "quick": options.quick,
    }
    fits = [
        Fit(
            {"dataset": flights.name, "model": candidate.name, "split": split},
            protocol.fit_one,
            arguments,
            candidate.cost,
        )
        for split in range(splits)
        for candidate in candidates
        if flights.name not in candidate.left_out
        and (candidate.most_splits is None or split < candidate.most_splits)
    ]
    left = [fit for fit in fits if records.key(fit.name) not in records.done]
    if left:
        halves = flights.split(left[0].name["split"])
        setting = Setting(halves.X_train.shape[1], 0, options.cores, options.quick)
        protocol.compile_loops(list(candidates), halves, setting)
    title = f"airline, {flights.name}"
    run_fits(fits, records, title=title, progress=options.progress)


def _report(
    records: Records,
    flights: Sequence[Flights],
    models: Sequence[Candidate],
    further: Sequence[Candidate],
    options: Options,
    no_process: str | None,
) -> Path:
    """Draw the figure and write the page of the data sets and models of this run."""
    results: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for each in flights:
        found: dict[str, list[dict[str, Any]]] = {}
        for row in records.rows:
            if row["dataset"] == each.name:
                found.setdefault(row["model"], []).append(row)
        results[each.name] = found
    picture = _draw(results, [*models, *further], options.output / "airline")
    return page.write(
        options.output / "airline.md",
        results,
        [candidate.name for candidate in models],
        [candidate.name for candidate in further],
        command=options.command_line,
        has_new=records.n_new > 0,
        no_process=no_process,
        quick=options.quick,
        figure=picture,
    )


def _draw(results: dict[str, Any], candidates: Sequence[Candidate], path: Path) -> str | None:
    """Draw the figure; its file name, or None without matplotlib."""
    try:
        from . import figure
    except ModuleNotFoundError as missing:
        print(f'no figure: {missing.name} is not installed; try: pip install "qtkm[plot]"')
        return None
    drawn: dict[str, dict[str, list[Any]]] = {}
    for dataset, found in results.items():
        families = drawn.setdefault(dataset, {})
        for candidate in candidates:
            if candidate.name in found:
                families.setdefault(candidate.family, []).append(found[candidate.name])
    return figure.draw(drawn, path)[0].name
