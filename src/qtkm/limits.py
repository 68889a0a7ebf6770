"""Sizes at which the library changes its ways, in one object that tests can make small."""

from dataclasses import dataclass


@dataclass
class Limits:
    """Where rows are cut, merged and moved.

    Attributes
    ----------
    read_rows : int
        Rows that are read from a source at a time.
    shard_rows : int
        Rows in a shard; measured in docs/decisions/0003-paths.md.
    single_values : int
        Distinct values of a table's only column up to which none are binned.
    merge_rows : int
        Up to this many rows, rows with equal codes are merged.
    exact_values : int
        Distinct values of a column in blocks that are kept where every one is asked for.
    few_rows : int
        Rows of a shard up to which passes run in NumPy, so that nothing has to be compiled.
    predict_rows : int
        Rows that are evaluated at a time; a CPD is evaluated by compiled loops where there are as
        many.
    printed_rows : int
        Rows that the command line prints at once: few, so that the first ones are seen soon.
    group_rows : int
        Rows that are written at once: those of a row group of Parquet.
    parsed_bytes : int
        Bytes of a CSV file that are parsed at once, and that the types are taken from. pyarrow
        reads 32 such blocks ahead, so that 16 MB take 460 MB of memory where 1 MB takes 37, in
        less time.
    table_share : float
        A table that would take a larger part of the machine's memory is not read as a whole by
        the command line.
    look_seconds : float
        Seconds after which a cluster is asked again whether there is still something to wait for.
    worker_seconds : float
        Seconds to wait for workers of a cluster when there are none at all.
    few_tasks : int
        With no more tasks than these their sums are added by the driver: every task that waits for
        another one costs 20 ms.
    sent_bytes : int
        Bytes in all up to which a pass goes along with each of its tasks; a larger one is sent
        once.
    fewest_candidates : int
        Fewest candidates of a search that go on; with no more than these there is nothing to choose
        beforehand.
    large_fold : int
        Rows of a test fold from which one fold is enough for all rounds of a search but the last:
        of so many rows the scores differ less from fold to fold than from candidate to candidate.
    most_gain : float
        In the last round of a search, how many times as much as the best candidate another one may
        still gain.
    """

    read_rows: int = 1 << 16
    shard_rows: int = 1 << 20
    merge_rows: int = 100_000
    single_values: int = 1 << 16
    exact_values: int = 1 << 20
    few_rows: int = 6000
    predict_rows: int = 1 << 14
    printed_rows: int = 1 << 14
    group_rows: int = 1 << 17
    parsed_bytes: int = 1 << 20
    table_share: float = 0.25
    look_seconds: float = 10.0
    worker_seconds: float = 300.0
    few_tasks: int = 8
    sent_bytes: int = 16_000_000
    fewest_candidates: int = 2
    large_fold: int = 10_000
    most_gain: float = 2.0


LIMITS = Limits()
