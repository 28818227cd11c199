"""Read qdrant's local mode: a folder with `meta.json` and one `collection/NAME/storage.sqlite` a collection.

Each point is a pickle; only its plain data is read (:mod:`memaudit.stores.plain_pickle`), and a pickle that holds
anything else is refused and counted.
Source: qdrant-client 1.x `local/persistence.py`, checked on a store that it wrote.
"""

from __future__ import annotations

import base64
import binascii
import json
import struct
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from memaudit.stores.assembled import Collection
from memaudit.stores.plain_pickle import PlainObject, RefusedPickleError, read_plain_pickle
from memaudit.stores.sqlite import open_sqlite
from memaudit.stores.store import Store
from memaudit.wording import part_of, plural, say

_CLASSES = frozenset(
    {f"qdrant_client.{module}.{name}"
     for module in ("http.models.models", "http.models", "conversions.common_types", "models")
     for name in ("PointStruct", "SparseVector", "Document")}
    | {"uuid.UUID"}
)  # fmt: skip
_LARGEST_META = 16 << 20
#: Payload keys that hold the text, by the systems that write them: mem0, LangChain, others.
_TEXT_KEYS = ("data", "page_content", "text", "content", "document", "memory")


@dataclass
class Points:
    """The points of one collection, read once and counted.

    Parameters
    ----------
    refused
        Reason -> points that were not read for it.
    """

    name: str
    source: Store
    n_rows: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)
    other_vectors: Counter[str] = field(default_factory=Counter)
    vector_name: str | None = None

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any], bytes | None]]:
        """Give (id, payload, vector) in the order of the file."""
        for key, blob in self.source.rows("SELECT id, point FROM points ORDER BY rowid"):
            try:
                point = _point(blob)
            except RefusedPickleError as error:
                self.refused[str(error)] += 1
                continue
            payload = point.get("payload") or {}
            if not isinstance(payload, dict):
                payload = {"payload": payload}
            self.n_rows += 1
            self.present.update(k for k in payload if isinstance(k, str))
            yield _id(point.get("id"), key), {str(k): _plain(v) for k, v in payload.items()}, self._vector(point)

    def _vector(self, point: Mapping[str, Any]) -> bytes | None:
        """Choose one dense vector a point: the unnamed one, else the name that the first point has."""
        vectors = point.get("vector")
        if isinstance(vectors, list):
            vectors = {"": vectors}
        if not isinstance(vectors, dict):
            return None
        dense = {str(k): v for k, v in vectors.items() if isinstance(v, list) and _numbers(v)}
        if self.vector_name is None and dense:
            self.vector_name = "" if "" in dense else next(iter(dense))
        self.other_vectors.update(str(k) for k in vectors if str(k) != self.vector_name)
        chosen = dense.get(self.vector_name or "")
        return struct.pack(f"<{len(chosen)}f", *chosen) if chosen else None

    def note(self) -> str:
        """Say what was not read."""
        notes = []
        if self.refused:
            shown = ", ".join(f"{n:,}: {reason}" for reason, n in self.refused.most_common(3))
            n = self.refused.total()
            notes.append(say("Points that are not read, because their pickle holds more than plain data: {n} ({shown}).",
                             n=part_of(n, n + self.n_rows), shown=shown))  # fmt: skip
        if self.other_vectors:
            shown = ", ".join(f"{name or '(unnamed)'} {n:,}" for name, n in self.other_vectors.most_common(5))
            notes.append(say("Further vectors of the points, not audited: {shown}.", shown=shown))
        return " ".join(notes)


def _point(blob: Any) -> dict[str, Any]:
    if not isinstance(blob, bytes):
        raise RefusedPickleError("it is no blob")
    value = read_plain_pickle(blob, _CLASSES)
    if isinstance(value, PlainObject):
        value = value.fields
    if not isinstance(value, dict):
        raise RefusedPickleError("it is no point")
    return value


def _id(value: Any, key: Any) -> str:
    """Return the id of a point; the column holds it as base64 of a pickle."""
    if value is None:
        try:
            value = read_plain_pickle(base64.b64decode(str(key), validate=True), _CLASSES)
        except (RefusedPickleError, binascii.Error, ValueError):
            value = key
    return str(_plain(value))


def _plain(value: Any) -> Any:
    """Bring what a pickle held to JSON's kinds."""
    if isinstance(value, PlainObject):
        number = value.fields.get("int")
        if value.name == "uuid.UUID" and isinstance(number, int) and 0 <= number < 1 << 128:
            return str(uuid.UUID(int=number))
        return {k: _plain(v) for k, v in value.fields.items()}
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, set):
        return sorted(map(str, value))
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _numbers(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def is_qdrant_points(store: Store) -> bool:
    """Say whether an opened SQLite file holds the points of a qdrant collection."""
    return [(t.name, t.column_names) for t in store.tables] == [("points", ("id", "point"))]


def qdrant_folder(folder: Path) -> Path | None:
    """Return the folder of qdrant's local mode; None when there is none.

    The named folder itself, or the one in it, when mem0's history or nothing else lies beside it.
    """
    if _is_qdrant(folder):
        return folder
    inner = [p for p in _folders_in(folder) if _is_qdrant(p)]
    if len(inner) != 1:
        return None
    others = [p for p in folder.iterdir() if p != inner[0] and not p.name.startswith(".") and p.suffix.lower() != ".md"]
    return inner[0] if not others or (folder / "history.db").is_file() else None


def _is_qdrant(place: Path) -> bool:
    meta = place / "meta.json"
    return (place / "collection").is_dir() and meta.is_file() and not meta.is_symlink() and bool(_collections(place))


def _folders_in(folder: Path) -> list[Path]:
    try:
        return sorted(p for p in folder.iterdir() if p.is_dir() and not p.is_symlink())[:200]
    except OSError:
        return []


def _collections(folder: Path) -> list[Path]:
    return [f for p in _folders_in(folder / "collection")
            if (f := p / "storage.sqlite").is_file() and not f.is_symlink()]  # fmt: skip


def open_collections(folder: Path, shown: str) -> tuple[list[Points], list[str]]:
    """Open each collection of a folder; the caller closes `Points.source`. Notes name what `meta.json` lists in vain."""
    files = _collections(folder)
    points = [Points(f.parent.name, open_sqlite(f, shown=f"{shown}/{f.parent.name}/{f.name}")) for f in files]
    notes = []
    try:
        with (folder / "meta.json").open("rb") as file:
            meta = json.loads(file.read(_LARGEST_META))
        listed = set(meta["collections"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        listed = set()
        notes.append(say("meta.json could not be read; the collections are those of the folders."))
    lost = sorted(listed - {p.name for p in points})
    if lost:
        notes.append(say("Collections without a file: {names}.", names=", ".join(lost[:10])))
    return points, notes


def points_table(points: Points) -> Collection:
    """Make a table of a collection: the payload's keys are columns."""
    names = {"id": "id", "embedding": "embedding"}

    def rows() -> Iterator[Mapping[str, Any]]:
        for key, payload, vector in points:
            if vector is None:
                yield {"id": key, **_apart(payload, names)}
            else:
                yield {"id": key, **_apart(payload, names), "embedding": vector}

    return Collection(points.name, rows(), lambda: point_hints(points), points.note)


def _apart(payload: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Keep a payload key that is called like a column of ours under another name."""
    return {(f"payload_{k}" if k in names else k): v for k, v in payload.items()}


def point_hints(points: Points) -> dict[str, tuple[Any, str]]:
    """Give the roles of qdrant points."""
    hints: dict[str, tuple[Any, str]] = {"id": ("id", say("it is qdrant's id of the point"))}
    if points.vector_name is not None:
        hints["embedding"] = ("embedding", say("it is the vector that qdrant searches"))
        hints["embedding_format"] = ("float32 little-endian BLOB", say("the reader wrote the numbers so"))
    text = next((k for k in _TEXT_KEYS if points.present[k] >= 0.9 * max(1, points.n_rows)), None)
    if text is not None:
        hints["text"] = (text, say("{rows} have it in their payload", rows=plural(points.present[text], "point")))
    owner = next((k for k in ("user_id", "group_id", "tenant_id", "agent_id")
                  if points.n_rows and points.present[k] == points.n_rows), None)  # fmt: skip
    if owner is not None:
        hints["isolation_keys"] = ((owner,), say("every point has the key"))
    return hints
