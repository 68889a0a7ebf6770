"""Run the benchmarks: ``python -m benchmarks.run [names] [--quick] [--output FOLDER]``.

Without names all of them run. Every benchmark compares qtkm with a yardstick measured in
the same run on the same number of threads. Results are printed as a table and saved with
the facts of the machine; a later run of some benchmarks replaces only their lines.
``--quick`` uses small problems to see that everything works: its numbers mean nothing,
no bar is judged, and nothing is saved unless a folder is named.
"""

import argparse
import inspect
import shlex
import sys
from pathlib import Path
from time import perf_counter

from benchmarks import (
    accuracy,
    classifiers,
    compilation,
    costs,
    counts,
    dask_cluster,
    families,
    flights_epoch,
    from_disk,
    gram_kernels,
    large_epoch,
    moments,
    prediction,
    report,
    scale,
    scaling,
    small_epoch,
    solvers,
    tuning,
    uncertainty,
    unseen,
)
from benchmarks.machine import available_cores, facts

BENCHMARKS = {
    "flights_epoch": flights_epoch.run,
    "large_epoch": large_epoch.run,
    "moments": moments.run,
    "small_epoch": small_epoch.run,
    "prediction": prediction.run,
    "scaling": scaling.run,
    "compilation": compilation.run,
    "gram_kernels": gram_kernels.run,
    "families": families.run,
    "costs": costs.run,
    "solvers": solvers.run,
    "classifiers": classifiers.run,
    "counts": counts.run,
    "accuracy": accuracy.run,
    "unseen": unseen.run,
    "tuning": tuning.run,
    "uncertainty": uncertainty.run,
    "from_disk": from_disk.run,
    "dask": dask_cluster.run,
    "scale": scale.run,
}
RESULTS = Path(__file__).parent / "results"


def main(arguments=None):
    """Entry point; returns the exit status, 1 if a bar was missed."""
    options = _parse(arguments)
    output = options.output or (None if options.quick else RESULTS)
    command = "python -m benchmarks.run " + shlex.join(arguments or sys.argv[1:])
    measured = {}
    for name in options.names or BENCHMARKS:
        start = perf_counter()
        print(f"{name} ...", end=" ", flush=True)
        about = facts(options.threads)
        rows = _call(BENCHMARKS[name], options, output)
        print(f"{perf_counter() - start:.0f} s", flush=True)
        measured[name] = {"command": command.strip(), "facts": about, "rows": rows}
        if output is not None:
            report.save(output, _in_order(report.load(output) | {name: measured[name]}))
    rows = [entry for result in measured.values() for entry in result["rows"]]
    print("\n" + report.format_table(rows))
    for entry in rows:
        if entry["note"]:
            print(f"{entry['work'].strip()}: {entry['note']}")
    return int(any(entry["met"] == "NO" for entry in rows))


def _parse(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="name", help=", ".join(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="small problems, nothing judged")
    parser.add_argument("--output", type=Path, help="folder for the results")
    parser.add_argument("--threads", type=int, default=available_cores())
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(BENCHMARKS)
    if unknown:
        parser.error(f"no benchmark named {', '.join(unknown)}; there are {', '.join(BENCHMARKS)}")
    return options


def _call(benchmark, options, output):
    extra = {"output": output} if "output" in inspect.signature(benchmark).parameters else {}
    rows = benchmark(options.threads, quick=options.quick, **extra)
    return report.without_bars(rows) if options.quick else rows


def _in_order(results):
    return {name: results[name] for name in BENCHMARKS if name in results}


if __name__ == "__main__":
    sys.exit(main())
