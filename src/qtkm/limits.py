"""Sizes at which the library changes its ways, in one object that tests can make small."""

from dataclasses import dataclass


@dataclass
class Limits:
    """Where rows are cut, merged and moved."""

    #: rows that are read from a source at a time
    read_rows: int = 1 << 16
    #: rows in a shard; measured in docs/decisions/0003-paths.md
    shard_rows: int = 1 << 20
    #: up to this many rows, rows with equal codes and targets are merged
    merge_rows: int = 100_000
    #: distinct values of a table's only column up to which none are binned
    single_values: int = 1 << 16
    #: distinct values of a column in blocks that are kept if all are asked for
    exact_values: int = 1 << 20
    #: numbers of the moments of a column beyond which its levels are made from the grid, if that
    #: has fewer values than there are functions
    most_moments: int = 1 << 24
    #: rows of a shard up to which passes run in NumPy, so that nothing has to be compiled
    few_rows: int = 6000
    #: rows that are evaluated at a time; a CPD is evaluated by compiled loops from this many
    predict_rows: int = 1 << 14
    #: rows that are written at once: those of a row group of Parquet
    group_rows: int = 1 << 17
    #: bytes of a CSV file that are parsed at once, and that the types are taken from; pyarrow reads
    #: 32 such blocks ahead, so 16 MB take 460 MB of memory where 1 MB takes 37, in less time
    parsed_bytes: int = 1 << 20
    #: share of the memory that a sample of a table may take in the command line
    table_share: float = 0.25
    #: seconds after which a cluster is asked again for its workers
    look_seconds: float = 10.0
    #: seconds to wait for workers of a cluster if there are none
    worker_seconds: float = 300.0
    #: up to this many tasks, the driver adds their sums: a task that waits for another costs 20 ms
    few_tasks: int = 8
    #: bytes in all up to which a pass is sent with each of its tasks; a larger one is sent once
    sent_bytes: int = 16_000_000
    #: up to this many candidates of a search are all fitted to convergence
    fewest_candidates: int = 2
    #: rows of a test fold from which one fold is enough for all rounds but the last: their scores
    #: differ less between folds than between candidates
    large_fold: int = 10_000


LIMITS = Limits()
