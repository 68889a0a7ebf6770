"""Data: the unit box, grids and codes, and shards of coded rows."""

from .grid import (
    EXTRAPOLATIONS,
    Box,
    Coder,
    Grid,
    code_type,
    contiguous,
    draw_values,
    encode,
    find_distinct,
    make_bins,
)
from .shards import TASK_ROWS, Groups, Shard, ShardList, blocks, build, merge, sort_rows
from .stored import ShardWriter, StoredShards, prefetched

__all__ = [
    "EXTRAPOLATIONS",
    "TASK_ROWS",
    "Box",
    "Coder",
    "Grid",
    "Groups",
    "Shard",
    "ShardList",
    "ShardWriter",
    "StoredShards",
    "blocks",
    "build",
    "code_type",
    "contiguous",
    "draw_values",
    "encode",
    "find_distinct",
    "make_bins",
    "merge",
    "prefetched",
    "sort_rows",
]
