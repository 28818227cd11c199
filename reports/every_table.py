"""What the views of several audits have in common: a line a table, and the tables that were not audited."""

from __future__ import annotations

import re

from memaudit.model import Audit, Audits, Severity, TableLeftOut
from memaudit.reports.shown_numbers import word
from memaudit.wording import plural, say


def store_name(audits: Audits) -> str:
    """Give the last part of the store's path or address."""
    return re.split(r"[/\\]", audits.store.rstrip("/\\"))[-1] or audits.store


def heading(audits: Audits) -> str:
    """Say how many tables were audited, and of how many the audit failed."""
    failed = sum(one.failed for one in audits.not_audited)
    tables, store = plural(len(audits.audits), "table"), store_name(audits)
    if len(audits.audits) == 1:
        said = say("{tables} of {store} audited", tables=tables, store=store)
    else:
        said = say("{tables} of {store} audited, each on its own", tables=tables, store=store)
    return said if not failed else say("{said}; {tables} failed", said=said, tables=plural(failed, "table"))


def table_name(audit: Audit) -> str:
    """Give the name of the table that was audited."""
    return (audit.store.table if audit.store is not None else None) or say("(unnamed)")


def rows_used(audit: Audit) -> str:
    """Give the number of rows, and how many of them were used where not all were."""
    store = audit.store
    if store is None:
        return "-"
    if store.rows == store.rows_used:
        return f"{store.rows:,}"
    return say("{used} of {rows}", used=store.rows_used, rows=store.rows)


def rows_in_words(audit: Audit) -> str:
    """Give the rows as they stand in a sentence."""
    store = audit.store
    rows = plural(0 if store is None else store.rows, "row")
    if store is None or store.rows == store.rows_used:
        return rows
    return say("{used} of {rows} used", used=store.rows_used, rows=rows)


def severity_counts(audit: Audit) -> list[tuple[Severity, str]]:
    """Count the findings of each severity that occurs, the worst first: `2 high`."""
    return [
        (severity, say("{n} {severity}", n=n, severity=word(severity.label)))
        for severity in sorted(Severity, reverse=True)
        if (n := sum(finding.severity is severity for finding in audit.findings))
    ]


def findings_by_severity(audit: Audit) -> str:
    """Count the findings on one line: `2 high, 1 low`, or `none`."""
    return say(", ").join(words for _, words in severity_counts(audit)) or say("none")


def failures(audits: Audits) -> list[str]:
    """Say of each table that should have been audited why it could not be."""
    return [
        say("`{table}` could not be audited: {reason}", table=one.table, reason=one.reason)
        for one in audits.not_audited
        if one.failed
    ]


def passed_over(audits: Audits) -> list[TableLeftOut]:
    """Return the tables that nobody expects to be audited: empty ones, and those that hold no memories."""
    return [one for one in audits.not_audited if not one.failed]


def passed_over_line(one: TableLeftOut) -> str:
    """Say of a table how many rows it has and why it was passed over."""
    if one.rows is None:
        return say("`{table}`: {reason}", table=one.table, reason=one.reason)
    return say("`{table}`, {rows}: {reason}", table=one.table, rows=plural(one.rows, "row"), reason=one.reason)
