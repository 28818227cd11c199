"""What a reranker can and cannot do: pools, ceilings, depth, length (rules R07, R08, R09)."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from memaudit.evaluation.figures import QueryResult
from memaudit.evaluation.runs import Ranking, Runs

#: Texts below this length are what a reranker's length bias pushes out (rule R09).
SHORT_CHARS = 200
_BANDS = (50, 100)


@dataclass(frozen=True)
class Reordering:
    """A list before and after reordering, query by query.

    Parameters
    ----------
    same_set
        Queries whose first k documents are the same ones, in whatever order.
    same_first
        Queries whose first document is the same.
    same_order
        Queries whose first k documents are the same in the same order.
    """

    n: int
    same_set: int
    same_first: int
    same_order: int


def reordering(before: Mapping[str, Ranking], after: Mapping[str, Ranking], k: int) -> Reordering:
    """Compare the first k documents of two lists; queries that neither answered are not counted as the same."""
    same_set = same_first = same_order = 0
    for query, ranking in before.items():
        a, b = ranking.ids[:k], after[query].ids[:k]
        if not a or not b:
            continue
        same_set += set(a) == set(b)
        same_first += a[0] == b[0]
        same_order += a == b
    return Reordering(len(before), same_set, same_first, same_order)


@dataclass(frozen=True)
class Bands:
    """Where the needed items stand in the full rankings.

    Parameters
    ----------
    counts
        Band (`1-5`, `6-50`, `51-100`, `over 100`, `not found`) -> needed items; the counts add up to `items`.
    items
        Needed items of all queries.
    misses
        Needed items outside the top k.
    misses_within
        Of these, the ones within the depth looked at.
    """

    counts: Mapping[str, int]
    items: int
    misses: int
    misses_within: int

    @property
    def share_within(self) -> float | None:
        """Share of the misses that a perfect reordering of that depth would reach; None without misses."""
        return self.misses_within / self.misses if self.misses else None


def rank_bands(ranks: Sequence[Sequence[int | None]], k: int, depth: int) -> Bands:
    """Count needed items by the band of their rank.

    Parameters
    ----------
    ranks
        For each query the best rank of each needed group, None where it was not returned.
    depth
        Results that a reranker would see.
    """
    edges = [k, *(edge for edge in _BANDS if edge > k)]
    names = [f"1-{k}", *(f"{low + 1}-{high}" for low, high in pairwise(edges)), f"over {edges[-1]}"]
    counts = dict.fromkeys([*names, "not found"], 0)
    flat = [rank for query in ranks for rank in query]
    for rank in flat:
        if rank is None:
            counts["not found"] += 1
        else:
            counts[names[sum(rank > edge for edge in edges)]] += 1
    misses = [rank for rank in flat if rank is None or rank > k]
    return Bands(counts, len(flat), len(misses), sum(r is not None and r <= depth for r in misses))


@dataclass(frozen=True)
class Lengths:
    """Lengths of the texts in the top k of an arm.

    Parameters
    ----------
    slots, short
        Places in all top k, and those held by short texts.
    median_chars
        Median length; None without places.
    by_query
        Query -> share of its places held by short texts.
    """

    slots: int
    short: int
    median_chars: float | None
    by_query: Mapping[str, float]

    @property
    def short_share(self) -> float | None:
        """Share of short texts; None without places."""
        return self.short / self.slots if self.slots else None


def lengths(rankings: Mapping[str, Ranking], chars: Mapping[str, int], k: int, short_chars: int) -> Lengths:
    """Measure the texts in the top k; documents of unknown length are passed over."""
    every: list[int] = []
    by_query = {}
    for query, ranking in rankings.items():
        own = [chars[d] for d in ranking.ids[:k] if d in chars]
        every += own
        by_query[query] = sum(c < short_chars for c in own) / len(own) if own else 0.0
    return Lengths(len(every), sum(c < short_chars for c in every), median(every) if every else None, by_query)


def short_share(docs: Collection[str], chars: Mapping[str, int], short_chars: int) -> float | None:
    """Return the share of short texts among some documents; None when none has a known length."""
    known = [chars[d] for d in docs if d in chars]
    return sum(c < short_chars for c in known) / len(known) if known else None


@dataclass(frozen=True)
class ListOverlap:
    """Two lists that are fused.

    Parameters
    ----------
    mean_overlap
        Mean number of documents in both lists.
    late_in_both
        Documents in the fused top k that stand in both lists behind rank k.
    """

    mean_overlap: float
    late_in_both: int | None


def list_overlap(runs: Runs, first: str, second: str, fused: str | None, k: int, depth: int) -> ListOverlap:
    """Measure how many documents two lists share, and how many of them reach the fused top k from far behind."""
    shared = late = 0
    queries = runs.arms[first]
    for query in queries:
        a = {d: i for i, d in enumerate(runs.ranking(first, query).ids[:depth], start=1)}
        b = {d: i for i, d in enumerate(runs.ranking(second, query).ids[:depth], start=1)}
        shared += len(a.keys() & b.keys())
        if fused is not None:
            top = runs.ranking(fused, query).ids[:k]
            late += sum(d in a and d in b and a[d] > k and b[d] > k for d in top)
    return ListOverlap(shared / len(queries) if queries else 0.0, late if fused is not None else None)


def in_pool(results: Mapping[str, QueryResult]) -> tuple[str, ...]:
    """Return queries of which any needed item was returned at any rank."""
    return tuple(q for q, r in results.items() if any(rank is not None for rank in r.ranks))
