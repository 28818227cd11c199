"""What differs from the baseline: findings that it does not hold, that got worse, shrank or are gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from memaudit.changes import Change, Changes, ChangeState
from memaudit.fingerprint import with_fingerprints
from memaudit.history.baseline import Accepted
from memaudit.history.compare import in_order, looked
from memaudit.history.measure import MOVED_BY, measure, number, worsened_by
from memaudit.history.silent import is_accepted, silent_finding, silent_items
from memaudit.model import Audit, Finding, Severity
from memaudit.wording import language, say


def against_baseline(entries: Sequence[Accepted], audit: Audit, name: str) -> Changes:
    """Compare an audit with what is accepted.

    Parameters
    ----------
    entries
        The baseline that the audit was arranged by.
    name
        What the baseline is called for the reader.

    Returns
    -------
    Every finding above `info` once: `new` when it is not accepted, `worse` when it opened again; accepted ones are
    `better` or `unchanged`, and `fixed` when their rule looked at the same table and did not find them. What the configuration
    suppresses is left out: the baseline does not keep it silent. So is an entry whose file does not say how severe it
    was and that is gone: `baseline_notes` names every entry that is gone.
    """
    with language(audit.lang):
        accepted = {entry.fingerprint: entry for entry in entries}
        silent = silent_items(audit)
        shown = [f for f in with_fingerprints(audit.findings) if f.severity is not Severity.INFO]
        changes = [_shown(finding, accepted.get(finding.fingerprint)) for finding in shown]
        present = {finding.fingerprint for finding in with_fingerprints(audit.findings)} | set(silent)
        for mark, entry in accepted.items():
            item = silent.get(mark)
            if item is not None and is_accepted(item):
                finding = silent_finding(item)
                changes += [_kept(finding, entry, item)] if finding is not None else []
            elif mark not in present and entry.severity:
                changes.append(_gone(entry, audit))
        return Changes(since="", against=name, findings=in_order(changes))


def _shown(finding: Finding, entry: Accepted | None) -> Change:
    size = measure(finding)
    change = Change(
        ChangeState.NEW, finding.code, finding.kind, finding.severity.label, finding.title, finding.fingerprint,
        size.name, None, size.value,
    )  # fmt: skip
    if entry is None or entry.code != finding.code:
        return change
    return replace(change, state=ChangeState.WORSE, before=entry.value if entry.figure == size.name else None)


def _kept(finding: Finding, entry: Accepted, item: Mapping[str, object]) -> Change:
    """Judge a finding that stays accepted: a figure that got worse by more than a tenth would have opened it."""
    name, now = str(item.get("figure") or ""), number(item.get("figure_value"))
    change = Change(
        ChangeState.UNCHANGED, finding.code, finding.kind, finding.severity.label, finding.title, finding.fingerprint,
        name, entry.value if entry.figure == name else None, now,
    )  # fmt: skip
    if change.before is None or now is None:
        return change
    size = measure(finding)  # without its evidence a finding has no other direction than "more is worse"
    by = worsened_by(change.before, now, size.worse if size.name == name else 1)
    return replace(change, state=ChangeState.BETTER) if by < -MOVED_BY else change


def _gone(entry: Accepted, audit: Audit) -> Change:
    change = Change(
        ChangeState.NOT_COMPARED, entry.code, entry.kind, entry.severity, entry.title, entry.fingerprint, entry.figure,
        entry.value,
    )  # fmt: skip
    if not entry.is_of(audit):
        return replace(change, reason=say("it was accepted in the table {table}", table=entry.table))
    if not looked(audit, entry.code, entry.probe):
        return replace(change, reason=say("gone, but the rule did not look this time"))
    if audit.incomplete:
        return replace(change, reason=say("gone, but this audit is incomplete"))
    return replace(change, state=ChangeState.FIXED)
