"""Calibration of predictive distributions on public sets, beside those of other methods.

    python -m benchmarks.run uncertainty

Every set is split 90/10 at random, seeds from 0 on; targets have variance 1 in the training rows.
The rows of one method, set and split are a line of ``results/uncertainty.csv``: a run that is
interrupted goes on where it was. ``QTKM_SPLITS`` sets how many splits of the smaller sets there
are, and ``QTKM_METHODS`` names those to run, separated by commas.

nll        mean negative log-likelihood of test rows
crps       mean continuous ranked probability score
cover      part of the test rows in intervals of 50, 80, 90 and 95 %
width      mean width of the intervals of 90 %
seconds    processor time of the fit

Others are an exact GP (Matérn 3/2, a scale for each column, 2,000 rows at most), a sparse GP with
512 inducing points (GPyTorch), quantile boosting, and MAPIE's CV+ or split conformal intervals
around our mean.  Of sets with more than 50,000 rows, so many at random.
"""

import csv
import os
import warnings
from pathlib import Path
from time import process_time

import numpy as np
from scipy.stats import norm

from benchmarks.report import row
from qtkm import QTKMRegressor, datasets
from qtkm.estimators.uncertainty import crps, log_density

LEVELS = (0.5, 0.8, 0.9, 0.95)
SMALL = ("yacht", "energy", "concrete", "airfoil", "qsar", "qsar_fish", "wine")
LARGE = ("ccpp", "protein", "nyc_flights")
#: rows of an exact GP, of any set, and inducing points of a sparse GP
MOST_EXACT, MOST_ROWS, INDUCING = 2000, 50_000, 512
FIELDS = ["set", "split", "method", "n_rows", "mse", "nll", "crps", "cover_50", "cover_80",
          "cover_90", "cover_95", "width_90", "seconds"]  # fmt: skip


def run(threads, quick=False, output=None):
    """Run what has not been run yet, and judge all of it."""
    path = None if output is None else Path(output) / "uncertainty.csv"
    done = _load(path)
    n_splits = 1 if quick else int(os.environ.get("QTKM_SPLITS", "10"))
    for name in ("yacht",) if quick else (*SMALL, *LARGE):
        for split in range(2 if name in LARGE and n_splits > 1 else n_splits):
            for line in _split_lines(name, split, threads, done):
                done.append(line)
                _append(path, line)
    return _judge(done)


def _load(path):
    if path is None or not path.exists():
        return []
    with path.open() as file:
        lines = list(csv.DictReader(file))
    words = ("set", "method")
    return [{k: v if k in words else float(v or "nan") for k, v in line.items()} for line in lines]


def _append(path, line):
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        writer.writerow({k: round(v, 6) if isinstance(v, float) else v for k, v in line.items()})


def load(name):
    """X and y of a set as numbers, at most `MOST_ROWS` rows."""
    X, y = datasets.REGISTRY[name](return_X_y=True)
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    if len(y) > MOST_ROWS:
        rows = np.random.RandomState(0).permutation(len(y))[:MOST_ROWS]
        X, y = X[rows], y[rows]
    return X, y


def _split_lines(name, split, threads, done):
    """Lines of the methods of a split that are not done yet."""
    known = {(line["set"], int(line["split"]), line["method"]) for line in done}
    asked = os.environ.get("QTKM_METHODS", ",".join(METHODS)).split(",")
    wanted = [m for m in asked if (name, split, m) not in known and _is_asked(m, name)]
    if not wanted:
        return
    X, y = load(name)
    order = np.random.RandomState(split).permutation(len(y))
    n_train = int(0.9 * len(y))
    train, test = order[:n_train], order[n_train:]
    mean, size = y[train].mean(), y[train].std()
    y = (y - mean) / size
    ours = None
    for method in wanted:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            begin = process_time()
            if method in ("qtkm", "qtkm conformal", "mapie") and ours is None:
                ours = QTKMRegressor(random_state=0, n_jobs=threads).fit(X[train], y[train])
            found = METHODS[method](X[train], y[train], X[test], y[test], ours)
        if found is not None:
            about = {"set": name, "split": split, "method": method, "n_rows": n_train}
            yield about | found | {"seconds": process_time() - begin}


def _is_asked(method, name):
    return {"exact gp": name in SMALL, "sparse gp": name == "protein"}.get(method, True)


# -- methods: scores of test rows -------------------------------------------------------------


def _scores(error, deviation, tail, ends, y):
    """Scores of a distribution, and of intervals (n, 2) of every level."""
    square = deviation**2 * (1 if np.isinf(tail) else (tail - 2) / tail)
    return {
        "mse": float(np.mean(error**2)),
        "nll": -float(log_density(error, square, tail).mean()),
        "crps": float(crps(error, deviation, tail).mean()),
    } | _of_intervals(ends, y)


def _of_intervals(ends, y):
    found = {}
    for level, interval in zip(LEVELS, ends, strict=True):
        inside = (y >= interval[:, 0]) & (y <= interval[:, 1])
        found[f"cover_{round(100 * level)}"] = float(inside.mean())
    return found | {"width_90": float(np.diff(ends[2], axis=1).mean())}


def ours_posterior(X, y, X_test, y_test, model):
    """Intervals of our posterior."""
    return _ours(model, X_test, y_test, "posterior")


def ours_conformal(X, y, X_test, y_test, model):
    """Intervals from our held-out rows, as "auto" takes."""
    return _ours(model, X_test, y_test, "conformal")


def _ours(model, X, y, method):
    prediction, deviation = model.predict(X, return_std=True)
    ends = [model.predict_interval(X, level, method) for level in LEVELS]
    tail = float(model._uncertainty.tails[0])
    return _scores(y - prediction, deviation, tail, ends, y)


def _normal_ends(mean, deviation):
    widths = [norm.ppf(0.5 + level / 2) for level in LEVELS]
    return [np.stack([mean - w * deviation, mean + w * deviation], axis=1) for w in widths]


def exact_gp(X, y, X_test, y_test, model):
    """Gaussian process with a Matérn kernel, hyperparameters by marginal likelihood."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel

    X, X_test = _standardized(X, X_test)
    rows = np.random.RandomState(0).permutation(len(y))[:MOST_EXACT]
    kernel = ConstantKernel(1.0) * Matern(np.ones(X.shape[1]), nu=1.5) + WhiteKernel(0.1)
    process = GaussianProcessRegressor(kernel, n_restarts_optimizer=0, random_state=0)
    mean, deviation = process.fit(X[rows], y[rows]).predict(X_test, return_std=True)
    return _scores(y_test - mean, deviation, np.inf, _normal_ends(mean, deviation), y_test)


def sparse_gp(X, y, X_test, y_test, model):
    """Variational Gaussian process with inducing points."""
    try:
        import gpytorch
        import torch
    except ImportError:
        return None
    X, X_test = _standardized(X, X_test)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    features, target = (torch.tensor(a, dtype=torch.float32) for a in (X, y))
    points = features[torch.randperm(len(features))[:INDUCING]].clone()

    class Process(gpytorch.models.ApproximateGP):
        def __init__(self):
            distribution = gpytorch.variational.CholeskyVariationalDistribution(len(points))
            strategy = gpytorch.variational.VariationalStrategy(self, points, distribution)
            super().__init__(strategy)
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.MaternKernel(nu=1.5, ard_num_dims=X.shape[1])
            )

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    process, likelihood = Process(), gpytorch.likelihoods.GaussianLikelihood()
    bound = gpytorch.mlls.VariationalELBO(likelihood, process, len(target))
    optimizer = torch.optim.Adam([*process.parameters(), *likelihood.parameters()], lr=0.01)
    rows = torch.utils.data.TensorDataset(features, target)
    for _ in range(20):
        for some, own in torch.utils.data.DataLoader(rows, batch_size=1024, shuffle=True):
            optimizer.zero_grad()
            loss = -bound(process(some), own)
            loss.backward()
            optimizer.step()
    process.eval(), likelihood.eval()
    with torch.no_grad():
        found = likelihood(process(torch.tensor(X_test, dtype=torch.float32)))
        mean, deviation = found.mean.numpy(), found.stddev.numpy()
    return _scores(y_test - mean, deviation, np.inf, _normal_ends(mean, deviation), y_test)


def quantile_boosting(X, y, X_test, y_test, model):
    """Quantiles of gradient boosting; it has intervals, and no distribution."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    ends, found = [], {}
    for level in (*LEVELS, 0.0):
        for sign in (-1, 1) if level else (1,):
            quantile = 0.5 + sign * level / 2
            boosting = HistGradientBoostingRegressor(
                loss="quantile", quantile=quantile, random_state=0
            )
            found[quantile] = boosting.fit(X, y).predict(X_test)
        if level:
            pair = np.stack([found[0.5 - level / 2], found[0.5 + level / 2]], axis=1)
            ends.append(np.sort(pair, axis=1))
    # the integral of pinball losses is half of the continuous ranked probability score
    levels = sorted(found)
    losses = [np.mean((q - (y_test < found[q])) * (y_test - found[q])) for q in levels]
    score = 2 * float(np.trapezoid([0, *losses, 0], [0, *levels, 1]))
    error = y_test - found[0.5]
    nothing = {"mse": float(np.mean(error**2)), "nll": np.nan, "crps": score}
    return nothing | _of_intervals(ends, y_test)


def mapie(X, y, X_test, y_test, model):
    """Split conformal intervals of constant width around our mean."""
    try:
        from mapie.regression import SplitConformalRegressor
    except ImportError:
        return None
    order = np.random.RandomState(0).permutation(len(y))
    cut = int(0.8 * len(y))
    own = QTKMRegressor(random_state=0).fit(X[order[:cut]], y[order[:cut]])
    wrapped = SplitConformalRegressor(own, confidence_level=list(LEVELS), prefit=True)
    wrapped.conformalize(X[order[cut:]], y[order[cut:]])
    prediction, found = wrapped.predict_interval(X_test)
    ends = [found[:, :, k] for k in range(len(LEVELS))]
    error = y_test - prediction
    nothing = {"mse": float(np.mean(error**2)), "nll": np.nan, "crps": np.nan}
    return nothing | _of_intervals(ends, y_test)


def _standardized(X, X_test):
    mean, size = X.mean(axis=0), X.std(axis=0)
    size = np.where(size > 0, size, 1)
    return (X - mean) / size, (X_test - mean) / size


METHODS = {
    "qtkm": ours_posterior,
    "qtkm conformal": ours_conformal,
    "exact gp": exact_gp,
    "sparse gp": sparse_gp,
    "quantile boosting": quantile_boosting,
    "mapie": mapie,
}


# -- bars -------------------------------------------------------------------------------------


def _judge(lines):
    """Rows of the report: coverage by level and set, likelihoods beside GPs."""
    sets = [name for name in (*SMALL, *LARGE) if any(line["set"] == name for line in lines)]

    def mean(method, name, what, among=lines):
        found = [line[what] for line in among if (line["method"], line["set"]) == (method, name)]
        return float(np.mean(found)) if found else np.nan

    rows = []
    covers = {
        level: {name: mean("qtkm conformal", name, f"cover_{round(100 * level)}") for name in sets}
        for level in LEVELS
    }
    for level, by_set in covers.items():
        gaps = {name: abs(cover - level) for name, cover in by_set.items()}
        worst = max(gaps, key=gaps.__getitem__)
        off = float(np.nanmean(list(by_set.values()))) - level
        note = ", ".join(f"{name} {cover:.3f}" for name, cover in by_set.items())
        rows.append(
            row(
                f"coverage of {100 * level:.0f} % intervals, mean of {len(sets)} sets",
                f"{level + off:.3f}, worst {by_set[worst]:.3f} ({worst})", f"{level}",
                note=note, gap=off, worst=gaps[worst],
            )
        )  # fmt: skip
    for method, names in (("exact gp", SMALL), ("sparse gp", ("protein",))):
        shared = {(line["set"], line["split"]) for line in lines if line["method"] == method}
        own = [line for line in lines if (line["set"], line["split"]) in shared]
        both = [
            (mean("qtkm", name, "nll", own), mean(method, name, "nll", own), name)
            for name in names
            if name in sets
        ]
        both = [pair for pair in both if np.isfinite(pair[:2]).all()]
        if both:
            ours, theirs = (float(np.mean([pair[k] for pair in both])) for k in (0, 1))
            note = ", ".join(f"{name} {a:.2f} ({b:.2f})" for a, b, name in both)
            work = f"negative log-likelihood, {len(both)} sets, {method}"
            rows.append(row(work, f"{ours:.3f}", f"{theirs:.3f}", note=note, gap=ours - theirs))
    return rows
