"""Checkpoints of a fit: what the loop and the solver hold after an epoch, in a folder.

Each is one file, written atomically. The last two are kept, in case the newest is damaged.
"""

import os
import re
import time
import warnings
from pathlib import Path

from .. import storage
from ..protocols import Kept

KIND = "checkpoint"
#: how many files are kept
KEPT = 2
_NAME = re.compile(r"epoch-(\d{6,})\.qtkm")


class Checkpoint:
    """Checkpoints of one fit in a folder.

    Parameters
    ----------
    folder : path-like
    fingerprint : dict
        What a resumed fit must have in common with the one that was interrupted.
    seconds : float
        Write no more often than this; 0 writes after every epoch.
    """

    def __init__(self, folder: str | os.PathLike[str], fingerprint: Kept, seconds: float = 0.0):
        self.folder, self.fingerprint, self.seconds = Path(folder), fingerprint, seconds
        self._last = -float("inf")

    def files(self) -> list[Path]:
        """Return the files of the folder, the newest first."""
        if not self.folder.is_dir():
            return []
        names = ((_NAME.fullmatch(path.name), path) for path in self.folder.iterdir())
        found = sorted(((int(name[1]), path) for name, path in names if name), reverse=True)
        return [path for _, path in found]

    def save(self, epoch: int, kept: Kept, *, force: bool = False) -> None:
        """Write what is kept after an epoch, if it is time."""
        now = time.monotonic()
        if not force and now - self._last < self.seconds:
            return
        tree = {"fingerprint": self.fingerprint, "epoch": epoch, **kept}
        storage.write(self.folder / f"epoch-{epoch:06}.qtkm", KIND, tree)
        self._last = now
        for old in self.files()[KEPT:]:
            old.unlink(missing_ok=True)

    def load(self) -> Kept | None:
        """Load the newest complete file; None if there is no file.

        Raises
        ------
        ValueError
            If a file belongs to another fit, or all files are damaged.
        """
        damage: list[str] = []
        for path in self.files():
            try:
                tree = storage.read(path, KIND)
            except FileNotFoundError:  # another process has written a newer one, and removed this
                continue
            except storage.DamagedFileError as error:
                damage.append(str(error))
                continue
            self._check(path, tree)
            for text in damage:
                warnings.warn(f"{text} The fit goes on from {path.name} instead.", stacklevel=2)
            return tree
        if damage:
            raise ValueError(
                f"No checkpoint in {self.folder} can be read. {damage[0]} Remove the folder to "
                "start anew."
            )
        return None

    def _check(self, path: Path, tree: object) -> None:
        found = tree.get("fingerprint") if isinstance(tree, dict) else None
        if found == self.fingerprint:
            return
        found = found if isinstance(found, dict) else {}
        names = found.keys() | self.fingerprint.keys()
        differ = sorted(n for n in names if found.get(n) != self.fingerprint.get(n))
        raise ValueError(
            f"{path} is a checkpoint of another fit: {', '.join(differ)} differ. Choose another "
            "folder for this fit, or remove that one to start anew."
        )
