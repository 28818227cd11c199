"""What `memaudit deadcode` prints: text for a person, JSON for a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memaudit.guards.result import ALWAYS, DEAD, PARTIAL, REACHABLE, UNKNOWN, Guard, GuardReport, guards_to_json
from memaudit.guards.rows import GuardRows
from memaudit.wording import part_of, plural, say, term


def guards_as_text(report: GuardReport, rows: Sequence[GuardRows | None], *, every: bool) -> str:
    """Print the guards, dead ones first; reachable and unknown ones only when asked for."""
    wanted = (DEAD, PARTIAL, ALWAYS, *((REACHABLE, UNKNOWN) if every else ()))
    lines: list[str] = []
    for verdict in wanted:
        for guard, counted in zip(report.guards, rows, strict=True):
            if guard.verdict == verdict:
                lines += _guard(guard, counted)
    counts = {v: sum(g.verdict == v for g in report.guards) for v in (DEAD, PARTIAL, ALWAYS, REACHABLE, UNKNOWN)}
    summary = say(", ").join(say("{n} {state}", n=n, state=term(v)) for v, n in counts.items() if n) or say("none")
    lines.append(say("{guards} in {files}: {summary}.", guards=plural(len(report.guards), "guard"),
                     files=plural(report.files, "file"), summary=summary))  # fmt: skip
    lines += [say("not read: {file} ({reason})", file=s.file, reason=s.reason) for s in report.skipped]
    lines.append(say("Dead holds for the call sites in this tree, tests left out; unknown does not mean fine."))
    return "\n".join(lines) + "\n"


def _guard(guard: Guard, rows: GuardRows | None) -> list[str]:
    lines = [
        f"{guard.file}:{guard.line}  {term(guard.verdict)}  {guard.function}: {guard.form} {guard.target}",
        f"    {guard.reason}",
    ]
    if rows is not None and rows.share_unreachable is not None:
        unreachable = rows.rows - (rows.rows_reaching_branch or 0)
        lines.append(say("    {n} rows never enter the branch", n=part_of(unreachable, rows.rows)))
        if rows.rows_left_empty:
            lines.append(say("    {n} rows kept an empty value", n=part_of(rows.rows_left_empty, rows.rows)))
    elif rows is not None and rows.reason:
        lines.append(say("    rows: not measured, because {why}", why=rows.reason))
    lines += [f"    {c.file}:{c.line}  {term(c.side)}  {c.reason}".rstrip() for c in guard.callers]
    return [*lines, ""]


def guards_as_json(report: GuardReport, rows: Sequence[GuardRows | None]) -> dict[str, Any]:
    """Return the documented object; guards joined with rows carry them under `rows`."""
    document = guards_to_json(report)
    for guard, counted in zip(document["guards"], rows, strict=True):
        if counted is not None:
            guard["rows"] = {
                "rows": counted.rows,
                "rows_reaching_branch": counted.rows_reaching_branch,
                "share_unreachable": counted.share_unreachable,
                "rows_left_empty": counted.rows_left_empty,
                "column": counted.column or None,
                "reason": counted.reason or None,
            }
    return document
