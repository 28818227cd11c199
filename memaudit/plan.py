"""The plan: which rows to merge, delete, re-embed or review. A proposal; memaudit never carries it out."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from memaudit.model import Proposal

HEADER = ("memaudit_action", "id", "keep", "code", "reason")


def plan_to_json(plan: Sequence[Proposal], store: str, table: str | None) -> str:
    """Return the plan as JSON: one object a proposal, with all its row keys."""
    proposals = [
        {"action": p.action, "ids": list(p.ids), "keep": p.keep, "code": p.code, "reason": p.reason} for p in plan
    ]
    body = {"memaudit_plan": "1.0", "store": store, "table": table, "proposals": proposals}
    return json.dumps(body, ensure_ascii=False, indent=1, default=_plain) + "\n"


def plan_to_csv(plan: Sequence[Proposal]) -> str:
    """Return the plan as CSV: one line a row of the store.

    A key that begins like a spreadsheet formula gets a leading apostrophe, so that opening the file runs nothing.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for proposal in plan:
        for key in proposal.ids:
            keep = "" if proposal.keep is None else _cell(proposal.keep)
            writer.writerow((proposal.action, _cell(key), keep, proposal.code, _cell(proposal.reason)))
    return text.getvalue()


def _cell(value: Any) -> str:
    text = str(_plain(value))
    return f"'{text}" if isinstance(value, str) and text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value
