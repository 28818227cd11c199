"""The rows under audit: named roles, and columns that are read when a probe first asks for them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from memaudit.errors import ConfigError
from memaudit.stores.store import Store, StoreTable, quoted
from memaudit.wording import say

_SURROGATE = re.compile("[\ud800-\udfff]")

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Roles:
    """Which column plays which part; None means that no column does.

    Parameters
    ----------
    text, value_field, ...
        Column names; `text` may be a JSON path (`value$.content`).
    vectors
        Vectors kept in another table: keys `table`, `ref`, `embedding`.
    deleted_where
        SQL condition that is true for deleted rows, made from `soft_delete` / `active`.
    guessed
        Role -> reason, for each role that was found by looking rather than told.
    """

    table: str
    id: str | None = None
    text: str | None = None
    time: str | None = None
    value_field: str | None = None
    group_field: str | None = None
    embedding: str | None = None
    embedding_format: str | None = None
    vectors: Mapping[str, str] | None = None
    embedded_text: str | None = None
    embedded_fields: tuple[str, ...] = ()
    hits: str | None = None
    last_access: str | None = None
    source: str | None = None
    deleted_where: str | None = None
    guessed: Mapping[str, str] = field(default_factory=dict)

    def shown(self) -> dict[str, Any]:
        """Return the roles that are filled, for the report."""
        names = (
            "id", "text", "time", "value_field", "group_field", "embedding", "embedding_format", "embedded_text",
            "hits", "last_access", "source",
        )  # fmt: skip
        found: dict[str, Any] = {n: getattr(self, n) for n in names if getattr(self, n) is not None}
        if self.embedded_fields:
            found["embedded_fields"] = list(self.embedded_fields)
        if self.vectors:
            found["vectors"] = dict(self.vectors)
        return found


class Records:
    """Rows of one table in store order.

    Parameters
    ----------
    store, table, roles
        Where the rows come from.
    positions
        (n,) positions in the table's order of the rows under audit; None for all of them.
    pool
        (m,) positions of the rows that these were drawn from at random; None when none were left to chance.

    Notes
    -----
    Row numbers used by probes are 0..n-1 in this object's order, never positions in the table.
    """

    def __init__(
        self,
        store: Store,
        table: StoreTable,
        roles: Roles,
        positions: IntArray | None = None,
        *,
        pool: IntArray | None = None,
    ) -> None:
        self._store = store
        self.table = table
        self.roles = roles
        self._pool = pool
        self._positions = positions
        self._columns: dict[str, tuple[Any, ...]] = {}

    @property
    def n_rows(self) -> int:
        """Number of rows under audit."""
        return self.table.n_rows if self._positions is None else len(self._positions)

    @property
    def drawn_from(self) -> int | None:
        """Number of rows that these were drawn from at random; None when none were left to chance."""
        return None if self._pool is None else len(self._pool)

    @property
    def undrawn(self) -> Records:
        """All rows that could have been drawn: these where none were left to chance."""
        return self if self._pool is None else Records(self._store, self.table, self.roles, self._pool)

    @property
    def column_names(self) -> tuple[str, ...]:
        """Columns of the table."""
        return self.table.column_names

    def column(self, name: str) -> tuple[Any, ...]:
        """Return a column's values in row order, as stored (int, float, str, bytes or None).

        A name with a JSON path (`value$.content`) gives the value at that path, None where there is none; a list or an
        object there is given as JSON text, as SQLite's `json_extract` does, so that values can be counted.

        Raises
        ------
        ConfigError
            The table has no such column; names the text columns there are.
        """
        if name not in self._columns:
            self._columns[name] = self._read(name)
        return self._columns[name]

    def _read(self, name: str) -> tuple[Any, ...]:
        base, _, path = name.partition("$")
        if base not in self.column_names:
            raise ConfigError(
                say("table '{name}' has no column '{base}'.", name=self.table.name, base=base),
                say("Columns: {column_names}.", column_names=", ".join(self.column_names)),
            )
        sql = f"SELECT {quoted(base)} FROM {quoted(self.table.name)} ORDER BY {self.table.order}"
        values: Sequence[Any] = [value for (value,) in self._store.rows(sql)]
        if self._positions is not None:
            values = [values[p] for p in self._positions]
        if path:
            values = [_stored(json_at(value, path)) for value in values]
        return tuple(values)

    @cached_property
    def keys(self) -> tuple[Any, ...]:
        """Keys of the rows as stored; row numbers counted from 1 when no column names them."""
        if self.roles.id is not None:
            return tuple(_as_text(k) if isinstance(k, bytes) else k for k in self.column(self.roles.id))
        positions = range(self.table.n_rows) if self._positions is None else self._positions.tolist()
        return tuple(int(p) + 1 for p in positions)

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Text of each row; an empty text for NULL (see `column(roles.text)` for the stored value)."""
        if self.roles.text is None:
            return ("",) * self.n_rows
        return tuple(_as_text(value) for value in self.column(self.roles.text))

    def as_texts(self, name: str) -> tuple[str, ...]:
        """Return a column as texts: NULL becomes "", bytes are decoded, numbers are printed."""
        return tuple(_as_text(value) for value in self.column(name))

    def value_counts(self, name: str) -> dict[Any, int]:
        """Return distinct values (None included) and their rows, most frequent first, then in row order."""
        return dict(Counter(self.column(name)).most_common())

    def restricted(self, rows: IntArray) -> Records:
        """Return only some rows, in the same order."""
        own = np.arange(self.table.n_rows, dtype=np.int64) if self._positions is None else self._positions
        return Records(self._store, self.table, self.roles, own[rows], pool=self._pool)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        # Undecodable bytes arrive as surrogate escapes: shown as replacement characters, counted by MA004.
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "replace") if _escaped(value) else value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return str(value)


def _stored(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, (dict, list)) else value


def _escaped(text: str) -> bool:
    return not text.isascii() and _SURROGATE.search(text) is not None


def json_at(value: Any, path: str) -> Any:
    """Return what stands at a JSON path such as `.content` or `.a.b[0]`, None where there is nothing.

    Parameters
    ----------
    value
        JSON text, UTF-8 bytes of JSON, or None.
    path
        The part after `$`.
    """
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    for part in path.replace("[", ".[").split("."):
        if not part:
            continue
        if part.startswith("["):
            number = part.strip("[]")
            if not isinstance(value, list) or not number.lstrip("-").isdigit():
                return None
            index = int(number)
            value = value[index] if -len(value) <= index < len(value) else None
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value
