"""Figures of one ranking from the ranks of its expected items; ceilings and costs derived from them.

A *needed group* is a set of items of which any one is enough; it enters as the best 1-based rank of its
items, or None where none was retrieved. (It is not a group of dependent queries.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log2

from memaudit.errors import DataError


@dataclass(frozen=True)
class RankMetrics:
    """Figures of one query.

    Attributes
    ----------
    hit
        1 if any needed group is found in the top k, else 0.
    coverage
        Share of the needed groups found in the top k.
    rr
        1 / best rank over the whole ranking, 0 if nothing was found.
    ndcg
        nDCG of the top k with gain 1 for each needed group.
    coverage_cap
        Largest coverage that k results can reach.
    """

    hit: int
    coverage: float
    rr: float
    ndcg: float
    coverage_cap: float


def metrics_from_ranks(groups: Sequence[int | None], k: int) -> RankMetrics | None:
    """Give hit@k, coverage@k, reciprocal rank and nDCG@k of one query.

    Parameters
    ----------
    groups
        For each needed group its best 1-based rank, or None.
    k
        Cut-off, 1 or more; the reciprocal rank is not cut off.

    Returns
    -------
    The figures; None for a query that needs nothing (nothing to measure).

    Raises
    ------
    DataError
        k or a rank is below 1.

    Notes
    -----
    Two groups at one rank are filled by one document: it gains 2 there, and the ideal ranking puts such a
    document first, so nDCG stays within 0..1. Without that case it is the usual binary nDCG.
    Source: K. Jarvelin and J. Kekalainen, ACM Trans. Inf. Syst. 20 (2002) 422-446; reciprocal rank:
    E. M. Voorhees, TREC-8 (1999) 77-82.
    """
    return _metrics(tuple(groups), k)


@lru_cache(maxsize=4096)  # thousands of queries have a few ranks between them
def _metrics(groups: tuple[int | None, ...], k: int) -> RankMetrics | None:
    _check_ranks(groups, k)
    if not groups:
        return None
    found = [rank for rank in groups if rank is not None]
    n_in_top = sum(rank <= k for rank in found)
    gains = Counter(found)
    dcg = sum(gain / log2(rank + 1) for rank, gain in sorted(gains.items()) if rank <= k)
    ideal = sorted(gains.values(), reverse=True) + [1] * (len(groups) - len(found))
    best = sum(gain / log2(place + 2) for place, gain in enumerate(ideal[:k]))
    # No number of results below the groups caps coverage if one document fills several.
    cap = min(len(groups), sum(ideal[:k])) / len(groups)
    return RankMetrics(
        hit=int(n_in_top > 0),
        coverage=n_in_top / len(groups),
        rr=1.0 / min(found) if found else 0.0,
        ndcg=min(1.0, dcg / best),
        coverage_cap=cap,
    )


def rerank_ceiling(queries: Sequence[Sequence[int | None]], depth: int, k: int) -> float | None:
    """Give the coverage@k that a perfect reordering of the top `depth` results would reach.

    Parameters
    ----------
    queries
        For each query the best rank of each needed group, or None.
    depth
        Results that the reranker sees, 1 or more.
    k
        Results kept, 1 or more.

    Returns
    -------
    Mean over queries of min(k, groups found within depth) / groups; None for no queries.

    Raises
    ------
    DataError
        A query needs nothing, or k, depth or a rank is below 1.
    """
    if depth < 1:
        raise DataError(f"depth {depth} is below 1.", "Give the number of results that are reordered.")
    shares = []
    for groups in queries:
        _check_ranks(groups, k)
        if not groups:
            raise DataError("a query needs no item.", "Leave out queries without an expected item.")
        # k documents fill at most k groups, or more where one document fills several.
        gains = Counter(rank for rank in groups if rank is not None and rank <= depth)
        shares.append(sum(sorted(gains.values(), reverse=True)[:k]) / len(groups))
    return sum(shares) / len(shares) if shares else None


@dataclass(frozen=True)
class CandidateDepth:
    """How deep two fused lists reach into a corpus.

    Attributes
    ----------
    depth_share
        Share of the corpus in each list.
    expected_overlap
        Items in both lists if both were random.
    worst_rank_beating_first
        Largest rank in both lists that outranks rank 1 in one list alone.
    """

    depth_share: float
    expected_overlap: float
    worst_rank_beating_first: int


def candidate_depth(depth: int, n_corpus: int, fusion_constant: int = 60) -> CandidateDepth | None:
    """Give what a candidate depth means for a corpus under reciprocal-rank fusion.

    Parameters
    ----------
    depth
        Results taken from each list, 1 or more; never more than the corpus holds.
    n_corpus
        Documents.
    fusion_constant
        The constant c of 1 / (c + rank), 0 or more.

    Returns
    -------
    The figures; None for an empty corpus.

    Raises
    ------
    DataError
        A depth below 1, a negative corpus or constant.

    Notes
    -----
    2 / (c + r) > 1 / (c + 1) holds for whole ranks r <= c + 1.
    Source: G. V. Cormack, C. L. A. Clarke and S. Buettcher, SIGIR (2009) 758-759.
    """
    if depth < 1 or n_corpus < 0 or fusion_constant < 0:
        raise DataError(
            f"depth {depth}, corpus {n_corpus}, constant {fusion_constant} cannot be.",
            "Depth is at least 1, the others at least 0.",
        )
    if n_corpus == 0:
        return None
    depth = min(depth, n_corpus)
    return CandidateDepth(depth / n_corpus, depth * depth / n_corpus, min(depth, fusion_constant + 1))


@dataclass(frozen=True)
class ContextCost:
    """Tokens and price of a conversation under four models, each named.

    Attributes
    ----------
    single_ratio
        Corpus tokens for each retrieved token in one turn; None if nothing is retrieved.
    single_share
        Retrieved tokens as a share of the corpus; None for an empty corpus.
    all_in_once_total, all_in_once_cost
        The corpus is in the context once and is read again every turn.
    all_in_readded_total, all_in_readded_cost
        The corpus is added again every turn and stays.
    retrieved_kept_total, retrieved_kept_cost
        Retrieved chunks are added every turn and stay.
    retrieved_replaced_total, retrieved_replaced_cost
        Retrieved chunks replace those of the turn before.
    """

    single_ratio: float | None
    single_share: float | None
    all_in_once_total: int
    all_in_readded_total: int
    retrieved_kept_total: int
    retrieved_replaced_total: int
    all_in_once_cost: float
    all_in_readded_cost: float
    retrieved_kept_cost: float
    retrieved_replaced_cost: float


def context_cost(corpus_tokens: int, retrieved_tokens: int, turns: int, price_per_million: float) -> ContextCost:
    """Give the input tokens and their price of a conversation, with and without retrieval.

    Parameters
    ----------
    corpus_tokens, retrieved_tokens
        Tokens of the whole corpus and of one retrieval, 0 or more.
    turns
        Turns of the conversation, 0 or more.
    price_per_million
        Price of a million input tokens, any currency.

    Returns
    -------
    Totals over all turns; a model that re-adds every turn costs turns * (turns + 1) / 2 times one turn.

    Raises
    ------
    DataError
        A negative number.
    """
    if min(corpus_tokens, retrieved_tokens, turns) < 0 or not price_per_million >= 0.0:
        raise DataError("tokens, turns and price cannot be negative.", "Give 0 or more.")
    growing = turns * (turns + 1) // 2
    totals = {
        "all_in_once": corpus_tokens * turns,
        "all_in_readded": corpus_tokens * growing,
        "retrieved_kept": retrieved_tokens * growing,
        "retrieved_replaced": retrieved_tokens * turns,
    }
    costs = {name: total * price_per_million / 1e6 for name, total in totals.items()}
    return ContextCost(
        single_ratio=corpus_tokens / retrieved_tokens if retrieved_tokens else None,
        single_share=retrieved_tokens / corpus_tokens if corpus_tokens else None,
        all_in_once_total=totals["all_in_once"],
        all_in_readded_total=totals["all_in_readded"],
        retrieved_kept_total=totals["retrieved_kept"],
        retrieved_replaced_total=totals["retrieved_replaced"],
        all_in_once_cost=costs["all_in_once"],
        all_in_readded_cost=costs["all_in_readded"],
        retrieved_kept_cost=costs["retrieved_kept"],
        retrieved_replaced_cost=costs["retrieved_replaced"],
    )


def turn_that_overflows(tokens_per_turn: int, window: int) -> int | None:
    """Give the first turn at which a context that grows by the same amount every turn passes the window.

    Parameters
    ----------
    tokens_per_turn
        Tokens added each turn, 0 or more.
    window
        Tokens that fit, 0 or more.

    Returns
    -------
    1-based turn; None if nothing is added.

    Raises
    ------
    DataError
        A negative number.
    """
    if tokens_per_turn < 0 or window < 0:
        raise DataError(f"{tokens_per_turn} tokens and a window of {window} cannot be.", "Give 0 or more.")
    return window // tokens_per_turn + 1 if tokens_per_turn else None


def _check_ranks(groups: Sequence[int | None], k: int) -> None:
    if k < 1:
        raise DataError(f"k is {k}.", "Give a cut-off of at least 1.")
    for rank in groups:
        if rank is not None and rank < 1:
            raise DataError(f"rank {rank} is below 1.", "Ranks start at 1; None stands for not retrieved.")
