"""A store in memory, and the context of an audit of it."""

import os
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memaudit.config import Config
from memaudit.context import Context
from memaudit.records import Records, Roles
from memaudit.stores.store import Store, StoreTable, TableColumn


def _as_blob(value: Any) -> Any:
    return np.asarray(value, dtype="<f4").tobytes() if isinstance(value, (np.ndarray, list)) else value


@pytest.fixture
def make_context() -> Any:
    """Return a function that makes a context of columns (name -> values) and roles.

    Arrays become float32 blobs. `config` holds keys of the configuration; roles are given by name.
    """
    connections = []

    def make(columns: Any, config: Any = None, **roles: Any) -> Any:
        connection = sqlite3.connect(":memory:")
        connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
        connections.append(connection)
        names = list(columns)
        n_rows = len(columns[names[0]]) if names else 0
        connection.execute(f"CREATE TABLE memories ({', '.join(names)})")
        holes = ", ".join("CAST(? AS TEXT)" if name in ("content", "value") else "?" for name in names)
        for row in zip(*columns.values(), strict=True):
            connection.execute(f"INSERT INTO memories VALUES ({holes})", [_as_blob(v) for v in row])
        table = StoreTable("memories", tuple(TableColumn(name) for name in names), n_rows)
        store = Store("store.db", "sqlite", connection, (table,))
        given = {name: name for name in ("id", "embedding") if name in names}
        given |= {"text": "content"} if "content" in names else {}
        records = Records(store, table, Roles(table="memories", **{**given, **roles}))
        return Context(Config(**(config or {})), store, records)

    yield make
    for connection in connections:
        connection.close()


@pytest.fixture
def found() -> Any:
    """Return a function that gives the only finding of a code, or None."""

    def only(result: Any, code: Any) -> Any:
        matching = [f for f in result.findings if f.code == code]
        assert len(matching) <= 1
        return matching[0] if matching else None

    return only


@pytest.fixture
def with_cosine() -> Any:
    """Return a function that makes unit vectors: each of `cosines` to the first axis, its rest an axis of its own."""

    def make(cosines: Any, dim: Any = 16, start: Any = 0) -> Any:
        vectors = np.zeros((len(cosines), dim), dtype=np.float64)
        for i, cos in enumerate(cosines):
            vectors[i, start] = cos
            if cos < 1:
                vectors[i, start + 1 + i] = np.sqrt(1 - cos * cos)
        return [v.astype(np.float32) for v in vectors]

    return make


@pytest.fixture(scope="session")
def shared() -> Any:
    """Return the folder of reference pages and cases; skips where it is absent."""
    folder = Path(os.environ.get("MEMAUDIT_SHARED", Path(__file__).resolve().parents[2].parent / "shared"))
    if not folder.is_dir():
        pytest.skip("the folder of reference cases is not here (set MEMAUDIT_SHARED)")
    return folder


@pytest.fixture
def case_context(shared: Any) -> Any:
    """Return a function that makes the context of a reference case, by the roles of its setup."""
    import json

    connections = []

    def make(name: Any, **more: Any) -> Any:
        folder = shared / "cases" / name
        setup = json.loads((folder / "expected.json").read_text(encoding="utf-8"))["setup"] | more
        connection = sqlite3.connect(f"file:{folder / setup['store']}?mode=ro&immutable=1", uri=True)
        connections.append(connection)
        columns = tuple(TableColumn(r[1], r[2]) for r in connection.execute(f'PRAGMA table_info("{setup["table"]}")'))
        n_rows = connection.execute(f'SELECT COUNT(*) FROM "{setup["table"]}"').fetchone()[0]
        table = StoreTable(setup["table"], columns, n_rows)
        store = Store(setup["store"], "sqlite", connection, (table,))
        names = ("id", "text", "time", "value_field", "group_field", "embedding", "embedded_text", "hits")
        roles = Roles(
            table=table.name,
            embedded_fields=tuple(setup.get("embedded_fields", ())),
            **{key: setup[key] for key in names if key in setup},
        )
        known = ("encoder", "template", "dedup", "value_field_role", "group_field", "embedded_text")
        config = Config(base=folder, **{key: setup[key] for key in known if key in setup})
        return Context(config, store, Records(store, table, roles))

    yield make
    for connection in connections:
        connection.close()


@pytest.fixture
def evaluation_context(tmp_path: Any) -> Any:
    """Return a function that writes evaluation files and makes the context of an audit without a store.

    `runs` is arm -> query -> ids, or a mapping with `ranking` and whatever else the line holds; `corpus` is
    id -> text, or id -> mapping with `text`. Configuration keys given count as named by the user.
    """
    import json

    from memaudit.stores.store import no_store

    def write(name: Any, lines: Any) -> Any:
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        (tmp_path / name).write_text(text, encoding="utf-8")
        return name

    def make(queries: Any = None, runs: Any = None, corpus: Any = None, predictions: Any = None, **config: Any) -> Any:
        if queries is not None:
            config["queries"] = write("queries.jsonl", queries)
        if corpus is not None:
            documents = {d: v if isinstance(v, dict) else {"text": v} for d, v in corpus.items()}
            config["corpus"] = write("corpus.jsonl", [{"id": d, **v} for d, v in documents.items()])
        if runs is not None:
            config["runs"] = write(
                "runs.jsonl",
                [
                    {"arm": arm, "query": q, **(r if isinstance(r, dict) else {"ranking": r})}
                    for arm, rankings in runs.items()
                    for q, r in rankings.items()
                ],
            )
        if predictions is not None:
            config["predictions"] = write("predictions.jsonl", predictions)
        store = no_store()
        records = Records(store, store.table("none"), Roles(table="none"))
        made = Config(**config, base=tmp_path, origins=dict.fromkeys(config, "test"))
        return Context(made, store, records, has_store=False)

    return make
