"""The formats of a report: each one is a view of the same audit, and none of them computes anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from memaudit.model import Audit, Audits
from memaudit.reports.redact import redacted
from memaudit.reports.to_github import tables_to_github, to_github
from memaudit.reports.to_gitlab import tables_to_gitlab, to_gitlab
from memaudit.reports.to_html import tables_to_html, to_html
from memaudit.reports.to_json import from_json, report_from_json, tables_to_json, to_json
from memaudit.reports.to_jsonl import tables_to_jsonl, to_jsonl
from memaudit.reports.to_junit import tables_to_junit, to_junit
from memaudit.reports.to_markdown import tables_to_markdown, to_markdown
from memaudit.reports.to_sarif import tables_to_sarif, to_sarif
from memaudit.reports.to_terminal import tables_to_terminal, to_terminal

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
#: The same formats for the audits of several tables.
TABLE_RENDERERS: Mapping[str, Callable[..., str]] = {
    "text": tables_to_terminal,
    "html": tables_to_html,
    "json": tables_to_json,
    "jsonl": tables_to_jsonl,
    "markdown": tables_to_markdown,
    "sarif": tables_to_sarif,
    "junit": tables_to_junit,
    "gitlab": tables_to_gitlab,
    "github": tables_to_github,
}


def rendered(made: Audit | Audits, name: str, **options: Any) -> str:
    """Write an audit, or the audits of several tables, in the format `name`."""
    return (TABLE_RENDERERS if isinstance(made, Audits) else RENDERERS)[name](made, **options)


__all__ = [
    "RENDERERS",
    "TABLE_RENDERERS",
    "from_json",
    "redacted",
    "rendered",
    "report_from_json",
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
