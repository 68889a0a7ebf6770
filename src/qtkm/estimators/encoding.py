"""Values to plain trees that `qtkm.storage` can write, and back with the types they had.

What a file cannot hold as it is becomes a dict that names its type, see docs/design/model-files.md.
Reading calls nothing but the constructors of registered parts.
"""

import datetime
import inspect
import math
from collections import ChainMap
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import features, losses, networks, penalties, solvers, storage

#: folders of parts, each with its registry of names and classes
REGISTRIES: dict[str, Mapping[str, type]] = {
    "features": ChainMap(
        {"gaps": features.WithGaps, "joined_gaps": features.Joined}, features.REGISTRY
    ),
    "networks": {**networks.REGISTRY, "additive": networks.Additive},
    "losses": losses.REGISTRY,
    "penalties": penalties.REGISTRY,
    "solvers": solvers.REGISTRY,
}
#: types of arrays that are kept as they are, and those that go into a wider one
NUMBERS = (*storage.KINDS, "complex128")
WIDER = {"float16": "float32", "complex64": "complex128"}
#: characters of the largest array of text: one long entry makes all entries long
MOST_CHARACTERS = 100_000_000


def encode(value: Any) -> Any:
    """Return the tree of a value, or raise a TypeError that says what a file can hold."""
    if value is None or type(value) in (bool, int, float, complex, str):
        return value
    if isinstance(value, np.generic):
        return {"type": "scalar", "value": _encode_array(np.asarray(value))}
    if isinstance(value, np.ndarray):
        return _encode_array(value)
    if isinstance(value, tuple):
        return {"type": "tuple", "values": [encode(entry) for entry in value]}
    if isinstance(value, Mapping):
        pairs = [[encode(key), encode(entry)] for key, entry in value.items()]
        return {"type": "dict", "values": pairs}
    if isinstance(value, list | range):
        if len(value) > 10 and all(type(entry) is float for entry in value):
            # a history may have millions of numbers: exact and short as an array
            return {"type": "floats", "values": np.array(value)}
        return [encode(entry) for entry in value]
    if isinstance(value, bytes):
        return {"type": "bytes", "value": value.decode("latin-1")}
    if isinstance(value, datetime.date):
        # subclasses such as pandas' have another precision and need their library to be read
        if type(value) not in (datetime.date, datetime.datetime) or getattr(value, "tzinfo", None):
            name = type(value).__name__
            raise TypeError(f"a file cannot hold a {name} such as {value}; use text")
        fold = {"fold": 1} if getattr(value, "fold", 0) else {}  # the second of two equal hours
        return {"type": type(value).__name__, "value": value.isoformat(), **fold}
    if isinstance(value, np.dtype | type):
        is_plain = isinstance(value, np.dtype) or issubclass(value, np.generic | float)
        name = np.dtype(value).name if is_plain else ""
        if name not in NUMBERS:
            raise TypeError(f"a file cannot hold {value!r}; give its name")
        return {"type": "dtype" if isinstance(value, np.dtype) else "number type", "name": name}
    if isinstance(value, np.random.RandomState):
        state: Any = value.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise TypeError("a file cannot hold this generator; use a number as random_state")
        return {
            "type": "RandomState", "key": state["state"]["key"], "position": state["state"]["pos"],
            "has_gauss": state["has_gauss"], "gauss": state["gauss"],
        }  # fmt: skip
    if hasattr(value, "get_params"):
        return encode_part(value)
    if hasattr(value, "tolist"):  # an Index or a Series
        return encode(value.tolist())
    name = type(value).__name__
    raise TypeError(f"a file cannot hold a {name}; use numbers, text, lists or arrays instead")


def decode(tree: Any) -> Any:
    """Return the value of a tree; one that no `encode` has made is a ValueError or the like."""
    if isinstance(tree, list):
        return [decode(entry) for entry in tree]
    if isinstance(tree, np.ndarray):
        return np.array(tree)
    if not isinstance(tree, dict):
        return tree
    match tree["type"]:
        case "part":
            return decode_part(tree)
        case "tuple":
            return tuple(decode(tree["values"]))
        case "dict":
            return {decode(key): decode(value) for key, value in tree["values"]}
        case "floats":
            if tree["values"].dtype != np.float64 or tree["values"].ndim != 1:
                raise ValueError("a list of numbers holds something else")
            return tree["values"].tolist()
        case "scalar":
            value = decode(tree["value"])
            if value.shape != ():
                raise ValueError(f"expected a number, found an array of shape {value.shape}")
            return value[()]
        case "array":
            return _decode_array(tree)
        case "narrow":
            if str(tree["value"].dtype) != WIDER.get(tree["dtype"]):
                raise ValueError(f"an array cannot be made one of {tree['dtype']!r}")
            return tree["value"].astype(tree["dtype"])
        case "number type" | "dtype" as kind:
            if tree["name"] not in NUMBERS:
                raise ValueError(f"{tree['name']!r} is not a numeric type")
            dtype = np.dtype(tree["name"])
            return dtype if kind == "dtype" else dtype.type
        case "bytes":
            return tree["value"].encode("latin-1")
        case "date":
            return datetime.date.fromisoformat(tree["value"])
        case "datetime":
            found = datetime.datetime.fromisoformat(tree["value"])
            return found.replace(fold=tree.get("fold", 0))
        case "RandomState":
            return _decode_generator(tree)
    raise ValueError(f"the type {tree['type']!r} is unknown to this version of qtkm")


def encode_part(part: Any) -> dict[str, Any]:
    """Return the registered name and parameters of a map, network, loss, penalty or solver."""
    given, kinds = part.get_params(deep=False), []
    for kind, registry in REGISTRIES.items():
        for name, cls in registry.items():
            if type(part) is cls:
                parameters = {key: encode(value) for key, value in given.items()}
                return {"type": "part", "kind": kind, "name": name, "parameters": parameters}
            if isinstance(part, cls):
                kinds.append(kind)
    where = f"qtkm.{kinds[0]}.REGISTRY" if kinds else "one of qtkm's registries"
    raise TypeError(
        f"{type(part).__name__} is a class that qtkm does not know by name; add it to {where}, "
        "here and wherever the model is loaded"
    )


def decode_part(tree: Any, kind: str | None = None) -> Any:
    """Return the part of a tree; parameters that the class does not have are left out."""
    kind, name = tree["kind"] if kind is None else kind, tree["name"]
    if tree["type"] != "part" or tree["kind"] != kind:
        raise ValueError(f"expected a part of {kind!r}, found one of {tree['kind']!r}")
    cls = REGISTRIES[kind].get(name)
    if cls is None:
        raise storage.ForeignFileError(
            f"it needs {name!r:.60} of qtkm.{kind}.REGISTRY, which is unknown; upgrade qtkm, or "
            "add your own class to it before loading"
        )
    known = inspect.signature(cls).parameters
    given = tree["parameters"].items()
    return cls(**{key: decode(value) for key, value in given if key in known})


def _encode_array(array: NDArray) -> Any:
    dtype = array.dtype.newbyteorder("=")
    if dtype.name in NUMBERS:
        return array.astype(dtype, copy=False)
    if dtype.name in WIDER:
        wider = array.astype(WIDER[dtype.name])
        return {"type": "narrow", "dtype": dtype.name, "value": wider}
    if dtype.kind not in "UO":
        raise TypeError(f"a file cannot hold an array of {dtype}; use numbers or text instead")
    values = [encode(value) for value in array.ravel().tolist()]
    return {"type": "array", "dtype": dtype.str, "shape": list(array.shape), "values": values}


def _decode_array(tree: Any) -> NDArray:
    dtype, values = np.dtype(tree["dtype"]), decode(tree["values"])
    if dtype.kind not in "UO":
        raise ValueError(f"expected an array of text, found one of {dtype}")
    if dtype.itemsize * len(values) > 4 * MOST_CHARACTERS:
        raise ValueError("an array of text is too large")
    if dtype.kind == "U" and not all(isinstance(value, str) for value in values):
        raise ValueError("an array of text holds something else")
    array = np.empty(len(values), dtype=dtype)
    for i, value in enumerate(values):  # one by one: a list as an entry stays one
        array[i] = value
    return array.reshape(tree["shape"])


def _decode_generator(tree: Any) -> np.random.RandomState:
    key, position, has_gauss = tree["key"], tree["position"], tree["has_gauss"]
    is_right = has_gauss in (0, 1) and math.isfinite(tree["gauss"])
    # NumPy reads at this position without a further look
    is_right &= key.shape == (624,) and key.dtype == np.uint32 and position in range(625)
    if not is_right:
        raise ValueError("a generator of random numbers has a state that cannot be")
    generator = np.random.RandomState(0)
    generator.set_state(("MT19937", key, int(position), int(has_gauss), tree["gauss"]))
    return generator
