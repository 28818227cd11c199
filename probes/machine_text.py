"""Runtime text that was stored as if somebody had said it: heartbeats, sentinels, prompts, records of tools."""

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
from memaudit.production import walk
from memaudit.text.machine_lines import machine_kinds
from memaudit.text.scripts import HAN_CHARACTER
from memaudit.wording import part_of, percent, say, sentences, term

#: Severity: from these shares on, runtime text crowds out memories (public audits: 13 % and 57 % of a store).
HIGH_SHARE, MEDIUM_SHARE = 0.20, 0.05
MAX_ROWS_SHOWN = 20

#: Names of lists that hold runtime text, whatever the strings look like.
_MARKER_KEY = re.compile(
    r"sentinel|marker|heartbeat|boot|start_?up|runtime|prompt|noise|junk|chatter|deny|block|drop|ignore|skip|exclude|filter"
    r"|prefix|suffix|wrapper|system|machine|internal|no_?reply|template|envelope|哨兵|标记|心跳|启动|忽略|过滤",
    re.IGNORECASE,
)
_SHAPED = re.compile(r"[A-Z][A-Z0-9]*(?:[_-][A-Z0-9]+)+|\W*[\[<{(#].*|.*[\]>})]\W*|\S*\|\S*")
_EDGE = " \t\r\n`*_\"'“”#>-.!。！:：[]()<>"


@dataclass(frozen=True)
class Markers:
    """Configured strings that occur in rows as runtime text.

    Parameters
    ----------
    rows
        Row -> (key of the list, marker) that it matches first.
    keys
        Keys of the lists concerned, in the order of the configuration.
    mentions
        Rows that name a marker inside a sentence: notes about it, not counted.
    """

    rows: Mapping[int, tuple[str, str]]
    keys: tuple[str, ...]
    mentions: tuple[int, ...]


def string_lists(config: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the lists of strings of a configuration by their dotted key."""
    found = {}
    for key, value in walk(config):
        if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
            strings = tuple(dict.fromkeys(v.strip() for v in value if v.strip()))
            if strings:
                found[key] = strings
    return found


def configured_markers(texts: Sequence[str], lists: Mapping[str, Sequence[str]], machine: Sequence[bool]) -> Markers:
    """Find rows that hold a configured string word for word.

    A string counts where it is the row or a line of it, opens or closes the row, or stands in a row that is runtime
    text by itself. A prompt of several words counts anywhere. A plain word (`deploy`) under a key that does not sound
    like markers counts only where it is shaped like one: a list of topics is no list of markers.

    Parameters
    ----------
    machine
        Whether each row is runtime text by the rules that need no configuration.
    """
    rows: dict[int, tuple[str, str]] = {}
    mentions: set[int] = set()
    usable = [
        (key, marker, _word_for_word(marker), _is_long(marker))
        for key, strings in lists.items()
        for marker in strings
        if _may_mark(key, marker)
    ]
    for row, text in enumerate(texts):
        for key, marker, shape, is_long in usable:
            if marker not in text or not shape.search(text):
                continue
            if is_long or machine[row] or _stands_alone(text, marker):
                rows.setdefault(row, (key, marker))
                break
            mentions.add(row)
    used = {key for key, _ in rows.values()}
    return Markers(rows, tuple(k for k in lists if k in used), tuple(sorted(mentions - set(rows))))


def _may_mark(key: str, marker: str) -> bool:
    if len(marker) < 2:
        return False
    return bool(_SHAPED.fullmatch(marker)) or bool(_MARKER_KEY.search(key)) or _is_long(marker)


def _is_long(marker: str) -> bool:
    return len(marker.split()) >= 4 or len(HAN_CHARACTER.findall(marker)) >= 8


def _word_for_word(marker: str) -> re.Pattern[str]:
    """Match a marker where no letter or digit goes on before or behind it (Chinese has no such limits)."""
    before = r"(?<![A-Za-z0-9_])" if re.match("[A-Za-z0-9_]", marker) else ""
    after = r"(?![A-Za-z0-9_])" if re.search("[A-Za-z0-9_]$", marker) else ""
    return re.compile(before + re.escape(marker) + after)


def _stands_alone(text: str, marker: str) -> bool:
    bare = text.strip(_EDGE)
    wanted = marker.strip(_EDGE) or marker
    if bare.startswith(wanted) or bare.endswith(wanted):
        return True
    return any(line.strip(_EDGE) == wanted for line in text.splitlines())


class MachineText:
    """MA801."""

    name: ClassVar[str] = "machine-text"
    title: ClassVar[str] = "Is runtime text stored as memory?"
    codes: ClassVar[Mapping[str, str]] = {"MA801": "machine-text-in-store"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.TEXT})
    lanes: ClassVar[tuple[str, ...]] = ("data collection",)
    reads: ClassVar[frozenset[str]] = frozenset({"config"})

    def run(self, ctx: Context) -> ProbeResult:
        """Look for configured markers, then for runtime text that carries none."""
        texts = ctx.records.texts
        kinds = machine_kinds(texts)
        lists = string_lists(ctx.production_config) if ctx.production_config is not None else {}
        markers = configured_markers(texts, lists, [kind is not None for kind in kinds])
        rows = sorted({*markers.rows, *(row for row, kind in enumerate(kinds) if kind is not None)})
        if not rows:
            return ProbeResult()
        finding = _finding(ctx, kinds, markers, rows)
        ids = finding.evidence.ids
        proposal = Proposal(
            "review", ids, say("runtime text, not a memory: delete it and keep it from being written"), "MA801"
        )
        return ProbeResult((finding,), (_section(ctx, kinds, markers, rows, finding),), proposals=(proposal,))


def _kind(row: int, kinds: Sequence[str | None], markers: Markers) -> str:
    """Name what a row is, as figures do: the same in every language."""
    return kinds[row] or f"marker of `{markers.rows[row][0]}`"


def _told(row: int, kinds: Sequence[str | None], markers: Markers) -> str:
    """Say what a row is."""
    kind = kinds[row]
    return term(kind) if kind is not None else say("marker of `{key}`", key=markers.rows[row][0])


def _finding(ctx: Context, kinds: Sequence[str | None], markers: Markers, rows: Sequence[int]) -> Finding:
    n, keys, texts = ctx.records.n_rows, ctx.records.keys, ctx.records.texts
    n_configured, n_all = len(markers.rows), len(rows)
    share = n_all / n
    high = ctx.limit("MA801", "share_high", HIGH_SHARE)
    medium = ctx.limit("MA801", "share_medium", MEDIUM_SHARE)
    named = ", ".join(f"`{key}`" for key in markers.keys)
    if n_configured and n_all > n_configured:
        title = say("{rows} rows are runtime text by the markers in {keys}; {all} ({share}) with {more} more that carry no "
                    "configured marker.",
                    rows=part_of(n_configured, n), keys=named, all=n_all, share=percent(n_all, n), more=n_all - n_configured)  # fmt: skip
    elif n_configured:
        title = say("{rows} rows are runtime text by the markers in {keys}.", rows=part_of(n_configured, n), keys=named)
    else:
        title = say(
            "{rows} rows are runtime text (heartbeats, sentinels, prompts, records of tools).", rows=part_of(n_all, n)
        )
    notes = [
        say(
            "High from {high:.3g} % of the rows, medium from {medium:.3g} %, else low.",
            high=100 * high,
            medium=100 * medium,
        )
    ]
    if ctx.production_config is None:
        notes.append(
            say("No production configuration was given (`config`): only runtime text of a known form was looked for.")
        )
    if markers.mentions:
        notes.append(say("{n} more name a marker inside a sentence and are not counted.", n=len(markers.mentions)))
    by_kind = Counter(_kind(row, kinds, markers) for row in rows)
    # One example of each kind first, so that a reader sees what is meant.
    first = sorted({_kind(row, kinds, markers): row for row in reversed(rows)}.values())
    others = set(rows) - set(first)
    order = [*first, *(row for row in rows if row in others)]
    return Finding(
        "MA801",
        "machine-text-in-store",
        Severity.HIGH if share >= high else Severity.MEDIUM if share >= medium else Severity.LOW,
        {"table": ctx.table_name, "column": ctx.roles.text, **({"config": list(markers.keys)} if markers.keys else {})},
        title,
        {
            "rows": n,
            "rows_matching_configured_markers": n_configured if ctx.production_config is not None else None,
            "share_configured": n_configured / n if ctx.production_config is not None else None,
            "rows_machine_made_in_all": n_all,
            "share_in_all": share,
            "by_kind": dict(by_kind.most_common()),
            "configured_ids": [keys[row] for row in sorted(markers.rows)],
        },
        Evidence(
            tuple(Example(texts[r], keys[r], _told(r, kinds, markers)) for r in order[: ctx.config.max_examples]),
            n_all,
            tuple(keys[r] for r in rows),
        ),
        fix=say("Drop runtime text where memories are written: compare each text with the runtime's own prompts, tokens and "
                "wrappers. Then delete the rows listed here after a look at them."),
        caveat=sentences(*notes),
        lane="data collection",
    )  # fmt: skip


def _rules() -> dict[str, str]:
    """Give each kind's rule in words."""
    return {
        "sentinel": say("the whole row is a token of the runtime, such as `NO_REPLY` or `[DONE]`"),
        "wrapper": say("the whole row stands in tags or under a header of the runtime, such as `<system-reminder>`"),
        "tool dump": say("the row is the record of a tool call, a message object, a shell session or a line of a log"),
        "tool list": say("the row lists the tools that the agent may call"),
        "heartbeat": say("the row says that the runtime is alive and has nothing to do, and (almost) nothing else"),
        "boot prompt": say("the row is a system or start-up prompt: what the agent is, what to load, how to reply"),
    }


def _section(
    ctx: Context, kinds: Sequence[str | None], markers: Markers, rows: Sequence[int], finding: Finding
) -> Section:
    texts = ctx.records.texts
    by_text: dict[tuple[str, str], int] = Counter((_told(row, kinds, markers), texts[row]) for row in rows)
    most = sorted(by_text.items(), key=lambda item: -item[1])
    table = Table(
        "machine-text",
        say("Runtime texts and the rows that hold them, {n} rows in all", n=ctx.records.n_rows),
        (
            Column("text", say("text"), Cell.VALUE),
            Column("kind", say("kind"), Cell.TEXT),
            Column("rows", say("rows"), Cell.BAR),
        ),
        tuple({"text": text, "kind": kind, "rows": count} for (kind, text), count in most[:MAX_ROWS_SHOWN]),
    )
    present = {kind for kind in kinds if kind is not None}
    method = (
        [
            say(
                "A configured marker counts where it is the row or a line of it, opens or closes the row, or is a sentence of four words or more."
            )
        ]
        if markers.keys
        else []
    )
    method += [say("{kind}: {rule}.", kind=term(kind), rule=rule) for kind, rule in _rules().items() if kind in present]
    if len(most) > MAX_ROWS_SHOWN:
        method.append(say("{n} more texts are not listed.", n=len(most) - MAX_ROWS_SHOWN))
    return Section(
        "machine-text",
        say("Runtime text"),
        say("How much of the store did the runtime say to itself?"),
        finding.title,
        ("MA801",),
        (table,),
        (*method, finding.caveat or ""),
    )


PROBE = MachineText()
