"""Sources: tables that need not fit in memory, read block by block, as often as needed."""

from .arrays import ArraySource
from .batches import BatchSource
from .errors import DataFileError
from .files import FileSource
from .opening import open_source
from .source import BLOCK_ROWS, Block, Source

__all__ = [
    "BLOCK_ROWS",
    "ArraySource",
    "BatchSource",
    "Block",
    "DataFileError",
    "FileSource",
    "Source",
    "open_source",
]
