"""Which rows no recall ever returned, by group: from the log of recalls, else from the use counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.measures.group_figures import recalled_rows
from memaudit.model import Cell, Column, Evidence, Example, Finding, ProbeResult, RowsLeftOut, Section, Severity, Table
from memaudit.times import parse_time
from memaudit.wording import part_of, plural, say, sentences

LOW_SHARE, MEDIUM_SHARE = 0.50, 0.80
#: Rows written over fewer days than this had little time to be recalled.
MIN_DAYS = 7.0
#: Groups named in the figures, those with most rows never recalled first.
MAX_GROUPS = 50


#: Groups that the page shows, largest first.
GROUPS_ON_PAGE = 8


@dataclass(frozen=True)
class Use:
    """Which rows were ever recalled.

    Parameters
    ----------
    counted
        Row numbers whose use is known.
    recalled
        Those of them that a recall returned.
    table, column
        Where that is written.
    """

    counted: tuple[int, ...]
    recalled: frozenset[int]
    table: str
    column: str


class RecallCountsProbe:
    """Rows that were recalled and rows that never were."""

    name: ClassVar[str] = "recall-counts"
    title: ClassVar[str] = "Which memories were ever recalled?"
    codes: ClassVar[Mapping[str, str]] = {"MA310": "never-recalled"}
    #: Either a counter or a log will do, which `needs` cannot say.
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[frozenset[str]] = frozenset({"hits", "retrieval_log", "group_field", "value_field", "time"})

    def run(self, ctx: Context) -> ProbeResult:
        """Count the rows that no recall returned."""
        notes = _dead_counter_note(ctx)
        use = _use(ctx)
        if not isinstance(use, Use):
            return ProbeResult(not_looked={"MA310": use}, notes=notes)
        never = [row for row in use.counted if row not in use.recalled]
        n = len(use.counted)
        figures: dict[str, Any] = {"never_hit": len(never), "share_never_hit": len(never) / n}
        counted = set(use.counted)
        unknown = [row for row in range(ctx.records.n_rows) if row not in counted]
        left_out = (
            (
                RowsLeftOut(
                    len(unknown),
                    say("rows whose use counter holds no number"),
                    tuple(ctx.records.keys[r] for r in unknown),
                ),
            )
            if unknown
            else ()
        )
        groups = _groups(ctx, use)
        section = _section(ctx, use, never, groups)
        findings = (_finding(ctx, use, never, groups),) if never else ()
        return ProbeResult(findings, (section,), figures, notes, left_out=left_out)


def _use(ctx: Context) -> Use | tuple[str, str]:
    """Return which rows were recalled, or why that is not known and what would tell."""
    every = tuple(range(ctx.records.n_rows))
    if ctx.log is not None and ctx.log.memory_ref is not None:
        if not ctx.log.n_rows:
            return say("table {table} holds no recalls yet", table=ctx.log.table.name), "retrieval_log"
        recalled = recalled_rows(ctx) or frozenset()
        if not recalled and ctx.log.recalled_keys():
            return (
                say("none of the keys in {table} is a key of a row under audit", table=ctx.log.table.name),
                "retrieval_log",
            )
        return Use(every, recalled, ctx.log.table.name, ctx.log.memory_ref)
    if ctx.hits is None or ctx.roles.hits is None:
        missing = ctx.missing(Need.HITS)
        return missing if missing is not None else (say("use is not recorded"), "hits")
    counted = tuple(row for row in every if ctx.hits[row] is not None)
    if not counted:
        return say("the use counter `{column}` holds no numbers", column=ctx.roles.hits), "hits"
    if _is_dead(ctx):
        reason = say(
            "the use counter `{column}` holds the same value in every row, so crossing quality with use is meaningless",
            column=ctx.roles.hits,
        )
        return reason, "retrieval_log"
    recalled = frozenset(row for row in counted if (ctx.hits[row] or 0) > 0)
    return Use(counted, recalled, ctx.table_name, ctx.roles.hits)


def _is_dead(ctx: Context) -> bool:
    return ctx.hits is not None and len({h for h in ctx.hits if h is not None}) == 1


def _dead_counter_note(ctx: Context) -> tuple[str, ...]:
    if not _is_dead(ctx):
        return ()
    return (
        say("The use counter `{column}` holds one value everywhere: groups were not crossed with it.",
            column=ctx.roles.hits),
    )  # fmt: skip


def _groups(ctx: Context, use: Use) -> list[dict[str, Any]]:
    """Count rows and rows never recalled by value of the group field, most never recalled first."""
    counted = set(use.counted)
    found = []
    for value, rows in ctx.groups.items():
        known = [r for r in rows.tolist() if r in counted]
        if known:
            n_never = sum(r not in use.recalled for r in known)
            found.append({"value": value, "rows": len(known), "never": n_never, "recalled": len(known) - n_never})
    return sorted(found, key=lambda g: -int(g["never"]))


def _days(ctx: Context) -> float | None:
    if ctx.roles.time is None:
        return None
    times = [t for t in map(parse_time, ctx.records.column(ctx.roles.time)) if t is not None]
    return (max(times) - min(times)).total_seconds() / 86_400 if times else None


def severity_of(share: float, days: float | None, limits: tuple[float, float, float]) -> Severity:
    """Judge the share of rows never recalled; `limits` are low share, medium share, days.

    A young store, or one whose age is not known, has had no chance yet: it is `low` at most.
    """
    low, medium, min_days = limits
    if share >= medium and days is not None and days >= min_days:
        return Severity.MEDIUM
    return Severity.LOW if share >= low else Severity.INFO


def _finding(ctx: Context, use: Use, never: Sequence[int], groups: Sequence[Mapping[str, Any]]) -> Finding:
    n = len(use.counted)
    days = _days(ctx)
    limits = (
        ctx.limit("MA310", "low_share", LOW_SHARE),
        ctx.limit("MA310", "medium_share", MEDIUM_SHARE),
        ctx.limit("MA310", "min_days", MIN_DAYS),
    )
    severity = severity_of(len(never) / n, days, limits)
    whole = [g for g in groups if not g["recalled"]]
    notes = [
        say("Low from {low:.0f} %, medium from {medium:.0f} % when the rows were written over at least {days:g} days.",
            low=100 * limits[0], medium=100 * limits[1], days=limits[2])
    ]  # fmt: skip
    if days is None:
        notes.append(say("How old the rows are is not known."))
    if n < ctx.records.n_rows:
        notes.append(say("{rows} without a count are left out.", rows=plural(ctx.records.n_rows - n, "row")))
    if len(groups) > MAX_GROUPS:
        notes.append(say("The figures name {shown} of {all} groups.", shown=MAX_GROUPS, all=len(groups)))
    title = say("{never} rows were never recalled", never=part_of(len(never), n))
    if whole:
        title += say("; of {groups}, {none} had no recall at all",
                     groups=plural(len(groups), "group"), none=len(whole))  # fmt: skip
    return Finding(
        "MA310",
        "never-recalled",
        severity,
        {"table": use.table, "column": use.column},
        title + say("."),
        {
            "rows": n,
            "never_hit": len(never),
            "share_never_hit": len(never) / n,
            "days_covered": days,
            "groups_never_hit": len(whole) if groups else None,
            "groups": {
                str(g["value"]): {
                    "rows": g["rows"],
                    "never_hit": g["never"],
                    "share_never_hit": g["never"] / g["rows"],
                }
                for g in groups[:MAX_GROUPS]
            },
        },
        Evidence(
            tuple(Example(ctx.records.texts[r], ctx.records.keys[r]) for r in never[: ctx.config.max_examples]),
            len(never),
            tuple(ctx.records.keys[r] for r in never),
        ),
        fix=""
        if severity is Severity.INFO
        else say(
            "Look at a few of them: are they written in words that no query uses, or about things that never come up? "
            "The first is a matter of retrieval, the second of what is stored."
        ),
        caveat=sentences(*notes),
        lane="retrieval",
    )


def _section(ctx: Context, use: Use, never: Sequence[int], groups: Sequence[Mapping[str, Any]]) -> Section:
    n = len(use.counted)
    tables = []
    if groups:
        by_size = sorted(groups, key=lambda g: -int(g["rows"]))
        tables.append(
            Table(
                "use-by-group",
                say("Rows ever recalled by `{column}`, largest group first; n = {groups}",
                    column=ctx.group_column, groups=plural(len(groups), "group")),
                (
                    Column("value", str(ctx.group_column), Cell.VALUE),
                    Column("rows", say("rows"), Cell.COUNT),
                    Column("recalled", say("ever recalled"), Cell.COUNT),
                    Column("never", say("never recalled"), Cell.BAR),
                ),
                tuple(dict(g) for g in by_size),
                show=GROUPS_ON_PAGE,
            )
        )  # fmt: skip
    return Section(
        "use",
        say("Recalled and never recalled"),
        say("Which memories did a recall ever return?"),
        say("{recalled} rows were ever recalled.", recalled=part_of(n - len(never), n)),
        ("MA310",),
        tuple(tables),
        (say("Use is read from `{column}` of table {table}.", column=use.column, table=use.table),),
    )


PROBE = RecallCountsProbe()
