"""What leaving a part out does to retrieval: results of each variant, compared query by query and judged together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from memaudit.evaluation.figures import QueryResult, Summary, summary
from memaudit.evaluation.query_set import Query
from memaudit.stats.counts import exact_sign_p
from memaudit.stats.decision import Decision, decide_family
from memaudit.stats.paired import Comparison, compare_hits, compare_scores
from memaudit.stats.ranking import metrics_from_ranks

#: Change of a graded metric below which a query did not change.
_SAME = 1e-12


def results_of_ranks(
    queries: Sequence[Query], ranks: Sequence[tuple[int | None, ...]], k: int
) -> dict[str, QueryResult]:
    """Give the figures of every query from the ranks of its needed groups (query id -> result, same order)."""
    made = {}
    for query, own in zip(queries, ranks, strict=True):
        found = metrics_from_ranks(own, k)
        if found is None:
            raise ValueError(f"query {query.id} expects nothing")
        made[query.id] = QueryResult(
            query.id, own, bool(found.hit), found.coverage, found.rr, found.ndcg, found.coverage_cap
        )
    return made


def at_cut(queries: Sequence[Query], results: Mapping[str, QueryResult], k: int) -> dict[str, QueryResult]:
    """Give the same results at another cut-off."""
    return results_of_ranks(queries, [results[q.id].ranks for q in queries], k)


def compare_results(
    queries: Sequence[Query],
    a: Mapping[str, QueryResult],
    b: Mapping[str, QueryResult],
    metric: str,
    groups: Mapping[str, str] | None = None,
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare two variants query by query.

    Parameters
    ----------
    a, b
        Query id -> result of the full pipeline and of the variant.
    metric
        `hit`, `complete`, `coverage`, `rr`, `ndcg`, or `auto` (what each query needs).
    groups
        Query id -> set of dependent queries.
    level, seed
        Of the interval.
    """
    if metric in ("hit", "complete"):
        flags = [{q.id: bool(arm[q.id].value(metric, q)) for q in queries} for arm in (a, b)]
        return compare_hits(flags[0], flags[1], groups, level, seed)
    values = [{q.id: arm[q.id].value(metric, q) for q in queries} for arm in (a, b)]
    return compare_scores(values[0], values[1], groups, level, seed)


@dataclass(frozen=True)
class Flip:
    """A query whose result changed: `change` is the value of the variant less that of the full text."""

    query: str
    change: float
    rank_before: int | None
    rank_after: int | None


def flips(
    queries: Sequence[Query], a: Mapping[str, QueryResult], b: Mapping[str, QueryResult], metric: str
) -> tuple[Flip, ...]:
    """List the queries whose metric changed, in the order of the set."""
    found = []
    for q in queries:
        change = b[q.id].value(metric, q) - a[q.id].value(metric, q)
        if abs(change) > _SAME:
            found.append(Flip(q.id, change, _best(a[q.id]), _best(b[q.id])))
    return tuple(found)


def _best(result: QueryResult) -> int | None:
    return min((rank for rank in result.ranks if rank is not None), default=None)


@dataclass(frozen=True)
class AtOne:
    """What happened at rank 1: queries that any needed document leads, before and after."""

    before: int
    after: int
    wins: int
    losses: int
    sign_p: float | None

    @property
    def changed(self) -> int:
        """Queries that changed."""
        return self.wins + self.losses


def at_rank_one(queries: Sequence[Query], a: Mapping[str, QueryResult], b: Mapping[str, QueryResult]) -> AtOne:
    """Count hits at rank 1, and the queries won and lost there."""
    before = [_best(a[q.id]) == 1 for q in queries]
    after = [_best(b[q.id]) == 1 for q in queries]
    wins = sum(y and not x for x, y in zip(before, after, strict=True))
    losses = sum(x and not y for x, y in zip(before, after, strict=True))
    return AtOne(sum(before), sum(after), wins, losses, exact_sign_p(wins, losses) if queries else None)


def judged(
    comparisons: Mapping[str, Comparison], margin: float, alpha: float, blocked: str | None
) -> dict[str, Decision]:
    """Judge all variants of a run together (Holm over the family); `blocked` withholds every verdict."""
    findings = dict.fromkeys(comparisons, blocked) if blocked else {}
    return decide_family(comparisons, margin, alpha, {name: str(reason) for name, reason in findings.items()})


def table_figures(
    queries: Sequence[Query], results: Mapping[str, QueryResult], cuts: Iterable[int]
) -> dict[str, object]:
    """Give the counts and means of one variant for the report.

    Returns
    -------
    `h1`, `hitK` and `coverageK` (queries with all needed items in the top K) as counts, `coverageK_mean`, `mrr` and
    `mrr_mean` of the whole ranking; means are None for no queries.
    """
    found: dict[str, object] = {"queries": len(queries), "h1": at_rank_one(queries, results, results).before}
    last: Summary | None = None
    for k in dict.fromkeys(cuts):
        last = summary(at_cut(queries, results, k).values())
        found |= {f"hit{k}": last.hits, f"coverage{k}": last.complete, f"coverage{k}_mean": last.coverage_mean}
    mrr = last.rr_mean if last is not None else None
    if mrr is not None and not isfinite(mrr):
        raise ValueError("a mean reciprocal rank is not finite")
    return found | {"mrr": mrr}
