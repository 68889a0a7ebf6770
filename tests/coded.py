"""Rows in memory as codes on grids and as shards, without an estimator."""

import numpy as np

from qtkm.data import Grid, Shard, ShardList, blocks, contiguous, find_distinct
from qtkm.data.grid import equal_bins
from qtkm.limits import LIMITS


def encode(raw, low, high, max_bins):
    """Return the grid of a column in memory and the code of every row.

    Up to `max_bins` distinct values are kept exactly (None: all); more fall into as many
    equal-width bins between `low` and `high`. NaN is a missing value.
    """
    column = contiguous(raw)
    there = column[~np.isnan(column)]
    distinct = find_distinct(there, len(column) if max_bins is None else max_bins)
    grid = equal_bins(low, high, max_bins or 1) if distinct is None else Grid(distinct)
    grid = grid if len(there) == len(column) else grid.with_gaps()
    return grid, grid.codes(column)


def build(codes, target, weight, n_codes):
    """Sort rows into shards of up to `LIMITS.shard_rows` rows; arrays as of `Shard`."""
    rows = Shard(codes, target, weight, n_codes)
    bounds = blocks(len(codes), LIMITS.shard_rows)
    return ShardList(rows.take(slice(*pair)).sorted() for pair in bounds)
