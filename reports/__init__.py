"""The formats of a report: each one is a view of the same audit, and none of them computes anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memaudit.reports.redact import redacted
from memaudit.reports.to_github import to_github
from memaudit.reports.to_gitlab import to_gitlab
from memaudit.reports.to_html import to_html
from memaudit.reports.to_json import from_json, to_json
from memaudit.reports.to_jsonl import to_jsonl
from memaudit.reports.to_junit import to_junit
from memaudit.reports.to_markdown import to_markdown
from memaudit.reports.to_sarif import to_sarif
from memaudit.reports.to_terminal import to_terminal

#: Formats by the name that `--format` takes; each function takes the audit, `text` its three options too.
RENDERERS: Mapping[str, Callable[..., str]] = {
    "text": to_terminal,
    "html": to_html,
    "json": to_json,
    "jsonl": to_jsonl,
    "markdown": to_markdown,
    "sarif": to_sarif,
    "junit": to_junit,
    "gitlab": to_gitlab,
    "github": to_github,
}

__all__ = [
    "RENDERERS",
    "from_json",
    "redacted",
    "to_github",
    "to_gitlab",
    "to_html",
    "to_json",
    "to_jsonl",
    "to_junit",
    "to_markdown",
    "to_sarif",
    "to_terminal",
]
