"""Limits that hold for each owner: what their key says, and the rows of the owner that has most."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from memaudit.context import Context
from memaudit.measures.conditions import snake_case
from memaudit.stores.store import quoted

_FOR_EACH = re.compile(r"(?:^|_)(?:per|each)_([^\W_]+)")


@dataclass(frozen=True)
class Fullest:
    """The owner with most rows that are not deleted."""

    column: str
    value: Any
    rows: int


def owner_of_limit(key: str) -> str:
    """Return the owner that a key names (`max_per_user`, `limits.per_agent.rows`); empty for a limit of the table."""
    found = _FOR_EACH.search(snake_case(key))
    return found.group(1) if found else ""


def fullest_owner(ctx: Context, owner: str) -> Fullest | None:
    """Return the fullest owner of the whole table; None when no column tells owners apart.

    The column is that of the owner's name (`user`, `user_id`, `user_key`, `user_name`), else the only isolation key.
    """
    wanted = [owner, *(f"{owner}_{end}" for end in ("id", "key", "name")), f"{owner}id"]
    names = {snake_case(name): name for name in reversed(ctx.records.column_names)}
    keys = ctx.config.isolation_keys or ()
    column = next((names[name] for name in wanted if name in names), keys[0] if len(keys) == 1 else None)
    if column is None:
        return None
    live = "1" if ctx.roles.deleted_where is None else f"({ctx.roles.deleted_where}) IS NOT TRUE"
    sql = (
        f"SELECT {quoted(column)}, COUNT(*) FROM {quoted(ctx.table_name)} "
        f"WHERE {live} AND {quoted(column)} IS NOT NULL GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1"
    )
    return next((Fullest(column, value, rows) for value, rows in ctx.store.rows(sql)), None)
