"""Read the memory file of the MCP reference server and its dialects: entities with observations, and relations.

One record an observation. Dialects: `type` or `_type`; observations as texts or as objects with `text` / `content`;
one JSON document with the lists `entities` and `relations`.
Source: @modelcontextprotocol/server-memory 2026.8.31, checked on a file that it wrote, and public files.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, TypeGuard

from memaudit.errors import StoreError
from memaudit.stores.assembled import Collection, assembled
from memaudit.stores.encodings import find_encoding
from memaudit.stores.files import sha256_of
from memaudit.stores.store import Store
from memaudit.stores.supersede_words import Direction, supersede_direction
from memaudit.stores.text_lines import lines_of
from memaudit.wording import part_of, plural, say

_TEXT_KEYS = ("text", "content", "observation", "value")
_TIME_KEYS = ("timestamp", "created_at", "createdAt")
_LOOKED_AT = 20
#: A JSON document is read as a whole: the server keeps its whole file in memory, too.
_LARGEST_DOCUMENT = 64 << 20
#: A file of lines is kept as a graph in memory.
_LARGEST_FILE = 1 << 30
_SHOWN = 10


def is_mcp_line(value: Any) -> TypeGuard[dict[str, Any]]:
    """Say whether an object is an entity or a relation of an MCP memory file."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type", value.get("_type"))
    if kind == "entity":
        return "name" in value and isinstance(value.get("observations"), list)
    return kind == "relation" and "from" in value and "to" in value


def is_mcp_memory(path: Path) -> bool:
    """Say whether a text file is an MCP memory file: most of its first objects are entities or relations."""
    with path.open(encoding=find_encoding(path), errors="surrogateescape") as file:
        lines = [line for line in (file.readline(1 << 20) for _ in range(_LOOKED_AT)) if line.strip()]
    objects = [value for line in lines if isinstance(value := _loaded(line), dict)]
    if objects and sum(map(is_mcp_line, objects)) >= 0.6 * len(objects):
        return True
    if len(objects) > 1 or not lines or lines[0].lstrip()[0] != "{" or path.stat().st_size > _LARGEST_DOCUMENT:
        return False
    document = _loaded(path.read_text(encoding=find_encoding(path), errors="surrogateescape"))
    return _is_document(document)


def _is_document(value: Any) -> TypeGuard[dict[str, Any]]:
    if not isinstance(value, dict) or not isinstance(value.get("entities"), list):
        return False
    entities = value["entities"]
    return bool(entities) and all(
        isinstance(e, dict) and "name" in e and isinstance(e.get("observations"), list) for e in entities
    )


def _loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def open_mcp_memory(path: Path, shown: str) -> Store:
    """Read an MCP memory file; lines that are neither entity nor relation are counted and named.

    Raises
    ------
    StoreError
        The file is larger than 1 GiB.
    """
    if path.stat().st_size > _LARGEST_FILE:
        raise StoreError(
            say("{shown} is larger than 1 GiB: no MCP memory server could hold it.", shown=shown),
            say("Read it as plain lines: give --set store_kind=jsonl."),
        )
    encoding = find_encoding(path)
    bad: list[int] = []
    graph = _Graph()
    document = None
    with path.open(encoding=encoding, errors="surrogateescape") as file:
        first = [line for _, line in islice(lines_of(file), _LOOKED_AT) if line is not None]
    small = path.stat().st_size <= _LARGEST_DOCUMENT
    if small and not any(is_mcp_line(_loaded(line)) for line in first):
        document = _loaded(path.read_text(encoding=encoding, errors="surrogateescape"))
    if _is_document(document):
        for entity in document["entities"]:
            graph.add({**entity, "type": "entity"})
        for relation in document.get("relations") or []:
            if isinstance(relation, dict):
                graph.add({**relation, "type": "relation"})
    else:
        with path.open(encoding=encoding, errors="surrogateescape", newline="\n") as file:
            for number, line in lines_of(file):
                if line is not None and not line.strip():
                    continue
                value = _loaded(line) if line is not None else None
                if not is_mcp_line(value):
                    bad.append(number)
                else:
                    graph.add(value)
    notes = list(graph.notes())
    if bad:
        numbers = ", ".join(map(str, bad[:_SHOWN])) + (" ..." if len(bad) > _SHOWN else "")
        notes.append(say("{lines} neither an entity nor a relation and not read ({numbers}).",
                         lines=plural(len(bad), "line is", "lines are"), numbers=numbers))  # fmt: skip
    sha256, more = sha256_of(path)
    return assembled(shown, "mcp-memory", graph.tables(), notes=[*notes, *more], sha256=sha256)


class _Graph:
    """Entities and relations as they are read."""

    def __init__(self) -> None:
        self.observations: list[dict[str, Any]] = []
        self.relations: list[dict[str, Any]] = []
        self.names: Counter[str] = Counter()
        self.empty: list[str] = []
        self.without_text = 0

    def add(self, value: Mapping[str, Any]) -> None:
        if value.get("type", value.get("_type")) == "relation":
            self.relations.append({k: v for k, v in value.items() if k not in ("type", "_type")})
            return
        name = str(value["name"])
        self.names[name] += 1
        # Two lines of one name are two entities of the file: their observations keep keys of their own.
        owner = name if self.names[name] == 1 else f"{name} ({self.names[name]})"
        items = value["observations"]
        if not items:
            self.empty.append(name)
        rest = {k: v for k, v in value.items() if k not in ("type", "_type", "observations", "name")}
        for place, item in enumerate(items):
            row: dict[str, Any] = {"key": f"{owner}#{place}"}
            if isinstance(item, dict):
                used = next((k for k in _TEXT_KEYS if isinstance(item.get(k), str)), None)
                self.without_text += used is None
                row["observation"] = item[used] if used else None
                row |= {"name": name, **rest}
                row |= {(f"observation.{k}" if k in row else k): v for k, v in item.items() if k != used}
            else:
                row["observation"] = item
                row |= {"name": name, **rest}
            self.observations.append(row)

    def tables(self) -> list[Collection]:
        hints: dict[str, tuple[Any, str]] = {
            "id": ("key", say("it was made from the entity's name and the place in its list")),
            "text": ("observation", say("it is one observation of an entity")),
            "subject_key": ("name", say("an observation is about the entity it belongs to")),
        }
        time = next((k for k in _TIME_KEYS if any(k in row for row in self.observations)), None)
        if time is not None:
            hints["time"] = (time, say("it is the time that an observation carries"))
        columns = ("key", "observation", "name")
        tables = [Collection("observations", self.observations, hints, columns=columns)]
        if self.relations:
            columns = ("from", "to", "relationType")
            tables.append(Collection("relations", self.relations, is_memory=False, columns=columns))
        links = list(self._supersede_links())
        if links:
            hints["supersedes"] = (
                {"table": "supersede_links", "new": "new", "old": "old"},
                say("a relation says that one entity supersedes another: each observation of the old one is replaced"),
            )
            tables.append(Collection("supersede_links", links, is_memory=False, columns=("new", "old")))
        return tables

    def _supersede_links(self) -> Iterator[dict[str, Any]]:
        """Give (key of the new entity's last observation, key of each observation of the old entity)."""
        keys: dict[str, list[str]] = {}
        for row in self.observations:
            keys.setdefault(str(row["name"]), []).append(row["key"])
        for relation in self.relations:
            start, end = str(relation["from"]), str(relation["to"])
            direction = supersede_direction(str(relation.get("relationType") or ""))
            if direction is None or start == end:
                continue
            new, old = (start, end) if direction is Direction.NEW_TO_OLD else (end, start)
            for key in keys.get(old, []):
                yield {"new": keys[new][-1] if new in keys else new, "old": key}

    def notes(self) -> Iterable[str]:
        entities = self.names.total()
        yield say("{entities} with {observations} and {relations}; each observation is one record.",
                  entities=plural(entities, "entity", "entities"),
                  observations=plural(len(self.observations), "observation"),
                  relations=plural(len(self.relations), "relation"))  # fmt: skip
        if self.empty:
            yield say("Entities without any observation: {n} ({names}).", n=part_of(len(self.empty), entities),
                      names=_shown(self.empty))  # fmt: skip
        twice = [name for name, n in self.names.items() if n > 1]
        if twice:
            yield say("Names that several entities share: {n} ({names}).", n=len(twice), names=_shown(twice))
        if self.without_text:
            yield say("Observations that hold no text: {n}.", n=self.without_text)
        yield from self._relation_notes()

    def _relation_notes(self) -> Iterator[str]:
        ends = [[str(r[k]) for k in ("from", "to") if str(r[k]) not in self.names] for r in self.relations]
        dangling = [missing for missing in ends if missing]
        if dangling:
            names = list(dict.fromkeys(name for missing in dangling for name in missing))
            yield say("Relations to or from an entity that is not there: {n} ({names}).",
                      n=part_of(len(dangling), len(self.relations)), names=_shown(names))  # fmt: skip


def _shown(names: list[str]) -> str:
    return ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
