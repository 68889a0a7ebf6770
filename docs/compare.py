"""Write the tables of docs/compare.md and the front page's picture: python docs/compare.py

Both come from what the benchmarks `accuracy` and `uncertainty` have measured, the CSV files in
benchmarks/results, and change when these do.
"""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas

HERE = Path(__file__).parent
RESULTS = HERE.parent / "benchmarks" / "results"
OURS = "qtkm"
#: model: how it is called, and its colour
MODELS = {
    "qtkm": ("qtkm, defaults", "#1b4f8a"),
    "gp": ("Gaussian process", "#7e57c2"),
    "kernel": ("kernel ridge", "#4f9d69"),
    "boosting_500": ("boosting, 500 trees", "#a64b00"),
    "boosting": ("boosting", "#e08a3c"),
    "lightgbm": ("LightGBM", "#c9a227"),
    "ebm": ("EBM", "#8c564b"),
    "ridge": ("ridge", "#7a7a7a"),
    "0.1.0": ("qtkm 0.1.0", "#9db8d6"),
}
METHODS = {"qtkm": "qtkm", "qtkm conformal": "qtkm, conformal", "exact gp": "Gaussian process",
           "sparse gp": "sparse GP", "quantile boosting": "quantile boosting",
           "mapie": "MAPIE, split conformal around our mean"}  # fmt: skip
#: methods that give a density
DENSITIES = ("qtkm", "exact gp", "sparse gp")


def read_accuracy() -> tuple[pandas.DataFrame, pandas.DataFrame, pandas.DataFrame]:
    """Return errors and processor seconds (sets × models), and the sizes of the sets."""
    rows = pandas.read_csv(RESULTS / "accuracy.csv", keep_default_na=False)
    rows = rows.drop_duplicates(["set", "seed", "model"], keep="last")
    rows = rows[(rows["error"] == "") & rows["model"].isin(list(MODELS))]
    rows[["test_mse", "fit_seconds"]] = rows[["test_mse", "fit_seconds"]].astype(float)
    ours = rows[rows["model"] == OURS].astype({"n_train": int}).sort_values("n_train")
    order = list(dict.fromkeys(ours["set"]))
    # only where a model has run on all splits that ours has
    counts = rows.groupby(["set", "model"]).size().unstack()
    whole = counts.ge(counts[OURS], axis=0).stack()
    means = rows.groupby(["set", "model"])[["test_mse", "fit_seconds"]].mean()
    means = means[whole.reindex(means.index)].unstack()
    models = [name for name in MODELS if name in means["test_mse"]]
    sizes = rows.groupby("set")[["n_train", "n_columns"]].first().astype(int)
    return (means["test_mse"].loc[order, models], means["fit_seconds"].loc[order, models],
            sizes.loc[order])  # fmt: skip


def geometric(values: pandas.DataFrame) -> pandas.Series:
    """Return the geometric mean of every column over the sets that it has."""
    return np.exp(np.log(values).mean())


def accuracy_table() -> str:
    """Lay out errors with the seconds below them, the least error bold."""
    errors, seconds, sizes = read_accuracy()
    lines = ["| table (training rows × columns) | " + " | ".join(
        MODELS[model][0] for model in errors) + " |"]  # fmt: skip
    lines.append("|---" * (1 + errors.shape[1]) + "|")
    for name, row in errors.iterrows():
        cells = []
        for model, error in row.items():
            if np.isnan(error):
                cells.append("–")
                continue
            text = f"{error:.3g}"
            text = f"**{text}**" if error == row.min() else text
            cells.append(f"{text}, {seconds.loc[name, model]:.2g} s")
        n_rows, n_columns = sizes.loc[name]
        lines.append(f"| {name} ({n_rows:,} × {n_columns}) | " + " | ".join(cells) + " |")
    ratios = errors.div(errors.min(axis=1), axis=0)
    means = [f"{mean:.2f} ({ratios[model].count()})" for model, mean in geometric(ratios).items()]
    lines.append("| error over the best, geometric mean (tables) | " + " | ".join(means) + " |")
    best = errors.drop(columns=OURS).idxmin(axis=1)
    behind = errors[OURS] / errors.drop(columns=OURS).min(axis=1)
    told = [f"{name} ({behind[name]:.2f} times {MODELS[best[name]][0]})"
            for name in behind[behind > 1.02].index]  # fmt: skip
    return "\n".join(lines) + f"\n\nqtkm is behind the best other model on {', '.join(told)}."


def uncertainty_table() -> str:
    """Lay out coverages of all methods, and likelihoods set by set on the splits in common."""
    rows = pandas.read_csv(RESULTS / "uncertainty.csv")
    levels = ["cover_50", "cover_80", "cover_90", "cover_95"]
    lines = ["| method | sets | within 50 % | 80 % | 90 % | 95 % |", "|---|---|---|---|---|---|"]
    for method, label in METHODS.items():
        own = rows[rows["method"] == method].groupby("set")[levels].mean()
        if len(own):
            numbers = " | ".join(f"{value:.2f}" for value in own.mean())
            lines.append(f"| {label} | {len(own)} | {numbers} |")
    lines += ["", "| set | splits | " + " | ".join(METHODS[name] for name in DENSITIES) + " |",
              "|---|---" + "|---" * len(DENSITIES) + "|"]  # fmt: skip
    for name in dict.fromkeys(rows["set"]):
        found = rows[(rows["set"] == name) & rows["method"].isin(DENSITIES)]
        found = found.pivot_table("nll", "split", "method").dropna()
        cells = ["–" if method not in found else f"**{found[method].mean():.2f}**"
                 if found[method].mean() == found.mean().min() else f"{found[method].mean():.2f}"
                 for method in DENSITIES]  # fmt: skip
        lines.append(f"| {name} | {len(found)} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def draw_accuracy(path: Path) -> None:
    """Draw the error over the best of each set against seconds: all sets, and their mean."""
    errors, seconds, _ = read_accuracy()
    ratios = errors.div(errors.min(axis=1), axis=0)
    across, up = geometric(seconds), geometric(ratios)
    figure, ax = plt.subplots(figsize=(8, 4.8), layout="constrained")
    for model in up.sort_values().index:
        label, colour = MODELS[model]
        ax.plot(seconds[model], ratios[model], ".", color=colour, alpha=0.35, markersize=6)
        count = ratios[model].count()
        some = "" if count == len(ratios) else f" ({count} of {len(ratios)} tables)"
        size, name = 14 if model == OURS else 10, f"{label}: {up[model]:.2f}{some}"
        ax.plot(across[model], up[model], "o", color=colour, markersize=size, label=name,
                markeredgecolor="white", zorder=3)  # fmt: skip
    ax.set(
        xscale="log", yscale="log", xlabel="processor seconds of a fit",
        ylabel="test error over the best of all", ylim=(0.95, None),
        title=f"Accuracy and time on {len(errors)} tables, everyone with default settings",
    )  # fmt: skip
    ax.set_yticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.set_ylim(0.93, min(120, 1.2 * float(ratios.max().max())))
    ax.margins(x=0.12)
    ax.grid(color="0.93")
    ax.legend(title="geometric means", frameon=False, loc="upper right", markerscale=0.8)
    ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def write_tables(page: Path) -> None:
    """Put the tables between their marks."""
    text = page.read_text(encoding="utf-8")
    for name, make in (("accuracy", accuracy_table), ("uncertainty", uncertainty_table)):
        if not (RESULTS / f"{name}.csv").exists():
            raise SystemExit(f"{RESULTS / name}.csv is missing: python -m benchmarks.run {name}")
        marks = f"<!-- {name}: written by docs/compare.py -->", f"<!-- end of {name} -->"
        pattern = re.escape(marks[0]) + ".*?" + re.escape(marks[1])
        whole = f"{marks[0]}\n\n{make()}\n\n{marks[1]}"
        text, count = re.subn(pattern, lambda _, whole=whole: whole, text, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"{page} has no place for the table {name}")
    page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_tables(HERE / "compare.md")
    draw_accuracy(HERE / "images" / "accuracy.png")
