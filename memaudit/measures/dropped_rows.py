"""Which rows de-duplication drops, and which row stays for each of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memaudit.context import Context
from memaudit.errors import EncoderError
from memaudit.model import RowsLeftOut
from memaudit.records import Records, Roles
from memaudit.wording import say

FloatArray = npt.NDArray[np.float32]


@dataclass(frozen=True)
class Dropped:
    """Dropped rows, in store order, and the row of the audited table that was kept for each.

    Parameters
    ----------
    table, column
        Where they stand, and the column that names their group.
    values, keys, texts
        One for each dropped row.
    kept
        Row number of the kept row, None where it is not among the rows under audit.
    vectors
        Unit vector of each dropped row, None where there is none.
    """

    table: str
    column: str
    values: Sequence[Any]
    keys: Sequence[Any]
    texts: Sequence[str]
    kept: Sequence[int | None]
    vectors: Sequence[FloatArray | None]


@dataclass(frozen=True)
class CannotLook:
    """Why the dropped rows cannot be compared, and the option that would help."""

    reason: str
    option: str


def dropped_rows(ctx: Context) -> Dropped | CannotLook:
    """Find the rows that de-duplication drops: those of the named table, else all but the first row of a group."""
    return _from_table(ctx) if ctx.config.dropped_table is not None else _within_groups(ctx)


def _from_table(ctx: Context) -> Dropped | CannotLook:
    """Read the table of dropped rows; their vectors are made as those of the audited rows were."""
    name = str(ctx.config.dropped_table)
    table = ctx.other_table(name).table
    own = ctx.roles
    if not table.n_rows:
        return Dropped(table.name, ctx.group_column or "", (), (), (), (), ())
    has = {role: c if c is not None and table.has(c) else None for role, c in (("id", own.id), ("text", own.text))}
    embedding = own.embedding or (own.vectors or {}).get("embedding")
    is_stored = ctx.vectors.encoder.name == "stored"
    if is_stored and (embedding is None or not table.has(embedding)):
        return CannotLook(
            say("table {table} has no column `{column}`: the dropped rows have no vectors of the same encoder",
                table=table.name, column=embedding or "embedding"),
            "dropped_table",
        )  # fmt: skip
    fields = tuple(f for f in own.embedded_fields if table.has(f))
    embedded_text = own.embedded_text if own.embedded_text is not None and table.has(own.embedded_text) else None
    # A text put together from fewer parts than production's would lie farther away for no fault of the key.
    same_text = (
        embedded_text == own.embedded_text if own.embedded_text is not None
        else len(fields) == len(own.embedded_fields) and (bool(fields) or has["text"] is not None)
    )  # fmt: skip
    if not is_stored and not same_text:
        return CannotLook(
            say("table {table} lacks columns of the embedded text, so its rows cannot be encoded the same way",
                table=table.name),
            "dropped_table",
        )  # fmt: skip
    roles = Roles(
        table=table.name,
        id=has["id"],
        text=has["text"],
        embedding=embedding if is_stored else None,
        embedding_format=own.embedding_format,
        embedded_text=embedded_text,
        embedded_fields=fields,
    )
    records = Records(ctx.store, table, roles)
    try:
        vectors = Context(ctx.config, ctx.store, records).vectors
    except EncoderError as error:
        return CannotLook(str(error), "encoder")
    if vectors.encoder.name != ctx.vectors.encoder.name or vectors.matrix.shape[1:] != ctx.vectors.matrix.shape[1:]:
        return CannotLook(
            say("the vectors of table {table} are not of the encoder of the audited rows", table=table.name),
            "dropped_table",
        )
    kept = _kept_rows(ctx, records)
    if isinstance(kept, CannotLook):
        return kept
    column = ctx.group_column
    in_table = column is not None and table.has(column)
    if column is not None and in_table:
        values: tuple[Any, ...] = records.column(column)
    elif column is not None:
        stored = ctx.records.column(column)
        values = tuple(None if row is None else stored[row] for row in kept)
    else:
        values = tuple(None if row is None else ctx.records.keys[row] for row in kept)
    by_row: list[FloatArray | None] = [None] * records.n_rows
    for place, row in enumerate(vectors.rows.tolist()):
        by_row[row] = vectors.matrix[place]
    named = column if column is not None else str(ctx.config.dropped_kept_ref)
    return Dropped(table.name, named, values, records.keys, records.texts, kept, by_row)


def _kept_rows(ctx: Context, records: Records) -> tuple[int | None, ...] | CannotLook:
    """Return the kept row of each dropped one: by reference, else the first row of the same group."""
    ref, column = ctx.config.dropped_kept_ref, ctx.group_column
    if ref is not None:
        rows = {key: row for row, key in enumerate(ctx.records.keys)}
        as_text = {str(key): row for key, row in rows.items()}
        return tuple(rows.get(key, as_text.get(str(key))) if key is not None else None for key in records.column(ref))
    if column is not None and records.table.has(column):
        return tuple(
            int(ctx.groups[value][0]) if value in ctx.groups else None for value in records.column(column)
        )  # fmt: skip
    return CannotLook(
        say("the column of {table} that names the kept row is not known", table=records.table.name), "dropped_kept_ref"
    )


def _within_groups(ctx: Context) -> Dropped | CannotLook:
    """Take every row of a group but the first as dropped; only for a key that the user named as one."""
    column = _named_key(ctx)
    if column is None:
        return CannotLook(
            say(
                "no table of dropped rows and no de-duplication key was named; a field that labels rows need not be one"
            ),
            "group_field",
        )
    rows: list[int] = []
    kept: list[int | None] = []
    values: list[Any] = []
    first: dict[Any, int] = {}
    for row, value in enumerate(ctx.records.column(column)):
        if value is None or (isinstance(value, str) and not value.strip()):
            continue
        if value not in first:
            first[value] = row
            continue
        rows.append(row)
        kept.append(first[value])
        values.append(value)
    place = {row: i for i, row in enumerate(ctx.vectors.rows.tolist())}
    return Dropped(
        ctx.table_name,
        column,
        values,
        [ctx.records.keys[r] for r in rows],
        [ctx.records.texts[r] for r in rows],
        kept,
        [ctx.vectors.matrix[place[r]] if r in place else None for r in rows],
    )


def _named_key(ctx: Context) -> str | None:
    """Return the group field that was named, else the column that the words of `dedup` name."""
    if ctx.config.group_field is not None:
        return ctx.group_column
    if ctx.config.dedup is None:
        return None
    words = set(re.findall(r"[^\W]+", ctx.config.dedup.lower()))
    return next((c for c in ctx.records.column_names if c.lower() in words and c != ctx.roles.text), None)


def left_out_rows(dropped: Dropped, n_compared: int) -> tuple[RowsLeftOut, ...]:
    """Count the dropped rows that could not be compared, by reason."""
    no_kept = [k for k, row in zip(dropped.keys, dropped.kept, strict=True) if row is None]
    found = []
    if no_kept:
        found.append(
            RowsLeftOut(len(no_kept), say("dropped rows whose kept row is not under audit"), tuple(no_kept))
        )  # fmt: skip
    rest = len(dropped.values) - n_compared - len(no_kept)
    if rest:
        found.append(RowsLeftOut(rest, say("dropped rows without a vector, or whose kept row has none")))
    return tuple(found)
