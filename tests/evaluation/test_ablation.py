"""Comparison of variants: counts by hand."""

from __future__ import annotations

import pytest

from memaudit.evaluation.ablation import (
    at_cut,
    at_rank_one,
    compare_results,
    flips,
    judged,
    results_of_ranks,
    table_figures,
)
from memaudit.evaluation.query_set import Item, Query

ANY = (Item(doc="d"),)


def queries(n: int, meaning: str = "expect_any") -> list[Query]:
    groups = (ANY,) if meaning == "expect_any" else (ANY, (Item(doc="e"),))
    return [Query(f"q{i}", f"问题 {i}", groups, meaning) for i in range(n)]


def test_published_table_when_rebuilt_then_the_published_figures() -> None:
    # 24 queries: rank 2 for one of them with the full text, rank 1 for all without the field
    asked = queries(24)
    full = results_of_ranks(asked, [(2,)] + [(1,)] * 23, 1)
    without = results_of_ranks(asked, [(1,)] * 24, 1)
    one = at_rank_one(asked, full, without)
    assert (one.before, one.after, one.wins, one.losses, one.sign_p, one.changed) == (23, 24, 1, 0, 1.0, 1)
    assert table_figures(asked, full, (1, 5)) == {
        "queries": 24, "h1": 23, "hit1": 23, "coverage1": 23, "coverage1_mean": 23 / 24,
        "hit5": 24, "coverage5": 24, "coverage5_mean": 1.0, "mrr": pytest.approx(23.5 / 24),
    }  # fmt: skip
    decision = judged({"v": compare_results(asked, full, without, "hit")}, 0.05, 0.05, None)["v"]
    assert decision.verdict.value == "inconclusive_n_too_small"
    interval = decision.comparison.interval
    assert interval is not None
    assert [round(100 * x, 1) for x in (interval.low, interval.high)] == [-10.2, 20.2]
    assert [(f.query, f.change, f.rank_before, f.rank_after) for f in flips(asked, full, without, "hit")] == [
        ("q0", 1.0, 2, 1)
    ]


def test_verdicts_when_several_variants_then_adjusted_together_and_blocked_together() -> None:
    asked = queries(30)
    full = results_of_ranks(asked, [(1,)] * 30, 1)
    worse = results_of_ranks(asked, [(9,)] * 7 + [(1,)] * 23, 1)  # 7 lost: p = 2/2^7 = .0156
    comparisons = {name: compare_results(asked, full, worse, "hit") for name in ("a", "b", "c")}
    assert judged({"a": comparisons["a"]}, 0.05, 0.05, None)["a"].verdict.value == "degrades"
    together = judged({n: comparisons[n] for n in ("a", "b")} | {"c": compare_results(asked, full, full, "hit")},
                      0.05, 0.05, None)  # fmt: skip
    # Holm over 3: .0156 * 3 = .047, still below .05
    assert together["a"].p_adjusted == pytest.approx(3 * 2 / 2**7)
    assert together["c"].family_size == 3
    blocked = judged(comparisons, 0.05, 0.05, "the answers stand in the corpus")
    assert {d.verdict.value for d in blocked.values()} == {"not_trustworthy"}
    assert judged({}, 0.05, 0.05, "blocked") == {}


def test_metric_when_queries_need_several_items_then_graded() -> None:
    asked = queries(2, "expect_all")
    full = results_of_ranks(asked, [(1, 2), (1, None)], 2)
    without = results_of_ranks(asked, [(1, 3), (None, None)], 2)
    assert [f.change for f in flips(asked, full, without, "auto")] == [-0.5, -0.5]
    comparison = compare_results(asked, full, without, "coverage")
    assert (comparison.graded, comparison.lost, comparison.difference) == (True, 2, -0.5)
    assert compare_results(asked, full, without, "complete").lost == 1
    assert at_cut(asked, without, 3)["q0"].coverage == 1.0


def test_figures_when_there_is_no_query_then_none() -> None:
    assert table_figures([], {}, (5,))["mrr"] is None
    assert at_rank_one([], {}, {}).sign_p is None
    with pytest.raises(ValueError, match="expects nothing"):
        results_of_ranks([Query("q", "t", (), "expect_any")], [()], 5)
