"""Flights repeated to 3,952,942 rows, R = 40: share of the machine's speed, memory, float32."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.machine import dgemm_rate
from benchmarks.problems import flights, repeat_rows
from benchmarks.report import row

N_ROWS, N_BASIS, PERIOD, RANK, ALPHA = 3_952_942, 64, 10, 40, 1e-7
THREE_DIGITS = 1e-3


def run(threads, quick=False):
    """Fit in double and single precision, in fresh processes that take turns."""
    n_rows, epochs, rounds = (20_000, 2, 1) if quick else (N_ROWS, 5, 2)
    settings = {
        "n_basis": N_BASIS,
        "period": PERIOD,
        "rank": RANK,
        "alpha": ALPHA,
        "max_iter": epochs,
        "threads": threads,
    }
    fits = {"float64": [], "float32": []}
    with tempfile.TemporaryDirectory() as folder:
        _save(repeat_rows(flights(), n_rows), Path(folder))
        rate = dgemm_rate(threads)
        for _ in range(rounds):
            for dtype, results in fits.items():
                results.append(_fit(folder, settings | {"dtype": dtype}))
                rate = max(rate, dgemm_rate(threads))
    seconds = {d: min(min(f["epoch_seconds"]) for f in results) for d, results in fits.items()}
    return [
        _speed(n_rows, seconds["float64"], rate, threads),
        _memory(fits["float64"]),
        *_single_precision(seconds, fits, epochs),
    ]


def _save(problem, folder):
    for name, array in problem._asdict().items():
        np.save(folder / f"{name}.npy", array)


def _fit(folder, settings):
    command = [sys.executable, "-m", "benchmarks.large_fit", str(folder), json.dumps(settings)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def _speed(n_rows, seconds, rate, threads):
    operations = 4 * RANK**2 * n_rows * 8
    return row(
        f"one epoch, the flights repeated to {n_rows:,}, R={RANK}: 4R²·N·D operations",
        f"{seconds:.2f} s = {operations / seconds / 1e9:.1f} Gop/s",
        f"dgemm {rate / 1e9:.1f} Gop/s",
        ratio=100 * operations / seconds / rate,
        unit="%",
        bar=35,
        stretch=50,
        note=f"dgemm: best square product of size 2500 between the fits, {threads} threads",
        seconds=seconds,
        dgemm_rate=rate,
    )


def _memory(results):
    peak = max(result["peak_bytes"] for result in results) / 1e9
    data, before = (results[0][key] / 1e9 for key in ("data_bytes", "bytes_before_fit"))
    return row(
        "peak resident memory of that fit",
        f"{peak:.2f} GB",
        ratio=peak,
        unit="GB",
        bar=1.2,
        stretch=0.8,
        note=(
            f"whole process: {before:.2f} GB before the fit, of which X and y in double "
            f"precision take {data:.2f} GB"
        ),
        fits=results,
    )


def _single_precision(seconds, fits, epochs):
    double, single = (fits[dtype][0]["test_mse"] for dtype in ("float64", "float32"))
    faster = row(
        "float32 against float64 on that problem, one epoch",
        f"{seconds['float32']:.2f} s",
        f"{seconds['float64']:.2f} s",
        ratio=seconds["float64"] / seconds["float32"],
        bar=1.5,
        seconds=seconds,
    )
    equal = row(
        f"test error of the two after {epochs} epochs, relative difference",
        f"{single:.5f}",
        f"{double:.5f}",
        ratio=abs(single / double - 1),
        unit="relative",
        bar=THREE_DIGITS,
        note="mean squared error on 91,285 held-out rows, target standardized",
        fits=fits["float32"],
    )
    return [faster, equal]
