"""`memaudit-baseline.json`: findings that somebody accepted, each with the figure that it was accepted at."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from memaudit.errors import ConfigError
from memaudit.fingerprint import with_fingerprints
from memaudit.history.compare import looked
from memaudit.history.measure import MOVED_BY, measure, number, worsened_by
from memaudit.history.silent import is_accepted, silent_items
from memaudit.model import Audit, Finding, Severity
from memaudit.wording import say, unread

FILE_NAME = "memaudit-baseline.json"
VERSION = 1


@dataclass(frozen=True)
class Accepted:
    """One accepted finding.

    Parameters
    ----------
    probe
        Who finds it: an entry is only called silent when that probe ran.
    severity
        How bad it was when it was accepted; "" where a file does not say.
    figure, value
        What was measured when it was accepted; "" and None for a finding without a figure that can get worse.
    table
        The table of the audit; "" where a file does not say.
    """

    fingerprint: str
    code: str
    kind: str
    title: str
    reason: str
    figure: str = ""
    value: float | None = None
    since: str = ""
    probe: str = ""
    severity: str = ""
    table: str = ""

    def is_of(self, audit: Audit) -> bool:
        """Whether an audit can tell that the finding is gone: not one of another table than it was accepted in."""
        return not self.table or self.table == _table(audit)


def read_baseline(path: Path) -> tuple[Accepted, ...]:
    """Read a baseline.

    Raises
    ------
    ConfigError
        No such file, no baseline, or an entry without fingerprint, code or reason.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        hint = say("Write one with `memaudit baseline`, from the report.json of an audit.")
        raise ConfigError(
            say("cannot read the baseline {path}: {reason}.", path=path, reason=error.strerror or error), hint
        ) from None
    except ValueError as error:
        raise ConfigError(say("the baseline {path} is no JSON: {error}.", path=path, error=unread(error))) from None
    if not isinstance(document, dict) or not isinstance(document.get("accepted"), list):
        raise ConfigError(
            say("{path} is no baseline of memaudit.", path=path), say("Write one with `memaudit baseline`.")
        )
    if document.get("memaudit_baseline") != VERSION:
        found = document.get("memaudit_baseline")
        raise ConfigError(
            say(
                "{path} is a baseline of version {found}; this memaudit reads {version}.",
                path=path,
                found=repr(found),
                version=VERSION,
            )
        )
    return tuple(_entry(item, path) for item in document["accepted"])


def _entry(item: Any, path: Path) -> Accepted:
    known = Accepted.__dataclass_fields__
    if not isinstance(item, Mapping) or not all(
        isinstance(item.get(k), str) and item[k].strip() for k in ("fingerprint", "code", "reason")
    ):
        raise ConfigError(
            say("{path}: an entry needs fingerprint, code and reason; found {item}.", path=path, item=str(item)[:80])
        )
    texts = {key: str(item.get(key, "")) for key in known if key != "value"}
    if texts["severity"] not in {level.label for level in Severity}:
        texts["severity"] = ""
    return Accepted(**texts, value=number(item.get("value")))


def baseline_text(entries: Iterable[Accepted]) -> str:
    """Write a baseline, sorted by code and fingerprint, so that it can be reviewed and merged."""
    ordered = sorted(entries, key=lambda e: (e.code, e.fingerprint))
    document = {"memaudit_baseline": VERSION, "accepted": [asdict(entry) for entry in ordered]}
    return json.dumps(document, ensure_ascii=False, indent=1) + "\n"


def worsened(entry: Accepted, finding: Finding) -> bool:
    """Whether an accepted finding opens again: its figure worsened by more than 10 %, relative."""
    size = measure(finding)
    if entry.value is None or size.value is None or size.name != entry.figure:
        return False
    return worsened_by(entry.value, size.value, size.worse) > MOVED_BY


def judged(finding: Finding, entries: Mapping[str, Accepted]) -> tuple[Accepted | None, Finding]:
    """Return the entry that accepts a finding, None when it is new or opens again, and the finding to show."""
    entry = entries.get(finding.fingerprint)
    if entry is None or entry.code != finding.code:
        return None, finding
    if not worsened(entry, finding):
        return entry, finding
    note = say(
        "Accepted in the baseline at {figure} = {was:.4g}; it is {now:.4g} now and open again.",
        figure=entry.figure, was=entry.value, now=measure(finding).value,
    )  # fmt: skip
    return None, replace(finding, caveat=f"{finding.caveat} {note}" if finding.caveat else note)


def baseline_notes(entries: Iterable[Accepted], audit: Audit) -> tuple[str, ...]:
    """Say which accepted findings no longer fire, and which rules could not tell: a note, never silence."""
    gone = [entry for entry in entries if entry.fingerprint not in _firing(audit)]
    elsewhere = [entry for entry in gone if not entry.is_of(audit)]
    gone = [entry for entry in gone if entry.is_of(audit)]
    answered = [entry for entry in gone if looked(audit, entry.code, entry.probe)]
    notes = []
    if elsewhere:
        notes.append(say("Accepted in the baseline, but for another table: {codes}.", codes=_codes(elsewhere)))
    if answered:
        notes.append(
            say(
                "Accepted in the baseline, but not found any more: {codes}. Drop them with `memaudit baseline --prune`.",
                codes=_codes(answered),
            )
        )
    if len(answered) < len(gone):
        unknown = [entry for entry in gone if entry not in answered]
        notes.append(say("Accepted in the baseline, but the rule did not look: {codes}.", codes=_codes(unknown)))
    return tuple(notes)


def _codes(entries: Iterable[Accepted]) -> str:
    return ", ".join(f"{entry.code} ({entry.fingerprint})" for entry in entries)


def _firing(audit: Audit) -> set[str]:
    found = {finding.fingerprint for finding in with_fingerprints(audit.findings)}
    return found | set(silent_items(audit))


@dataclass(frozen=True)
class Updated:
    """A baseline after an update, and what the update did."""

    entries: tuple[Accepted, ...]
    added: tuple[Accepted, ...] = ()
    moved: tuple[Accepted, ...] = ()
    dropped: tuple[Accepted, ...] = ()
    silent: tuple[Accepted, ...] = ()


def updated(
    entries: Iterable[Accepted],
    audit: Audit,
    *,
    reason: str = "",
    prune: bool = False,
    accept: bool = True,
    select: tuple[str, ...] = (),
    today: date | None = None,
) -> Updated:
    """Accept what an audit found.

    Parameters
    ----------
    reason
        For new entries, and in place of that of the others; without it old entries keep theirs.
    prune
        Drop entries that no longer fire; one whose rule did not look, or of another table, stays.
    accept
        Whether to accept anything; False only prunes.
    select
        Beginnings of the codes to accept; () accepts all.

    Notes
    -----
    Facts (severity `info`) are not accepted: there is nothing to accept in them. Figures are set to what they are
    now, also when they fell: a fault that shrank and grows back is told again.
    """
    day = (today or date.today()).isoformat()
    kept = {entry.fingerprint: entry for entry in entries}
    added, moved = [], []
    present = [e for e in _present(audit) if not select or e.code.startswith(select)] if accept else []
    for entry in present:
        old = kept.get(entry.fingerprint)
        why = reason or (old.reason if old else say("known on {day}", day=day))
        entry = replace(entry, reason=why, since=old.since if old else day)
        if old is None:
            added.append(entry)
        elif (old.figure, old.value, old.reason) != (entry.figure, entry.value, entry.reason):
            moved.append(entry)
        kept[entry.fingerprint] = entry
    firing = _firing(audit)
    answered = [
        e for e in kept.values() if e.fingerprint not in firing and e.is_of(audit) and looked(audit, e.code, e.probe)
    ]
    if prune:
        for entry in answered:
            del kept[entry.fingerprint]
    return Updated(
        tuple(kept.values()), tuple(added), tuple(moved),
        dropped=tuple(answered) if prune else (), silent=() if prune else tuple(answered),
    )  # fmt: skip


def _table(audit: Audit) -> str:
    return "" if audit.store is None else audit.store.table or ""


def _present(audit: Audit) -> list[Accepted]:
    """Return what an audit found as entries, also what the baseline hid in it."""
    present = []
    for finding in with_fingerprints(audit.findings):
        if finding.severity is not Severity.INFO:
            size = measure(finding)
            present.append(
                Accepted(
                    finding.fingerprint, finding.code, finding.kind, finding.title, "", size.name, size.value,
                    probe=finding.probe, severity=finding.severity.label, table=_table(audit),
                )
            )  # fmt: skip
    for item in audit.suppressed:
        if is_accepted(item) and item.get("fingerprint"):
            names = ("fingerprint", "code", "kind", "title", "figure", "probe", "severity")
            texts = {name: str(item.get(name) or "") for name in names}
            value = number(item.get("figure_value"))
            present.append(Accepted(**texts, reason="", value=value, table=_table(audit)))
    return present
