"""Filters of recall that remove nothing, and filters that let nothing through."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.measures.conditions import is_gone_name, is_score_name, read_filters
from memaudit.measures.filter_effect import Effect, NotEvaluated, audited_target, effect_of
from memaudit.model import Cell, Column, Evidence, Example, Finding, ProbeResult, Section, Severity, Table
from memaudit.wording import part_of, plural, say, sentences

#: With fewer rows a filter that keeps or drops all of them is no surprise.
MIN_ROWS = 5
#: Causes that a maintainer can repair; a value that simply is not there may be right.
_FAULTS = frozenset({"type", "path", "notation", "list", "null"})


class FiltersProbe:
    """Every configured filter, tried on the rows it would see."""

    name: ClassVar[str] = "filters"
    title: ClassVar[str] = "Do the filters of recall do anything?"
    codes: ClassVar[Mapping[str, str]] = {"MA604": "filter-keeps-everything", "MA605": "filter-never-matches"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.FILTERS})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[frozenset[str]] = frozenset({"filters", "metadata", "retrieval_log", "isolation_keys"})

    def run(self, ctx: Context) -> ProbeResult:
        """Try every filter and judge what it does."""
        audited = audited_target(ctx)
        tried = [effect_of(ctx, audited, given) for given in read_filters(ctx.config)]
        effects = [e for e in tried if isinstance(e, Effect)]
        problems = [e for e in tried if isinstance(e, NotEvaluated)]
        min_rows = int(ctx.limit("MA604", "min_rows", MIN_ROWS))
        few = [e for e in effects if e.rows < min_rows]
        judged = [e for e in effects if e.rows >= min_rows]
        findings = [_keeps_everything(ctx, e) for e in judged if e.keeps_all and not _takes_gone_rows(ctx, e)]
        for table in dict.fromkeys(e.table for e in judged):
            never = [e for e in judged if e.never and e.table == table]
            if never:
                findings.append(_never_matches(ctx, table, never, len(tried)))
        return ProbeResult(
            tuple(findings),
            (_section(effects),) if effects and _is_whole(ctx, effects) else (),
            not_looked=_not_looked(problems, few, min_rows),
        )


def _is_whole(ctx: Context, effects: Sequence[Effect]) -> bool:
    """Say whether the rows counted are the rows under audit: filters are tried on the store, not on a part of it."""
    return all(e.rows == ctx.records.n_rows for e in effects if e.table == ctx.table_name)


def _takes_gone_rows(ctx: Context, effect: Effect) -> bool:
    """Say whether a filter is there to take deleted rows out: those are not under audit, or there are none yet."""
    marks = {c.lower() for c in (ctx.config.soft_delete, ctx.config.active) if c}
    return bool(effect.names) and all(
        n.lower() in marks or is_gone_name(n) or _is_in(n, ctx.roles.deleted_where) for n in effect.names
    )


def _is_in(name: str, condition: str | None) -> bool:
    return condition is not None and f'"{name.lower()}"' in condition.lower()


def _not_looked(problems: Sequence[NotEvaluated], few: Sequence[Effect], min_rows: int) -> dict[str, tuple[str, str]]:
    reasons = [say("filter {label}: {reason}", label=p.given.label, reason=p.reason) for p in problems]
    reasons += [
        say("filter {label}: {rows} in table {table}, {least} are needed", label=e.given.label,
            rows=plural(e.rows, "row"), table=e.table, least=min_rows)
        for e in few
    ]  # fmt: skip
    if not reasons:
        return {}
    answer = ("; ".join(reasons), problems[0].option if problems else "filters")
    return {"MA604": answer, "MA605": answer}


def _keeps_everything(ctx: Context, effect: Effect) -> Finding:
    keys = {k.lower() for k in ctx.config.isolation_keys or ()}
    separates = effect.open_value or any(n.lower() in keys for n in effect.names)
    is_score = any(is_score_name(n) for n in effect.names)
    if effect.by_other_part:
        title = say(
            "The filter `{label}` keeps all {rows} whatever the open value is: another part of it lets them through.",
            label=effect.given.label,
            rows=plural(effect.rows, "row"),
        )
    elif effect.open_value:
        title = say(
            "The filter `{label}` keeps all {rows}: there is one value only, so it separates nothing.",
            label=effect.given.label,
            rows=plural(effect.rows, "row"),
        )
    else:
        title = say(
            "The filter `{label}` keeps {matching} rows: it removes nothing.",
            label=effect.given.label,
            matching=part_of(effect.rows, effect.rows),
        )
    return Finding(
        "MA604",
        "filter-keeps-everything",
        Severity.MEDIUM if separates or is_score else Severity.LOW,
        {
            "table": effect.table,
            **({"column": effect.names[0]} if len(effect.names) == 1 else {}),
            "filter": effect.given.label,
        },
        title,
        {"rows": effect.rows, "rows_matching": effect.rows},
        Evidence((Example(effect.given.condition, note=say("filter")),), 1),
        fix=say(
            "Find out why no row is ever outside it: a constant that the writer never changes, or a threshold below all "
            "values. Then repair the writer, or take the filter out."
        ),
        caveat=say("Counted over the {rows} of {table} that are not deleted.", rows=plural(effect.rows, "row"),
                   table=effect.table),
        lane="retrieval",
    )  # fmt: skip


def _never_matches(ctx: Context, table: str, never: Sequence[Effect], n_filters: int) -> Finding:
    faults = [e for e in never if e.cause in _FAULTS]
    lead = (faults or list(never))[0]
    rest = len(never) - 1
    notes = []
    if not faults:
        notes.append(say("The values may simply not be there yet: no difference of type, path or notation was found."))
    figures: dict[str, Any] = {
        "rows": lead.rows,
        "filters": n_filters,
        "never_matching": len(never),
        "kinds": dict(Counter(e.cause for e in never)),
    }
    return Finding(
        "MA605",
        "filter-never-matches",
        Severity.HIGH if faults else Severity.MEDIUM,
        {"table": table, "filters": [e.given.label for e in never]},
        say(
            "The filter `{label}` matches none of {rows}: {why}{rest}.",
            label=lead.given.label,
            rows=plural(lead.rows, "row"),
            why=lead.why,
            rest="" if not rest else say("; likewise {rest}", rest=plural(rest, "other filter")),
        ),
        figures,
        Evidence(tuple(Example(e.given.condition, note=e.why) for e in never[: ctx.config.max_examples]), len(never)),
        fix=_fix(lead),
        caveat=sentences(*notes) or None,
        lane="retrieval",
    )


def _fix(effect: Effect) -> str:
    return {
        "type": say(
            "Compare with a value of the stored type, or convert when writing; recall through it finds nothing."
        ),
        "path": say("Read the key from where it is written, or write it where it is read."),
        "notation": say("Bring both sides to one notation where rows are written, and convert those that are there."),
        "list": say("Ask whether the list contains the value instead of comparing the list with it."),
        "null": say("Find out why the column is never filled; until then leave the filter out."),
        "together": say("Check whether the parts of the filter can be true of one row at all."),
    }.get(effect.cause, say("Check that the values are written at all, and in the way in which they are asked for."))


def _reading(effect: Effect) -> str:
    if not effect.rows:
        return say("no rows")
    if effect.never:
        return say("never matches: {why}", why=effect.why)
    if effect.keeps_all:
        return say("keeps everything")
    return say("depends on the value") if effect.matching is None else say("separates")


def _section(effects: Sequence[Effect]) -> Section:
    n_nothing = sum(e.keeps_all for e in effects)
    n_never = sum(e.never for e in effects)
    table = Table(
        "filters",
        say("Rows that each filter keeps; n = {filters}", filters=plural(len(effects), "filter")),
        (
            Column("filter", say("filter"), Cell.CODE),
            Column("table", say("table"), Cell.CODE),
            Column("matching", say("rows kept"), Cell.BAR),
            Column("rows", say("of"), Cell.COUNT),
            Column("reading", say("reading")),
        ),
        tuple(
            {
                "filter": e.given.label,
                "table": e.table,
                "matching": e.matching,
                "rows": e.rows,
                "reading": _reading(e),
                **({"_mark": "hot"} if e.never else {}),
            }
            for e in effects
        ),
        scale=max(e.rows for e in effects) or None,
    )
    return Section(
        "filters",
        say("Filters"),
        say("Does each filter of recall keep some rows and remove others?"),
        say("{filters} tried: {nothing} without effect, {never} without any match.",
            filters=plural(len(effects), "filter"), nothing=n_nothing, never=n_never),
        ("MA604", "MA605"),
        (table,),
        (
            say("Each filter is run as a condition on the rows that are not deleted. A value left open (?) is taken to be "
                "any stored value: such a filter keeps everything when one value stands in all rows, and never matches "
                "when all are NULL."),
            say("Names that are no column are looked up as keys of the JSON column, then in the table of past recalls."),
        ),
    )  # fmt: skip


PROBE = FiltersProbe()
