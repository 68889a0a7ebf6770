"""One file: a safetensors container whose metadata holds a JSON text and a checksum."""

import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from .trees import join, split

#: version of the layout: files of a higher one cannot be read, those of lower ones can. 2 has
#: main effects, penalties and posteriors, which 0.1.0 does not know
FORMAT = 2
#: what a container with metadata begins with, after eight bytes of length
_BEGIN = b'{"__metadata__":'
#: longest JSON text that is read, far above what any model needs
LONGEST_TEXT = 50_000_000
#: longest part of a reason that is shown: it may quote the file
LONGEST_REASON = 300
#: what the reading of bytes that are not as they should be leads to
_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
#: deepest nesting that is read: a hostile file must not exhaust the stack
DEEPEST = 100


class ForeignFileError(ValueError):
    """A file that is whole but not of the kind, or of a newer format."""


class DamagedFileError(ValueError):
    """A file that is cut off or altered."""


def write(path: str | os.PathLike[str], kind: str, tree: Any) -> None:
    """Write a tree (see `split`) to a file of some kind, such as "model", whole or not at all."""
    plain, arrays = split(tree)
    text = json.dumps(plain, allow_nan=False, ensure_ascii=False)
    metadata = {
        "qtkm": str(FORMAT), "kind": kind, "json": text, "sha256": _checksum(text, arrays),
    }  # fmt: skip
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"{path} would hold {len(text):,} characters of text, too many to be read")
    _replace(Path(path), _in_order(safetensors.save(arrays, metadata=metadata)))


def read(path: str | os.PathLike[str], kind: str) -> Any:
    """Return the tree of a file that `write` made; other files are ForeignFileError or damaged."""
    path = Path(path)
    data = path.read_bytes()
    try:
        return _read(path, data, kind)
    except (ForeignFileError, DamagedFileError):
        raise
    except _ERRORS as error:
        raise _damaged(path, shortened(error)) from None


def _read(path: Path, data: bytes, kind: str) -> Any:
    """Tree of a file's bytes; errors other than the two of this module are those of damage."""
    metadata = _metadata(path, data)
    _check_kind(path, metadata, kind)
    try:
        arrays = safetensors.load(data)
    except SafetensorError as error:
        is_short = "not fully covered" in str(error)
        why = f"it ends after {len(data):,} bytes, or has some too many" if is_short else str(error)
        raise _damaged(path, why) from None
    text = metadata["json"]
    if _checksum(text, arrays) != metadata.get("sha256"):
        raise _damaged(path, "its checksum does not fit")
    return join(_load_text(text), arrays)


def shortened(error: Exception) -> str:
    """Text of an error on one line and without its end, if that is far away."""
    text = " ".join(str(error).split()).rstrip(".")
    return f"{text[:LONGEST_REASON]}…" if len(text) > LONGEST_REASON else text


def _metadata(path: Path, data: bytes) -> dict[str, str]:
    """Metadata of the container, read without trusting any of it."""
    length = int.from_bytes(data[:8], "little")
    is_cut = length > len(data) - 8
    is_named = b'"qtkm"' in data[: 8 + min(length, len(data))]
    if not is_named and not (is_cut and data.startswith(_BEGIN, 8)):
        raise ForeignFileError(f"{path} is not a file of qtkm.")
    if is_cut:
        raise _damaged(path, f"it ends after {len(data):,} bytes")
    try:
        header = json.loads(data[8 : 8 + length])
    except (ValueError, RecursionError):
        raise _damaged(path, "its header cannot be read") from None
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or "qtkm" not in metadata:
        raise ForeignFileError(f"{path} is not a file of qtkm.")
    return metadata


def _check_kind(path: Path, metadata: Mapping[str, str], kind: str) -> None:
    version = str(metadata["qtkm"])
    if not version.isdecimal():
        raise _damaged(path, "its format has no number")
    if int(version) > FORMAT:
        raise ForeignFileError(
            f"{path} has the format {version}; this version of qtkm reads up to {FORMAT}: "
            "upgrade qtkm to read it."
        )
    if metadata.get("kind") != kind:
        raise ForeignFileError(f"{path} holds a {metadata.get('kind')!s:.40}, not a {kind}.")
    if not isinstance(metadata.get("json"), str):
        raise _damaged(path, "its text is missing")


def _load_text(text: str) -> Any:
    if len(text) > LONGEST_TEXT:
        raise ValueError("its text is too long")
    plain = json.loads(text)
    level = [plain]
    for _ in range(DEEPEST):
        level = [
            entry for value in level if isinstance(value, dict | list)
            for entry in (value.values() if isinstance(value, dict) else value)
        ]  # fmt: skip
        if not level:
            return plain
    raise ValueError("its text is nested too deeply")


def _checksum(text: str, arrays: Mapping[str, NDArray]) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name}:{array.dtype.name}:{array.shape};".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _in_order(data: bytes) -> bytes:
    """Sort the metadata of a file, which safetensors leaves in random order."""
    length = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)  # arrays begin at a multiple of eight bytes
    return len(text).to_bytes(8, "little") + text + data[8 + length :]


def _damaged(path: Path, why: str) -> DamagedFileError:
    return DamagedFileError(f"{path} is damaged: {why}.")


def _replace(path: Path, data: bytes) -> None:
    """Put bytes in place of a file; they are on disk before the old ones go."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.partial")
    try:
        with partial.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
