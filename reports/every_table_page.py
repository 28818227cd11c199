"""What stands on the page of several audits: the list of tables, and each audit laid out under anchors of its own."""

from __future__ import annotations

from typing import Any

from memaudit.model import Audit, Audits
from memaudit.reports.every_table import (
    failures,
    heading,
    passed_over,
    passed_over_line,
    rows_used,
    severity_counts,
    store_name,
    table_name,
)
from memaudit.reports.page import PageView, page_view
from memaudit.reports.shown_numbers import SEVERITY_SIGNS
from memaudit.reports.shown_text import shown
from memaudit.reports.table_page import Caps
from memaudit.wording import say


def tables_view(audits: Audits, caps: Caps, n: int) -> dict[str, Any]:
    """Lay out the first `n` audits in full, every list cut to `caps`; every audit has a line in the list."""
    pages = [_page(audit, number, caps) for number, audit in enumerate(audits.audits[:n], 1)]
    every = [page_view(audit, caps) for audit in audits.audits[n:]]
    return {
        "audits": audits,
        "name": shown(store_name(audits)).text,
        "title": shown(heading(audits), 300).text,
        "failures": failures(audits),
        "lines": [
            _line(audit, page, f"t{number}" if number <= n else "")
            for number, (audit, page) in enumerate(zip(audits.audits, [*pages, *every], strict=True), 1)
        ],
        "only_listed": len(every),
        "passed_over": [passed_over_line(one) for one in passed_over(audits)],
        "parts": [
            (audit, page, f"t{number}")
            for number, (audit, page) in enumerate(zip(audits.audits[:n], pages, strict=True), 1)
        ],
    }


def _page(audit: Audit, number: int, caps: Caps) -> PageView:
    table = shown(table_name(audit), 60).text
    return page_view(
        audit, caps, ids=f"t{number}-", of=say(", table {number} {table}", number=number, table=table), up=1
    )


def _line(audit: Audit, page: PageView, href: str) -> dict[str, Any]:
    return {
        "href": href,
        "table": shown(table_name(audit), 160).text,
        "rows": rows_used(audit),
        "counts": [(s.label, SEVERITY_SIGNS[s], words) for s, words in severity_counts(audit)],
        "verdict": audit.verdict.sentence,
        "lanes": page.lanes,
        "incomplete": bool(audit.incomplete),
    }
