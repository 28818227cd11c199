"""The configuration that `memaudit init` writes reads back to the same roles."""

from __future__ import annotations

import re
import sqlite3
import struct
from pathlib import Path

import pytest

from memaudit.config import KEYS, Config
from memaudit.config_file import load
from memaudit.config_template import commented_config
from memaudit.records import Roles
from memaudit.roles import find_roles
from memaudit.stores.detect import open_store
from memaudit.stores.sqlite import open_sqlite
from memaudit.stores.store import Store

pytestmark = pytest.mark.usefixtures("closed_stores")


def store_of(path: Path, table: str = "memories") -> Store:
    connection = sqlite3.connect(path)
    quoted = '"' + table.replace('"', '""') + '"'
    connection.execute(
        f"CREATE TABLE {quoted} (id INTEGER PRIMARY KEY, content TEXT, sector TEXT, created_at TEXT, deleted_at TEXT, "
        "embedding BLOB)"
    )
    for i in range(20):
        connection.execute(
            f"INSERT INTO {quoted} VALUES (?, ?, ?, ?, ?, ?)",
            (
                i,
                f"数据库 lesson number {i} of the agent",
                "ab"[i % 2],
                f"2026-05-{i + 1:02}",
                None if i else "2026-06-01",
                struct.pack("<4f", 0.1, 0.2, 0.3, i),
            ),
        )
    connection.commit()
    connection.close()
    return open_sqlite(path)


def test_template_reads_back_to_the_same_roles(tmp_path: Path) -> None:
    store = store_of(tmp_path / "store.db")
    roles = find_roles(store, Config())
    text = commented_config(store, roles)
    (tmp_path / "memaudit.toml").write_text(text, encoding="utf-8")
    config = load(start=tmp_path, environment={})
    assert config.store == str(tmp_path / "store.db")
    assert (config.table, config.id, config.text, config.value_field) == ("memories", "id", "content", "sector")
    assert config.soft_delete == "deleted_at"
    again = find_roles(store, config)
    assert again.shown() == roles.shown()
    assert again.deleted_where == roles.deleted_where
    assert "20 of 20 rows hold text" in text


def test_every_key_is_in_the_template_once_with_its_help(tmp_path: Path) -> None:
    store = store_of(tmp_path / "store.db")
    text = commented_config(store, find_roles(store, Config()))
    keys = text.split("# Thresholds of single rules")[0]
    for key in KEYS:
        if key not in ("limits", "suppress"):
            assert len(re.findall(rf"^(?:# )?{key} = ", keys, re.MULTILINE)) == 1, key
    assert "[memaudit.limits]" in text
    assert "[[memaudit.suppress]]" in text


def test_every_key_may_be_uncommented(tmp_path: Path) -> None:
    store = store_of(tmp_path / "store.db")
    text = commented_config(store, find_roles(store, Config()))
    opened = re.sub(r"^# (?=[a-z_]+ = |\[|MA\d)", "", text, flags=re.MULTILINE)
    (tmp_path / "memaudit.toml").write_text(opened, encoding="utf-8")
    config = load(start=tmp_path, environment={})
    assert config.limits
    assert config.suppress[0]["code"] == "MA602"
    # What has a default stands there with it: uncommenting a line to see its key changes nothing.
    assert (config.alpha, config.margin, config.metric) == (0.05, 0.05, "hit")
    defaults = {key: value for key in KEYS if (value := getattr(Config(), key)) not in (None, "", ())}
    same = {key: getattr(config, key) for key in defaults if key not in ("limits", "suppress")}
    assert same == {key: defaults[key] for key in same}


@pytest.mark.parametrize("table", ['we"ird', "new\nline [memaudit]", "tab\\slash", "中文表", "\x7f"])
def test_hostile_names_stay_inside_their_line(tmp_path: Path, table: str) -> None:
    store = store_of(tmp_path / "store.db", table)
    roles = find_roles(store, Config())
    (tmp_path / "memaudit.toml").write_text(commented_config(store, roles), encoding="utf-8")
    assert load(start=tmp_path, environment={}).table == table


def test_vectors_in_another_table_are_an_inline_table(tmp_path: Path) -> None:
    store = store_of(tmp_path / "store.db")
    roles = Roles("memories", text="content", vectors={"table": "v", "ref": "memory id", "embedding": "e"})
    (tmp_path / "memaudit.toml").write_text(commented_config(store, roles), encoding="utf-8")
    assert load(start=tmp_path, environment={}).vectors == {"table": "v", "ref": "memory id", "embedding": "e"}


def test_roles_that_the_kind_of_store_answers_are_written(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_text(
        '[{"name": "a", "memory": ["The plate must be clean before it is put down."]}, {"name": "b", "memory": []}]'
    )
    store = open_store("m.json", base=tmp_path)
    text = commented_config(store, find_roles(store, Config()))
    assert 'table = "m.memory"' in text
    assert 'id = "key"' in text
