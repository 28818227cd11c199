"""What the figures of an arm mean: hit@k beside coverage@k, and a metric that any ranking meets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from memaudit.context import Context, Need
from memaudit.evaluation.candidates import HIGH_SHARE, MEDIUM_SHARE, Candidates, candidates_of
from memaudit.evaluation.figures import QueryResult, summary, tied_at
from memaudit.evaluation.inputs import EvaluationInputs
from memaudit.model import Cell, Column, Evidence, Example, Finding, Json, ProbeResult, Section, Severity, Table
from memaudit.stats.categories import category_cell
from memaudit.stats.intervals import mean_interval
from memaudit.wording import part_of, percent, plural, say, sentences

#: Gap of hit@k and "all needed in the top k" from which on MA706 is high and medium: a fifth of the queries look solved
#: and are not; a twentieth is the usual margin of a decision.
GAP_HIGH, GAP_MEDIUM = 0.20, 0.05
_CUTS = (1, 3, 5, 10)


class EvalFigures:
    """MA705, MA706, MA707 and MA709."""

    name: ClassVar[str] = "eval-figures"
    title: ClassVar[str] = "What do the measured figures mean?"
    codes: ClassVar[Mapping[str, str]] = {
        "MA705": "metric-trivially-met",
        "MA706": "hit-vs-coverage",
        "MA707": "eval-figures",
        "MA709": "any-all-mixed",
    }
    needs: ClassVar[frozenset[Need]] = frozenset({Need.QUERIES})
    lanes: ClassVar[frozenset[str]] = frozenset({"retrieval"})
    reads: ClassVar[tuple[str, ...]] = ("runs", "corpus", "k", "metric")

    def run(self, ctx: Context) -> ProbeResult:
        """Give hit@k, coverage@k and reciprocal rank of every arm, and what they hide."""
        ev = ctx.evaluation
        if not ev.queries:
            return ProbeResult(not_looked={code: (say("there is no query"), "queries") for code in self.codes})
        candidates = candidates_of(ev.queries, ev.expected, ev.corpus, ev.runs, ev.k)
        findings = [_trivial(ctx, candidates), _mixed(ctx, ev)]
        not_looked: dict[str, tuple[str, str]] = {}
        if candidates is None:
            not_looked["MA705"] = (say("nothing says among which documents each query chooses"), "corpus")
        sections: tuple[Section, ...] = ()
        figures: dict[str, Json] = {}
        if not ev.arms:
            for code in ("MA706", "MA707"):
                not_looked[code] = (say("no recorded rankings were given"), "runs")
        else:
            gap = _hit_and_coverage(ctx, ev)
            findings += [gap, *(_arm_figures(ev, arm) for arm in ev.arms)]
            sections = (_section(ev, gap),)
            primary = summary(ev.results(str(ev.primary_arm)).values())
            figures = {f"hit{ev.k}": primary.hits, f"coverage{ev.k}": primary.complete}
        return ProbeResult(tuple(f for f in findings if f is not None), sections, figures, (), not_looked)


# -- MA706, MA707 ---------------------------------------------------------------------------------


def _hit_and_coverage(ctx: Context, ev: EvaluationInputs) -> Finding | None:
    arm = str(ev.primary_arm)
    results = ev.results(arm)
    s = summary(results.values())
    hidden = tuple(q for q, r in results.items() if r.hit and not r.complete)
    if not hidden:
        return None
    share = len(hidden) / s.n
    high = ctx.limit("MA706", "high_gap", GAP_HIGH)
    medium = ctx.limit("MA706", "medium_gap", GAP_MEDIUM)
    severity = Severity.HIGH if share >= high else Severity.MEDIUM if share >= medium else Severity.LOW
    capped = sum(len(q.groups) > ev.k for q in ev.queries)
    unstated = sum(q.meaning == "gold" and q.needs_several for q in ev.queries)
    texts = {q.id: q.text for q in ev.queries}
    caveats = [say("High from a gap of {high:.0%} of the queries, medium from {medium:.0%}.", high=high, medium=medium)]
    if capped:
        caveats.append(
            say("{n} more items than k = {k}: their coverage cannot reach 1.", n=plural(capped, "query needs",
                "queries need"), k=ev.k)
        )  # fmt: skip
    if unstated:
        caveats.append(
            say("{n} in the short form `gold`, which does not say whether all items are needed: write `expect_any` where "
                "one is enough.", n=plural(unstated, "query is", "queries are"))
        )  # fmt: skip
    return Finding(
        "MA706",
        "hit-vs-coverage",
        severity,
        {"k": ev.k, "arm": arm},
        say(
            "hit@{k} is {hits}, but all needed items are in the top {k} for {complete}: {gap} with several needed items "
            "look answered and are not.",
            k=ev.k,
            hits=part_of(s.hits, s.n),
            complete=part_of(s.complete, s.n),
            gap=plural(len(hidden), "query", "queries"),
        ),
        _gap_figures(ev, results),
        Evidence(
            tuple(Example(texts[q], q, _found(results[q])) for q in hidden[: ctx.config.max_examples]),
            len(hidden),
            hidden,
        ),
        fix=say("Report coverage@{k} for queries that need several items, and say in the set which they are (`expect_all`).",
                k=ev.k),
        caveat=sentences(*caveats),
        lane="retrieval",
    )  # fmt: skip


def _found(result: QueryResult) -> str:
    n = len(result.ranks)
    return say("{found} of {n} needed items", found=round(result.coverage * n), n=n)


def _gap_figures(ev: EvaluationInputs, results: Mapping[str, QueryResult]) -> dict[str, Json]:
    k = ev.k
    s = summary(results.values())
    categories = {}
    for name, ids in ev.categories.items():
        part = summary(results[q] for q in ids)
        categories[name] = {"n": part.n, f"hit{k}": part.hits, f"coverage{k}": part.complete}
    return {
        "queries": s.n,
        f"hit{k}": s.hits,
        f"hit{k}_share": s.hits / s.n if s.n else None,
        f"coverage{k}": s.complete,
        f"coverage{k}_share": s.complete / s.n if s.n else None,
        f"coverage{k}_mean": s.coverage_mean,
        "by_category": categories,
    }


def _arm_figures(ev: EvaluationInputs, arm: str) -> Finding:
    results = ev.results(arm)
    s = summary(results.values())
    first = summary(ev.results(arm, 1).values())
    tied = _ties(ev, arm)
    figures = _gap_figures(ev, results) | {"h1": first.hits, "rr_mean": s.rr_mean, "tied_at_cut": tied}
    words = say(
        "{arm}: hit@{k} {hits}.",
        arm=arm,
        k=ev.k,
        hits=category_cell(s.hits, s.n).text,
    )
    caveats = [say("Wilson interval; it speaks about more queries drawn like these, not about users.")]
    if tied:
        caveats.append(
            say("{n} have equal scores at the cut, so that their top {k} is a matter of chance.",
                n=plural(tied, "ranking", "rankings"), k=ev.k)
        )  # fmt: skip
    if len({q.measured_by for q in ev.queries}) > 1:
        caveats.append(say("The set mixes queries that need one item and queries that need all: the overall figure is "
                           "mixed."))  # fmt: skip
    return Finding(
        "MA707",
        "eval-figures",
        Severity.INFO,
        {"arm": arm, "k": ev.k},
        words,
        figures,
        caveat=sentences(*caveats),
        lane="retrieval",
    )


def _ties(ev: EvaluationInputs, arm: str) -> int:
    return sum(tied_at(r, ev.k) for r in ev.runs.arms[arm].values()) if ev.runs is not None else 0


# -- MA709 ----------------------------------------------------------------------------------------


def _mixed(ctx: Context, ev: EvaluationInputs) -> Finding | None:
    mixed = ev.mixed
    if not mixed.queries:
        return None
    figures: dict[str, Json] = {
        "queries": len(ev.queries),
        "hit_on_all": len(mixed.hit_on_all),
        "coverage_on_any": len(mixed.coverage_on_any),
        f"hit{ev.k}_mean": None,
        f"coverage{ev.k}_mean": None,
        "overstatement": None,
    }
    if ev.primary_arm is not None and mixed.hit_on_all:
        found = [ev.results(ev.primary_arm)[q] for q in mixed.hit_on_all]
        hit, coverage = (sum(v) / len(found) for v in ([r.hit for r in found], [r.coverage for r in found]))
        figures |= {f"hit{ev.k}_mean": hit, f"coverage{ev.k}_mean": coverage, "overstatement": hit - coverage}
    texts = {q.id: q.text for q in ev.queries}
    n = len(ev.queries)
    parts = []
    if mixed.hit_on_all:
        parts.append(say("{part} queries need all their items and are measured by hit@{k}.",
                         part=part_of(len(mixed.hit_on_all), n), k=ev.k))  # fmt: skip
    if figures["overstatement"] is not None:
        parts.append(
            say(
                "On these, hit@{k} is {hit:.1f} % and coverage@{k} {coverage:.1f} %.",
                k=ev.k,
                hit=100 * float(figures[f"hit{ev.k}_mean"]),
                coverage=100 * float(figures[f"coverage{ev.k}_mean"]),
            )
        )
    if mixed.coverage_on_any:
        parts.append(say("{part} queries need any one item and are measured by coverage@{k}.",
                         part=part_of(len(mixed.coverage_on_any), n), k=ev.k))  # fmt: skip
    return Finding(
        "MA709",
        "any-all-mixed",
        Severity.HIGH,
        {"k": ev.k, "values": ["expect_all"] if mixed.hit_on_all else ["expect_any"]},
        sentences(*parts),
        figures,
        Evidence(
            tuple(Example(texts[q], q) for q in mixed.queries[: ctx.config.max_examples]),
            len(mixed.queries),
            mixed.queries,
        ),
        fix=say("Let the query decide the metric: leave `metric` out, and hit@k is used for `expect_any`, coverage@k for "
                "`expect_all`. Never let a category decide it."),
        caveat=say("The metric was named by {who}. Verdicts are withheld until the two agree.",
                   who=say("the setting `metric`") if mixed.stated_by == "metric" else say("the queries themselves")),
        lane="retrieval",
    )  # fmt: skip


# -- MA705 ----------------------------------------------------------------------------------------


def _origin_words(origin: str) -> str:
    return {
        "named": say("the queries name their candidates"),
        "scope": say("queries and documents share a field that limits the search"),
        "corpus": say("the whole corpus"),
        "rankings": say("rankings end before k and hold everything expected, in every arm"),
    }[origin]


def _trivial(ctx: Context, candidates: Candidates | None) -> Finding | None:
    ev = ctx.evaluation
    if candidates is None or not ev.queries:
        return None
    covered, equal = candidates.covered(ev.k), candidates.all_expected(ev.expected)
    trivial = candidates.met(ev.k, ev.expected)
    hit = set(trivial)
    if not trivial:
        return None
    n = len(ev.queries)
    high = ctx.limit("MA705", "high_share", HIGH_SHARE)
    medium = ctx.limit("MA705", "medium_share", MEDIUM_SHARE)
    share = len(trivial) / n
    severity = Severity.HIGH if share >= high else Severity.MEDIUM if share >= medium else Severity.LOW
    title = (
        say(
            "k = {k} covers all candidates of {part} queries, so any order of them is a hit.",
            k=ev.k,
            part=part_of(len(covered), n),
        )
        if covered
        else say(
            "For {part} queries every candidate is an expected document, so any ranking is right.",
            part=part_of(len(equal), n),
        )
    )
    return Finding(
        "MA705",
        "metric-trivially-met",
        severity,
        {"k": ev.k, **({"field": candidates.field} if candidates.field else {})},
        title,
        {
            "queries": n,
            "queries_where_k_covers_all_candidates": len(covered),
            "largest_candidate_set": candidates.largest,
            "gold_equals_candidates": len(equal),
            "queries_any_ranking_meets": len(trivial),
            "share": share,
        },
        Evidence(
            tuple(Example(q.text, q.id) for q in ev.queries if q.id in hit)[: ctx.config.max_examples],
            len(trivial),
            trivial,
        ),
        fix=say("Lower k below the smallest set of candidates, or search the whole corpus instead of a pool made for the "
                "query."),
        caveat=say("Candidates: {why}. High from {high:.0%} of the queries, medium from {medium:.0%}.",
                   why=_origin_words(candidates.origin), high=high, medium=medium),
        lane="retrieval",
    )  # fmt: skip


# -- the page -------------------------------------------------------------------------------------


def _section(ev: EvaluationInputs, gap: Finding | None) -> Section:
    depth = max((ev.runs.depth(arm) for arm in ev.arms), default=0) if ev.runs is not None else 0
    cuts = [k for k in _CUTS if k <= depth and k != ev.k]
    rows: list[Mapping[str, Any]] = []
    for arm in ev.arms:
        s = summary(ev.results(arm).values())
        row: dict[str, Any] = {
            "arm": arm,
            "hit": category_cell(s.hits, s.n).text,
            "complete": category_cell(s.complete, s.n).text,
            "coverage": _mean([r.coverage for r in ev.results(arm).values()]),
            "rr": _mean([r.rr for r in ev.results(arm).values()]),
            "ties": _ties(ev, arm),
        }
        row |= {f"hit{k}": summary(ev.results(arm, k).values()).hits for k in cuts}
        rows.append(row)
    columns = (
        Column("arm", say("arm"), Cell.CODE),
        Column("hit", say("hit@{k}", k=ev.k)),
        Column("complete", say("all needed in the top {k}", k=ev.k)),
        Column("coverage", say("mean coverage@{k}", k=ev.k)),
        Column("rr", say("mean reciprocal rank")),
        *(Column(f"hit{k}", say("hit@{k}", k=k), Cell.COUNT) for k in cuts),
        Column("ties", say("ties at the cut"), Cell.COUNT),
    )
    tables = [Table("eval-arms", say("{n} a row", n=plural(len(ev.queries), "query", "queries")), columns, tuple(rows))]
    origins: dict[str, list[str]] = {}
    for query in ev.queries:
        origins.setdefault(query.origin, []).append(query.id)
    if len(origins) > 1:
        tables.append(_by_origin(ev, origins))
    arm = str(ev.primary_arm)
    s = summary(ev.results(arm).values())
    answer = gap.title if gap is not None else say(
        "{arm}: hit@{k} is {hits} ({share}).", arm=arm, k=ev.k, hits=f"{s.hits:,}/{s.n:,}", share=percent(s.hits, s.n)
    )  # fmt: skip
    method = [
        say("Intervals: Wilson for counts, bootstrap over queries (BCa) for means, none for fewer than 10 queries."),
        say("k = {k} decides; the other cut-offs are descriptive. The reciprocal rank is not cut off.", k=ev.k),
    ]
    if ev.corpus is not None:
        print_ = ev.corpus.fingerprint
        method.append(say("Corpus: {n}, SHA-256 {sha}.", n=plural(print_.rows, "document"), sha=print_.sha256[:16]))
    return Section(
        "eval-figures",
        say("Figures of the recorded rankings"),
        say("How often is what is needed among the first {k}?", k=ev.k),
        answer,
        ("MA706", "MA707", "MA705", "MA709"),
        tuple(tables),
        tuple(method),
    )


def _by_origin(ev: EvaluationInputs, origins: Mapping[str, list[str]]) -> Table:
    arm = str(ev.primary_arm)
    rows = []
    for origin, ids in origins.items():
        s = summary(ev.results(arm)[q] for q in ids)
        rows.append({"origin": origin, "queries": s.n, "hit": category_cell(s.hits, s.n).text})
    return Table(
        "eval-origins",
        say("{arm} by origin of the queries; origins are not to be averaged", arm=arm),
        (
            Column("origin", say("origin"), Cell.CODE),
            Column("queries", say("queries"), Cell.COUNT),
            Column("hit", say("hit@{k}", k=ev.k)),
        ),
        tuple(rows),
    )


def _mean(values: list[float]) -> str | None:
    if not values:
        return None
    mean = sum(values) / len(values)
    interval = mean_interval(values)
    return f"{mean:.3f}" if interval is None else f"{mean:.3f} [{interval.low:.3f}, {interval.high:.3f}]"


PROBE = EvalFigures()
