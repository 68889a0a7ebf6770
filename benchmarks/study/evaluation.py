"""Evaluate models on sets, one record a (set, seed, model), kept in a CSV file."""

import csv
import hashlib
import importlib.util
import json
import warnings
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.study.references import REFERENCES
from benchmarks.study.sets import load

__all__ = ["Cache", "Job", "evaluate"]

FIELDS = (
    *("set", "seed", "model", "params", "n_train", "n_columns"),
    *("test_mse", "train_mse", "tail", "fit_seconds", "predict_seconds"),
    *("n_iter", "n_parameters", "threads", "source", "error"),
)
NUMBERS = {"seed", "n_train", "n_columns", "test_mse", "train_mse", "tail", "fit_seconds"}


class Job(NamedTuple):
    """One thing to measure; ``params`` is None for a reference model."""

    set: str
    seed: int
    model: str
    params: dict | None

    @property
    def key(self):
        """What makes two jobs the same."""
        return self.set, self.seed, self.model, _text(self.params)


class Cache:
    """Records of finished jobs in a CSV file that only grows.

    The last record of a job counts, so a job that is run again replaces its old result.
    """

    def __init__(self, path):
        self.path = None if path is None else Path(path)
        self.records = {}
        if self.path is not None and self.path.exists():
            with self.path.open(newline="") as file:
                for record in csv.DictReader(file):
                    self._keep(record)

    def add(self, record):
        """Append a record to the file at once, so that nothing is lost on interruption."""
        if self.path is not None:
            new = not self.path.exists()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", newline="") as file:
                writer = csv.DictWriter(file, FIELDS)
                if new:
                    writer.writeheader()
                writer.writerow(record)
        self._keep(record)

    def get(self, job):
        """The record of a job, or None."""
        return self.records.get(job.key)

    def _keep(self, record):
        record = {k: _number(v) if k in NUMBERS else v for k, v in record.items()}
        key = record["set"], int(record["seed"]), record["model"], record["params"]
        self.records[key] = record


def evaluate(job, home, threads):
    """Fit and test one model on one split.

    Parameters
    ----------
    job : Job
    home : pathlib.Path
        The data home.
    threads : int

    Returns
    -------
    dict
        A record with the keys `FIELDS`. A model that fails leaves its message in ``error``.
        ``tail`` is the share of the test error that the worst thousandth of the rows make.
    """
    split = load(job.set, home, job.seed)
    record = dict.fromkeys(FIELDS, "")
    record |= {"set": job.set, "seed": job.seed, "model": job.model, "params": _text(job.params)}
    record |= {"n_train": len(split.y_train), "n_columns": split.X_train.shape[1]}
    record |= {"threads": threads, "source": _source() if job.params is not None else ""}
    try:
        with warnings.catch_warnings(), threadpool_limits(threads):
            warnings.simplefilter("ignore")
            record |= _measure(_build(job, len(split.y_train), threads), split)
    except Exception as error:
        record["error"] = f"{type(error).__name__}: {error}".replace("\n", " ")
    return record


def _build(job, n_rows, threads):
    if job.params is None:
        model = REFERENCES[job.model](n_rows, job.seed)
        if model is None:
            raise ValueError("not for so many rows")
        return model
    from qtkm import QTKMRegressor

    params = {"random_state": job.seed, "n_jobs": threads} | job.params
    return QTKMRegressor(**params)


def _measure(model, split):
    start = process_time()
    model.fit(split.X_train, split.y_train)
    fitted = process_time()
    errors = (model.predict(split.X_test) - split.y_test) ** 2
    predicted = process_time()
    sample = slice(0, 100_000)
    train_errors = (model.predict(split.X_train[sample]) - split.y_train[sample]) ** 2
    worst = np.sort(errors)[-max(1, len(errors) // 1000) :]
    return {
        "test_mse": float(errors.mean()),
        "train_mse": float(train_errors.mean()),
        "tail": float(worst.sum() / errors.sum()) if errors.any() else 0.0,
        "fit_seconds": fitted - start,
        "predict_seconds": predicted - fitted,
        "n_iter": getattr(model, "n_iter_", ""),
        "n_parameters": getattr(model, "n_parameters_", ""),
    }


def _source():
    """Fingerprint of the library's source, to tell old results from new ones."""
    spec = importlib.util.find_spec("qtkm")
    if spec is None or spec.origin is None:
        return ""
    digest = hashlib.sha256()
    for path in sorted(Path(spec.origin).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:10]


def _text(params):
    return "" if params is None else json.dumps(params, sort_keys=True)


def _number(value):
    return float("nan") if value == "" else float(value)
