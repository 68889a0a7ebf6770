"""Tables as the commands open them: sources of blocks of rows, of which some are in memory."""

import glob
import os
import shutil
import tempfile
import weakref
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..data.sources import Block, Source, open_source
from ..data.sources.errors import DataFileError
from ..data.sources.files import TextSource
from ..data.sources.paths import find_files
from ..limits import LIMITS
from .failures import TableError
from .formats import ZIPPED, check_names, kind_of, refuse_encoding, separator_hint

#: bytes that a value, and a byte of a packed or plain CSV file, take in a table in memory
BYTES_A_VALUE, PACKED, PLAIN = 16, 10, 2
#: most rows of a sample that is held in memory, unless the user says otherwise
MOST_ROWS = 1_000_000


def name_of(data: Sequence[Path]) -> str:
    """Return a short name for files, folders and patterns, for messages."""
    more = len(data) - 1
    return f"{data[0]}" if more == 0 else f"{data[0]} and {more} more"


def is_many(data: Sequence[Path]) -> bool:
    """Whether these may be several files: a list, a folder or a pattern."""
    first = data[0]
    return len(data) > 1 or first.is_dir() or (not first.exists() and glob.has_magic(str(first)))


def is_large(path: Path) -> bool:
    """Whether a file is too large to be read as a whole on this machine."""
    memory = memory_for_tables()
    if memory is None or not path.is_file() or path.name.lower().endswith(ZIPPED):
        return False
    if kind_of(path) == "csv":
        size = path.stat().st_size * (PACKED if path.suffix in (".gz", ".bz2") else PLAIN)
        return size > memory
    # smaller than that by its bytes alone, it need not be opened
    if path.stat().st_size * 100 < memory:
        return False
    source = open_source(path)
    return (source.n_rows or 0) * len(source.names) * BYTES_A_VALUE > memory


def memory_for_tables() -> float | None:
    """Bytes of memory that a table may take; None where the machine does not tell."""
    try:
        return LIMITS.table_share * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return None


def most_rows(wanted: int | None, n_columns: int) -> int:
    """Most rows of a sample: as the user wants, else what is enough and has room in memory."""
    if wanted is not None:
        return wanted
    memory = memory_for_tables()
    if memory is None:
        return MOST_ROWS
    return min(MOST_ROWS, int(memory / (BYTES_A_VALUE * n_columns)) + 1)


def open_table(
    data: Sequence[Path], text: Sequence[str] = (), categories: Sequence[str] = ()
) -> Source:
    """Open files, folders of files or patterns, to be read block by block.

    Parameters
    ----------
    data : sequence of pathlib.Path
    text : sequence of str
        Columns that hold text, also where it looks like something else.
    categories : sequence of str
        Columns that hold text where it looks like times.
    """
    if data[0].name.lower().endswith(ZIPPED) and not is_many(data):
        return _unpack(data[0])
    files, kind = find_files(data)
    for path in files:
        refuse_encoding(path)
    try:
        return TextSource(files, kind, text, categories)
    except DataFileError:
        for path in files:
            if hint := separator_hint(path):
                raise DataFileError(f"{path} cannot be read as csv: {hint}") from None
        raise


def _unpack(path: Path) -> Source:
    """Open the table in a zip file; what is unpacked stays as long as the source."""
    folder = tempfile.mkdtemp(prefix="qtkm-")
    try:
        with zipfile.ZipFile(path) as packed:
            inside = Path(packed.extract(packed.namelist()[0], folder))
    except (zipfile.BadZipFile, IndexError, OSError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise ValueError(f"{path} cannot be read as csv: {error}") from None
    source = open_table([inside.rename(Path(folder) / path.name.removesuffix(".zip"))])
    weakref.finalize(source, shutil.rmtree, folder, True)
    return source


def read_frame(source: Source, name: str) -> Any:
    """Read all rows of a source as a pandas DataFrame."""
    import pandas

    blocks = list(source.blocks(source.names))
    if not blocks:
        raise ValueError(f"{name} has columns but no rows")
    columns = {n: join([block.columns[n] for block in blocks]) for n in source.names}
    return pandas.DataFrame(columns, copy=False)


def join(parts: Sequence[Any]) -> Any:
    """Join parts of a column, of whose categories each part may have others."""
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    import pandas
    from pandas.api.types import union_categoricals

    series = [pandas.Series(part) for part in parts]
    if all(isinstance(part.dtype, pandas.CategoricalDtype) for part in series):
        return pandas.Series(union_categoricals(series))
    return pandas.concat([part.astype(object) for part in series], ignore_index=True)


def find_columns(model: Any, source: Source, others: Sequence[str], name: str) -> list[str]:
    """Columns of a source that a model predicts from, in its order.

    Parameters
    ----------
    model : estimator
    source : Source
    others : sequence of str
        Columns that must be there, too, and that no model without names predicts from.
    name : str
        What the source is called in messages.
    """
    names = getattr(model, "feature_names_in_", None)
    found = [n for n in source.names if n not in others] if names is None else list(names)
    check_names(source.names, [*found, *others], name)
    if len(found) != model.n_features_in_:
        raise ValueError(
            f"{name} has {len(found)} columns to predict from, and the model was fitted to "
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
    """Return a block, or raise a ValueError that lists all columns a model cannot read.

    Parameters
    ----------
    model : estimator
    names : sequence of str
        Columns that it predicts from.
    block : Block
    """
    columns = [block.columns[name] for name in names]
    try:
        for _ in model._reading.inputs.read(columns, False, None, block.first_row):
            pass
    except (TypeError, ValueError) as error:
        first, *others = str(error).splitlines()
        raise TableError(block.where, [line.strip() for line in others or [first]]) from None
    return block
