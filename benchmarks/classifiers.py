"""Accuracy, log-loss and seconds of classifiers on four real sets, all in one run.

Ours has its default parameters.  The support vector machine chooses C and gamma by
cross-validation, which is not counted in its seconds; above 10,000 rows it is a linear one on
1,000 Nyström features.  The splits are 80/20, stratified.
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
    """A support vector machine that chooses C and gamma (in units of 1/columns) itself."""
    if n_rows > SVM_ROWS:
        pipeline = make_pipeline(
            StandardScaler(), Nystroem(n_components=1000, random_state=seed), LinearSVC(dual=False)
        )
        scale = ("nystroem__gamma", "linearsvc__C")
    else:
        pipeline = make_pipeline(StandardScaler(), SVC(cache_size=1000))
        scale = ("svc__gamma", "svc__C")

    class Search(GridSearchCV):
        """Gammas follow the number of columns."""

        def fit(self, X, y):
            gammas = [g / X.shape[1] for g in (0.1, 0.5, 2.0)]
            self.param_grid = {scale[0]: gammas, scale[1]: [0.3, 3.0, 30.0]}
            return super().fit(X, y)

    return Search(pipeline, {scale[0]: [1.0]}, cv=3, n_jobs=threads, refit=True)


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
