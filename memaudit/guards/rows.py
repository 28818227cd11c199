"""Join the verdict on a guard with the rows of the store: how many rows could ever enter the branch.

The share always comes from rows. The number of callers on a side says nothing about how often each runs,
so it is never used as a weight.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from memaudit.guards.result import (
    ALWAYS,
    DEAD,
    PARTIAL,
    SIDE_DEAD,
    SIDE_LIVE,
    SIDE_UNKNOWN,
    Guard,
)
from memaudit.wording import say


@dataclass(frozen=True)
class SourceRows:
    """Rows of one value of the source column, and the side of the guard they came by."""

    value: Any
    rows: int
    side: str


@dataclass(frozen=True)
class GuardRows:
    """Figures of one guard over the rows; None is "not measured", with the reason.

    Parameters
    ----------
    rows
        All rows given.
    rows_unreachable, rows_unknown
        Rows that could not enter the branch for sure, and rows of which nobody knows: with the rows
        reaching the branch they make up `rows`.
    rows_reaching_branch
        Rows that could have entered the branch: those of callers on the live side (an upper bound), or
        those whose upstream value makes the guard true.
    share_unreachable
        Share of `rows` that could not, 0..1.
    rows_through_store
        Rows that a known caller wrote through the guarded function.
    rows_left_empty, share_left_empty
        Rows that could not enter the branch and whose stored value is empty all the same: what the
        branch was meant to fill. The share is of `rows`.
    column
        The column that told the sources apart; "" when none was needed.
    sources
        Rows by value of that column, most rows first.
    reason
        Why a figure is None; of a dead guard, how many rows no known caller wrote.
    """

    rows: int
    rows_unreachable: int = 0
    rows_unknown: int = 0
    rows_reaching_branch: int | None = None
    share_unreachable: float | None = None
    rows_through_store: int | None = None
    rows_left_empty: int | None = None
    share_left_empty: float | None = None
    column: str = ""
    sources: tuple[SourceRows, ...] = ()
    reason: str = ""


def guard_rows(
    guard: Guard,
    records: Sequence[Mapping[str, Any]] | None,
    *,
    value_field: str | None = None,
    source_column: str | None = None,
    upstream_column: str | None = None,
    sides: Mapping[Hashable, str] | None = None,
    entered: Sequence[bool | None] | None = None,
) -> GuardRows | None:
    """Count the rows on each side of a guard.

    Parameters
    ----------
    guard
        With its verdict and callers.
    records
        Rows of the store, column name to stored value; None without a store.
    value_field
        Column that the guarded value is stored in; needed for the rows left empty.
    source_column
        Column that says where a row came from. When None, a column is taken that has the name of a
        parameter for which the callers pass constants (`source_type="manual"`) that tell the sides apart.
    upstream_column
        Column that holds the raw value the guard asks about; counted only when no function stands
        between (no producer) - otherwise give `entered`.
    sides
        Side of each value of `source_column` (`dead`, `live`, `unknown`), where the callers do not say.
    entered
        For each row whether the guard is true, from running it on the row's upstream value; None for a
        row that could not be run. Wins over everything else for the rows it answers.

    Returns
    -------
    None without a store. Figures that cannot be counted are None, with the reason; shares of no rows
    are None.
    """
    if records is None:
        return None
    split = _split(guard, records, source_column, upstream_column, sides)
    row_sides = list(split.sides)
    for index, answer in enumerate(entered or ()):
        if answer is not None and index < len(row_sides):
            row_sides[index] = SIDE_LIVE if answer else SIDE_DEAD
    n_rows = len(records)
    n_unknown = row_sides.count(SIDE_UNKNOWN)
    n_live = row_sides.count(SIDE_LIVE)
    known = n_rows > 0 and n_unknown == 0
    reason = ""
    if n_rows == 0:
        reason = say("the store has no rows")
    elif n_unknown:
        why = split.reason or say("where they came from is not known")
        reason = say("{unknown} of {rows} rows: {why}", unknown=n_unknown, rows=n_rows, why=why)
    elif guard.verdict == DEAD and split.through is not None and split.through < n_rows:
        reason = say("{unknown} of {rows} rows: {why}", unknown=n_rows - split.through, rows=n_rows, why=split.reason)
    left = None
    if known and value_field is not None and all(value_field in record for record in records):
        left = sum(
            side == SIDE_DEAD and is_left_empty(record[value_field])
            for side, record in zip(row_sides, records, strict=True)
        )
    return GuardRows(
        rows=n_rows,
        rows_unreachable=n_rows - n_live - n_unknown,
        rows_unknown=n_unknown,
        rows_reaching_branch=n_live if known else None,
        share_unreachable=(n_rows - n_live) / n_rows if known else None,
        rows_through_store=split.through,
        rows_left_empty=left,
        share_left_empty=None if left is None else left / n_rows,
        column=split.column,
        sources=split.sources,
        reason=reason,
    )


@dataclass(frozen=True)
class _Split:
    sides: tuple[str, ...]
    column: str = ""
    through: int | None = None
    sources: tuple[SourceRows, ...] = ()
    reason: str = ""


def _split(
    guard: Guard,
    records: Sequence[Mapping[str, Any]],
    source_column: str | None,
    upstream_column: str | None,
    sides: Mapping[Hashable, str] | None,
) -> _Split:
    n_rows = len(records)
    if guard.verdict == DEAD:
        found = _by_source(guard, records, source_column, sides)
        # Nobody in the tree enters the branch, whoever wrote the row: the column tells only who did. One that no row
        # agrees with is another thing of the same name.
        dead = _Split((SIDE_DEAD,) * n_rows)
        return replace(found, sides=dead.sides) if found is not None and found.through else dead
    if guard.verdict == ALWAYS:
        return _Split((SIDE_LIVE,) * n_rows)
    found = _by_source(guard, records, source_column, sides) if guard.verdict == PARTIAL else None
    if found is not None:
        return found
    if (
        upstream_column is not None
        and not _only_constants(guard, upstream_column)
        and guard.producer is None
        and all(upstream_column in record for record in records)
    ):
        return _Split(
            tuple(SIDE_LIVE if triggers(record[upstream_column], guard.asks) else SIDE_DEAD for record in records),
            upstream_column,
        )
    if guard.verdict == PARTIAL:
        reason = say("no column tells the callers apart (set `source_column`)")
    else:
        reason = say("the verdict is {verdict}", verdict=guard.verdict)
    return _Split((SIDE_UNKNOWN,) * n_rows, reason=reason)


def _only_constants(guard: Guard, column: str) -> bool:
    """Whether the callers fill the column, or all that they pass for the target, with constants: no raw value decides."""
    passes = [dict(caller.passes) for caller in guard.callers]
    filled = column != guard.target and any(column in passed for passed in passes)
    return filled or (bool(passes) and all(guard.target in passed for passed in passes))


def _by_source(
    guard: Guard,
    records: Sequence[Mapping[str, Any]],
    source_column: str | None,
    sides: Mapping[Hashable, str] | None,
) -> _Split | None:
    """Split the rows by the column that tells the callers apart; None when there is none."""
    best: _Split | None = None
    for column in _columns(guard, records, source_column):
        known = dict(sides) if sides and column == source_column else _sides_of_values(guard, column)
        if not known:
            continue
        values = [record.get(column) for record in records]
        row_sides = tuple(known.get(_key(value), SIDE_UNKNOWN) for value in values)
        through = sum(_key(value) in known for value in values)
        counts = Counter(_key(value) for value in values)
        sources = tuple(
            SourceRows(value, n, known.get(value, SIDE_UNKNOWN))
            for value, n in sorted(counts.items(), key=lambda item: (-item[1], str(item[0])))
        )
        split = _Split(row_sides, column, through, sources, say("no known caller writes this {column}", column=column))
        if best is None or row_sides.count(SIDE_UNKNOWN) < best.sides.count(SIDE_UNKNOWN):
            best = split
    return best


def _columns(guard: Guard, records: Sequence[Mapping[str, Any]], source_column: str | None) -> list[str]:
    if source_column is not None:
        return [source_column]
    names = {name for caller in guard.callers for name, _ in caller.passes if name != guard.target}
    return sorted(name for name in names if records and all(name in record for record in records))


def _sides_of_values(guard: Guard, column: str) -> dict[Hashable, str]:
    """Give the side of each constant that the callers pass for a column; {} when one passes no constant."""
    found: dict[Hashable, str] = {}
    for caller in guard.callers:
        passed = dict(caller.passes)
        if column not in passed:
            return {}
        value = _key(passed[column])
        # Two callers with the same constant on different sides: those rows cannot be told apart.
        found[value] = caller.side if found.get(value, caller.side) == caller.side else SIDE_UNKNOWN
    return found


def _key(value: Any) -> Hashable:
    return value if isinstance(value, Hashable) else json.dumps(value, default=str, sort_keys=True)


def triggers(value: Any, asks: str) -> bool:
    """Whether a guard that asks for `none` or `empty` is true for a stored raw value.

    SQL has no empty list: a text is empty only when it has no characters, as in the code.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    return asks != "none" and not value


def is_left_empty(value: Any) -> bool:
    """Whether a stored value says nothing: NULL, NaN, blank text, an empty list or object, JSON `null`."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return True
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return False
    if isinstance(value, str):
        text = "".join(value.split())
        return text in ("", "[]", "{}", "null", '""')
    return isinstance(value, (list, tuple, dict, set)) and not value
