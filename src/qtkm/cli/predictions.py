"""``qtkm predict``: rows of any number to predictions, block by block."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import load
from ..data.sources import Source
from ..data.sources.paths import CSV, PARQUET, format_of
from ..data.sources.source import MappedSource
from ..escaping import visible
from ..estimators.predicting import as_X, predictor
from ..limits import LIMITS
from . import output
from .formats import check_writable
from .reading import check_block, find_columns, name_of, open_table, text_columns
from .unseen import Unseen


def predict(
    model_file: Path,
    data: Sequence[Path],
    out: Path | None,
    proba: bool,
    keep: Sequence[str] = (),
    quiet: bool = False,
    std: bool = False,
    interval: float | None = None,
) -> None:
    """Predict the rows of a table, to a file or to the screen.

    Parameters
    ----------
    model_file : pathlib.Path
    data : sequence of pathlib.Path
        Files, folders and patterns.
    out : pathlib.Path or None
        None is CSV on the standard output.
    proba : bool
        Probabilities instead of labels.
    keep : sequence of str
        Columns to carry along.
    quiet : bool
        Whether neither progress, nor the number of rows, nor remarks are shown.
    std : bool
        Standard deviations beside the predictions.
    interval : float or None
        Coverage of intervals beside them.
    """
    if out is not None:  # refused before anything takes long
        if format_of(out) is None and not out.is_dir():
            raise ValueError(
                f"{out} is neither CSV nor Parquet by its name; expected one that ends in "
                f"{', '.join((*CSV, *PARQUET))}"
            )
        check_writable(out)
    model = load(model_file)
    if proba and not hasattr(model, "predict_proba"):
        raise ValueError(f"{model_file} gives no probabilities; leave out --proba")
    keep = list(dict.fromkeys(keep))
    source = open_table(data, text_columns(model))
    names, shown = find_columns(model, source, keep, name_of(data)), output.is_watched(quiet)
    unseen = Unseen(model, names)
    table = MappedSource(source, lambda block: unseen.add(check_block(model, names, block)))
    if out is None:
        predicted = predictor(model, proba, keep, std, interval)
        _print(model, predicted, table, names, keep, shown)
    else:
        model.verbose = int(shown)
        n_rows = model.predict_dataset(
            table, out, columns=names, keep=keep, proba=proba, std=std, interval=interval
        )
        if not quiet:
            output.write(f"{n_rows:,} row{'s' * (n_rows != 1)} written to {out}")
    for remark in [] if quiet else unseen.remarks():
        output.note(remark)


def _print(
    model: Any, predicted: Any, table: Source, names: list[str], keep: list[str], shown: bool
) -> None:
    """Print predictions as CSV."""
    import pandas

    # a bar among the rows would spoil both
    shown = shown and not sys.stdout.isatty()
    blocks = table.blocks(names, LIMITS.printed_rows, keep)
    header = True
    for block in output.watched(blocks, table.expected_rows(), "predict", shown):
        X = as_X(model, block, names)
        result = pandas.DataFrame(predicted(X, block.where))
        for position, name in enumerate(keep):
            # of its own type, so that whole numbers with gaps stay whole
            carried = block.carried[name]
            values = pandas.Series(carried, dtype=pandas.ArrowDtype(carried.type))
            result.insert(position, name, values)
        if sys.stdout.isatty():
            result = _for_a_screen(result)
        result.to_csv(sys.stdout, index=False, header=header)
        sys.stdout.flush()
        header = False


def _for_a_screen(table: Any) -> Any:
    """Escape control characters in a table for display in a terminal."""
    table = table.rename(columns=visible)
    for name in table:
        if any(isinstance(value, str) for value in table[name]):
            shown = [visible(v) if isinstance(v, str) else v for v in table[name]]
            table[name] = np.array(shown, dtype=object)
    return table
