"""The audit as Markdown: a comment on a pull request, the summary of a workflow's step."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from memaudit.changes import Change, Changes, ChangeState
from memaudit.model import Audit, Audits, Basis, Finding, NotRun, Severity, Status
from memaudit.reports.every_table import (
    failures,
    findings_by_severity,
    heading,
    passed_over,
    passed_over_line,
    rows_used,
    table_name,
)
from memaudit.reports.pointers import code_place, names_of, sentence, silences
from memaudit.reports.shown_numbers import LANE_SIGNS, SEVERITY_SIGNS, in_words, size_of, word
from memaudit.reports.shown_text import as_text
from memaudit.reports.since_page import STATE_SIGNS, change_text, rows_sentence, summary
from memaudit.wording import plural, say, spoken

#: A bot finds its own comment by it.
_MARK = "<!-- memaudit -->"
#: A comment holds at most 65,536 characters on GitHub, which refuses a longer one.
MAX_CHARACTERS = 60_000
# Findings shown, reasons shown and characters of a sentence, tried in turn until the comment fits.
_CAPS = ((50, 30, 400), (50, 15, 200), (25, 10, 120), (10, 5, 80), (3, 3, 40))

# What means something inside a line; every line begins with words or signs of ours, so blocks cannot begin.
# Written as entities, not with backslashes: a backslash before a pipe reads differently in and out of tables.
_MARKUP = str.maketrans({c: f"&#{ord(c)};" for c in "\\`*_[]|~$<>&\u200b"})


def _broken_commit(match: re.Match[str]) -> str:
    """Break a commit's name so that no piece is long enough to be one."""
    return "\u200b".join(re.findall(".{1,6}", match[0]))


# References are looked for after the markup is done, so that no escape stops them: mentions, issues, labels, emoji,
# addresses, tickets, commits. A zero-width space breaks them; stored ones are written out before (`visible`).
_REFERENCES: tuple[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"(?<=[@#!~%$&:^])(?=\w)|(?<=:)(?=//)"), "\u200b"),
    (re.compile(r"\b(www)(?=\.)", re.IGNORECASE), "\\1\u200b"),
    (re.compile(r"(?<![A-Za-z0-9])([A-Za-z][A-Za-z0-9]*-)(?=\d)"), "\\1\u200b"),
    (re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{7,64}(?![0-9A-Za-z])", re.IGNORECASE), _broken_commit),
)


@spoken
def to_markdown(audit: Audit) -> str:
    """Write verdict, lanes, findings and what was not checked, at most 60,000 characters.

    Beside an earlier audit or a baseline only what is new, worse, better, fixed or accepted since is listed, and the
    unchanged is counted. Findings keep the order of the audit; what is cut is counted. Text that may come from the store is written
    so that it cannot become markup, a mention, a reference or a link; a `backticked` word stays code.
    """
    text = ""
    for findings, reasons, limit in _CAPS:
        text = _Comment(findings, reasons, limit).of(audit)
        if len(text) <= MAX_CHARACTERS:
            break
    return text


@spoken
def tables_to_markdown(audits: Audits) -> str:
    """Write the list of the tables, then each audit as :func:`to_markdown` does, at most 60,000 characters in all.

    Where not even the shortest form of every audit fits, only as many follow the list as do; the others are counted.
    """
    text = ""
    for findings, reasons, limit in _CAPS:
        comment = _Comment(findings, reasons, limit)
        text = "\n".join([comment.tables(audits), *(comment.of(audit, nested=True) for audit in audits.audits)])
        if len(text) <= MAX_CHARACTERS:
            return text
    parts = [comment.tables(audits)]
    for n, audit in enumerate(audits.audits):
        part = comment.of(audit, nested=True)
        if sum(map(len, parts)) + len(part) > MAX_CHARACTERS - 2000:
            parts.append(
                say("The audits of {tables} are in report.json.", tables=plural(len(audits.audits) - n, "table"))
            )
            break
        parts.append(part)
    return "\n".join(parts)[:MAX_CHARACTERS]


def escaped(text: Any, limit: int = 400) -> str:
    """Make a text safe inside a line or a cell of Markdown; code between backticks stays code.

    Parameters
    ----------
    limit
        In characters of the text as stored.
    """
    pieces: list[str] = []
    for n, piece in enumerate(re.split(r"`([^`]+)`", sentence(text, limit))):
        if n % 2 and "|" not in piece:  # a pipe would end the cell, and code knows no entities
            pieces.append(("&#8203;" if pieces and pieces[-1].endswith("`") else "") + f"`{piece}`")
        elif piece:
            pieces.append(_plain(f"`{piece}`" if n % 2 else piece))
    return "".join(pieces)


def _plain(text: str) -> str:
    for pattern, broken in _REFERENCES:
        text = pattern.sub(broken, text)
    return text.translate(_MARKUP)


class _Comment:
    """One comment under one set of limits."""

    def __init__(self, findings: int, reasons: int, limit: int) -> None:
        self.findings = findings
        self.reasons = reasons
        self.limit = limit

    def tables(self, audits: Audits) -> str:
        """Write the list of all tables."""
        heads = (say("Table"), say("Rows"), say("Findings"), say("Verdict"))
        shown = audits.audits[: 4 * self.findings]
        lines = [
            _row((self.safe(table_name(a)), rows_used(a), findings_by_severity(a), self.safe(a.verdict.sentence)))
            for a in shown
        ]
        parts = [_MARK, f"## memaudit: {self.safe(heading(audits))}"]
        parts.append("\n".join([_row(heads), "| --- | --- | --- | --- |", *lines]))
        if len(shown) < len(audits.audits):
            parts.append(say("and {n} more tables in report.json", n=len(audits.audits) - len(shown)))
        said = [f"- {self.safe(line)}" for line in failures(audits)]
        said += [f"- {self.safe(passed_over_line(one))}" for one in passed_over(audits)]
        if said:
            more = len(said) - self.reasons
            said = said[: self.reasons] + (
                ["- " + say("and {n} more tables in report.json", n=more)] if more > 0 else []
            )
            parts.append("\n".join([f"### {say('Not audited')}", "", *said]))
        return "\n\n".join(parts) + "\n"

    def of(self, audit: Audit, *, nested: bool = False) -> str:
        parts = [
            "" if nested else _MARK,
            f"## {self.safe(table_name(audit))}: {self.safe(audit.verdict.sentence)}"
            if nested
            else f"## memaudit: {self.safe(audit.verdict.sentence)}",
            self.head(audit),
            self.lanes(audit),
            self.table(audit),
            self.silence(audit),
            self.foot(audit),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def safe(self, text: Any) -> str:
        return escaped(text, self.limit)

    def head(self, audit: Audit) -> str:
        lines = []
        if audit.store is None:
            lines.append(say("No store: query files only, or a store that could not be read."))
        else:
            names = [self.safe(name) for name in (audit.store.path, audit.store.table) if name]
            rows = plural(audit.store.rows, "row")
            if audit.store.rows == audit.store.rows_used:
                used = say("{rows}, all used", rows=rows)
            else:
                used = say("{used} of {rows} used", used=audit.store.rows_used, rows=rows)
            lines.append(f"{' › '.join(names)}: {used}")
        if audit.incomplete:
            lines.append(f"**{say('This audit is incomplete:')}** {self.safe(audit.incomplete)}")
        if audit.verdict.lead:
            lines.append(self.safe(audit.verdict.lead))
        if audit.verdict.do_first:
            lines.append(f"**{say('Do first:')}** {self.safe(audit.verdict.do_first)}")
        return "\n\n".join(lines)

    def lanes(self, audit: Audit) -> str:
        if not audit.verdict.lanes:
            return ""
        rows = [
            f"| {LANE_SIGNS[lane.state]} {self.safe(word(lane.lane))} | {in_words(lane.state.value)} | "
            f"{self.safe(lane.sentence)} | {self.safe(lane.do)} |"
            for lane in audit.verdict.lanes[: self.reasons]
        ]
        heads = (say("Lane"), say("State"), say("Why"), say("What to do"))
        return "\n".join([_row(heads), "| --- | --- | --- | --- |", *rows])

    def table(self, audit: Audit) -> str:
        if audit.changes is not None:
            return self.changed(audit, audit.changes)
        if not audit.findings:
            return say("No findings.")
        shown = audit.findings[: self.findings]
        lines = [
            f"### {plural(len(audit.findings), 'finding')}",
            "",
            _row(_heads()),
            "| --- | --- | --- | --- | --- |",
            *(_row(self.finding(finding)) for finding in shown),
        ]
        if len(shown) < len(audit.findings):
            lines += ["", say("and {n} more findings in report.json", n=len(audit.findings) - len(shown))]
        return "\n".join(lines)

    def changed(self, audit: Audit, changes: Changes) -> str:
        """List what is not as it was; what is as it was is only counted."""
        told = [change for change in changes.findings if change.state is not ChangeState.UNCHANGED]
        lines = [f"### {self.safe(summary(changes))}", ""]
        lines += [self.safe(rows), ""] if (rows := rows_sentence(changes)) else []
        reasons = [say("not comparable: {reason}", reason=reason) for reason in changes.breaks]
        notes = [*reasons, *changes.notes][: self.reasons]
        lines += [*(f"- {self.safe(note)}" for note in notes), ""] if notes else []
        if told:
            here = {finding.fingerprint: finding for finding in audit.findings}
            shown = told[: self.findings]
            lines += [_row((say("Change"), *_heads())), "| --- | --- | --- | --- | --- | --- |"]
            lines += [self.change(change, here.get(change.fingerprint)) for change in shown]
            if len(shown) < len(told):
                lines += ["", say("and {n} more changes in report.json", n=len(told) - len(shown))]
        listed = {change.fingerprint for change in told}
        same = sum(1 for f in audit.findings if f.fingerprint not in listed and f.severity is not Severity.INFO)
        facts = sum(1 for f in audit.findings if f.severity is Severity.INFO)
        counts = [say("{findings} unchanged", findings=plural(same, "finding"))] if same else []
        counts += [say("{findings} of severity info", findings=plural(facts, "finding"))] if facts else []
        if counts:
            lines += ["", say("Not listed here: {counts}. `report.json` holds all.", counts=say(", ").join(counts))]
        return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))

    def change(self, change: Change, finding: Finding | None) -> str:
        """Give one row; a finding that is gone has no size and no place."""
        if finding is None:
            severity = f"{SEVERITY_SIGNS[Severity.of(change.severity)]} {word(change.severity)}"
            code = f"{self.safe(change.code)} {self.safe(change.kind)}"
            cells = (severity, code, self.safe(change.title), "", "")
        else:
            cells = self.finding(finding)
        more = "; ".join(part for part in (change_text(change), change.reason) if part)
        title = cells[2] + (f" ({self.safe(more)})" if more else "")
        return _row((f"{STATE_SIGNS[change.state]} {in_words(change.state.value)}", *cells[:2], title, *cells[3:]))

    def finding(self, finding: Finding) -> tuple[str, str, str, str, str]:
        weak = finding.basis is Basis.UNDER_POWERED
        sign = "◌" if weak else SEVERITY_SIGNS[finding.severity]
        title = self.safe(finding.title)
        if finding.basis is not Basis.MEASURED:
            title += f" ({word(finding.basis.value)})"
        place = code_place(finding)
        if place is None:
            where = self.safe(".".join(names_of(finding)))
        else:
            where = self.safe(place.file) + (f":{place.line}" if place.line is not None else "")
        code = f"{self.safe(finding.code)} {self.safe(finding.kind)}"
        return f"{sign} {word(finding.severity.label)}", code, title, self.safe(size_of(finding)), where

    def silence(self, audit: Audit) -> str:
        """Everything that gave no answer: a comment without it would call silence a clean result."""
        groups: dict[tuple[Status, str, str], list[NotRun]] = {}
        for item in audit.not_run:
            groups.setdefault((item.status, item.reason, item.option), []).append(item)
        said = []
        for (status, reason, option), items in groups.items():
            codes = ", ".join(dict.fromkeys(code for item in items for code in item.codes or (item.probe,)))
            state = say("failed:") if status is Status.FAILED else say("not run:")
            text = f"- {self.safe(codes)} {state} {self.safe(reason)}"
            said.append(text + (f" ({self.safe(option)})" if option else ""))
        said += [f"- {self.safe(text)}" for text in silences(audit)]
        if not said:
            return ""
        shown = said[: self.reasons]
        if len(shown) < len(said):
            shown.append("- " + say("and {n} more reasons in report.json", n=len(said) - len(shown)))
        return "\n".join([f"### {say('Not checked')}", "", *shown])

    def foot(self, audit: Audit) -> str:
        lines = []
        if audit.suppressed:
            codes = list(dict.fromkeys(_code(item) for item in audit.suppressed))
            more = f", … ({len(codes)})" if len(codes) > self.reasons else ""
            found = plural(len(audit.suppressed), "finding")
            named = ", ".join(self.safe(code) for code in codes[: self.reasons]) + more
            lines.append(say("{findings} suppressed: {codes}", findings=found, codes=named))
        if audit.redacted:
            lines.append(say("Redacted: no store text is shown."))
        version = self.safe(audit.memaudit)
        lines.append(say("memaudit {version}; `memaudit explain CODE` explains a rule.", version=version))
        return "\n\n".join(lines)


def _code(item: Mapping[str, Any]) -> str:
    return as_text(item.get("code", "-"))


def _heads() -> tuple[str, ...]:
    return say("Severity"), say("Rule"), say("Finding"), say("Size"), say("Where")


def _row(cells: tuple[str, ...]) -> str:
    return "| " + " | ".join(cells) + " |"
