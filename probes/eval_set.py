"""What the query set can and cannot tell: the size of the set, and what two arms did on it."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import ClassVar

from memaudit.context import Context, Need
from memaudit.evaluation.candidates import HIGH_SHARE, candidates_of
from memaudit.evaluation.figures import summary
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.measures.compared_arms import at_cuts, comparison_tables, cut_tables, flips, selected, which_k
from memaudit.model import Cell, Column, Evidence, Example, Finding, Json, ProbeResult, Section, Severity, Table
from memaudit.stats.counts import exact_sign_p
from memaudit.stats.decision import Decision, Verdict
from memaudit.stats.intervals import wilson_interval
from memaudit.stats.power import mde_best_case, min_discordant, one_query_points
from memaudit.stats.resolution import resolution_sentence
from memaudit.stats.sentences import verdict_sentence
from memaudit.wording import percent, plural, say, sentences

#: Sets whose smallest change found is above this cannot steer day-to-day work: 60 queries find 13 points at best
#: (statistics, section 3).
MAX_DETECTABLE, MEDIUM_DETECTABLE = 0.15, 0.30
#: Levels that "p below" is given at.
_P_LEVELS = (0.001, 0.01, 0.05)


class EvalSet:
    """MA703 and MA502."""

    name: ClassVar[str] = "eval-set"
    title: ClassVar[str] = "Can the query set tell a good change from chance?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA703": "eval-set-too-small",
        "MA502": "improvement",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.QUERIES})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[tuple[str, ...]] = ("runs", "corpus", "compare", "k", "margin", "alpha")

    def run(self, ctx: Context) -> ProbeResult:
        """Judge the set by its size, then what was compared on it."""
        ev = ctx.evaluation
        decision = ev.decision
        too_small = _too_small(ctx, ev, decision)
        findings = tuple(f for f in (too_small, _improvement(ev, decision)) if f is not None)
        solved = decision is not None and 1 <= decision.verdict.row <= 4
        usable = not ev.blocked and not _any_ranking_will_do(ctx, ev)
        figures: dict[str, Json] = {
            "query_set_can_decide": usable and (solved or too_small is None or too_small.severity < Severity.MEDIUM),
            "queries": len(ev.queries),
            "primary_verdict": None if decision is None else decision.verdict.value,
        }
        not_looked = {} if decision is not None else {"MA502": (say("no two arms are compared"), "compare")}
        sections = (_section(ctx, ev, decision, too_small),) if ev.queries else ()
        return ProbeResult(findings, sections, figures, _notes(ev), not_looked)


def _any_ranking_will_do(ctx: Context, ev: EvaluationInputs) -> bool:
    """Say whether k covers the candidates of so many queries that MA705 is high."""
    candidates = candidates_of(ev.queries, ev.expected, ev.corpus, ev.runs, ev.k)
    n_met = 0 if candidates is None else len(candidates.met(ev.k, ev.expected))
    return bool(ev.queries) and n_met >= ctx.limit("MA705", "high_share", HIGH_SHARE) * len(ev.queries)


def _notes(ev: EvaluationInputs) -> tuple[str, ...]:
    notes = []
    if ev.query_set is not None and ev.query_set.n_without_origin:
        notes.append(
            say(
                "Taken as written by hand, because their origin is not stated: {queries}.",
                queries=plural(ev.query_set.n_without_origin, "query", "queries"),
            )
        )
    if ev.runs is not None and ev.runs.missing:
        notes.append(
            say(
                "No line in the recorded rankings, counted as misses: {queries} ({ids}).",
                queries=plural(len(ev.runs.missing), "query", "queries"),
                ids=", ".join(ev.runs.missing[:5]),
            )
        )
    if ev.runs is not None and ev.runs.n_repeated:
        notes.append(
            say("A document is named twice in {n}; its best rank counts.", n=plural(ev.runs.n_repeated, "ranking"))
        )
    return tuple(notes)


# -- MA703, MA502 ---------------------------------------------------------------------------------


def comparison_figures(ev: EvaluationInputs, decision: Decision) -> dict[str, Json]:
    """Return the counts of both arms at rank 1 and at k, wins, losses and intervals."""
    if ev.compare is None:
        raise ValueError("nothing is compared")
    before, after = (summary(ev.results(arm).values()) for arm in ev.compare)
    first = [summary(ev.results(arm, 1).values()) for arm in ev.compare]
    comparison = decision.comparison
    n = comparison.n
    return {
        "queries": n,
        "points_per_query": one_query_points(n),
        "queries_changed": comparison.lost + comparison.gained,
        "wins": comparison.gained,
        "losses": comparison.lost,
        "ties": n - comparison.gained - comparison.lost,
        "h1_before": first[0].hits,
        "h1_after": first[1].hits,
        f"hit{ev.k}_before": before.hits,
        f"hit{ev.k}_after": after.hits,
        "wilson95_before": _listed(wilson_interval(before.hits, n)),
        "wilson95_after": _listed(wilson_interval(after.hits, n)),
        "sign_test_p": exact_sign_p(comparison.gained, comparison.lost) if n else None,
        "p": comparison.p,
        "p_adjusted": decision.p_adjusted,
        "comparisons": decision.family_size,
        "verdict": decision.verdict.value,
    }


def _listed(interval: tuple[float, float] | None) -> list[float] | None:
    return None if interval is None else list(interval)


def _too_small(ctx: Context, ev: EvaluationInputs, decision: Decision | None) -> Finding | None:
    n = len(ev.queries)
    units = decision.comparison.n_units if decision is not None else _units(ev)
    detectable = mde_best_case(units, ev.config.alpha) if units else None
    large = ctx.limit("MA703", "medium_detectable", MEDIUM_DETECTABLE)
    limit = ctx.limit("MA703", "max_detectable", MAX_DETECTABLE)
    weak = detectable is None or detectable > limit
    figures: dict[str, Json] = {
        "queries": n,
        "points_per_query": one_query_points(n),
        "detectable_points": None if detectable is None else 100 * detectable,
    }
    subject: dict[str, Json] = {"k": ev.k}
    evidence = Evidence()
    judged = decision is not None and decision.verdict.row > 0
    if n == 0:
        severity, title = Severity.HIGH, say("The query set holds no query: nothing was measured.")
    elif judged and decision is not None and ev.compare is not None:
        subject = {"compare": list(ev.compare), "k": ev.k}
        figures |= comparison_figures(ev, decision)
        found = _severity(decision, weak)
        if found is None:
            return None
        severity = found
        title = _comparison_title(ev, decision)
        changed = tuple(q for q, _ in flips(ev))
        evidence = Evidence(_examples(ctx, ev), len(changed), changed)
    elif weak:
        severity = Severity.LOW
        if detectable is None or detectable > large:
            severity = Severity.HIGH if detectable is None else Severity.MEDIUM
        title = _size_title(n, units, detectable)
    else:
        return None
    words = say(
        "Low from {limit:.0f} points on, medium from {large:.0f}; high where no result can be significant.",
        limit=100 * limit,
        large=100 * large,
    )
    return Finding(
        "MA703",
        "eval-set-too-small",
        severity,
        subject,
        title,
        figures,
        evidence,
        fix=say("Write more queries before judging a change by this set: 60 find a change of 13 points at best, 219 one "
                "of 3.6. `memaudit queries template` draws rows to write them for."),
        caveat=say("The figures speak about more queries drawn like these, not about users.") + " " + words,
        lane="retrieval",
    )  # fmt: skip


def _severity(decision: Decision, weak: bool) -> Severity | None:
    """Say how bad an open result is; None where the set could tell what there was to tell.

    "No harm" is an answer to one half of the question: with too few changed queries for any gain to be significant, the
    other half stays open however the arms differ.
    """
    verdict = decision.verdict
    if verdict is Verdict.TOO_FEW:
        return Severity.HIGH if decision.comparison.difference else Severity.MEDIUM
    if verdict is Verdict.INCONCLUSIVE and weak:
        return Severity.MEDIUM
    return Severity.LOW if verdict is Verdict.NO_HARM and decision.comparison.n_changed < decision.m_min else None


def _units(ev: EvaluationInputs) -> int:
    groups = ev.query_set.dependence if ev.query_set is not None else {}
    return len({(1, groups[q.id]) if q.id in groups else (0, q.id) for q in ev.queries})


def _size_title(n: int, units: int, detectable: float | None) -> str:
    queries = plural(n, "query", "queries") if n == units else say("{n} queries in {units} groups", n=n, units=units)
    if detectable is None:
        return say(
            "{queries}: at least {m} must change the same way before any test can tell, so this set cannot.",
            queries=queries,
            m=min_discordant(),
        )
    return say(
        "{queries}: one is {one:.1f} points, and the smallest change found in 8 of 10 runs is {mde:.0f} points at best.",
        queries=queries,
        one=one_query_points(n) or 0.0,
        mde=100 * detectable,
    )


def _comparison_title(ev: EvaluationInputs, decision: Decision) -> str:
    comparison = decision.comparison
    changed = plural(comparison.lost + comparison.gained, "query", "queries")
    if comparison.n_units < comparison.n:
        groups = plural(comparison.n_changed, "independent group of queries", "independent groups of queries")
        changed = say("{queries} in {groups}", queries=changed, groups=groups)
    both = _both_arms(ev, comparison.n)
    if decision.verdict is Verdict.TOO_FEW:
        return say(
            "{both}: {changed} changed, and at least {m} must change the same way before any test can tell.",
            both=both,
            changed=changed,
            m=decision.m_min,
        )
    if decision.verdict is Verdict.NO_HARM:
        return say(
            "{both}: {changed} changed; a drop larger than {margin:g} points is excluded, and no gain is shown, because at "
            "least {m} must change the same way for that.",
            both=both,
            changed=changed,
            margin=100 * decision.margin,
            m=decision.m_min,
        )
    return say(
        "{both}: {changed} changed both ways, too few queries to tell it from chance.", both=both, changed=changed
    )


def _both_arms(ev: EvaluationInputs, n: int) -> str:
    """Give the primary figure of both arms: counts with their share, or the mean of a graded metric."""
    if ev.compare is None:
        raise ValueError("nothing is compared")
    a, b = ev.compare
    if ev.metric not in ("hit", "complete"):
        means = [sum(ev.results(arm)[q.id].value(ev.metric, q) for q in ev.queries) / n for arm in (a, b)]
        return say("{metric} is {before:.3f} in {a} and {after:.3f} in {b}, the mean of {n}", metric=ev.metric_name,
                   before=means[0], after=means[1], a=a, b=b, n=plural(n, "query", "queries"))  # fmt: skip
    hits = [sum(int(ev.results(arm)[q.id].value(ev.metric, q)) for q in ev.queries) for arm in (a, b)]
    return say(
        "{metric} is {before} of {n} ({share_before}) in {a} and {after} of {n} ({share_after}) in {b}",
        metric=ev.metric_name,
        before=hits[0],
        after=hits[1],
        n=n,
        share_before=percent(hits[0], n),
        share_after=percent(hits[1], n),
        a=a,
        b=b,
    )


def _improvement(ev: EvaluationInputs, decision: Decision | None) -> Finding | None:
    if decision is None or decision.verdict is not Verdict.IMPROVES or ev.compare is None or ev.query_set is None:
        return None
    figures = comparison_figures(ev, decision)
    p = decision.p_adjusted if decision.p_adjusted is not None else 1.0
    figures["sign_test_p_below"] = next((level for level in _P_LEVELS if p < level), None)
    for place, arm in zip(("before", "after"), ev.compare, strict=True):
        figures[f"latency_{place}_ms"] = _latency(ev, arm)
    gained = [q for q, change in flips(ev) if change > 0]
    return Finding(
        "MA502",
        "improvement",
        Severity.INFO,
        {"compare": list(ev.compare), "k": ev.k},
        verdict_sentence(decision, ev.metric_name, ev.compare[1], ev.query_set.synthetic, selected(ev)),
        figures,
        Evidence(_examples(ctx=None, ev=ev), len(gained), tuple(gained)),
        caveat=say("Decided by the primary metric alone, with level and margin set before the run.")
        + " "
        + resolution_sentence(decision.comparison, decision.alpha, decision.family_size),
        lane="retrieval",
    )


def _latency(ev: EvaluationInputs, arm: str) -> float | None:
    if ev.runs is None:
        return None
    times = [r.latency_ms for r in ev.runs.arms[arm].values() if r.latency_ms is not None]
    return median(times) if times else None


def _examples(ctx: Context | None, ev: EvaluationInputs) -> tuple[Example, ...]:
    texts = {q.id: q.text for q in ev.queries}
    shown = flips(ev)[: ev.config.max_examples if ctx is None else ctx.config.max_examples]
    return tuple(Example(texts[q], q, say("gained") if change > 0 else say("lost")) for q, change in shown)


# -- the page -------------------------------------------------------------------------------------


def _section(ctx: Context, ev: EvaluationInputs, decision: Decision | None, small: Finding | None) -> Section:
    n = len(ev.queries)
    sizes = [
        {"what": say("queries"), "value": n},
        {"what": say("groups of dependent queries and single ones"), "value": _units(ev)},
        {"what": say("points that one query is worth"), "value": round(one_query_points(n) or 0.0, 1)},
    ]
    tables = [
        Table(
            "eval-set-size",
            say("What {queries} can show", queries=plural(n, "query", "queries")),
            (Column("what", say("figure")), Column("value", say("value"), Cell.NUMBER)),
            tuple(sizes),
        )
    ]
    answer = small.title if small is not None else _size_title(n, _units(ev), mde_best_case(_units(ev)))
    method = [
        say("A change is judged query by query with the exact McNemar test (sign flips where a metric is graded), at "
            "level {alpha:g} and a margin of {margin:g} points, both set before the run.",
            alpha=ev.config.alpha, margin=100 * ev.config.margin),
        say("The interval speaks about more queries drawn like these, not about users."),
        *(say("SHA-256 of {name}: {sha}.", name=file.name, sha=file.sha256)
          for file in (ev.query_set, ev.runs) if file is not None),
    ]  # fmt: skip
    if decision is not None and ev.compare is not None and ev.query_set is not None:
        answer = verdict_sentence(decision, ev.metric_name, ev.compare[1], ev.query_set.synthetic, selected(ev))
        if decision.family_size > 1:
            arms = plural(decision.family_size, "comparison")
            method.insert(0, say("Every variant is compared with {arm}, and p is adjusted by Holm for {k}, whichever pair "
                                 "is named.", arm=ev.compare[0], k=arms))  # fmt: skip
        method.insert(0, resolution_sentence(decision.comparison, decision.alpha, decision.family_size))
        tables += comparison_tables(ev)
        by_cut = at_cuts(ev)
        tables += cut_tables(ev, by_cut)
        answer = sentences(answer, which_k(ev, by_cut))
    return Section(
        "eval-set",
        say("What the query set can tell"),
        say("Can a change be told from chance with these queries?"),
        answer,
        ("MA703", "MA502"),
        tuple(tables),
        tuple(method),
    )


PROBE = EvalSet()
