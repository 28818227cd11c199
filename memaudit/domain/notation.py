"""How the field writes what the function returns: an enum by value or name, a list as JSON, a bool as 0 and 1.

Pure. Without this every row of such a field would seem to hold a value that the function cannot return.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace

from memaudit.domain.against_store import key
from memaudit.domain.result import DomainResult, Json, ReplayResult

#: Gives a value as the field would hold it; the value itself where the notation says nothing about it.
Writer = Callable[[Json], Json]


def in_notation(
    result: DomainResult, replayed: ReplayResult | None, stored: Sequence[Json]
) -> tuple[DomainResult, ReplayResult | None, list[Json]]:
    """Write what the function returns as the field does; texts, None and numbers that fit stay as they are.

    Returns
    -------
    Enumeration, replay and stored values in one notation. Where no row has any of the values and they are no plain
    values, the enumeration is `comparable` no more: nobody knows how the field holds them, or which part of them.
    """
    returned = [*result.fixed_values, *(row.value for row in (replayed.rows if replayed else ()) if row is not None)]
    if result.status != "ok" or all(value is None or isinstance(value, str) for value in returned):
        return result, replayed, list(stored)
    read = [_read_json(value) for value in stored]
    best: Writer = _as_is
    most = 0
    for writer in _WRITERS:
        known = {key(writer(value)) for value in returned if value is not None}
        matching = sum(key(value) in known for value in read if value is not None)
        if matching > most:
            best, most = writer, matching
    if not most:
        is_plain = not any(isinstance(value, (bool, list, dict)) for value in returned)
        return result if is_plain else replace(result, comparable=False), replayed, list(stored)
    #: JSON text as it is stored; one spelling for all that say the same.
    spelled: dict[str, Json] = {}
    for text, value in zip(stored, read, strict=True):
        if isinstance(value, (list, dict)):
            spelled.setdefault(key(value), text)

    def write(value: Json) -> Json:
        value = best(value)
        return spelled.get(key(value), value) if isinstance(value, (list, dict)) else value

    result = replace(
        result,
        fixed_values=tuple(map(write, result.fixed_values)),
        fallback=replace(result.fallback, values=tuple(map(write, result.fallback.values))),
        outside_annotation=tuple(map(write, result.outside_annotation)),
    )
    if replayed is not None:
        rows = (None if row is None else replace(row, value=write(row.value)) for row in replayed.rows)
        replayed = replace(replayed, rows=tuple(rows))
    return result, replayed, [spelled.get(key(v), v) if isinstance(v, (list, dict)) else v for v in read]


def _read_json(value: Json) -> Json:
    """Read JSON text of a list or mapping."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def _as_is(value: Json) -> Json:
    return value


def _by_value(value: Json) -> Json:
    return value["value"] if _is_member(value) else value


def _by_name(value: Json) -> Json:
    return value["name"] if _is_member(value) else value


def _as_number(value: Json) -> Json:
    value = _by_value(value)
    return int(value) if isinstance(value, bool) else value


def _as_text(value: Json) -> Json:
    """Write a number as a column of texts does."""
    value = _as_number(value)
    return str(value) if isinstance(value, (int, float)) else value


def _as_word(value: Json) -> Json:
    return str(value) if isinstance(value, bool) else value


def _as_lower_word(value: Json) -> Json:
    return str(value).lower() if isinstance(value, bool) else value


def _is_member(value: Json) -> bool:
    return isinstance(value, dict) and value.keys() == {"repr", "name", "value"}


_WRITERS: tuple[Writer, ...] = (_as_is, _by_value, _by_name, _as_number, _as_text, _as_word, _as_lower_word)
