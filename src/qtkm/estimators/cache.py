"""Folders for what two scans of a source have found: its ranges, and its rows in shards.

    cache/<source and columns>/scan.qtkm          first scan, with the state of the source
                               shards-<key>/      second scan
                               .making-<process>-…   while it is written

Everything is made under another name and renamed when it is complete, so that what has its name
is whole. What belongs to another state of the source is removed when a new one is kept.
"""

import contextlib
import errno
import hashlib
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from .. import storage
from ..data import ShardWriter, StoredShards
from ..data.sources import Source
from .encoding import decode, encode
from .memory import format_bytes

logger = logging.getLogger(__name__)


class Cache:
    """A folder for one source, removed after use unless the user has named it.

    Parameters
    ----------
    folder : path-like or None
        None for a temporary folder, made when it is needed.
    source : Source
    columns : sequence of str
        Columns that are read of it.
    """

    def __init__(self, folder: Any, source: Source, columns: Sequence[str]):
        # rows that may change without a sign are not looked up
        self.is_kept = folder is not None and source.fingerprint() is not None
        self._base = None if folder is None else Path(folder)
        identity = repr(([str(path) for path in source.paths], list(columns)))
        self._name = hashlib.sha256(identity.encode()).hexdigest()[:16]
        self._temporary: Path | None = None
        self._folder: Path | None = None

    def __enter__(self) -> "Cache":
        if self.is_kept:
            assert self._base is not None
            self._folder = self._base / self._name
            _remove_left_behind(self._folder)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)

    @property
    def folder(self) -> Path:
        """The folder, made if it is not there."""
        if self._folder is None:
            if self._base is not None:
                self._base.mkdir(parents=True, exist_ok=True)
            self._temporary = Path(tempfile.mkdtemp(prefix="qtkm-", dir=self._base))
            self._folder = self._temporary
        self._folder.mkdir(parents=True, exist_ok=True)
        return self._folder

    # -- first scan ---------------------------------------------------------------------------

    def recall_scan(self, scan: Any, key: str) -> bool:
        """Fill a scan with what was kept; False if there is nothing of this key."""
        state = self._read_scan(key) if self.is_kept else None
        if state is None:
            return False
        try:
            scan.restore(decode(state))
        except (ValueError, KeyError, TypeError):
            return False
        logger.info("the first scan is taken from %s", self.folder)
        return True

    def _read_scan(self, key: str) -> Any:
        """State of a scan of this key; None if there is none."""
        try:
            tree = storage.read(self.folder / "scan.qtkm", "scan")
            return tree["scan"] if tree["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def keep_scan(self, scan: Any, key: str) -> None:
        """Keep a scan; shards of another state of the source go."""
        if not self.is_kept or self._read_scan(key) is not None:  # another process was faster
            return
        for old in self.folder.glob("shards-*"):
            shutil.rmtree(old, ignore_errors=True)
        # values of types that a file cannot hold: the scan will be made again
        with contextlib.suppress(TypeError):
            storage.write(
                self.folder / "scan.qtkm", "scan", {"key": key, "scan": encode(scan.state())}
            )

    # -- second scan --------------------------------------------------------------------------

    def shards(self, key: str, make: Callable[[Any], None], size: int) -> Any:
        """Training and validation shards of a key; made if they are not there.

        Parameters
        ----------
        key : str
        make : callable
            make(writer) adds all shards.
        size : int
            Bytes that they will take, about.
        """
        final = self.folder / f"shards-{key[:24]}"
        try:
            found = _open(final)
        except ValueError:
            self._make(final, make, size)
            found = _open(final)
        else:
            logger.info("the second scan is taken from %s", final)
        return found

    def _make(self, final: Path, make: Callable[[Any], None], size: int) -> None:
        free = shutil.disk_usage(self.folder).free
        if free < size:
            raise OSError(errno.ENOSPC, _no_space(size, free), str(self.folder))
        logger.info("coded rows go to %s, %s", final, format_bytes(size))
        making = Path(tempfile.mkdtemp(prefix=f".making-{os.getpid()}-", dir=self.folder))
        try:
            writer = ShardWriter(making)
            make(writer)
            writer.close()
            _put(making, final)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                free = shutil.disk_usage(self.folder).free
                raise OSError(errno.ENOSPC, _no_space(size, free), str(self.folder)) from None
            raise
        finally:
            shutil.rmtree(making, ignore_errors=True)


def _no_space(size: int, free: int) -> str:
    return (
        f"No space left for the coded rows: they take {format_bytes(size)}, and "
        f"{format_bytes(free)} are free; give another folder as cache=, or a larger memory_limit"
    )


def _open(folder: Path) -> Any:
    train, validation = (StoredShards(folder, kind) for kind in ("train", "validation"))
    return SimpleNamespace(train=train, validation=validation)


def _put(making: Path, final: Path) -> None:
    """Give shards their name, unless another process was faster: those may be in use."""
    try:
        _open(final)
    except ValueError:
        shutil.rmtree(final, ignore_errors=True)
        with contextlib.suppress(OSError):
            making.rename(final)


def _remove_left_behind(folder: Path) -> None:
    """Remove what processes that are no more have not finished."""
    for making in folder.glob(".making-*"):
        process = making.name.split("-")[1]
        if process.isdigit() and not Path(f"/proc/{process}").exists() and Path("/proc").exists():
            shutil.rmtree(making, ignore_errors=True)
