"""Texts that are no plain text: of another type, with characters nobody sees, or out of all proportion."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.model import Cell, Column, Evidence, Example, Finding, ProbeResult, Proposal, Section, Severity, Table
from memaudit.text import is_blank
from memaudit.text.invisible import HIDING, invisible_characters
from memaudit.wording import part_of, plural, say, term

#: Share of rows from which on MA005 is medium.
WRONG_TYPE_SHARE = 0.01
#: Share of rows from which on zero-width characters alone make MA006 medium; hidden text always does.
INVISIBLE_SHARE = 0.05
#: A text is long from so many characters (a page holds 3,000) and so many times the median on.
LONG_CHARS, LONG_TIMES = 10_000, 50.0
#: Data without blanks (a picture as base64) is no memory at any length; from here on it is reported.
DATA_CHARS, DATA_TIMES = 2_000, 20.0
#: Where more rows than this are long, long texts are what the store is made for.
MAX_LONG_SHARE = 0.10
#: Times the median from which on a long plain text is medium.
HUGE_TIMES = 500.0

_DATA = re.compile(rf"[A-Za-z0-9+/_=-]{{{DATA_CHARS},}}|(?:[A-Za-z0-9+/=]{{60,90}}\r?\n){{20,}}")
_LOG_LINE = re.compile(
    r"\s*[\[(]?(?:\d{4}[-/]\d\d?[-/]\d\d?|\d\d:\d\d:\d\d|\w{3} +\d+ \d\d:\d\d)|.{0,40}\b(?:DEBUG|INFO|WARN(?:ING)?|ERROR|TRACE)\b"
)


@dataclass(frozen=True)
class WrongTypes:
    """Row numbers of values that are no plain text."""

    integers: tuple[int, ...]
    reals: tuple[int, ...]
    blobs: tuple[int, ...]
    nuls: tuple[int, ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """All of them, each once."""
        return tuple(sorted({*self.integers, *self.reals, *self.blobs, *self.nuls}))


def wrong_types(stored: Sequence[Any], *, uniform_blobs: bool = True) -> WrongTypes:
    """Sort out the values of a text column that are numbers, blobs, or texts with U+0000.

    Parameters
    ----------
    stored
        Values as stored; NULL is no value of a wrong type.
    uniform_blobs
        Where every value is a blob of UTF-8 the store writes its texts that way: none is reported.
    """
    integers = tuple(i for i, v in enumerate(stored) if isinstance(v, int))
    reals = tuple(i for i, v in enumerate(stored) if isinstance(v, float))
    blobs = tuple(i for i, v in enumerate(stored) if isinstance(v, bytes))
    nuls = tuple(i for i, v in enumerate(stored) if isinstance(v, str) and "\x00" in v)
    present = sum(v is not None for v in stored)
    if uniform_blobs and len(blobs) == present and all(_is_text(stored[i]) for i in blobs):
        blobs = ()
    return WrongTypes(integers, reals, blobs, nuls)


def _is_text(blob: bytes) -> bool:
    try:
        return "\x00" not in blob.decode("utf-8")
    except UnicodeDecodeError:
        return False


@dataclass(frozen=True)
class LongRow:
    """A text out of all proportion.

    Parameters
    ----------
    what
        `data`, `log` or `text`.
    """

    row: int
    chars: int
    what: str


def what_it_is(text: str) -> str:
    """Name what a long text consists of for the most part: `data` (no blanks), `log`, or `text`."""
    if sum(len(m) for m in _DATA.findall(text)) >= len(text) / 2:
        return "data"
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) >= 20 and sum(_LOG_LINE.match(line) is not None for line in lines) >= len(lines) / 2:
        return "log"
    return "text"


def long_rows(
    texts: Sequence[str],
    *,
    min_chars: float = LONG_CHARS,
    min_times: float = LONG_TIMES,
    max_share: float = MAX_LONG_SHARE,
) -> tuple[float, tuple[LongRow, ...]]:
    """Find the texts out of all proportion.

    Parameters
    ----------
    texts
        Texts of all rows; blank ones take no part.
    min_chars, min_times
        A log or plain text is long when it has both so many characters and so many times the median. Data without
        blanks is from 2,000 characters and 20 times the median on.
    max_share
        Plain texts are not reported where a larger share of the rows is long.

    Returns
    -------
    (median length, long rows in row order); the median is 0.0 without texts.
    """
    lengths = [(i, len(text)) for i, text in enumerate(texts) if not is_blank(text)]
    if len(lengths) < 2:
        return float(lengths[0][1]) if lengths else 0.0, ()
    middle = float(median(n for _, n in lengths))
    found = []
    for i, n in lengths:
        if n < max(DATA_CHARS, DATA_TIMES * middle):
            continue
        what = what_it_is(texts[i])
        if what == "data" or (n >= min_chars and n >= min_times * middle):
            found.append(LongRow(i, n, what))
    plain = sum(row.what == "text" for row in found)
    if plain > max(1, max_share * len(lengths)):
        found = [row for row in found if row.what != "text"]
    return middle, tuple(found)


class TextIntegrity:
    """MA005, MA006 and MA007."""

    name: ClassVar[str] = "text-integrity"
    title: ClassVar[str] = "Is every text plain text?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA005": "text-wrong-type",
        "MA006": "invisible-characters",
        "MA007": "row-very-long",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.TEXT})
    lanes: ClassVar[tuple[str, ...]] = ("data collection",)

    def run(self, ctx: Context) -> ProbeResult:
        """Look at every stored value and every text."""
        findings, sections, proposals = [], [], []
        wrong = wrong_types(ctx.records.column(str(ctx.roles.text)))
        if wrong.rows:
            findings.append(_wrong_type_finding(ctx, wrong))
        kinds = {i: found for i, text in enumerate(ctx.records.texts) if (found := invisible_characters(text))}
        if kinds:
            findings.append(_invisible_finding(ctx, kinds))
            sections.append(_invisible_section(ctx, kinds, findings[-1]))
        middle, rows = long_rows(
            ctx.records.texts,
            min_chars=ctx.limit("MA007", "min_chars", LONG_CHARS),
            min_times=ctx.limit("MA007", "min_times", LONG_TIMES),
            max_share=ctx.limit("MA007", "max_share", MAX_LONG_SHARE),
        )
        if rows:
            findings.append(_long_finding(ctx, middle, rows))
            ids = tuple(ctx.records.keys[r.row] for r in rows)
            proposals.append(Proposal("review", ids, say("the text is out of all proportion"), "MA007"))
        return ProbeResult(tuple(findings), tuple(sections), proposals=tuple(proposals))


def _subject(ctx: Context) -> dict[str, Any]:
    return {"table": ctx.table_name, "column": ctx.roles.text}


def _keys(ctx: Context, rows: Sequence[int]) -> tuple[Any, ...]:
    return tuple(ctx.records.keys[i] for i in rows)


def _wrong_type_finding(ctx: Context, wrong: WrongTypes) -> Finding:
    n = ctx.records.n_rows
    medium = ctx.limit("MA005", "medium_share", WRONG_TYPE_SHARE)
    notes = {
        **dict.fromkeys(wrong.integers, say("an integer")),
        **dict.fromkeys(wrong.reals, say("a decimal number")),
        **dict.fromkeys(wrong.blobs, say("a blob")),
        **dict.fromkeys(wrong.nuls, say("a text with U+0000")),
    }
    rows = wrong.rows
    shown = tuple(Example(ctx.records.texts[i], ctx.records.keys[i], notes[i]) for i in rows[: ctx.config.max_examples])
    counted: list[tuple[Any, ...]] = [
        (wrong.integers, say("integer")),
        (wrong.reals, say("decimal number")),
        (wrong.blobs, say("blob")),
        (wrong.nuls, say("text with a NUL character"), say("texts with a NUL character")),
    ]
    parts = ", ".join(plural(len(found), *words) for found, *words in counted if found)
    return Finding(
        "MA005",
        "text-wrong-type",
        Severity.MEDIUM if len(rows) / n >= medium else Severity.LOW,
        _subject(ctx),
        say("{rows} memories are not stored as plain text: {parts}.", rows=part_of(len(rows), n), parts=parts),
        {
            "rows": n,
            "rows_affected": len(rows),
            "integer_rows": len(wrong.integers),
            "real_rows": len(wrong.reals),
            "blob_rows": len(wrong.blobs),
            "nul_rows": len(wrong.nuls),
        },
        Evidence(shown, len(rows), _keys(ctx, rows)),
        fix=say("Convert to text where memories are written, and write these rows again: SQL compares a blob or a "
                "number with no text, and many functions end a text at its first NUL."),
        caveat=say("Medium from {medium:.3g} % of the rows, else low. A row may be counted once only.",
                   medium=100 * medium),
        lane="data collection",
    )  # fmt: skip


def _invisible_finding(ctx: Context, kinds: Mapping[int, Mapping[str, int]]) -> Finding:
    n, rows = ctx.records.n_rows, tuple(kinds)
    medium = ctx.limit("MA006", "medium_share", INVISIBLE_SHARE)
    by_kind = _rows_by_kind(kinds)
    hiding = [kind for kind in by_kind if kind in HIDING]
    shown = tuple(
        Example(
            _made_visible(ctx.records.texts[i]),
            ctx.records.keys[i],
            say(", ").join(say("{n} {kind}", n=count, kind=_said(kind)) for kind, count in kinds[i].items()),
        )
        for i in rows[: ctx.config.max_examples]
    )
    what = say(", ").join(
        say("{kind} in {rows}", kind=_said(kind), rows=plural(count, "row")) for kind, count in by_kind.items()
    )
    return Finding(
        "MA006",
        "invisible-characters",
        Severity.MEDIUM if hiding or len(rows) / n >= medium else Severity.LOW,
        _subject(ctx),
        say("{rows} memories hold characters that nobody sees: {what}.", rows=part_of(len(rows), n), what=what),
        {
            "rows": n,
            "rows_affected": len(rows),
            "share": len(rows) / n,
            "ids": list(_keys(ctx, rows)),
            "kinds": by_kind,
        },
        Evidence(shown, len(rows), _keys(ctx, rows)),
        fix=say("Remove these characters where memories are written; they keep equal words from being found. Read the "
                "rows with tags or bidi controls first: they can hold text that only a model sees."),
        caveat=say("Joiners inside emoji, joiners and marks that a script needs, and soft hyphens are not counted. "
                   "Medium with {hiding}, or from {medium:.3g} % of the rows; else low.",
                   hiding=say(", ").join(map(_said, sorted(HIDING))), medium=100 * medium),
        lane="data collection",
    )  # fmt: skip


def _said(kind: str) -> str:
    return term("control character") if kind == "control" else term(kind)


def _rows_by_kind(kinds: Mapping[int, Mapping[str, int]]) -> dict[str, int]:
    return dict(Counter(kind for found in kinds.values() for kind in found).most_common())


def _made_visible(text: str) -> str:
    """Write what cannot be seen as its code point, and read text hidden in tags."""
    return "".join(
        f"<U+{ord(c):04X}>" if not c.isascii() and invisible_characters(c) else c for c in text
    )  # a character alone has nothing around it that would explain it


def _invisible_section(ctx: Context, kinds: Mapping[int, Mapping[str, int]], finding: Finding) -> Section:
    characters: Counter[str] = Counter()
    for found in kinds.values():
        characters.update(found)
    rows = tuple(
        {"kind": _said(kind), "rows": count, "characters": characters[kind]}
        for kind, count in _rows_by_kind(kinds).items()
    )
    table = Table(
        "invisible-characters",
        say("Characters that cannot be seen, {n} rows", n=ctx.records.n_rows),
        (
            Column("kind", say("kind"), Cell.TEXT),
            Column("rows", say("rows"), Cell.BAR),
            Column("characters", say("characters"), Cell.COUNT),
        ),
        rows,
        scale=float(ctx.records.n_rows),
    )
    return Section(
        "invisible-characters",
        say("Characters that nobody sees"),
        say("Do the texts hold anything that a reader cannot see?"),
        finding.title,
        ("MA006",),
        (table,),
        (finding.caveat or "",),
        finding.evidence.shown,
    )


def _long_finding(ctx: Context, middle: float, rows: Sequence[LongRow]) -> Finding:
    longest = max(rows, key=lambda r: r.chars)
    ordered = sorted(rows, key=lambda r: -r.chars)
    machine = any(r.what != "text" for r in rows)
    huge = ctx.limit("MA007", "huge_times", HUGE_TIMES)
    words = {"data": say("data without blanks"), "log": say("a log"), "text": say("plain text")}
    shown = tuple(
        Example(
            ctx.records.texts[r.row][:300],
            ctx.records.keys[r.row],
            say("{chars} characters, {what}", chars=r.chars, what=words[r.what]),
        )
        for r in ordered[: ctx.config.max_examples]
    )
    title = say(
        "{rows} out of all proportion: the longest text has {chars} characters, the median {middle:,.0f}.",
        rows=say("{n} memories are", n=len(rows)) if len(rows) > 1 else say("One memory is"),
        chars=longest.chars,
        middle=middle,
    )
    return Finding(
        "MA007",
        "row-very-long",
        Severity.MEDIUM if machine or longest.chars >= huge * middle else Severity.LOW,
        _subject(ctx),
        title,
        {
            "rows": ctx.records.n_rows,
            "chars": longest.chars,
            "rows_affected": len(rows),
            "median_chars": middle,
            "chars_in_long_rows": sum(r.chars for r in rows),
            "rows_of_data": sum(r.what == "data" for r in rows),
            "rows_of_log": sum(r.what == "log" for r in rows),
        },
        Evidence(shown, len(rows), _keys(ctx, [r.row for r in rows])),
        fix=say("Keep pictures, dumps and whole files outside the memory and store a sentence with their address; an "
                "encoder reads only the beginning of such a row, and one recall of it fills the prompt."),
        caveat=say("Long is from {chars:,.0f} characters and {times:g} times the median on; data without blanks from "
                   "{data} characters and {data_times:g} times. Medium for data, logs, or from {huge:g} times on; "
                   "else low.",
                   chars=ctx.limit("MA007", "min_chars", LONG_CHARS), times=ctx.limit("MA007", "min_times", LONG_TIMES),
                   data=DATA_CHARS, data_times=DATA_TIMES, huge=huge),
        lane="data collection",
    )  # fmt: skip


PROBE = TextIntegrity()
