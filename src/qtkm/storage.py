"""Files of arrays and plain values: safetensors for numbers, JSON for the rest, never pickle.

A file is a safetensors container whose metadata holds a JSON text and a checksum. A tree of lists
and dicts with arrays inside is taken apart into that text and named arrays:

    {"cores": [[W0, W1]], "alpha": 1e-7}  ⇄  {"cores": [[{"$": "array", "name": "0"}, …]], …}
                                             and {"0": W0, "1": W1}

Numbers come back bit for bit: JSON's shortest text of a double is exact, complex arrays are
kept as pairs of doubles, and infinities and what is not a number have a name of their own.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors import numpy as safetensors

from .replacing import replacing

__all__ = ["DamagedFileError", "ForeignFileError", "join", "read", "shortened", "split", "write"]

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
ERRORS = (
    ArithmeticError, AttributeError, LookupError, RecursionError, SafetensorError, TypeError,
    ValueError,
)  # fmt: skip
#: key that marks a value which is not plain JSON
MARK = "$"
#: letters of no text that a file can hold: halves of surrogate pairs
_HALVES = re.compile("[\ud800-\udfff]")
#: types of arrays that may be stored
KINDS = ("bool", *(f"{sign}int{n}" for sign in ("u", "") for n in (8, 16, 32, 64)),
         "float32", "float64")  # fmt: skip


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
    with replacing(Path(path)) as file:
        file.write(_in_order(safetensors.save(arrays, metadata=metadata)))


def read(path: str | os.PathLike[str], kind: str) -> Any:
    """Return the tree of a file that `write` made; other files are ForeignFileError or damaged."""
    data = Path(path).read_bytes()
    try:
        metadata = _metadata(data)
        version, text = str(metadata["qtkm"]), metadata.get("json")
        if not version.isdecimal():
            raise ValueError("its format has no number")
        if int(version) > FORMAT:
            raise ForeignFileError(
                f"has the format {version}; this version of qtkm reads up to {FORMAT}: upgrade "
                "qtkm to read it"
            )
        if metadata.get("kind") != kind:
            raise ForeignFileError(f"holds a {metadata.get('kind')!s:.40}, not a {kind}")
        if not isinstance(text, str) or len(text) > LONGEST_TEXT:
            raise ValueError("its text is missing, or too long")
        arrays = safetensors.load(data)
        if _checksum(text, arrays) != metadata.get("sha256"):
            raise ValueError("its checksum does not fit")
        return join(json.loads(text), arrays)
    except ForeignFileError as error:
        raise ForeignFileError(f"{path} {error}.") from None
    except ERRORS as error:
        reason = shortened(error)
        if "not fully covered" in reason:
            reason = f"it ends after {len(data):,} bytes, or has some too many"
        raise DamagedFileError(f"{path} is damaged: {reason}.") from None


def shortened(error: Exception) -> str:
    """Text of an error on one line and without its end, if that is far away."""
    text = " ".join(str(error).split()).rstrip(".")
    return f"{text[:LONGEST_REASON]}…" if len(text) > LONGEST_REASON else text


def _metadata(data: bytes) -> dict[str, Any]:
    """Return the metadata of the container, read without trusting any of it."""
    length = int.from_bytes(data[:8], "little")
    is_cut = length > len(data) - 8
    if b'"qtkm"' not in data[: 8 + length] and not (is_cut and data.startswith(_BEGIN, 8)):
        raise ForeignFileError("is not a file of qtkm")
    if is_cut:
        raise ValueError(f"it ends after {len(data):,} bytes")
    header = json.loads(data[8 : 8 + length])
    metadata = header.get("__metadata__") if isinstance(header, dict) else None
    if not isinstance(metadata, dict) or "qtkm" not in metadata:
        raise ForeignFileError("is not a file of qtkm")
    return metadata


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


def split(tree: Any) -> tuple[Any, dict[str, NDArray]]:
    """Take a tree of dicts, lists, arrays and plain values apart into JSON and named arrays.

    Keys of dicts are text; tuples come back as lists. Other types raise a TypeError.
    """
    arrays: dict[str, NDArray] = {}
    return _split(tree, arrays), arrays


def _split(value: Any, arrays: dict[str, NDArray]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) and _HALVES.search(value):
        return {MARK: "text", "value": [ord(letter) for letter in value]}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {MARK: "float", "value": repr(value)}
    if isinstance(value, complex):
        return {MARK: "complex", "value": _split([value.real, value.imag], arrays)}
    if isinstance(value, Mapping):
        if not all(isinstance(k, str) and k != MARK and not _HALVES.search(k) for k in value):
            raise TypeError(f"a dict with the keys {list(value)!r} cannot be stored")
        return {key: _split(entry, arrays) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_split(entry, arrays) for entry in value]
    if not isinstance(value, np.ndarray):
        raise TypeError(f"a value of type {type(value).__name__} cannot be stored")
    is_complex, name = value.dtype == np.complex128, str(len(arrays))
    array = np.stack([value.real, value.imag], axis=-1) if is_complex else value
    if array.dtype.name not in KINDS:
        raise TypeError(f"an array of type {array.dtype} cannot be stored")
    arrays[name] = np.asarray(array, order="C")
    return {MARK: "array", "name": name, "complex": is_complex}


def join(plain: Any, arrays: Mapping[str, NDArray]) -> Any:
    """Put together what `split` returned; a ValueError if a mark is unknown or an array missing."""
    if isinstance(plain, list):
        return [join(entry, arrays) for entry in plain]
    if not isinstance(plain, dict):
        return plain
    if MARK not in plain:
        return {key: join(entry, arrays) for key, entry in plain.items()}
    mark = plain[MARK]
    if mark == "float" and plain.get("value") in ("inf", "-inf", "nan"):
        return float(plain["value"])
    if mark == "text":
        return "".join(map(chr, plain["value"]))
    if mark == "complex":
        return complex(*(join(part, arrays) for part in plain["value"]))
    if mark != "array":
        raise ValueError(f"an entry marked {mark!r} is unknown to this version")
    array = arrays.get(plain.get("name", ""))
    if array is None:
        raise ValueError(f"the array {plain.get('name')!r} is missing")
    if not plain.get("complex"):
        return array
    if array.ndim == 0 or array.shape[-1] != 2 or array.dtype != np.float64:
        raise ValueError(f"the array {plain['name']!r} does not hold complex numbers")
    return array.view(np.complex128).reshape(array.shape[:-1])
