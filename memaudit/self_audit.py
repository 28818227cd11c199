"""What the audit has to say about itself: nothing to audit, too few rows, no encoder, rows left out."""

from __future__ import annotations

import platform
import sqlite3
from collections.abc import Sequence

import numpy as np

from memaudit import __version__
from memaudit.context import Context
from memaudit.model import Basis, Evidence, Finding, RowsLeftOut, Severity, StoreInfo
from memaudit.records import Records
from memaudit.times import parse_time
from memaudit.wording import part_of, plural, say

#: Below this many rows a share moves by more than five points with one row.
SMALL_SAMPLE = 20
#: Rules about the audit itself that no probe declares.
OWN_CODES = ("MA001", "MA901", "MA904", "MA905", "MA906")


def findings_of_the_audit(ctx: Context, left_out: Sequence[RowsLeftOut], encoder_error: str) -> list[Finding]:
    """Return MA001 and MA904-MA906: what the audit itself could not do."""
    n = ctx.records.n_rows
    subject = {"table": ctx.table_name}
    found = []
    if n == 0:
        total = ctx.records.table.n_rows
        found.append(
            Finding(
                "MA001",
                "store-empty",
                Severity.HIGH,
                subject,
                say("0 rows: nothing was audited.")
                if total == 0
                else say("0 of {total} rows are left to audit: nothing was audited.", total=total),
                {"rows": 0, "rows_in_table": total},
                fix=say("Check that this is the store and the table that the agent writes to."),
                probe="audit",
            )
        )
        return found
    small = int(ctx.limit("MA904", "min_rows", SMALL_SAMPLE))
    if n < small:
        found.append(
            Finding(
                "MA904",
                "sample-too-small",
                Severity.LOW,
                subject,
                say(
                    "Only {rows}: one row moves a share by {points:.0f} points.", rows=plural(n, "row"), points=100 / n
                ),
                {"rows": n, "points_per_row": 100 / n},
                fix=say("Audit again when the store holds at least {small} rows.", small=small),
                caveat=say("Every share in this report rests on {rows}.", rows=plural(n, "row")),
                basis=Basis.UNDER_POWERED,
                probe="audit",
            )
        )
    if encoder_error:
        found.append(
            Finding(
                "MA905",
                "model-missing",
                Severity.MEDIUM,
                subject,
                say("The encoder is not here, so the probes that need vectors did not run."),
                {"encoder": ctx.config.encoder or "embedded"},
                fix=say("Name an encoder that is on this disk with `--encoder FOLDER`."),
                caveat=encoder_error,
                probe="audit",
            )
        )
    if left_out:
        largest = max(left_out, key=lambda out: out.rows)
        found.append(
            Finding(
                "MA906",
                "rows-left-out",
                Severity.INFO,
                subject,
                say(
                    "Rows are left out of some figures: {rows} ({reason}).",
                    rows=part_of(largest.rows, ctx.records.table.n_rows),
                    reason=largest.reason,
                ),
                {"rows": ctx.records.table.n_rows, "left_out": {out.reason: out.rows for out in left_out}},
                Evidence(total=largest.rows, ids=largest.ids),
                probe="audit",
            )
        )
    return found


def store_info(ctx: Context) -> StoreInfo:
    """Describe what was audited, for the head of the report."""
    store, records = ctx.store, ctx.records
    first, last = _span(records)
    others = tuple({"table": t.name, "rows": t.n_rows} for t in store.tables if t.name != records.table.name)
    return StoreInfo(
        store.path,
        store.kind,
        records.table.name,
        records.table.n_rows,
        records.n_rows,
        roles=records.roles.shown(),
        guessed=dict(records.roles.guessed),
        first_time=first,
        last_time=last,
        sha256=store.sha256,
        other_tables=others,
        notes=store.notes_for(records.table.name),
    )


def _span(records: Records) -> tuple[str | None, str | None]:
    """Return the first and the last time of writing as ISO days and seconds, None without times."""
    if records.roles.time is None:
        return None, None
    times = [t for t in map(parse_time, records.column(records.roles.time)) if t is not None]
    if not times:
        return None, None
    return min(times).isoformat(timespec="seconds"), max(times).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Return the versions that the figures depend on."""
    return {
        "memaudit": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "sqlite": sqlite3.sqlite_version,
    }
