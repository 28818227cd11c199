"""Put findings in order once, for every report: severity, suppressions, baseline, sampling, length of key lists."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime
from typing import Any

from memaudit.config import Config, nearest
from memaudit.errors import ConfigError
from memaudit.fingerprint import with_fingerprints
from memaudit.history.baseline import Accepted, judged
from memaudit.history.measure import measure
from memaudit.history.silent import BY_BASELINE
from memaudit.model import Basis, Finding, Severity
from memaudit.wording import part_of, say

#: Keys of all rows concerned are kept up to this number.
MAX_IDS = 100_000
#: Keys of a subject that a suppression may name.
_SUBJECT_KEYS = ("table", "column", "value", "file", "function")


def arranged(
    findings: Iterable[Finding],
    config: Config,
    *,
    rows: int,
    drawn_from: int | None = None,
    baseline: Iterable[Accepted] = (),
) -> tuple[list[Finding], list[Mapping[str, Any]]]:
    """Sort findings most severe first, set suppressed ones apart, and drop those below the severity shown.

    Parameters
    ----------
    rows, drawn_from
        Rows audited, and the rows that they were drawn from at random: what was counted over them is a sample.
    baseline
        Accepted findings: set apart like suppressed ones, until their figure worsens.

    Returns
    -------
    The findings shown, and those that are suppressed or accepted, each with its reason, severity and figures.

    Raises
    ------
    ConfigError
        A suppression without code or reason, or with an unknown key.
    """
    lowest = Severity.of(config.min_severity)
    sample = None if drawn_from is None else (rows, drawn_from)
    shown: list[Finding] = []
    suppressed: list[Mapping[str, Any]] = []
    accepted = {entry.fingerprint: entry for entry in baseline}
    for finding in with_fingerprints(by_severity(findings)):
        rule = _suppression(finding, config)
        entry, finding = judged(finding, accepted)
        if rule is not None:
            suppressed.append(_set_apart(finding, str(rule["reason"]), "configuration", _day(rule.get("until"))))
        elif entry is not None:
            suppressed.append(_set_apart(finding, entry.reason, BY_BASELINE))
        elif finding.severity >= lowest:
            shown.append(_cut(finding if sample is None else _as_sampled(finding, *sample)))
    return shown, suppressed


def by_severity(findings: Iterable[Finding]) -> list[Finding]:
    """Put the most severe first; among equals what can be trusted comes before what is under-powered."""
    return sorted(findings, key=lambda f: (-f.severity, f.basis is Basis.UNDER_POWERED, f.code))


def _set_apart(finding: Finding, reason: str, by: str, until: date | None = None) -> dict[str, Any]:
    """Keep what a reader of a suppressed finding needs: how bad it is, why it is silent, until when."""
    size = measure(finding)
    return {
        "code": finding.code,
        "kind": finding.kind,
        "severity": finding.severity.label,
        "title": finding.title,
        "reason": reason,
        "until": None if until is None else until.isoformat(),
        "by": by,
        "fingerprint": finding.fingerprint,
        "subject": dict(finding.subject),
        "figures": dict(finding.figures),
        "figure": size.name,
        "figure_value": size.value,
        "probe": finding.probe,
    }


def _as_sampled(finding: Finding, rows: int, drawn_from: int) -> Finding:
    counted = finding.figures.get("rows")
    # A limit or a filter is held against the whole table, and queries against all rows.
    beyond = (isinstance(counted, int) and counted > rows) or isinstance(finding.figures.get("queries"), int)
    if finding.basis is not Basis.MEASURED or beyond:
        return finding
    note = say("Counted in a seeded sample: {rows} rows.", rows=part_of(rows, drawn_from))
    return replace(finding, basis=Basis.SAMPLED, caveat=f"{finding.caveat} {note}" if finding.caveat else note)


def _cut(finding: Finding) -> Finding:
    if len(finding.evidence.ids) <= MAX_IDS:
        return finding
    note = say("Only the first {n} keys are listed.", n=MAX_IDS)
    evidence = replace(finding.evidence, ids=finding.evidence.ids[:MAX_IDS])
    return replace(finding, evidence=evidence, caveat=f"{finding.caveat} {note}" if finding.caveat else note)


def _suppression(finding: Finding, config: Config) -> Mapping[str, Any] | None:
    """Return the rule that suppresses a finding today, None when none does."""
    for rule in config.suppress:
        _check_rule(rule)
        until = _day(rule.get("until"))
        same = rule["code"] == finding.code and all(
            str(finding.subject.get(key)) == str(rule[key]) for key in _SUBJECT_KEYS if key in rule
        )
        if same and (until is None or date.today() <= until):
            return rule
    return None


def check_suppressions(config: Config, codes: Iterable[str]) -> None:
    """Refuse a suppression that can never fire, before the audit begins.

    Parameters
    ----------
    codes
        Of all rules there are, whether they run or not.

    Raises
    ------
    ConfigError
        Without code or reason, with an unknown key or code, or with an `until` that is no day.
    """
    known = sorted(set(codes))
    for rule in config.suppress:
        _check_rule(rule)
        _day(rule.get("until"))
        if rule["code"] not in known:
            raise ConfigError(
                say('suppress: no rule is called "{code}".', code=rule["code"]),
                nearest(str(rule["code"]), known) or say("See `memaudit probes`."),
            )


def _check_rule(rule: Mapping[str, Any]) -> None:
    unknown = sorted(set(rule) - {"code", "reason", "until", *_SUBJECT_KEYS})
    if unknown or "code" not in rule or not str(rule.get("reason", "")).strip():
        shown = "{" + ", ".join(f"{key} = {_toml(value)}" for key, value in rule.items()) + "}"
        raise ConfigError(
            say("suppress: {rule} needs code and reason, and has no key {key}.", rule=shown, key=unknown[0])
            if unknown
            else say("suppress: {rule} needs code and reason.", rule=shown),
            say("Further keys: until (a day), table, column, value, file, function."),
        )


def _toml(value: Any) -> str:
    return value.isoformat() if isinstance(value, date) else json.dumps(value, ensure_ascii=False, default=str)


def _day(until: Any) -> date | None:
    """Return the last day of a suppression, None when it has none."""
    if until is None:
        return None
    if isinstance(until, datetime):
        return until.date()
    if not isinstance(until, date):
        raise ConfigError(
            say("suppress: until = {until} is no day.", until=repr(until)),
            say("Write it without quotes: until = 2027-03-31."),
        )
    return until
