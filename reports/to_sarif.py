"""The audit as SARIF 2.1.0, for code scanning services and editors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import quote

from memaudit.fingerprint import fingerprints
from memaudit.model import Audit, Audits, Basis, Finding, Json, Severity, Status
from memaudit.reports.every_table import failures, passed_over, passed_over_line, table_name
from memaudit.reports.pointers import audited_file, code_place, names_of, sentence, silences, without_answer
from memaudit.reports.shown_numbers import in_words
from memaudit.reports.to_json import plain, readable_json
from memaudit.wording import say, spoken

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
#: Severity -> level of SARIF; "none" would hide a finding in most viewers.
LEVELS: Mapping[Severity, str] = {
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "note",
    Severity.INFO: "note",
}
#: Name of our fingerprint; the number changes when the way of making it does.
FINGERPRINT = "memauditFinding/v1"
_UTC = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?)(?:Z|\+00:00)\Z")


@spoken
def to_sarif(audit: Audit) -> str:
    """Write an audit as SARIF 2.1.0 (OASIS standard).

    Every finding is a result, suppressed ones too (with the reason). What points at code has file and line;
    everything else has the store as its file, and table and column as logical location. What did not run, was
    left out or is unfinished stands in the notifications of the invocation. Row keys and tables of figures stay
    in report.json; the plain figures are in the properties of each result.
    """
    return _written([_run(audit)])


@spoken
def tables_to_sarif(audits: Audits) -> str:
    """Write one run a table; its `automationDetails` name the table, so that services keep the runs apart.

    Tables that were not audited stand in the notifications of a run of their own without results.
    """
    runs = []
    for audit in audits.audits:
        run = _run(audit)
        run["automationDetails"] = {"id": f"memaudit/{quote(table_name(audit), safe='', errors='surrogatepass')}/"}
        runs.append(run)
    said = [(line, "failed", "error") for line in failures(audits)]
    said += [(passed_over_line(one), "not-run", "note") for one in passed_over(audits)]
    if said:
        notes: list[Json] = [
            {"descriptor": {"id": name}, "level": level, "message": message(text)} for text, name, level in said
        ]
        invocation = {"executionSuccessful": not failures(audits), "toolExecutionNotifications": notes}
        driver = _driver(audits.memaudit, [])
        runs.append({
            "tool": {"driver": driver}, "automationDetails": {"id": "memaudit//"}, "invocations": [invocation],
            "results": [],
        })  # fmt: skip
    return _written(runs)


def _written(runs: list[dict[str, Json]]) -> str:
    return readable_json({"$schema": SCHEMA, "version": "2.1.0", "runs": runs})


def _driver(version: str, rules: list[dict[str, Json]]) -> dict[str, Json]:
    return {
        "name": "memaudit",
        "version": sentence(version, 100),
        "rules": rules,
        "notifications": [{"id": name} for name in ("not-run", "failed", "note")],
    }


def _run(audit: Audit) -> dict[str, Json]:
    rules = _rules(audit)
    order = {rule["id"]: n for n, rule in enumerate(rules)}
    marks = fingerprints(audit.findings)
    results = [_result(f, mark, order, audit) for f, mark in zip(audit.findings, marks, strict=True)]
    results += [_suppressed(item, order, audit) for item in audit.suppressed]
    run: dict[str, Json] = {
        "tool": {"driver": _driver(audit.memaudit, rules)},
        "invocations": [_invocation(audit)],
        "columnKind": "unicodeCodePoints",
        "artifacts": [],
        "results": results,
        "properties": {
            "verdict": {"state": audit.verdict.state, "sentence": sentence(audit.verdict.sentence)},
            "redacted": audit.redacted,
        },
    }
    file = audited_file(audit)
    if file:
        artifact: dict[str, Json] = {"location": _artifact(file), "roles": ["analysisTarget"]}
        if audit.store is not None and audit.store.sha256:
            artifact["hashes"] = {"sha-256": sentence(audit.store.sha256, 100)}
        run["artifacts"] = [artifact]
    return run


def message(text: str, limit: int = 1000) -> dict[str, str]:
    """Make a message of a text that may quote the store: no placeholder and no link comes to life in it.

    Braces are doubled, as the standard asks (3.11.5); `](`, which would begin the target of a link (3.11.6),
    gets a blank.
    """
    shown = sentence(text, limit) or "-"
    return {"text": shown.replace("{", "{{").replace("}", "}}").replace("](", "] (")}


def uri_of(path: str) -> str:
    """Give a path as a URI reference: relative paths stay relative, absolute ones become `file:///...`."""
    if re.match(r"[A-Za-z]:/", path):
        return "file:///" + path[:2] + quote(path[2:], errors="surrogatepass")
    address = re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", path)
    if address is not None:
        return address.group() + quote(path[address.end() :], safe="/:@", errors="surrogatepass")
    escaped = quote(path, errors="surrogatepass")
    return f"file://{escaped}" if path.startswith("/") else escaped


def _rules(audit: Audit) -> list[dict[str, Json]]:
    """Describe every rule that is mentioned, once, in the order of the results."""
    rules: dict[str, dict[str, Json]] = {}
    for finding in audit.findings:
        rule = rules.get(finding.code)
        if rule is None:
            rules[finding.code] = rule = _rule(finding.code, finding.kind, finding.fix)
            rule["defaultConfiguration"] = {"level": LEVELS[finding.severity]}
            rule["properties"] = {"tags": [t for t in ("agent-memory", in_words(finding.lane)) if t]}
    for item in audit.suppressed:
        code = _code(item)
        if code not in rules:
            kind = item.get("kind")
            rules[code] = _rule(code, kind if isinstance(kind, str) else "", "")
    return list(rules.values())


def _rule(code: str, kind: str, fix: str) -> dict[str, Json]:
    explain = say("Run `memaudit explain {code}`: method, thresholds, limits, how to suppress.", code=code)
    rule: dict[str, Json] = {"id": code}
    if kind:
        rule["name"] = sentence(kind, 100)
        rule["shortDescription"] = message(in_words(kind), 200)
    rule["help"] = message(say("What to do: {fix} {explain}", fix=fix, explain=explain) if fix else explain)
    return rule


def _code(item: Mapping[str, Json]) -> str:
    return sentence(item.get("code", "-"), 40)


def _result(finding: Finding, mark: str, order: Mapping[str, int], audit: Audit) -> dict[str, Json]:
    properties = {
        "severity": finding.severity.label,
        "basis": finding.basis.value,
        "figures": plain(finding.figures),
        "subject": plain(finding.subject),
        "examplesTotal": finding.evidence.total,
        "probe": finding.probe,
        "lane": finding.lane,
    }
    for name in ("fix", "caveat", "reproduce"):
        text = getattr(finding, name)
        if text:
            properties[name] = sentence(text)
    return {
        "ruleId": finding.code,
        "ruleIndex": order[finding.code],
        # Services block a change for errors; an under-powered finding never fails anything.
        "level": "note" if finding.basis is Basis.UNDER_POWERED else LEVELS[finding.severity],
        "message": message(finding.title),
        "locations": _locations(finding, audit),
        "partialFingerprints": {FINGERPRINT: mark},
        "suppressions": [],
        "properties": properties,
    }


def _suppressed(item: Mapping[str, Json], order: Mapping[str, int], audit: Audit) -> dict[str, Json]:
    """Make a result of a suppressed finding; of it only code, title and reason are always kept."""
    words = {s.label: level for s, level in LEVELS.items()}
    severity = item.get("severity")
    file = audited_file(audit)
    result: dict[str, Json] = {
        "ruleId": _code(item),
        "ruleIndex": order[_code(item)],
        "level": words.get(severity, "note") if isinstance(severity, str) else "note",
        "message": message(item.get("title") or "-"),
        "locations": [{"physicalLocation": {"artifactLocation": _artifact(file)}}] if file else [],
        "suppressions": [{"kind": "external", "justification": sentence(item.get("reason") or "-")}],
    }
    mark = item.get("fingerprint")
    if isinstance(mark, str) and mark:
        result["partialFingerprints"] = {FINGERPRINT: mark}
    if item.get("until") is not None:
        result["properties"] = {"until": sentence(item["until"], 100)}
    return result


def _locations(finding: Finding, audit: Audit) -> list[dict[str, Json]]:
    place, names = code_place(finding), names_of(finding)
    location: dict[str, Json] = {}
    if place is not None:
        location["physicalLocation"] = {"artifactLocation": _artifact(place.file)}
        if place.line is not None:
            location["physicalLocation"]["region"] = {"startLine": place.line}
    elif audited_file(audit):
        location["physicalLocation"] = {"artifactLocation": _artifact(audited_file(audit))}
    if names:
        subject = finding.subject
        kind = "function" if "function" in subject else ("table" if names == (subject.get("table"),) else "member")
        location["logicalLocations"] = [_logical(names, kind)]
    return [location] if location else []


def _logical(names: Sequence[str], kind: str) -> dict[str, Json]:
    return {"name": names[-1], "fullyQualifiedName": ".".join(names), "kind": kind}


def _artifact(path: str) -> dict[str, str]:
    uri = uri_of(path)
    return {"uri": uri} if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", uri) else {"uri": uri, "uriBaseId": "%SRCROOT%"}


def _invocation(audit: Audit) -> dict[str, Json]:
    notes: list[dict[str, Json]] = []
    for item in audit.not_run:
        failed = item.status is Status.FAILED
        note: dict[str, Json] = {
            "descriptor": {"id": "failed" if failed else "not-run"},
            "level": "error" if failed else "note",
            "message": message(without_answer(item)),
            "properties": {"probe": item.probe, "codes": list(item.codes), "status": item.status.value},
        }
        if item.traceback:
            note["exception"] = {"message": item.traceback}
        notes.append(note)
    level = "warning" if audit.incomplete else "note"
    for n, said in enumerate(silences(audit)):
        notes.append({"descriptor": {"id": "note"}, "level": level if n == 0 else "note", "message": message(said)})
    invocation: dict[str, Json] = {
        "executionSuccessful": not audit.incomplete,
        "toolExecutionNotifications": notes,
    }
    if audit.command:
        invocation["commandLine"] = sentence(audit.command, 4000)
    started = _UTC.match(audit.run.started)
    if started is not None:
        invocation["startTimeUtc"] = started[1] + "Z"
    return invocation
