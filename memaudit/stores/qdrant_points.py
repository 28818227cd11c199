"""Points of qdrant, from its local files or its server: payload keys as columns, one dense vector each."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from memaudit.stores.assembled import Collection
from memaudit.stores.float_blobs import float32_blob
from memaudit.stores.plain_pickle import PlainObject
from memaudit.wording import part_of, plural, say

#: Payload keys that hold the text, by the systems that write them: mem0, LangChain, others.
_TEXT_KEYS = ("data", "page_content", "text", "content", "document", "memory")


@dataclass
class Points:
    """The points of one collection, read once and counted.

    Parameters
    ----------
    points
        (id, point) in the order of the collection; a text instead of a point is the reason why it is not read.
    refused
        Reason -> points that were not read for it.
    """

    name: str
    points: Iterable[tuple[Any, Mapping[str, Any] | str]]
    n_rows: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    present: Counter[str] = field(default_factory=Counter)
    other_vectors: Counter[str] = field(default_factory=Counter)
    vector_name: str | None = None

    def __iter__(self) -> Iterator[tuple[str, dict[str, Any], bytes | None]]:
        """Give (id, payload, vector) in the order of the collection."""
        for key, point in self.points:
            if isinstance(point, str):
                self.refused[point] += 1
                continue
            payload = point.get("payload") or {}
            if not isinstance(payload, dict):
                payload = {"payload": payload}
            self.n_rows += 1
            self.present.update(k for k in payload if isinstance(k, str))
            yield str(plain_value(key)), {str(k): plain_value(v) for k, v in payload.items()}, self._vector(point)

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
        return float32_blob(chosen) if chosen else None

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


def plain_value(value: Any) -> Any:
    """Bring what a pickle held to JSON's kinds."""
    if isinstance(value, PlainObject):
        number = value.fields.get("int")
        if value.name == "uuid.UUID" and isinstance(number, int) and 0 <= number < 1 << 128:
            return str(uuid.UUID(int=number))
        return {k: plain_value(v) for k, v in value.fields.items()}
    if isinstance(value, dict):
        return {str(k): plain_value(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_value(v) for v in value]
    if isinstance(value, set):
        return sorted(map(str, value))
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _numbers(values: list[Any]) -> bool:
    return bool(values) and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


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
