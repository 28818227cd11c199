"""Read LlamaIndex's default persistence: `docstore.json` and `*__vector_store.json` in one folder.

What LlamaIndex embeds is not the text alone: metadata lines come before it. That text is rebuilt from the templates
stored with each node.
Source: llama-index-core 0.14.25 `schema.py` (`get_content`, `get_metadata_str`), checked on a folder that it wrote.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from memaudit.errors import StoreError
from memaudit.stores.assembled import Collection, assembled
from memaudit.stores.files import checked_file, reads, sha256_of
from memaudit.stores.float_blobs import float32_blob
from memaudit.stores.store import Store
from memaudit.wording import part_of, plural, say

_DOCSTORE = "docstore.json"
_LARGEST = 1 << 30
_DOCUMENT_TYPE = "4"
_OWN = frozenset({"id", "text", "embedded_text", "embedding", "ref_doc_id"})


def is_llamaindex(path: Path) -> bool:
    """Say whether a file is a docstore, or a folder holds one; only the beginning of the file is read."""
    file = path / _DOCSTORE if path.is_dir() else path
    if (file.is_symlink() and path.is_dir()) or not file.is_file():
        return False
    try:
        with file.open("rb") as opened:
            head = opened.read(4096)
    except OSError:
        return False
    return head.lstrip().startswith(b"{") and b'"docstore/' in head


def open_llamaindex(path: Path, shown: str) -> Store:
    """Read a storage folder, or a docstore alone (its vector stores lie beside it).

    Raises
    ------
    StoreError
        The docstore is no JSON, larger than 1 GiB, or has no nodes' table.
    """
    file = path / _DOCSTORE if path.is_dir() else path
    docstore = _document(checked_file(file, shown), shown)
    nodes = docstore.get("docstore/data")
    if not isinstance(nodes, dict):
        raise StoreError(say("{shown} has no nodes (docstore/data).", shown=shown), reads())
    vectors, notes = _vectors(file.parent, set(nodes))
    loaded: dict[str, dict[str, Any]] = {
        str(k): v["__data__"] for k, v in nodes.items() if isinstance(v, dict) and isinstance(v.get("__data__"), dict)
    }
    types = {str(k): str(v.get("__type__")) for k, v in nodes.items() if isinstance(v, dict)}
    documents = {k: v for k, v in loaded.items() if types.get(k) == _DOCUMENT_TYPE and k not in vectors}
    chosen = {k: v for k, v in loaded.items() if k not in documents}
    if len(loaded) < len(nodes):
        notes.append(say("Nodes that are not written as LlamaIndex does: {n}; not read.", n=len(nodes) - len(loaded)))
    tables = [_table("nodes", chosen, vectors)]
    if documents:
        tables.append(_table("documents", documents, vectors))
        tables[1].is_memory = not chosen
    sha256, more = sha256_of(file)
    return assembled(shown, "llamaindex", tables, notes=[*notes, *more], sha256=sha256)


def _document(file: Path, shown: str) -> dict[str, Any]:
    if file.stat().st_size > _LARGEST:
        raise StoreError(
            say("{shown}: {name} is larger than 1 GiB.", shown=shown, name=file.name),
            say("Audit a part of it, exported to JSONL."),
        )
    try:
        value = json.loads(file.read_text(encoding="utf-8", errors="surrogateescape"))
    except RecursionError:
        raise StoreError(say("{shown}: {name} is nested too deeply to be read.", shown=shown, name=file.name)) from None
    except ValueError as error:
        raise StoreError(
            say("{shown}: {name} is not valid JSON: {error}.", shown=shown, name=file.name, error=error)
        ) from None
    if not isinstance(value, dict):
        raise StoreError(say("{shown}: {name} holds no object.", shown=shown, name=file.name), reads())
    return value


def _vectors(folder: Path, known: set[str]) -> tuple[dict[str, Any], list[str]]:
    """Return the vectors of the store that knows most nodes, and notes on the others and on vectors of no node."""
    best: tuple[int, str, dict[str, Any]] = (0, "", {})
    notes = []
    n_read = 0
    for file in sorted(folder.glob("*vector_store.json")):
        if file.is_symlink() or not file.is_file():
            continue
        try:
            found = _document(file, str(file.name)).get("embedding_dict")
        except StoreError as error:
            notes.append(str(error))
            continue
        if not isinstance(found, dict) or not found:
            continue
        n_read += 1
        met = len(known & set(found))
        if met > best[0] or not best[2]:
            best = (met, file.name, found)
    if n_read > 1:
        notes.append(say("{n} vector stores hold vectors; those of {name} are audited.", n=n_read, name=best[1]))
    orphans = len(set(best[2]) - known)
    if orphans:
        notes.append(say("Vectors of no node: {n} in {name}.", n=orphans, name=best[1]))
    return best[2], notes


def _table(name: str, nodes: Mapping[str, Mapping[str, Any]], vectors: Mapping[str, Any]) -> Collection:
    metadata_keys = {str(k) for node in nodes.values() for k in _metadata(node)}
    differing = sum(embedded_text(node) != str(node.get("text") or "") for node in nodes.values())
    missing = sum(key not in vectors for key in nodes)

    def rows() -> Iterator[Mapping[str, Any]]:
        for key, node in nodes.items():
            row: dict[str, Any] = {"id": key, "text": node.get("text")}
            row |= {(f"metadata_{k}" if k in _OWN else str(k)): v for k, v in _metadata(node).items()}
            source = _source(node)
            if source is not None:
                row["ref_doc_id"] = source
            row["embedded_text"] = embedded_text(node)
            vector = _packed(vectors.get(key))
            if vector is not None:
                row["embedding"] = vector
            yield row

    notes = []
    if differing:
        notes.append(say("The embedded text differs from the text in {n}: metadata lines stand before it.",
                         n=part_of(differing, len(nodes))))  # fmt: skip
    if vectors and missing:
        notes.append(say("{nodes} without a vector.", nodes=plural(missing, "node")))
    hints: dict[str, tuple[Any, str]] = {
        "id": ("id", say("it is LlamaIndex's id of the node")),
        "text": ("text", say("it is the text of the node")),
    }
    if differing:
        hints["embedded_text"] = (
            "embedded_text",
            say("it is rebuilt from the node's templates and excluded keys, as LlamaIndex embeds it"),
        )
    if any(key in vectors for key in nodes):
        hints["embedding"] = ("embedding", say("the vector store of the folder keeps it"))
        hints["embedding_format"] = ("float32 little-endian BLOB", say("the reader wrote the numbers so"))
    time = next((k for k in ("created_at", "timestamp", "creation_date") if k in metadata_keys), None)
    if time is None:
        hints["time"] = (None, say("LlamaIndex keeps no time of writing"))
    return Collection(name, rows(), hints, " ".join(notes), columns=("id", "text"))


def _metadata(node: Mapping[str, Any]) -> Mapping[str, Any]:
    found = node.get("metadata")
    return found if isinstance(found, dict) else {}


def _source(node: Mapping[str, Any]) -> str | None:
    """Return the id of the document that a node was cut from (relationship 1)."""
    relations = node.get("relationships")
    source = relations.get("1") if isinstance(relations, dict) else None
    found = source.get("node_id") if isinstance(source, dict) else None
    return found if isinstance(found, str) else None


def _packed(vector: Any) -> bytes | None:
    """Write a list of numbers as float32; None where there is no list."""
    return float32_blob(vector) if isinstance(vector, list) and vector else None


def embedded_text(node: Mapping[str, Any]) -> str:
    """Return what LlamaIndex embeds of a node: its metadata lines, less the excluded ones, then the text.

    The templates are filled by plain replacement, never by `str.format`: they come out of the store.
    """
    text = node.get("text")
    content = text if isinstance(text, str) else ""
    excluded = node.get("excluded_embed_metadata_keys")
    left_out = set(map(str, excluded)) if isinstance(excluded, list) else set()
    line = _template(node, ("metadata_template", "metadata_tmpl"), "{key}: {value}")
    separator = _template(node, ("metadata_separator", "metadata_seperator"), "\n")
    whole = _template(node, ("text_template",), "{metadata_str}\n\n{content}")
    lines = [_filled(line, {"key": str(k), "value": _shown(v)}) for k, v in _metadata(node).items()
             if str(k) not in left_out]  # fmt: skip
    metadata = separator.join(lines)
    return _filled(whole, {"metadata_str": metadata, "content": content}).strip() if metadata else content


def _template(node: Mapping[str, Any], names: tuple[str, ...], default: str) -> str:
    return next((node[n] for n in names if isinstance(node.get(n), str)), default)


def _shown(value: Any) -> str:
    # JSON has no tuples or sets, so that `str` of what was read is `str` of what was embedded.
    return str(value)


def _filled(template: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\{(\w+)\}", lambda m: values.get(m[1], m[0]), template)
