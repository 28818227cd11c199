"""Read LangGraph's long-term store: JSON values by namespace and key, vectors by field.

Source: langgraph-checkpoint-sqlite 3.1.2, langgraph-checkpoint-postgres, `store/base/embed.py`; checked on a store
that the SQLite one wrote.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memaudit.stores.assembled import Collection, assembled
from memaudit.stores.store import Store
from memaudit.wording import part_of, plural, say

_STORE = {"prefix", "key", "value"}
_VECTORS = {"prefix", "key", "field_name", "embedding"}
#: Preferred among the fields of one shape, when they hold text; the longest one otherwise.
_TEXT_KEYS = ("content", "text", "memory", "data", "page_content", "fact", "lesson", "note", "summary", "value")


def is_langgraph(store: Store) -> bool:
    """Say whether an opened database has LangGraph's store table."""
    return any(t.name == "store" and set(t.column_names) >= _STORE for t in store.tables)


def open_langgraph(source: Store, path: object = None) -> Store:
    """Put a LangGraph store together; `source` is closed here."""
    try:
        items = [
            (str(prefix), str(key), value, created, updated, expires)
            for prefix, key, value, created, updated, expires in source.rows(_items_sql(source))
        ]
        vectors = []
        if any(t.name == "store_vectors" and set(t.column_names) >= _VECTORS for t in source.tables):
            vectors = list(source.rows("SELECT prefix, key, field_name, embedding FROM store_vectors ORDER BY rowid"))
        other = [t for t in source.tables if t.name in ("checkpoints", "writes") and t.n_rows]
        table = langgraph_table(items, vectors)
        notes = [say("{name} ({rows}) is the state of threads, no memory.", name=t.name, rows=plural(t.n_rows, "row"))
                 for t in other]  # fmt: skip
        store = assembled(source.path, "langgraph", [table], notes=notes, sha256=source.sha256)
    finally:
        source.close()
    store.notes = (*store.notes, *source.notes)
    return store


def _items_sql(source: Store) -> str:
    table = source.table("store")
    more = [c if table.has(c) else "NULL" for c in ("created_at", "updated_at", "expires_at")]
    return f"SELECT prefix, key, value, {', '.join(more)} FROM store ORDER BY {table.order}"


@dataclass
class _Shape:
    """Rows whose JSON has the same kind: which field holds their text."""

    name: str
    n_rows: int = 0
    chars: Counter[str] = field(default_factory=Counter)
    filled: Counter[str] = field(default_factory=Counter)

    def text_field(self) -> str | None:
        found = [k for k in self.chars if self.filled[k] >= 0.5 * self.n_rows] or list(self.chars)
        named = [k for k in _TEXT_KEYS if k in found or f"content.{k}" in found]
        if named:
            first = named[0] if named[0] in found else f"content.{named[0]}"
            # A long field of sentences beats a short one with a telling name.
            longest = max(found, key=lambda k: self.chars[k] / self.filled[k])
            if self.chars[longest] / self.filled[longest] <= 2 * self.chars[first] / self.filled[first]:
                return first
            return longest
        return max(found, key=lambda k: self.chars[k] / self.filled[k]) if found else None


Item = tuple[str, str, Any, Any, Any, Any]


def langgraph_table(items: list[Item], vectors: Iterable[tuple[Any, ...]]) -> Collection:
    """Make one table of a LangGraph store.

    Parameters
    ----------
    items
        (prefix, key, value, created, updated, expires); the value as JSON text, bytes of it, or already loaded.
    vectors
        (prefix, key, field name, vector).

    Notes
    -----
    The text of a row is the field that holds it in rows of its shape (the key `kind`, else the set of keys); a row
    whose field is missing or empty is blank, never filled from another field.
    """
    loaded = [_loaded(item[2]) for item in items]
    broken = sum(value is None for value in loaded)
    flat = [_flat(value) for value in loaded]
    shapes: dict[str, _Shape] = {}
    names = [_shape_name(value) for value in loaded]
    for name, row in zip(names, flat, strict=True):
        shape = shapes.setdefault(name, _Shape(name))
        shape.n_rows += 1
        for key, value in row.items():
            if isinstance(value, str) and value.strip() and key != "kind":
                shape.chars[key] += len(value)
                shape.filled[key] += 1
    text_of = {name: shape.text_field() for name, shape in shapes.items()}
    by_key, fields, orphans = _vectors_by_key(vectors, {(i[0], i[1]) for i in items})
    chosen = fields.most_common(1)[0][0] if fields else None

    def rows() -> Iterator[Mapping[str, Any]]:
        for item, value, columns, name in zip(items, loaded, flat, names, strict=True):
            prefix, key, _, created, updated, expires = item
            row: dict[str, Any] = {"id": f"{prefix}:{key}", "prefix": prefix, "key": key, "value": _as_json(item[2])}
            text = columns.get(text_of[name] or "")
            row["text"] = text if isinstance(text, str) else None
            row |= {(f"value_{k}" if k in _OWN else k): v for k, v in columns.items()}
            row |= {"created_at": created, "updated_at": updated}
            if expires is not None:
                row["expires_at"] = expires
            own = by_key.get((prefix, key), {})
            if chosen is not None:
                row["embedded_text"] = embedded_text(value, chosen) if chosen in own else None
                if chosen in own:
                    row["embedding"] = own[chosen]
            yield row

    # Of the fields by shape the reader of the report must be able to check each.
    shown = "; ".join(f"{s.name}: {text_of[s.name] or 'no text'} ({s.n_rows:,})" for s in shapes.values())
    notes = [say("Text by the shape of the JSON: {shown}.", shown=shown)] if shapes else []
    if broken:
        notes.append(say("Values that are no JSON object: {n}; they are kept as text.", n=part_of(broken, len(items))))
    notes += _vector_notes(items, by_key, fields, orphans, chosen)
    notes += _namespace_notes(items, [r.get(text_of[n] or "") for n, r in zip(names, flat, strict=True)])
    hints: dict[str, tuple[Any, str]] = {
        "id": ("id", say("it is namespace and key, LangGraph's own key")),
        "text": ("text", say("it is the field that holds the text in each shape of the JSON: {shown}", shown=shown)),
        "time": ("created_at", say("LangGraph writes it")),
        "isolation_keys": (("prefix",), say("LangGraph keeps owners apart by namespace")),
    }
    if chosen is not None:
        what = say("the whole JSON, sorted keys") if chosen == "$" else chosen
        hints["embedding"] = ("embedding", say("store_vectors keeps it, for the field {field}", field=chosen))
        hints["embedded_text"] = ("embedded_text", say("store_vectors says which text was embedded: {what}", what=what))
    return Collection("store", rows(), hints, " ".join(notes), columns=("id", "prefix", "key", "value", "text"))


_OWN = frozenset({
    "id", "prefix", "key", "value", "text", "created_at", "updated_at", "expires_at", "embedded_text", "embedding",
})  # fmt: skip


def _loaded(value: Any) -> Any:
    """Return the JSON of a value; None when it is no JSON."""
    if isinstance(value, (dict, list)):
        return value
    try:
        return json.loads(value.decode("utf-8") if isinstance(value, bytes) else value)
    except (ValueError, TypeError, RecursionError):
        return None


def _as_json(value: Any) -> str | None:
    """Return a value as the JSON text that was stored."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _flat(value: Any) -> dict[str, Any]:
    """Make columns of a JSON object; the object under `content` (langmem) gives `content.key`."""
    if not isinstance(value, dict):
        return {} if value is None else {"content": value if isinstance(value, str) else json.dumps(value)}
    found: dict[str, Any] = {}
    for key, inner in value.items():
        if key == "content" and isinstance(inner, dict):
            found |= {f"content.{k}": v for k, v in inner.items()}
        else:
            found[str(key)] = inner
    return found


def _shape_name(value: Any) -> str:
    if not isinstance(value, dict):
        return say("no object")
    kind = value.get("kind")
    return kind if isinstance(kind, str) and kind else "{" + ", ".join(sorted(map(str, value))[:6]) + "}"


def _vectors_by_key(
    vectors: Iterable[tuple[Any, ...]], known: set[tuple[str, str]]
) -> tuple[dict[tuple[str, str], dict[str, Any]], Counter[str], int]:
    by_key: dict[tuple[str, str], dict[str, Any]] = defaultdict(dict)
    fields: Counter[str] = Counter()
    orphans = 0
    for prefix, key, name, vector in vectors:
        if (str(prefix), str(key)) not in known:
            orphans += 1
            continue
        fields[str(name)] += 1
        by_key[str(prefix), str(key)][str(name)] = vector
    return by_key, fields, orphans


def _vector_notes(
    items: list[Item], by_key: Mapping[Any, Any], fields: Counter[str], orphans: int, chosen: str | None
) -> Iterator[str]:
    if orphans:
        yield say("Vectors of no row (their memory was deleted): {n}.", n=orphans)
    if chosen == "$":
        yield say("Every vector looked at is of the whole JSON (field $): keys and constant values are embedded with "
                  "the text.")  # fmt: skip
    if len(fields) > 1:
        shown = ", ".join(f"{name} {n:,}" for name, n in fields.most_common(8))
        yield say("Vectors by field: {shown}; those of {chosen} are audited.", shown=shown, chosen=chosen)
    if fields and len(by_key) < len(items):
        yield say("Rows without any vector: {n}.", n=part_of(len(items) - len(by_key), len(items)))


def _namespace_notes(items: list[Item], texts: list[Any]) -> Iterator[str]:
    """Count texts that stand in several namespaces: as copies of two owners they are no duplicates of one."""
    places: dict[str, set[str]] = defaultdict(set)
    for item, text in zip(items, texts, strict=True):
        if isinstance(text, str) and text.strip():
            places[text].add(item[0])
    shared = [spaces for spaces in places.values() if len(spaces) > 1]
    if shared:
        example = " and ".join(sorted(Counter(s for spaces in shared for s in spaces))[:2])
        yield say("Texts that stand word for word in more than one namespace: {n} (such as {example}).",
                  n=len(shared), example=example)  # fmt: skip


# -- which text was embedded --------------------------------------------------------------------


def embedded_text(value: Any, path: str) -> str | None:
    """Return the text that LangGraph embedded for a field name; None where the value has none at that path.

    `$` is the whole JSON with sorted keys (old versions wrote Chinese as escapes; the one checked does not); `a.b` and `a[0]` are paths; `a[*]` and `*` take all.
    Several texts of one path get a vector each (`a[*].0`, ...): the number at the end chooses.
    """
    if path in ("", "$"):
        return _json_text(value)
    found = list(_at(value, _tokens(path)))
    if not found and "." in path:
        head, _, number = path.rpartition(".")
        if number.isdigit():
            several = list(_at(value, _tokens(head)))
            return several[int(number)] if int(number) < len(several) else None
    return found[0] if found else None


def _json_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


def _tokens(path: str) -> list[str]:
    return [t for t in path.replace("[", ".[").split(".") if t]


def _at(value: Any, tokens: list[str]) -> Iterator[str]:
    if not tokens:
        if isinstance(value, (dict, list)):
            yield _json_text(value)
        elif value is not None:
            yield str(value)
        return
    token, rest = tokens[0], tokens[1:]
    inner: list[Any] = []
    if token == "*":
        inner = list(value.values()) if isinstance(value, dict) else value if isinstance(value, list) else []
    elif token.startswith("[") and isinstance(value, list):
        place = token[1:-1]
        if place == "*":
            inner = value
        elif place.lstrip("-").isdigit() and -len(value) <= int(place) < len(value):
            inner = [value[int(place)]]
    elif isinstance(value, dict) and token in value:
        inner = [value[token]]
    for item in inner:
        yield from _at(item, rest)
