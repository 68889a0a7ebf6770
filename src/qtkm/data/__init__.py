"""Data: the unit box, grids and codes, and shards of coded rows."""

from .box import EXTRAPOLATIONS, Box
from .grid import Grid, code_type, encode
from .shards import MERGE_ROWS, TASK_ROWS, Groups, Shard, blocks, build, merge

__all__ = [
    "EXTRAPOLATIONS",
    "MERGE_ROWS",
    "TASK_ROWS",
    "Box",
    "Grid",
    "Groups",
    "Shard",
    "blocks",
    "build",
    "code_type",
    "encode",
    "merge",
]
