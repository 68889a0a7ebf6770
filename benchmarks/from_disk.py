"""Rows from Parquet files under a memory limit: seconds an epoch and peak memory against N.

Every fit runs in a process of its own, called as ``python -m benchmarks.from_disk FILE SETTINGS``.
"""

import json
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path
from time import perf_counter

import numpy as np

from benchmarks.machine import peak_memory
from benchmarks.report import row

SIZES = (100_000, 1_000_000, 5_000_000, 50_000_000)
COMPARED = 5_000_000
LIMIT = "1GB"
#: limits under which the compared rows stay on disk and in memory
TIGHT, ROOMY = "400MB", "16GB"
SETTINGS = {
    "n_basis": 64, "period": 10, "rank": 20, "alpha": 1e-7, "max_iter": 3, "tol": 0,
    "early_stopping": False, "random_state": 0,
}  # fmt: skip
CHUNK = 1_000_000


def run(threads, quick=False, output=None):
    """Measure every size under the limit, and one of them in memory as well."""
    sizes = (20_000, 150_000) if quick else SIZES
    settings = SETTINGS | {"n_jobs": threads}
    measured, compared = {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for n_rows in sizes:
            path = write_rows(Path(folder) / "rows.parquet", n_rows)
            measured[n_rows] = fit(path, settings | {"memory_limit": LIMIT})
            if n_rows == (sizes[-1] if quick else COMPARED):
                compared = _compare(path, settings, 1 if quick else 2)
    if output is not None:
        _plot(measured, threads, output / "from_disk.png")
    return [_growth(measured), _memory(measured), _disk(compared), *map(_line, measured.items())]


def write_rows(path, n_rows):
    """Write rows of a smooth function of eight columns, some of few values, some continuous."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng, writer = np.random.default_rng(0), None
    for first in range(0, n_rows, CHUNK):
        count = min(CHUNK, n_rows - first)
        columns = {
            "month": rng.integers(1, 13, count, dtype=np.int16),
            "day": rng.integers(1, 32, count, dtype=np.int16),
            "weekday": rng.integers(0, 7, count, dtype=np.int16),
            "minute": rng.integers(0, 1440, count, dtype=np.int16),
            "distance": rng.integers(100, 2800, count, dtype=np.int16),
            "age": rng.integers(0, 40, count, dtype=np.int16),
            "pressure": rng.normal(size=count),
            "wind": rng.gamma(2, size=count),
        }
        signal = np.sin(columns["minute"] / 200) * columns["pressure"] + columns["wind"] ** 0.5
        columns["delay"] = signal + 0.01 * columns["age"] + rng.normal(size=count)
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    writer.close()
    return path


def fit(path, settings):
    """Fit in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.from_disk", str(path), json.dumps(settings)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def measure(path, settings):
    """Fit, and report seconds and memory."""
    from qtkm import QTKMRegressor

    started = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = QTKMRegressor(**settings).fit_dataset(path, target="delay")
    whole = perf_counter() - started
    seconds = np.diff(model.history_["seconds"], prepend=0.0)
    return {
        "epoch": float(seconds[1:].min()),
        "preparation": whole - float(seconds.sum()),
        "peak": peak_memory(),
        "objective": model.history_["objective"],
    }


def _compare(path, settings, rounds):
    """Best epochs from disk and in memory, taking turns."""
    fits = {TIGHT: [], ROOMY: []}
    for _ in range(rounds):
        for limit, results in fits.items():
            results.append(fit(path, settings | {"memory_limit": limit}))
    same = fits[TIGHT][0]["objective"] == fits[ROOMY][0]["objective"]
    best = {limit: min(result["epoch"] for result in results) for limit, results in fits.items()}
    return best | {"same": same, "peak": fits[ROOMY][0]["peak"]}


def _growth(measured):
    sizes, seconds = list(measured), [found["epoch"] for found in measured.values()]
    large = [(n, s) for n, s in zip(sizes, seconds, strict=True) if n >= 1_000_000]
    (n0, s0), (n1, s1) = (large[0], large[-1]) if len(large) > 1 else (
        (sizes[0], seconds[0]), (sizes[-1], seconds[-1])
    )  # fmt: skip
    return row(
        f"epoch from Parquet under {LIMIT}, D=8, M=64, R=20, against N: growth exponent",
        f"{n0:,} to {n1:,} rows",
        "linear",
        ratio=float(np.log(s1 / s0) / np.log(n1 / n0)),
        unit="exponent",
        bar=1.05,
    )


def _memory(measured):
    peaks = {n: found["peak"] / 1e9 for n, found in measured.items()}
    return row(
        f"peak memory of the whole process under {LIMIT}",
        ", ".join(f"{n:,}: {peak:.2f} GB" for n, peak in peaks.items()),
        "the limit and what Python and its libraries take",
        ratio=max(peaks.values()),
        unit="GB",
        bar=1.3,
    )


def _disk(compared):
    note = "" if compared["same"] else "objectives differ in their last bits"
    return row(
        "epoch from disk in epochs in memory",
        f"{compared[TIGHT]:.3g} s",
        f"{compared[ROOMY]:.3g} s, {compared['peak'] / 1e9:.2f} GB",
        ratio=compared[TIGHT] / compared[ROOMY],
        unit="times",
        bar=1.3,
        note=note,
    )


def _line(item):
    n_rows, found = item
    return row(
        f"  {n_rows:,} rows",
        f"epoch {found['epoch']:.3g} s = {1e9 * found['epoch'] / n_rows:.0f} ns/row, "
        f"two scans {found['preparation']:.3g} s, {found['peak'] / 1e9:.2f} GB",
    )


def _plot(measured, threads, path):
    from matplotlib.figure import Figure

    sizes = np.array(list(measured))
    figure = Figure(figsize=(9, 4), layout="constrained")
    time, memory = figure.subplots(1, 2)
    for key, label in (("epoch", "an epoch"), ("preparation", "both scans")):
        time.loglog(sizes, [found[key] for found in measured.values()], "o-", label=label)
    last = measured[sizes[-1]]["epoch"]
    time.loglog(sizes, last * sizes / sizes[-1], "--", color="0.6", label="proportional to N")
    time.set(xlabel="rows N", ylabel="seconds", title=f"D=8, M=64, R=20, {threads} threads")
    time.legend()
    memory.semilogx(sizes, [found["peak"] / 1e9 for found in measured.values()], "o-")
    memory.axhline(1, linestyle="--", color="0.6")
    memory.set(xlabel="rows N", ylabel="peak memory (GB)", title=f"memory_limit={LIMIT!r}")
    memory.set_ylim(bottom=0)
    for axes in (time, memory):
        axes.grid(True, which="both", alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), json.loads(sys.argv[2]))))
