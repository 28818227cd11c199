"""What stands on the page: the audit turned into plain pieces that the templates only have to write down.

Nothing is escaped here and no HTML is made here; every piece of text has gone through `shown_text`.
Lists are cut by :class:`Caps`, and each cut says how many were left to report.json.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from memaudit.model import Audit, Basis, Example, Finding, Json, Section, Severity
from memaudit.reports.shown_numbers import LANE_SIGNS, SEVERITY_SIGNS, figure, in_words, size_of, word
from memaudit.reports.shown_text import Shown, as_text, cut, shown, visible
from memaudit.reports.since_page import SinceView, since_view
from memaudit.reports.table_page import Caps, TableView, table_view
from memaudit.wording import plural, say, space_between


class Piece(NamedTuple):
    """A stretch of one of our sentences; `code` where it stood between backticks."""

    text: str
    code: bool


def prose(text: Any, limit: int = 2000) -> list[Piece]:
    """Split a sentence at its `backticked` parts.

    The text is made visible first and escaped by the template, so store text inside a sentence can at most
    turn a word into code. An unpaired backtick stays as it is.
    """
    head, cut_from = cut(as_text(text), limit)
    pieces, at = [], 0
    safe = visible(head)
    for match in re.finditer(r"`([^`\n]+)`", safe):
        if match.start() > at:
            pieces.append(Piece(safe[at : match.start()], False))
        pieces.append(Piece(match.group(1), True))
        at = match.end()
    if at < len(safe) or not pieces:
        pieces.append(Piece(safe[at:], False))
    if cut_from is not None:
        pieces.append(Piece(say("… ({n} characters)", n=cut_from), False))
    return pieces


@dataclass(frozen=True)
class ExampleView:
    """One example: its text, the key of its row and our words beside it."""

    text: Shown
    key: str
    note: str


@dataclass(frozen=True)
class FigureView:
    """One figure of a finding: its value, or a small table where it has one entry a value."""

    name: str
    value: str = ""
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[Shown, tuple[str, ...]], ...] = ()
    more: int = 0


@dataclass(frozen=True)
class FindingView:
    """One line of the findings table and the fold behind it."""

    code: str
    kind: str
    anchor: str
    href: str
    sign: str
    severity: str
    severity_word: str
    basis: str
    title: str
    size: str
    subject: tuple[tuple[str, Shown], ...]
    figures: tuple[FigureView, ...]
    figures_more: int
    examples: tuple[ExampleView, ...]
    examples_more: int
    keys: tuple[str, ...]
    keys_more: int
    fix: str
    caveat: str
    reproduce: str
    section: str
    change: str


@dataclass(frozen=True)
class SectionView:
    """One question of the page."""

    anchor: str
    of: str
    title: str
    codes: tuple[tuple[str, str], ...]
    question: str
    answer: str
    tables: tuple[TableView, ...]
    tables_more: int
    method: tuple[str, ...]
    examples: tuple[ExampleView, ...]
    examples_more: int


@dataclass(frozen=True)
class LaneView:
    """One lane of the verdict."""

    number: int
    name: str
    state: str
    words: str
    sign: str
    sentence: str
    do: str
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class PageView:
    """Everything that `audit.html.j2` needs beside the audit itself.

    `ids` begins every anchor, `of` ends every label, and `up` is added to the level of every heading where the page
    holds several audits.
    """

    name: str
    tab_title: str
    where: tuple[str, ...]
    summary: str
    lanes: tuple[LaneView, ...]
    findings: tuple[FindingView, ...]
    findings_more: int
    sections: tuple[SectionView, ...]
    sections_more: int
    breakdowns: tuple[SectionView, ...]
    breakdowns_more: int
    suppressed: tuple[Mapping[str, str], ...]
    suppressed_more: int
    unused: str
    versions: tuple[str, ...]
    seed: str
    thresholds: tuple[tuple[str, str], ...]
    settings: tuple[tuple[str, Shown], ...]
    roles: tuple[tuple[str, Shown, str], ...]
    shortened: bool
    since: SinceView | None
    caps: Caps = field(default_factory=Caps)
    ids: str = ""
    of: str = ""
    up: int = 0


def page_view(audit: Audit, caps: Caps, *, ids: str = "", of: str = "", up: int = 0) -> PageView:
    """Lay out an audit for the page, every list cut to `caps`; the other three as in :class:`PageView`."""
    anchors = _anchors(audit.sections[: caps.sections], ids)
    findings = tuple(
        _finding_view(finding, f"{ids}f-{n}", anchors, caps)
        for n, finding in enumerate(audit.findings[: caps.findings], 1)
    )
    targets = {**{view.code: view.anchor for view in reversed(findings)}, **anchors}
    places = {id(section): f"{ids}s-{n}-{_slug(section.key)}" for n, section in enumerate(audit.sections, 1)}
    store = audit.store
    return PageView(
        name=shown(_file_name(store.path) if store else say("queries only")).text,
        tab_title=shown(audit.verdict.sentence, 120).text,
        where=_where(audit),
        summary=_summary(audit),
        lanes=_lanes(audit, targets),
        findings=findings,
        findings_more=len(audit.findings) - len(findings),
        sections=tuple(
            _section_view(section, places[id(section)], of, findings, caps)
            for section in audit.sections[: caps.sections]
        ),
        sections_more=max(0, len(audit.sections) - caps.sections),
        breakdowns=tuple(
            _section_view(section, f"{ids}b-{n}-{_slug(section.key)}", of, (), caps)
            for n, section in enumerate(audit.breakdowns[: caps.breakdowns], 1)
        ),
        breakdowns_more=max(0, len(audit.breakdowns) - caps.breakdowns),
        suppressed=tuple(_suppressed_view(item, caps) for item in audit.suppressed[: caps.notes]),
        suppressed_more=max(0, len(audit.suppressed) - caps.notes),
        unused=_unused(audit),
        versions=(
            f"memaudit {shown(audit.memaudit, 40).text}",
            *(
                f"{shown(name, 40).text} {shown(version, 40).text}"
                for name, version in _head(audit.versions, caps.figures)
                if name != "memaudit"
            ),
        ),
        seed=shown(audit.config.get("seed", "-"), caps.text).text,
        thresholds=_thresholds(audit.config, caps),
        settings=tuple(
            (shown(key, 60).text, shown(value, caps.text)) for key, value in _head(audit.config, caps.figures)
        ),
        roles=_roles(audit, caps),
        shortened=caps.shortened,
        since=since_view(
            audit, {f.fingerprint: v.anchor for f, v in zip(audit.findings, findings, strict=False)}, caps
        ),
        caps=caps,
        ids=ids,
        of=of,
        up=up,
    )


def _head(mapping: Mapping[str, Any], limit: int) -> list[tuple[str, Any]]:
    return list(mapping.items())[:limit]


def _slug(key: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", key.lower())[:40].strip("-") or "section"


def _file_name(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or path


def _anchors(sections: Sequence[Section], ids: str) -> dict[str, str]:
    """Where the evidence of a code stands: the first section that names it."""
    anchors: dict[str, str] = {}
    for n, section in enumerate(sections, 1):
        for code in section.codes:
            anchors.setdefault(code, f"{ids}s-{n}-{_slug(section.key)}")
    return anchors


def _where(audit: Audit) -> tuple[str, ...]:
    """Give the head line of the page: what was read, how much of it, from when to when."""
    store = audit.store
    if store is None:
        return (say("no store: query files only"),)
    parts = [say("table `{table}`", table=store.table)] if store.table else []
    label = store.roles.get("value_field", store.roles.get("value"))
    if isinstance(label, str):
        parts.append(say("field under audit `{field}`", field=label))
    rows = plural(store.rows, "row")
    parts.append(
        rows if store.rows == store.rows_used else say("{used} of {rows} used", used=store.rows_used, rows=rows)
    )
    if store.first_time and store.last_time:
        parts.append(say("{first} to {last}", first=store.first_time[:10], last=store.last_time[:10]))
    return tuple(parts)


def _summary(audit: Audit) -> str:
    counts = [
        say("{n} {severity}", n=n, severity=word(severity.label))
        for severity in sorted(Severity, reverse=True)
        if (n := sum(1 for finding in audit.findings if finding.severity is severity))
    ]
    if not counts:
        found = say("No findings.")
    else:
        found = say(
            "{findings}: {counts}.", findings=plural(len(audit.findings), "finding"), counts=say(", ").join(counts)
        )
    weak = sum(1 for finding in audit.findings if finding.basis is Basis.UNDER_POWERED)
    if weak:
        found += space_between() + say("{n} of them under-powered: too few cases to tell.", n=weak)
    if audit.suppressed:
        found += space_between() + say("{n} suppressed.", n=len(audit.suppressed))
    silent = len({item.probe for item in audit.not_run})
    if silent:
        found += space_between() + say("{probes} could not look in full.", probes=plural(silent, "probe"))
    return found


def _lanes(audit: Audit, targets: Mapping[str, str]) -> tuple[LaneView, ...]:
    return tuple(
        LaneView(
            number=n,
            name=shown(word(lane.lane)).text,
            state=lane.state.value,
            words=in_words(lane.state.value),
            sign=LANE_SIGNS[lane.state],
            sentence=lane.sentence,
            do=lane.do,
            links=tuple((visible(code), targets.get(code, "")) for code in lane.codes[:12]),
        )
        for n, lane in enumerate(audit.verdict.lanes[:6], 1)
    )


def _finding_view(finding: Finding, anchor: str, anchors: Mapping[str, str], caps: Caps) -> FindingView:
    section = anchors.get(finding.code, "")
    ids = finding.evidence.ids
    # By-value figures of a finding stand in the tables of its section already.
    figures = [
        (name, value)
        for name, value in _head(finding.figures, caps.figures)
        if not (section and isinstance(value, Mapping) and any(isinstance(inner, Mapping) for inner in value.values()))
    ]
    return FindingView(
        code=shown(finding.code, 20).text,
        kind=shown(finding.kind, 80).text,
        anchor=anchor,
        href=section or anchor,
        sign=SEVERITY_SIGNS[finding.severity],
        severity=finding.severity.label,
        severity_word=word(finding.severity.label),
        basis=word(finding.basis.value),
        title=finding.title,
        size=size_of(finding),
        subject=tuple((shown(key, 40).text, shown(value, caps.text)) for key, value in _head(finding.subject, 12)),
        figures=tuple(_figure_view(name, value, finding.figures, caps) for name, value in figures),
        figures_more=max(0, len(finding.figures) - caps.figures),
        examples=tuple(_example_view(item, caps) for item in finding.evidence.shown[: caps.examples]),
        examples_more=max(0, finding.evidence.total - len(finding.evidence.shown[: caps.examples])),
        keys=tuple(shown(key, 60).text for key in ids[: caps.keys]),
        keys_more=max(0, max(finding.evidence.total, len(ids)) - caps.keys) if ids else 0,
        fix=finding.fix,
        caveat=finding.caveat or "",
        reproduce=shown(finding.reproduce, 600).text if finding.reproduce else "",
        section=section,
        change=finding.change if finding.change in ("new", "worse", "better") else "",
    )


def _figure_view(name: str, value: Json, figures: Mapping[str, Json], caps: Caps) -> FigureView:
    label = shown(name, 60).text
    if not isinstance(value, Mapping) or not value:
        return FigureView(label, shown(figure(name, value, figures), caps.text).text)
    items = list(value.items())[: caps.groups]
    heads: list[str] = []
    for _, inner in items:
        heads += [key for key in inner if key not in heads] if isinstance(inner, Mapping) else []
    heads = heads[:8]
    rows = []
    for key, inner in items:
        cells: Sequence[str]
        if isinstance(inner, Mapping):
            cells = [shown(figure(head, inner.get(head), inner), 60).text for head in heads]
        else:
            cells = [shown(figure(name, inner, value), 60).text] + [""] * (len(heads) - 1)
        rows.append((shown(key, caps.text), tuple(cells)))
    return FigureView(
        label,
        heads=tuple(shown(head, 60).text for head in heads) or (say("value"),),
        rows=tuple(rows),
        more=len(value) - len(items),
    )


def _example_view(example: Example, caps: Caps) -> ExampleView:
    key = "" if example.key is None else shown(example.key, 60).text
    return ExampleView(shown(example.text, caps.text, lines=True), key, example.note)


def _section_view(section: Section, anchor: str, of: str, findings: Sequence[FindingView], caps: Caps) -> SectionView:
    folds = {view.code: view.anchor for view in reversed(findings)}
    return SectionView(
        anchor=anchor,
        of=of,
        title=section.title,
        codes=tuple((visible(code), folds.get(code, "")) for code in section.codes[:12]),
        question=section.question,
        answer=section.answer,
        tables=tuple(table_view(table, caps) for table in section.tables[: caps.tables]),
        tables_more=max(0, len(section.tables) - caps.tables),
        method=section.method[: caps.notes],
        examples=tuple(_example_view(item, caps) for item in section.examples[: caps.examples]),
        examples_more=max(0, len(section.examples) - caps.examples),
    )


def _suppressed_view(item: Mapping[str, Json], caps: Caps) -> dict[str, str]:
    reason = as_text(item.get("reason") or say("no reason on record"))
    if item.get("until"):
        reason += space_between() + say("(until {day})", day=as_text(item["until"]))
    return {
        "code": shown(item.get("code", "-"), 20).text,
        "title": as_text(item.get("title") or item.get("kind") or "-"),
        "severity": shown(word(as_text(item.get("severity", "-"))), 20).text,
        "reason": reason,
    }


def _unused(audit: Audit) -> str:
    """Say what became of the rows that no list of left-out rows explains."""
    store = audit.store
    if store is None:
        return say("There was no store to read rows from.")
    if audit.left_out:
        return say("A row can stand in several lines: each probe says what it could not use.")
    if store.rows_used == store.rows:
        return say("None: every row was used ({rows}).", rows=plural(store.rows, "row"))
    return say("{used} of {rows} were used.", used=store.rows_used, rows=plural(store.rows, "row"))


def _thresholds(config: Mapping[str, Json], caps: Caps) -> tuple[tuple[str, str], ...]:
    lines = []
    if config.get("thresholds") is not None:
        lines.append((say("thresholds"), shown(config["thresholds"], caps.text).text))
    limits = config.get("limits")
    if isinstance(limits, Mapping):
        lines += [(shown(key, 60).text, shown(value, caps.text).text) for key, value in _head(limits, caps.figures)]
    return tuple(lines)


def _roles(audit: Audit, caps: Caps) -> tuple[tuple[str, Shown, str], ...]:
    if audit.store is None:
        return ()
    guessed = audit.store.guessed
    return tuple(
        (
            shown(role, 60).text,
            shown(column, caps.text),
            as_text(guessed.get(role, say("given in the configuration"))),
        )
        for role, column in _head(audit.store.roles, 20)
    )
