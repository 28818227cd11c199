"""Which facts still hold, and which were replaced by others: columns of state, and supersede edges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from memaudit.config import nearest
from memaudit.errors import ConfigError
from memaudit.measures.key_lists import keys_in
from memaudit.records import Records
from memaudit.stores.store import Store, quoted
from memaudit.times import parse_time
from memaudit.wording import say

#: Column of an old row that names the row which replaced it; column of a new row that names the old.
_REPLACED_BY = re.compile(
    r"(is_)?(superseded|replaced|obsoleted|overridden|deprecated|succeeded)_?by(_id|_key|_ref)?|successor(_id)?"
)
_REPLACES = re.compile(
    r"(supersedes|replaces|obsoletes|overrides|supersede|previous|prior)(_id|_key|_ref|_ids|_version_id)?"
)
#: Columns that say whether a row still holds, and the words that say that it does not.
_STATE = re.compile(r"(\w+_)?(status|state|lifecycle)")
_OVER = re.compile(
    r"superseded|replaced|archived?|inactive|deleted|obsoleted?|expired|retired|invalid(ated)?|deprecated|outdated|closed|revoked"
    r"|withdrawn|removed|disabled|histor(y|ical)|stale|past|former|old|previous|ended|cancell?ed|merged|not[ _-]?active|overridden"
    r"|已?(被)?(取代|替代|归档|失效|作废|过期|删除|停用|撤销)|无效|历史|过去|旧",
    re.IGNORECASE,
)
_FLAG = re.compile(r"(is_)?(active|current|valid|latest|enabled)")
_END = re.compile(
    r"(valid|active|effective)_?(to|until|till|end)|(invalid|invalidated|expired|ended|superseded|archived|retired|deprecated)_?(at|on|time)|t_invalid|end(ed)?_(at|date|time)"
)
_RELATION = re.compile(r"type|kind|relation|relation_type|relationship|rel|label|edge_type|predicate")
_SUPERSEDES = re.compile(r"supersed|replac|obsolet|overrid|updates?$|取代|替代|更新", re.IGNORECASE)


@dataclass(frozen=True)
class Edges:
    """Supersede edges: pairs of (new key, old key), and where they were read.

    Parameters
    ----------
    left_out
        Edges of other kinds in the same table.
    hidden
        Old keys, written as text, that the system's own search leaves out for being replaced.
    """

    pairs: tuple[tuple[Any, Any], ...]
    place: str
    left_out: int = 0
    hidden: frozenset[str] = frozenset()


# -- which rows hold ---------------------------------------------------------------------------


def active_rows(records: Records, named: str | None = None) -> list[bool]:
    """Say of each row whether it still holds, by its columns of state; deleted rows are no records at all.

    A row is over when a column of state says so (`superseded`, `archived`, ...), a flag such as `is_current` is false, or
    a time of its end lies in the past. `named` is read as a column of state whatever it is called.
    """
    n = records.n_rows
    active = [True] * n
    now = datetime.now(timezone.utc)
    for name in records.column_names:
        lower = name.lower()
        if name == named or _STATE.fullmatch(lower):
            for row, value in enumerate(records.column(name)):
                active[row] &= not (isinstance(value, str) and _OVER.fullmatch(value.strip()))
        elif _FLAG.fullmatch(lower):
            values = records.column(name)
            if all(_flag(value) is not None or value is None for value in values):
                for row, value in enumerate(values):
                    active[row] &= _flag(value) is not False
        elif _END.fullmatch(lower):
            for row, value in enumerate(records.column(name)):
                end = parse_time(value)
                active[row] &= not (end is not None and end.timestamp() <= now.timestamp())
    return active


def _flag(value: Any) -> bool | None:
    if isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str):
        return {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}.get(
            value.strip().lower()
        )
    return None


# -- edges ---------------------------------------------------------------------------------------


def edges_of_columns(records: Records) -> Edges | None:
    """Return the edges of a column that names a replacing or a replaced row; None when there is no such column."""
    known = {str(key) for key in records.keys}
    for name in records.column_names:
        lower = name.lower()
        new_first = bool(_REPLACES.fullmatch(lower))
        if not new_first and not _REPLACED_BY.fullmatch(lower):
            continue
        pairs = [
            (key, other) if new_first else (other, key)
            for key, value in zip(records.keys, records.column(name), strict=True)
            for other in keys_in(value)
        ]
        others = [str(new if not new_first else old) for new, old in pairs]
        # A column of that name that holds something else names no rows. Where nothing was replaced yet, there are no edges.
        if not others or sum(o in known for o in others) >= 0.5 * len(others):
            return Edges(tuple(pairs), f"{records.table.name}.{name}")
    return None


def edges_of_table(store: Store, where: Mapping[str, Any]) -> Edges:
    """Return the edges of a table of its own; those of other kinds in it are left out.

    Parameters
    ----------
    where
        Keys `table`, `new` and `old`: the table, and its columns with the key of either side. `hidden` may name a
        column that is true where the system's own search leaves the old row out.

    Raises
    ------
    ConfigError
        A key is missing, or the table lacks a column.
    """
    missing = [part for part in ("table", "new", "old") if part not in where]
    if missing:
        raise ConfigError(
            say("supersedes lacks {missing}.", missing=", ".join(missing)),
            say('Give {{table = "edges", new = "new_id", old = "old_id"}}.'),
        )
    table = store.table(str(where["table"]))
    for part in [p for p in ("new", "old", "hidden") if p in where]:
        if not table.has(str(where[part])):
            raise ConfigError(
                say("supersedes: table '{name}' has no column '{where}'.", name=table.name, where=where[part]),
                nearest(str(where[part]), table.column_names)
                or say("Columns: {column_names}.", column_names=", ".join(table.column_names)),
            )
    # Edges of other kinds may stand in the same table.
    kinds = [c for c in table.column_names if _RELATION.fullmatch(c.lower()) and c not in where.values()]
    columns = [str(where["new"]), str(where["old"]), str(where.get("hidden", where["old"])), *kinds[:1]]
    sql = f"SELECT {', '.join(quoted(c) for c in columns)} FROM {quoted(table.name)} ORDER BY {table.order}"
    rows = [row for row in store.rows(sql) if row[0] is not None and row[1] is not None]
    kept = rows
    if kinds and any(_SUPERSEDES.search(str(row[3])) for row in rows):
        kept = [row for row in rows if _SUPERSEDES.search(str(row[3]))]
    hidden = frozenset(str(row[1]) for row in kept if "hidden" in where and _flag(row[2]))
    return Edges(tuple((row[0], row[1]) for row in kept), table.name, len(rows) - len(kept), hidden)


@dataclass(frozen=True)
class OldSide:
    """Rows that an edge calls old.

    Parameters
    ----------
    rows
        Those still active, in row order.
    replaced_by
        Row -> keys of the rows that replaced it, as the edges write them.
    n_without_new
        Rows of `rows` none of whose replacing rows is an active row under audit.
    """

    rows: tuple[int, ...]
    replaced_by: Mapping[int, tuple[Any, ...]]
    n_without_new: int


def old_side_active(keys: Sequence[Any], active: Sequence[bool], pairs: Iterable[tuple[Any, Any]]) -> OldSide:
    """Find the old rows that are still there and active; keys written as text and as integers are the same."""
    row_of = {str(key): row for row, key in enumerate(keys)}
    by: dict[int, list[Any]] = {}
    for new, old in pairs:
        row = row_of.get(str(old))
        if row is not None and active[row] and str(new) != str(old):
            by.setdefault(row, []).append(new)
    rows = tuple(sorted(by))

    def is_there(key: Any) -> bool:
        row = row_of.get(str(key))
        return row is not None and active[row]

    orphans = sum(not any(is_there(new) for new in by[row]) for row in rows)
    return OldSide(rows, {row: tuple(by[row]) for row in rows}, orphans)
