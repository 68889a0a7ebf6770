"""Data: the unit box, grids and codes, and shards of coded rows."""

from .grid import (
    EXTRAPOLATIONS,
    Box,
    Grid,
    code_type,
    contiguous,
    draw_values,
    find_distinct,
    make_bins,
)
from .shards import (
    TASK_ROWS,
    Groups,
    Shard,
    ShardList,
    StoredShards,
    blocks,
    merge,
    prefetched,
    write_shards,
)
