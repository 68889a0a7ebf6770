"""What a measurement was made on: the machine, its matrix-product rate, the versions."""

import importlib.metadata
import os
import platform
import sys
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

__all__ = ["available_cores", "dgemm_rate", "facts", "peak_memory", "resident_memory"]

PACKAGES = ("qtkm", "numpy", "scipy", "scikit-learn", "numba", "llvmlite", "threadpoolctl")
VECTOR_FLAGS = ("sse4_2", "avx", "avx2", "fma", "avx512f", "avx512_vnni", "neon", "asimd", "sve")


def available_cores():
    """Processor cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def dgemm_rate(threads, size=2500, repetitions=7, dtype=np.float64):
    """Best rate of a square matrix product, in operations a second.

    Parameters
    ----------
    threads : int
        BLAS threads, the same number the measured code may use.
    size : int
    repetitions : int
    dtype : data-type
        ``numpy.float32`` measures sgemm instead.

    Returns
    -------
    float
        ``2 * size**3`` divided by the shortest time.
    """
    rng = np.random.default_rng(0)
    a, b = rng.random((2, size, size)).astype(dtype)
    out = np.empty_like(a)
    times = []
    with threadpool_limits(threads):
        for _ in range(repetitions + 1):  # the first one warms up
            start = perf_counter()
            np.matmul(a, b, out=out)
            times.append(perf_counter() - start)
    return 2 * size**3 / min(times[1:])


def facts(threads):
    """Describe machine, interpreter and libraries.

    Returns
    -------
    dict
        Plain strings and numbers, ready for JSON.
    """
    cpu = _cpu_info()
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": platform.platform(),
        "processor": cpu["name"],
        "vector instructions": " ".join(cpu["flags"]) or "unknown",
        "cores available": available_cores(),
        "threads used": threads,
        "memory (GB)": _total_memory(),
        "load average at start": _load_average(),
        "python": sys.version.split()[0],
        "blas": _blas(),
        **{name: _version(name) for name in PACKAGES},
    }


def peak_memory():
    """Largest resident size of this process so far, in bytes.

    Linux reports it as VmHWM. ``getrusage`` is only the fallback: its ``ru_maxrss``
    survives ``exec``, so in a subprocess it can be the peak of the parent.
    """
    status = _proc_status("VmHWM")
    if status is not None:
        return status
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def resident_memory():
    """Resident size of this process now, in bytes, or NaN where unknown."""
    status = _proc_status("VmRSS")
    return float("nan") if status is None else status


def _proc_status(key):
    path = Path("/proc/self/status")
    if not path.exists():
        return None
    for line in path.read_text().splitlines():
        if line.startswith(key + ":"):
            return 1024 * int(line.split()[1])
    return None


def _cpu_info():
    name, flags = platform.processor() or platform.machine(), []
    path = Path("/proc/cpuinfo")
    if path.exists():
        for line in path.read_text().splitlines():
            key, _, value = line.partition(":")
            if key.strip() == "model name":
                name = value.strip()
            elif key.strip().lower() in ("flags", "features"):
                flags = [flag for flag in VECTOR_FLAGS if flag in value.split()]
    return {"name": name, "flags": flags}


def _total_memory():
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return "unknown"
    return round(total / 1e9, 1)


def _load_average():
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else "unknown"


def _blas():
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return ", ".join(sorted({f"{p['internal_api']} {p['version']}" for p in pools})) or "unknown"


def _version(name):
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
