"""Stored text that gives orders to the agent: candidates for a person."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.model import (
    Cell,
    Column,
    Evidence,
    Example,
    Finding,
    ProbeResult,
    Proposal,
    Section,
    Severity,
    Table,
)
from memaudit.text.orders import Order, orders
from memaudit.wording import part_of, plural, say, sentences

MAX_ROWS_SHOWN = 20

#: Sources that speak for the owner of the agent: an order of theirs may be meant.
#: Names of columns that say how a row came in, where no column is called a source.
_WAY_IN = re.compile(
    r"(?:in(?:put|gest|gestion)?_?)?channel|(?:captured|ingested|imported|retrieved|received|collected|fetched|learned)_?(?:from|via)|来源|渠道|出处",
    re.IGNORECASE,
)
_OWN_SOURCE = re.compile(
    r"(?:(?:the|by|from)[ _-])?(?:user|owner|human|manual|admin|operator|self|chat|conversation|dialog(?:ue)?|用户|主人|人工|手动|对话|聊天|本人)"
    r"(?:[ _-]?(?:message|input|note|turn|chat|消息|输入))?",
    re.IGNORECASE,
)


class Instructions:
    """MA804."""

    name: ClassVar[str] = "instructions"
    title: ClassVar[str] = "Does stored text give orders to the agent?"
    codes: ClassVar[Mapping[str, str]] = {"MA804": "instruction-in-store"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.TEXT})
    lanes: ClassVar[tuple[str, ...]] = ("data collection",)
    reads: ClassVar[frozenset[str]] = frozenset({"source"})

    def run(self, ctx: Context) -> ProbeResult:
        """Read every text, and say where the candidates came from."""
        found = orders_by_row(ctx.records.texts)
        if not found:
            return ProbeResult()
        sources = _sources(ctx, list(found))
        finding = _finding(ctx, found, sources)
        proposal = Proposal(
            "review",
            finding.evidence.ids,
            say("reads like an order to the agent: a person decides whether it may stay"),
            "MA804",
        )
        return ProbeResult((finding,), (_section(ctx, found, sources, finding),), proposals=(proposal,))


def orders_by_row(texts: Sequence[str]) -> dict[int, list[Order]]:
    """Return the orders of each row that holds some, in row order; equal texts are read once."""
    seen: dict[str, list[Order]] = {}
    for text in texts:
        if text not in seen:
            seen[text] = orders(text)
    return {row: seen[text] for row, text in enumerate(texts) if seen[text]}


def _sources(ctx: Context, rows: Sequence[int]) -> dict[int, Any] | None:
    """Return the source of each row; None when no column says it."""
    name = ctx.roles.source or _column_of_ways_in(ctx)
    if name is None:
        return None
    column = ctx.records.column(name)
    return {row: column[row] for row in rows}


def _column_of_ways_in(ctx: Context) -> str | None:
    """Find a column that says by which way rows came in; one with a single value tells no way from another."""
    for name in ctx.records.column_names:
        if _WAY_IN.fullmatch(name) and len(set(ctx.records.column(name)) - {None, ""}) > 1:
            return name
    return None


def only_source(sources: Mapping[int, Any] | None) -> Any:
    """Return the one source of all rows; None when there are several, none, or it is not known."""
    values = set(sources.values()) if sources else set()
    return next(iter(values)) if len(values) == 1 else None


def severity_of(n_candidates: int, source: Any) -> Severity:
    """Say how bad it is: one outside source of several orders looks like an attack; the owner's own may be meant."""
    if source is None:
        return Severity.MEDIUM
    if _OWN_SOURCE.fullmatch(str(source).strip()):
        return Severity.LOW
    return Severity.HIGH if n_candidates >= 2 else Severity.MEDIUM


def _finding(ctx: Context, found: Mapping[int, Sequence[Order]], sources: Mapping[int, Any] | None) -> Finding:
    n, keys, texts = ctx.records.n_rows, ctx.records.keys, ctx.records.texts
    source = only_source(sources)
    by_kind = Counter(order.kind for row in found.values() for order in row)
    title = say("{rows} rows read like orders to the agent.", rows=part_of(len(found), n))
    if source is not None and len(found) > 1:
        title = say("{rows} rows read like orders to the agent, all from the source `{source}`.",
                    rows=part_of(len(found), n), source=str(source))  # fmt: skip
    notes = [
        say("Candidates for a person, found by their wording. Medium; high when two or more come from one source that is not "
            "the user, low when all come from the user.")
    ]  # fmt: skip
    if sources is None:
        notes.append(say("Where they came from is not known: no column with the source was found or named (`source`)."))
    figures: dict[str, Any] = {
        "rows": n,
        "candidates": len(found),
        "ids": [keys[row] for row in found],
        "all_from_source": source,
        "by_kind": dict(by_kind.most_common()),
    }
    if sources is not None:
        figures["by_source"] = {
            str(name): count for name, count in Counter(sources.values()).most_common(MAX_ROWS_SHOWN)
        }
    shown = list(found)[: ctx.config.max_examples]
    return Finding(
        "MA804",
        "instruction-in-store",
        severity_of(len(found), source),
        {"table": ctx.table_name, "column": ctx.roles.text},
        title,
        figures,
        Evidence(
            tuple(Example(texts[r], keys[r], _note(r, found, sources)) for r in shown),
            len(found),
            tuple(keys[row] for row in found),
        ),
        fix=say("Read each row. Delete what nobody of yours has written, and put recalled text into the prompt as data, apart from "
                "instructions, whatever it says."),
        caveat=sentences(*notes),
        lane="data collection",
    )  # fmt: skip


def _kind_names() -> dict[str, str]:
    return {
        "override": say("sets other instructions aside"),
        "reveal": say("asks for what must stay hidden"),
        "send away": say("sends things away"),
        "take over": say("takes the agent over"),
        "hide": say("hides from the user"),
        "addressed": say("speaks to whatever model reads it"),
    }


def _note(row: int, found: Mapping[int, Sequence[Order]], sources: Mapping[int, Any] | None) -> str:
    names = _kind_names()
    note = ", ".join(names[order.kind] for order in found[row])
    return note if sources is None else say("{note}; source {source}", note=note, source=str(sources[row]))


def _section(
    ctx: Context, found: Mapping[int, Sequence[Order]], sources: Mapping[int, Any] | None, finding: Finding
) -> Section:
    names = _kind_names()
    texts, keys = ctx.records.texts, ctx.records.keys
    columns = [
        Column("text", say("text"), Cell.VALUE),
        Column("key", say("row"), Cell.CODE),
        Column("kind", say("what it does"), Cell.TEXT),
    ]
    if sources is not None:
        columns.append(Column("source", say("source"), Cell.VALUE))
    rows = []
    for row in list(found)[:MAX_ROWS_SHOWN]:
        line = {"text": texts[row], "key": str(keys[row]), "kind": ", ".join(names[o.kind] for o in found[row])}
        if sources is not None:
            line["source"] = str(sources[row])
        rows.append(line)
    caption = say("Candidates, {rows}", rows=plural(len(found), "row"))
    if len(found) > MAX_ROWS_SHOWN:
        caption += say("; {more} more are not listed", more=len(found) - MAX_ROWS_SHOWN)
    return Section(
        "instructions",
        say("Orders to the agent"),
        say("Does stored text tell the agent what to do?"),
        finding.title,
        ("MA804",),
        (Table("instructions", caption, tuple(columns), tuple(rows)),),
        (
            say("An order counts when it sets instructions aside, asks for hidden text or secrets, sends private things away, takes "
                "the agent over, hides something from the user, or speaks to whatever model reads it. Orders that are forbidden, "
                "quoted or told in a text about attacks, filters or tests do not count."),
            finding.caveat or "",
        ),
    )  # fmt: skip


PROBE = Instructions()
