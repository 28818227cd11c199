"""What a run comes to: one audit or one a table, the findings that count, and the exit code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from memaudit.errors import ExitCode

if TYPE_CHECKING:
    from memaudit.config import Config
    from memaudit.model import Audit, Audits, Finding


def audits_of(made: Audit | Audits) -> tuple[Audit, ...]:
    """Return the audits that were made: one, or one a table."""
    from memaudit.model import Audits

    return made.audits if isinstance(made, Audits) else (made,)


def each_audit(made: Audit | Audits, change: Callable[[Audit], Audit]) -> Audit | Audits:
    """Change every audit that was made."""
    from dataclasses import replace

    from memaudit.model import Audits

    return replace(made, audits=tuple(map(change, made.audits))) if isinstance(made, Audits) else change(made)


def table_of(audit: Audit) -> str:
    """Return the name of the audited table, "" for an audit without a store."""
    return "" if audit.store is None else audit.store.table or ""


def outcome(made: Audit | Audits, config: Config) -> ExitCode:
    """Choose the exit code of what was made."""
    from memaudit.model import Audits

    return exit_code_of_all(made, config) if isinstance(made, Audits) else exit_code(made, config)


def exit_code(audit: Audit, config: Config) -> ExitCode:
    """Choose the exit code of an audit; an audit that could not be completed is never green."""
    from memaudit.engine import INTERRUPTED
    from memaudit.wording import language, say

    if audit.incomplete:
        with language(audit.lang):
            return ExitCode.INTERRUPTED if audit.incomplete == say(INTERRUPTED) else ExitCode.INCOMPLETE
    if audit.store is not None and audit.store.rows_used == 0:
        return ExitCode.NOTHING
    if audit.store is None and audit.figures.get("queries") == 0:
        return ExitCode.NOTHING
    if config.fail_on == "never":
        return ExitCode.OK
    return ExitCode.FINDINGS if counting(audit, config) else ExitCode.OK


def exit_code_of_all(made: Audits, config: Config) -> ExitCode:
    """Choose the exit code of several audits: the worst of theirs, and that of an unfinished one for a failed table.

    A table without rows to audit beside others is listed, not counted; 4 means that no table had any.
    """
    codes = {exit_code(audit, config) for audit in made.audits}
    if made.incomplete:
        codes.add(ExitCode.INCOMPLETE)
    for code in (ExitCode.INTERRUPTED, ExitCode.INCOMPLETE, ExitCode.FINDINGS, ExitCode.OK):
        if code in codes:
            return code
    return ExitCode.NOTHING


def why_not_green(made: Audit | Audits, config: Config) -> tuple[str, ...]:
    """Say in a line each why the exit code is 3, 4 or 130; for stderr, since the results may go elsewhere or nowhere.

    A store that could not be read at all has been told already.
    """
    from memaudit.model import Audits
    from memaudit.wording import language, say

    code = outcome(made, config)
    with language(made.lang):
        if code is ExitCode.NOTHING:
            return tuple(say("note: nothing to audit: {what}.", what=_emptiness(a)) for a in audits_of(made)[:1])
        if code is ExitCode.INTERRUPTED:
            return (say("interrupted"),)
        if code is not ExitCode.INCOMPLETE:
            return ()
        reasons = [a.incomplete for a in audits_of(made) if a.incomplete and (a.store is not None or not config.store)]
        if isinstance(made, Audits) and made.incomplete:
            reasons = [made.incomplete]
        return tuple(say("error: {message}", message=r if r.endswith((".", "。")) else f"{r}.") for r in reasons)


def _emptiness(audit: Audit) -> str:
    from memaudit.wording import plural, say

    if audit.store is None:
        return plural(0, "query", "queries")
    table = audit.store.table or audit.store.path
    if audit.store.rows == 0:
        return say("table {table} has 0 rows", table=table)
    return say("0 of {rows} of table {table} are used", rows=plural(audit.store.rows, "row"), table=table)


def counting(audit: Audit, config: Config) -> list[Finding]:
    """Return the findings that count: those that `fail_on` fails for, and with `never` those worth telling.

    Worth telling is what `new` means where there is something to be new against, else every finding above `info`.
    With a baseline, new is what it does not accept; with a history alone, what the last audit did not have or what
    got worse since. The first audit of a history has nothing before it: all of its findings are new.
    """
    from memaudit.model import Basis, Severity

    new_only = config.fail_on == "new" or config.fail_on == "never"
    lowest = Severity.LOW if new_only else Severity.of(config.fail_on)
    against_last = new_only and config.baseline is None and audit.changes is not None
    return [
        f
        for f in audit.findings
        if f.severity >= lowest
        and (f.basis is not Basis.UNDER_POWERED or config.fail_on_underpowered)
        and (not against_last or f.change in ("new", "worse"))
    ]
