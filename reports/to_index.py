"""The list of kept audits as one page that links to the page of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memaudit.model import Json, Severity
from memaudit.reports.shown_numbers import SEVERITY_SIGNS
from memaudit.reports.since_page import moment
from memaudit.reports.table_page import Caps
from memaudit.wording import plural, say

#: Audits listed: ten years of weeks; `memaudit history` lists all.
MAX_ENTRIES = 520


@dataclass(frozen=True)
class IndexEntry:
    """One kept audit.

    Parameters
    ----------
    counts
        Findings by severity word.
    link
        Where its page lies, relative to the list; "" when there is none.
    """

    started: str
    series: str
    verdict: str
    rows: int | None
    counts: Mapping[str, Json]
    complete: bool
    link: str = ""


def to_index(entries: Sequence[IndexEntry]) -> str:
    """Write the list of kept audits, in the given order, as one HTML page without script or network."""
    from memaudit.reports.to_html import environment

    severities = [(s.label, SEVERITY_SIGNS[s]) for s in sorted(Severity, reverse=True)]
    return (
        environment()
        .get_template("index.html.j2")
        .render(
            entries=entries[:MAX_ENTRIES],
            more_entries=max(0, len(entries) - MAX_ENTRIES),
            severities=severities,
            title=say("memaudit: {audits}", audits=plural(len(entries), "kept audit")),
            moment=moment,
            caps=Caps(),
        )
    )
