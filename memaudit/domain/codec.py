"""Values as JSON: what the function returned, and the arguments it was given.

Nothing is ever pickled: the child process is not trusted.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from enum import Enum
from json import dumps
from types import SimpleNamespace
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_MAX_REPR = 2_000
_TAG = "$"


class Record(SimpleNamespace):
    """An argument whose fields are read as attributes."""


def short_repr(value: Any) -> str:
    """Give `repr` without addresses, cut at 2,000 characters; never raises."""
    try:
        text = repr(value)
    except Exception as error:
        text = f"<{type(value).__name__}: repr raised {type(error).__name__}>"
    return _ADDRESS.sub("", text)[:_MAX_REPR]


def to_json(value: Any, depth: int = 0) -> Any:
    """Give a returned value as JSON.

    None is null; a text enum is its text, any other member `{"repr", "name", "value"}`; what JSON cannot hold (tuples, sets, objects, NaN, dicts whose
    keys are no texts) is `{"repr": ...}`.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, Enum):
        inner = value.value if isinstance(value.value, (str, int, float, bool, type(None))) else short_repr(value.value)
        return {"repr": short_repr(value), "name": value.name, "value": inner}
    if isinstance(value, int):
        return int(value) if abs(int(value)) < 10**300 else {"repr": "an integer of over 300 digits"}
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"repr": repr(float(value))}
    if depth < 8 and type(value) is list:
        return [to_json(item, depth + 1) for item in value]
    if depth < 8 and type(value) is dict and all(isinstance(key, str) for key in value):
        return {str.__str__(key): to_json(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        # The order of a set follows the hash seed; it says nothing about the value.
        inner = ", ".join(sorted(short_repr(item) for item in value))
        return {"repr": f"{type(value).__name__}({{{inner}}})"[:_MAX_REPR]}
    return {"repr": short_repr(value)}


def key_of(encoded: Any) -> str:
    """Give a text that is equal for equal JSON values and keeps 1, 1.0, true and "1" apart."""
    return dumps(encoded, ensure_ascii=True, sort_keys=True)


def pack(value: Any) -> Any:
    """Give an argument as tagged JSON that :func:`unpack` turns back; unknown objects raise TypeError."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Enum):
        return {_TAG: "enum", "class": type(value).__qualname__, "name": value.name}
    if isinstance(value, Record):
        return {_TAG: "record", "items": [[key, pack(item)] for key, item in vars(value).items()]}
    if isinstance(value, Mapping):
        return {_TAG: "dict", "items": [[pack(key), pack(item)] for key, item in value.items()]}
    if isinstance(value, (list, tuple, set, frozenset)):
        return {_TAG: type(value).__name__, "items": [pack(item) for item in value]}
    if isinstance(value, bytes):
        return {_TAG: "bytes", "hex": value.hex()}
    raise TypeError(type(value).__name__)


def unpack(packed: Any, names: Mapping[str, Any] | None = None) -> Any:
    """Turn the result of :func:`pack` back; enum classes are looked up in `names`."""
    if not isinstance(packed, dict):
        return packed
    kind = packed[_TAG]
    if kind == "enum":
        found: Any = (names or {})[packed["class"].split(".")[0]]
        for part in packed["class"].split(".")[1:]:
            found = getattr(found, part)
        return found[packed["name"]]
    if kind == "bytes":
        return bytes.fromhex(packed["hex"])
    if kind == "record":
        return Record(**{key: unpack(item, names) for key, item in packed["items"]})
    if kind == "dict":
        return {unpack(key, names): unpack(item, names) for key, item in packed["items"]}
    items = [unpack(item, names) for item in packed["items"]]
    makers: dict[str, Any] = {"list": list, "tuple": tuple, "set": set, "frozenset": frozenset}
    return makers[kind](items)
