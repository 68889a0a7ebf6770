"""Sources: tables that need not fit in memory, read block by block, as often as needed."""

from .conversion import DataFileError
from .files import FileSource
from .opening import ArraySource, BatchSource, open_source
from .source import Block, MappedSource, Source, draw_rows, is_there, take_rows
