"""Settings that a reader knows by itself, put beside those of the user, who always wins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memaudit.config import Config
from memaudit.stores.store import Store, quoted

#: Keys that are no columns found by looking: a reader's answer becomes the setting.
HINTED_KEYS = (
    "isolation_keys", "soft_delete", "active", "merged_into", "supersedes", "scope", "subject_key", "metadata",
    "embedding_format", "embedding_model", "vectors", "embedded_fields",
)  # fmt: skip


def with_hints(config: Config, store: Store, table: str) -> tuple[Config, dict[str, str]]:
    """Fill settings that nobody gave from what the reader knows of a table.

    Returns
    -------
    The configuration, and the reason of each key that was filled: `user_id, because ...`.
    """
    filled: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for key in HINTED_KEYS:
        if key not in store.hints_for(table) or getattr(config, key) is not None:
            continue
        if key in ("soft_delete", "active") and (config.soft_delete or config.active):
            continue  # two marks of deletion would contradict each other
        if key == "vectors" and config.embedding is not None:
            continue
        value, why = store.hints_for(table)[key]
        if value is None or (key == "isolation_keys" and not _several_owners(store, table, value)):
            continue
        filled[key] = tuple(value) if isinstance(value, list) else value
        shown = ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else _shown(value)
        reasons[key] = f"{shown}, because {why}"
    return (replace(config, **filled) if filled else config), reasons


def _several_owners(store: Store, table: str, columns: Sequence[str]) -> bool:
    """Say whether the columns tell two owners apart; one owner alone is no fault that a reader may allege."""
    named = ", ".join(map(quoted, columns))
    sql = f"SELECT COUNT(*) FROM (SELECT DISTINCT {named} FROM {quoted(table)} LIMIT 2)"
    return all(store.table(table).has(c) for c in columns) and next(store.rows(sql))[0] > 1


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "table" in value:
        return f"{value['table']}.{value.get('embedding') or value.get('old') or ''}".rstrip(".")
    return str(value)
