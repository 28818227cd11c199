"""Findings that an audit kept silent: accepted in the baseline, or suppressed by the configuration."""

from __future__ import annotations

from collections.abc import Mapping

from memaudit.model import Audit, Finding, Json, Severity

#: `by` of a silent finding that the baseline accepts.
BY_BASELINE = "baseline"

Item = Mapping[str, Json]


def silent_items(audit: Audit) -> dict[str, Item]:
    """Return what `Audit.suppressed` lists, by fingerprint."""
    return {mark: item for item in audit.suppressed if isinstance(mark := item.get("fingerprint"), str) and mark}


def is_accepted(item: Item) -> bool:
    """Whether it is the baseline that keeps a finding silent."""
    return item.get("by") == BY_BASELINE


def reason_of(item: Item) -> str:
    """Return why a finding is silent, in the words of the person who said so."""
    return str(item.get("reason") or "-")


def silent_finding(item: Item) -> Finding | None:
    """Return a silent finding as it was, without its evidence; None where the severity is not known."""
    severity = item.get("severity")
    if severity not in {level.label for level in Severity}:
        return None
    subject, figures = item.get("subject"), item.get("figures")
    return Finding(
        code=str(item.get("code") or ""),
        kind=str(item.get("kind") or ""),
        severity=Severity.of(str(severity)),
        subject=subject if isinstance(subject, Mapping) else {},
        title=str(item.get("title") or ""),
        figures=figures if isinstance(figures, Mapping) else {},
        probe=str(item.get("probe") or ""),
        fingerprint=str(item.get("fingerprint") or ""),
    )
