"""An audit without any text from the store: what `--redact` shows, in every format.

The model does not mark where one of our sentences quotes the store. So the texts are collected first from
the places that can hold nothing else (examples, value cells, values of subjects and figures), and every
other string is then searched for them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from memaudit.changes import Change, Changes, Trend
from memaudit.model import (
    Audit,
    Cell,
    Evidence,
    Example,
    Finding,
    Json,
    Lane,
    NotRun,
    Proposal,
    RowsLeftOut,
    Section,
    Status,
    Table,
)
from memaudit.reports.labels import Labels, is_identifier
from memaudit.wording import say, space_between, spoken

# Subjects and figures that name our own things or hold times; everything else made of text is labelled.
_OWN_SUBJECTS = frozenset(
    {"table", "tables", "column", "field", "file", "files", "function", "module", "line", "config"}
    | {"k", "arm", "arms", "compare", "stage", "part"}
)
_NAMES = ("table", "tables", "column", "field", "function", "module")
_KEY_SUBJECTS = frozenset({"ids", "id", "trajectory", "key", "keys"})
_OWN_FIGURES = frozenset({"first_time", "last_time", "reason", "unit", "verdict", "kinds"})
_OWN_FIGURE_KEYS = frozenset(
    {"kinds", "dims", "clusters", "versions", "thresholds", "new_clusters_by_week", "order_spread"}
)


@spoken
def redacted(audit: Audit) -> Audit:
    """Give the same audit without store text.

    Values become `value-07`, row keys that are no integers `row-7`; the same text has the same label
    everywhere in one audit, numbered by first appearance. Counts, cosines, codes, column names, paths and
    times stay. Tracebacks and the messages of crashed probes go, for they quote data.

    Returns
    -------
    An audit with `redacted` set; one that is redacted already comes back as it is.
    """
    if audit.redacted:
        return audit
    labels = Labels(_own_names(audit))
    _collect(audit, labels)
    labels.close()
    clean = labels.clean
    verdict = audit.verdict
    store = audit.store
    return replace(
        audit,
        redacted=True,
        store=None
        if store is None
        else replace(
            store,
            guessed={role: clean(why) for role, why in store.guessed.items()},
            other_tables=tuple(_walk(item, labels) for item in store.other_tables),
            notes=_clean_all(store.notes, labels),
        ),
        encoder=None if audit.encoder is None else replace(audit.encoder, note=clean(audit.encoder.note)),
        verdict=replace(
            verdict,
            sentence=clean(verdict.sentence),
            lead=clean(verdict.lead),
            do_first=clean(verdict.do_first),
            lanes=tuple(_lane(lane, labels) for lane in verdict.lanes),
            reasoning=_clean_all(verdict.reasoning, labels),
        ),
        findings=tuple(_finding(finding, labels) for finding in audit.findings),
        sections=tuple(_section(section, labels) for section in audit.sections),
        breakdowns=tuple(_section(section, labels) for section in audit.breakdowns),
        not_run=tuple(_not_run(item, labels) for item in audit.not_run),
        figures={name: _headline(name, value, labels) for name, value in audit.figures.items()},
        notes=_clean_all(audit.notes, labels),
        left_out=tuple(_left_out(item, labels) for item in audit.left_out),
        plan=tuple(_proposal(item, labels) for item in audit.plan),
        suppressed=tuple(_suppressed(item, labels) for item in audit.suppressed),
        config=_walk(audit.config, labels),
        command=clean(audit.command),
        changes=_changes(audit, labels),
        trend=_trend(audit.trend, labels),
    )


def _own_names(audit: Audit) -> frozenset[str]:
    """Return the names of tables, columns and functions: they are shown, also where a probe calls one a value."""
    store = audit.store
    named: list[Json] = [] if store is None else [store.table, *store.roles.values()]
    named += [finding.subject.get(key) for finding in audit.findings for key in _NAMES]
    flat = [item for value in named for item in (value if isinstance(value, list | tuple) else [value])]
    return frozenset(item for item in flat if isinstance(item, str) and item)


def _collect(audit: Audit, labels: Labels) -> None:
    """Label everything in page order by doing the work once; what it returns is thrown away."""
    for finding in audit.findings:
        _subject(finding.subject, labels)
        _figures(finding.figures, labels)
        _evidence(finding, labels)
    for section in (*audit.sections, *audit.breakdowns):
        for table in section.tables:
            _table(table, labels)
        for example in section.examples:
            _example(example, labels)
    for item in audit.left_out:
        _left_out(item, labels)
    for proposal in audit.plan:
        _proposal(proposal, labels)
    for suppressed in audit.suppressed:
        _suppressed(suppressed, labels)


def _clean_all(sentences: Sequence[str], labels: Labels) -> tuple[str, ...]:
    return tuple(labels.clean(sentence) for sentence in sentences)


def _walk(value: Any, labels: Labels) -> Any:
    """Clean all strings in our own data (configuration, notes), keys included."""
    if isinstance(value, str):
        return labels.clean(value)
    if isinstance(value, Mapping):
        return {_walk(key, labels): _walk(item, labels) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_walk(item, labels) for item in value]
    return value


def _subject(subject: Mapping[str, Json], labels: Labels) -> dict[str, Json]:
    clean: dict[str, Json] = {}
    for name, value in subject.items():
        if name in _KEY_SUBJECTS:
            clean[name] = labels.rows(value)
        elif name in _OWN_SUBJECTS:
            clean[name] = value
        else:
            clean[name] = labels.value(value)
    return clean


def _figures(figures: Mapping[str, Json], labels: Labels) -> dict[str, Json]:
    return {name: _figure(name, value, labels, 0) for name, value in figures.items()}


def _figure(name: str, value: Json, labels: Labels, depth: int) -> Json:
    """Label texts of a figure, and the keys of a figure that has one entry a value."""
    if isinstance(value, Mapping):
        own = depth > 0 or name in _OWN_FIGURE_KEYS
        return {
            (key if own and _is_own(key, labels) else labels.value(str(key))): _figure(
                str(key), item, labels, depth + 1
            )
            for key, item in value.items()
        }
    if name == "ids" or name.endswith("_ids"):
        return labels.rows(value)
    if isinstance(value, list | tuple):
        return [_figure(name, item, labels, depth + 1) for item in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and name not in ("value", "values"):
        return value
    return value if name in _OWN_FIGURES else labels.value(value)


def _is_own(key: Json, labels: Labels) -> bool:
    return isinstance(key, str) and is_identifier(key) and not labels.knows(key)


def _headline(name: str, value: Json, labels: Labels) -> Json:
    """Headline numbers stay; their texts go. Their keys are names of ours unless they are known values."""
    if isinstance(value, Mapping):
        return {
            (key if _is_own(key, labels) else labels.value(str(key))): _headline(str(key), item, labels)
            for key, item in value.items()
        }
    return _figure(name, value, labels, 1)


def _example(example: Example, labels: Labels) -> Example:
    return Example(labels.value(example.text) or "", labels.row(example.key), example.note)


def _evidence(finding: Finding, labels: Labels) -> Evidence:
    """Label examples and keys; what has no row and points at a file is code, not store text."""
    evidence = finding.evidence
    points_at_code = "file" in finding.subject or "files" in finding.subject
    return Evidence(
        shown=tuple(item if points_at_code and item.key is None else _example(item, labels) for item in evidence.shown),
        total=evidence.total,
        ids=tuple(labels.row(key) for key in evidence.ids),
    )


def _noted(example: Example, labels: Labels) -> Example:
    return replace(example, text=labels.clean(example.text), note=labels.clean(example.note))


def _finding(finding: Finding, labels: Labels) -> Finding:
    evidence = _evidence(finding, labels)
    return replace(
        finding,
        subject=_subject(finding.subject, labels),
        title=labels.clean(finding.title),
        figures=_figures(finding.figures, labels),
        evidence=replace(evidence, shown=tuple(_noted(item, labels) for item in evidence.shown)),
        fix=labels.clean(finding.fix),
        caveat=None if finding.caveat is None else labels.clean(finding.caveat),
        reproduce=labels.clean(finding.reproduce),
    )


def _table(table: Table, labels: Labels) -> Table:
    """Label the value cells and the keys among code cells; the sentences come later, in `_clean_table`."""
    values = {column.key for column in table.columns if column.cell is Cell.VALUE}
    codes = {column.key for column in table.columns if column.cell is Cell.CODE}
    parts = {column.key for column in table.columns if column.cell is Cell.PARTS}
    rows = tuple(
        {
            key: labels.value(item)
            if key in values
            else _one_part(item, labels)
            if key in parts
            else labels.row(item)
            if key in codes and not isinstance(item, str)
            else item
            for key, item in row.items()
        }
        for row in table.rows
    )
    return replace(table, rows=rows)


def _one_part(parts: Json, labels: Labels) -> Json:
    """Label a text in pieces as a whole: even the constants between the pieces are store text."""
    if not isinstance(parts, list | tuple) or not parts:
        return []
    return [[labels.value("".join(str(text) for text, _ in parts)), False]]


def _clean_table(table: Table, labels: Labels) -> Table:
    table = _table(table, labels)
    values = {column.key for column in table.columns if column.cell is Cell.VALUE}
    shown = {column.key for column in table.columns} - values | {"_mark"}
    rows = tuple(
        {
            key: labels.clean(item) if isinstance(item, str) and key not in values else item
            for key, item in row.items()
            if key in shown | values  # what no column shows is not known to be ours
        }
        for row in table.rows
    )
    return replace(
        table,
        caption=labels.clean(table.caption),
        rows=rows,
        columns=tuple(replace(column, label=labels.clean(column.label)) for column in table.columns),
        reference_label=labels.clean(table.reference_label),
    )


def _section(section: Section, labels: Labels) -> Section:
    return replace(
        section,
        title=labels.clean(section.title),
        question=labels.clean(section.question),
        answer=labels.clean(section.answer),
        tables=tuple(_clean_table(table, labels) for table in section.tables),
        method=_clean_all(section.method, labels),
        examples=tuple(_noted(_example(item, labels), labels) for item in section.examples),
    )


def _lane(lane: Lane, labels: Labels) -> Lane:
    return replace(lane, sentence=labels.clean(lane.sentence), do=labels.clean(lane.do))


def _not_run(item: NotRun, labels: Labels) -> NotRun:
    reason = item.reason
    if item.status is Status.FAILED:  # the message of an exception quotes what it could not read
        reason = re.split(r"[:(\n]", reason, maxsplit=1)[0] + space_between() + say("(message left out: redacted)")
    return replace(item, reason=labels.clean(reason), option=labels.clean(item.option), traceback=None)


def _left_out(item: RowsLeftOut, labels: Labels) -> RowsLeftOut:
    return replace(item, reason=labels.clean(item.reason), ids=tuple(labels.row(key) for key in item.ids))


def _proposal(item: Proposal, labels: Labels) -> Proposal:
    return replace(
        item,
        ids=tuple(labels.row(key) for key in item.ids),
        keep=labels.row(item.keep),
        reason=labels.clean(item.reason),
    )


#: Keys of a suppressed finding that are names of ours and never quote the store.
_OWN_KEYS = frozenset({"code", "kind", "severity", "by", "until", "fingerprint", "figure", "figure_value", "probe"})


def _changes(audit: Audit, labels: Labels) -> Changes | None:
    """Clean a comparison; the title of a finding that only the earlier audit had quotes texts that no label knows."""
    changes = audit.changes
    if changes is None:
        return None
    here = {f.fingerprint for f in audit.findings}

    def change(item: Change) -> Change:
        title = labels.clean(item.title) if item.fingerprint in here else item.kind
        return replace(item, title=title, reason=labels.clean(item.reason))

    return replace(
        changes,
        breaks=_clean_all(changes.breaks, labels),
        findings=tuple(change(item) for item in changes.findings),
        notes=_clean_all(changes.notes, labels),
    )


def _trend(trend: Trend | None, labels: Labels) -> Trend | None:
    if trend is None:
        return None
    breaks = tuple(replace(item, reasons=_clean_all(item.reasons, labels)) for item in trend.breaks)
    return replace(trend, breaks=breaks)


def _suppressed(item: Mapping[str, Json], labels: Labels) -> dict[str, Json]:
    clean: dict[str, Json] = {}
    for name, value in item.items():
        if name in _OWN_KEYS:
            clean[name] = value
        elif name == "subject" and isinstance(value, Mapping):
            clean[name] = _subject(value, labels)
        elif name == "figures" and isinstance(value, Mapping):
            clean[name] = _figures(value, labels)
        elif name in ("value", "values"):
            clean[name] = labels.value(value)
        elif name == "ids":
            clean[name] = labels.rows(value)
        else:
            clean[name] = _walk(value, labels)
    return clean
