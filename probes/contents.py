"""Rows that say nothing: blank texts, placeholders, and bytes that are no text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
from memaudit.text import is_blank, is_placeholder
from memaudit.wording import part_of, plural, say

#: Shares of unusable rows from which on MA003 is high and medium (findings.md leaves them to us: at 2 % one
#: recall of ten rows holds an empty one every fifth time, at 20 % two in each).
HIGH_SHARE, MEDIUM_SHARE = 0.20, 0.02
#: Share of rows with undecodable bytes from which on MA004 is medium.
DAMAGED_SHARE = 0.01

_ESCAPED_BYTE = re.compile("[\udc80-\udcff]")


def is_undecodable(stored: Any) -> bool:
    """Say whether a stored text or blob has bytes that are not UTF-8 (surrogate escapes in a text)."""
    if isinstance(stored, bytes):
        try:
            stored.decode("utf-8")
        except UnicodeDecodeError:
            return True
        return False
    return isinstance(stored, str) and not stored.isascii() and _ESCAPED_BYTE.search(stored) is not None


@dataclass(frozen=True)
class Blanks:
    """Row numbers of texts that say nothing.

    Parameters
    ----------
    blank
        NULL, empty, white space or invisible characters only.
    placeholder
        Rows whose whole text is a placeholder.
    placeholders
        Rows by placeholder, as written; most frequent first.
    """

    blank: tuple[int, ...]
    placeholder: tuple[int, ...]
    placeholders: Mapping[str, int]


def blanks(texts: Sequence[str]) -> Blanks:
    """Sort out the texts that say nothing."""
    blank = tuple(i for i, text in enumerate(texts) if is_blank(text))
    placeholder = tuple(i for i, text in enumerate(texts) if is_placeholder(text))
    counts = Counter(texts[i].strip() for i in placeholder)
    return Blanks(blank, placeholder, dict(counts.most_common()))


class Contents:
    """MA003 and MA004."""

    name: ClassVar[str] = "contents"
    title: ClassVar[str] = "Do the rows say anything?"
    codes: ClassVar[Mapping[str, str]] = {"MA003": "content-blank", "MA004": "text-not-utf8"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.TEXT})
    lanes: ClassVar[tuple[str, ...]] = ("data collection",)

    def run(self, ctx: Context) -> ProbeResult:
        """Look at every text."""
        found = blanks(ctx.records.texts)
        stored = ctx.records.column(str(ctx.roles.text))
        damaged = tuple(i for i, value in enumerate(stored) if is_undecodable(value))
        findings = []
        if found.blank or found.placeholder:
            findings.append(_blank_finding(ctx, found, stored))
        if damaged:
            findings.append(_damaged_finding(ctx, damaged))
        sections = (_section(ctx, found, findings[0]),) if found.blank or found.placeholder else ()
        return ProbeResult(tuple(findings), sections, proposals=_proposals(ctx, found))


def _blank_finding(ctx: Context, found: Blanks, stored: Sequence[Any]) -> Finding:
    rows = ctx.records.n_rows
    useless = sorted((*found.blank, *found.placeholder))
    high = ctx.limit("MA003", "high_share", HIGH_SHARE)
    medium = ctx.limit("MA003", "medium_share", MEDIUM_SHARE)
    share = len(useless) / rows
    severity = Severity.HIGH if share >= high else Severity.MEDIUM if share >= medium else Severity.LOW
    examples = tuple(
        Example(ctx.records.texts[i], ctx.records.keys[i], _kind_of_blank(stored[i], ctx.records.texts[i]))
        for i in useless[: ctx.config.max_examples]
    )
    title = say(
        "{useless} memories say nothing: {blank}, {placeholder}.",
        useless=part_of(len(useless), rows),
        blank=plural(len(found.blank), "is blank", "are blank"),
        placeholder=plural(len(found.placeholder), "is a placeholder", "are placeholders"),
    )
    return Finding(
        "MA003",
        "content-blank",
        severity,
        {"table": ctx.table_name, "column": ctx.roles.text},
        title,
        {
            "rows": rows,
            "blank_rows": len(found.blank),
            "placeholder_rows": len(found.placeholder),
            "placeholders": dict(found.placeholders),
            "usable_rows": rows - len(useless),
            "share_blank": len(found.blank) / rows,
            "share_usable": (rows - len(useless)) / rows,
        },
        Evidence(examples, len(useless), tuple(ctx.records.keys[i] for i in useless)),
        fix=say("Refuse to store a memory whose text is blank or a placeholder, and delete the blank rows. A "
                "placeholder means that the writer ran with a missing value: find that writer."),
        caveat=say("High from {high:.3g} % of the rows, medium from {medium:.3g} %.",
                   high=100 * high, medium=100 * medium),
        lane="data collection",
    )  # fmt: skip


def _kind_of_blank(stored: Any, text: str) -> str:
    if stored is None:
        return say("NULL")
    if text == "":
        return say("empty")
    return say("white space only") if is_blank(text) else say("a placeholder")


def _damaged_finding(ctx: Context, damaged: Sequence[int]) -> Finding:
    rows = ctx.records.n_rows
    medium = ctx.limit("MA004", "medium_share", DAMAGED_SHARE)
    ids = tuple(ctx.records.keys[i] for i in damaged)
    return Finding(
        "MA004",
        "text-not-utf8",
        Severity.MEDIUM if len(damaged) / rows >= medium else Severity.LOW,
        {"table": ctx.table_name, "column": ctx.roles.text},
        say("{rows} memories hold bytes that are not UTF-8.", rows=part_of(len(damaged), rows)),
        {"rows": rows, "undecodable_rows": len(damaged), "share": len(damaged) / rows, "ids": list(ids)},
        Evidence(
            tuple(Example(ctx.records.texts[i], ctx.records.keys[i]) for i in damaged[: ctx.config.max_examples]),
            len(damaged),
            ids,
        ),
        fix=say("Decode text where it enters (often GBK or Latin-1) and write it as UTF-8; write these rows again from "
                "their source."),
        caveat=say("The rows stay in the audit, with replacement characters for the bytes. Medium from {medium:.3g} % "
                   "of the rows, else low.", medium=100 * medium),
        lane="data collection",
    )  # fmt: skip


def _section(ctx: Context, found: Blanks, finding: Finding) -> Section:
    n = ctx.records.n_rows
    rows: list[dict[str, Any]] = [
        {"text": say("usable"), "rows": finding.figures["usable_rows"]},
        {"text": say("blank"), "rows": len(found.blank), "_mark": "hot"},
        *({"text": text, "rows": count, "_mark": "hot"} for text, count in list(found.placeholders.items())[:20]),
    ]
    table = Table(
        "contents",
        say("Texts that say nothing, {n} rows", n=n),
        (
            Column("text", say("text"), Cell.VALUE),
            Column("rows", say("rows"), Cell.BAR),
            Column("share", say("share"), Cell.SHARE),
        ),
        tuple({**row, "share": row["rows"] / n} for row in rows),
        scale=float(n),
    )
    return Section(
        "contents",
        say("Texts that say nothing"),
        say("How many of the stored memories hold a text at all?"),
        finding.title,
        ("MA003",),
        (table,),
        (say("Blank: NULL, empty, or only characters that cannot be seen. Placeholder: the whole text is a word or "
             "sign that programs write for a missing value."), finding.caveat or ""),
        finding.evidence.shown,
    )  # fmt: skip


def _proposals(ctx: Context, found: Blanks) -> tuple[Proposal, ...]:
    keys = ctx.records.keys
    proposals = []
    if found.blank:
        proposals.append(Proposal("delete", tuple(keys[i] for i in found.blank), say("the text is blank"), "MA003"))
    if found.placeholder:
        ids = tuple(keys[i] for i in found.placeholder)
        proposals.append(Proposal("review", ids, say("the text is a placeholder"), "MA003"))
    return tuple(proposals)


PROBE = Contents()
