"""Downloads: whole or not at all, with a checksum that is known or remembered.

A file is written under another name and renamed when it is complete and its
SHA-256 checksum is the one expected. Where no checksum is known beforehand,
the first download is trusted: its checksum is kept beside it, in a file of the
same name with ``.sha256`` added, and what is read later must agree with it.
This finds damage and exchange later on; it does not vouch for the first copy.
"""

import hashlib
import http.client
import os
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from tqdm.auto import tqdm

_BLOCK = 1 << 16
_TIMEOUT = 60  # seconds without a byte


def fetch(url: str, file: Path, sha256: str | None = None) -> None:
    """Download a file, with a progress bar where there is a terminal.

    Parameters
    ----------
    url : str
    file : pathlib.Path
        Where to put it. Its folder is made if need be.
    sha256 : str, optional
        The checksum it must have.

    Raises
    ------
    OSError
        If the transfer fails or is cut short, or the checksum is another. Nothing is left
        behind then, nor when the download is interrupted.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".part", dir=file.parent)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            found = _transfer(url, stream, file)
        if sha256 is not None and found != sha256:
            raise OSError(
                f"{url} has the SHA-256 checksum {found}, expected {sha256}; try again, and if "
                "it stays so, the public file has changed: do not use it unseen"
            )
        checksum_file(file).write_text(f"{found}  {file.name}\n", encoding="utf-8")
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def verify(file: Path) -> None:
    """Compare a downloaded file with the checksum kept beside it, if there is one.

    Raises
    ------
    OSError
        If they differ.
    """
    if not checksum_file(file).is_file():
        return
    expected = checksum_file(file).read_text(encoding="utf-8").split()[0]
    with file.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != expected:
        raise OSError(
            f"{str(file)!r} has the SHA-256 checksum {found}, but {expected} when it was "
            "downloaded; delete it and load with download=True"
        )


def discard(file: Path) -> None:
    """Delete a downloaded file and its checksum."""
    file.unlink(missing_ok=True)
    checksum_file(file).unlink(missing_ok=True)


def checksum_file(file: Path) -> Path:
    """Return the path of the checksum of a downloaded file."""
    return file.with_name(file.name + ".sha256")


def _transfer(url: str, stream: Any, file: Path) -> str:
    """Copy what the address gives to a stream; its checksum."""
    try:
        # Some servers turn away the name that Python gives itself.
        request = urllib.request.Request(url, headers={"User-Agent": "qtkm"})
        with urllib.request.urlopen(request, timeout=_TIMEOUT) as response:
            return _copy(response, stream, file.name)
    except (OSError, http.client.HTTPException) as error:
        raise OSError(
            f"the download of {url} failed: {error}; try again, or put the file there "
            f"yourself: {str(file)!r}"
        ) from error


def _copy(response: Any, stream: Any, label: str) -> str:
    stated = response.headers.get("Content-Length")
    total = int(stated) if stated is not None else None
    checksum, size = hashlib.sha256(), 0
    with tqdm(total=total, desc=label, unit="B", unit_scale=True, disable=None) as bar:
        while block := response.read(_BLOCK):
            stream.write(block)
            checksum.update(block)
            size += len(block)
            bar.update(len(block))
    if total is not None and size != total:
        raise OSError(f"it ended after {size} of {total} bytes")
    return checksum.hexdigest()
