"""Sources: tables that need not fit in memory, read block by block, as often as needed."""

import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from .conversion import DataFileError
from .files import FileSource, find_files
from .source import (
    BLOCK_ROWS,
    ArraySource,
    BatchSource,
    Block,
    MappedSource,
    Source,
    as_pairs,
    draw_rows,
    is_there,
    take_rows,
)


def open_source(source: Any) -> Source:
    """Open rows that need not fit in memory.

    Parameters
    ----------
    source : path-like, list of these, batches, arrays or Source
        A CSV or Parquet file; a folder, of which all such files below are read in the order of
        their names; a pattern such as "data/*.parquet"; a list of these. Or batches of rows: a
        list of frames (pandas, polars), tables or record batches (pyarrow) or dicts of columns, an
        object that gives such batches whenever it is iterated, or a function that returns a
        fresh iterator of them; one frame or table by itself; an array X, or a tuple of arrays
        (X, y) or (X, y, weight), memory maps included. A `Source` is returned as it is.

    Returns
    -------
    Source

    Raises
    ------
    FileNotFoundError
        If a file or folder does not exist.
    DataFileError
        If a file is damaged, empty, or of another format than the others. A ValueError.
    TypeError
        For an iterator that can be read only once, and for anything else.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, str | os.PathLike):
        return FileSource(*find_files([source]))
    if isinstance(source, np.ndarray):
        return ArraySource(source)
    if isinstance(source, tuple) and source and isinstance(source[0], np.ndarray):
        return ArraySource(*source)
    if as_pairs(source) is not None:
        return BatchSource([source])
    if hasattr(source, "files") and hasattr(source, "to_batches"):
        raise TypeError(
            "The source is a dataset of pyarrow, which may filter rows and read columns from names "
            "of folders; pass source.files, which reads the files themselves."
        )
    if isinstance(source, list | tuple):
        is_path = [isinstance(entry, str | os.PathLike) for entry in source]
        if all(is_path):
            return FileSource(*find_files(source))
        if any(is_path):
            raise TypeError("The list mixes paths and batches; pass paths only, or batches only.")
        return BatchSource(source)
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):
        raise TypeError(
            f"The source is a {type(source).__name__}, which holds no rows yet; write it to a "
            "Parquet file (sink_parquet), or pass source.collect()."
        )
    if callable(source) or isinstance(source, Iterable):
        return BatchSource(source)
    raise TypeError(
        f"The source is a {type(source).__name__}; expected a path, a folder, a pattern, a list "
        "of files, batches of rows, or arrays (X, y)."
    )
