"""Read Chroma's `chroma.sqlite3`: key-value rows become one table a collection, with its vectors.

Vectors come from the queue, replayed by number; what was purged from it comes from the files of the index, when
they are there, else the texts are encoded again, which the note says.
Source: chromadb 1.5.9 (`db/impl/sqlite`, `segment/impl`), checked on stores that it wrote.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memaudit.stores.assembled import Collection, assembled
from memaudit.stores.chroma_index import read_index
from memaudit.stores.store import Store
from memaudit.wording import part_of, plural, say

TABLES = frozenset({"embeddings", "embedding_metadata", "collections", "segments"})
_DOCUMENT = "chroma:document"
#: Keys that keep owners apart, when each row has one.
_OWNERS = ("user_id", "tenant_id", "tenant", "agent_id", "namespace")
_DELETE = 3
_ADD = 0


def is_chroma(store: Store) -> bool:
    """Say whether an opened SQLite file is a Chroma store."""
    return {t.name for t in store.tables} >= TABLES


def open_chroma(source: Store, path: Path) -> Store:
    """Put a Chroma store together.

    Parameters
    ----------
    source
        The opened file; closed here.
    path
        Where it lies: the files of the index are in folders beside it.
    """
    try:
        names = {t.name for t in source.tables}
        found = list(source.rows("SELECT id, name FROM collections ORDER BY rowid"))
        listed = [_Collection(source, path, names, str(i), str(n)) for i, n in found]
        owned = {i for i, _ in found}
        collections = [c.table() for c in listed if c.segment is not None]
        unread = [say("Collection {name} has no metadata segment and was not read.", name=c.name)
                  for c in listed if c.segment is None]  # fmt: skip
        segments = [s for s, c in source.rows("SELECT id, collection FROM segments") if c not in owned]
        if segments:
            unread.append(say("Segments of no collection: {n}; their items are not read.", n=len(segments)))
        store = assembled(source.path, "chroma", collections, notes=unread, sha256=source.sha256)
    finally:
        source.close()
    store.notes = (*store.notes, *source.notes)
    return store


class _Collection:
    """One collection while it is read."""

    def __init__(self, source: Store, path: Path, names: set[str], key: str, name: str) -> None:
        self.source = source
        self.path = path
        self.tables = names
        self.key = key
        self.name = name
        scopes: dict[str, str] = {}
        sql = "SELECT scope, id FROM segments WHERE collection = ?"
        for scope, segment in source.rows(sql, (key,)):
            scopes.setdefault(str(scope), str(segment))
        self.segment = scopes.get("METADATA")
        self.index = scopes.get("VECTOR")
        self.n_rows = self.n_documents = 0
        self.from_queue = self.from_index = 0
        self.index_problem = ""
        self.present: dict[str, int] = {}

    def table(self) -> Collection:
        sql = "SELECT DISTINCT m.key FROM embedding_metadata m JOIN embeddings e ON e.id = m.id WHERE e.segment_id = ?"
        keys = {k for (k,) in self.source.rows(sql, (self.segment,))}
        self.own = {n: n if n not in keys else f"chroma_{n}" for n in ("id", "document", "embedding", "created_at")}
        return Collection(self.name, self._rows(), self._hints, self._note)

    def _rows(self) -> Iterator[Mapping[str, Any]]:
        vectors = self._queued_vectors()
        ids: list[str] = []
        sql = "SELECT embedding_id FROM embeddings WHERE segment_id = ?"
        missing = [i for (i,) in self.source.rows(sql, (self.segment,)) if i not in vectors]
        if missing and self.index is not None:
            stored, self.index_problem = read_index(self.path.parent / self.index, frozenset(missing))
            self.from_index = len(stored)
            vectors.update(stored)
        arrays = self._arrays()
        for number, key, created, metadata in self._items():
            document = metadata.pop(_DOCUMENT, None)
            self.n_rows += 1
            self.n_documents += document is not None
            row: dict[str, Any] = {self.own["id"]: key}
            if document is not None:
                row[self.own["document"]] = document
            for name, value in [*metadata.items(), *arrays.get(number, {}).items()]:
                self.present[name] = self.present.get(name, 0) + 1
                row[name] = value
            row[self.own["created_at"]] = created
            if key in vectors:
                row[self.own["embedding"]] = vectors[key]
            ids.append(key)
            yield row
        self.from_queue = sum(i in vectors for i in ids) - self.from_index

    def _items(self) -> Iterator[tuple[int, str, Any, dict[str, Any]]]:
        sql = (
            "SELECT e.id, e.embedding_id, e.created_at, m.key, m.string_value, m.int_value, m.float_value, "
            "m.bool_value FROM embeddings e LEFT JOIN embedding_metadata m ON m.id = e.id "
            "WHERE e.segment_id = ? ORDER BY e.id"
        )
        current: tuple[int, str, Any, dict[str, Any]] | None = None
        for number, key, created, name, text, whole, real, flag in self.source.rows(sql, (self.segment,)):
            if current is None or current[0] != number:
                if current is not None:
                    yield current
                current = (number, key, created, {})
            if name is not None:
                set_values = [v for v in (text, whole, real, None if flag is None else bool(flag)) if v is not None]
                current[3][name] = set_values[0] if set_values else None
        if current is not None:
            yield current

    def _arrays(self) -> dict[int, dict[str, list[Any]]]:
        found: dict[int, dict[str, list[Any]]] = {}
        if "embedding_metadata_array" not in self.tables:
            return found
        columns = self.source.table("embedding_metadata_array").column_names
        values = [c for c in columns if c.endswith("_value")]
        if "id" not in columns or "key" not in columns or not values:
            return found
        sql = (
            f"SELECT a.id, a.key, COALESCE({', '.join('a.' + v for v in values)}, NULL) "
            "FROM embedding_metadata_array a JOIN embeddings e ON e.id = a.id WHERE e.segment_id = ? ORDER BY a.id, a.key"
        )
        for number, name, value in self.source.rows(sql, (self.segment,)):
            found.setdefault(number, {}).setdefault(name, []).append(value)
        return found

    def _queued_vectors(self) -> dict[str, bytes]:
        """Replay the queue: the last vector written for an item that is still there."""
        vectors: dict[str, bytes] = {}
        if "embeddings_queue" not in self.tables:
            return vectors
        sql = "SELECT embedding_id, seq_id FROM embeddings WHERE segment_id = ?"
        last = {key: _number(seq) for key, seq in self.source.rows(sql, (self.segment,))}
        sql = "SELECT seq_id, operation, id, vector, encoding FROM embeddings_queue WHERE topic LIKE ? ORDER BY seq_id"
        known: set[str] = set()
        for seq, operation, key, vector, encoding in self.source.rows(sql, (f"%/{self.key}",)):
            number = last.get(key)
            # An entry after the item's own last one was refused: adding an id a second time changes nothing.
            if number is None or _number(seq) > number:
                continue
            if operation == _DELETE:
                vectors.pop(key, None)
                known.discard(key)
            elif not (operation == _ADD and key in known):
                known.add(key)
                if isinstance(vector, bytes) and vector:
                    vectors[key] = _float32(vector, encoding)
        return vectors

    def _hints(self) -> dict[str, tuple[Any, str]]:
        full = [n for n in _OWNERS if self.present.get(n) == self.n_rows and self.n_rows]
        hints: dict[str, tuple[Any, str]] = {
            "id": (self.own["id"], say("it is Chroma's id of the item")),
            "text": (self.own["document"], say("it is Chroma's document")),
            "embedding": (self.own["embedding"], say("it is the vector that Chroma was given for the item")),
            "embedding_format": ("float32 little-endian BLOB", say("Chroma writes vectors so")),
        }
        if not self.n_documents:
            del hints["text"]
        if not self.from_queue + self.from_index:
            why = say("Chroma no longer holds the vectors where they can be read: the texts are encoded again")
            hints["embedding"] = (None, why)
            del hints["embedding_format"]
        if full:
            hints["isolation_keys"] = (full[:1], say("every item of the collection has the key"))
        return hints

    def _note(self) -> str:
        notes = []
        without = self.n_rows - self.n_documents
        if without:
            notes.append(say("Items without a document: {n}.", n=part_of(without, self.n_rows)))
        if self.from_index:
            notes.append(say("Vectors of {items} were read from the files of the index, because the queue was purged.",
                             items=plural(self.from_index, "item")))  # fmt: skip
        lost = self.n_rows - self.from_queue - self.from_index
        if lost:
            notes.append(say("Items whose vector is in neither the queue nor the index: {n}.{why}",
                             n=part_of(lost, self.n_rows), why=self.index_problem and f" {self.index_problem}"))  # fmt: skip
        return " ".join(notes)


def _number(seq: Any) -> int:
    """Return a queue number; older versions keep it as big-endian bytes."""
    if isinstance(seq, bytes):
        return int.from_bytes(seq, "big")
    return int(seq) if isinstance(seq, (int, float)) else -1


def _float32(vector: bytes, encoding: Any) -> bytes:
    if encoding == "INT32" and len(vector) % 4 == 0:
        n = len(vector) // 4
        return struct.pack(f"<{n}f", *struct.unpack(f"<{n}i", vector))
    return vector
