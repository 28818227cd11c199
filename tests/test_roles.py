"""Tables and roles found by looking: right ones with a reason, and none rather than a wrong one."""

from __future__ import annotations

import json
import sqlite3
import struct
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memaudit.config import Config
from memaudit.errors import ConfigError, StoreError
from memaudit.records import Roles
from memaudit.roles import find_roles, open_records
from memaudit.roles.column_facts import ColumnFacts
from memaudit.roles.natural import is_natural
from memaudit.stores.sqlite import open_sqlite
from memaudit.stores.store import Store

pytestmark = pytest.mark.usefixtures("closed_stores")


SENTENCES = (
    "The payment webhook must answer within five seconds.",
    "数据库被锁时，先缩短写事务，再加等待时间。",
    "Search results are cached for ten minutes at the edge.",
    "新员工入职第一周不分配值班。",
    "Backups are restored to a scratch host every Friday.",
    "Only the release manager may tag a version, 见发布手册。",
)


def store_of(path: Path, *statements: str, rows: Iterable[tuple[str, Sequence[Any]]] = ()) -> Store:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    for sql, values in rows:
        connection.execute(sql, tuple(values))
    connection.commit()
    connection.close()
    return open_sqlite(path)


def table_of(path: Path, columns: str, rows: Sequence[Sequence[Any]], name: str = "memories") -> Store:
    marks = ", ".join("?" * len(rows[0])) if rows else ""
    return store_of(
        path, f"CREATE TABLE {name} ({columns})", rows=[(f"INSERT INTO {name} VALUES ({marks})", row) for row in rows]
    )


def sentence(i: int) -> str:
    return f"{SENTENCES[i % len(SENTENCES)]} ({i})"


def roles_of(store: Store, **config: Any) -> Roles:
    return find_roles(store, Config(**config))


def blob(*numbers: float) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def test_roles_of_a_usual_store_are_found_with_their_reasons(tmp_path: Path) -> None:
    rows = [
        (i, sentence(i), ("timeout", "locks", "权限")[i % 3], f"2026-05-{1 + i % 28:02}T10:00:00+00:00",
         f"2026-06-{1 + i % 28:02}T10:00:00+00:00", i % 4, blob(0.6, 0.8, 0.0, float(i)), "agent")
        for i in range(30)
    ]  # fmt: skip
    store = table_of(
        tmp_path / "s.db",
        "id INTEGER PRIMARY KEY, content TEXT, pattern TEXT, created_at TEXT, last_accessed TEXT, hit_count INTEGER, "
        "embedding BLOB, source TEXT",
        rows,
    )
    roles = roles_of(store)
    assert roles.shown() == {
        "id": "id", "text": "content", "time": "created_at", "value_field": "pattern", "embedding": "embedding",
        "hits": "hit_count", "last_access": "last_accessed", "source": "source",
    }  # fmt: skip
    mean = round(sum(len(r[1]) for r in rows) / 30)
    assert roles.guessed["text"] == (
        f"content, because 30 of 30 rows hold text, {mean} characters on average, and its name says so"
    )
    assert roles.guessed["value_field"] == "pattern, because it holds 3 short values in 30 rows, and its name says so"
    assert roles.guessed["embedding"] == "embedding, because 30 of 30 rows hold vectors, most of 4 numbers"
    assert roles.guessed["embedded_text"].startswith("not found: ")
    assert roles.deleted_where is None


def test_meaningless_names_are_no_obstacle(tmp_path: Path) -> None:
    rows = [(f"k-{i}", ("alpha", "beta")[i % 2], sentence(i), 1750000000 + i * 60) for i in range(20)]
    store = table_of(tmp_path / "s.db", "a TEXT PRIMARY KEY, b TEXT, c TEXT, d_at INTEGER", rows, "t1")
    roles = roles_of(store)
    assert (roles.id, roles.value_field, roles.text, roles.time) == ("a", "b", "c", "d_at")


def test_misleading_names_do_not_win_over_the_data(tmp_path: Path) -> None:
    # As in claude-mem: `text` is NULL in every row, the words stand elsewhere.
    rows = [(i, None, sentence(i)) for i in range(10)]
    store = table_of(tmp_path / "s.db", "id INTEGER PRIMARY KEY, text TEXT, narrative TEXT", rows)
    assert roles_of(store).text == "narrative"


def test_long_dumps_do_not_beat_the_sentences(tmp_path: Path) -> None:
    rows = [(i, sentence(i), json.dumps({"trace": "x " * 2000}), "a1b2" * 200) for i in range(10)]
    store = table_of(tmp_path / "s.db", "id INTEGER PRIMARY KEY, content TEXT, metadata TEXT, digest TEXT", rows)
    assert roles_of(store).text == "content"


def test_no_sentences_give_no_text_and_a_reason(tmp_path: Path) -> None:
    rows = [(i, f"a{i:08x}" * 8, i * 0.5) for i in range(10)]
    store = table_of(tmp_path / "s.db", "id INTEGER PRIMARY KEY, content TEXT, score REAL", rows)
    roles = roles_of(store)
    assert roles.text is None
    assert roles.guessed["text"] == "not found: no column holds sentences"


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("user_id", ("ana", "bob")), ("session", ("s1", "s2")), ("role", ("user", "assistant")),
        ("language", ("zh", "en")), ("status", ("active", "done")), ("is_pinned", ("true", "false")),
        ("category", (1, 2)), ("tenant", ("a", "b")), ("outcome", ("success", "failure")),
        ("category", ("2026-01-01", "2026-01-02")),
    ],
)  # fmt: skip
def test_owners_states_flags_and_numbers_are_no_value_field(
    tmp_path: Path, column: str, values: tuple[Any, ...]
) -> None:
    rows = [(i, sentence(i), values[i % 2]) for i in range(20)]
    store = table_of(tmp_path / "s.db", f"id INTEGER PRIMARY KEY, content TEXT, {column} ANY", rows)
    assert roles_of(store).value_field is None


def test_label_with_fewer_values_is_chosen_among_named_ones(tmp_path: Path) -> None:
    # As in the bundled example: a trigger sentence of 20 values in 40 rows beside a pattern of 5.
    rows = [(i, sentence(i), f"tool {i % 20} failed twice", f"pattern {i % 5}") for i in range(40)]
    store = table_of(
        tmp_path / "s.db", "id INTEGER PRIMARY KEY, content TEXT, trigger TEXT, abstract_pattern TEXT", rows
    )
    roles = roles_of(store)
    assert roles.value_field == "abstract_pattern"
    assert roles.guessed["value_field"].endswith("others like it: trigger")


def test_list_of_tags_is_a_poorer_label_than_a_type_and_better_than_none(tmp_path: Path) -> None:
    lists = ("[]", '["ci"]', '["db", "ci"]')
    rows = [(i, sentence(i), ("build", "test", "lint", "race")[i % 4], lists[i % 3]) for i in range(24)]
    columns = "id INTEGER PRIMARY KEY, content TEXT, error_type TEXT, tags TEXT"
    assert roles_of(table_of(tmp_path / "a.db", columns, rows)).value_field == "error_type"
    columns = columns.replace("error_type TEXT, ", "")
    assert roles_of(table_of(tmp_path / "b.db", columns, [(a, b, d) for a, b, _, d in rows])).value_field == "tags"


def test_chinese_column_names_help_as_english_ones_do(tmp_path: Path) -> None:
    start = 1_780_000_000_000
    rows = [(f"k{i}", sentence(i), "甲乙丙丁"[i % 4] * 2, i % 3, start + i * 60_000, int(i == 7)) for i in range(24)]
    columns = (
        '"编号" TEXT PRIMARY KEY, "内容" TEXT, "类别" TEXT, "使用次数" INTEGER, "创建时间" INTEGER, "已删除" INTEGER'
    )
    roles = roles_of(table_of(tmp_path / "s.db", columns, rows))
    assert (roles.id, roles.text, roles.value_field) == ("编号", "内容", "类别")
    assert (roles.hits, roles.time) == ("使用次数", "创建时间")
    assert "1 row is marked" in roles.guessed["soft_delete"]


def test_summary_of_a_chat_is_its_memory_rather_than_the_reply(tmp_path: Path) -> None:
    rows = [(i, f"Ana asked on day {i}: {sentence(i)}", f"{sentence(i)} {sentence(i + 1)}") for i in range(24)]
    store = table_of(tmp_path / "s.db", "id INTEGER PRIMARY KEY, summary TEXT, reply TEXT", rows)
    assert roles_of(store).text == "summary"


def test_several_unnamed_label_columns_are_left_to_the_user(tmp_path: Path) -> None:
    rows = [(i, sentence(i), "xy"[i % 2], "uvw"[i % 3]) for i in range(30)]
    store = table_of(tmp_path / "s.db", "id INTEGER PRIMARY KEY, content TEXT, foo TEXT, bar TEXT", rows)
    roles = roles_of(store)
    assert roles.value_field is None
    assert "foo, bar" in roles.guessed["value_field"]


def test_unnamed_column_whose_values_each_stand_together_names_origins(tmp_path: Path) -> None:
    columns = "c1 INTEGER PRIMARY KEY, c2 TEXT, c3 TEXT"
    # Six sessions, one written after the other, of five rows each.
    sessions = [(i, sentence(i), f"origin {i // 5}") for i in range(30)]
    roles = roles_of(table_of(tmp_path / "a.db", columns, sessions))
    assert roles.value_field is None
    assert roles.guessed["value_field"] == (
        "not found: columns hold labels, but no name tells that they are meant (c3)"
    )
    # The same values, but they come again: situations.
    again = [(i, sentence(i), f"origin {i % 6}") for i in range(30)]
    assert roles_of(table_of(tmp_path / "b.db", columns, again)).value_field == "c3"
    # One value that comes again is enough.
    once = [(i, text, "origin 0" if i == 29 else label) for i, text, label in sessions]
    assert roles_of(table_of(tmp_path / "c.db", columns, once)).value_field == "c3"
    # A name that says so wins: a table may be sorted by its labels.
    named = table_of(tmp_path / "d.db", "id INTEGER PRIMARY KEY, content TEXT, category TEXT", sessions)
    assert roles_of(named).value_field == "category"


@pytest.mark.parametrize("values", [("a,b", "b,c", "a,c"), ('["a"]', '["b"]', "[]"), ('{"k": 1}', '{"k": 2}', "{}")])
def test_unnamed_column_of_lists_is_no_label_and_hides_none(tmp_path: Path, values: tuple[str, ...]) -> None:
    rows = [(i, sentence(i), values[i % 3], ("alpha", "beta")[i % 2]) for i in range(30)]
    store = table_of(tmp_path / "s.db", "c1 INTEGER PRIMARY KEY, c2 TEXT, c3 TEXT, c4 TEXT", rows)
    assert roles_of(store).value_field == "c4"
    store = table_of(tmp_path / "t.db", "c1 INTEGER PRIMARY KEY, c2 TEXT, c3 TEXT", [row[:3] for row in rows])
    assert roles_of(store).value_field is None


def test_labels_with_a_comma_in_the_words_are_labels(tmp_path: Path) -> None:
    rows = [(i, sentence(i), ("locked, retried", "slow, cached")[i % 2]) for i in range(30)]
    store = table_of(tmp_path / "s.db", "c1 INTEGER PRIMARY KEY, c2 TEXT, c3 TEXT", rows)
    assert roles_of(store).value_field == "c3"


def test_time_of_a_load_is_not_the_time_of_writing_where_another_column_varies(tmp_path: Path) -> None:
    columns = "c1 INTEGER PRIMARY KEY, c2 TEXT, c3 TEXT, c4 TEXT"
    rows = [(i, sentence(i), f"2026-11-30T00:0{i % 2}:00", f"2026-05-{1 + i:02}T10:00:00") for i in range(30)]
    assert roles_of(table_of(tmp_path / "a.db", columns, rows)).time == "c4"
    # Two columns that both vary: the first, as before.
    rows = [(i, sentence(i), f"2026-11-30T00:{i:02}:00", f"2026-05-{1 + i:02}T10:00:00") for i in range(30)]
    assert roles_of(table_of(tmp_path / "b.db", columns, rows)).time == "c3"
    # A name decides before that.
    rows = [(i, sentence(i), "2026-11-30T00:00:00", f"2026-05-{1 + i:02}T10:00:00") for i in range(30)]
    named = "id INTEGER PRIMARY KEY, content TEXT, created_at TEXT, moment TEXT"
    assert roles_of(table_of(tmp_path / "c.db", named, rows)).time == "created_at"


def test_only_times_of_change_are_no_time_of_writing(tmp_path: Path) -> None:
    rows = [(i, sentence(i), f"2026-05-01 10:00:{i:02}", i + 1_700_000_000) for i in range(10)]
    store = table_of(tmp_path / "s.db", "id INTEGER PRIMARY KEY, content TEXT, updated_at TEXT, amount INTEGER", rows)
    roles = roles_of(store)
    assert roles.time is None
    assert roles.guessed["time"] == "not found: only times of change or use were found (updated_at)"


def test_text_inside_json_is_named_by_its_path(tmp_path: Path) -> None:
    rows = [(f"k{i}", json.dumps({"content": sentence(i), "n": i}).encode()) for i in range(10)]
    store = table_of(tmp_path / "s.db", "key TEXT PRIMARY KEY, value TEXT", rows)
    roles = roles_of(store)
    assert roles.text == "value$.content"
    records, _ = open_records(store, roles, Config(), np.random.default_rng(0))
    assert records.texts[:2] == (sentence(0), sentence(1))


def test_json_of_several_shapes_is_taken_whole(tmp_path: Path) -> None:
    rows = [
        (f"k{i}", json.dumps({"content": sentence(i)} if i % 2 else {"lesson": sentence(i)})) for i in range(20)
    ]  # fmt: skip
    store = table_of(tmp_path / "s.db", "key TEXT PRIMARY KEY, value TEXT", rows)
    roles = roles_of(store)
    assert roles.text == "value"
    assert "under different keys" in roles.guessed["text"]


def test_json_quoted_strings_are_text(tmp_path: Path) -> None:
    rows = [(f"k{i}", json.dumps(sentence(i)), 1_750_000_000) for i in range(10)]
    store = table_of(tmp_path / "s.db", "memory_id TEXT PRIMARY KEY, memory TEXT, created_at INTEGER", rows)
    roles = roles_of(store)
    assert (roles.id, roles.text, roles.time) == ("memory_id", "memory$.", "created_at")
    assert "\\u" in rows[1][1]  # escaped in the store
    assert open_records(store, roles, Config(), np.random.default_rng(0))[0].texts[1] == sentence(1)


def test_column_that_contains_the_others_is_the_embedded_text(tmp_path: Path) -> None:
    rows = [(i, f"Title {i}", sentence(i), f"Area: shop\nTitle {i}\n{sentence(i)}\nEnd of item") for i in range(12)]
    store = table_of(
        tmp_path / "s.db", "id INTEGER PRIMARY KEY, title TEXT, content TEXT, full_input TEXT", rows
    )  # fmt: skip
    roles = roles_of(store)
    assert (roles.text, roles.embedded_text) == ("content", "full_input")


def test_title_and_summary_cut_from_the_content_make_it_no_embedded_text(tmp_path: Path) -> None:
    rows = [(i, sentence(i)[:20], sentence(i)[:30], sentence(i)) for i in range(12)]
    store = table_of(tmp_path / "s.db", "id INTEGER PRIMARY KEY, head TEXT, summary TEXT, content TEXT", rows)
    roles = roles_of(store)
    assert (roles.text, roles.embedded_text) == ("content", None)


def test_duplicate_or_missing_keys_are_no_id(tmp_path: Path) -> None:
    rows = [(f"k{i // 2}", sentence(i)) for i in range(10)]
    store = table_of(tmp_path / "s.db", "key TEXT, content TEXT", rows)
    assert roles_of(store).id is None
    assert "not found" in roles_of(store).guessed["id"]


def test_a_duplicate_outside_the_sample_is_seen(tmp_path: Path) -> None:
    # 2,000 rows in 20 blocks are looked at; the two equal keys stand between the first two blocks.
    rows = [(f"k{i}" if i != 151 else "k150", sentence(i)) for i in range(5000)]
    store = table_of(tmp_path / "s.db", "uuid TEXT, content TEXT", rows)
    assert roles_of(store).id is None


# -- the table ----------------------------------------------------------------------------------


def test_equal_candidates_are_listed_with_their_rows(tmp_path: Path) -> None:
    store = store_of(
        tmp_path / "s.db",
        "CREATE TABLE experiences (id INTEGER PRIMARY KEY, content TEXT)",
        "CREATE TABLE notes (id INTEGER PRIMARY KEY, body TEXT)",
        "CREATE TABLE numbers (a INTEGER)",
        "CREATE TABLE labels (a TEXT)",
        rows=[("INSERT INTO experiences (content) VALUES (?)", (sentence(i),)) for i in range(9)]
        + [("INSERT INTO notes (body) VALUES (?)", (sentence(i),)) for i in range(12)],
    )
    with pytest.raises(ConfigError) as caught:
        roles_of(store)
    assert str(caught.value).startswith("the store has 4 tables and none was named. Give --table; candidates by text")
    assert "experiences (9 rows)" in str(caught.value)
    assert "notes (12 rows)" in str(caught.value)
    assert roles_of(store, table="notes").text == "body"


def test_a_table_that_refers_to_the_memories_is_not_chosen(tmp_path: Path) -> None:
    store = store_of(
        tmp_path / "s.db",
        "CREATE TABLE dropped (id INTEGER PRIMARY KEY, kept_id INTEGER, content TEXT)",
        "CREATE TABLE experiences (id INTEGER PRIMARY KEY, content TEXT)",
        "CREATE TABLE sessions (id INTEGER PRIMARY KEY, summary TEXT)",
        rows=[("INSERT INTO experiences (content) VALUES (?)", (sentence(i),)) for i in range(5)]
        + [("INSERT INTO dropped (kept_id, content) VALUES (?, ?)", (1 + i % 5, sentence(i))) for i in range(30)]
        + [("INSERT INTO sessions (summary) VALUES (?)", (sentence(i),)) for i in range(30)],
    )
    roles = roles_of(store)
    assert roles.table == "experiences"
    assert roles.guessed["table"].startswith("experiences, because its column content is the likeliest memory text")


def test_missing_table_and_column_name_the_nearest(tmp_path: Path) -> None:
    store = table_of(tmp_path / "s.db", "id INTEGER PRIMARY KEY, content TEXT", [(1, sentence(1))])
    with pytest.raises(ConfigError, match=r'table "memorie" not found in \S+\. Did you mean "memories"'):
        roles_of(store, table="memorie")
    with pytest.raises(ConfigError) as caught:
        roles_of(store, text="contents")
    assert str(caught.value) == (
        "table 'memories' has no column 'contents'; text columns are: content (set text). Did you mean \"content\"?"
    )


def test_empty_table_is_guessed_by_names_and_says_so(tmp_path: Path) -> None:
    store = table_of(
        tmp_path / "s.db", "id INTEGER PRIMARY KEY, content TEXT NOT NULL, created_at TEXT, embedding BLOB", []
    )
    roles = roles_of(store)
    assert roles.shown() == {"id": "id", "text": "content", "time": "created_at", "embedding": "embedding"}
    assert roles.guessed["text"] == "content, because the table is empty: by its name alone"
    records, left_out = open_records(store, roles, Config(), np.random.default_rng(0))
    assert (records.n_rows, left_out) == (0, ())


def test_store_without_tables_is_refused(tmp_path: Path) -> None:
    store = store_of(tmp_path / "s.db", "CREATE VIRTUAL TABLE f USING fts5(a)")
    with pytest.raises(StoreError, match=r"holds no table that can be read\. Not read: f \(a virtual table"):
        roles_of(store)


# -- what the configuration names ---------------------------------------------------------------


def test_named_roles_win_and_are_not_called_guessed(tmp_path: Path) -> None:
    rows = [(i, sentence(i), f"title number {i}", "xy"[i % 2], "p") for i in range(10)]
    store = table_of(
        tmp_path / "s.db", "id INTEGER PRIMARY KEY, content TEXT, title TEXT, pattern TEXT, grp TEXT", rows
    )
    roles = roles_of(store, text="Title", group_field="grp", embedded_fields=("title", "content"), value_field="grp")
    assert (roles.text, roles.group_field, roles.value_field) == ("title", "grp", "grp")
    assert roles.embedded_fields == ("title", "content")
    assert not {"text", "group_field", "value_field", "embedded_fields"} & set(roles.guessed)
    assert roles_of(store, group_field="grp").value_field == "grp"
    with pytest.raises(ConfigError, match="no column 'nope'"):
        roles_of(store, embedded_fields=("title", "nope"))


def test_vectors_in_another_table_are_found_by_their_reference(tmp_path: Path) -> None:
    store = store_of(
        tmp_path / "s.db",
        "CREATE TABLE memories (id TEXT PRIMARY KEY, content TEXT)",
        "CREATE TABLE memory_vectors (rid INTEGER PRIMARY KEY, memory_id TEXT, embedding BLOB)",
        rows=[("INSERT INTO memories VALUES (?, ?)", (f"m{i}", sentence(i))) for i in range(10)]
        + [("INSERT INTO memory_vectors VALUES (?, ?, ?)", (i, f"m{9 - i}", blob(1, 2, 3, i))) for i in range(9)],
    )
    roles = roles_of(store)
    assert roles.vectors == {"table": "memory_vectors", "ref": "memory_id", "embedding": "embedding"}
    assert roles.embedding is None
    assert "100 % of the values of memory_id are keys of memories" in roles.guessed["vectors"]
    named = roles_of(store, vectors={"table": "memory_vectors", "ref": "rid", "embedding": "embedding"})
    assert named.vectors is not None
    assert named.vectors["ref"] == "rid"
    with pytest.raises(ConfigError, match="vectors lacks ref"):
        roles_of(store, vectors={"table": "memory_vectors", "embedding": "embedding"})
    with pytest.raises(ConfigError, match=r"vectors\.ref: table 'memory_vectors' has no column 'id'"):
        roles_of(store, vectors={"table": "memory_vectors", "ref": "id", "embedding": "embedding"})


@pytest.mark.parametrize(
    ("value", "length"),
    [
        (blob(0.1, 0.2, 0.3, 0.4), 4), (struct.pack("<4d", 0.1, 0.2, 0.3, 0.4), 4), ("[0.1, 0.2, 0.3, 1]", 4),
        (blob(0, 0, 0, 0), 4), (b"plain words as bytes", None), (b"abc", None), ("[1, 2, 3, 4]", None),
        ("[0.1]", None), ('["a", "b", "c", "d"]', None), ("中文文本里没有向量".encode(), None), (None, None), (3, None),
    ],
)  # fmt: skip
def test_vectors_are_told_from_other_blobs_and_lists(value: object, length: int | None) -> None:
    assert ColumnFacts("c", "", (value,) * 5).vector_dims == length


@pytest.mark.parametrize(
    ("text", "natural"),
    [
        ("The index is rebuilt nightly.", True), ("数据库被锁", True), ("2026-05-01 10:00:00", False), ("3.14", False),
        ("a3f5c9d0e1b2", False), ("general_issue", False), ('{"content": "some words here"}', False), ("", False),
        ("https://example.org/a/b", False), ("/var/log/agent.log", False), ("--- ---", False),
    ],
)  # fmt: skip
def test_sentences_are_told_from_keys_times_and_structures(text: str, natural: bool) -> None:
    assert is_natural(text) is natural


# -- rows under audit ---------------------------------------------------------------------------


def deleted_store(path: Path, column: str, values: Sequence[Any]) -> Store:
    rows = [(i, sentence(i), value) for i, value in enumerate(values, 1)]
    return table_of(path, f"id INTEGER PRIMARY KEY, content TEXT, {column}", rows)


@pytest.mark.parametrize(
    ("column", "values", "deleted"),
    [
        ("deleted_at TEXT", (None, "2026-05-01T00:00:00Z", None, "2026-05-02T00:00:00Z"), (2, 4)),
        ("deleted_at REAL", (None, 1.75e9, None, None), (2,)),
        ("is_deleted INTEGER", (0, 1, None, 0), (2,)),
        ("active INTEGER", (1, 0, 1, None), (2,)),
        ("deleted TEXT", ("false", "true", "False", ""), (2,)),
        ("deleted_at TEXT", (None, None, None, None), ()),
        ("active INTEGER", (1, 1, 1, 1), ()),
        ("status TEXT", ("deleted", "active", "deleted", "active"), ()),  # too many meanings to guess
    ],
)
def test_deleted_rows_are_left_out_and_counted(
    tmp_path: Path, column: str, values: Sequence[Any], deleted: tuple[int, ...]
) -> None:
    store = deleted_store(tmp_path / "s.db", column, values)
    roles = roles_of(store)
    records, left_out = open_records(store, roles, Config(), np.random.default_rng(0))
    assert tuple(k for k in (1, 2, 3, 4) if k not in records.keys) == deleted
    if deleted:
        assert [(x.rows, x.reason, x.ids) for x in left_out] == [(len(deleted), "marked as deleted", deleted)]
        assert {"soft_delete", "active"} & set(roles.guessed)
    else:
        assert left_out == ()


def test_few_deleted_rows_of_a_large_table_are_found(tmp_path: Path) -> None:
    # Row 150 stands between the first two blocks of the sample.
    store = deleted_store(tmp_path / "s.db", "deleted_at TEXT", [None] * 149 + ["2026-01-01T00:00:00Z"] + [None] * 4850)
    roles = roles_of(store)
    _, left_out = open_records(store, roles, Config(), np.random.default_rng(0))
    assert left_out[0].ids == (150,)
    assert roles.guessed["soft_delete"] == ("deleted_at, because it holds times, and its name says so; 1 row is marked")


def test_named_marks_of_deletion_are_used(tmp_path: Path) -> None:
    store = deleted_store(tmp_path / "s.db", "gone ANY", (None, 1, "yes", 0))
    records, _ = open_records(store, roles_of(store, soft_delete="gone"), Config(), np.random.default_rng(0))
    assert records.keys == (1, 4)
    records, _ = open_records(store, roles_of(store, active="gone"), Config(), np.random.default_rng(0))
    assert records.keys == (1, 2, 3)  # NULL says nothing


def test_condition_and_sample_are_counted_in_store_order(tmp_path: Path) -> None:
    store = deleted_store(tmp_path / "s.db", "deleted_at TEXT", [None] * 50 + ["2026-01-01"] * 10)
    config = Config(where="id > 10", max_rows=15, seed=3)
    roles = find_roles(store, config)
    records, left_out = open_records(store, roles, config, np.random.default_rng(3))
    again, _ = open_records(store, roles, config, np.random.default_rng(3))
    assert records.keys == again.keys == tuple(sorted(records.keys))
    assert records.n_rows == 15
    assert [x.rows for x in left_out] == [10, 10, 25]  # where, deleted, sample
    assert sum(x.rows for x in left_out) + 15 == 60
    assert "sample of 15 rows" in left_out[2].reason
    assert left_out[0].ids == tuple(range(1, 11))


@pytest.mark.parametrize("where", ["nope = 1", "1; DROP TABLE memories", "id = (", "load_extension('x')"])
def test_bad_condition_is_one_line(tmp_path: Path, where: str) -> None:
    store = deleted_store(tmp_path / "s.db", "x TEXT", ["a", "b"])
    with pytest.raises(ConfigError, match="condition"):
        open_records(store, roles_of(store), Config(where=where), np.random.default_rng(0))
