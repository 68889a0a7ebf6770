"""Describe a set, read it from the data home, an installed package or a download, and return it.

A file of the data home only needs the right column names; what a package or a download gives must
agree with the rows and ranges in ``recorded.json``, which were compared by hand.
"""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from sklearn.utils import Bunch

from . import _files as downloads
from ._files import DOWNLOADS, Package, find_data_home, open_members, pandas, read_parquet

Home = str | os.PathLike[str] | None
# Some sources have fewer digits than others; a wrong file is off by far more.
_TOLERANCE = 0.01


@dataclass(frozen=True)
class Dataset:
    """Description of a set; `columns` are names and meanings of the features, in order.

    `origin` says source and licence, `home_file` is below the data home, `package` and `url` are
    other sources, of which `reader` reads the files, or the `members` of a zip archive at `url`.
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
    def description(self) -> str:
        """The text for ``DESCR``."""
        return f"{self.title}\n{'-' * len(self.title)}\n\n{self.body}\n"

    @property
    def body(self) -> str:
        """The text below its headline."""
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
    usual = {
        "files": f"``{dataset.home_file}``", "download": download, "first": "", "last": "",
        "notes": "",
    }  # fmt: skip
    texts = usual | dict(dataset.document)
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
    file = home / DOWNLOADS / urlsplit(url).path.rpartition("/")[2]
    is_fetched = bool(url) and file.is_file()
    if not is_fetched and package is not None and (found := package.find()) is not None:
        return _read_known(dataset, found, package.members, package.origin), package.origin
    if not (is_fetched or (url and download)):
        raise FileNotFoundError(_say_missing(dataset, home))
    if is_fetched:
        downloads.verify(file)
    else:
        downloads.fetch(url, file)
    origin = f"{file} (from {url})"
    try:
        return _read_known(dataset, file, dataset.members, origin), origin
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
    return Bunch(
        data=data,
        target=target,
        frame=frame,
        feature_names=names,
        target_names=[dataset.target],
        DESCR=dataset.description,
        source=source,
    )


@cache
def recorded() -> dict[str, Any]:
    """Return ``rows``, ``low`` and ``high`` of every set, by its name."""
    return json.loads(_resource("recorded.json"))


def check(name: str, frame: Any, origin: str) -> None:
    """Raise a ValueError if a table, the target last, is not what is recorded of it."""
    facts = recorded()[name]
    found, expected = "", ""
    if frame.shape != (facts["rows"], len(facts["low"])):
        found = f"has {frame.shape[0]} rows and {frame.shape[1]} columns"
        expected = f"{facts['rows']} and {len(facts['low'])}"
    else:
        for column, low, high in zip(frame.columns, facts["low"], facts["high"], strict=True):
            values, slack = frame[column], _TOLERANCE * (high - low)
            if values.isna().any():
                found, expected = f"lacks values of {column!r}", "all of them"
            elif abs(values.min() - low) > slack or abs(values.max() - high) > slack:
                found = f"has {column!r} from {values.min()} to {values.max()}"
                expected = f"{low} to {high}"
    if found:
        raise ValueError(
            f"{origin} is not the set {name!r} as known: it {found}, expected {expected}; "
            "use another source, or put a file of your own in the data home"
        )


def _read_home(dataset: Dataset, file: Path) -> Any:
    frame = read_parquet(file) if file.suffix == ".parquet" else pandas().read_csv(file)
    if list(frame.columns) != dataset.names:
        raise ValueError(
            f"{str(file)!r} has the columns {list(frame.columns)}, expected {dataset.names}; "
            "rename or order them, or take the file away to read from another source"
        )
    return frame


def _read_known(dataset: Dataset, file: Path, members: tuple[str, ...], origin: str) -> Any:
    """Read a file, name its columns, and compare it with what is recorded."""
    frame = dataset.reader(dataset.names, *open_members(file, members))
    if frame.shape[1] == len(dataset.names):  # otherwise `check` says so
        frame = frame.set_axis(dataset.names, axis=1)
    frame = frame.astype(np.float64)
    check(dataset.name, frame, origin)
    return _unify(dataset, frame)


def _unify(dataset: Dataset, frame: Any) -> Any:
    """Convert columns to the same types for every source."""
    if dataset.exact:
        return frame
    return frame.astype(np.float64).astype(
        {dataset.target: np.int64 if dataset.labels else np.float64}
    )


def _say_missing(dataset: Dataset, home: Path) -> str:
    ways = [f"put a file with its columns there: {str(home / dataset.home_file)!r}"]
    if dataset.url:
        ways.insert(0, f"load_{dataset.name}(download=True), which fetches {dataset.url}")
    said = f"load_{dataset.name} found no file {dataset.home_file!r} in the data home {str(home)!r}"
    if dataset.package is not None:
        package = dataset.package
        said += f", and the package {package.project} is not installed or lacks {package.path!r}"
        ways.insert(0, f"{package.install} (release {package.release} has it)")
    return f"{said}; try: " + "; or ".join(ways) + (f". {dataset.hint}" if dataset.hint else "")
