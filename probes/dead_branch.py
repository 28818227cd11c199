"""MA201-MA203: guarded fallbacks whose guard is never true, always true, or true for some callers only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.guards.result import ALWAYS, DEAD, PARTIAL, SIDE_DEAD, SIDE_LIVE, UNKNOWN, Guard, GuardReport
from memaudit.measures.guard_audit import Judged, judged_guards
from memaudit.model import Cell, Column, Evidence, Example, Finding, ProbeResult, Section, Severity, Table
from memaudit.wording import part_of, plural, say, sentences, space_between, term

#: A guard that is live for fewer rows than this is as good as dead for the store.
DEAD_SHARE = 0.90
#: From this share of rows left empty on, what the branch was meant to fill is missing.
LEFT_EMPTY_HIGH = 0.10
GUARDS_ON_PAGE = 12


class DeadBranch:
    """Read the production code and say which guarded fallbacks can never run, for how many rows."""

    name: ClassVar[str] = "dead-branch"
    title: ClassVar[str] = "Which guarded fallbacks in the production code never run?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA201": "dead-branch",
        "MA202": "branch-always-taken",
        "MA203": "guard-partial",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.CODE})
    lanes: ClassVar[frozenset[str]] = frozenset()
    reads: ClassVar[frozenset[str]] = frozenset({"upstream_column", "source"})

    def run(self, ctx: Context) -> ProbeResult:
        """Search the code, join the verdicts with the rows, report what concerns the store first."""
        report, judged = judged_guards(ctx)
        findings = [*_dead(ctx, judged), *_always(ctx, judged), *_partial(ctx, judged)]
        unknown = sum(j.guard.verdict == UNKNOWN for j in judged)
        figures = {"guards": len(judged), "guards_unknown": unknown, "code_files": report.files}
        sections = (_section(ctx, report, judged, findings),) if judged else ()
        notes = tuple(
            say("{file} was not read by the guarded-code probe: {reason}.", file=s.file, reason=s.reason)
            for s in report.skipped[:5]
        )
        return ProbeResult(tuple(findings), sections, figures, notes)


def _subject(guard: Guard) -> dict[str, Any]:
    return {"file": guard.file, "function": guard.function.rpartition(".")[2] or guard.function, "value": guard.target}


def _code(guard: Guard) -> Example:
    word = {"none": f"if {guard.target} is None", "missing": f"{guard.target} is missing"}
    condition = word.get(guard.asks, f"if not {guard.target}")
    return Example(f"{condition}: {guard.fallback}", note=say("{file}:{line}, in {function}", file=guard.file,
                                                              line=str(guard.line), function=guard.function))  # fmt: skip


def _callers(guard: Guard, limit: int) -> tuple[Example, ...]:
    side = {SIDE_DEAD: say("never enters the branch"), SIDE_LIVE: say("can enter the branch")}
    return tuple(
        Example(
            f"{caller.file}:{caller.line}",
            note=say("caller {function}: {side}", function=caller.function or "-",
                     side=side.get(caller.side, caller.reason or say("not known"))),
        )
        for caller in guard.callers[:limit]
    )  # fmt: skip


def _dead(ctx: Context, judged: Sequence[Judged]) -> list[Finding]:
    """MA201: one finding a guard on a field of the store, one for all other dead guards of a file."""
    found = []
    least = ctx.limit("MA201", "share_unreachable", DEAD_SHARE)
    elsewhere: dict[str, list[Guard]] = {}
    for item in judged:
        share = item.rows.share_unreachable if item.rows is not None else None
        if item.about_store and (item.guard.verdict == DEAD or (share is not None and share >= least)):
            found.append(_dead_for_rows(ctx, item))
        elif item.guard.verdict == DEAD:
            elsewhere.setdefault(item.guard.file, []).append(item.guard)
    return found + [_dead_elsewhere(ctx, file, guards) for file, guards in elsewhere.items()]


def _dead_for_rows(ctx: Context, item: Judged) -> Finding:
    guard, rows = item.guard, item.rows
    figures: dict[str, Any] = {
        "rows": rows.rows if rows else ctx.records.n_rows,
        "rows_reaching_branch": rows.rows_reaching_branch if rows else None,
        "share_unreachable": rows.share_unreachable if rows else None,
        "rows_through_store": rows.rows_through_store if rows else None,
        "rows_left_empty": rows.rows_left_empty if rows else None,
        "share_left_empty": rows.share_left_empty if rows else None,
        "callers_dead": sum(c.side == SIDE_DEAD for c in guard.callers),
        "callers_live": sum(c.side == SIDE_LIVE for c in guard.callers),
    }
    question = f"{guard.target} is None" if guard.asks == "none" else f"not {guard.target}"
    n = figures["rows"]
    if rows is not None and rows.share_unreachable is not None:
        unreachable = n - (rows.rows_reaching_branch or 0)
        title = say("`if {question}` never fires for {rows} rows: `{fallback}` does not run.", question=question,
                    rows=part_of(unreachable, n), fallback=guard.fallback)  # fmt: skip
    else:
        title = say("`if {question}` never fires: `{fallback}` does not run.", question=question,
                    fallback=guard.fallback)  # fmt: skip
    left = figures["share_left_empty"] or 0
    severity = Severity.MEDIUM
    if left >= ctx.limit("MA201", "share_left_empty", LEFT_EMPTY_HIGH):
        severity = Severity.HIGH
        title += space_between() + say("{n} rows kept an empty value.", n=part_of(figures["rows_left_empty"], n))
    fix = (
        say("Test for an empty value (`if not {target}`), not for None.", target=guard.target)
        if guard.asks == "none" and left
        else say("Remove the branch, or let the caller pass an empty value on. Do not debug `{fallback}`: it does not "
                 "run.", fallback=guard.fallback.split("(")[0])
    )  # fmt: skip
    caveat = [say("For the callers in the code that was read, tests left out: {reason}.", reason=guard.reason)]
    if rows is not None and rows.column:
        caveat.append(say("Rows were told apart by `{column}`.", column=rows.column))
    if rows is not None and rows.reason:
        caveat.append(rows.reason + say("."))
    return Finding(
        "MA201",
        "dead-branch",
        severity,
        _subject(guard) | {"line": guard.line},
        title,
        figures,
        Evidence((_code(guard), *_callers(guard, ctx.config.max_examples - 1)), 1 + len(guard.callers)),
        fix=fix,
        caveat=sentences(*caveat),
        lane="generator",
    )


def _dead_elsewhere(ctx: Context, file: str, guards: Sequence[Guard]) -> Finding:
    return Finding(
        "MA201",
        "dead-branch",
        Severity.LOW,
        {"file": file, "function": guards[0].function, "line": guards[0].line, "values": [g.target for g in guards]},
        say("{n} in {file} can never run.", n=plural(len(guards), "guarded fallback"), file=file),
        {"guards": len(guards), "rows": None, "rows_reaching_branch": None, "share_unreachable": None},
        Evidence(tuple(_code(g) for g in guards[: ctx.config.max_examples]), len(guards)),
        fix=say("Remove the branches, or find out which caller was meant to leave the value empty."),
        caveat=say("They guard no audited field, so no rows were counted. For the callers in the code that was read: "
                   "{reason}.", reason=guards[0].reason),
    )  # fmt: skip


def _always(ctx: Context, judged: Sequence[Judged]) -> list[Finding]:
    """MA202: guards on parameters that are always true."""
    return [
        Finding(
            "MA202",
            "branch-always-taken",
            Severity.LOW,
            _subject(item.guard) | {"line": item.guard.line},
            say("`{target}` is always empty where `{fallback}` is its fallback.", target=item.guard.target,
                fallback=item.guard.fallback),
            {"rows": item.rows.rows if item.rows else None},
            Evidence((_code(item.guard), *_callers(item.guard, ctx.config.max_examples - 1)), 1 + len(item.guard.callers)),
            fix=say("Drop the parameter, or pass it on from the callers."),
            caveat=say("For the callers in the code that was read: {reason}.", reason=item.guard.reason),
        )
        for item in judged
        if item.guard.verdict == ALWAYS
    ]  # fmt: skip


def _partial(ctx: Context, judged: Sequence[Judged]) -> list[Finding]:
    """MA203: guards on an audited field that are dead for some callers and live for others."""
    least = ctx.limit("MA201", "share_unreachable", DEAD_SHARE)
    found = []
    for item in judged:
        guard, rows = item.guard, item.rows
        if guard.verdict != PARTIAL or not item.about_store:
            continue
        if rows is not None and rows.share_unreachable is not None and rows.share_unreachable >= least:
            continue  # MA201 speaks
        n_dead = sum(c.side == SIDE_DEAD for c in guard.callers)
        n_live = sum(c.side == SIDE_LIVE for c in guard.callers)
        counted = rows is not None and rows.rows_reaching_branch is not None
        title = say("`{target}`: {dead} never enter the fallback, {live} can.", target=guard.target,
                    dead=plural(n_dead, "caller"), live=n_live)  # fmt: skip
        if rows is not None and rows.rows_reaching_branch is not None:
            title += space_between() + say(
                "{n} rows could have entered it.", n=part_of(rows.rows_reaching_branch, rows.rows)
            )
        found.append(
            Finding(
                "MA203",
                "guard-partial",
                Severity.LOW,
                _subject(guard) | {"line": guard.line},
                title,
                {
                    "callers_dead": n_dead,
                    "callers_live": n_live,
                    "rows": rows.rows if rows else None,
                    "rows_reaching_branch": rows.rows_reaching_branch if rows else None,
                    "share_unreachable": rows.share_unreachable if rows else None,
                },
                Evidence((_code(guard), *_callers(guard, ctx.config.max_examples - 1)), 1 + len(guard.callers)),
                fix=say("Look at the rows of each caller apart: the fallback writes only some of them."),
                caveat=say("Rows that could have entered it are an upper bound.")
                if counted
                else (rows.reason if rows else say("no rows were counted")),
            )
        )
    return found


def _section(ctx: Context, report: GuardReport, judged: Sequence[Judged], findings: Sequence[Finding]) -> Section:
    interesting = [j for j in judged if j.about_store or j.guard.verdict in (DEAD, ALWAYS)]
    table = Table(
        "guards",
        say("Guarded fallbacks of the audited fields, and those that never or always run; {n} in {files}",
            n=plural(len(judged), "guard"), files=plural(report.files, "file")),
        (
            Column("place", say("where"), Cell.CODE),
            Column("guard", say("guard"), Cell.CODE),
            Column("verdict", say("verdict")),
            Column("reason", say("why")),
            Column("unreachable", say("rows that never enter"), Cell.SHARE),
        ),
        tuple(
            {
                "place": f"{j.guard.file}:{j.guard.line}",
                "guard": j.guard.target,
                "verdict": term(j.guard.verdict),
                "reason": j.guard.reason,
                "unreachable": j.rows.share_unreachable if j.rows else None,
                **({"_mark": "hot"} if j.about_store and j.guard.verdict in (DEAD, PARTIAL) else {}),
            }
            for j in interesting
        ),
        show=GUARDS_ON_PAGE,
    )  # fmt: skip
    counts = {v: sum(j.guard.verdict == v for j in judged) for v in (DEAD, ALWAYS, PARTIAL, "reachable", UNKNOWN)}
    summary = say(", ").join(say("{n} {state}", n=n, state=term(verdict)) for verdict, n in counts.items() if n)
    callers = next((j.guard for j in interesting if j.about_store and j.guard.callers), None)
    tables = [table]
    if callers is not None:
        tables.append(_caller_table(callers))
    return Section(
        "dead-branch",
        say("Branches that do not run"),
        say("Does the fallback that guards a stored field ever run?"),
        findings[0].title if findings else say("No guarded fallback was found dead. {summary}.", summary=summary),
        ("MA201", "MA202", "MA203"),
        tuple(tables) if interesting else (),
        (
            say("{n} in {files}: {summary}.", n=plural(len(judged), "guard"), files=plural(report.files, "file"),
                summary=summary),
            say("Dead means: for the call sites in the code that was read, tests left out, the guarded value is never "
                "empty. Calls that are made dynamically or from elsewhere are not covered. Unknown does not mean fine."),
            say("The share of rows comes from the rows of the store, never from counting callers."),
        ),
    )  # fmt: skip


def _caller_table(guard: Guard) -> Table:
    side = {SIDE_DEAD: say("never enters"), SIDE_LIVE: say("can enter")}
    return Table(
        "guard-callers",
        say("Callers of `{function}` and what they pass for `{target}`", function=guard.function, target=guard.target),
        (
            Column("place", say("caller"), Cell.CODE),
            Column("function", say("in"), Cell.CODE),
            Column("side", say("the branch")),
            Column("passes", say("passes along"), Cell.CODE),
        ),
        tuple(
            {
                "place": f"{c.file}:{c.line}",
                "function": c.function or "-",
                "side": side.get(c.side, c.reason or say("not known")),
                "passes": ", ".join(f"{name}={value!r}" for name, value in c.passes) or "-",
            }
            for c in guard.callers
        ),
        show=GUARDS_ON_PAGE,
    )


PROBE = DeadBranch()
