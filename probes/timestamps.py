"""Whether one column of times speaks one language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.measures.time_notations import TIMES, Notation, WrittenTime, rows_sorted_wrong, written_time
from memaudit.model import Cell, Column, Evidence, Example, Finding, ProbeResult, Section, Severity, Table
from memaudit.wording import part_of, percent, plural, say, sentences

#: Share of the rows that must be moved after sorting as stored from which on MA008 is high: one in twenty rows of
#: "the newest first" is then not.
WRONG_ORDER_SHARE = 0.05
#: Share of unreadable or impossible times from which on they are medium by themselves.
BROKEN_SHARE = 0.05
#: Below this share of rows in another notation a mixture that sorts well is low.
ODD_SHARE = 0.01
#: Share of missing times that is let pass: rows from before the column was added.
MISSING_SHARE = 0.20
#: Clocks and zones differ: a time is in the future from a day ahead on.
_TOLERANCE = timedelta(days=1)
_FIRST = datetime(1971, 1, 1, tzinfo=timezone.utc)


@dataclass(frozen=True)
class TimeColumn:
    """What a column of times holds.

    Parameters
    ----------
    counts
        Rows by notation, all notations.
    before_1971, in_the_future
        Row numbers, whatever their notation.
    sorted_wrong
        Rows in a wrong place after sorting the column as stored.
    n_read
        Rows whose moment is known.
    n_offsets
        Different offsets from UTC among the ISO texts.
    """

    counts: Mapping[Notation, int]
    notations: tuple[Notation, ...]
    before_1971: tuple[int, ...]
    in_the_future: tuple[int, ...]
    sorted_wrong: int
    n_read: int
    n_offsets: int

    @property
    def in_use(self) -> tuple[Notation, ...]:
        """Notations of readable times, most frequent first."""
        return tuple(sorted((n for n in TIMES if self.counts[n]), key=lambda n: -self.counts[n]))


def time_column(stored: Sequence[Any], now: datetime) -> TimeColumn:
    """Read a column of times.

    Parameters
    ----------
    stored
        Values as stored.
    now
        Aware; what lies more than a day later is in the future.
    """
    written: list[WrittenTime] = [written_time(value) for value in stored]
    counts = Counter(w.notation for w in written)
    moments = [w.moment for w in written]
    return TimeColumn(
        {n: counts[n] for n in Notation},
        tuple(w.notation for w in written),
        tuple(i for i, m in enumerate(moments) if m is not None and m < _FIRST),
        tuple(i for i, m in enumerate(moments) if m is not None and m > now + _TOLERANCE),
        rows_sorted_wrong(stored, moments),
        sum(m is not None for m in moments),
        len({w.offset for w in written if w.offset is not None}),
    )


def judged(
    found: TimeColumn, *, wrong_order_share: float, broken_share: float, missing_share: float
) -> Severity | None:
    """Judge a column of times; None where it speaks one language.

    Parameters
    ----------
    wrong_order_share
        Share of rows sorted wrong from which on a mixture is `high`.
    broken_share
        Share of unreadable and impossible times from which on they are `medium`, else `low`.
    missing_share
        Share of missing times from which on they are `low` by themselves.
    """
    n = len(found.notations)
    severities = []
    order_share = found.sorted_wrong / found.n_read if found.n_read else 0.0
    if len(found.in_use) > 1:
        others = sum(found.counts[notation] for notation in found.in_use[1:])
        usual = Severity.MEDIUM if others / n >= ODD_SHARE else Severity.LOW
        severities.append(Severity.HIGH if order_share >= wrong_order_share else usual)
    elif found.n_offsets > 1 and order_share >= wrong_order_share:
        severities.append(Severity.MEDIUM)
    broken = found.counts[Notation.UNPARSEABLE] + len(found.before_1971) + len(found.in_the_future)
    if broken and found.in_use:
        severities.append(Severity.MEDIUM if broken / n >= broken_share else Severity.LOW)
    empty = found.counts[Notation.EMPTY]
    if found.in_use and empty / n >= missing_share:
        severities.append(Severity.LOW)
    return max(severities, default=None)


class Timestamps:
    """MA008."""

    name: ClassVar[str] = "timestamps"
    title: ClassVar[str] = "Are the times written in one way?"
    codes: ClassVar[Mapping[str, str]] = {"MA008": "timestamps-mixed"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.TIME})
    lanes: ClassVar[tuple[str, ...]] = ("data collection",)

    def run(self, ctx: Context) -> ProbeResult:
        """Read the column with the time of writing."""
        stored = ctx.records.column(str(ctx.roles.time))
        found = time_column(stored, datetime.now(timezone.utc))
        severity = judged(
            found,
            wrong_order_share=ctx.limit("MA008", "wrong_order_share", WRONG_ORDER_SHARE),
            broken_share=ctx.limit("MA008", "broken_share", BROKEN_SHARE),
            missing_share=ctx.limit("MA008", "missing_share", MISSING_SHARE),
        )
        if severity is None:
            return ProbeResult()
        finding = _finding(ctx, stored, found, severity)
        return ProbeResult((finding,), (_section(ctx, stored, found, finding),))


_LABELS = {
    Notation.ISO_UTC: "ISO in UTC",
    Notation.ISO_WITH_OFFSET: "ISO with an offset",
    Notation.ISO_WITHOUT_ZONE: "ISO without a zone",
    Notation.EPOCH_SECONDS: "epoch in seconds",
    Notation.EPOCH_MILLISECONDS: "epoch in milliseconds",
    Notation.EPOCH_FINER: "epoch in micro- or nanoseconds",
    Notation.LOCAL: "another format",
    Notation.UNPARSEABLE: "not readable",
    Notation.EMPTY: "missing",
}


def _title(ctx: Context, found: TimeColumn) -> str:
    parts = []
    ways = [say("{n} {notation}", n=found.counts[n], notation=say(_LABELS[n])) for n in found.in_use]
    if len(ways) > 1:
        parts.append(say("`{column}` is written in {n} ways: {ways}.", column=ctx.roles.time, n=len(ways),
                         ways=say(", ").join(ways)))  # fmt: skip
    elif found.n_offsets > 1:
        parts.append(say("`{column}` is written with {n} different zones.", column=ctx.roles.time, n=found.n_offsets))
    if found.sorted_wrong and (len(ways) > 1 or found.n_offsets > 1):
        parts.append(say("Sorted as stored, {rows} stand in a wrong place.",
                         rows=part_of(found.sorted_wrong, found.n_read)))  # fmt: skip
    n = len(found.notations)
    others = [
        (found.counts[Notation.UNPARSEABLE], say("not readable")),
        (len(found.before_1971), say("before 1971")),
        (len(found.in_the_future), say("in the future")),
        (found.counts[Notation.EMPTY], say("missing")),
    ]
    shown = say(", ").join(say("{n} {state}", n=count, state=word) for count, word in others if count)
    if shown:
        parts.append(say("Of {n} times in `{column}`: {shown}.", n=n, column=ctx.roles.time, shown=shown))
    return sentences(*parts)


def _odd_rows(found: TimeColumn) -> list[int]:
    """Return rows that are not in the main notation, are not readable, or name an impossible time."""
    main = found.in_use[0]
    odd = {i for i, n in enumerate(found.notations) if n not in (main, Notation.EMPTY)}
    return sorted(odd | set(found.before_1971) | set(found.in_the_future))


def _finding(ctx: Context, stored: Sequence[Any], found: TimeColumn, severity: Severity) -> Finding:
    rows = _odd_rows(found)
    shown: dict[Notation, int] = {}
    for i in rows:
        shown.setdefault(found.notations[i], i)
    first = [*shown.values(), *(i for i in rows if i not in shown.values())][: ctx.config.max_examples]
    figures = {
        "rows": len(found.notations),
        **{n.value: found.counts[n] for n in Notation if n is not Notation.EPOCH_FINER},
        "before_1971": len(found.before_1971),
        "in_the_future": len(found.in_the_future),
        "notations": len(found.in_use),
        "rows_sorted_wrong": found.sorted_wrong,
    }
    if found.counts[Notation.EPOCH_FINER]:
        figures["epoch_finer"] = found.counts[Notation.EPOCH_FINER]
    wrong = ctx.limit("MA008", "wrong_order_share", WRONG_ORDER_SHARE)
    broken = ctx.limit("MA008", "broken_share", BROKEN_SHARE)
    missing = ctx.limit("MA008", "missing_share", MISSING_SHARE)
    return Finding(
        "MA008",
        "timestamps-mixed",
        severity,
        {"table": ctx.table_name, "column": ctx.roles.time},
        _title(ctx, found),
        figures,
        Evidence(
            tuple(Example(str(stored[i]), ctx.records.keys[i], say(_LABELS[found.notations[i]])) for i in first),
            len(rows),
            tuple(ctx.records.keys[i] for i in rows),
        ),
        fix=say("Write one notation, ISO 8601 in UTC or epoch seconds, in one place of the code, and convert the rows "
                "listed here. Until then, do not sort, filter or expire by this column."),
        caveat=say("High when several notations put {wrong:.3g} % of the rows in a wrong place, else medium (low below 1 % of the rows); a single "
                   "notation is reported for times that cannot be read or cannot be true (medium from {broken:.3g} %, "
                   "else low) or when {missing:.3g} % are missing. A time without a zone is taken as UTC; the future "
                   "begins a day after this audit.",
                   wrong=100 * wrong, broken=100 * broken, missing=100 * missing),
        lane="data collection",
    )  # fmt: skip


def _section(ctx: Context, stored: Sequence[Any], found: TimeColumn, finding: Finding) -> Section:
    n = len(found.notations)
    example = {notation: i for i, notation in reversed(list(enumerate(found.notations)))}
    rows: list[dict[str, Any]] = [
        {
            "notation": say(_LABELS[notation]),
            "rows": found.counts[notation],
            "share": found.counts[notation] / n,
            "example": None if stored[example[notation]] is None else str(stored[example[notation]]),
        }
        for notation in (*found.in_use, Notation.UNPARSEABLE, Notation.EMPTY)
        if found.counts[notation]
    ]
    for row in rows[1:]:
        row["_mark"] = "hot"
    table = Table(
        "time-notations",
        say("Notations of `{column}`, {rows}", column=ctx.roles.time, rows=plural(n, "row")),
        (
            Column("notation", say("notation"), Cell.TEXT),
            Column("rows", say("rows"), Cell.BAR),
            Column("share", say("share"), Cell.SHARE),
            Column("example", say("first example"), Cell.VALUE),
        ),
        tuple(rows),
        scale=float(n),
    )
    order = say("Sorted as stored: {share} of the rows with a readable time stand in a wrong place (rows to take out "
                "so that the others are in order).", share=percent(found.sorted_wrong, found.n_read))  # fmt: skip
    return Section(
        "timestamps",
        say("Notations of the time column"),
        say("Can the rows be sorted and filtered by their time?"),
        finding.title,
        ("MA008",),
        (table,),
        (order, finding.caveat or ""),
        finding.evidence.shown,
    )


PROBE = Timestamps()
