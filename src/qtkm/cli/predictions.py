"""What ``qtkm predict`` does: rows of any number to predictions, block by block."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .. import load
from ..data.sources import MappedSource
from ..data.sources.paths import check_format
from ..escaping import visible
from ..estimators.predicting import as_X, predictor
from ..limits import LIMITS
from . import output
from .output import check_writable, note
from .reading import ModelTable


def predict(
    model_file: Path,
    data: Sequence[Path],
    out: Path | None,
    keep: Sequence[str],
    quiet: bool,
    offset: str | None,
    **options: Any,
) -> None:
    """Predict the rows of a table, to a file or, as CSV, to the screen.

    The options are those of `predict_dataset`: `proba`, `std` and `interval`.
    """
    if out is not None:  # refused before anything takes long
        if not out.is_dir():
            check_format(out)
        check_writable(out)
    model = load(model_file)
    if options["proba"] and not hasattr(model, "predict_proba"):
        raise ValueError(f"{model_file} gives no probabilities; leave out --proba")
    keep = list(dict.fromkeys(keep))
    table, shown = ModelTable(model, data, keep), output.is_watched(quiet)
    checked = MappedSource(table.source, table.check, needs=table.names)
    if out is None:
        _print(table, checked, keep, shown, offset, options)
    else:
        model.verbose = int(shown)
        n_rows = model.predict_dataset(
            checked, out, columns=table.names, keep=keep, offset=offset, **options
        )
        if not quiet:
            output.write(f"{n_rows:,} row{'s' * (n_rows != 1)} written to {out}")
    for remark in [] if quiet else table.remarks():
        note(remark)


def _print(
    table: ModelTable,
    checked: MappedSource,
    keep: list[str],
    shown: bool,
    offset: str | None,
    options: dict[str, Any],
) -> None:
    """Print predictions as CSV."""
    import pandas

    predicted, is_screen = (
        predictor(table.model, keep=keep, has_offset=offset is not None, **options),
        sys.stdout.isatty(),
    )
    names = [*table.names, *([] if offset is None else [offset])]
    blocks = checked.blocks(list(dict.fromkeys(names)), LIMITS.printed_rows, keep)
    header = True
    # a bar among the rows would spoil both
    for block in output.watched(
        blocks, checked.expected_rows(), "predict", shown and not is_screen
    ):
        shift = None if offset is None else block.columns[offset]
        X = as_X(table.model, block, table.names)
        result = pandas.DataFrame(predicted(X, block.where, shift))
        for position, name in enumerate(keep):
            # of its own type, so that whole numbers with gaps stay whole
            carried = block.carried[name]
            values = pandas.Series(carried, dtype=pandas.ArrowDtype(carried.type))
            result.insert(position, name, values)
        result = _escaped(result) if is_screen else result
        result.to_csv(sys.stdout, index=False, header=header)
        sys.stdout.flush()
        header = False


def _escaped(table: Any) -> Any:
    """Escape control characters in a table for display in a terminal."""
    table = table.rename(columns=visible)
    for name in table:
        if any(isinstance(value, str) for value in table[name]):
            shown = [visible(v) if isinstance(v, str) else v for v in table[name]]
            table[name] = np.array(shown, dtype=object)
    return table
