"""Two classes in the plane, shaped like bananas.

The public copies differ in the order of the rows, in their digits and in which
of the classes is called 1; here the larger one always is.
"""

from typing import Any

import numpy as np

from ._dataset import Dataset, make_loader
from ._optional import pandas
from ._sources import DownloadSource, PackageSource


def _larger_class_first(table: np.ndarray) -> Any:
    """Columns x1, x2 and the label, of which 1 is the more frequent."""
    table[:, 2] *= np.sign(table[:, 2].sum())
    return pandas().DataFrame(table)


def _read_sparse(stream: Any) -> Any:
    """Lines such as ``-1 1:0.5 2:0.25``: label first, columns numbered."""
    rows = [line.split() for line in stream.read().decode().splitlines() if line.strip()]
    table = [[float(part.rpartition(":")[2]) for part in row] for row in rows]
    return _larger_class_first(np.array(table)[:, [1, 2, 0]])


def _read_keel(stream: Any) -> Any:
    """Lines such as ``0.5,0.25,-1.0``, after a head of lines that begin with @."""
    lines = stream.read().decode().splitlines()
    rows = [line.split(",") for line in lines if line.strip() and not line.startswith("@")]
    return _larger_class_first(np.array(rows, dtype=np.float64))


load_banana = make_loader(
    Dataset(
        name="banana",
        title="Banana, 5300 rows",
        text="Two classes of artificial points, each in the shape of a banana. Copies in\n"
        "circulation differ in order and digits: that of the package river has six decimals,\n"
        "others three significant digits.",
        columns={"x1": "first coordinate, standardized", "x2": "second coordinate, standardized"},
        target="y",
        target_text="the class: 1 for the larger one (2924 rows), -1 for the other.",
        origin="Source: G. Rätsch's benchmark sets; KEEL, https://sci2s.ugr.es/keel; package\n"
        "river (BSD-3). No licence is stated by the first two.",
        home_file="uci/banana.csv",
        package=PackageSource(
            "river",
            "river",
            "0.26.1",
            "datasets/banana.zip",
            _read_sparse,
            ("banana.all.txt",),
            install="pip install river",
        ),
        public=DownloadSource(
            "https://sci2s.ugr.es/keel/dataset/data/classification/banana.zip",
            _read_keel,
            ("banana.dat",),
        ),
        labels=True,
    )
)
