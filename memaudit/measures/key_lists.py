"""Keys of rows as other tables and columns write them: one key, or a JSON list of keys or of objects with one."""

from __future__ import annotations

import json
from typing import Any

#: Names under which an object of a list holds its key.
_NAMES = ("id", "memory_id", "key", "record_id", "doc_id")


def keys_in(value: Any) -> tuple[Any, ...]:
    """Return the keys that a stored value names; none for NULL and empty text."""
    if value is None or value == "":
        return ()
    if not isinstance(value, str) or value.lstrip()[:1] != "[":
        return (value,)
    try:
        listed = json.loads(value)
    except (ValueError, RecursionError):
        return (value,)
    items = [next((i[n] for n in _NAMES if n in i), None) if isinstance(i, dict) else i for i in listed]
    return tuple(i for i in items if isinstance(i, (str, int, float)))
