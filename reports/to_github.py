"""The audit as workflow commands of GitHub Actions: annotations beside the code and on the run's page."""

from __future__ import annotations

from collections.abc import Mapping

from memaudit.model import Audit, Audits, Basis, Finding, Severity
from memaudit.reports.every_table import failures, heading, passed_over, passed_over_line
from memaudit.reports.pointers import code_place, names_of, sentence, silences, without_answer
from memaudit.reports.shown_numbers import word
from memaudit.reports.shown_text import as_text
from memaudit.wording import plural, say, spoken

_COMMANDS: Mapping[Severity, str] = {
    Severity.HIGH: "error",
    Severity.MEDIUM: "warning",
    Severity.LOW: "notice",
    Severity.INFO: "notice",
}


@spoken
def tables_to_github(audits: Audits) -> str:
    """Write one line that sums up, an error a table that failed, then the lines of every audit."""
    lines = [_command("notice", heading(audits), {"title": "memaudit"})]
    lines += [_command("error", line, {"title": "memaudit"}) for line in failures(audits)]
    left = passed_over(audits)
    if left:
        said = "\n".join(map(passed_over_line, left))
        lines.append(_command("notice", said, {"title": say("memaudit: tables not audited")}, lines=True))
    return "\n".join(lines) + "\n" + "".join(to_github(audit, table=True) for audit in audits.audits)


@spoken
def to_github(audit: Audit, *, table: bool = False) -> str:
    """Write one workflow command a line: the verdict, every finding, and what gave no answer.

    Only a finding about code names a file: a store is rarely a file of the repository. An under-powered finding
    is a notice, whatever its severity. GitHub shows ten errors, ten warnings and ten notices of a step; all of
    them are in its log.
    """
    store = audit.store
    where = f" {store.path}" if store is not None else ""
    if store is not None and store.table and table:
        where += f" {store.table}"
    lines = [_command("notice", audit.verdict.sentence, {"title": f"memaudit{where}"})]
    lines += [_finding(finding) for finding in audit.findings]
    silent = [*(without_answer(item) for item in audit.not_run), *silences(audit)]
    if silent:
        # One command for all of them: the places for notices are few.
        level = "warning" if audit.incomplete else "notice"
        lines.append(_command(level, "\n".join(silent), {"title": say("memaudit: what gave no answer")}, lines=True))
    if audit.suppressed:
        codes = ", ".join(dict.fromkeys(as_text(item.get("code", "-")) for item in audit.suppressed))
        found = plural(len(audit.suppressed), "finding")
        lines.append(
            _command(
                "notice", say("{findings} suppressed: {codes}", findings=found, codes=codes), {"title": "memaudit"}
            )
        )
    return "\n".join(lines) + "\n"


def escaped(text: str) -> str:
    """Escape the message of a workflow command, so that it can hold any line and never begin another one."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def escaped_property(text: str) -> str:
    """Escape the value of a property of a workflow command."""
    return escaped(text).replace(":", "%3A").replace(",", "%2C")


def _finding(finding: Finding) -> str:
    weak = finding.basis is Basis.UNDER_POWERED
    place = code_place(finding)
    at = {} if place is None else {"file": place.file}
    if place is not None and place.line is not None:
        at["line"] = str(place.line)
    names = ".".join(names_of(finding))
    title = " ".join(part for part in (finding.code, finding.kind, names) if part)
    text = finding.title if finding.basis is Basis.MEASURED else f"{finding.title} [{word(finding.basis.value)}]"
    return _command("notice" if weak else _COMMANDS[finding.severity], text, {**at, "title": title})


def _command(level: str, text: str, properties: Mapping[str, str], *, lines: bool = False) -> str:
    shown = "\n".join(sentence(line) for line in text.split("\n")) if lines else sentence(text)
    listed = ",".join(f"{name}={escaped_property(sentence(value, 300))}" for name, value in properties.items())
    return f"::{level} {listed}::{escaped(shown)}"
