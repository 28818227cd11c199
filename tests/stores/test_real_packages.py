"""Stores made here by the systems' own packages (an environment of its own: extra `test-stores`)."""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memaudit.config import Config
from memaudit.context import Context
from memaudit.errors import StoreError
from memaudit.roles import find_roles, open_records
from memaudit.stores.detect import open_store

DIM = 16

# The packages warn about their own dependencies.
pytestmark = pytest.mark.filterwarnings("ignore")


def needs(*names: str) -> pytest.MarkDecorator:
    def is_here(name: str) -> bool:
        try:
            return importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:
            return False

    missing = [n for n in names if not is_here(n)]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)} (extra test-stores)")


def vectors(n: int) -> Any:
    return np.random.default_rng(0).normal(size=(n, DIM)).astype("f4")


def audited(path: Path) -> Context:
    store = open_store(str(path))
    roles = find_roles(store, Config())
    records, _ = open_records(store, roles, Config(), np.random.default_rng(0))
    return Context(Config(), store, records)


def assert_same_directions(ctx: Context, expected: dict[Any, Any]) -> None:
    """Every row has its vector, up to the length (an index for cosines stores unit vectors)."""
    stored = ctx.stored_vectors
    assert stored is not None
    assert len(stored.rows) == len(expected)
    for row, unit in zip(stored.rows.tolist(), stored.unit, strict=True):
        right = expected[ctx.records.keys[row]]
        assert abs(float(unit @ (right / np.linalg.norm(right))) - 1) < 1e-5, ctx.records.keys[row]


@needs("chromadb")
@pytest.mark.parametrize("space", ["cosine", "l2"])
def test_chroma_when_past_the_purge_then_every_vector_is_found(tmp_path: Path, space: str) -> None:
    chromadb = importlib.import_module("chromadb")
    config = importlib.import_module("chromadb.config")
    client = chromadb.PersistentClient(str(tmp_path / "db"), settings=config.Settings(anonymized_telemetry=False))
    collection = client.create_collection("notes", metadata={"hnsw:space": space})
    n = 2_300
    made = vectors(n)
    for start in range(0, n, 100):
        part = range(start, start + 100)
        collection.add(
            ids=[f"m{i}" for i in part],
            documents=[f"第 {i} 条 note about topic {i % 7}." for i in part],
            embeddings=made[start : start + 100].tolist(),
            metadatas=[{"topic": f"t{i % 7}"} for i in part],
        )
    collection.delete(ids=["m5", "m2299"])
    collection.update(ids=["m7"], embeddings=(-made[7:8]).tolist())
    collection.add(ids=["m8"], documents=["refused"], embeddings=made[9:10].tolist())
    made[7] = -made[7]
    client = collection = None
    ctx = audited(tmp_path / "db")
    assert "were read from the files of the index, because the queue was purged" in ctx.store.notes[0]
    assert_same_directions(ctx, {f"m{i}": made[i] for i in range(n) if i not in (5, 2299)})
    ctx.store.close()


@needs("lancedb")
def test_lancedb_when_read_then_the_newest_version(tmp_path: Path) -> None:
    lancedb = importlib.import_module("lancedb")
    made = vectors(30)
    database = lancedb.connect(str(tmp_path / "memory"))
    rows = [
        {"id": f"m{i}", "content": f"Note {i} of the crew in words.", "vector": made[i].tolist()} for i in range(30)
    ]
    table = database.create_table("memories", rows)
    table.delete("id = 'm3'")
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    ctx = audited(tmp_path / "memory")
    assert (ctx.store.kind, ctx.roles.text, ctx.records.n_rows) == ("lancedb", "content", 29)
    assert_same_directions(ctx, {f"m{i}": made[i] for i in range(30) if i != 3})
    ctx.store.close()
    assert sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*")) == before


@needs("lancedb")
def test_lancedb_when_it_has_many_rows_then_all_of_them_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lancedb = importlib.import_module("lancedb")
    table = lancedb.connect(str(tmp_path / "memory")).create_table(
        "memories", [{"id": f"m{i:04}", "content": f"第 {i} 条 note of the crew."} for i in range(2500)]
    )
    table.add([{"id": f"n{i:04}", "content": f"Added later, number {i}."} for i in range(700)])
    ctx = audited(tmp_path / "memory")
    assert ctx.records.keys == (*(f"m{i:04}" for i in range(2500)), *(f"n{i:04}" for i in range(700)))
    ctx.store.close()
    monkeypatch.setattr(type(table), "count_rows", lambda self, filter=None: 3201)
    with pytest.raises(StoreError, match="has 3,201 rows, but 3,200 were read"):
        audited(tmp_path / "memory")


@needs("lancedb")
def test_crewai_sample_when_read_then_its_roles_and_copies(shared: Path, tmp_path: Path) -> None:
    path = tmp_path / "crewai"
    shutil.copytree(shared / "data" / "stores" / "crewai", path)
    for inner in [path, *path.rglob("*")]:
        inner.chmod(0o755 if inner.is_dir() else 0o644)
    ctx = audited(path)
    roles = ctx.roles
    assert (roles.table, roles.id, roles.text, roles.time) == ("memories", "id", "content", "created_at")
    assert (roles.value_field, roles.last_access, roles.source) == ("categories_str", "last_accessed", "source")
    # 82 records, of which 8 are exact copies.
    assert (ctx.records.n_rows, len(set(ctx.records.texts))) == (82, 74)
    assert ctx.stored_vectors is not None
    assert len(ctx.stored_vectors.rows) == 82
    ctx.store.close()


@needs("langgraph.store.sqlite")
@pytest.mark.skipif(
    not hasattr(sqlite3.Connection, "enable_load_extension"), reason="this Python's SQLite loads no extensions"
)
@pytest.mark.parametrize("option", ["fields", "text_fields"])
def test_langgraph_when_read_then_the_text_that_was_really_embedded(tmp_path: Path, option: str) -> None:
    module = importlib.import_module("langgraph.store.sqlite")
    asked: list[str] = []

    def embed(texts: list[str]) -> list[list[float]]:
        asked.extend(texts)
        return [vectors(200)[len(t) % 200].tolist() for t in texts]

    index = {"dims": DIM, "embed": embed, option: ["content"]}
    with module.SqliteStore.from_conn_string(str(tmp_path / "s.db"), index=index) as store:
        store.setup()
        for i in range(20):
            store.put(
                ("memories", f"u{i % 2}"), f"k{i}", {"kind": "Memory", "content": "茶" * i + f" note {i}", "n": i}
            )
        store.put(("memories", "u0"), "gone", {"content": "deleted later"})
        store.delete(("memories", "u0"), "gone")
    asked = [t for t in asked if "deleted later" not in t]
    ctx = audited(tmp_path / "s.db")
    assert ctx.store.kind == "langgraph"
    assert ctx.records.n_rows == 20
    assert sorted(ctx.embedded_texts) == sorted(asked)
    assert_same_directions(
        ctx,
        {key: vectors(200)[len(text) % 200] for key, text in zip(ctx.records.keys, ctx.embedded_texts, strict=True)},
    )
    ctx.store.close()


@needs("llama_index.core")
def test_llamaindex_when_read_then_the_text_that_was_really_embedded(tmp_path: Path) -> None:
    core = importlib.import_module("llama_index.core")
    schema = importlib.import_module("llama_index.core.schema")
    base = importlib.import_module("llama_index.core.embeddings")
    asked: list[str] = []

    class Recorded(base.MockEmbedding):  # type: ignore[name-defined]
        def _get_text_embedding(self, text: str) -> list[float]:
            asked.append(text)
            found: list[float] = vectors(400)[len(text) % 400].tolist()
            return found

    nodes = [
        schema.TextNode(
            id_=f"n{i}", text=f"第 {i} 条 fact " + "x" * i, metadata={"area": "支付", "file": "a.md", "n": i},
            excluded_embed_metadata_keys=["file"],
        )
        for i in range(12)
    ]  # fmt: skip
    nodes.append(schema.TextNode(id_="bare", text=" no metadata "))
    index = core.VectorStoreIndex(nodes, embed_model=Recorded(embed_dim=DIM))
    index.storage_context.persist(str(tmp_path / "storage"))
    ctx = audited(tmp_path / "storage")
    assert (ctx.store.kind, ctx.records.n_rows) == ("llamaindex", 13)
    assert sorted(ctx.embedded_texts) == sorted(asked)
    assert_same_directions(
        ctx,
        {key: vectors(400)[len(text) % 400] for key, text in zip(ctx.records.keys, ctx.embedded_texts, strict=True)},
    )
    ctx.store.close()


@needs("qdrant_client")
def test_qdrant_local_when_read_then_points_of_its_own_client(tmp_path: Path) -> None:
    qdrant = importlib.import_module("qdrant_client")
    models = importlib.import_module("qdrant_client.models")
    made = vectors(20)
    client = qdrant.QdrantClient(path=str(tmp_path / "q"))
    client.create_collection("notes", models.VectorParams(size=DIM, distance=models.Distance.COSINE))
    points = [
        models.PointStruct(
            id=i, vector=made[i].tolist(), payload={"data": f"Fact {i} 的内容", "n": {"deep": [1, None, True]}}
        )
        for i in range(20)
    ]
    client.upsert("notes", points)
    client.delete("notes", models.PointIdsList(points=[3]))
    client.close()
    ctx = audited(tmp_path / "q")
    assert (ctx.store.kind, ctx.records.n_rows, ctx.roles.text) == ("qdrant-local", 19, "data")
    assert json.loads(ctx.records.column("n")[0]) == {"deep": [1, None, True]}
    assert_same_directions(ctx, {str(i): made[i] for i in range(20) if i != 3})
    ctx.store.close()


@needs("mem0")
def test_mem0_when_history_is_read_then_the_memories_that_live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    monkeypatch.setenv("MEM0_DIR", str(tmp_path))
    storage = importlib.import_module("mem0.memory.storage")
    manager = storage.SQLiteManager(str(tmp_path / "history.db"))
    manager.add_history("a", None, "喜欢喝茶", "ADD", created_at="2026-05-01T00:00:00+00:00")
    manager.add_history("b", None, "Works in Lisbon", "ADD", created_at="2026-05-01T00:00:00+00:00")
    manager.add_history("a", "喜欢喝茶", "喜欢绿茶", "UPDATE", updated_at="2026-05-02T00:00:00+00:00")
    manager.add_history("b", "Works in Lisbon", None, "DELETE", is_deleted=1)
    manager.close()
    ctx = audited(tmp_path / "history.db")
    assert (ctx.store.kind, ctx.records.keys, ctx.records.texts) == ("mem0", ("a",), ("喜欢绿茶",))
    ctx.store.close()


@needs("agno")
def test_agno_when_read_then_memories_as_they_were_given(tmp_path: Path) -> None:
    sqlite = importlib.import_module("agno.db.sqlite")
    schemas = importlib.import_module("agno.db.schemas")
    database = sqlite.SqliteDb(db_file=str(tmp_path / "a.db"))
    texts = [f"用户 {i} likes tea." for i in range(6)]
    for i, text in enumerate(texts):
        database.upsert_user_memory(
            schemas.UserMemory(memory=text, memory_id=f"m{i}", user_id=f"u{i % 2}", topics=["t"])
        )
    ctx = audited(tmp_path / "a.db")
    assert (ctx.store.kind, ctx.records.texts) == ("agno", tuple(texts))
    ctx.store.close()


@pytest.fixture(autouse=True)
def _no_telemetry(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANONYMIZED_TELEMETRY", "MEM0_TELEMETRY", "AGNO_TELEMETRY"):
        monkeypatch.setenv(name, "False")
