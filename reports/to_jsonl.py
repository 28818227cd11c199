"""The audit as JSON lines: a header, then one finding a line, for pipes and log collectors."""

from __future__ import annotations

from memaudit.fingerprint import with_fingerprints
from memaudit.model import Audit, Audits
from memaudit.reports.to_json import finding_object, one_line_json, plain, tables_head


def to_jsonl(audit: Audit) -> str:
    """Write the head of the audit on the first line (`"type": "audit"`), then one finding a line.

    A finding is the object of report.json with `type` and `fingerprint` before it, all row keys included. Sections,
    tables and the plan are left to report.json.
    """
    header = {
        "type": "audit",
        "schema_version": audit.schema_version,
        "memaudit": audit.memaudit,
        "command": audit.command,
        "redacted": audit.redacted,
        "incomplete": audit.incomplete,
        "lang": audit.lang,
        "store": plain(audit.store),
        "encoder": plain(audit.encoder),
        "verdict": plain(audit.verdict),
        "findings": len(audit.findings),
        "not_run": plain(audit.not_run),
        "figures": plain(audit.figures),
        "notes": plain(audit.notes),
        "left_out": plain(audit.left_out),
        "suppressed": plain(audit.suppressed),
        "config": plain(audit.config),
        "versions": plain(audit.versions),
        "run": plain(audit.run),
    }
    lines = [header]
    for finding in with_fingerprints(audit.findings):
        lines.append({"type": "finding", "fingerprint": finding.fingerprint, **finding_object(finding)})
    return "".join(one_line_json(line) + "\n" for line in lines)


def tables_to_jsonl(audits: Audits) -> str:
    """Write the head of all audits on the first line (`"type": "audits"`), then each audit as :func:`to_jsonl` does."""
    header = {
        "type": "audits",
        **tables_head(audits),
        "audits": len(audits.audits),
        "not_audited": plain(audits.not_audited),
    }
    return one_line_json(header) + "\n" + "".join(to_jsonl(audit) for audit in audits.audits)
