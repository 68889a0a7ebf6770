"""Compare settings of QTKMRegressor on real data: the evidence behind its defaults.

``python -m benchmarks.defaults --settings file.json --sets small,protein --seeds 3``

The settings file maps names to parameters; what ``_common`` holds goes into all of them::

    {"_common": {"max_iter": 30}, "R20": {"rank": 20}, "R40": {"rank": 40}}

A setting can also be given on the command line: ``--try R40 rank=40 alpha=1e-7``. The
library's own defaults are ``--try default``. Reference models run along. Finished results
are kept in a CSV file, so settings, sets and seeds can be added bit by bit; ``--refresh``
measures the named settings again after the library has changed, ``--show`` prints all that
is in the file. Errors are mean squared, on standardized targets, on 20 % held-out rows.
"""

import argparse
import json
import os
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.machine import available_cores
from benchmarks.study import sets as data
from benchmarks.study.evaluation import Cache, Job, evaluate
from benchmarks.study.references import REFERENCES
from benchmarks.study.summary import format_errors, format_seconds

RESULTS = Path(__file__).parent / "results" / "defaults.csv"
MANY_ROWS_SETS = {*data.MEDIUM, *data.LARGE, *data.EXTRA}


def main(arguments=None):
    """Entry point: measure what is missing, print the tables."""
    options = _parse(arguments)
    # A fit that is interrupted keeps its best cores and returns: not a result to record.
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    cache = Cache(options.results)
    settings = _settings(options)
    if options.show:
        settings |= _cached_settings(cache)
    models = dict.fromkeys([] if options.no_references else REFERENCES) | settings
    jobs = _jobs(models, options)
    if not options.show:
        _measure([job for job in jobs if _wanted(job, cache, options)], cache, options)
    records = [cache.get(job) for job in jobs if cache.get(job) is not None]
    failures = [record for record in records if record["error"]]
    tables = _tables(records, options.sets, list(models), set(settings))
    print("\n" + tables)
    for record in failures:
        print(f"failed: {record['model']} on {record['set']}: {record['error']}")
    if options.markdown:
        options.markdown.write_text(tables + "\n")
    return int(bool(failures))


def _tables(records, sets, models, own):
    measured = {record["model"] for record in records}
    models = [model for model in models if model in measured]
    if not models:
        return "nothing measured yet"
    return (
        format_errors(records, sets, models, own) + "\n\n" + format_seconds(records, sets, models)
    )


def _jobs(models, options):
    """All combinations, set by set so that a set is read once."""
    return [
        Job(name, seed, model, params)
        for name in options.sets
        for seed in range(options.large_seeds if name in MANY_ROWS_SETS else options.seeds)
        for model, params in models.items()
    ]


def _wanted(job, cache, options):
    record = cache.get(job)
    return record is None or bool(record["error"]) or (options.refresh and job.params is not None)


def _measure(jobs, cache, options):
    calls = ((job, options.data_home, options.threads) for job in jobs)
    if options.workers == 1:
        records = (evaluate(*call) for call in calls)
        _collect(records, len(jobs), cache)
    else:
        with ProcessPoolExecutor(options.workers) as pool:
            _collect(pool.map(evaluate, *zip(*calls, strict=True)), len(jobs), cache)


def _collect(records, total, cache):
    for count, record in enumerate(records, 1):
        cache.add(record)
        outcome = record["error"] or (
            f"test {record['test_mse']:.4f}  train {record['train_mse']:.4f}  "
            f"{record['fit_seconds']:.1f} s  {record['n_iter'] or '-'} epochs  "
            f"tail {100 * record['tail']:.0f} %"
        )
        name = f"{record['set']}/{record['seed']}"
        print(f"[{count}/{total}] {name:16} {record['model']:16} {outcome}", flush=True)


def _settings(options):
    """Named parameters from the files and from the command line."""
    settings = {}
    for path in options.settings:
        content = json.loads(path.read_text())
        common = content.pop("_common", {})
        settings |= {name: common | params for name, params in content.items()}
    for name, *assignments in options.tries:
        pairs = (assignment.partition("=") for assignment in assignments)
        settings[name] = {key: _value(text) for key, _, text in pairs}
    clash = settings.keys() & REFERENCES.keys()
    if clash:
        raise SystemExit(f"{', '.join(clash)} is the name of a reference model; choose another")
    return settings


def _value(text):
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"None": None, "True": True, "False": False}.get(text, text)


def _cached_settings(cache):
    records = [record for record in cache.records.values() if record["params"]]
    return {record["model"]: json.loads(record["params"]) for record in records}


def _sets(names):
    try:
        return data.choose(names)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _parse(arguments):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.defaults",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--settings", type=Path, action="append", default=[], metavar="FILE")
    add("--try", dest="tries", nargs="+", action="append", default=[], metavar="NAME key=value")
    add("--sets", type=_sets, default=data.DEFAULT_SETS, help="names or groups, a,b,c")
    add("--seeds", type=int, default=3, help="splits of a small set")
    add("--large-seeds", type=int, default=1, help="splits of the other sets")
    add("--data-home", type=Path, default=os.environ.get("QTKM_DATA_HOME"))
    add("--results", type=Path, default=RESULTS, help="the CSV file")
    add("--refresh", action="store_true", help="measure the settings again")
    add("--show", action="store_true", help="measure nothing, print what the file holds")
    add("--no-references", action="store_true")
    add("--markdown", type=Path, help="write the tables to this file too")
    add("--threads", type=int, default=available_cores(), help="of each fit")
    add("--workers", type=int, default=1, help="fits at a time; more makes seconds unreliable")
    options = parser.parse_args(arguments)
    if options.data_home is None:
        parser.error("name the folder of the data with --data-home or QTKM_DATA_HOME")
    return options


if __name__ == "__main__":
    sys.exit(main())
