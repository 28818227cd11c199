"""MCP memory files: one record an observation, relations checked, dialects."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memaudit.config import Config
from memaudit.roles import find_roles
from memaudit.roles.store_hints import with_hints
from memaudit.stores.detect import find_kind, open_store


def entity(name: str, *observations: Any, **more: Any) -> dict[str, Any]:
    return {"type": "entity", "name": name, "entityType": "concept", "observations": list(observations), **more}


def relation(start: str, end: str) -> dict[str, Any]:
    return {"type": "relation", "from": start, "to": end, "relationType": "related_to"}


def write(path: Path, *values: Any, ending: str = "") -> Path:
    path.write_text("\n".join(v if isinstance(v, str) else json.dumps(v, ensure_ascii=False) for v in values) + ending)
    return path


def test_entities_when_read_then_one_record_an_observation_and_relations_checked(
    tmp_path: Path, unchanged: Callable[[Path], None]
) -> None:
    path = write(
        tmp_path / "whatever.txt",
        entity("林涛", "喜欢爬山。", "Works in Lisbon."),
        entity("session_1"),
        relation("林涛", "session_1"),
        relation("林涛", "project_atlas"),
        "not json",
        {"some": "other object"},
        entity("林涛", "Has a dog."),
    )
    unchanged(path)
    store = open_store("whatever.txt", base=tmp_path)
    assert store.kind == "mcp-memory"
    assert list(store.rows("SELECT key, observation, name, entityType FROM observations ORDER BY rowid")) == [
        ("林涛#0", "喜欢爬山。", "林涛", "concept"),
        ("林涛#1", "Works in Lisbon.", "林涛", "concept"),
        ("林涛 (2)#0", "Has a dog.", "林涛", "concept"),
    ]
    assert list(store.rows('SELECT "from", "to" FROM relations')) == [("林涛", "session_1"), ("林涛", "project_atlas")]
    roles = find_roles(store, Config())
    assert (roles.table, roles.id, roles.text) == ("observations", "key", "observation")
    assert store.notes[0] == "3 entities with 3 observations and 2 relations; each observation is one record."
    notes = " ".join(store.notes)
    assert "Entities without any observation: 1 of 3 (33 %) (session_1)." in notes
    assert "Names that several entities share: 1 (林涛)." in notes
    assert "Relations to or from an entity that is not there: 1 of 2 (50 %) (project_atlas)." in notes
    assert "2 lines are neither an entity nor a relation and not read (5, 6)." in notes
    store.close()


def test_dialect_with_objects_when_read_then_text_and_the_other_keys(tmp_path: Path) -> None:
    item = {"text": "A fact of the project.", "timestamp": "2025-05-11T15:54:05Z", "name": "inner"}
    line = {
        "name": "MCP",
        "entityType": "default",
        "observations": [item, {"weight": 2}],
        "_type": "entity",
        "_savedAt": "x",
    }
    write(tmp_path / "m.jsonl", line)
    store = open_store("m.jsonl", base=tmp_path)
    sql = 'SELECT key, observation, name, timestamp, _savedAt, "observation.name", weight FROM observations ORDER BY rowid'
    assert list(store.rows(sql)) == [
        ("MCP#0", "A fact of the project.", "MCP", "2025-05-11T15:54:05Z", "x", "inner", None),
        ("MCP#1", None, "MCP", None, "x", None, 2),
    ]
    assert "Observations that hold no text: 1." in store.notes
    assert find_roles(store, Config()).time == "timestamp"
    store.close()


def test_document_with_two_lists_when_read_then_like_the_lines(tmp_path: Path) -> None:
    entities = [{"name": "a", "entityType": "x", "observations": ["One fact."]}]
    document = {"entities": entities, "relations": [{"from": "a", "to": "b", "relationType": "r"}]}
    (tmp_path / "memory.json").write_text(json.dumps(document, indent=1))
    store = open_store("memory.json", base=tmp_path)
    assert (store.kind, [t.n_rows for t in store.tables]) == ("mcp-memory", [1, 1])
    store.close()


@pytest.mark.parametrize(
    "values",
    [
        [{"type": "entity", "text": "no name and no list"}],
        [{"type": "message", "name": "x", "observations": ["a"]}, {"type": "message"}],
        [entity("a", "b"), {"other": 1}, {"other": 2}, {"other": 3}],
    ],
)
def test_near_misses_when_looked_at_then_plain_jsonl(tmp_path: Path, values: list[Any]) -> None:
    path = write(tmp_path / "m.jsonl", *values, ending="\n")
    assert find_kind(path, "m.jsonl") == "jsonl"


def test_deep_and_long_lines_when_read_then_counted_not_fatal(tmp_path: Path) -> None:
    write(
        tmp_path / "m.jsonl",
        entity("a", "One fact."),
        "[" * 200_000,
        '{"type": "entity", "name": "b", "observations": ',
    )
    store = open_store("m.jsonl", kind="mcp-memory", base=tmp_path)
    assert store.table("observations").n_rows == 1
    assert "2 lines are neither an entity nor a relation and not read (2, 3)." in store.notes
    store.close()


def test_names_with_undecodable_bytes_when_audited_then_a_report_is_written(
    tmp_path: Path, memaudit: Callable[..., Any]
) -> None:
    lines = [json.dumps(entity("caf\u00e9", "One fact in words.")), json.dumps(entity("b\u00e9"))]
    (tmp_path / "m.jsonl").write_bytes("\n".join(lines).replace("\\u00e9", "\udce9").encode("utf-8", "surrogateescape"))
    ran = memaudit("run", "--store", "m.jsonl", "--select", "MA0,MA305")
    assert ran.code == 0, ran.err
    report = json.loads((tmp_path / "report.json").read_text())
    assert "Entities without any observation: 1 of 2 (50 %) (b\ufffd)." in " ".join(report["store"]["notes"])


def test_entities_without_observations_when_audited_then_nothing_to_audit(
    tmp_path: Path, memaudit: Callable[..., Any]
) -> None:
    write(tmp_path / "m.jsonl", entity("a"), entity("b"))
    assert memaudit("run", "--store", "m.jsonl").code == 4


@pytest.mark.parametrize(
    ("name", "pairs"),
    [
        ("supersedes", [("a#0", "b#1"), ("a#1", "b#1")]),
        ("SUPERSEDES", [("a#0", "b#1"), ("a#1", "b#1")]),
        ("superseded_by", [("b#0", "a#1"), ("b#1", "a#1")]),
        ("supersededBy", [("b#0", "a#1"), ("b#1", "a#1")]),
        ("is superseded by", [("b#0", "a#1"), ("b#1", "a#1")]),
        # Between things that the graph speaks of, these are facts that go on holding.
        ("replaces", []),
        ("overrides", []),
        ("depends_on", []),
    ],
)
def test_relation_when_it_says_supersedes_then_observations_are_paired(
    tmp_path: Path, name: str, pairs: list[tuple[str, str]]
) -> None:
    entities = (entity("b", "新的第一条。", "New second."), entity("a", "旧的第一条。", "Old second."))
    link = {"type": "relation", "from": "b", "to": "a", "relationType": name}
    store = open_store(str(write(tmp_path / "m.jsonl", *entities, link)))
    config, _ = with_hints(Config(), store, "observations")
    if pairs:
        assert config.supersedes == {"table": "supersede_links", "new": "new", "old": "old"}
        assert list(store.rows("SELECT old, new FROM supersede_links ORDER BY rowid")) == pairs
    else:
        assert config.supersedes is None
        assert [t.name for t in store.tables] == ["observations", "relations"]
    store.close()


def test_relation_when_the_new_entity_is_missing_or_itself_then_named_or_left_out(tmp_path: Path) -> None:
    links = [
        {"type": "relation", "from": "ghost", "to": "a", "relationType": "supersedes"},
        {"type": "relation", "from": "a", "to": "a", "relationType": "supersedes"},
        {"type": "relation", "from": "a", "to": "ghost", "relationType": "supersedes"},
    ]
    store = open_store(str(write(tmp_path / "m.jsonl", entity("a", "One."), *links)))
    assert list(store.rows("SELECT new, old FROM supersede_links")) == [("ghost", "a#0")]
    store.close()
