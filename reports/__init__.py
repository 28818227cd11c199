"""The formats of a report: each one is a view of the same audit, and none of them computes anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memaudit.reports.redact import redacted
from memaudit.reports.to_html import to_html
from memaudit.reports.to_json import from_json, to_json
from memaudit.reports.to_terminal import to_terminal

#: Formats by the name that `--format` takes; each function takes the audit, `text` its three options too.
RENDERERS: Mapping[str, Callable[..., str]] = {"html": to_html, "json": to_json, "text": to_terminal}

__all__ = ["RENDERERS", "from_json", "redacted", "to_html", "to_json", "to_terminal"]
