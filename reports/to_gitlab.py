"""The audit as a code quality report of GitLab, shown in merge requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from memaudit.fingerprint import fingerprint, fingerprints
from memaudit.model import Audit, Audits, Basis, Finding, Json, Severity
from memaudit.reports.every_table import failures, passed_over, passed_over_line, table_name
from memaudit.reports.pointers import audited_file, code_place, sentence, silences, without_answer
from memaudit.reports.shown_numbers import word
from memaudit.reports.to_json import readable_json
from memaudit.wording import say, spoken

_SEVERITIES: Mapping[Severity, str] = {
    Severity.HIGH: "critical",
    Severity.MEDIUM: "major",
    Severity.LOW: "minor",
    Severity.INFO: "info",
}
#: The format demands a path; this one stands where neither code nor a store was read.
_NO_FILE = "report.json"


@spoken
def to_gitlab(audit: Audit) -> str:
    """Write an audit as the JSON list that GitLab reads as `artifacts:reports:codequality`.

    Every finding is an entry; its fingerprint stays when lines and counts move. An under-powered finding is
    `info`. The format has no place for what did not run, so each such rule is an entry of severity `info`, an
    incomplete audit one of severity `major`: silence must not look like a clean result.
    """
    return readable_json(_entries(audit, ""))


@spoken
def tables_to_gitlab(audits: Audits) -> str:
    """Write the entries of every audit as one list; a table that failed is an entry of severity `major`."""
    entries = [entry for audit in audits.audits for entry in _entries(audit, table_name(audit))]
    said = [(line, "major") for line in failures(audits)]
    said += [(passed_over_line(one), "info") for one in passed_over(audits)]
    for n, (text, severity) in enumerate(said):
        mark = fingerprint("not-run", {"name": "table", "part": n})
        entries.append(_entry("not-run", text, mark, severity, audits.store, 1))
    return readable_json(entries)


def _entries(audit: Audit, table: str) -> list[dict[str, Json]]:
    """List the entries of an audit; `table` tells those of several audits apart, in their words and their marks."""
    entries = [
        _finding(finding, _own(mark, table), audit)
        for finding, mark in zip(audit.findings, fingerprints(audit.findings), strict=True)
    ]
    silent = [(f"{item.probe} {' '.join(item.codes)}", without_answer(item), "info") for item in audit.not_run]
    silent += [
        (f"note {n}", said, "major" if audit.incomplete and n == 0 else "info")
        for n, said in enumerate(silences(audit))
    ]
    seen: Counter[str] = Counter()
    for name, said, severity in silent:
        seen[name] += 1
        mark = _own(fingerprint("not-run", {"name": name, "part": seen[name]}), table)
        entries.append(_entry("not-run", said, mark, severity, audited_file(audit), 1))
    if table:
        for entry in entries:
            entry["description"] = sentence(say("{table}: {text}", table=table, text=entry["description"]))
    return entries


def _own(mark: str, table: str) -> str:
    return fingerprint(mark, {"table": table}) if table else mark


def _finding(finding: Finding, mark: str, audit: Audit) -> dict[str, Json]:
    place = code_place(finding)
    text = f"{finding.code} {finding.kind}: {finding.title}"
    if finding.basis is not Basis.MEASURED:
        text = say("{text} [{basis}]", text=text, basis=word(finding.basis.value))
    severity = "info" if finding.basis is Basis.UNDER_POWERED else _SEVERITIES[finding.severity]
    file, line = (place.file, place.line or 1) if place is not None else (audited_file(audit), 1)
    return _entry(finding.code, text, mark, severity, file, line)


def _entry(check: str, text: str, mark: str, severity: str, file: str, line: int) -> dict[str, Json]:
    return {
        "description": sentence(text),
        "check_name": f"memaudit/{sentence(check, 40)}",
        "fingerprint": mark,
        "severity": severity,
        "location": {"path": sentence(file, 400) or _NO_FILE, "lines": {"begin": line}},
    }
