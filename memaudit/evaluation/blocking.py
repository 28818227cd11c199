"""Findings that suspend every verdict: the figures would mean nothing (rules R01, R03, R18)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from memaudit.evaluation.query_set import Query
from memaudit.evaluation.resolve import Expected
from memaudit.wording import plural, say


@dataclass(frozen=True)
class StaleTruth:
    """Expected items that cannot be found, or do not tell documents apart (rule R18).

    Parameters
    ----------
    missing
        Query id -> what it expects and the corpus does not hold.
    common
        Query id -> (text, number of documents that contain it).
    larger_than_k
        Queries that need more items than k.
    """

    missing: Mapping[str, tuple[str, ...]]
    common: Mapping[str, tuple[tuple[str, int], ...]]
    larger_than_k: tuple[str, ...]

    @property
    def n_missing(self) -> int:
        """Expected items that the corpus does not hold."""
        return sum(len(items) for items in self.missing.values())


def stale_truth(queries: Sequence[Query], expected: Mapping[str, Expected], k: int) -> StaleTruth:
    """Look for expected items that are missing, too common, or more than fit into the top k."""
    missing = {q.id: (*expected[q.id].missing, *expected[q.id].unmatched) for q in queries}
    return StaleTruth(
        {query: items for query, items in missing.items() if items},
        {q.id: expected[q.id].common for q in queries if expected[q.id].common},
        tuple(q.id for q in queries if len(q.groups) > k),
    )


@dataclass(frozen=True)
class MixedMeanings:
    """Queries whose figure does not mean what the query says it needs (rule R03).

    Parameters
    ----------
    hit_on_all
        Queries that need several items and are measured with hit@k.
    coverage_on_any
        Queries for which one item is enough and which are measured with coverage.
    stated_by
        `metric` (the setting) or `query` (a field of the queries).
    """

    hit_on_all: tuple[str, ...]
    coverage_on_any: tuple[str, ...]
    stated_by: str

    @property
    def queries(self) -> tuple[str, ...]:
        """All of them."""
        return (*self.hit_on_all, *self.coverage_on_any)


def mixed_meanings(queries: Sequence[Query], metric: str | None) -> MixedMeanings:
    """Hold the metric that was used against what each query says.

    Parameters
    ----------
    metric
        The metric that the user named for all queries; None when nobody did. A field `metric` of a query wins.

    Notes
    -----
    A query in the short form `gold` says nothing about its meaning and cannot contradict a metric.
    """
    hit_on_all: list[str] = []
    coverage_on_any: list[str] = []
    by_query = False
    for query in queries:
        own = query.fields.get("metric")
        used = str(own).lower() if isinstance(own, str) else metric
        if used is None or query.meaning == "gold":
            continue
        if used.startswith(("hit", "success")) and query.measured_by == "coverage" and query.needs_several:
            hit_on_all.append(query.id)
        elif used.startswith(("coverage", "complete", "recall")) and query.meaning == "expect_any":
            # One group: coverage equals hit, unless every alternative is asked for.
            if isinstance(own, str) and len(query.groups[0]) > 1:
                coverage_on_any.append(query.id)
        else:
            continue
        by_query = by_query or isinstance(own, str)
    return MixedMeanings(tuple(hit_on_all), tuple(coverage_on_any), "query" if by_query else "metric")


def blocked_by_truth(stale: StaleTruth) -> str | None:
    """Say why no verdict is given while expected items are missing."""
    if not stale.missing:
        return None
    return say(
        "{items} expected by {queries} cannot be found in the corpus (MA720)",
        items=plural(stale.n_missing, "item"),
        queries=plural(len(stale.missing), "query", "queries"),
    )


def blocked_by_meaning(mixed: MixedMeanings) -> str | None:
    """Say why no verdict is given while the metric contradicts the queries."""
    if not mixed.queries:
        return None
    return say(
        "the metric contradicts the needs of {queries} (MA709)",
        queries=plural(len(mixed.queries), "query", "queries"),
    )


def blocked_by_leak(n_queries: int, n_documents: int) -> str | None:
    """Say why no verdict is given while the corpus holds the answers."""
    if n_queries == 0:
        return None
    return say(
        "texts of {queries} stand in {documents} of the corpus (MA701)",
        queries=plural(n_queries, "query", "queries"),
        documents=plural(n_documents, "document"),
    )
