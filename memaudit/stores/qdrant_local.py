"""Read qdrant's local mode: a folder with `meta.json` and one `collection/NAME/storage.sqlite` a collection.

Each point is a pickle; only its plain data is read (:mod:`memaudit.stores.plain_pickle`), and a pickle that holds
anything else is refused and counted.
Source: qdrant-client 1.x `local/persistence.py`, checked on a store that it wrote.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memaudit.stores.plain_pickle import PlainObject, RefusedPickleError, read_plain_pickle
from memaudit.stores.qdrant_points import Points, plain_value
from memaudit.stores.sqlite import open_sqlite
from memaudit.stores.store import Store
from memaudit.wording import say

_CLASSES = frozenset(
    {f"qdrant_client.{module}.{name}"
     for module in ("http.models.models", "http.models", "conversions.common_types", "models")
     for name in ("PointStruct", "SparseVector", "Document")}
    | {"uuid.UUID"}
)  # fmt: skip
_LARGEST_META = 16 << 20


def stored_points(source: Store) -> Iterator[tuple[Any, Mapping[str, Any] | str]]:
    """Give (id, point) of a collection's file, or the reason why a point is not read."""
    for key, blob in source.rows("SELECT id, point FROM points ORDER BY rowid"):
        try:
            point = _point(blob)
        except RefusedPickleError as error:
            yield key, str(error)
            continue
        yield _id(point.get("id"), key), point


def _point(blob: Any) -> dict[str, Any]:
    if not isinstance(blob, bytes):
        raise RefusedPickleError("it is no blob")
    value = read_plain_pickle(blob, _CLASSES)
    if isinstance(value, PlainObject):
        value = value.fields
    if not isinstance(value, dict):
        raise RefusedPickleError("it is no point")
    return value


def _id(value: Any, key: Any) -> Any:
    """Return the id of a point; the column holds it as base64 of a pickle."""
    if value is None:
        try:
            value = read_plain_pickle(base64.b64decode(str(key), validate=True), _CLASSES)
        except (RefusedPickleError, binascii.Error, ValueError):
            value = key
    return plain_value(value)


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


def open_collections(folder: Path, shown: str) -> tuple[list[tuple[Points, Store]], list[str]]:
    """Open each collection of a folder; the caller closes the opened files. Notes name what `meta.json` lists in vain."""
    files = _collections(folder)
    sources = [open_sqlite(f, shown=f"{shown}/{f.parent.name}/{f.name}") for f in files]
    points = [Points(f.parent.name, stored_points(s)) for f, s in zip(files, sources, strict=True)]
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
    return list(zip(points, sources, strict=True)), notes
