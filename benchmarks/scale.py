"""What 10⁹ and 10¹¹ rows would take on 10 and 100 machines, from rates measured here.

Measured: an epoch of few and of many rows on one thread, which gives the seconds of a row and those
of what is not done by rows; reading coded rows back; the sizes of what moves. Assumed: machines of
16 cores and 64 GB, a network of 10 Gbit/s, disks of 2 GB/s. Prints the table of docs/scale.md.
"""

import tempfile
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.from_disk import SETTINGS, write_rows
from benchmarks.report import row

RANK, N_ROWS = 40, 2_000_000
CORES, MEMORY, NETWORK, DISK = 16, 64e9, 1.25e9, 2e9
CLUSTERS = [(n_rows, workers) for n_rows in (1e9, 1e11) for workers in (10, 100)]


def run(threads, quick=False):
    """Measure rates and work out the table."""
    n_rows = 120_000 if quick else N_ROWS
    found = measure(n_rows, max_iter=2 if quick else 4)
    few = measure(max(n_rows // 10, 110_000), max_iter=2 if quick else 4)
    slope = (found["epoch"] - few["epoch"]) / max(n_rows - few["n_rows"], 1)
    found |= {"row": slope, "driver": max(few["epoch"] - slope * few["n_rows"], 0.0)}
    lines = [
        row(
            f"epoch on one thread, D=8, M=64, R={RANK}, {n_rows:,} rows",
            f"{1e9 * found['row']:.0f} ns a row, and {found['driver']:.2g} s whatever the rows",
        ),
        row("reading coded rows back, files in the system's cache", f"{found['rate']:.2g} B/s"),
        row("bytes: a row kept; a row read in a pass", f"{found['kept']}; {found['read']}"),
        row(
            "bytes: tables, and sums of the largest column",
            f"{found['tables'] / 1e6:.1f} MB; {found['sums'] / 1e6:.1f} MB",
        ),
    ]
    return lines + [_cluster(found, *cluster) for cluster in CLUSTERS]


def measure(n_rows, max_iter):
    """Rates of this machine, and sizes."""
    from qtkm import QTKMRegressor
    from qtkm.estimators import memory

    stored, read = [], []
    opened = memory._open

    def watched(folder):
        found = opened(folder)
        stored.append(found["train"])
        begin = perf_counter()
        count = sum(shard.codes.nbytes + shard.target.nbytes + shard.groups(0).order.nbytes
                    for shard in found["train"])  # fmt: skip
        read.append(count / (perf_counter() - begin))
        return found

    in_memory, memory._open = memory.Need.in_memory, watched
    memory.Need.in_memory = lambda self: 1 << 60
    try:
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = write_rows(Path(folder) / "rows.parquet", n_rows)
            settings = SETTINGS | {"rank": RANK, "max_iter": max_iter, "n_jobs": 1}
            model = QTKMRegressor(**settings).fit_dataset(path, target="delay")
            kept = stored[-1]
            per_row = sum(kept._layout(i)["end"][0] for i in range(len(kept))) / n_rows
    finally:
        memory.Need.in_memory, memory._open = in_memory, opened
    seconds = np.diff(model.history_["seconds"], prepend=0.0)[1:].min()
    sizes, columns = [column["n_grid"] for column in model.columns_], len(model.columns_)
    return {
        "n_rows": n_rows,
        "epoch": float(seconds),
        "rate": max(read),
        "kept": round(per_row),
        "read": 2 * columns + 8 + 4,
        "columns": columns,
        "tables": 16 * RANK * sum(sizes),
        "sums": 8 * max(sizes) * (RANK * (RANK + 1) + 2 * RANK),
        "all sums": 8 * sum(sizes) * (RANK * (RANK + 1) + 2 * RANK),
    }


def _cluster(found, n_rows, workers):
    mine = n_rows / workers
    held = mine * found["kept"]
    moved = found["columns"] * found["tables"] + 2 * found["all sums"]
    seconds = {
        "compute": mine * found["row"] / CORES,
        "disk": 0.0 if held < 0.8 * MEMORY else mine * found["read"] * found["columns"] / DISK,
        "network": moved / NETWORK,
        "driver": found["driver"],
    }
    first = max(seconds, key=seconds.get)
    where = "in memory" if held < 0.8 * MEMORY else "on disk"
    return row(
        f"  {n_rows:.0e} rows, {workers} machines",
        f"{held / 1e9:.3g} GB of rows each, {where}; an epoch reads "
        f"{mine * found['read'] * found['columns'] / 1e9:.4g} GB, moves {moved / 1e9:.2g} GB each",
        ", ".join(f"{name} {value:.3g} s" for name, value in seconds.items())
        + f"; first limit: {first}",
    )
