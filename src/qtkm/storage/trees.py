"""Nested lists and dicts with arrays inside, taken apart into JSON and named arrays.

    {"cores": [[W0, W1]], "alpha": 1e-7}  ⇄  {"cores": [[{"$": "array", "name": "0"}, …]], …}
                                             and {"0": W0, "1": W1}

Numbers come back bit for bit: JSON's shortest text of a double is exact, complex arrays are
kept as pairs of doubles, and infinities and what is not a number have a name of their own.
"""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: key that marks a value which is not plain JSON
MARK = "$"
#: types of arrays that may be stored, by their name in a file
KINDS = {
    name: np.dtype(name)
    for name in (
        "bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64",
        "float32", "float64",
    )
}  # fmt: skip


def split(tree: Any) -> tuple[Any, dict[str, NDArray]]:
    """Take a tree of dicts, lists, arrays and plain values apart into JSON and named arrays.

    Keys of dicts are text; tuples come back as lists. Other types raise a TypeError.
    """
    arrays: dict[str, NDArray] = {}
    return _split(tree, arrays), arrays


def _split(value: Any, arrays: dict[str, NDArray]) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) and not _is_unicode(value):  # which the file itself must be
        return {MARK: "text", "value": [ord(letter) for letter in value]}
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {MARK: "float", "value": repr(value)}
    if isinstance(value, complex):
        return {
            MARK: "complex",
            "value": [_split(part, arrays) for part in (value.real, value.imag)],
        }
    if isinstance(value, Mapping):
        if not all(map(_is_key, value)):
            raise TypeError(f"a dict with the keys {list(value)!r} cannot be stored")
        return {key: _split(entry, arrays) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_split(entry, arrays) for entry in value]
    if isinstance(value, np.ndarray):
        return _split_array(value, arrays)
    raise TypeError(f"a value of type {type(value).__name__} cannot be stored")


def _is_key(key: Any) -> bool:
    return isinstance(key, str) and key != MARK and _is_unicode(key)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _split_array(array: NDArray, arrays: dict[str, NDArray]) -> dict[str, Any]:
    name = str(len(arrays))
    is_complex = array.dtype == np.complex128
    if is_complex:
        array = np.stack([array.real, array.imag], axis=-1)
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
    if mark == "array":
        return _join_array(plain, arrays)
    raise ValueError(f"an entry marked {mark!r} is not known to this version")


def _join_array(plain: Mapping[str, Any], arrays: Mapping[str, NDArray]) -> NDArray:
    array = arrays.get(plain.get("name", ""))
    if array is None:
        raise ValueError(f"the array {plain.get('name')!r} is missing")
    if not plain.get("complex"):
        return array
    if array.ndim == 0 or array.shape[-1] != 2 or array.dtype != np.float64:
        raise ValueError(f"the array {plain['name']!r} does not hold complex numbers")
    return array.view(np.complex128).reshape(array.shape[:-1])
