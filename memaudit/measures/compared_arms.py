"""Two or more arms on the same queries, as tables: both arms, every variant of the run, each cut-off, what changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memaudit.evaluation.figures import summary
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.model import Cell, Column, Table
from memaudit.stats.intervals import wilson_interval
from memaudit.stats.paired import Comparison
from memaudit.stats.sentences import verdict_word
from memaudit.stats.shown import p_text, signed_points
from memaudit.wording import part_of, plural, say

_CUTS = (1, 3, 5, 10)
_MAX_FLIPS = 50
#: Change of a graded metric below which a query did not change.
_SAME = 1e-12


def flips(ev: EvaluationInputs) -> list[tuple[str, float]]:
    """Return (query, change of the primary metric) of the queries that changed, in file order."""
    if ev.compare is None:
        return []
    a, b = (ev.results(arm) for arm in ev.compare)
    changes = [(q.id, b[q.id].value(ev.metric, q) - a[q.id].value(ev.metric, q)) for q in ev.queries]
    return [(query, change) for query, change in changes if abs(change) > _SAME]


def selected(ev: EvaluationInputs) -> bool:
    """Say whether the compared variant is the best of several on these queries: its figure is then optimistic."""
    decisions = ev.decisions
    if ev.compare is None or len(decisions) < 2:
        return False
    found = {arm: d.comparison.difference or 0.0 for arm, d in decisions.items()}
    return found[ev.compare[1]] == max(found.values())


def comparison_tables(ev: EvaluationInputs) -> list[Table]:
    """Give the figures of both arms, of every variant where there are several, and the queries that changed."""
    if ev.compare is None:
        return []
    tables = [_both(ev, ev.compare)]
    if len(ev.decisions) > 1:
        tables.append(_variants(ev, ev.compare[0]))
    changed = flips(ev)
    return [*tables, _changed(ev, changed)] if changed else tables


def _both(ev: EvaluationInputs, arms: Sequence[str]) -> Table:
    rows: list[Mapping[str, Any]] = []
    for arm in arms:
        s = summary(ev.results(arm).values())
        interval = wilson_interval(s.hits, s.n)
        shown = (
            "-" if interval is None else say("{low:.1f} to {high:.1f} %", low=100 * interval[0], high=100 * interval[1])
        )
        rows.append({"arm": arm, "hits": s.hits, "complete": s.complete, "queries": s.n, "interval": shown})
    return Table(
        "eval-compared",
        say("The two arms on the same {queries}", queries=plural(len(ev.queries), "query", "queries")),
        (
            Column("arm", say("arm"), Cell.CODE),
            Column("hits", say("hit@{k}", k=ev.k), Cell.COUNT),
            Column("complete", say("all needed in the top {k}", k=ev.k), Cell.COUNT),
            Column("queries", say("queries"), Cell.COUNT),
            Column("interval", say("95 % interval of hit@{k}", k=ev.k)),
        ),
        tuple(rows),
    )


def _variants(ev: EvaluationInputs, baseline: str) -> Table:
    rows = []
    for arm, decision in ev.decisions.items():
        c, alpha = decision.comparison, decision.alpha
        rows.append(
            {
                "arm": arm,
                **_moved(c),
                "p": None if c.p is None else p_text(c.p, alpha).removeprefix("= "),
                "adjusted": None
                if decision.p_adjusted is None
                else p_text(decision.p_adjusted, alpha).removeprefix("= "),
                "verdict": verdict_word(decision.verdict),
            }
        )
    return Table(
        "eval-variants",
        say("Every variant against {arm} by {metric}, {queries}", arm=baseline, metric=ev.metric_name,
            queries=plural(len(ev.queries), "query", "queries")),
        (
            Column("arm", say("arm"), Cell.CODE),
            Column("changed", say("queries changed")),
            Column("interval", say("difference in points, {level:.0f} % interval", level=100 * (1 - ev.config.alpha))),
            Column("p", say("exact p")),
            Column("adjusted", say("p adjusted by Holm")),
            Column("verdict", say("what this shows")),
        ),
        tuple(rows),
    )  # fmt: skip


def _moved(comparison: Comparison) -> dict[str, str | None]:
    interval = comparison.interval
    return {
        "changed": say("{gained} gained, {lost} lost", gained=comparison.gained, lost=comparison.lost),
        "interval": None if interval is None else f"{signed_points(interval.low)} … {signed_points(interval.high)}",
    }


def _changed(ev: EvaluationInputs, changed: Sequence[tuple[str, float]]) -> Table:
    texts = {q.id: q.text for q in ev.queries}
    listed = changed[:_MAX_FLIPS]
    return Table(
        "eval-flips",
        say(
            "Queries that changed: {n}, the first {shown}",
            n=plural(len(changed), "query", "queries"),
            shown=len(listed),
        ),
        (
            Column("query", say("query"), Cell.CODE),
            Column("change", say("change")),
            Column("text", say("text"), Cell.VALUE),
        ),
        tuple({"query": q, "change": say("gained") if c > 0 else say("lost"), "text": texts[q]} for q, c in listed),
    )


# -- cut-offs -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AtCut:
    """Both arms at one cut-off: the sum of the primary metric over the queries, and their comparison."""

    k: int
    before: float
    after: float
    comparison: Comparison

    def direction(self, alpha: float) -> int:
        """Return 1 or -1 for a difference that a test of this cut-off alone calls significant, else 0."""
        p, difference = self.comparison.p, self.comparison.difference
        if p is None or not difference or p > alpha:
            return 0
        return 1 if difference > 0 else -1


def at_cuts(ev: EvaluationInputs) -> list[AtCut]:
    """Compare the two arms at the usual cut-offs that both rankings reach, and at k."""
    if ev.compare is None or ev.runs is None or not ev.queries or ev.metric == "rr":
        return []
    depth = min(ev.runs.depth(arm) for arm in ev.compare)
    found = []
    for k in sorted({ev.k, *(cut for cut in _CUTS if cut <= depth)}):
        sums = [sum(ev.results(arm, k)[q.id].value(ev.metric, q) for q in ev.queries) for arm in ev.compare]
        found.append(AtCut(k, sums[0], sums[1], ev.compared(*ev.compare, k=k)))
    return found


def which_k(ev: EvaluationInputs, cuts: Sequence[AtCut]) -> str:
    """Say that the difference depends on k; nothing where it does not (rule R10)."""
    signs = {(c.comparison.difference or 0.0) > 0 for c in cuts if c.comparison.difference}
    if len(signs) < 2 and len({c.direction(ev.config.alpha) for c in cuts}) < 2:
        return ""
    return say("The difference depends on k, so say which k you use: k = {k} decides here.", k=ev.k)


def cut_tables(ev: EvaluationInputs, cuts: Sequence[AtCut]) -> list[Table]:
    """Give both arms at each cut-off with the queries that changed; only k decides."""
    if len(cuts) < 2 or ev.compare is None:
        return []
    n = len(ev.queries)
    counted = ev.metric in ("hit", "complete")

    def shown(total: float) -> str:
        return part_of(round(total), n) if counted else f"{total / n:.3f}"

    return [
        Table(
            "eval-cuts",
            say("Both arms at each k, {queries}; k = {k} decides, the others are descriptive",
                queries=plural(n, "query", "queries"), k=ev.k),
            (
                Column("k", say("k"), Cell.COUNT),
                Column("before", ev.compare[0]),
                Column("after", ev.compare[1]),
                Column("changed", say("queries changed")),
                Column("interval", say("difference in points, {level:.0f} % interval",
                                       level=100 * (1 - ev.config.alpha))),
            ),
            tuple({"k": c.k, "before": shown(c.before), "after": shown(c.after), **_moved(c.comparison)} for c in cuts),
        )
    ]  # fmt: skip
