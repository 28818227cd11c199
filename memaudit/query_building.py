"""From an opened store to the rows that the query-set builders take."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from memaudit.context import Context, Need
from memaudit.errors import ConfigError
from memaudit.evaluation import builders
from memaudit.evaluation.builders import Built, Row
from memaudit.text import differ_in_digits, normalised
from memaudit.times import parse_time
from memaudit.wording import say

#: Rows at least this close say the same: any of them is a right answer.
DUPLICATE_COS = 0.98
#: Share of the rows, oldest first, that are the store when no time was named.
SPLIT_SHARE = 0.7


def builder_rows(ctx: Context, label: str | None = None, query_text: str | None = None) -> list[Row]:
    """Make the rows of a store into what the builders take.

    Parameters
    ----------
    label
        Column whose values make rows belong together; None for the group field.
    query_text
        Column with the raw text that was seen when a row was written; None when it was not kept.

    Notes
    -----
    Near-duplicates come from stored vectors; without them only texts that are equal but for case and space count.
    """
    records = ctx.records
    texts = ctx.embedded_texts
    column = label or ctx.group_column
    labels: Sequence[Any] = records.column(column) if column else (None,) * records.n_rows
    raw: Sequence[Any] = records.as_texts(query_text) if query_text else (None,) * records.n_rows
    strata = [records.as_texts(name) for name in dict.fromkeys((ctx.group_column, ctx.roles.source)) if name]
    times = [parse_time(v) for v in records.column(ctx.roles.time)] if ctx.roles.time else [None] * records.n_rows
    same = _duplicates(ctx, texts)
    keys = [str(key) for key in records.keys]
    rows = []
    for i in range(records.n_rows):
        when = times[i]
        rows.append(
            Row(
                keys[i],
                texts[i],
                tuple(values[i] for values in strata),
                None if labels[i] is None else str(labels[i]),
                None if when is None else when.timestamp(),
                raw[i] or None,
                # A copy with another number, version or date answers another question.
                tuple(keys[j] for j in same[i] if j != i and not differ_in_digits(texts[i], texts[j])),
            )
        )
    return rows


def _duplicates(ctx: Context, texts: Sequence[str]) -> list[list[int]]:
    """Return for each row the rows of its cluster, itself among them."""
    cluster: list[Any] = [("text", normalised(text)) for text in texts]
    if ctx.missing(Need.STORED_VECTORS) is None and ctx.missing(Need.VECTORS) is None:
        for row, number in zip(ctx.vectors.rows.tolist(), ctx.cluster_labels(DUPLICATE_COS).tolist(), strict=True):
            cluster[row] = ("vector", number)
    members: dict[Any, list[int]] = {}
    for row, name in enumerate(cluster):
        members.setdefault(name, []).append(row)
    return [members[name] for name in cluster]


def build(
    ctx: Context, kind: str, n: int, label: str | None = None, query_text: str | None = None, split: str | None = None
) -> Built:
    """Make a query set of a store.

    Parameters
    ----------
    kind
        `template`, `log`, `heldout`, `truncated` or `leave_one_out`.
    n
        Rows drawn, for `template` and `truncated`.
    split
        Time that parts store and queries, for `heldout`; None for the time at which 70 % of the rows were there.

    Raises
    ------
    ConfigError
        Something that this kind needs is not there: says what and which option names it.
    """
    rng = ctx.rng(f"queries-{kind}")
    if kind == "log":
        return builders.from_log(_recalls(ctx))
    rows = builder_rows(ctx, label, query_text)
    if kind == "template":
        return builders.template(rows, n, rng)
    if kind == "truncated":
        return builders.truncated(rows, n, rng)
    name = label or ctx.group_column
    if name is None:
        raise ConfigError(
            say("{kind} needs a column whose values make rows belong together.", kind=kind),
            say("Name it with --label."),
        )
    if kind == "leave_one_out":
        return builders.leave_one_out(rows, name, ctx.roles.value_field)
    return builders.heldout(rows, _split(ctx, rows, split))


def _split(ctx: Context, rows: Sequence[Row], given: str | None) -> float:
    if ctx.roles.time is None:
        raise ConfigError(say("heldout needs the time of writing."), say("Name its column with --set time=COLUMN."))
    if given is not None:
        when = parse_time(given)
        if when is None:
            raise ConfigError(say("--split {given}: no time; expected a date such as 2026-05-01.", given=given))
        return when.timestamp()
    times = sorted(row.time for row in rows if row.time is not None)
    if not times:
        raise ConfigError(
            say("no time in column {time} could be read.", time=ctx.roles.time), say("Give --split TIME.")
        )
    return float(np.quantile(times, SPLIT_SHARE))


def _recalls(ctx: Context) -> list[tuple[str, list[str]]]:
    """Return (query text, keys returned) of the log; rows of one query that follow each other are one recall."""
    log = ctx.log
    if log is None:
        raise ConfigError(say("no table with past recalls was named."), say("Give --set retrieval_log=TABLE."))
    if log.query is None:
        raise ConfigError(
            say("table {name} has no column with the text of the query.", name=log.table.name),
            f"{log.reasons.get('query', '')}".strip() or None,
        )
    texts = log.records.as_texts(log.query)
    refs = log.records.column(log.memory_ref) if log.memory_ref else (None,) * len(texts)
    found: list[tuple[str, list[str]]] = []
    for text, ref in zip(texts, refs, strict=True):
        if not found or found[-1][0] != text:
            found.append((text, []))
        found[-1][1].extend(_keys(ref))
    return found


def _keys(ref: Any) -> list[str]:
    from memaudit.retrieval_log import keys_in

    return [str(key) for key in keys_in(ref)]
