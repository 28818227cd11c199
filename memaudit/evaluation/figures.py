"""Figures of each query and of each arm, from the ranks of the expected documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memaudit.evaluation.query_set import Query
from memaudit.evaluation.resolve import Expected
from memaudit.evaluation.runs import Ranking, Runs
from memaudit.stats.ranking import metrics_from_ranks


@dataclass(frozen=True)
class QueryResult:
    """What one arm did with one query.

    Parameters
    ----------
    ranks
        Best 1-based rank of each needed group, None where none of its documents was returned.
    hit, coverage, rr, ndcg, coverage_cap
        As in :class:`memaudit.stats.ranking.RankMetrics`; the reciprocal rank is not cut off.
    """

    query: str
    ranks: tuple[int | None, ...]
    hit: bool
    coverage: float
    rr: float
    ndcg: float
    coverage_cap: float

    @property
    def complete(self) -> bool:
        """Whether every needed group is in the top k."""
        return self.coverage >= 1.0

    def value(self, metric: str, query: Query) -> float:
        """Return the value of a metric; `auto` follows what the query says it needs."""
        if metric == "auto":
            metric = query.measured_by
        return {
            "hit": float(self.hit),
            "coverage": self.coverage,
            "complete": float(self.complete),
            "rr": self.rr,
            "ndcg": self.ndcg,
        }[metric]


#: Metrics that may be the primary one, with the names users write.
METRICS: Mapping[str, str] = {
    "hit": "hit", "coverage": "coverage", "complete": "complete", "rr": "rr", "mrr": "rr", "ndcg": "ndcg",
}  # fmt: skip


def ranks_of(expected: Expected, ranking: Ranking, without: frozenset[str] = frozenset()) -> tuple[int | None, ...]:
    """Return the best 1-based rank of each needed group.

    Parameters
    ----------
    without
        Documents taken out of the ranking first; those behind move up.
    """
    places: dict[str, int] = {}
    for doc in ranking.ids:
        if doc not in without and doc not in places:
            places[doc] = len(places) + 1
    return tuple(min((places[d] for d in group if d in places), default=None) for group in expected.groups)


def query_result(
    query: Query, expected: Expected, ranking: Ranking, k: int, without: frozenset[str] = frozenset()
) -> QueryResult:
    """Give the figures of one query; an empty ranking is a miss."""
    ranks = ranks_of(expected, ranking, without | query.exclude)
    found = metrics_from_ranks(ranks, k)
    if found is None:
        raise ValueError(f"query {query.id} expects nothing")
    return QueryResult(query.id, ranks, bool(found.hit), found.coverage, found.rr, found.ndcg, found.coverage_cap)


def arm_results(
    queries: Sequence[Query],
    expected: Mapping[str, Expected],
    runs: Runs,
    arm: str,
    k: int,
    without: frozenset[str] = frozenset(),
) -> dict[str, QueryResult]:
    """Give the figures of every query of the set for one arm; a query without a ranking is a miss."""
    return {q.id: query_result(q, expected[q.id], runs.ranking(arm, q.id), k, without) for q in queries}


@dataclass(frozen=True)
class Summary:
    """Figures over some queries.

    Parameters
    ----------
    n
        Queries.
    hits, complete
        Queries with any needed item, and with all of them, in the top k.
    coverage_mean, rr_mean
        Means over queries; None for no queries.
    """

    n: int
    hits: int
    complete: int
    coverage_mean: float | None
    rr_mean: float | None


def summary(results: Iterable[QueryResult]) -> Summary:
    """Sum up results; every mean is None for no queries."""
    listed = tuple(results)
    n = len(listed)
    return Summary(
        n,
        sum(r.hit for r in listed),
        sum(r.complete for r in listed),
        sum(r.coverage for r in listed) / n if n else None,
        sum(r.rr for r in listed) / n if n else None,
    )


def by_category(queries: Sequence[Query], name: str) -> dict[str, tuple[str, ...]]:
    """Return category -> query ids, in order of first appearance; queries without one are under `-`.

    Empty when no query has the field.
    """
    found: dict[str, list[str]] = {}
    for query in queries:
        found.setdefault(query.category(name) or "-", []).append(query.id)
    return {} if set(found) <= {"-"} else {category: tuple(ids) for category, ids in found.items()}


def tied_at(ranking: Ranking, k: int) -> bool:
    """Say whether the k-th and the next document have the same score: the cut between them is arbitrary."""
    scores = ranking.scores
    return scores is not None and len(scores) > k and scores[k - 1] == scores[k]
