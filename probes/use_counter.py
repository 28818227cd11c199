"""Whether the use counter is written at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.model import Evidence, Example, Finding, ProbeResult, Severity
from memaudit.times import parse_time
from memaudit.wording import part_of, plural, say

#: With fewer rows one value everywhere is no surprise.
MIN_ROWS = 5
#: A counter that is alive is still called patchy when at least half of the memories in the log are at 0.
PATCHY_SHARE = 0.50


@dataclass(frozen=True)
class LastAccess:
    """Times of last use beside times of writing.

    Parameters
    ----------
    equal, later
        Rows whose last use equals, or lies behind, their writing; None when there is no such pair of columns.
    """

    equal: int | None
    later: int | None


def last_access(created: tuple[Any, ...] | None, accessed: tuple[Any, ...] | None) -> LastAccess:
    """Compare times of last use with times of writing; rows in which one cannot be read count as neither."""
    if created is None or accessed is None:
        return LastAccess(None, None)
    pairs = [(parse_time(c), parse_time(a)) for c, a in zip(created, accessed, strict=True)]
    known = [(c, a) for c, a in pairs if c is not None and a is not None]
    return LastAccess(sum(c == a for c, a in known), sum(a > c for c, a in known))


class UseCounterProbe:
    """The use counter against whatever else records recalls."""

    name: ClassVar[str] = "use-counter"
    title: ClassVar[str] = "Is the use counter written?"
    codes: ClassVar[Mapping[str, str]] = {"MA607": "hit-counter-dead"}
    needs: ClassVar[frozenset[Need]] = frozenset({Need.RECORDS, Need.HITS})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[frozenset[str]] = frozenset({"hits", "last_access", "retrieval_log", "time"})

    def run(self, ctx: Context) -> ProbeResult:
        """Look for recalls that the counter does not know of."""
        column = str(ctx.roles.hits)
        values = ctx.records.column(column)
        counts = Counter(v for v in values if v is not None)
        n = ctx.records.n_rows
        min_rows = int(ctx.limit("MA607", "min_rows", MIN_ROWS))
        if n < min_rows:
            return _not_looked(
                say("{rows} are too few to call a counter dead", rows=plural(n, "row")), "hits"
            )  # fmt: skip
        log_rows, in_log = _log(ctx)
        access = last_access(_column(ctx, ctx.roles.time), _column(ctx, ctx.roles.last_access))
        figures = {
            "rows": n,
            "value": next(iter(counts)) if len(counts) == 1 else None,
            "distinct": len(counts),
            "log_rows": log_rows,
            "memories_in_log": None if in_log is None else len(in_log),
            "rows_last_access_equals_created": access.equal,
            "rows_last_access_after_created": access.later,
        }
        if len(counts) > 1:
            return _patchy(ctx, column, figures, in_log)
        if log_rows and (in_log or in_log is None):
            return ProbeResult((_dead(ctx, column, figures, Severity.HIGH),))
        if access.later:
            return ProbeResult((_dead(ctx, column, figures, Severity.MEDIUM),))
        return _not_looked(
            say(
                "the counter `{column}` holds one value in every row, but nothing else records whether recalls happened",
                column=column,
            ),
            "retrieval_log",
        )


def _not_looked(reason: str, option: str) -> ProbeResult:
    return ProbeResult(not_looked={"MA607": (reason, option)})


def _column(ctx: Context, name: str | None) -> tuple[Any, ...] | None:
    return None if name is None else ctx.records.column(name)


def _log(ctx: Context) -> tuple[int | None, frozenset[int] | None]:
    """Return the rows of the log, and the rows under audit that occur in it; None for what is not known."""
    log = ctx.log
    if log is None:
        return None, None
    if log.memory_ref is None:
        return log.n_rows, None
    keys = {str(key) for key in log.recalled_keys()}
    return log.n_rows, frozenset(row for row, key in enumerate(ctx.records.keys) if str(key) in keys)


def _shown(value: Any) -> str:
    return say("NULL") if value is None else str(value)


def _dead(ctx: Context, column: str, figures: Mapping[str, Any], severity: Severity) -> Finding:
    n, log_rows = figures["rows"], figures["log_rows"]
    if log_rows:
        memories = figures["memories_in_log"]
        evidence = say(
            "while the log of recalls holds {rows}{memories}",
            rows=plural(log_rows, "row"),
            memories="" if memories is None else say(" about {n}", n=plural(memories, "memory", "memories")),
        )
    else:
        evidence = say(
            "although {rows} were used after they were written",
            rows=part_of(figures["rows_last_access_after_created"], n),
        )
    equal = figures["rows_last_access_equals_created"]
    frozen = (
        say("; the time of last use equals the time of writing in {rows}", rows=part_of(equal, n))
        if log_rows and equal
        else ""
    )
    keys = ctx.records.keys
    return Finding(
        "MA607",
        "hit-counter-dead",
        severity,
        {"table": ctx.table_name, "column": column},
        say(
            "`{column}` is {value} in all {n} rows {evidence}{frozen}.",
            column=column,
            value=_shown(figures["value"]),
            n=n,
            evidence=evidence,
            frozen=frozen,
        ),
        figures,
        Evidence(
            tuple(Example(ctx.records.texts[r], keys[r]) for r in range(min(n, ctx.config.max_examples))), n, keys
        ),
        fix=say(
            "Write the counter where recall returns its rows, in the same transaction. Until then do not rank, forget or "
            "judge anything by `{column}`.",
            column=column,
        ),
        caveat=say("Crossing the quality of groups with use is meaningless while the counter stands still."),
        lane="retrieval",
    )


def _patchy(ctx: Context, column: str, figures: Mapping[str, Any], in_log: frozenset[int] | None) -> ProbeResult:
    """Report a counter that is alive but misses most of the memories that the log names."""
    hits = ctx.hits
    if hits is None or not in_log or len(in_log) < ctx.limit("MA607", "min_rows", MIN_ROWS):
        return ProbeResult()
    missed = sorted(row for row in in_log if hits[row] == 0)
    if len(missed) < ctx.limit("MA607", "patchy_share", PATCHY_SHARE) * len(in_log):
        return ProbeResult()
    keys = ctx.records.keys
    finding = Finding(
        "MA607",
        "hit-counter-dead",
        Severity.LOW,
        {"table": ctx.table_name, "column": column},
        say(
            "`{column}` is 0 for {missed} memories that the log of recalls names: it is written on some ways only.",
            column=column,
            missed=part_of(len(missed), len(in_log)),
        ),
        {**figures, "memories_in_log_at_zero": len(missed)},
        Evidence(
            tuple(Example(ctx.records.texts[r], keys[r]) for r in missed[: ctx.config.max_examples]),
            len(missed),
            tuple(keys[r] for r in missed),
        ),
        fix=say("Write the counter in the one place that every recall passes."),
        caveat=say("The counter may have been set back to 0 after the recalls that the log shows."),
        lane="retrieval",
    )
    return ProbeResult((finding,))


PROBE = UseCounterProbe()
