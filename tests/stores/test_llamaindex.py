"""LlamaIndex folders: the embedded text is rebuilt from the templates of each node."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from memaudit.config import Config
from memaudit.errors import StoreError
from memaudit.roles import find_roles
from memaudit.stores.detect import open_store
from memaudit.stores.llamaindex import embedded_text


def node(text: Any, metadata: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    return {
        "id_": "x", "embedding": None, "metadata": metadata or {}, "excluded_embed_metadata_keys": [],
        "relationships": {}, "metadata_template": "{key}: {value}", "metadata_separator": "\n", "text": text,
        "text_template": "{metadata_str}\n\n{content}", **more,
    }  # fmt: skip


def write_index(folder: Path, nodes: dict[str, Any], vectors: dict[str, Any] | None = None, kinds: str = "1") -> Path:
    folder.mkdir(exist_ok=True)
    data = {k: {"__data__": v, "__type__": kinds} for k, v in nodes.items()}
    (folder / "docstore.json").write_text(json.dumps({"docstore/data": data, "docstore/metadata": {}}))
    if vectors is not None:
        store = {"embedding_dict": vectors, "text_id_to_ref_doc_id": {}, "metadata_dict": {}}
        (folder / "default__vector_store.json").write_text(json.dumps(store))
        (folder / "image__vector_store.json").write_text(json.dumps({"embedding_dict": {}}))
    return folder


def test_folder_when_read_then_text_embedded_text_metadata_and_vector(
    tmp_path: Path, unchanged: Callable[[Path], None]
) -> None:
    folder = write_index(
        tmp_path / "storage",
        {
            "n1": node("导出失败。", {"area": "支付", "file_name": "x.md"}, excluded_embed_metadata_keys=["file_name"],
                       relationships={"1": {"node_id": "doc-9"}}),
            "n2": node("Plain text.", {"text": "collides"}),
            "n3": node("No vector."),
        },
        {"n1": [0.5, 1], "n2": [1.0, 0.0], "gone": [1.0, 1.0]},
    )  # fmt: skip
    unchanged(folder / "docstore.json")
    for named in ("storage", "storage/docstore.json"):
        store = open_store(named, base=tmp_path)
        assert store.kind == "llamaindex"
        sql = "SELECT id, text, area, metadata_text, ref_doc_id, embedded_text, embedding FROM nodes ORDER BY rowid"
        assert list(store.rows(sql)) == [
            ("n1", "导出失败。", "支付", None, "doc-9", "area: 支付\n\n导出失败。", struct.pack("<2f", 0.5, 1)),
            ("n2", "Plain text.", None, "collides", None, "text: collides\n\nPlain text.", struct.pack("<2f", 1, 0)),
            ("n3", "No vector.", None, None, None, "No vector.", None),
        ]
        roles = find_roles(store, Config())
        assert (roles.id, roles.text, roles.embedded_text, roles.embedding) == (
            "id",
            "text",
            "embedded_text",
            "embedding",
        )
        assert roles.guessed["time"] == "not found: LlamaIndex keeps no time of writing"
        notes = " ".join(store.notes)
        assert "Vectors of no node: 1 in default__vector_store.json." in notes
        assert "The embedded text differs from the text in 2 of 3 (67 %)" in notes
        assert "1 node without a vector." in notes
        store.close()


def test_documents_when_beside_their_nodes_then_another_table(tmp_path: Path) -> None:
    folder = write_index(
        tmp_path / "s", {"n": node("A node of it."), "d": node("The whole document.")}, {"n": [1.0, 0.0]}
    )
    docstore = json.loads((folder / "docstore.json").read_text())
    docstore["docstore/data"]["d"]["__type__"] = "4"
    (folder / "docstore.json").write_text(json.dumps(docstore))
    store = open_store(str(folder))
    assert [(t.name, t.n_rows) for t in store.tables] == [("nodes", 1), ("documents", 1)]
    assert find_roles(store, Config()).table == "nodes"
    store.close()


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (node("  kept as it is ", {}), "  kept as it is "),  # without metadata nothing is stripped
        (node("x ", {"a": 1, "b": None, "c": [1, "二"]}), "a: 1\nb: None\nc: [1, '二']\n\nx"),
        (node("x", {"a": "{content} {0.__class__}"}), "a: {content} {0.__class__}\n\nx"),
        (
            node("x", {"a": "b"}, metadata_template="{key}={value}{unknown}", metadata_separator=";"),
            "a=b{unknown}\n\nx",
        ),
        (node("x", {"a": "b"}, text_template="T {content} M {metadata_str} "), "T x M a: b"),
        (node("x", {"a": "b"}, excluded_embed_metadata_keys=["a"]), "x"),
        (node(None, {"a": "b"}), "a: b"),
        ({"text": "x", "metadata": {"a": "b"}}, "a: b\n\nx"),  # a node without templates: the defaults
    ],
)
def test_embedded_text_when_rebuilt_then_as_the_templates_say(made: dict[str, Any], text: str) -> None:
    assert embedded_text(made) == text


def test_vectors_when_no_numbers_then_malformed_not_missing(tmp_path: Path) -> None:
    write_index(tmp_path / "s", {"a": node("One."), "b": node("Two.")}, {"a": [0.5, "x"], "b": [1.0, 2.0]})
    store = open_store(str(tmp_path / "s"))
    assert list(store.rows("SELECT embedding FROM nodes ORDER BY rowid")) == [
        (b'[0.5, "x"]',),
        (struct.pack("<2f", 1, 2),),
    ]
    store.close()


def test_docstores_when_damaged_then_one_line(tmp_path: Path) -> None:
    folder = tmp_path / "s"
    folder.mkdir()
    for text, message in [
        ('{"docstore/data": {', "is not valid JSON"),
        ('{"docstore/data": []}', "has no nodes"),
        ('{"docstore/data": ' + "[" * 100_000, "nested too deeply|not valid JSON"),
    ]:
        (folder / "docstore.json").write_text(text)
        with pytest.raises(StoreError, match=message):
            open_store(str(folder))


def test_empty_index_when_audited_then_nothing_to_audit(tmp_path: Path, memaudit: Callable[..., Any]) -> None:
    write_index(tmp_path / "s", {}, {})
    assert memaudit("run", "--store", "s").code == 4
