"""Choosing parameters: `QTKMRegressorCV` against scikit-learn's GridSearchCV over the same grid.

Both see the same candidates and the same three shuffled folds, and fit the best candidate to all
training rows; splits are 80/20. Each side runs on one thread and is told by its own processor
time, so that other work on the machine matters little; GridSearchCV scales over processes, ours
over threads. With a folder to write to, every measurement goes into a CSV file at once, and what
is in there already is not measured again: remove the file to begin anew.
"""

import csv
import warnings
from time import process_time

import numpy as np
from sklearn.model_selection import GridSearchCV, KFold

from benchmarks.problems import data_home
from benchmarks.report import row
from benchmarks.study.sets import load
from qtkm import QTKMRegressor, QTKMRegressorCV

TABLE = "tuning.csv"
FIELDS = ("set", "split", "model", "candidates", "seconds", "cv_score", "test_mse", "chosen")
#: set: number of splits
NAMES = {"yacht": 3, "qsar": 3, "energy": 3, "qsar_fish": 3, "concrete": 3, "airfoil": 3,
         "banana": 3, "wine": 3, "protein": 1}  # fmt: skip
OURS, YARDSTICK = "qtkm", "GridSearchCV"
#: the grid search's time over ours
BAR, STRETCH = 5.0, 10.0


def run(threads, quick=False, output=None):
    """Search with both on every split; with ``output``, a folder, tabulate there."""
    home = data_home()
    if home is None:
        print("set QTKM_DATA_HOME to the folder of the data sets", end=" ")
        return []
    names = {"yacht": 1} if quick else NAMES
    path = None if output is None else output / TABLE
    results = _read(path)
    for name, n_splits in names.items():
        for split in range(n_splits):
            if (name, split) not in {(entry["set"], entry["split"]) for entry in results}:
                found = _compare(name, split, load(name, home, split), quick)
                results += found
                _append(path, found)
    lines = [_line(name, [e for e in results if e["set"] == name]) for name in names]
    return [*lines, _errors(names, results)]


def _compare(name, split, data, quick):
    folds = KFold(3, shuffle=True, random_state=split)
    parameters = {"random_state": split, "n_jobs": 1}
    model = QTKMRegressor(penalty="ridge", **parameters)  # the defaults search for themselves
    lists = {"ranks": [2, 4], "n_basis": [8]} if quick else {}
    ours = QTKMRegressorCV(model, cv=folds, **lists, **parameters)
    seconds = min(_seconds(ours, data) for _ in range(2))  # the first may have to compile
    tried = ours.cv_results_["params"]
    grid = {key: list(dict.fromkeys(entry[key] for entry in tried)) for key in tried[0]}
    theirs = GridSearchCV(model, grid, cv=folds)
    return [
        _entry(name, split, OURS, ours, seconds, data),
        _entry(name, split, YARDSTICK, theirs, _seconds(theirs, data), data),
    ]


def _seconds(search, data):
    begin = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(data.X_train, data.y_train)
    return process_time() - begin


def _entry(name, split, model, search, seconds, data):
    error = np.mean((search.predict(data.X_test) - data.y_test) ** 2)
    chosen = ", ".join(f"{key} {value:.3g}" for key, value in search.best_params_.items())
    count = len(search.cv_results_["params"])
    values = (name, split, model, count, seconds, search.best_score_, float(error), chosen)
    print(f"\n  {name} {split} {model}: {seconds:.1f} s, test {error:.4f}", end="", flush=True)
    return dict(zip(FIELDS, values, strict=True))


def _line(name, results):
    ours, theirs = ([e for e in results if e["model"] == m] for m in (OURS, YARDSTICK))
    mine, other = (_mean(entries, "seconds") for entries in (ours, theirs))
    ratios = [b["seconds"] / a["seconds"] for a, b in zip(ours, theirs, strict=True)]
    errors = [a["test_mse"] / b["test_mse"] for a, b in zip(ours, theirs, strict=True)]
    return row(
        f"tuning, {name}: {ours[0]['candidates']} candidates, 3 folds",
        f"{mine:.2f} s",
        f"GridSearchCV {other:.1f} s",
        ratio=_geometric_mean(ratios),
        bar=BAR,
        stretch=STRETCH,
        note=f"test error {_mean(ours, 'test_mse'):.4f} against {_mean(theirs, 'test_mse'):.4f}, "
        f"{_geometric_mean(errors):.3f} times (geometric mean of {len(ours)} splits)",
        errors=errors,
        ratios=ratios,
    )


def _errors(names, results):
    """Test errors over all sets, every set with the same weight."""
    by_set = []
    for name in names:
        ours, theirs = ([e["test_mse"] for e in results if (e["set"], e["model"]) == (name, m)]
                        for m in (OURS, YARDSTICK))  # fmt: skip
        by_set.append(_geometric_mean(np.divide(ours, theirs)))
    return row(
        f"tuning: test error over that of GridSearchCV, {len(by_set)} sets",
        f"{min(by_set):.3f} to {max(by_set):.3f}",
        "1",
        ratio=_geometric_mean(by_set),
        unit="times",
        bar=1.0,
        note="geometric mean over the sets of geometric means over their splits",
    )


def _mean(entries, key):
    return float(np.mean([entry[key] for entry in entries]))


def _geometric_mean(values):
    return float(np.exp(np.mean(np.log(values))))


def _read(path):
    if path is None or not path.exists():
        return []
    with path.open(newline="") as file:
        entries = list(csv.DictReader(file))
    kinds = {"split": int, "candidates": int, "seconds": float, "cv_score": float,
             "test_mse": float}  # fmt: skip
    return [{key: kinds.get(key, str)(value) for key, value in e.items()} for e in entries]


def _append(path, entries):
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        writer.writerows(entries)
