"""Tables as the commands read them: whole, or opened as sources of blocks of rows."""

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from ..data.sources import Block, Source, open_source
from ..data.sources.batches import BatchSource
from ..data.sources.paths import find_files
from ..data.sources.source import Chunk
from ..data.sources.text_columns import TextSource
from .splitting import is_there
from .tables import ZIPPED, check_names, choose, kind_of, read_table
from .task import refuse_missing, refuse_mixed, refuse_times

#: a table that would take a larger part of the machine's memory is not read as a whole
LARGE = 0.25
#: bytes that a value, and a byte of a packed or plain CSV file, take in a table in memory
BYTES_A_VALUE, PACKED, PLAIN = 16, 10, 2


# -- whole --------------------------------------------------------------------------------------


def read_rows(
    data: Path, target: str, weight: str | None, drop: Sequence[str], category: Sequence[str]
) -> tuple[Any, Any, Any]:
    """Features, target and weights of the rows that have a target.

    Parameters
    ----------
    data : pathlib.Path
    target : str
    weight : str or None
    drop, category : sequence of str
        Columns to leave out, and to take for categories.
    """
    check_target(target, weight)
    frame = read_table(data)
    needed = [target] if weight is None else [target, weight]
    choose(frame, [*needed, *drop, *category], data)
    frame = frame.dropna(subset=needed)
    if len(frame) < 2:
        raise too_few_rows(data, len(frame))
    X = frame.drop(columns=[*needed, *drop])
    if X.shape[1] == 0:
        raise no_feature(data, target)
    plain = X.drop(columns=list(category), errors="ignore")
    refuse_times(plain)
    refuse_missing(plain, data, "these rows or the column, --drop {}")
    for name in plain.columns:
        refuse_mixed(plain[name], "column", remedy_for_mixed(name))
    return X, frame[target], None if weight is None else frame[weight].to_numpy()


def check_target(target: str, weight: str | None) -> None:
    """Raise a ValueError if one column is to be target and weight."""
    if weight == target:
        raise ValueError(f"{target!r} is given as target and as weight; name two columns")


def too_few_rows(data: Path, count: int) -> ValueError:
    """Error for a table without enough rows to fit to."""
    return ValueError(f"{data} has {count} rows with a target; at least 2 are needed")


def no_feature(data: Path, target: str) -> ValueError:
    """Error for a table without a column to predict from."""
    return ValueError(f"{data} has no column left to predict {target!r} from")


def remedy_for_mixed(name: str) -> str:
    """What may be done with a column of text among numbers, beside correcting it."""
    return (
        f"leave the column out, --drop {quote(name)}, or take all its values for categories, "
        f"--category {quote(name)}"
    )


def features(model: Any, path: Path, target: str | None = None) -> Any:
    """The model's columns of a table in memory, and its target if asked for.

    Parameters
    ----------
    model : estimator
    path : pathlib.Path
    target : str, optional
        Rows without it are left out.

    Returns
    -------
    X, or (X, y)
    """
    names = getattr(model, "feature_names_in_", None)
    more = [] if target is None else [target]
    frame = read_table(path, None if names is None else list(dict.fromkeys([*names, *more])))
    choose(frame, more, path)
    if target is not None:
        frame = frame.dropna(subset=[target])
        if len(frame) == 0:
            raise ValueError(f"{path} has no row with a target")
    X = frame.drop(columns=more) if names is None else frame[list(names)]
    for column in model.columns_:
        name = column["name"]
        if column["categories"] is None and name in X.columns:
            _refuse_text(X[name], f"{path}", name)
    numbers = [c["name"] for c in model.columns_ if c["categories"] is None]
    refuse_missing(X[[name for name in numbers if name in X.columns]], path, "these rows")
    return X if target is None else (X, frame[target])


def _refuse_text(column: Any, where: str, name: str) -> None:
    """Raise a ValueError for text or times where the model expects numbers."""
    import pandas

    kind = getattr(column.dtype, "kind", "O")
    if kind in "biuf":
        return
    if kind in "mM":
        raise ValueError(f"{where}: times in column {name!r}, where the model expects numbers")
    values = pandas.Series(column, dtype=object)
    strange = values[pandas.to_numeric(values, errors="coerce").isna() & values.notna()]
    present = values.dropna() if strange.empty else strange
    example = f" such as {present.iloc[0]!r:.40}" if len(present) else ""
    raise ValueError(f"{where}: text{example} in column {name!r}, where the model expects numbers")


# -- block by block -----------------------------------------------------------------------------


def is_many(data: Path) -> bool:
    """Whether a name is that of a folder or a pattern, not of a file."""
    return data.is_dir() or (not data.exists() and glob.has_magic(str(data)))


def is_large(data: Path) -> bool:
    """Whether a file is too large to be read as a whole on this machine."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # where it is not told
        return False
    if not data.is_file() or data.name.lower().endswith(ZIPPED):
        return False
    if kind_of(data) == "csv":
        size = data.stat().st_size * (PACKED if data.suffix in (".gz", ".bz2") else PLAIN)
        return size > LARGE * memory
    # smaller than that by its bytes alone, it need not be opened
    if data.stat().st_size * 100 < LARGE * memory:
        return False
    source = open_source(data)
    return (source.n_rows or 0) * len(source.names) * BYTES_A_VALUE > LARGE * memory


def open_table(data: Path, text: Sequence[str] = ()) -> Source:
    """Open a file, a folder of files or a pattern, to be read block by block.

    Parameters
    ----------
    data : pathlib.Path
    text : sequence of str
        Columns that hold text, also where it looks like something else.
    """
    if data.name.lower().endswith(ZIPPED) and not is_many(data):
        return _Frame(read_table(data), data)
    return TextSource(*find_files([data]), text)


class _Frame(BatchSource):
    """A table that is in memory already, with the name of its file in messages."""

    def __init__(self, frame: Any, path: Path):
        super().__init__([frame])
        self.paths, self._path = [path], path

    def _chunks(self, wanted: Sequence[str], coded: set[str], rows: int) -> Iterator[Chunk]:
        for values, n_rows, _ in super()._chunks(wanted, coded, rows):
            yield values, n_rows, f"{self._path}"


def find_columns(model: Any, source: Source, others: Sequence[str], data: Path) -> list[str]:
    """Columns of a source that a model predicts from, in its order.

    Parameters
    ----------
    model : estimator
    source : Source
    others : sequence of str
        Columns that must be there, too, and that no model without names predicts from.
    data : pathlib.Path
        What the source was made of, for messages.
    """
    names = getattr(model, "feature_names_in_", None)
    found = [n for n in source.names if n not in others] if names is None else list(names)
    check_names(source.names, [*found, *others], data)
    if len(found) != model.n_features_in_:
        raise ValueError(
            f"{data} has {len(found)} columns to predict from, and the model was fitted to "
            f"{model.n_features_in_} columns without names; the table must have these, in their "
            "order, and no others"
        )
    return found


def text_columns(model: Any) -> list[str]:
    """Columns whose categories are texts for a model."""
    return [
        column["name"] for column in model.columns_
        if any(isinstance(value, str) for value in column["categories"] or ())
    ]  # fmt: skip


def check_block(model: Any, names: Sequence[str], block: Block) -> Block:
    """Raise a ValueError if rows have text, or nothing, where a model expects numbers.

    Parameters
    ----------
    model : estimator
    names : sequence of str
        Columns that it predicts from.
    block : Block

    Returns
    -------
    Block
        The same.
    """
    for name, column in zip(names, model.columns_, strict=True):
        if column["categories"] is None:
            values = block.columns[name]
            _refuse_text(values, block.where, name)
            refuse_gaps(values, name, block, "these rows")
    return block


def refuse_gaps(values: Any, name: str, block: Block, remedy: str, keep: Any = True) -> None:
    """Raise a ValueError for numbers that are missing or infinite.

    Parameters
    ----------
    values : array
    name : str
        Of the column.
    block : Block
        The rows, for messages.
    remedy : str
        What may be left out.
    keep : array of bool
        Rows that count.
    """
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    missing = ~is_there(values) & keep
    wrong = missing if missing.any() else ~np.isfinite(values) & keep
    if not wrong.any():
        return
    what, do = ("no number", "fill them in") if missing.any() else ("infinity", "correct them")
    first = block.first_row + int(np.argmax(wrong)) + 1
    raise ValueError(
        f"{block.where}: {what} in column {name!r} in {int(wrong.sum()):,} of "
        f"{block.n_rows:,} rows, first in row {first:,} of the table; {do}, or leave out {remedy}"
    )


def as_X(model: Any, block: Block, names: Sequence[str]) -> Any:
    """What a model predicts from: a frame where it knows names, an array otherwise."""
    columns = [block.columns[name] for name in names]
    known = getattr(model, "feature_names_in_", None)
    if known is None and all(isinstance(column, np.ndarray) for column in columns):
        return np.column_stack(columns)
    import pandas

    X = pandas.DataFrame(dict(enumerate(columns)), copy=False)
    if known is None:
        return X.to_numpy(dtype=object)
    X.columns = list(known)
    return X
