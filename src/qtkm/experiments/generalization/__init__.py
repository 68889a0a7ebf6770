"""The paper's generalization experiment (its Figures 2 and 4)."""

from dataclasses import replace
from pathlib import Path

from ..options import Options
from ..records import Records
from ..report import save_figure, write_page
from ..runner import run_fits
from .figure import draw
from .page import page
from .protocol import (
    KEYS,
    KRR_KEYS,
    KRR_VALUES,
    QUICK,
    VALUES,
    Protocol,
    fits,
    krr_fits,
)

__all__ = ["Protocol", "run"]


def run(options: Options, *, splits: int = 1, protocol: Protocol | None = None) -> Path:
    """Run the experiment, or what is left of it, and write results, figures and page.

    Parameters
    ----------
    options : Options
    splits : int, default=1
        Number of random splits of each set. The paper redraws starts and random features only.
    protocol : Protocol, optional
        What is varied; by default the paper's, or a small one if ``options.quick``.

    Returns
    -------
    pathlib.Path
        The page.
    """
    protocol = protocol or (QUICK if options.quick else Protocol())
    protocol = replace(protocol, splits=tuple(range(splits)))
    settings = {
        "max_iter": protocol.max_iter,
        "window": protocol.window,
        "tolerance": protocol.tolerance,
    }
    folder = options.output
    krr = Records(folder / "generalization_krr.csv", KRR_KEYS, KRR_VALUES)
    records = Records(folder / "generalization.csv", KEYS, VALUES, settings)
    home, n_jobs = options.data_home, options.cores
    run_fits(krr_fits(protocol, home, n_jobs), krr, title="kernel ridge", progress=options.progress)
    run_fits(
        fits(protocol, krr.rows, home), records, title="generalization", n_jobs=n_jobs,
        progress=options.progress,
    )  # fmt: skip
    rows = [
        row for row in records.rows
        if row["set"] in protocol.sets and row["split"] in protocol.splits
    ]  # fmt: skip
    chosen = [
        row for row in krr.rows
        if row["set"] in protocol.sets and row["split"] in protocol.splits
    ]  # fmt: skip
    for error in ("test_mse", "train_mse"):
        figure = draw(rows, chosen, protocol.sets, error)
        save_figure(figure, folder / f"generalization_{error.removesuffix('_mse')}")
    path = folder / "generalization.md"
    kept = None if krr.n_new or records.n_new else path
    return write_page(path, page(options, protocol, rows, chosen, kept))
