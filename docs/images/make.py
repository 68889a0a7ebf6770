"""Draw two pictures of the front page: python docs/images/make.py (the report needs chromium).

The third, accuracy against seconds, is drawn by docs/compare.py from the benchmarks' results.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas

from qtkm import QTKMRegressor, datasets

HERE = Path(__file__).parent
WIDTH, HEIGHT = 1280, 1500


def draw_band() -> None:
    """Draw predictions with the band that 90 % of new observations lie in."""
    rng = np.random.default_rng(3)
    x = np.sort(np.concatenate([rng.uniform(0, 4, 60), rng.uniform(6.5, 10, 50)]))
    y = np.sin(1.4 * x) + 0.15 * x + rng.normal(0, 0.15, len(x))
    # scaled by its range alone, so that a gap is as wide as it is
    model = QTKMRegressor(scaling="range", random_state=0).fit(x[:, None], y)
    grid = np.linspace(0, 10, 400)[:, None]
    low, high = model.predict_interval(grid, 0.9).T
    figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    ax.fill_between(grid[:, 0], low, high, color="#9db8d6", alpha=0.6, label="90 % interval")
    ax.plot(grid[:, 0], model.predict(grid), color="#1b4f8a", label="prediction")
    truth = np.sin(1.4 * grid) + 0.15 * grid
    ax.plot(grid, truth, "--", color="#e08a3c", linewidth=1.2, label="true function")
    ax.plot(x, y, ".", color="#333333", label="rows")
    ax.set(title="How sure a prediction is", xlabel="x", ylabel="y")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    figure.savefig(HERE / "band.png", dpi=110)


def draw_report() -> None:
    """Take a picture of a report on the concrete data."""
    X, y = datasets.load_concrete(return_X_y=True, as_frame=True)
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[:800], order[800:]
    model = QTKMRegressor(random_state=0).fit(X.iloc[train], pandas.Series(y).iloc[train])
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("no chromium to open the report with")
    with tempfile.TemporaryDirectory() as folder:
        page = model.report(X.iloc[test], pandas.Series(y).iloc[test], Path(folder) / "report.html")
        words = [browser, "--headless=new", "--no-sandbox", "--hide-scrollbars",
                 f"--user-data-dir={folder}/browser", f"--window-size={WIDTH},{HEIGHT}",
                 "--virtual-time-budget=3000", f"--screenshot={HERE / 'report.png'}",
                 page.as_uri()]  # fmt: skip
        subprocess.run(words, check=True, capture_output=True)


if __name__ == "__main__":
    draw_band()
    draw_report()
