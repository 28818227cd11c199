"""Folders of Markdown memories: front matter, list items, sections, links; and what is no memory."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.config import Config
from memaudit.errors import StoreError
from memaudit.roles import find_roles
from memaudit.roles.store_hints import with_hints
from memaudit.stores.detect import open_store
from memaudit.stores.front_matter import parse_simple_yaml, split_front_matter
from memaudit.stores.markdown_blocks import blocks_of
from memaudit.stores.store import Store, quoted


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / (name.replace("__", "/") + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def rows(store: Store, *columns: str) -> list[tuple[Any, ...]]:
    return list(store.rows(f"SELECT {', '.join(map(quoted, columns))} FROM memories ORDER BY rowid"))


CLAUDE = {
    "MEMORY": "# Memory\n\n- [Deploy](deploy.md) — needs approval\n- [Gone](gone.md) - old\n- Keep answers short.\n",
    "deploy": "---\nname: deploy\ndescription: how to deploy\nmetadata:\n  type: project\n---\n\nDeploys need one approval.\n\n"
    "See [[tea]] and [[nowhere]].\n",
    "tea": '---\nname: tea\ndescription: "taste: tea"\nmetadata:\n  type: user\n---\n喜欢喝茶，不喝咖啡。\n',
}


def test_claude_code_folder_when_read_then_a_file_is_a_memory_and_the_index_is_checked(tmp_path: Path) -> None:
    store = open_store(str(write(tmp_path, **CLAUDE)))
    assert store.kind == "markdown"
    assert rows(store, "key", "text", "type", "description") == [
        ("MEMORY.md#1", "Keep answers short.", None, None),
        ("deploy.md", "Deploys need one approval.\n\nSee [[tea]] and [[nowhere]].", "project", "how to deploy"),
        ("tea.md", "喜欢喝茶，不喝咖啡。", "user", "taste: tea"),
    ]
    roles = find_roles(store, Config())
    assert (roles.table, roles.id, roles.text, roles.value_field, roles.time) == (
        "memories",
        "key",
        "text",
        "type",
        None,
    )
    notes = " ".join(store.notes)
    assert "3 Markdown files read: whole file 2, list item 1." in notes
    # Links: [[tea]], [[nowhere]], deploy.md, gone.md.
    assert "Links to a memory that is not there: 2 of 4 (gone.md, nowhere)." in notes
    assert "Index lines that point at a file, no memories: 2." in notes
    assert "Files that the index does not name: 1 (tea.md)." in notes
    store.close()


def test_daily_logs_when_read_then_an_item_or_section_is_a_memory_of_that_day(tmp_path: Path) -> None:
    log = "# 2026-05-01\n\n## Morning\n- Fixed the export.\n  It needed versioning.\n- 修复了登录。\n\n## Evening\nOne paragraph.\n\nAnother.\n"
    store = open_store(str(write(tmp_path, MEMORY="- Prefers tea.\n", **{"memory__2026-05-01": log})))
    assert rows(store, "key", "text", "heading", "date") == [
        ("MEMORY.md#1", "Prefers tea.", None, None),
        ("memory/2026-05-01.md#1", "Fixed the export.\nIt needed versioning.", "2026-05-01 / Morning", "2026-05-01"),
        ("memory/2026-05-01.md#2", "修复了登录。", "2026-05-01 / Morning", "2026-05-01"),
        ("memory/2026-05-01.md#3", "One paragraph.\n\nAnother.", "2026-05-01 / Evening", "2026-05-01"),
    ]
    assert find_roles(store, Config()).time == "date"
    store.close()


BASIC = """---
title: Coffee
type: note
tags: [drink, "hot, strong"]
permalink: coffee
---
# Coffee

## Observations
- [method] Pour over gives a clean cup #brewing (best)
- [偏好] 不加糖。
- [x] a finished task
- relates_to [[Tea]]

Some prose.
"""


def test_basic_memory_note_when_read_then_an_observation_is_a_memory(tmp_path: Path) -> None:
    store = open_store(str(write(tmp_path, coffee=BASIC)))
    assert rows(store, "text", "category", "tags", "title") == [
        ("Pour over gives a clean cup  (best)", "method", '["brewing"]', "Coffee"),
        ("不加糖。", "偏好", '["drink", "hot, strong"]', "Coffee"),
        ("[x] a finished task", None, '["drink", "hot, strong"]', "Coffee"),
        ("Some prose.", None, '["drink", "hot, strong"]', "Coffee"),
    ]
    assert "Lines that are relations to other notes, no memories: 1." in store.notes
    store.close()


def test_documents_of_a_project_when_looked_at_then_no_memories(tmp_path: Path) -> None:
    write(tmp_path, README="---\na: b\n---\n- x\n- y\n- z\n", guide="# Guide\n\nProse only.\n", more="Prose.\n")
    with pytest.raises(StoreError, match="folder without a store"):
        open_store(str(tmp_path))
    with pytest.raises(StoreError, match="not a SQLite database"):
        open_store("README.md", base=tmp_path)
    with pytest.raises(StoreError, match="not a SQLite database"):
        open_store("guide.md", base=tmp_path)


def test_links_and_hidden_folders_when_in_the_folder_then_not_followed(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", secret="- a\n- b\n- c\n")
    folder = write(tmp_path / "memories", MEMORY="- One fact.\n", **{".hidden__x": "- Hidden.\n"})
    (folder / "link.md").symlink_to(outside / "secret.md")
    (folder / "linked").symlink_to(outside)
    store = open_store(str(folder))
    assert rows(store, "text") == [("One fact.",)]
    store.close()


def test_single_file_of_items_when_named_then_read(tmp_path: Path) -> None:
    write(tmp_path, notes="# Notes\n\n1. First fact.\n2. 第二条。\n3. Third fact.\n")
    store = open_store("notes.md", base=tmp_path)
    assert rows(store, "text") == [("First fact.",), ("第二条。",), ("Third fact.",)]
    # The name of the one file in every row would be a field with a single value (MA601).
    assert store.tables[0].column_names == ("key", "text", "heading")
    store.close()


def test_empty_memory_when_audited_then_nothing_to_audit(tmp_path: Path, memaudit: Callable[..., Any]) -> None:
    write(tmp_path / "m", MEMORY="# Memory\n")
    assert memaudit("run", "--store", "m").code == 4


# -- front matter -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a: 1", {"a": "1"}),
        ("a: x # remark\n# a whole remark\nb: 'q # r'", {"a": "x", "b": "q # r"}),
        ("a:\n  b: c\n  d:\n    e: f\ng: h", {"a": {"b": "c", "d": {"e": "f"}}, "g": "h"}),
        ("tags:\n  - one\n  - '二'\nz: 1", {"tags": ["one", "二"], "z": "1"}),
        ("tags:\n- one\n- two", {"tags": ["one", "two"]}),
        ("a: [x, \"y, z\", 'w']\nb: []", {"a": ["x", "y, z", "w"], "b": []}),
        ("a: |\n  one\n  two\nb: >-\n  three\n  four", {"a": "one\ntwo", "b": "three four"}),
        ("url: https://x.org/a:b", {"url": "https://x.org/a:b"}),
        ("created: 2026-05-01 10:00:00", {"created": "2026-05-01 10:00:00"}),
        ("a:\nb: no", {"a": None, "b": "no"}),  # no flag: a word
        ("标题: 咖啡", {"标题": "咖啡"}),
    ],
)
def test_simple_yaml_when_parsed_then_mappings_lists_and_texts(text: str, found: dict[str, Any]) -> None:
    assert parse_simple_yaml(text.splitlines()) == (found, 0)


def test_yaml_beyond_the_simple_when_parsed_then_text_or_counted_never_resolved() -> None:
    found, unread = parse_simple_yaml(
        ["a: !!python/object/apply:os.system ['true']", "b: *anchor", "? x", "- stray", "<<: *b"]
    )
    assert found == {"a": "!!python/object/apply:os.system ['true']", "b": "*anchor", "<<": "*b"}
    assert unread == 2


@given(st.text(alphabet="ab:-[]{}'\"#|>&*! \n\t\u4e2d", max_size=80))
def test_any_head_when_parsed_then_no_error(text: str) -> None:
    head, body, unread = split_front_matter(f"---\n{text}\n---\nbody")
    assert isinstance(head, dict)
    assert unread >= 0
    assert body.endswith("body")


def test_head_when_not_closed_then_the_text_is_the_body() -> None:
    assert split_front_matter("---\na: b\nno end") == ({}, "---\na: b\nno end", 0)
    assert split_front_matter("") == ({}, "", 0)


def test_blocks_when_fenced_or_nested_then_not_cut() -> None:
    body = "- one\n  - nested\n\n  more\n```\n# no heading\n- no item\n```\n* two\n\nmargin\n# H\n## I ##\ntext"
    assert [(b.text, b.headings, b.is_item) for b in blocks_of(body)] == [
        ("one\n- nested\n\nmore\n```\n# no heading\n- no item\n```", (), True),
        ("two", (), True),
        ("margin", (), False),
        ("text", ("H", "I"), False),
    ]


def test_notes_when_one_supersedes_another_then_its_memories_are_paired_by_key(tmp_path: Path) -> None:
    notes = {
        "new": "---\ntitle: New plan\n---\n- [fact] Ships on Friday.\n- [fact] 周五发布。\n- supersedes [[Old plan]]\n",
        "old": "---\ntitle: Old plan\n---\n- [fact] Ships on Monday.\n- [fact] Two approvals.\n",
        "whole": "---\ntitle: Whole\n---\nBody of the whole note.\n\n- superseded by [[new|the new plan]]\n",
        "head": "---\ntitle: Head\nsuperseded_by: '[[Whole]]'\n---\nText of the head note.\n",
        "gone": "---\ntitle: Gone\nsuperseded_by: nowhere\n---\nText of the note whose successor is gone.\n",
        "near": "---\ntitle: Near miss\n---\n- [fact] One.\n- replaces [[Old plan]]\n- relates to [[Old plan]]\n"
        "- supersedes nothing at all\n- supersedes [[not there]]\n- supersedes [[near]]\n",
    }
    store = open_store(str(write(tmp_path, **notes)))
    roles = find_roles(store, Config())
    assert roles.table == "memories"
    config, reasons = with_hints(Config(), store, "memories")
    assert config.supersedes == {"table": "supersede_links", "new": "new", "old": "old"}
    assert reasons["supersedes"].endswith("a relation or the front matter of a note says that it supersedes another")
    assert sorted(store.rows("SELECT old, new FROM supersede_links")) == [
        ("gone.md", "nowhere"),
        ("head.md", "whole.md"),
        ("old.md#1", "new.md#1"),
        ("old.md#2", "new.md#1"),
        ("whole.md", "new.md#1"),
    ]
    store.close()


def test_notes_when_none_supersedes_another_then_no_edges(tmp_path: Path) -> None:
    store = open_store(str(write(tmp_path, **CLAUDE)))
    assert [t.name for t in store.tables] == ["memories", "index"]
    assert with_hints(Config(), store, "memories")[0].supersedes is None
    store.close()


def test_audit_when_an_old_note_is_still_active_then_ma805_with_its_key_and_a_closed_one_is_silent(
    tmp_path: Path, memaudit: Callable[..., Any]
) -> None:
    folder = write(
        tmp_path / "notes",
        new="---\ntitle: New\n---\n- [fact] Ships on Friday.\n- supersedes [[Old]]\n- supersedes [[Closed]]\n",
        old="---\ntitle: Old\n---\n- [fact] Ships on Monday.\n",
        closed="---\ntitle: Closed\nstatus: superseded\n---\n- [fact] Ships on Sunday.\n",
    )
    assert memaudit("run", "--store", folder, "--select", "MA805", "--format", "json=out.json").code == 0
    (finding,) = [f for f in json.loads((tmp_path / "out.json").read_text())["findings"] if f["code"] == "MA805"]
    assert finding["figures"]["supersede_edges"] == 2
    assert finding["figures"]["old_ids"] == ["old.md#1"]
