"""Mask secrets in everything an audit shows: no report of any format carries a stored credential.

Rows' keys, paths, hashes and our own names stay; every text that can quote the store is masked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from memaudit.model import Audit, Cell, Example, Finding, Lane, Section, Table, Verdict
from memaudit.text.masking import masked

#: Keys of a subject that hold no stored text.
_OWN_SUBJECT = frozenset({"table", "column", "file", "files", "function", "module", "line", "ids", "config", "tables"})


@lru_cache(maxsize=4096)
def _text(text: str) -> str:
    return masked(text)


def masked_audit(audit: Audit) -> Audit:
    """Return the same audit with the values of secrets masked in every text that can quote the store."""
    return replace(
        audit,
        verdict=_verdict(audit.verdict),
        findings=tuple(_finding(f) for f in audit.findings),
        sections=tuple(_section(s) for s in audit.sections),
        breakdowns=tuple(_section(s) for s in audit.breakdowns),
        notes=tuple(_text(n) for n in audit.notes),
        plan=tuple(replace(p, reason=_text(p.reason)) for p in audit.plan),
        left_out=tuple(replace(out, reason=_text(out.reason)) for out in audit.left_out),
        not_run=tuple(replace(n, reason=_text(n.reason)) for n in audit.not_run),
        figures=_any(audit.figures),
        suppressed=tuple(_any(s) for s in audit.suppressed),
    )


def _any(value: Any) -> Any:
    """Mask the texts inside plain data, keys of mappings included."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, Mapping):
        return {_any(key) if isinstance(key, str) else key: _any(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_any(item) for item in value)
    return value


def _example(example: Example) -> Example:
    return replace(example, text=_text(example.text), note=_text(example.note))


def _finding(finding: Finding) -> Finding:
    subject = {key: value if key in _OWN_SUBJECT else _any(value) for key, value in finding.subject.items()}
    return replace(
        finding,
        subject=subject,
        title=_text(finding.title),
        figures={key: value if key == "ids" else _any(value) for key, value in finding.figures.items()},
        evidence=replace(finding.evidence, shown=tuple(_example(e) for e in finding.evidence.shown)),
        fix=_text(finding.fix),
        caveat=None if finding.caveat is None else _text(finding.caveat),
    )


def _section(section: Section) -> Section:
    return replace(
        section,
        title=_text(section.title),
        answer=_text(section.answer),
        method=tuple(_text(line) for line in section.method),
        tables=tuple(_table(t) for t in section.tables),
        examples=tuple(_example(e) for e in section.examples),
    )


def _table(table: Table) -> Table:
    keys = {c.key for c in table.columns if c.cell in (Cell.VALUE, Cell.TEXT, Cell.CODE, Cell.PARTS)}
    rows = tuple({key: _any(value) if key in keys else value for key, value in row.items()} for row in table.rows)
    return replace(table, caption=_text(table.caption), rows=rows)


def _verdict(verdict: Verdict) -> Verdict:
    lanes: tuple[Lane, ...] = tuple(
        replace(lane, sentence=_text(lane.sentence), do=_text(lane.do)) for lane in verdict.lanes
    )
    return replace(
        verdict,
        sentence=_text(verdict.sentence),
        lead=_text(verdict.lead),
        do_first=_text(verdict.do_first),
        lanes=lanes,
        reasoning=tuple(_text(line) for line in verdict.reasoning),
    )
