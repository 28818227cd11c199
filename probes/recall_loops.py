"""Recalled memories that were stored again inside new ones."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import ClassVar

from memaudit.context import Context, Need
from memaudit.measures.group_figures import recalled_rows
from memaudit.measures.key_lists import keys_in
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
from memaudit.text.containment import MIN_WIDTH, Containment, comparable, earlier_rows_inside, joined, width
from memaudit.times import parse_time
from memaudit.wording import part_of, plural, say, sentences

#: Severity: from these shares on, the store mostly repeats itself (a public audit: 668 copies of one restated row); high only
#: where a recall is seen, since a manual that quotes its own sentences looks the same.
HIGH_SHARE, MEDIUM_SHARE = 0.20, 0.05
#: A row written within so many minutes of a recall of the same text was written because of it.
MAX_MINUTES = 10.0
#: Set phrases are shorter than this, and stand by chance in fewer rows than this share (in two dialogues of 1,132 turns: 0.2 %
#: and 0.6 %).
PHRASE_WIDTH, CHANCE_SHARE = 60, 0.01
MAX_ROWS_SHOWN = 20

#: Headings under which runtimes put recalled memories into a prompt.
_HEADING = re.compile(
    r"(?:^|\n|[.。!！?？]\s)[\s>*_#\[<(【-]{0,6}(?:"
    r"(?:relevant|related|recalled|retrieved|previous|past|stored|existing|known|long-term|similar|matching|recent|here are (?:the |some |your )?(?:relevant|recalled|related|stored))"
    r"[ _-](?:user |long-term |conversation |agent )?(?:memor(?:y|ies)|recollections?|facts|observations|experiences|lessons|notes from memory)(?: (?:context|block|items|from [\w ]{1,30}|about [\w ]{1,30}|for this \w+))?"
    r"|memory (?:context|recall|block|search results?)|from memory|recall(?:ed)?(?: context| block)?|what i (?:remember|recall)(?: about [\w ]{1,30})?|memories(?: about [\w ]{1,30})?|i recall that|earlier (?:i|we) (?:stored|noted|remembered)"
    r"|(?:以下(?:是|为))?(?:与[^\n:：]{1,16})?(?:相关|有关|召回|检索到?|历史|过往|已有|长期|既有)的?(?:用户)?(?:记忆|回忆|经验)(?:内容|片段|条目|如下)?|记忆(?:召回|片段|内容|上下文)|根据(?:之前的|历史)?记忆|(?:之前|此前|曾经)(?:记录|记住|存储|提到)(?:过|的)?"
    r")[\])>】*_]{0,4}\s*(?:\(\d+\)|（\d+）)?\s*[:：]"
    r"|<(?:relevant|recalled|retrieved|related)?[-_]?(?:memory|memories|recall)(?:[-_]context)?>",
    re.IGNORECASE,
)
#: A row that says so of itself, beside the text it repeats.
_SAYS_RECALL = re.compile(
    r"\b(?:recall(?:ed|s|ing)?|remember(?:ed|s|ing)?|retriev(?:ed?|es|ing|al)|memor(?:y|ies))\b|召回|回忆|记忆|记得|想起|检索",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:^|\n)\s*(?:[-*•·]|\d{1,3}[.)、]|\[\d+\]|【\d+】)\s*\S")


def has_recall_block(text: str) -> bool:
    """Say whether a text holds a block of recalled memories: a heading of a runtime, and items or a tag under it."""
    for match in _HEADING.finditer(text):
        if match.group().lstrip().startswith("<") or len(_ITEM.findall(text, match.end())) >= 2:
            return True
    return False


@dataclass(frozen=True)
class Loops:
    """What was found, by row number.

    Parameters
    ----------
    contained
        Rows that contain an earlier row whole.
    blocks
        Rows with a block of recalled memories that contain no earlier row: its items were reworded or deleted.
    rewritten
        Rows equal to a row that had just been recalled; None without a log of recalls with times.
    quoted
        Rows of `contained` that hold an earlier row under a heading of a runtime, several earlier rows, or behind other
        words: not only texts that were extended.
    seen
        Rows of which it is seen that a recall led to them: they say so, repeat a row that some recall returned, or were
        written right after one.
    """

    contained: Containment
    blocks: tuple[int, ...]
    rewritten: tuple[int, ...] | None
    quoted: tuple[int, ...]
    seen: tuple[int, ...]

    @property
    def rows(self) -> list[int]:
        """All rows concerned, in row order."""
        return sorted({*self.contained.inside, *self.blocks, *(self.rewritten or ())})


class RecallLoops:
    """MA802."""

    name: ClassVar[str] = "recall-loops"
    title: ClassVar[str] = "Are recalled memories stored again?"
    codes: ClassVar[Mapping[str, str]] = {"MA802": "recall-loop"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.TEXT})
    lanes: ClassVar[tuple[str, ...]] = ("data collection",)
    reads: ClassVar[frozenset[str]] = frozenset({"retrieval_log", "time", "hits"})

    def run(self, ctx: Context) -> ProbeResult:
        """Look for earlier rows inside later ones."""
        texts = ctx.records.texts
        min_width = int(ctx.limit("MA802", "min_chars", MIN_WIDTH))
        found = _inside_of_one_owner(ctx, min_width)
        blocks = tuple(r for r, text in enumerate(texts) if r not in found.inside and has_recall_block(text))
        quoted = tuple(
            r for r, inside in found.inside.items()
            if not found.starts[r] or len(inside) > 1 or has_recall_block(texts[r])
        )  # fmt: skip
        rewritten = _rewritten(ctx)
        seen = tuple(sorted({*_recall_seen(ctx, found), *blocks, *(rewritten or ())}))
        loops = Loops(found, blocks, rewritten, quoted, seen)
        if not loops.rows or _by_chance(ctx, loops):
            return ProbeResult()
        finding = _finding(ctx, loops, min_width)
        reason = say("holds memories that are stored already: keep only what it adds")
        return ProbeResult(
            (finding,),
            (_section(ctx, loops, finding),),
            proposals=(Proposal("review", finding.evidence.ids, reason, "MA802"),),
        )


def _inside_of_one_owner(ctx: Context, min_width: int) -> Containment:
    """Look for earlier rows inside later ones of the same owner: what another owner said is not recalled."""
    texts, order = ctx.records.texts, time_order(ctx)
    names = [name for name in ctx.config.isolation_keys or () if name in ctx.records.column_names]
    if not names:
        return earlier_rows_inside(texts, order, min_width)
    owners: dict[tuple[object, ...], list[int]] = {}
    columns = [ctx.records.column(name) for name in names]
    for row in range(len(texts)) if order is None else order:
        owners.setdefault(tuple(column[row] for column in columns), []).append(row)
    parts = []
    for rows in owners.values():
        parts.append(earlier_rows_inside([texts[row] for row in rows], None, min_width).renumbered(rows))
    return joined(parts)


def _by_chance(ctx: Context, loops: Loops) -> bool:
    """Say whether nothing was found but a few set phrases (`thank you for the advice, I will try`) inside longer rows."""
    if loops.blocks or loops.rewritten or loops.contained.deepest >= 2:
        return False
    texts, inside = ctx.records.texts, loops.contained.inside
    widest = max(width(comparable(texts[r])) for rows in inside.values() for r in rows)
    share = ctx.limit("MA802", "share_chance", CHANCE_SHARE)
    return (
        widest < PHRASE_WIDTH
        and len(inside) < share * ctx.records.n_rows
        and not any(map(has_recall_block, (texts[r] for r in inside)))
    )


def _recall_seen(ctx: Context, found: Containment) -> list[int]:
    """Return the rows that contain an earlier one and say that it was recalled, or contain one that ever was."""
    texts, recalled = ctx.records.texts, recalled_rows(ctx) or frozenset()
    rows = []
    for row, inside in found.inside.items():
        own = max(len(_SAYS_RECALL.findall(texts[r])) for r in inside)
        if len(_SAYS_RECALL.findall(texts[row])) > own or not recalled.isdisjoint(inside):
            rows.append(row)
    return rows


def time_order(ctx: Context) -> list[int] | None:
    """Return the rows from the earliest to the latest; None (row order) when a row's time cannot be read."""
    if ctx.roles.time is None:
        return None
    times = [parse_time(value) for value in ctx.records.column(ctx.roles.time)]
    if any(t is None for t in times):
        return None
    return sorted(range(len(times)), key=lambda row: (times[row], row))


def _rewritten(ctx: Context) -> tuple[int, ...] | None:
    """Return rows whose text equals that of a row recalled shortly before they were written; None without a log."""
    log, time = ctx.log, ctx.roles.time
    if log is None or log.memory_ref is None or log.time is None or time is None:
        return None
    row_of = {str(key): row for row, key in enumerate(ctx.records.keys)}
    texts = [comparable(text) for text in ctx.records.texts]
    recalls: dict[str, list[tuple[int, datetime]]] = {}
    for refs, when in zip(log.records.column(log.memory_ref), log.records.column(log.time), strict=True):
        moment = parse_time(when)
        for key in keys_in(refs):
            row = row_of.get(str(key))
            if row is not None and moment is not None:
                recalls.setdefault(texts[row], []).append((row, moment))
    longest = timedelta(minutes=ctx.limit("MA802", "max_minutes", MAX_MINUTES))
    written = [parse_time(value) for value in ctx.records.column(time)]
    return tuple(
        row
        for row, moment in enumerate(written)
        if moment is not None
        and texts[row]
        and any(
            other != row and timedelta(0) <= moment - when <= longest for other, when in recalls.get(texts[row], ())
        )
    )


def _finding(ctx: Context, loops: Loops, min_width: int) -> Finding:
    n, keys, texts = ctx.records.n_rows, ctx.records.keys, ctx.records.texts
    found = loops.contained
    n_contained, deepest = len(found.inside), found.deepest
    share = len(loops.rows) / n
    high = ctx.limit("MA802", "share_high", HIGH_SHARE)
    medium = ctx.limit("MA802", "share_medium", MEDIUM_SHARE)
    # Texts that were only extended once may be memories that grew: clean up when there.
    is_loop = bool(loops.quoted or loops.blocks or loops.rewritten) or deepest >= 2
    severity = Severity.LOW
    if is_loop and share >= medium:
        severity = Severity.HIGH if share >= high and len(loops.seen) / n >= medium else Severity.MEDIUM
    parts = []
    if n_contained:
        parts.append(say("{rows} rows contain the whole text of an earlier row (deepest nesting: {deepest}).",
                         rows=part_of(n_contained, n), deepest=deepest))  # fmt: skip
    if loops.blocks:
        parts.append(
            say(
                "{rows} hold a block of recalled memories of which no row is left.",
                rows=plural(len(loops.blocks), "row"),
            )
        )
    if loops.rewritten:
        parts.append(
            say("{rows} were written right after a recall of the same text.", rows=plural(len(loops.rewritten), "row"))
        )
    notes = [
        say("An earlier row counts from {min_width} characters on (a Chinese character counts twice); case, white space and "
            "list marks aside. Copies of a whole row are left to MA305.", min_width=min_width),
        say("High from {high:.3g} % of the rows where a recall is seen for {medium:.3g} %, medium from {medium:.3g} %, else low; "
            "low, too, where earlier texts were only extended.", high=100 * high, medium=100 * medium),
        say("Here a recall is seen for {part}: the row says so, repeats a row that a recall returned, or was written right "
            "after one.", part=part_of(len(loops.seen), len(loops.rows))),
    ]  # fmt: skip
    if loops.rewritten is None:
        notes.append(
            say(
                "Rows equal to what was just recalled were not looked for: no log of recalls with times, or no time of writing."
            )
        )
    if found.unread:
        notes.append(
            say("{rows} too long or too repetitive to be read in full.", rows=plural(len(found.unread), "row"))
        )
    rows = loops.rows
    order = sorted(rows, key=lambda r: (-found.depth.get(r, 0), r))
    return Finding(
        "MA802",
        "recall-loop",
        severity,
        {"table": ctx.table_name, "column": ctx.roles.text},
        sentences(*parts),
        {
            "rows": n,
            "rows_containing_an_earlier_row_whole": n_contained,
            "share": n_contained / n,
            "deepest_nesting": deepest,
            "ids": [keys[r] for r in found.inside],
            "rows_with_recalled_block_only": len(loops.blocks),
            "rows_equal_to_just_recalled": None if loops.rewritten is None else len(loops.rewritten),
            "rows_only_extending": n_contained - len(loops.quoted),
            "rows_with_recall_seen": len(loops.seen),
        },
        Evidence(
            tuple(Example(texts[r], keys[r], _note(r, loops, keys)) for r in order[: ctx.config.max_examples]),
            len(rows),
            tuple(keys[r] for r in rows),
        ),
        fix=say("Take the recalled block out of a turn before anything of it is written, and skip texts that are stored already. "
                "Then keep of each row listed here only what it adds."),
        caveat=sentences(*notes),
        lane="data collection",
    )  # fmt: skip


def _note(row: int, loops: Loops, keys: Sequence[object]) -> str:
    inside = loops.contained.inside.get(row)
    if inside is None:
        return say("a block of recalled memories") if row in loops.blocks else say("equal to what was just recalled")
    named = ", ".join(str(keys[r]) for r in inside[:5]) + (", ..." if len(inside) > 5 else "")
    return say("contains row {named}; nesting {depth}", named=named, depth=loops.contained.depth[row])


def _section(ctx: Context, loops: Loops, finding: Finding) -> Section:
    texts, keys, found = ctx.records.texts, ctx.records.keys, loops.contained
    holders: dict[int, int] = {}
    for inside in found.inside.values():
        for row in inside:
            holders[row] = holders.get(row, 0) + 1
    most = sorted(holders.items(), key=lambda item: (-item[1], item[0]))[:MAX_ROWS_SHOWN]
    table = Table(
        "recall-loops",
        say("Rows that stand inside later rows, {n} rows in all", n=ctx.records.n_rows),
        (
            Column("text", say("text"), Cell.VALUE),
            Column("key", say("row"), Cell.CODE),
            Column("rows", say("later rows that contain it"), Cell.BAR),
        ),
        tuple({"text": texts[r], "key": str(keys[r]), "rows": count} for r, count in most),
    )
    return Section(
        "recall-loops",
        say("Recall loops"),
        say("How many memories repeat memories that were stored before?"),
        finding.title,
        ("MA802",),
        (table,) if most else (),
        (finding.caveat or "",),
    )


PROBE = RecallLoops()
