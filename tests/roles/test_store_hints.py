"""What a reader knows of a table is used with its reason, never for another table, and the user wins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from memaudit.config import Config
from memaudit.roles import find_roles
from memaudit.roles.store_hints import with_hints
from memaudit.stores.assembled import Collection, assembled
from memaudit.stores.store import Store

ROWS = [{"k": n, "body": f"Sentence number {n} of somebody.", "other": f"Another text, number {n}.", "owner": n % 2, "gone": n == 3}
        for n in range(6)]  # fmt: skip


def store(hints: Mapping[str, tuple[Any, str]], rows: list[dict[str, Any]] = ROWS) -> Store:
    return assembled("s", "test", [Collection("big", rows, hints), Collection("small", rows[:2])])


def test_hint_when_the_column_is_there_then_role_with_its_reason() -> None:
    opened = store({"text": ("other", "the reader knows"), "id": ("k", "it is the key")})
    roles = find_roles(opened, Config())
    assert (roles.table, roles.text, roles.id) == ("big", "other", "k")
    assert roles.guessed["text"] == "other, because the reader knows"
    assert roles.guessed["table"] == "big, because it holds the most memories of 2 collections"


def test_hint_when_the_user_says_otherwise_then_the_user_wins() -> None:
    opened = store({"text": ("other", "x"), "isolation_keys": (("owner",), "x"), "soft_delete": ("gone", "x")})
    config = Config(text="body", isolation_keys=("k",), active="owner")
    roles = find_roles(opened, config)
    assert (roles.text, "text" in roles.guessed) == ("body", False)
    assert with_hints(config, opened, "big") == (config, {})


def test_hint_when_another_table_is_audited_then_not_used() -> None:
    opened = store({"text": ("other", "x"), "isolation_keys": (("owner",), "x")})
    roles = find_roles(opened, Config(table="small"))
    assert "because x" not in " ".join(roles.guessed.values())


def test_hint_of_none_when_given_then_the_role_is_empty_with_the_reason() -> None:
    opened = store({"id": (None, "the form has no key")})
    roles = find_roles(opened, Config())
    assert (roles.id, roles.guessed["id"]) == (None, "not found: the form has no key")


def test_settings_when_hinted_then_filled_with_their_reasons() -> None:
    opened = store(
        {"isolation_keys": (["owner"], "owners"), "soft_delete": ("gone", "a mark"), "merged_into": (None, "x")}
    )
    config, reasons = with_hints(Config(), opened, "big")
    assert (config.isolation_keys, config.soft_delete, config.merged_into) == (("owner",), "gone", None)
    assert reasons == {"isolation_keys": "owner, because owners", "soft_delete": "gone, because a mark"}
    roles = find_roles(opened, Config())
    assert roles.deleted_where is not None
    assert '"gone"' in roles.deleted_where
    assert roles.guessed["soft_delete"] == "gone, because a mark"


@pytest.mark.parametrize("rows", [[{**r, "owner": "u"} for r in ROWS], [], ROWS[:1]])
def test_owner_when_there_is_only_one_then_no_key_that_keeps_owners_apart(rows: list[dict[str, Any]]) -> None:
    opened = store({"isolation_keys": (("owner",), "x")}, rows)
    assert with_hints(Config(), opened, "big")[0].isolation_keys is None


def test_columns_when_renamed_by_the_loader_then_hints_follow() -> None:
    opened = assembled(
        "s",
        "t",
        [Collection("c", [{"a$b": "One text in words.", "A": 1, "a": 2}], {"text": ("a$b", "x"), "id": ("a", "y")})],
    )
    assert opened.hints["text"] == ("a_b", "x")
    assert opened.hints["id"] == ("a_2", "y")


def test_names_of_tables_when_alike_but_for_case_then_told_apart() -> None:
    opened = assembled("s", "t", [Collection(n, [{"a": 1}]) for n in ("Notes", "notes", "", "sqlite_x")])
    assert [t.name for t in opened.tables] == ["Notes", "notes_2", "collection_3", "_sqlite_x"]


def test_note_of_another_table_when_its_name_is_hostile_then_the_command_is_quoted() -> None:
    opened = assembled("my store", "t", [Collection("big", ROWS), Collection("$(rm -rf x)", ROWS[:1])])
    assert opened.notes[-1].endswith("memaudit run --store 'my store' --table '$(rm -rf x)'")
