"""What a search for guarded code returns: plain frozen data and its JSON form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from memaudit.wording import key

#: Verdicts on a guard, the strongest statement first.
DEAD = key("dead")
ALWAYS = key("always-taken")
PARTIAL = key("partial")
REACHABLE = key("reachable")
UNKNOWN = key("unknown")

#: Side of one caller: it never enters the branch, it can, or nobody can say.
SIDE_DEAD = "dead"
SIDE_LIVE = key("live")
SIDE_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Producer:
    """The function whose result a guard asks about: what a run-time check enumerates.

    Parameters
    ----------
    function
        Qualified name inside its file (`Recorder.label`).
    file
        Path relative to the base of the search, with forward slashes.
    line
        Line of its `def`.
    """

    function: str
    file: str
    line: int


@dataclass(frozen=True)
class Caller:
    """One place that feeds a guard, and the side of the guard it is on.

    Parameters
    ----------
    side
        `dead` (never enters the branch), `live` (can enter it) or `unknown`.
    reason
        Why the side is `unknown`; empty otherwise.
    function
        Qualified name of the function the call stands in.
    passes
        Constants this caller passes for the other parameters (or leaves to their default), by name:
        a stored column of that name tells which rows came from here.
    """

    file: str
    line: int
    side: str
    reason: str = ""
    function: str = ""
    passes: tuple[tuple[str, str | int | float | bool], ...] = ()


@dataclass(frozen=True)
class Guard:
    """A fallback that runs only when a value is empty (or None), and what became of it.

    Parameters
    ----------
    function
        Qualified name of the function it stands in, `<module>` outside of functions.
    form
        One of `if-not`, `or`, `ternary`, `is-none`, `get-or`, `setdefault`, `walrus`, `early-return`,
        `post-init`.
    target
        Source text of the value it asks about.
    asks
        `empty` (truthiness), `none` or `missing` (a key).
    fallback
        Source text of what the branch would use instead, cut at 80 characters.
    verdict, reason
        `dead`, `always-taken`, `partial`, `reachable`, `unknown`, and why.
    callers
        Callers of the function for a guard on a parameter; for a local with a `partial` verdict the
        assignments that reach the guard. Sorted by file and line.
    producer
        The function whose result is asked about, when there is exactly one.
    into
        Name of the variable, attribute, key or keyword argument that gets the value; "" when it is the target
        itself or not told.
    """

    file: str
    line: int
    function: str
    form: str
    target: str
    asks: str
    fallback: str
    verdict: str
    reason: str
    callers: tuple[Caller, ...] = ()
    producer: Producer | None = None
    into: str = ""


@dataclass(frozen=True)
class Skipped:
    """A file or folder that was not looked at, and why."""

    file: str
    reason: str


@dataclass(frozen=True)
class GuardReport:
    """All guards of a tree, sorted by file, line and column, and what was not looked at."""

    guards: tuple[Guard, ...]
    files: int
    skipped: tuple[Skipped, ...] = ()


def guards_to_json(report: GuardReport) -> dict[str, Any]:
    """Give the documented JSON form of a search.

    Returns
    -------
    Plain dictionaries and lists; the order is that of the report.
    """
    return {
        "guards": [
            {
                "file": guard.file,
                "line": guard.line,
                "function": guard.function,
                "form": guard.form,
                "target": guard.target,
                "verdict": guard.verdict,
                "reason": guard.reason,
                "callers": [
                    {"file": caller.file, "line": caller.line, "side": caller.side} for caller in guard.callers
                ],
            }
            for guard in report.guards
        ],
        "files": report.files,
        "skipped": [{"file": skipped.file, "reason": skipped.reason} for skipped in report.skipped],
    }
