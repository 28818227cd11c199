from __future__ import annotations

from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memaudit.errors import DataError
from memaudit.stats.ranking import (
    candidate_depth,
    context_cost,
    metrics_from_ranks,
    rerank_ceiling,
    turn_that_overflows,
)

GROUPS = st.lists(st.none() | st.integers(1, 60), min_size=1, max_size=8)


def test_one_of_three_needed_at_rank_three() -> None:
    found = metrics_from_ranks([3, None, None], 10)
    assert found is not None
    assert (found.hit, found.coverage, found.rr) == pytest.approx((1, 1 / 3, 1 / 3))
    # DCG 1 / log2(4) = 0.5; ideal 1 + 1 / log2(3) + 1 / log2(4)
    assert found.ndcg == pytest.approx(0.5 / (1 + 1 / log2(3) + 0.5))


def test_the_cut_off_is_inside_and_the_reciprocal_rank_is_not_cut() -> None:
    inside, outside = metrics_from_ranks([5], 5), metrics_from_ranks([6], 5)
    assert inside is not None
    assert outside is not None
    assert (inside.hit, outside.hit) == (1, 0)
    assert outside.rr == pytest.approx(1 / 6)


def test_one_document_that_fills_two_groups_does_not_lift_ndcg_above_one() -> None:
    found = metrics_from_ranks([1, 1], 5)
    assert found is not None
    assert (found.coverage, found.ndcg) == (1.0, 1.0)
    later = metrics_from_ranks([2, 2], 5)
    assert later is not None
    assert later.ndcg == pytest.approx(1 / log2(3))


def test_a_query_that_needs_nothing_is_not_measured() -> None:
    assert metrics_from_ranks([], 5) is None


@pytest.mark.parametrize(("groups", "k"), [([0], 5), ([-1], 5), ([1], 0)])
def test_ranks_and_cut_offs_below_one_are_refused(groups: list[int], k: int) -> None:
    with pytest.raises(DataError):
        metrics_from_ranks(groups, k)


@given(GROUPS, st.integers(1, 20))
def test_figures_stay_in_range_and_coverage_never_exceeds_hit_or_cap(groups: list[int | None], k: int) -> None:
    found = metrics_from_ranks(groups, k)
    assert found is not None
    assert 0.0 <= found.ndcg <= 1.0
    assert 0.0 <= found.coverage <= found.coverage_cap <= 1.0
    assert found.hit >= found.coverage
    assert metrics_from_ranks(list(reversed(groups)), k) == found


def test_ndcg_of_three_scattered_items() -> None:
    found = metrics_from_ranks([2, 5, 9], 10)
    assert found is not None
    # Discounts 1/log2(3), 1/log2(6), 1/log2(10) over 1, 1/log2(3), 1/2.
    assert found.ndcg == pytest.approx((0.6309298 + 0.3868528 + 0.3010300) / (1 + 0.6309298 + 0.5))


def test_ceiling_grows_with_depth() -> None:
    queries: list[list[int | None]] = [[84, 40, 52, 60], [6, 7], [6, 12], [12, 20]]
    # Within 20: 0/4, 2/2, 2/2, 2/2
    assert rerank_ceiling(queries, 20, 5) == 0.75
    # k = 1 keeps one of two in each of the last three: 3 x 0.5 / 4
    assert rerank_ceiling(queries, 20, 1) == 0.375
    assert rerank_ceiling([], 20, 5) is None


def test_ceiling_refuses_a_query_without_needs() -> None:
    with pytest.raises(DataError, match="needs no item"):
        rerank_ceiling([[1], []], 10, 5)
    with pytest.raises(DataError, match="depth"):
        rerank_ceiling([[1]], 0, 5)


@given(st.lists(GROUPS, min_size=1, max_size=6), st.integers(1, 30), st.integers(1, 10))
def test_ceiling_at_depth_k_is_the_coverage_now_and_never_falls(
    queries: list[list[int | None]], depth: int, k: int
) -> None:
    covered = [metrics_from_ranks(groups, k) for groups in queries]
    now = sum(found.coverage for found in covered if found) / len(queries)
    assert rerank_ceiling(queries, k, k) == pytest.approx(now)
    shallow, deep = rerank_ceiling(queries, depth, k), rerank_ceiling(queries, depth + 5, k)
    assert shallow is not None
    assert deep is not None
    assert shallow <= deep


def test_depth_beyond_the_corpus_takes_all_of_it() -> None:
    found = candidate_depth(50, 20)
    assert found is not None
    assert (found.depth_share, found.expected_overlap, found.worst_rank_beating_first) == (1.0, 20.0, 20)
    assert candidate_depth(50, 0) is None
    with pytest.raises(DataError):
        candidate_depth(0, 10)


def test_worst_rank_that_beats_the_first_is_the_last_that_does() -> None:
    found = candidate_depth(500, 1000)
    assert found is not None
    rank = found.worst_rank_beating_first
    assert 2 / (60 + rank) > 1 / 61 >= 2 / (60 + rank + 1)


def test_context_cost_of_two_turns() -> None:
    found = context_cost(1000, 100, 2, 10.0)
    # Kept once 2 x 1000; re-added 1000 + 2000; chunks kept 100 + 200; replaced 2 x 100.
    assert (found.all_in_once_total, found.all_in_readded_total) == (2000, 3000)
    assert (found.retrieved_kept_total, found.retrieved_replaced_total) == (300, 200)
    assert found.all_in_readded_cost == pytest.approx(0.03)


def test_context_cost_of_nothing_has_no_ratio() -> None:
    found = context_cost(0, 0, 0, 1.0)
    assert (found.single_ratio, found.single_share, found.all_in_once_cost) == (None, None, 0.0)
    with pytest.raises(DataError):
        context_cost(1, 1, -1, 1.0)


def test_window_is_passed_at_the_first_turn_beyond_it() -> None:
    # 4 x 52,480 = 209,920 > 200,000 > 157,440
    assert turn_that_overflows(52_480, 200_000) == 4
    assert turn_that_overflows(100, 200) == 3
    assert turn_that_overflows(0, 200) is None
    with pytest.raises(DataError):
        turn_that_overflows(-1, 200)
