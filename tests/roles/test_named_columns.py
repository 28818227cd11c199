"""Columns that the configuration names for probes: there, or the audit does not begin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from memaudit.config import Config
from memaudit.errors import ConfigError
from memaudit.roles import find_roles
from tests.test_roles import sentence, store_of


@pytest.mark.usefixtures("closed_stores")
@pytest.mark.parametrize(
    "named",
    [
        {"isolation_keys": ("agent", "agnet")},
        {"scope": "agnet"},
        {"scored_marker": "agnet"},
        {"metadata": "agnet"},
        {"upstream_column": "agnet"},
        {"embedding_model": "agnet"},
        {"generator_args": ("content", "agnet")},
    ],
)
def test_column_when_no_table_has_it_then_refused_with_the_nearest(tmp_path: Path, named: dict[str, Any]) -> None:
    key = next(iter(named))
    with pytest.raises(ConfigError, match=rf"no column 'agnet'; .*\(set {key}\)") as caught:
        find_roles(_store(tmp_path), Config(table="memories", **named))
    assert caught.value.hint == 'Did you mean "agent"?'


@pytest.mark.usefixtures("closed_stores")
def test_column_when_written_as_a_path_or_in_another_table_then_let_pass(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "isolation_keys": ("AGENT", "agent$.name", "agent.name"), "embedding_model": "model", "table": "memories"
    }  # fmt: skip
    assert find_roles(_store(tmp_path), Config(**given)).table == "memories"


def _store(folder: Path) -> Any:
    return store_of(
        folder / "s.db",
        "CREATE TABLE memories (id INTEGER PRIMARY KEY, content TEXT, agent TEXT)",
        "CREATE TABLE vectors (memory_id INTEGER, model TEXT)",
        rows=[("INSERT INTO memories VALUES (?, ?, ?)", (i, sentence(i), "a")) for i in range(6)],
    )
