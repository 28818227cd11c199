"""Tables of the page: cells with their numbers, and the geometry of bars and spans in per cent.

The table is the chart: a bar or a span is a picture beside its number, drawn in percent coordinates.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memaudit.model import Cell, Column, Json, Table
from memaudit.reports.shown_numbers import cosine, is_number, number, share
from memaudit.reports.shown_text import Shown, common_prefix, shown
from memaudit.wording import say

_NUMERIC = frozenset({Cell.COUNT, Cell.SHARE, Cell.COSINE, Cell.NUMBER})
# A span keeps this free on both sides of its axis, so that ring and dot are never cut.
_MARGIN = 3.0


@dataclass(frozen=True)
class Caps:
    """How much of each list is shown; everything else stands in report.json."""

    rows: int = 50
    text: int = 200
    prose: int = 2000
    findings: int = 50
    sections: int = 40
    tables: int = 8
    columns: int = 12
    examples: int = 2
    figures: int = 40
    groups: int = 6
    keys: int = 5
    notes: int = 50
    breakdowns: int = 20
    shortened: bool = False


@dataclass(frozen=True)
class Head:
    """Head of a column; `picture` over bars and spans, `hidden` where only a voice reads it."""

    label: str
    numeric: bool = False
    picture: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class CellView:
    """One cell: `kind` is text, value, code, number, bar, span or parts, and only its own fields are set."""

    kind: str
    text: str = ""
    shown: Shown = field(default_factory=lambda: Shown(""))
    parts: tuple[tuple[Shown, bool], ...] = ()
    start: float | None = None
    end: float | None = None
    reference: float | None = None


@dataclass(frozen=True)
class TableView:
    """A table ready to be written down."""

    caption: str
    notes: tuple[str, ...]
    prefix: Shown | None
    heads: tuple[Head, ...]
    rows: tuple[tuple[bool, tuple[CellView, ...]], ...]
    more: int
    columns_more: int


class _Layout(NamedTuple):
    """What all cells of a table share: scale, axis, the folded prefix and the numbers printed elsewhere."""

    scale: float
    axis: tuple[float, float]
    reference: float | None
    prefix: str
    printed: frozenset[tuple[str, int]]


def table_view(table: Table, caps: Caps) -> TableView:
    """Lay out a table: the first `caps.rows` rows; scale, axis and prefix are taken from all of them."""
    columns = table.columns[: caps.columns]
    n_rows = min(caps.rows, table.show or caps.rows)
    prefix = _prefix(table)
    layout = _Layout(
        scale=_scale(table),
        axis=_axis(table),
        reference=float(table.reference) if is_number(table.reference) and table.reference is not None else None,
        prefix=prefix,
        printed=frozenset(
            (column.key, side)
            for column in columns
            if column.cell is Cell.SPAN
            for side in (0, 1)
            if _printed_elsewhere(column, side, table)
        ),
    )
    rows = tuple(
        (
            bool(row.get("_mark")),
            tuple(
                cell
                for column in columns
                for cell in _cells(column, row, _base(row, table, row.get(column.key)), layout, caps)
            ),
        )
        for row in table.rows[:n_rows]
    )
    notes = _notes(table, columns, layout)
    ended = not table.caption or table.caption.endswith((".", "!", "?", "。")) or not (notes or prefix)
    return TableView(
        caption=table.caption if ended else table.caption + say("."),
        notes=notes,
        prefix=shown(prefix, 80) if prefix else None,
        heads=tuple(head for column in columns for head in _heads(column, layout)),
        rows=rows,
        more=max(0, len(table.rows) - n_rows),
        columns_more=max(0, len(table.columns) - caps.columns),
    )


def _prefix(table: Table) -> str:
    """Return what all stored texts of the table begin with; one prefix in the caption is clear, two are not."""
    keys = [column.key for column in table.columns if column.cell is Cell.VALUE]
    values = [row.get(key) for row in table.rows for key in keys]
    texts = [value for value in values if isinstance(value, str)]
    # A row without text does not share the prefix.
    return common_prefix(texts) if len(texts) == len(values) else ""


def _scale(table: Table) -> float:
    """Full length of a bar: the scale, else the largest value; never shorter than the reference line."""
    if table.scale is not None and is_number(table.scale) and table.scale > 0:
        return float(table.scale)
    keys = [column.key for column in table.columns if column.cell is Cell.BAR]
    values = [float(row[key]) for key in keys for row in table.rows if is_number(row.get(key))]
    if values and is_number(table.reference) and table.reference is not None:
        values.append(float(table.reference))
    return max([value for value in values if value > 0], default=1.0)


def _axis(table: Table) -> tuple[float, float]:
    """Give the axis of spans: 0.60 to 1.00, its low end moved down in steps of 0.1 to the lowest value."""
    values = [
        float(value)
        for column in table.columns
        if column.cell is Cell.SPAN
        for row in table.rows
        for value in _pair(row.get(column.key))
        if value is not None
    ]
    if values and is_number(table.reference) and table.reference is not None:
        values.append(float(table.reference))
    lowest = min(values, default=0.6)
    return (0.6 if lowest >= 0.6 else max(-1.0, math.floor(round(lowest * 10, 6)) / 10)), 1.0


def _pair(value: Json) -> tuple[float | None, float | None]:
    if isinstance(value, Sequence) and not isinstance(value, str) and len(value) == 2:
        low, mean = (float(part) if is_number(part) else None for part in value)
        return low, mean
    return None, None


def _printed_elsewhere(column: Column, side: int, table: Table) -> bool:
    """Whether a column of cosines already prints what one side of each span draws."""
    return any(
        other.cell is Cell.COSINE and all(row.get(other.key) == _pair(row.get(column.key))[side] for row in table.rows)
        for other in table.columns
    )


def _heads(column: Column, layout: _Layout) -> list[Head]:
    label = shown(column.label, 80).text or say("column")
    if column.cell is Cell.BAR:
        return [
            Head(label, numeric=True),
            Head(say("{label}, drawn", label=label), picture=True, hidden=True),
        ]
    if column.cell is Cell.SPAN:
        sides = [Head(say("min"), numeric=True), Head(say("mean"), numeric=True)]
        return [Head(label, picture=True)] + [
            head for side, head in enumerate(sides) if (column.key, side) not in layout.printed
        ]
    return [Head(label, numeric=column.cell in _NUMERIC)]


def _cells(column: Column, row: Mapping[str, Json], base: int | None, layout: _Layout, caps: Caps) -> list[CellView]:
    value = row.get(column.key)
    if column.cell is Cell.BAR:
        text = share(value, base) if layout.scale == 1 and isinstance(value, float) else number(value)
        bar = CellView("bar", end=_percent(value, layout.scale), reference=_percent(layout.reference, layout.scale))
        return [_number(text), bar]
    if column.cell is Cell.SPAN:
        pair = _pair(value)
        start, end, line = (_on_axis(part, layout.axis) for part in (*pair, layout.reference))
        span = CellView("span", start=start, end=end, reference=line)
        return [span] + [
            _number(cosine(part)) for side, part in enumerate(pair) if (column.key, side) not in layout.printed
        ]
    if value is None:
        return [_number("-") if column.cell in _NUMERIC else CellView("text", "-")]
    if column.cell is Cell.VALUE:
        rest = value[len(layout.prefix) :] if layout.prefix else value
        return [CellView("value", shown=shown(rest, caps.text), text="…" if layout.prefix else "")]
    if column.cell is Cell.PARTS:
        parts = value if isinstance(value, Sequence) and not isinstance(value, str) else ()
        return [CellView("parts", parts=tuple((shown(text, caps.text), bool(same)) for text, same in parts))]
    if column.cell is Cell.CODE:
        return [CellView("code", shown=shown(value, caps.text))]
    if column.cell is Cell.SHARE:
        return [_number(share(value, base))]
    if column.cell is Cell.COSINE:
        return [_number(cosine(value))]
    if column.cell in _NUMERIC:
        return [_number(number(value))]
    return [CellView("text", text=value if isinstance(value, str) else number(value))]


def _number(text: str) -> CellView:
    return CellView("number", shown(text, 60).text)


def _base(row: Mapping[str, Json], table: Table, value: Json = None) -> int | None:
    """Give the count that a share of the row was taken of: below 20 it is shown without decimals.

    A count of the row divided by the share gives it, where that is a whole number not below the count; the
    smallest such number is taken. Else the largest count of the row.
    """
    counts = [row.get(column.key) for column in table.columns if column.cell in (Cell.COUNT, Cell.BAR)]
    whole = [count for count in counts if isinstance(count, int) and not isinstance(count, bool)]
    if is_number(value) and 0 < value <= 1:
        found = [
            n for count in whole if count and abs((n := round(count / value)) * value - count) < 1e-6 and n >= count
        ]
        if found:
            return int(min(found))
    return max(whole, default=None)


def _percent(value: Any, scale: float) -> float | None:
    return round(100 * min(1.0, max(0.0, float(value) / scale)), 2) if is_number(value) else None


def _on_axis(value: float | None, axis: tuple[float, float]) -> float | None:
    if value is None or not is_number(value):
        return None
    low, high = axis
    inside = min(1.0, max(0.0, (value - low) / (high - low)))
    return round(_MARGIN + (100 - 2 * _MARGIN) * inside, 2)


def _notes(table: Table, columns: Sequence[Column], layout: _Layout) -> tuple[str, ...]:
    """Say how to read the pictures: scale, axis and dashed line."""
    cells = {column.cell for column in columns}
    notes = []
    if Cell.BAR in cells:
        notes.append(say("Bars: 0 to {scale}.", scale="100 %" if layout.scale == 1 else number(layout.scale)))
    if Cell.SPAN in cells:
        low, high = layout.axis
        notes.append(say("Axis {low:.2f} to {high:.2f}: ring = lowest pair, dot = mean.", low=low, high=high))
    if layout.reference is not None and cells & {Cell.BAR, Cell.SPAN}:
        line = f"{layout.reference:.2f}" if Cell.SPAN in cells else number(layout.reference)
        if table.reference_label:
            notes.append(say("Dashed line: {label} ({line}).", label=table.reference_label, line=line))
        else:
            notes.append(say("Dashed line: {line}.", line=line))
    return tuple(notes)
