"""Turn JSON documents into tables: lists of objects, objects of objects, and texts kept in lists.

A text in a list of texts is a memory of its own: `{"name": "env_2", "memory": ["...", "..."]}` gives two records
with the keys `env_2#0` and `env_2#1`, the other keys repeated. The rows as they were stay there as another table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memaudit.wording import part_of, plural, say

#: Keys that hold the memories themselves when their values are lists of texts, whatever else the object holds.
_MEMORY_LISTS = ("memory", "memories", "reflections", "reflection", "observations", "insights", "lessons")
_TEXT_KEYS = ("text", "content", "observation", "memory", "value")
_NAME_KEYS = ("id", "_id", "uuid", "key", "name", "task_id", "title")
_DEEPEST = 3


@dataclass
class JsonTable:
    """Rows of one table to be.

    Parameters
    ----------
    rows
        May be gone through several times: a list, or something that reads its file again each time.
    hints
        Roles that the form answers, with the reason.
    """

    name: str
    rows: Iterable[Mapping[str, Any]]
    note: str = ""
    hints: dict[str, tuple[Any, str]] = field(default_factory=dict)


def tables_of(name: str, data: Any) -> list[JsonTable]:
    """Find the tables of a JSON document; the first one with `hints` is the one to audit.

    Parameters
    ----------
    name
        Name of the document; tables of its parts are called `name.part`.
    data
        Anything that `json.loads` returns.
    """
    return [found for table in _plain_tables(name, data, _DEEPEST) for found in with_items(table)]


def with_items(table: JsonTable) -> list[JsonTable]:
    """Return a table, and before it that of the texts in its lists where there are such."""
    items = _item_table(table)
    return [table] if items is None else [items, table]


def _plain_tables(name: str, data: Any, depth: int) -> Iterator[JsonTable]:
    if isinstance(data, list):
        yield from _list_table(name, data)
    elif isinstance(data, dict):
        yield from _object_tables(name, data, depth)
    else:
        yield JsonTable(name, [{"value": data}])


def _list_table(name: str, data: list[Any]) -> Iterator[JsonTable]:
    objects: list[Mapping[str, Any]] = [item for item in data if isinstance(item, dict)]
    if data and not objects:
        hints = {}
        if _natural([v for v in data if isinstance(v, str)]):
            hints = {"text": ("value", say("the document is a list of texts"))}
        yield JsonTable(name, [{"value": item} for item in data], hints=hints)
        return
    other = len(data) - len(objects)
    note = say("{items} no object and not read.", items=plural(other, "item is", "items are")) if other else ""
    yield JsonTable(name, objects, note)


def _object_tables(name: str, data: dict[str, Any], depth: int) -> Iterator[JsonTable]:
    values = list(data.values())
    if values and all(isinstance(v, dict) for v in values) and _alike(values):
        yield JsonTable(name, [{_free("key", v): k, **v} for k, v in data.items()])
        return
    lists = {k: v for k, v in data.items() if isinstance(v, list)}
    if values and len(lists) == len(values) and all(isinstance(t, str) for v in values for t in v):
        yield JsonTable(name, [{"key": k, "memory": v} for k, v in data.items()])
        return
    parts = {k: v for k, v in data.items() if _is_table(v)}
    if parts and depth > 1:
        unread = [k for k in data if k not in parts]
        note = say("Other keys of the document are no table and not read: {keys}.", keys=", ".join(unread[:10]))
        for key, value in parts.items():
            for table in _plain_tables(f"{name}.{key}", value, depth - 1):
                if unread:
                    table.note = " ".join(p for p in (table.note, note) if p)
                yield table
    else:
        yield JsonTable(name, [data] if data else [])


def _is_table(value: Any) -> bool:
    if isinstance(value, list):
        return any(isinstance(i, dict) for i in value) or _natural([i for i in value if isinstance(i, str)])
    return isinstance(value, dict) and bool(value) and all(isinstance(i, dict) for i in value.values())


def _alike(values: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether objects are rows of one table: they share keys, and are not all tables themselves."""
    if all(v and all(isinstance(inner, dict) for inner in v.values()) for v in values):
        return False
    keys = Counter(key for value in values for key in value)
    if not keys or len(keys) > 500:
        return False
    return sum(rows >= 0.5 * len(values) for rows in keys.values()) >= 0.3 * len(keys)


def _free(key: str, row: Mapping[str, Any]) -> str:
    return key if key not in row else "record_key"


# -- texts in lists -----------------------------------------------------------------------------


def _item_text(item: Any) -> str | None:
    if isinstance(item, str):
        return item
    if isinstance(item, dict):
        return next((item[k] for k in _TEXT_KEYS if isinstance(item.get(k), str)), None)
    return None


def _natural(texts: Sequence[str]) -> bool:
    """Say whether texts are sentences rather than tags, keys or addresses."""
    return bool(texts) and sum(map(_is_sentence, texts)) >= 0.5 * len(texts)


def _is_sentence(text: str) -> bool:
    text = text.strip()
    if text[:1] in ("{", "["):
        return False
    # Scripts without blanks between words: a Chinese sentence is short and one "word".
    return (len(text) >= 25 and len(text.split()) >= 3) or sum(c > "\u2e7f" for c in text) >= 8


@dataclass
class _KeySeen:
    """What the values of one key are, counted while the rows go by."""

    values: int = 0
    lists: int = 0
    items: int = 0
    texts: int = 0
    sentences: int = 0
    chars: int = 0
    plain_texts: int = 0
    plain_sentences: int = 0

    def add(self, value: Any) -> None:
        self.values += 1
        if isinstance(value, list):
            self.lists += 1
            self.items += len(value)
            for item in value:
                text = _item_text(item)
                if text is not None:
                    self.texts += 1
                    self.sentences += _is_sentence(text)
                    self.chars += len(text)
        elif isinstance(value, str):
            self.plain_texts += 1
            self.plain_sentences += _is_sentence(value)

    @property
    def holds_memories(self) -> bool:
        """Whether nearly every item is a text, and half of the texts are sentences."""
        return bool(self.texts) and self.texts >= 0.9 * self.items and self.sentences >= 0.5 * self.texts


def _list_key(rows: Iterable[Mapping[str, Any]]) -> tuple[str | None, int]:
    """Find the key whose lists hold the texts, None when a plain key holds them; and count the rows."""
    seen: dict[str, _KeySeen] = {}
    n_rows = 0
    for row in rows:
        n_rows += 1
        for key, value in row.items():
            if value is not None:
                seen.setdefault(key, _KeySeen()).add(value)
    found = [
        (key.lower() in _MEMORY_LISTS, one.chars, key)
        for key, one in seen.items()
        if one.lists == one.values and one.holds_memories
    ]
    if not found:
        return None, n_rows
    plain_text = any(
        one.lists < one.values and one.plain_texts and one.plain_sentences >= 0.5 * one.plain_texts
        for one in seen.values()
    )
    named, _, key = max(found)
    return (key if named or not plain_text else None), n_rows


@dataclass(frozen=True)
class _ItemRows:
    """One row a text in the lists under a key; the rows of the lists are gone through each time."""

    rows: Iterable[Mapping[str, Any]]
    key: str
    owner: str | None
    column: str

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        key = self.key
        for number, row in enumerate((r for r in self.rows if isinstance(r.get(key), list)), 1):
            name = str(row[self.owner]) if self.owner is not None else str(number)
            for place, item in enumerate(row[key]):
                text = _item_text(item)
                record: dict[str, Any] = {self.column: f"{name}#{place}", key: item if text is None else text}
                record.update((k, v) for k, v in row.items() if k != key)
                if isinstance(item, dict):
                    used = next((k for k in _TEXT_KEYS if isinstance(item.get(k), str)), None)
                    record.update((f"{key}.{k}", v) for k, v in item.items() if k != used)
                yield record


def _item_table(table: JsonTable) -> JsonTable | None:
    """Give each text of a list a record of its own; None when no key holds lists of texts."""
    key, n_rows = _list_key(table.rows)
    if key is None:
        return None
    holders = [0, 0, 0]  # objects with a list, items in them, objects with an empty one
    has_key = False
    names: dict[str, set[str] | None] = {k: set() for k in _NAME_KEYS if k != key}
    for row in table.rows:
        if not isinstance(row.get(key), list):
            continue
        holders = [holders[0] + 1, holders[1] + len(row[key]), holders[2] + (not row[key])]
        has_key = has_key or "key" in row
        for name, taken in names.items():
            value = row.get(name)
            if taken is None or not isinstance(value, (str, int)) or str(value) in taken:
                names[name] = None  # missing or twice: it names no object
            else:
                taken.add(str(value))
    n_holders, n_items, empty = holders
    owner = next((name for name, taken in names.items() if taken is not None), None)
    column = "record_key" if has_key else "key"
    without = n_rows - n_holders
    notes = [say("Each text in the lists under {key} is one record.", key=key)]
    if empty:
        share = part_of(empty, n_rows)
        notes.append(say("Objects with an empty list, which give no record: {share}.", share=share))
    if without:
        share = part_of(without, n_rows)
        notes.append(say("Objects without such a list, which give no record: {share}.", share=share))
    reason = say("its lists hold the texts: {n} records from {objects}", n=n_items, objects=plural(n_holders, "object"))
    name = f"{table.name}.{key}"
    return JsonTable(
        name,
        _ItemRows(table.rows, key, owner, column),
        " ".join(notes),
        {
            "table": (name, say("its rows are the texts in the lists under {key}", key=key)),
            "text": (key, reason),
            "id": (column, say("it was made from the object's name and the place in its list")),
        },
    )
