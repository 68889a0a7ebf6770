"""Accuracy, log-loss and seconds of classifiers on four real sets, all in one run.

Ours has its default parameters.  The support vector machine chooses C and gamma by
cross-validation on up to 5,000 training rows, which is not counted in its seconds; above 10,000
rows it is a linear one on 1,000 Nyström features.  The splits are 80/20, stratified.
"""

import csv
import warnings
from time import perf_counter

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.problems import data_home
from benchmarks.report import row
from benchmarks.study.sets import SETS
from qtkm import QTKMClassifier

TABLE = "classifiers.csv"
#: set: number of splits
NAMES = {"banana": 10, "spambase": 3, "magic": 3, "adult": 1}
#: sets on which ours is to be at least as accurate as the support vector machine
BARS = ("banana", "magic")
SVM_ROWS = 10_000
#: training rows on which C and gamma are chosen
TUNING_ROWS = 5_000
OURS, SVM = "qtkm", "SVM"


def run(threads, quick=False, output=None):
    """Fit every classifier to every split; with ``output``, a folder, tabulate there."""
    home = data_home()
    if home is None:
        print("set QTKM_DATA_HOME to the folder of the data sets", end=" ")
        return []
    results = []
    for name, n_splits in NAMES.items():
        X, y = _read(home, name, 600 if quick else None)
        for seed in range(1 if quick else n_splits):
            split = train_test_split(X, y, test_size=0.2, stratify=y, random_state=seed)
            for model, made in _classifiers(len(split[0]), threads, seed).items():
                scores = _score(made, split)
                results.append({"set": name, "seed": seed, "model": model} | scores)
                print(f"\n  {name} {seed} {model}: {scores}", end="", flush=True)
    if output is not None:
        output.mkdir(parents=True, exist_ok=True)
        with (output / TABLE).open("w", newline="") as file:
            writer = csv.DictWriter(file, list(results[0]))
            writer.writeheader()
            writer.writerows(results)
    return [line for name in NAMES for line in _lines(name, results)]


def _read(home, name, n_rows):
    import pandas as pd

    path = home / SETS[name].path
    read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
    table = read(path).sample(frac=1, random_state=0).to_numpy(dtype=float)[:n_rows]
    return table[:, :-1], np.where(table[:, -1] > 0, 1, -1)


def _classifiers(n_rows, threads, seed):
    boosting = HistGradientBoostingClassifier(random_state=seed)
    return {
        "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)),
        SVM: _svm(n_rows, threads, seed),
        "boosting": boosting,
        OURS: QTKMClassifier(random_state=seed, n_jobs=threads),
        "qtkm, squared hinge": QTKMClassifier(
            loss="squared_hinge", random_state=seed, n_jobs=threads
        ),
    }


def _svm(n_rows, threads, seed):
    """A support vector machine that chooses C and gamma itself."""
    if n_rows > SVM_ROWS:
        nystroem = Nystroem(n_components=1000, random_state=seed)
        pipeline = make_pipeline(StandardScaler(), nystroem, LinearSVC(dual=False))
        return Tuned(pipeline, "nystroem__gamma", "linearsvc__C", threads)
    pipeline = make_pipeline(StandardScaler(), SVC(cache_size=1000))
    return Tuned(pipeline, "svc__gamma", "svc__C", threads)


class Tuned:
    """A pipeline whose C and gamma (in units of 1/columns) are chosen on training rows."""

    def __init__(self, pipeline, gamma, penalty, threads):
        self.pipeline, self.gamma, self.penalty, self.threads = pipeline, gamma, penalty, threads

    def fit(self, X, y):
        grid = {
            self.gamma: [g / X.shape[1] for g in (0.1, 0.3, 1.0, 3.0)],
            self.penalty: [0.1, 1.0, 10.0, 100.0],
        }
        some = np.random.default_rng(0).permutation(len(y))[:TUNING_ROWS]
        search = GridSearchCV(self.pipeline, grid, cv=3, n_jobs=self.threads, refit=False)
        search.fit(X[some], y[some])
        self.pipeline.set_params(**search.best_params_)
        begin = perf_counter()
        self.pipeline.fit(X, y)
        self.refit_time_ = perf_counter() - begin
        return self

    def predict(self, X):
        return self.pipeline.predict(X)


def _score(model, split):
    X, X_test, y, y_test = split
    begin = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = getattr(model, "refit_time_", perf_counter() - begin)
    scores = {"accuracy": float(accuracy_score(y_test, model.predict(X_test))), "log_loss": None}
    if hasattr(model, "predict_proba"):
        scores["log_loss"] = round(float(log_loss(y_test, model.predict_proba(X_test))), 4)
    return {"accuracy": round(scores["accuracy"], 5), "log_loss": scores["log_loss"],
            "seconds": round(seconds, 3)}  # fmt: skip


def _lines(name, results):
    lines = []
    own = [r for r in results if r["set"] == name]
    models = list(dict.fromkeys(r["model"] for r in own))
    mean = {m: _mean([r for r in own if r["model"] == m]) for m in models}
    for model in models:
        accuracy, loss, seconds = mean[model]
        best = max(models, key=lambda m: mean[m][0])
        bar = mean[SVM][0] * 100 if model == OURS and name in BARS else None
        lines.append(
            row(
                f"{name}: {model}, accuracy on test rows",
                f"{seconds:.2f} s",
                f"best {best}",
                ratio=100 * accuracy,
                unit="%",
                bar=bar,
                note="log-loss " + ("–" if loss is None else f"{loss:.4f}")
                + f", mean of {len([r for r in own if r['model'] == model])} splits",
            )
        )  # fmt: skip
    return lines


def _mean(rows):
    losses = [r["log_loss"] for r in rows]
    loss = None if None in losses else float(np.mean(losses))
    return np.mean([r["accuracy"] for r in rows]), loss, np.mean([r["seconds"] for r in rows])
