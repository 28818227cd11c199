"""Roles found in stores of real systems and of the cases; skipped where the reference data is not here."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

from memaudit.config import Config
from memaudit.config_file import load
from memaudit.errors import ConfigError
from memaudit.roles import find_roles, open_records
from memaudit.stores.detect import open_store

SHARED = Path(os.environ.get("MEMAUDIT_SHARED") or Path(__file__).resolve().parents[3] / "shared")
ROLES = (
    "table",
    "id",
    "text",
    "time",
    "value_field",
    "embedding",
    "hits",
    "last_access",
    "embedded_text",
    "group_field",
)
needs_shared = pytest.mark.skipif(not (SHARED / "cases").is_dir(), reason="reference data is not here")
CASES = sorted(p.parent for p in (SHARED / "cases").glob("*/store.db"))


@needs_shared
@pytest.mark.parametrize("case", CASES, ids=lambda p: p.name[:3])
def test_roles_found_by_looking_equal_those_of_the_case(case: Path) -> None:
    setup = json.loads((case / "expected.json").read_text(encoding="utf-8"))["setup"]
    before = {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in case.iterdir() if p.is_file()}
    store = open_store("store.db", base=case)
    found = find_roles(store, Config())
    wanted = {role: setup[role] for role in ROLES if role in setup and role != "group_field"}
    assert {role: getattr(found, role) for role in wanted} == wanted
    # And what the case does not name is not made up, save columns that are plainly what they are called.
    more = {r for r in ROLES if r not in setup and getattr(found, r) is not None}
    assert more <= {"last_access"} | ({"value_field"} if "group_field" in setup else set())
    told = find_roles(store, load(isolated=True, start=case, environment={}, options=setup))
    assert {role: getattr(told, role) for role in ROLES if role in setup} == {r: setup[r] for r in ROLES if r in setup}
    store.close()
    assert {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in case.iterdir() if p.is_file()} == before


@needs_shared
def test_mcp_memory_service_is_read_without_its_extension() -> None:
    store = open_store("sqlite_vec.db", base=SHARED / "data/stores/mcp-memory-service")
    roles = find_roles(store, Config())
    assert (roles.table, roles.id, roles.text, roles.time, roles.value_field, roles.last_access) == (
        "memories", "id", "content", "created_at", "memory_type", "last_accessed",
    )  # fmt: skip
    records, left_out = open_records(store, roles, Config(), np.random.default_rng(0))
    assert (records.n_rows, left_out[0].rows) == (127, 3)
    assert roles.vectors == {
        "table": "memory_embeddings", "ref": "rowid_of_vector", "embedding": "content_embedding",
    }  # fmt: skip
    store.close()


@needs_shared
def test_langgraph_json_of_three_shapes_is_taken_whole_with_the_reason() -> None:
    # As a plain table: the reader of LangGraph is tested in tests/stores.
    store = open_store("langgraph_store.db", kind="sqlite", base=SHARED / "data/stores/langgraph-sqlite")
    roles = find_roles(store, Config())
    assert (roles.table, roles.text, roles.time, roles.value_field) == (
        "store",
        "value",
        "created_at",
        "value$.trigger",
    )
    assert roles.id is None  # its key has two columns
    told = find_roles(store, Config(text="value$.lesson"))
    records, _ = open_records(
        store, told, Config(where="json_extract(CAST(value AS TEXT), '$.lesson') > ''"), np.random.default_rng(0)
    )
    assert records.n_rows > 70
    store.close()


@needs_shared
@pytest.mark.parametrize(("trial", "texts", "distinct"), [(14, 200, 170), (9, 188, 158)])
def test_reflexion_lists_give_one_record_a_reflection(trial: int, texts: int, distinct: int) -> None:
    store = open_store(f"alfworld_env_results_trial_{trial}.json", base=SHARED / "data/real/reflexion")
    roles = find_roles(store, Config())
    assert (roles.id, roles.text, roles.value_field) == ("key", "memory", None)
    records, _ = open_records(store, roles, Config(), np.random.default_rng(0))
    assert (records.n_rows, len(set(records.texts))) == (texts, distinct)
    assert records.keys[0] == "env_2#0"
    store.close()


@needs_shared
def test_chroma_is_named_and_a_way_is_shown() -> None:
    store = open_store("chroma.sqlite3", kind="sqlite", base=SHARED / "data/stores/chroma")
    with pytest.raises(ConfigError, match=r"is a Chroma store.*--table embedding_metadata"):
        find_roles(store, Config())
    config = Config(table="embedding_metadata", text="string_value", where="key = 'chroma:document'")
    records, _ = open_records(store, find_roles(store, config), config, np.random.default_rng(0))
    assert records.n_rows == 133
    store.close()
