"""Repeat the probes' tables for parts of the store: `--by COLUMN`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from memaudit.context import Context
from memaudit.model import NotRun, ProbeResult, Section
from memaudit.probe_run import Progress, outcome
from memaudit.records import IntArray
from memaudit.registry import Probe
from memaudit.text import language
from memaudit.wording import part_of, plural, say

#: Values of a `--by` column that get tables of their own, most frequent first.
MAX_PARTS = 6


def breakdowns(
    ctx: Context, probes: Sequence[Probe], results: Mapping[str, ProbeResult], tell: Progress
) -> list[Section]:
    """Repeat every probe's tables for the parts of each `--by` column."""
    sections: list[Section] = []
    for column in ctx.config.by or ():
        parts = _parts(ctx, column)
        for value, rows in parts[:MAX_PARTS]:
            part = ctx.restricted(rows)
            tell(say("by {column}: {value}", column=column, value=str(value)))
            for probe in probes:
                if probe.name not in results or not results[probe.name].sections:
                    continue
                part_result = outcome(part, probe, tuple(probe.codes))
                if isinstance(part_result, NotRun):
                    continue
                sections += [_part_section(s, column, value, len(rows)) for s in part_result.sections]
    return sections


def rows_without_tables(ctx: Context) -> tuple[str, ...]:
    """Say for each `--by` column how many rows its tables leave out: rarer values, and rows without a value."""
    notes = []
    for column in ctx.config.by or ():
        parts = _parts(ctx, column)
        shown = sum(len(rows) for _, rows in parts[:MAX_PARTS])
        rarer = sum(len(rows) for _, rows in parts[MAX_PARTS:])
        empty = ctx.records.n_rows - shown - rarer
        left = []
        if rarer:
            others = plural(len(parts) - MAX_PARTS, "rarer value")
            left.append(say("{rows} of {others}", rows=plural(rarer, "row"), others=others))
        if empty:
            left.append(say("{rows} without a value", rows=plural(empty, "row")))
        if left:
            notes.append(
                say(
                    "Tables by `{column}` cover {part} rows; not in them: {left}.",
                    column=column,
                    part=part_of(shown, ctx.records.n_rows),
                    left=", ".join(left),
                )
            )
    return tuple(notes)


def _parts(ctx: Context, column: str) -> list[tuple[Any, IntArray]]:
    if column == "language" and "language" not in ctx.records.column_names:
        rows: dict[str, list[int]] = {}
        for row, text in enumerate(ctx.records.texts):
            rows.setdefault(language(text), []).append(row)
        ordered = sorted(rows.items(), key=lambda item: -len(item[1]))
        return [(value, np.array(found, dtype=np.int64)) for value, found in ordered]
    return list(ctx.rows_by_value(column).items())


def _part_section(section: Section, column: str, value: Any, n_rows: int) -> Section:
    name = f"{section.key}[{column}={value}]"
    tables = tuple(replace(t, name=f"{t.name}[{column}={value}]") for t in section.tables)
    title = say(
        "{title}: {column} = {value}, {rows}",
        title=section.title,
        column=column,
        value=str(value),
        rows=plural(n_rows, "row"),
    )
    return replace(section, key=name, title=title, tables=tables, examples=())
