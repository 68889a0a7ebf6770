"""Real data sets of the study, split and standardized the same way for every model.

The files live in a data home outside the project (``QTKM_DATA_HOME`` or ``--data-home``);
the target is the last column of each. Classes are regressed on as -1 and +1.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

__all__ = ["DEFAULT_SETS", "GROUPS", "SETS", "Split", "choose", "load"]


class Source(NamedTuple):
    """Where a set comes from, and how many of its rows are used."""

    path: str
    n_rows: int | None = None
    test_path: str | None = None  # a set that comes with its own split


class Split(NamedTuple):
    """Training and test rows; the target has training mean 0 and standard deviation 1."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


SMALL = {
    "yacht": Source("uci/yacht.csv"),
    "qsar": Source("uci/qsar.csv"),
    "energy": Source("uci/energy.csv"),
    "qsar_fish": Source("uci/qsar_fish.csv"),
    "concrete": Source("uci/concrete.csv"),
    "airfoil": Source("uci/airfoil.csv"),
    "spambase": Source("classification/spambase.csv.gz"),
    "wine": Source("uci/wine.csv"),
    "banana": Source("uci/banana.csv"),
    "diabetes": Source("diabetes"),
    "ccpp": Source("regression/ccpp.csv.gz"),
}
MEDIUM = {
    "magic": Source("classification/magic.csv.gz"),
    "adult": Source("classification/adult_onehot.parquet"),
    "protein": Source("regression/protein_casp_raw.csv.gz"),
}
LARGE = {
    "flights_nyc": Source("flights/flights_nyc2013_8feat.parquet"),
    "flights_200k": Source("flights/flights_2001h1_3m_9feat.parquet", 200_000),
}
EXTRA = {
    "sound": Source("sound/sound_train.csv.gz", test_path="sound/sound_test.csv.gz"),
    "flights_3m": Source("flights/flights_2001h1_3m_9feat.parquet"),
}
SETS = SMALL | MEDIUM | LARGE | EXTRA
GROUPS = {
    "small": list(SMALL),
    "medium": list(MEDIUM),
    "large": list(LARGE),
    "extra": list(EXTRA),
    "all": list(SETS),
}
DEFAULT_SETS = [*SMALL, *MEDIUM, *LARGE]
TEST_FRACTION = 0.2


def choose(names):
    """Expand a comma-separated list of sets and groups."""
    chosen = []
    for name in names.split(","):
        if name not in SETS and name not in GROUPS:
            raise ValueError(
                f"no set or group named {name!r}; there are {', '.join(SETS)} "
                f"and the groups {', '.join(GROUPS)}"
            )
        chosen += GROUPS.get(name, [name])
    return list(dict.fromkeys(chosen))


def load(name, home, seed):
    """Read a set and split it 80/20.

    Parameters
    ----------
    name : str
        A key of `SETS`.
    home : pathlib.Path
        The data home.
    seed : int
        Of the random split. A set with a test file of its own ignores it.

    Returns
    -------
    Split
    """
    source = SETS[name]
    table = _read(home / source.path)
    if source.test_path is not None:
        train, test = table, _read(home / source.test_path)
    else:
        rng = np.random.default_rng(seed)
        order = np.random.default_rng(0).permutation(len(table))[: source.n_rows]
        order = rng.permutation(order)
        n_test = round(TEST_FRACTION * len(order))
        train, test = table[order[n_test:]], table[order[:n_test]]
    mean, spread = train[:, -1].mean(), train[:, -1].std(ddof=1)
    y_train, y_test = ((part[:, -1] - mean) / spread for part in (train, test))
    X_train, X_test = (np.ascontiguousarray(part[:, :-1]) for part in (train, test))
    return Split(X_train, y_train, X_test, y_test)


@lru_cache(maxsize=2)
def _read(path):
    import pandas as pd

    if path.name == "diabetes":
        from sklearn.datasets import load_diabetes

        return np.column_stack(load_diabetes(return_X_y=True))
    read = pd.read_parquet if path.suffix == ".parquet" else pd.read_csv
    return read(path).to_numpy(dtype=float)
