"""A set described, and the loader that follows from the description.

The sources are tried in the order data home, installed package, download. A
file of the data home is taken as it is, if its columns have the right names;
what a package or a download gives must agree with what is recorded of the set.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from . import _download as downloads
from ._home import find_data_home
from ._optional import pandas, read_parquet
from ._recorded import check
from ._sources import DownloadSource, PackageSource

Home = str | os.PathLike[str] | None

_DOCUMENTATION = """Load {name}: {title}.

Parameters
----------
return_X_y : bool, default=False
    Return ``(data, target)`` instead of a Bunch.
as_frame : bool, default=True
    Give data and target as a pandas DataFrame and Series; if False, as arrays.
data_home : path-like, optional
    Folder with ``{home_file}``. If None, the environment variable ``QTKM_DATA_HOME`` names
    it, and if that is not set, it is the folder ``qtkm`` of the user's cache.
download : bool, default=False
    {download}

Returns
-------
sklearn.utils.Bunch or tuple
    With ``data``, ``target``, ``frame`` (both together; None if ``as_frame=False``),
    ``feature_names``, ``target_names``, ``DESCR`` and ``source``, where it was read from; or
    ``(data, target)``.

Raises
------
FileNotFoundError
    If no source has it; the message says how to get it.
ModuleNotFoundError
    If a package that reads the file is not installed.

Notes
-----
{notes}
"""


@dataclass(frozen=True)
class Dataset:
    """What is to be known of a set.

    Attributes
    ----------
    name : str
        As in ``load_name``.
    title, text : str
        A headline, and what a row is.
    columns : mapping of str to str
        Names of the features, in order, and what they mean.
    target, target_text : str
        Name of the target and what it means.
    origin : str
        Source and licence.
    home_file : str
        Path below the data home.
    package, public : PackageSource and DownloadSource, optional
        Other sources.
    labels : bool
        Whether the target is a class, and stays an integer.
    hint : str
        How to get the file if there is no other source.
    exact : bool
        Whether a frame has the types of the home file instead of floats.
    """

    name: str
    title: str
    text: str
    columns: Mapping[str, str]
    target: str
    target_text: str
    origin: str
    home_file: str
    package: PackageSource | None = None
    public: DownloadSource | None = None
    labels: bool = False
    hint: str = ""
    exact: bool = False

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return list(self.columns)

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
    load.__module__ = f"{__package__}.{dataset.name}"
    load.__doc__ = _DOCUMENTATION.format(
        name=dataset.name,
        title=dataset.title,
        home_file=dataset.home_file,
        download=_say_download(dataset),
        notes=dataset.body,
    )
    return load


def read(dataset: Dataset, data_home: Home, download: bool) -> tuple[Any, str]:
    """Read a set from the first source that has it.

    Returns
    -------
    frame : pandas.DataFrame
        All columns, the target last.
    source : str
        Where it was read from.
    """
    home = find_data_home(data_home, create=download and dataset.public is not None)
    if (file := home / dataset.home_file).is_file():
        return _unify(dataset, _read_home(dataset, file)), str(file)
    public, package = dataset.public, dataset.package
    if public is not None and (file := home / public.home_file).is_file():
        downloads.verify(file)
        return _read_public(dataset, public, file)
    if package is not None and (found := package.find()) is not None:
        return _known(dataset, package.read_file(found), package.origin), package.origin
    if public is not None and download:
        return _fetch(dataset, public, home / public.home_file)
    raise FileNotFoundError(_say_missing(dataset, home))


def bunch(
    dataset: Dataset, frame: Any, source: str, *, return_X_y: bool, as_frame: bool
) -> Bunch | tuple[Any, Any]:
    """Give a table the form the loaders return."""
    data, target = frame[dataset.feature_names], frame[dataset.target]
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
        feature_names=dataset.feature_names,
        target_names=[dataset.target],
        DESCR=dataset.description,
        source=source,
    )


def _read_home(dataset: Dataset, file: Path) -> Any:
    frame = read_parquet(file) if file.suffix == ".parquet" else pandas().read_csv(file)
    expected = [*dataset.feature_names, dataset.target]
    if list(frame.columns) != expected:
        raise ValueError(
            f"{str(file)!r} has the columns {list(frame.columns)}, expected {expected}; "
            "rename or order them, or take the file away to read from another source"
        )
    return frame


def _read_public(dataset: Dataset, public: DownloadSource, file: Path) -> tuple[Any, str]:
    source = f"{file} (from {public.url})"
    return _known(dataset, public.read_file(file), source), source


def _fetch(dataset: Dataset, public: DownloadSource, file: Path) -> tuple[Any, str]:
    downloads.fetch(public.url, file, public.sha256)
    try:
        return _read_public(dataset, public, file)
    except ImportError:
        raise  # the file may be good: what reads it is missing
    except Exception:
        # What is not the set known by that name must not be found there next time.
        downloads.discard(file)
        raise


def _known(dataset: Dataset, frame: Any, source: str) -> Any:
    """Name the columns of a public file, and compare it with what is recorded."""
    names = [*dataset.feature_names, dataset.target]
    if frame.shape[1] == len(names):  # otherwise `check` says so
        frame = frame.set_axis(names, axis=1)
    frame = frame.astype(np.float64)
    check(dataset.name, frame, source)
    return _unify(dataset, frame)


def _unify(dataset: Dataset, frame: Any) -> Any:
    """Convert columns to the same types for every source."""
    if dataset.exact:
        return frame
    return frame.astype(np.float64).astype(
        {dataset.target: np.int64 if dataset.labels else np.float64}
    )


def _say_download(dataset: Dataset) -> str:
    if dataset.public is None:
        return "Has no effect: there is no public file to download."
    return (
        "If neither the data home nor an installed package has it, download it\n"
        f"    from {dataset.public.url}\n"
        "    into the data home. See :mod:`qtkm.datasets` on checksums."
    )


def _say_missing(dataset: Dataset, home: Path) -> str:
    ways = [f"put a file with its columns there: {str(home / dataset.home_file)!r}"]
    if dataset.public is not None:
        ways.insert(0, f"load_{dataset.name}(download=True), which fetches {dataset.public.url}")
    said = f"load_{dataset.name} found no file {dataset.home_file!r} in the data home {str(home)!r}"
    if dataset.package is not None:
        package = dataset.package
        said += f", and the package {package.project} is not installed or lacks {package.path!r}"
        ways.insert(0, f"{package.install} (release {package.release} has it)")
    return f"{said}; try: " + "; or ".join(ways) + (f". {dataset.hint}" if dataset.hint else "")
