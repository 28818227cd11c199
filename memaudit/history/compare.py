"""What differs between two audits of one store: findings by fingerprint, figures by name, rows by key.

Pure: two audits in, plain data out. A figure is compared only when encoder, thresholds and every setting that
matters are equal, and a finding is called fixed only when its rule looked and did not find it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from memaudit.changes import Change, Changes, ChangeState, Move
from memaudit.fingerprint import with_fingerprints
from memaudit.history.measure import MOVED_BY, Measure, measure, number, worsened_by
from memaudit.history.settings import differences, settings_of
from memaudit.history.silent import is_accepted, reason_of, silent_finding, silent_items
from memaudit.model import Audit, Finding, Json, Severity
from memaudit.wording import language, plural, say

_ORDER = tuple(ChangeState)


def compare(
    old: Audit, new: Audit, *, old_keys: frozenset[int] | None = None, new_keys: frozenset[int] | None = None
) -> Changes:
    """Compare two audits.

    Parameters
    ----------
    old, new
        The earlier and the later audit.
    old_keys, new_keys
        Marks of the row keys of both (`memaudit.history.row_keys`); None where they are not known, and then rows
        added and removed are None.

    Returns
    -------
    Every finding of both audits once, the most urgent state first, then the most severe. Facts (severity `info` in
    every audit that has them) are left out: a fact is neither new nor fixed.
    """
    with language(new.lang):
        breaks = differences(settings_of(old), settings_of(new))
        before = {f.fingerprint: f for f in with_fingerprints(old.findings)}
        after = {f.fingerprint: f for f in with_fingerprints(new.findings)}
        changes = [_present(before.get(mark), finding, old, breaks) for mark, finding in after.items()]
        changes += [_gone(finding, new, breaks) for mark, finding in before.items() if mark not in after]
        was_silent = {m: f for m, f in _silent(old).items() if m not in before and m not in after}
        is_silent = silent_items(new)
        changes += [_silent_and_gone(f, old, new, breaks) for m, f in was_silent.items() if m not in is_silent]
        found_or_silent = (before, after, was_silent)
        faults = {m for found in found_or_silent for m, f in found.items() if f.severity is not Severity.INFO}
        changes = [change for change in changes if change.fingerprint in faults]
        both = old_keys is not None and new_keys is not None and _same_rows(old, new)
        return Changes(
            since=old.run.started,
            breaks=breaks,
            findings=in_order(changes),
            figures=() if breaks else _moves(old.figures, new.figures),
            rows_before=_rows(old),
            rows_after=_rows(new),
            rows_added=len(new_keys - old_keys) if both and new_keys is not None and old_keys is not None else None,
            rows_removed=len(old_keys - new_keys) if both and new_keys is not None and old_keys is not None else None,
            notes=_notes(old, new) + _still_silent(sum(1 for m in was_silent if m in is_silent and m in faults)),
        )


def in_order(changes: Iterable[Change]) -> tuple[Change, ...]:
    """Put the most urgent state first, then the most severe."""
    return tuple(
        sorted(changes, key=lambda c: (_ORDER.index(c.state), -Severity.of(c.severity), c.code, c.fingerprint))
    )


def with_changes(audit: Audit, changes: Changes) -> Audit:
    """Put a comparison into the later audit, and mark its findings with what became of them."""
    states = {c.fingerprint: c.state for c in changes.findings}
    findings = tuple(
        replace(f, change=states[f.fingerprint].value if f.fingerprint in states else "")
        for f in with_fingerprints(audit.findings)
    )
    return replace(audit, findings=findings, changes=changes)


def looked(audit: Audit, code: str, probe: str) -> bool:
    """Say whether a rule gave an answer in an audit: its probe ran, and nobody left the rule out."""
    if any(code in item.codes or (item.probe == probe and not item.codes) for item in audit.not_run):
        return False
    select, ignore = audit.config.get("select") or (), audit.config.get("ignore") or ()
    named = [word for word in ignore if _names(word, code, probe)]
    if probe == "audit":  # what the audit says of itself stands in every audit of a store
        return not named and audit.store is not None
    ran = not audit.run.probe_seconds or probe in audit.run.probe_seconds
    return ran and not named and (not select or any(_names(word, code, probe) for word in select))


def _names(word: Any, code: str, probe: str) -> bool:
    return code.startswith(str(word).upper()) or word == probe


def _present(before: Finding | None, finding: Finding, old: Audit, breaks: tuple[str, ...]) -> Change:
    """Judge a finding of the later audit."""
    size = measure(finding)
    change = _change(ChangeState.UNCHANGED, finding, size.name, None, size.value)
    if before is None:
        silent = silent_items(old).get(finding.fingerprint)
        if silent is not None:
            reason = say(
                "in the baseline before: {why}" if is_accepted(silent) else "suppressed before: {why}",
                why=reason_of(silent),
            )
            return replace(change, state=ChangeState.NEW, reason=reason)
        if not looked(old, finding.code, finding.probe):
            return replace(change, state=ChangeState.NEW, reason=say("the rule did not look before"))
        if finding.severity < Severity.of(str(old.config.get("min_severity", "info"))):
            return replace(change, state=ChangeState.NEW, reason=say("below the severity that was shown before"))
        return replace(change, state=ChangeState.NEW, reason=say("settings differ") if breaks else "")
    earlier = measure(before)
    if earlier.name == size.name:
        change = replace(change, before=earlier.value)
    if breaks:
        return replace(change, state=ChangeState.NOT_COMPARED, reason=say("settings differ"))
    values = _values_moved(before.subject.get("values"), finding.subject.get("values"))
    if before.severity != finding.severity:
        state = ChangeState.WORSE if finding.severity > before.severity else ChangeState.BETTER
        moved = say("{was} before, {now} now", was=before.severity.label, now=finding.severity.label)
        return replace(change, state=state, reason="; ".join(part for part in (moved, values) if part))
    if change.before is None or change.after is None:
        return replace(change, reason=values)
    by = worsened_by(change.before, change.after, size.worse)
    if abs(by) > MOVED_BY and not _counts_agree(earlier, size):
        reason = say("the share moved because the number of rows did")
        return replace(change, reason="; ".join(part for part in (reason, values) if part))
    state = ChangeState.WORSE if by > MOVED_BY else ChangeState.BETTER if by < -MOVED_BY else ChangeState.UNCHANGED
    return replace(change, state=state, reason=values)


def _counts_agree(before: Measure, after: Measure) -> bool:
    """Whether the count behind a share moved the way the share did.

    Rows that go away raise the share of every fault that stays, and a store that grows lowers it: neither is news.
    """
    if before.cases is None or after.cases is None or before.value is None or after.value is None:
        return True
    return (after.cases - before.cases) * (after.value - before.value) > 0


def _gone(finding: Finding, new: Audit, breaks: tuple[str, ...]) -> Change:
    """Judge a finding that the later audit does not show: fixed only when its rule looked."""
    size = measure(finding)
    change = _change(ChangeState.NOT_COMPARED, finding, size.name, size.value, None)
    silent = silent_items(new).get(finding.fingerprint)
    if silent is not None:
        reason = say("in the baseline: {why}" if is_accepted(silent) else "suppressed: {why}", why=reason_of(silent))
        after = number(silent.get("figure_value")) if silent.get("figure") == size.name and not breaks else None
        return replace(change, state=ChangeState.ACCEPTED, after=after, reason=reason)
    return _not_found(change, finding, new, breaks)


def _silent_and_gone(finding: Finding, old: Audit, new: Audit, breaks: tuple[str, ...]) -> Change:
    """Judge a finding that the earlier audit kept silent and the later one has not at all."""
    item = silent_items(old)[finding.fingerprint]
    size = number(item.get("figure_value"))
    before = _change(ChangeState.NOT_COMPARED, finding, str(item.get("figure") or ""), size, None)
    change = _not_found(before, finding, new, breaks)
    was = say("it was accepted or suppressed")
    return replace(change, reason="; ".join(part for part in (change.reason, was) if part))


def _not_found(change: Change, finding: Finding, new: Audit, breaks: tuple[str, ...]) -> Change:
    """Call a finding fixed that is in the later audit in no way, or say why that cannot be said."""
    if not looked(new, finding.code, finding.probe):
        return replace(change, reason=say("gone, but the rule did not look this time"))
    if finding.severity < Severity.of(str(new.config.get("min_severity", "info"))):
        return replace(change, reason=say("below the severity that is shown"))
    if breaks:
        return replace(change, reason=say("gone, but settings differ"))
    if new.incomplete:
        return replace(change, reason=say("gone, but this audit is incomplete"))
    return replace(change, state=ChangeState.FIXED)


def _change(state: ChangeState, finding: Finding, figure: str, before: float | None, after: float | None) -> Change:
    return Change(
        state, finding.code, finding.kind, finding.severity.label, finding.title, finding.fingerprint, figure,
        before, after,
    )  # fmt: skip


def _silent(audit: Audit) -> dict[str, Finding]:
    return {mark: finding for mark, item in silent_items(audit).items() if (finding := silent_finding(item))}


def _still_silent(n: int) -> tuple[str, ...]:
    if n == 0:
        return ()
    found = plural(n, "finding is", "findings are")
    return (say("{findings} accepted or suppressed in both audits and not listed here.", findings=found),)


def _values_moved(before: Json, after: Json) -> str:
    was, now = ({str(v) for v in values} if isinstance(values, list | tuple) else set() for values in (before, after))
    more, fewer = len(now - was), len(was - now)
    parts = [say("{values} more", values=plural(more, "value"))] if more else []
    parts += [say("{values} fewer", values=plural(fewer, "value"))] if fewer else []
    return ", ".join(parts)


def _moves(old: Mapping[str, Json], new: Mapping[str, Json]) -> tuple[Move, ...]:
    moves = []
    for name, after in new.items():
        was, now = number(old.get(name)), number(after)
        if was is not None and now is not None and abs(was - now) > 1e-9 * max(abs(was), abs(now)):
            moves.append(Move(name, old[name], after))
    return tuple(moves)


def _rows(audit: Audit) -> int | None:
    return None if audit.store is None else audit.store.rows


def _same_rows(old: Audit, new: Audit) -> bool:
    """Whether the two audits looked at the same selection of rows, by the same key, and at all of it."""
    keys = ("table", "where", "id", "max_rows", "soft_delete", "active")
    same = all(old.config.get(key) == new.config.get(key) for key in keys)
    if old.store is None or new.store is None or not same or new.config.get("max_rows") is not None:
        return False
    return old.store.roles.get("id") == new.store.roles.get("id") and old.store.table == new.store.table


def _notes(old: Audit, new: Audit) -> tuple[str, ...]:
    notes = []
    if old.memaudit != new.memaudit:
        notes.append(say("Written by memaudit {old} before and {new} now.", old=old.memaudit, new=new.memaudit))
    if old.incomplete:
        notes.append(say("The earlier audit was incomplete: {reason}", reason=old.incomplete))
    if old.store is not None and new.store is not None and _name(old.store.path) != _name(new.store.path):
        names = _name(old.store.path), _name(new.store.path)
        notes.append(say("The store is named {new}; it was {old}.", old=names[0], new=names[1]))
    if new.config.get("max_rows") is not None:
        notes.append(say("Only a sample of the rows was audited: small changes can be chance."))
    return tuple(notes)


def _name(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
