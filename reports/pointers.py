"""Where a finding points and how it reads on one line: what the formats for machines have in common."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from memaudit.model import Audit, Finding, NotRun, Status
from memaudit.reports.shown_text import as_text, cut, visible
from memaudit.wording import plural, say

#: A sentence is cut here; it may quote the store, and services cut without saying so.
SENTENCE_LIMIT = 1000
# `src/core/store.py:212`, as the key or the note of a piece of evidence.
_FILE_AND_LINE = re.compile(r"(?P<file>[^:\n]{1,300}\.\w{1,5}):(?P<line>[1-9]\d{0,6})(?::\d+)?\Z")


class Place(NamedTuple):
    """A file and, where it is known, a line of it (from 1)."""

    file: str
    line: int | None


def sentence(text: Any, limit: int = SENTENCE_LIMIT) -> str:
    """Give a text on one line: control and bidi characters written out, cut with the full length stated."""
    head, cut_from = cut(as_text(text), limit)
    return visible(head) + (say("… ({n} characters)", n=cut_from) if cut_from is not None else "")


def code_place(finding: Finding) -> Place | None:
    """Give the line of production code that a finding points at, from its subject, else from its evidence."""
    file, line = finding.subject.get("file"), finding.subject.get("line")
    if isinstance(file, str) and file:
        is_line = isinstance(line, int) and not isinstance(line, bool) and line > 0
        return Place(_slashes(file), line if is_line else None)
    files = finding.subject.get("files")
    if isinstance(files, Sequence) and not isinstance(files, str) and files and isinstance(files[0], str):
        return Place(_slashes(files[0]), None)
    if finding.code.startswith(("MA1", "MA2")):  # only these rules are about code
        for example in finding.evidence.shown:
            for text in (example.key, example.note):
                match = _FILE_AND_LINE.match(text) if isinstance(text, str) else None
                if match is not None:
                    return Place(_slashes(match["file"]), int(match["line"]))
    return None


def audited_file(audit: Audit) -> str:
    """Give what was audited: the store, else the query or ranking file, "" when nothing is named."""
    if audit.store is not None:
        return _slashes(audit.store.path)
    for key in ("store", "queries", "runs", "corpus", "traces"):
        value = audit.config.get(key)
        if isinstance(value, Sequence) and not isinstance(value, str):
            value = next(iter(value), None)
        if isinstance(value, str) and value:
            return _slashes(value)
    return ""


def names_of(finding: Finding) -> tuple[str, ...]:
    """Give the names that lead to the place inside its file: table and column, or the function; may be ()."""
    subject = finding.subject
    if isinstance(subject.get("function"), str):
        return (sentence(subject["function"], 200),)
    names = [subject.get("table"), subject.get("column", subject.get("field"))]
    return tuple(sentence(name, 200) for name in names if isinstance(name, str) and name)


def without_answer(item: NotRun) -> str:
    """Say on one line which rules gave no answer and why."""
    codes = ", ".join(item.codes) or item.probe
    if item.status is Status.FAILED:
        text = say("{codes} failed: {reason}", codes=codes, reason=item.reason)
    else:
        text = say("{codes} not run: {reason}", codes=codes, reason=item.reason)
    return sentence(text.rstrip(".") + (say(" (option: {option})", option=item.option) if item.option else ""))


def silences(audit: Audit) -> list[str]:
    """Say on one line each what was left out, could not be finished or is not checked at all."""
    said = []
    if audit.incomplete:
        said.append(say("This audit is incomplete: {reason}", reason=audit.incomplete))
    for left in audit.left_out:
        said.append(say("{rows} left out: {reason}", rows=plural(left.rows, "row"), reason=left.reason))
    return [sentence(text) for text in (*said, *audit.notes)]


def _slashes(path: str) -> str:
    path = path.replace("\\", "/")
    while path.startswith("./"):
        path = path[2:]
    return path
