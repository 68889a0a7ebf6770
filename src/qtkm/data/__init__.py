"""Data: the unit box, grids and codes, and shards of coded rows."""

from .box import EXTRAPOLATIONS, Box
from .grid import Coder, Grid, code_type, encode, equal_bins, find_distinct
from .prefetch import prefetched
from .shards import (
    MERGE_ROWS,
    READ_ROWS,
    SHARD_ROWS,
    TASK_ROWS,
    Groups,
    Shard,
    blocks,
    build,
    map_targets,
    merge,
    sort_rows,
)
from .stored import ShardWriter, StoredShards

__all__ = [
    "EXTRAPOLATIONS",
    "MERGE_ROWS",
    "READ_ROWS",
    "SHARD_ROWS",
    "TASK_ROWS",
    "Box",
    "Coder",
    "Grid",
    "Groups",
    "Shard",
    "ShardWriter",
    "StoredShards",
    "blocks",
    "build",
    "code_type",
    "encode",
    "equal_bins",
    "find_distinct",
    "map_targets",
    "merge",
    "prefetched",
    "sort_rows",
]
